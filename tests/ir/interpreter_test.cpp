#include "ir/interpreter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/error.h"

using namespace frit;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

Array floats(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  Array a(dtype, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) a.set_float(static_cast<int64_t>(i), values[i]);
  return a;
}
Array integers(DType dtype, const std::vector<int64_t>& values) {
  Array a(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) a.set_int(static_cast<int64_t>(i), values[i]);
  return a;
}

// One compute over constants.
struct Builder {
  std::vector<Array> operands;
  Compute c;

  Builder& axis(const char* name, int64_t extent, bool reduced = false) {
    c.axes.push_back({name, index_constant(extent)});
    if (!reduced) ++c.free;
    return *this;
  }
  Builder& operand(Array a) {
    operands.push_back(std::move(a));
    return *this;
  }
  Builder& result(const Expr& value) {
    std::vector<int> axes;
    for (int a = 0; a < c.free; ++a) axes.push_back(a);
    c.results.push_back({value, axes});
    return *this;
  }
  Builder& reduce(ReduceOp op, const Expr& e, const Expr& position = {}) {
    c.reduction = make_reduction(op, e, position);
    return result(accumulator(c.reduction.init[position ? 1 : 0].dtype(), position ? 1 : 0));
  }
  std::vector<ReferenceTensor> run() const {
    Graph g;
    std::vector<Value> inputs;
    for (const Array& a : operands) inputs.push_back(g.add_constant(a));
    const Value v = g.add_compute(c, inputs);
    for (size_t r = 0; r < c.results.size(); ++r) g.add_output("y", {v.node, static_cast<int>(r)});
    return interpret(g, {});
  }
};

Expr at(DType dtype, int slot, std::initializer_list<Expr> positions) {
  return read(dtype, slot, std::vector<Expr>(positions));
}

std::vector<int64_t> binary_rows(DType dtype, Op op, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  const Expr i = index(0);
  const Expr e = binary(op, at(dtype, 0, {i}), at(dtype, 1, {i}));
  return Builder()
      .axis("i", static_cast<int64_t>(a.size()))
      .operand(integers(dtype, a))
      .operand(integers(dtype, b))
      .result(e)
      .run()[0]
      .integers;
}

std::vector<double> float_rows(DType dtype, Op op, const std::vector<double>& a, const std::vector<double>& b) {
  const Expr i = index(0);
  const auto n = static_cast<int64_t>(a.size());
  const Expr e = binary(op, at(compute_dtype(dtype), 0, {i}), at(compute_dtype(dtype), 1, {i}));
  return Builder().axis("i", n).operand(floats(dtype, {n}, a)).operand(floats(dtype, {n}, b)).result(e).run()[0].values;
}

void expect_same(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i]))
      EXPECT_TRUE(std::isnan(got[i])) << i;
    else
      EXPECT_EQ(got[i], want[i]) << i;
    EXPECT_EQ(std::signbit(got[i]) && !std::isnan(got[i]), std::signbit(want[i]) && !std::isnan(want[i])) << i;
  }
}

using Ints = std::vector<int64_t>;

}  // namespace

TEST(Interpreter, B052DivisionOfMixedSigns) {
  const Ints a{-7, -7, 7, 7, -1, 0, -6, 5}, b{2, -2, -2, 3, 2, 5, 3, -7};
  for (const DType dtype : {DType::I8, DType::I16, DType::I32, DType::I64}) {
    EXPECT_EQ(binary_rows(dtype, Op::FloorDiv, a, b), (Ints{-4, 3, -4, 2, -1, 0, -2, -1}));
    EXPECT_EQ(binary_rows(dtype, Op::Mod, a, b), (Ints{1, -1, -1, 1, 1, 0, 0, -2}));
    EXPECT_EQ(binary_rows(dtype, Op::TruncDiv, a, b), (Ints{-3, 3, -3, 2, 0, 0, -2, 0}));
    EXPECT_EQ(binary_rows(dtype, Op::TruncMod, a, b), (Ints{-1, -1, 1, 1, -1, 0, 0, 5}));
  }
}

TEST(Interpreter, B054DivisionIsTotal) {
  for (const DType dtype : {DType::I8, DType::I32, DType::I64}) {
    const int64_t low = dtype == DType::I8 ? -128 : dtype == DType::I32 ? INT32_MIN : INT64_MIN;
    const Ints a{5, -5, 0, low}, b{0, 0, 0, -1};
    for (const Op op : {Op::FloorDiv, Op::TruncDiv, Op::CeilDiv})
      EXPECT_EQ(binary_rows(dtype, op, a, b), (Ints{0, 0, 0, low}));
    for (const Op op : {Op::Mod, Op::TruncMod}) EXPECT_EQ(binary_rows(dtype, op, a, b), (Ints{0, 0, 0, 0}));
  }
  EXPECT_EQ(binary_rows(DType::U64, Op::FloorDiv, {-1, 7}, {2, 0}), (Ints{INT64_MAX, 0}));
}

