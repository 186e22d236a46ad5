#include "ir/graph.h"

#include <gtest/gtest.h>

#include "support/error.h"

using namespace frit;

namespace {

Expr at(int slot, std::initializer_list<Expr> positions) {
  return read(DType::F32, slot, std::vector<Expr>(positions));
}
TensorType f32(std::initializer_list<int64_t> shape) { return {DType::F32, make_shape(std::vector<int64_t>(shape))}; }

}  // namespace

TEST(Graph, InfersAProduct) {
  Graph g;
  const Value a = g.add_input("a", f32({8, 64}));
  const Value b = g.add_input("b", f32({64, 16}));
  Compute c;
  c.axes = {{"m", index_constant(8)}, {"n", index_constant(16)}, {"k", index_constant(64)}};
  c.free = 2;
  c.reduction = make_reduction(ReduceOp::Sum, at(0, {index(0), index(2)}) * at(1, {index(2), index(1)}));
  c.results = {{accumulator(DType::F32, 0), {0, 1}}};
  const Value y = g.add_compute(c, {a, b}, "dense");
  EXPECT_EQ(to_string(g.type(y)), "f32[8, 16]");
  c.results[0].axes = {1, 0};
  EXPECT_EQ(to_string(g.type(g.add_compute(c, {a, b}))), "f32[16, 8]");
}

TEST(Graph, RefusesNodesThatDoNotFit) {
  Graph g;
  const Value x = g.add_input("x", f32({4}));
  Compute c;
  c.axes = {{"i", index_constant(4)}};
  c.free = 1;
  c.results = {{at(0, {index(0)}), {0}}};
  EXPECT_NO_THROW(g.add_compute(c, {x}));
  EXPECT_THROW(g.add_compute(c, {}), InternalError);  // no slot 0
  Compute other = c;
  other.results[0].value = at(0, {index(0), index(0)});  // rank
  EXPECT_THROW(g.add_compute(other, {x}), InternalError);
  other = c;
  other.results[0].value = at(0, {index(1)});  // no such axis
  EXPECT_THROW(g.add_compute(other, {x}), InternalError);
  other = c;
  other.results[0].axes = {};  // mentions an axis that the result has not
  EXPECT_THROW(g.add_compute(other, {x}), InternalError);
}

TEST(Graph, PrintsShapesWithSymbols) {
  EXPECT_EQ(to_string(TensorType{DType::I64, {index_constant(1), symbol("n"), symbol("n") * index_constant(2)}}),
            "i64[1, n, n*2]");
  EXPECT_THROW(static_shape({symbol("n")}), UnsupportedError);
}

TEST(Expr, PrintsReadably) {
  const Expr i = index(0), n = symbol("n");
  const Expr x = at(0, {i}), zero = constant(DType::F32, 0);
  const struct {
    Expr e;
    const char* text;
  } rows[] = {
      {x * x + x, "x0[i0]*x0[i0] + x0[i0]"},
      {x * (x + zero), "x0[i0]*(x0[i0] + 0.0)"},
      {x - (x - zero), "x0[i0] - (x0[i0] - 0.0)"},
      {unary(Op::Neg, zero), "-(0.0)"},
      {constant(DType::F32, -0.0), "-0.0"},
      {constant_int(DType::U8, 300), "44_u8"},
      {constant(DType::F64, 0.1), "0.1_f64"},
      {binary(Op::Mod, binary(Op::FloorDiv, i, n), index_constant(3)), "i0//n%3"},
      {guarded_read(DType::F32, 1, std::vector<Expr>{i}, binary(Op::Lt, i, n), zero), "(x1[i0] if i0 < n else 0.0)"},
      {guarded_read(DType::F32, 1, std::vector<Expr>{i}, true_value(), zero), "(x1[i0] else 0.0)"},
      {cast(unary(Op::Exp, x), DType::F16), "f16(exp(x0[i0]))"},
      {symbol("batch size"), "${batch size}"},
      {symbol("i0"), "${i0}"},
      {accumulator(DType::F32, 0) + accumulator(DType::F32, 0, true), "acc0 + acc0'"},
  };
  for (const auto& row : rows) EXPECT_EQ(to_string(row.e), row.text);
}

TEST(Expr, PrintsSharedPartsOnce) {
  Expr e = at(0, {index(0)});
  for (int k = 0; k < 200; ++k) e = unary(Op::Tanh, e) * e;
  EXPECT_LT(to_string(e).size(), 20'000U);
  Expr chain = at(0, {index(0)});
  for (int k = 0; k < 20'000; ++k) chain = chain + at(0, {index_constant(k)});
  EXPECT_LT(to_string(chain).size(), 1'000'000U);
}

TEST(Graph, ArgReductionFlagsPayloadsThatMayBeNegative) {
  const Expr e = at(0, {index(0)});
  EXPECT_EQ(make_reduction(ReduceOp::ArgMax, e, index(0)).init.size(), 2U);
  EXPECT_EQ(make_reduction(ReduceOp::ArgMax, e, index(0) - symbol("p")).init.size(), 3U);
}
