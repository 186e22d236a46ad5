#pragma once
#include <vector>

#include "codegen/kernel/builder.h"

namespace frit::testing {

using kernel::Builder;
using kernel::Kernel;
using kernel::pointer;
using kernel::scalar;
using kernel::Type;
using kernel::Value;
using kernel::vector_of;

/// y[i] = x[i] * 2 + 1 for i in [begin, end): whole vectors, then one masked.
inline Kernel scale_kernel(int lanes = 8, bool contract = true) {
  Builder b("scale", "scale(x) = x * 2 + 1");
  const int x = b.add_buffer({"x", DType::F32, false, 4}), y = b.add_buffer({"y", DType::F32, true, 4});
  const Type t = vector_of(DType::F32, lanes);
  const Value width = b.i64(lanes);
  const Value count = b.sub(b.end(), b.begin());
  const Value whole = b.mul(b.trunc_div(count, width), width);
  const Value stop = b.add(b.begin(), whole);
  const auto body = [&](Value i, Value mask) {
    const Value at = b.mul(i, b.i64(4));
    const Value from = b.ptr_add(b.buffer(x), at), to = b.ptr_add(b.buffer(y), at);
    const Value v = mask ? b.masked_load(from, mask, b.zero(t)) : b.load(t, from);
    const Value two = b.constant(t, 2), one = b.constant(t, 1);
    const Value r = contract ? b.fma(v, two, one) : b.add(b.mul(v, two), one);
    mask ? b.masked_store(to, mask, r) : b.store(to, r);
  };
  const auto loop = b.begin_loop(b.begin(), stop, width);
  body(loop.i, {});
  b.end_loop();
  b.begin_if(b.lt(stop, b.end()));
  const Value left = b.splat(b.sub(b.end(), stop), lanes);
  body(stop, b.lt(b.iota(vector_of(DType::I64, lanes)), left));
  b.end_if();
  return b.finish();
}

/// One tile of a product, rows x (vectors * lanes), packed right-hand side: c[r, :] = sum over k of a[r, k] * b[k, :].
/// dims: k, byte stride of a row of a, of c. Rows are reached from running pointers with strides x1 and x2.
inline Kernel product_kernel(int rows, int vectors, int lanes) {
  Builder b("product", "dot(a, b)");
  const int a = b.add_buffer({"a", DType::F32, false, 4}), p = b.add_buffer({"b", DType::F32, false, 64});
  const int c = b.add_buffer({"c", DType::F32, true, 64});
  const int k = b.add_dim("k"), row_bytes = b.add_dim("row_bytes"), out_bytes = b.add_dim("out_bytes");
  const Type t = vector_of(DType::F32, lanes);
  const int group = 3;  // rows for each running pointer
  const Value twice = b.mul(b.dim(row_bytes), b.i64(2)), thrice = b.mul(b.dim(row_bytes), b.i64(group));

  std::vector<Value> inits = {b.buffer(p)};
  for (int r = 0; r < rows; r += group) inits.push_back(r ? b.ptr_add(inits.back(), thrice) : b.buffer(a));
  const size_t sums = inits.size();
  inits.resize(sums + static_cast<size_t>(rows * vectors), b.zero(t));
  const auto loop = b.begin_loop(b.i64(0), b.dim(k), b.i64(1), inits, true);
  std::vector<Value> column, next;
  for (int v = 0; v < vectors; ++v) column.push_back(b.load(t, b.ptr_add(loop.carried[0], v * lanes * 4), lanes * 4));
  next.push_back(b.ptr_add(loop.carried[0], vectors * lanes * 4));
  for (size_t g = 1; g < sums; ++g) next.push_back(b.ptr_add(loop.carried[g], 4));
  for (int r = 0; r < rows; ++r) {
    Value row = loop.carried[1 + static_cast<size_t>(r / group)];
    if (r % group) row = b.ptr_add(row, r % group == 1 ? b.dim(row_bytes) : twice);
    const Value element = b.splat(b.load(scalar(DType::F32), row), lanes);
    for (int v = 0; v < vectors; ++v)
      next.push_back(
          b.fma(element, column[static_cast<size_t>(v)], loop.carried[sums + static_cast<size_t>(r * vectors + v)]));
  }
  const auto results = b.end_loop(next);
  Value out = b.buffer(c);
  for (int r = 0; r < rows; ++r) {
    if (r) out = b.ptr_add(out, b.dim(out_bytes));
    for (int v = 0; v < vectors; ++v)
      b.store(b.ptr_add(out, v * lanes * 4), results[sums + static_cast<size_t>(r * vectors + v)], lanes * 4);
  }
  return b.finish();
}

/// y[i] = sum over j < n of x[i * n + j], eight lanes, merged by shuffles in a fixed tree, the rest one by one.
inline Kernel row_sum_kernel() {
  Builder b("row_sum", "sum[j](x[i, j])");
  const int x = b.add_buffer({"x", DType::F32, false, 4}), y = b.add_buffer({"y", DType::F32, true, 4});
  const Value n = b.dim(b.add_dim("n"));
  const Type t = vector_of(DType::F32, 8);
  const Value row_bytes = b.mul(n, b.i64(4));
  const Value whole = b.mul(b.trunc_div(n, b.i64(8)), b.i64(8));
  const auto rows = b.begin_loop(b.begin(), b.end(), b.i64(1));
  const Value row = b.ptr_add(b.buffer(x), b.mul(rows.i, row_bytes));
  const auto wide = b.begin_loop(b.i64(0), whole, b.i64(8), {row, b.zero(t)});
  const Value sum = b.add(wide.carried[1], b.load(t, wide.carried[0]));
  const auto ends = b.end_loop({b.ptr_add(wide.carried[0], 32), sum});
  const Value low4 = b.shuffle(ends[1], ends[1], {0, 1, 2, 3});
  const Value v4 = b.add(low4, b.shuffle(ends[1], ends[1], {4, 5, 6, 7}));
  const Value low2 = b.shuffle(v4, v4, {0, 1});
  const Value v2 = b.add(low2, b.shuffle(v4, v4, {2, 3}));
  const Value v1 = b.extract(v2, 0);
  const auto rest = b.begin_loop(whole, n, b.i64(1), {ends[0], b.add(v1, b.extract(v2, 1))});
  const Value more = b.add(rest.carried[1], b.load(scalar(DType::F32), rest.carried[0]));
  const auto total = b.end_loop({b.ptr_add(rest.carried[0], 4), more});
  b.store(b.ptr_add(b.buffer(y), b.mul(rows.i, b.i64(4))), total[1]);
  b.end_loop();
  return b.finish();
}

/// y[perm[i]] = x[perm[i]] where perm[i] >= 0; a tile is four elements.
inline Kernel permute_kernel() {
  Builder b("permute", "gather and scatter");
  const int x = b.add_buffer({"x", DType::F32, false, 4}), p = b.add_buffer({"perm", DType::I32, false, 4});
  const int y = b.add_buffer({"y", DType::F32, true, 4});
  const Type index = vector_of(DType::I64, 4);
  const auto loop = b.begin_loop(b.begin(), b.end(), b.i64(1));
  const Value at = b.mul(loop.i, b.i64(16));
  const Value k = b.cast(b.load(vector_of(DType::I32, 4), b.ptr_add(b.buffer(p), at)), DType::I64);
  const Value bytes = b.mul(k, b.integer(index, 4)), mask = b.le(b.zero(index), k);
  b.scatter(b.buffer(y), bytes, mask, b.gather(b.buffer(x), bytes, mask, b.zero(vector_of(DType::F32, 4))));
  b.end_loop();
  return b.finish();
}

/// One application of an operation, and its result.
struct OpCase {
  Op op;
  DType result;
};

/// y_k[i] = op_k(a[i], b[i], c[i]) for i in [begin, end), `lanes` at a time; the buffers are a, b, c of one dtype, then
/// the results. A bool is U8 in memory; Select takes a as its condition, so its operands are bools.
inline Kernel ops_kernel(const std::vector<OpCase>& cases, DType operand, int lanes) {
  Builder k("ops");
  const auto stored = [](DType d) { return d == DType::Bool ? DType::U8 : d; };
  for (const char* name : {"a", "b", "c"}) k.add_buffer({name, stored(operand), false, 8});
  for (const OpCase& c : cases) k.add_buffer({std::string(name(c.op)), stored(c.result), true, 8});
  const auto address = [&](int buffer, DType d, Value i) {
    return k.ptr_add(k.buffer(buffer), k.mul(i, k.i64(lanes * size_bytes(stored(d)))));
  };
  const auto loop = k.begin_loop(k.begin(), k.end(), k.i64(1));
  Value v[3];
  for (int n = 0; n < 3; ++n) {
    v[n] = k.load(vector_of(stored(operand), lanes), address(n, operand, loop.i));
    v[n] = k.cast(v[n], operand);
  }
  for (size_t n = 0; n < cases.size(); ++n) {
    const OpCase& c = cases[n];
    const int operands = operand_count(c.op);
    Value r = c.op == Op::Cast      ? k.cast(v[0], c.result)
              : c.op == Op::BitCast ? k.bitcast(v[0], c.result)
              : operands == 1       ? k.arith(c.op, {v[0]})
              : operands == 2       ? k.arith(c.op, {v[0], v[1]})
                                    : k.arith(c.op, {v[0], v[1], v[2]});
    r = k.cast(r, stored(c.result));
    k.store(address(static_cast<int>(n) + 3, c.result, loop.i), r);
  }
  k.end_loop();
  return k.finish();
}

/// y[i] = c[i] ? a[i] : b[i]; a tile is four elements.
inline Kernel select_kernel() {
  Builder b("select");
  const int c = b.add_buffer({"c", DType::U8}), x = b.add_buffer({"a", DType::F32, false, 4});
  const int y = b.add_buffer({"b", DType::F32, false, 4}), to = b.add_buffer({"y", DType::F32, true, 4});
  const Type t = vector_of(DType::F32, 4);
  const auto loop = b.begin_loop(b.begin(), b.end(), b.i64(1));
  const Value at = b.mul(loop.i, b.i64(16)), flag_at = b.mul(loop.i, b.i64(4));
  const Value flags = b.cast(b.load(vector_of(DType::U8, 4), b.ptr_add(b.buffer(c), flag_at)), DType::Bool);
  const Value left = b.load(t, b.ptr_add(b.buffer(x), at));
  const Value right = b.load(t, b.ptr_add(b.buffer(y), at));
  b.store(b.ptr_add(b.buffer(to), at), b.select(flags, left, right));
  b.end_loop();
  return b.finish();
}

}  // namespace frit::testing