TEST(Interpreter, B055CeilingDivision) {
  EXPECT_EQ(binary_rows(DType::I32, Op::CeilDiv, {-36, -35, 36, 1}, {5, 5, 5, 5}), (Ints{-7, -7, 8, 1}));
}

TEST(Interpreter, B057Shifts) {
  EXPECT_EQ(binary_rows(DType::I32, Op::Shl, {1, 1, 1, -1, 1}, {31, 32, 40, 1, -1}), (Ints{INT32_MIN, 0, 0, -2, 0}));
  EXPECT_EQ(binary_rows(DType::I32, Op::Shr, {-8, -8, 8, -8}, {1, 40, 40, -1}), (Ints{-4, -1, 0, -1}));
  EXPECT_EQ(binary_rows(DType::U32, Op::Shr, {0xfffffff8}, {1}), (Ints{2147483644}));
  EXPECT_EQ(binary_rows(DType::U8, Op::Shl, {255}, {1}), (Ints{254}));
}

TEST(Interpreter, B058FloatToIntegerSaturates) {
  const std::vector<double> x{-1, 300.5, kNan, kInf, -kInf, 3e9};
  const auto run = [&](DType to) {
    const Expr e = cast(at(DType::F32, 0, {index(0)}), to);
    return Builder().axis("i", 6).operand(floats(DType::F32, {6}, x)).result(e).run()[0].integers;
  };
  EXPECT_EQ(run(DType::U8), (Ints{0, 255, 0, 255, 0, 255}));
  EXPECT_EQ(run(DType::I8), (Ints{-1, 127, 0, 127, -128, 127}));
  EXPECT_EQ(run(DType::I32), (Ints{-1, 300, 0, INT32_MAX, INT32_MIN, INT32_MAX}));
  EXPECT_EQ(run(DType::I64), (Ints{-1, 300, 0, INT64_MAX, INT64_MIN, 3000000000}));
  EXPECT_EQ(run(DType::U64), (Ints{0, 300, 0, -1, 0, 3000000000}));
  EXPECT_EQ(run(DType::Bool), (Ints{1, 1, 1, 1, 1, 1}));
}

TEST(Interpreter, IntegersWrap) {
  EXPECT_EQ(binary_rows(DType::I8, Op::Add, {127}, {1}), (Ints{-128}));
  EXPECT_EQ(binary_rows(DType::U8, Op::Sub, {0}, {1}), (Ints{255}));
  EXPECT_EQ(binary_rows(DType::I32, Op::Mul, {1 << 30}, {4}), (Ints{0}));
  EXPECT_EQ(binary_rows(DType::I32, Op::Pow, {3, -1, 2, 1, 0}, {4, -3, -1, -9, -1}), (Ints{81, -1, 0, 1, 0}));
  EXPECT_EQ(binary_rows(DType::U64, Op::Max, {-1, 5}, {1, 7}), (Ints{-1, 7}));
}

TEST(Interpreter, B017NanPropagatesThroughMinAndMax) {
  for (const DType dtype : {DType::F16, DType::F32}) {
    for (const Op op : {Op::Max, Op::Min}) {
      const double third = op == Op::Max ? 3 : 1;
      expect_same(float_rows(dtype, op, {1, kNan, 3}, {kNan, 2, 1}), {kNan, kNan, third});
      expect_same(float_rows(dtype, op, {kNan, 2, 1}, {1, kNan, 3}), {kNan, kNan, third});
    }
  }
}

TEST(Interpreter, FloatDivisionForms) {
  expect_same(float_rows(DType::F32, Op::Mod, {-7, 7, 5, -5}, {2, -2, kInf, kInf}), {1, -1, 5, kInf});
  expect_same(float_rows(DType::F32, Op::TruncMod, {-7, 7}, {2, -2}), {-1, 1});
  expect_same(float_rows(DType::F32, Op::FloorDiv, {-7, 7, 1}, {2, -2, 0}), {-4, -4, kInf});
}

