#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "codegen/functions/functions.h"
#include "codegen/kernel/builder.h"
#include "codegen/kernel_runner.h"
#include "ir/expr.h"

namespace frit::testing {

constexpr int kLanes = 8;  // of an expression's kernel

inline DType stored(DType d) { return d == DType::Bool ? DType::U8 : d; }

/// y = e(x0, x1), kLanes at a time; reads of slots 0 and 1 are the operands.
inline kernel::Kernel kernel_of(const Expr& e, DType operand) {
  using kernel::Type, kernel::Value;
  kernel::Builder b("function", to_string(e).substr(0, 80));
  for (const char* name : {"x0", "x1"}) b.add_buffer({name, stored(operand), false, 8});
  const int y = b.add_buffer({"y", stored(e.dtype()), true, 8});
  const auto loop = b.begin_loop(b.begin(), b.end(), b.i64(1));
  const auto address = [&](int buffer, DType d) {
    return b.ptr_add(b.buffer(buffer), b.mul(loop.i, b.i64(kLanes * size_bytes(stored(d)))));
  };
  std::unordered_map<const void*, Value> values;
  for_each_node(e, [&](const Expr& n) {
    Value v;
    const Type t = kernel::vector_of(n.dtype(), kLanes);
    if (n.op() == Op::Read) {
      v = b.cast(b.load(kernel::vector_of(stored(operand), kLanes), address(n.slot(), operand)), n.dtype());
    } else if (n.op() == Op::Const) {
      v = is_float(n.dtype()) ? b.constant(t, n.float_value()) : b.integer(t, n.int_value());
    } else {
      std::vector<Value> args;
      for (const Expr& arg : n.args()) args.push_back(values.at(arg.id()));
      v = n.op() == Op::Cast      ? b.cast(args[0], n.dtype())
          : n.op() == Op::BitCast ? b.bitcast(args[0], n.dtype())
          : args.size() == 1      ? b.arith(n.op(), {args[0]})
          : args.size() == 2      ? b.arith(n.op(), {args[0], args[1]})
                                  : b.arith(n.op(), {args[0], args[1], args[2]});
    }
    values[n.id()] = v;
  });
  b.store(address(y, e.dtype()), b.cast(values.at(e.id()), stored(e.dtype())));
  b.end_loop();
  return b.finish();
}

inline Expr operand(DType d, int slot) { return read(d, slot, {}); }

/// An expression of reads of slots 0 and 1, expanded and compiled for this machine.
class CompiledExpr {
 public:
  CompiledExpr(const Expr& written, DType from, bool with_fma)
      : from_(from),
        to_(written.dtype()),
        runner_(can_run("avx512") ? "avx512"
                : can_run("avx2") ? "avx2"
                                  : "sse2"),
        kernel_(runner_.compile(kernel_of(expand_functions(written, {with_fma, with_fma, with_fma}), from))) {}

  static bool can_fma() { return can_run("avx2"); }

  template <class To, class From>
  std::vector<To> operator()(const std::vector<From>& x0, const std::vector<From>& x1 = {}) const {
    const size_t tiles = (x0.size() + kLanes - 1) / kLanes;
    std::vector<To> y(tiles * kLanes);
    run(padded(x0, tiles), padded(x1, tiles), y, tiles);
    y.resize(x0.size());
    return y;
  }

  /// Into a buffer of whole tiles, without copies.
  template <class To, class From>
  void run(const std::vector<From>& x0, const std::vector<From>& x1, std::vector<To>& y, size_t tiles) const {
    if (sizeof(From) != static_cast<size_t>(size_bytes(stored(from_))) ||
        sizeof(To) != static_cast<size_t>(size_bytes(stored(to_))))
      throw std::logic_error("element sizes differ");
    void* pointers[] = {const_cast<From*>(x0.data()), const_cast<From*>(x1.data()), y.data()};
    kernel_->fn()(pointers, nullptr, 0, static_cast<int64_t>(tiles), nullptr);
  }

 private:
  template <class T>
  static std::vector<T> padded(std::vector<T> x, size_t tiles) {
    x.resize(tiles * kLanes);
    return x;
  }

  DType from_, to_;
  CpuRunner runner_;
  runtime::KernelRef kernel_;
};

/// |got - want| in units of the last place of want as a T; 0 where both are the same special value.
template <class T, class Wide>
double ulps(T got, Wide want) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : 1e9;
  const T rounded = static_cast<T>(want);
  if (got == rounded && std::isinf(got)) return 0;
  const Wide largest = Limits::max();
  // Past the largest number the units go on as before it.
  const Wide w = std::isinf(want) ? std::copysign(largest * 2, want) : want;
  const Wide g = std::isinf(got) ? std::copysign(largest, static_cast<Wide>(got)) * (1 + Wide(Limits::epsilon()) / 2)
                                 : static_cast<Wide>(got);
  const Wide size = std::min(std::max(std::fabs(w), Wide(Limits::min())), largest);
  const Wide unit = std::ldexp(Wide(1), std::ilogb(size) - (Limits::digits - 1));
  return static_cast<double>(std::fabs(g - w) / unit);
}

}  // namespace frit::testing