TEST(Interpreter, B019ArgReductionsTakeTheFirst) {
  const auto arg = [](ReduceOp op, const std::vector<double>& x, const Expr& position) {
    const auto n = static_cast<int64_t>(x.size());
    Builder b;
    b.axis("i", n, true).operand(floats(DType::F32, {n}, x));
    return b.reduce(op, at(DType::F32, 0, {index(0)}), position).run()[0].integers[0];
  };
  const Expr i = index(0);
  EXPECT_EQ(arg(ReduceOp::ArgMax, std::vector<double>(1000, 2.0), i), 0);
  std::vector<double> x(1000, 0.0);
  x[17] = x[900] = 9;
  EXPECT_EQ(arg(ReduceOp::ArgMax, x, i), 17);
  EXPECT_EQ(arg(ReduceOp::ArgMax, {1, kNan, 5, kNan}, i), 1);
  EXPECT_EQ(arg(ReduceOp::ArgMin, {1, 0, 0, kNan}, i), 3);
  EXPECT_EQ(arg(ReduceOp::ArgMax, {-kInf, -kInf}, i), 0);
  EXPECT_EQ(arg(ReduceOp::ArgMax, {-kInf, -kInf, -kInf}, i - index_constant(1)), -1);  // payloads below zero
  EXPECT_EQ(arg(ReduceOp::ArgMax, {1, 3, 2}, i - index_constant(7)), -6);
}

TEST(Interpreter, B022InfinityIsTheIdentity) {
  const auto reduce = [](ReduceOp op, const std::vector<double>& x) {
    const auto n = static_cast<int64_t>(x.size());
    Builder b;
    b.axis("i", n, true).operand(floats(DType::F32, {n}, x));
    return b.reduce(op, at(DType::F32, 0, {index(0)})).run()[0].values[0];
  };
  EXPECT_EQ(reduce(ReduceOp::Max, {-kInf, -kInf}), -kInf);
  EXPECT_EQ(reduce(ReduceOp::Min, {kInf}), kInf);
  EXPECT_TRUE(std::isnan(reduce(ReduceOp::Max, {1, kNan, 2})));
  // B064: over nothing
  EXPECT_EQ(reduce(ReduceOp::Max, {}), -kInf);
  EXPECT_EQ(reduce(ReduceOp::Sum, {}), 0);
  EXPECT_EQ(reduce(ReduceOp::Prod, {}), 1);
}

TEST(Interpreter, B064EmptyTensors) {
  const Expr x = at(DType::F32, 0, {index(0), index(1)});
  const auto y = Builder().axis("i", 0).axis("j", 3).operand(Array(DType::F32, {0, 3})).result(x + x).run()[0];
  EXPECT_EQ(y.shape, (Ints{0, 3}));
  EXPECT_TRUE(y.values.empty());
  const auto any = Builder()
                       .axis("i", 0, true)
                       .operand(Array(DType::Bool, {0}))
                       .reduce(ReduceOp::Any, at(DType::Bool, 0, {index(0)}))
                       .run()[0];
  EXPECT_EQ(any.integers, Ints{0});
}

TEST(Interpreter, B067ContractionOverNothingIsZero) {
  Builder b;
  b.axis("m", 2).axis("n", 3).axis("k", 0, true).operand(Array(DType::F32, {2, 0})).operand(Array(DType::F32, {0, 3}));
  b.reduce(ReduceOp::Sum, at(DType::F32, 0, {index(0), index(2)}) * at(DType::F32, 1, {index(2), index(1)}));
  expect_same(b.run()[0].values, std::vector<double>(6, 0.0));
}

TEST(Interpreter, ConvolutionWithGuardAndMagnitudes) {
  // y[i] = sum[k](x[2i + k - 1] else 0) * f[k], x = 1..4, f = 1, -10, 100
  Builder b;
  b.axis("i", 2).axis("k", 3, true);
  b.operand(floats(DType::F32, {4}, {1, 2, 3, 4})).operand(floats(DType::F32, {3}, {1, -10, 100}));
  const std::vector<Expr> position{index(0) * index_constant(2) + index(1) - index_constant(1)};
  const Expr x = guarded_read(DType::F32, 0, position, true_value(), constant(DType::F32, 0));
  b.reduce(ReduceOp::Sum, x * at(DType::F32, 1, {index(1)}));
  const ReferenceTensor y = b.run()[0];
  expect_same(y.values, {190, 372});
  expect_same(y.magnitudes, {210, 432});
  EXPECT_EQ(y.terms, (Ints{3, 3}));
}

TEST(Interpreter, UnguardedReadOutsideIsOurBug) {
  Builder b;
  b.axis("i", 4).operand(floats(DType::F32, {3}, {1, 2, 3})).result(at(DType::F32, 0, {index(0)}));
  EXPECT_THROW(b.run(), InternalError);
}

TEST(Interpreter, FoldReplacesAllAccumulatorsAtOnce) {
  // Fibonacci: a, b = b, a + b
  Builder b;
  b.axis("i", 10, true);
  const Expr a0 = accumulator(DType::I64, 0), a1 = accumulator(DType::I64, 1);
  b.c.reduction = {ReduceOp::Fold, {index_constant(0), index_constant(1)}, {a1, a0 + a1}, {}};
  b.result(a0);
  EXPECT_EQ(b.run()[0].integers, Ints{55});
}

TEST(Interpreter, ResultsWithTheirOwnAxes) {
  // m[i] and s[i, d] of one fold over k
  Builder b;
  b.axis("i", 2).axis("d", 3).axis("k", 2, true).operand(floats(DType::F32, {2, 2}, {1, 2, 5, 3}));
  const Expr x = at(DType::F32, 0, {index(0), index(2)});
  const Expr m = accumulator(DType::F32, 0), s = accumulator(DType::F32, 1);
  b.c.reduction = {ReduceOp::Fold,
                   {constant(DType::F32, -kInf), constant(DType::F32, 0)},
                   {binary(Op::Max, m, x), s + x * cast(index(1), DType::F32)},
                   {}};
  b.c.results = {{m, {0}}, {s, {1, 0}}};
  const auto r = b.run();
  expect_same(r[0].values, {2, 5});
  EXPECT_EQ(r[1].shape, (Ints{3, 2}));
  expect_same(r[1].values, {0, 0, 3, 8, 6, 16});
}

TEST(Interpreter, HalfResultsAreRoundedOnce) {
  const Expr e = cast(at(DType::F32, 0, {index(0)}), DType::F16);
  const auto y = Builder().axis("i", 3).operand(floats(DType::F32, {3}, {1.0 / 3, 65520, 1e-9})).result(e).run()[0];
  expect_same(y.values, {f16_to(f16_from(1.0 / 3)), kInf, 0});
  // An i64 that is a tie only after a first rounding to 53 bits.
  const int64_t v = (int64_t{1} << 62) + (int64_t{1} << 54) + 1;
  const Expr big = cast(at(DType::I64, 0, {index(0)}), DType::BF16);
  const auto z = Builder().axis("i", 1).operand(integers(DType::I64, {v})).result(big).run()[0];
  EXPECT_EQ(z.values[0], std::ldexp(1.0, 62) + std::ldexp(1.0, 55));
}

TEST(Interpreter, ViewsAssemblesAndSymbols) {
  Graph g;
  const Expr n = symbol("n");
  const Value x = g.add_input("x", {DType::I32, {n, index_constant(2)}});
  const Value t = g.add_view({{{"j", index_constant(2)}, {"i", n}}, {index(1), index(0)}}, x);
  g.add_output("t", t);
  const Value c = g.add_constant(integers(DType::I32, {7, 8}));
  const Value d = g.add_constant(integers(DType::I32, {1, 2}));
  const std::vector<int64_t> four{4};
  g.add_output("z", g.add_assemble({make_shape(four), {{{0}, {2}}, {{1}, {2}}}}, {c, d}));
  Array array(DType::I32, {3, 2});
  for (int64_t i = 0; i < 6; ++i) array.set_int(i, i);
  const auto r = interpret(g, {{"x", array}});
  EXPECT_EQ(r[0].shape, (Ints{2, 3}));
  EXPECT_EQ(r[0].integers, (Ints{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(r[1].integers, (Ints{7, 1, 8, 2}));
  EXPECT_EQ(interpret_all(g, {{"x", array}}).size(), 3U);
  EXPECT_THROW(interpret(g, {}), InputError);
  EXPECT_THROW(interpret(g, {{"x", Array(DType::I32, {3, 3})}}), InputError);
}

TEST(Interpreter, CompareSaysWhereAndHowMuch) {
  ReferenceTensor want{DType::F32, {2, 2}, {1, kNan, kInf, 1e39}, {}, {1, 1, 1, 1e39}, {1, 1, 1, 1}};
  EXPECT_EQ(compare(floats(DType::F32, {2, 2}, {1 + 1e-6, kNan, kInf, kInf}), want), "");
  EXPECT_NE(compare(floats(DType::F32, {2, 2}, {1.1, kNan, kInf, kInf}), want).find("[0, 0]: got 1.1"),
            std::string::npos);
  EXPECT_NE(compare(floats(DType::F32, {2, 2}, {1, 0, kInf, kInf}), want).find("[0, 1]"), std::string::npos);
  EXPECT_NE(compare(floats(DType::F32, {4}, {1, 0, 1, 1}), want).find("got f32[4], want f32[2, 2]"), std::string::npos);
}
