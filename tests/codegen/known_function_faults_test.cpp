// Known faults of elementary functions, integer operations and casts, by their number, on compiled kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "codegen/expr_kernel.h"
#include "ir/array.h"

namespace frit::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");
constexpr int64_t kMin32 = std::numeric_limits<int32_t>::min();

Expr x() { return operand(DType::F32, 0); }
Expr y() { return operand(DType::F32, 1); }
Expr number(double v) { return constant(DType::F32, v); }
Expr of(Op op) { return is_binary(op) ? binary(op, x(), y()) : unary(op, x()); }

// As the ONNX layer writes it; the bound keeps -inf from meeting a zero.
Expr gelu(const Expr& a) {
  return number(0.5) * binary(Op::Max, a, number(-1e4)) * (number(1) + unary(Op::Erf, a * number(0.7071067811865476)));
}
Expr gelu_tanh(const Expr& a) {
  const Expr inner = number(0.7978845608028654) * (a + number(0.044715) * a * a * a);
  return number(0.5) * binary(Op::Max, a, number(-1e4)) * (number(1) + unary(Op::Tanh, inner));
}

struct FloatRow {
  const char* id;
  Expr e;
  std::vector<double> x, y, want;
  double relative;  // 0: the same value, signs of zeros too
};

const std::vector<FloatRow>& float_rows() {
  static const std::vector<FloatRow> rows = {
      {"B017_max", of(Op::Max), {1, kNan, 3}, {kNan, 2, 1}, {kNan, kNan, 3}, 0},
      {"B017_min", of(Op::Min), {1, kNan, 3}, {kNan, 2, 1}, {kNan, kNan, 1}, 0},
      {"B017_relu", binary(Op::Max, x(), number(0)), {-1, kNan, 2}, {}, {0, kNan, 2}, 0},
      {"B017_clamp", binary(Op::Min, binary(Op::Max, x(), number(0.5)), number(kInf)), {kNan, 0.2}, {}, {kNan, 0.5}, 0},
      {"B020_infinity",
       binary(Op::Min, binary(Op::Max, x(), number(-kInf)), number(0.5)),
       {-2, 0, 3},
       {},
       {-2, 0, 0.5},
       0},
      {"B020_nan", x() + number(kNan), {-2, 0, 3}, {}, {kNan, kNan, kNan}, 0},
      {"B020_minus_zero", x() * number(-0.0), {-2, 0, 3}, {}, {0, -0.0, -0.0}, 0},
      {"B020_denormal", x() + number(0x1p-149), {-2, 0, 3}, {}, {-2, 0x1p-149, 3}, 0},
      {"B023_gelu", gelu(x()), {kInf, -kInf, kNan, 0, 1}, {}, {kInf, -0.0, kNan, 0, 0.8413447460685429}, 2e-7},
      {"B023_gelu_tanh", gelu_tanh(x()), {kInf, -kInf, kNan, 0}, {}, {kInf, -0.0, kNan, 0}, 2e-7},
      {"B103_tanh",
       of(Op::Tanh),
       {1e-4, 0.5, 5, 20, 50, 400, -50, kInf, -kInf, kNan},
       {},
       {9.9999999667e-5, 0.46211716, 0.99990920, 1, 1, 1, -1, 1, -1, kNan},
       1e-6},
      {"B105_gelu_tanh",
       gelu_tanh(x()),
       {-3, -5, -6, -8},
       {},
       {-3.63739208e-3, -2.2917962e-7, -8.43964670e-11, -3.10778294e-21},
       1e-4},
      {"B105_gelu", gelu(x()), {-3, -5, -6}, {}, {-4.04969409e-3, -1.43325786e-6, -5.91952587e-9}, 1e-4},
      {"B106_pow",
       of(Op::Pow),
       {-2, -8, -2, -2, -2, -1},
       {-2.3, 1.0 / 3, 3, 2, -1, 1e10},
       {kNan, kNan, -8, 4, -0.5, 1},
       0},
      {"B108_exp",
       of(Op::Exp),
       {-kInf, kInf, kNan, 88.7228317, 88.7228394, -104},
       {},
       {0, kInf, kNan, 3.40279851e38, kInf, 0},
       1e-6},
      {"B108_log", of(Op::Log), {0, -1, kInf, 1e-40}, {}, {-kInf, kNan, kInf, -92.1034}, 1e-6},
      {"B108_log1p", of(Op::Log1p), {1e-7}, {}, {9.9999995e-8}, 2e-7},
      {"B108_expm1", of(Op::Expm1), {1e-7}, {}, {1.00000005e-7}, 2e-7},
      {"B109_erf", of(Op::Erf), {0.5, 1, 2, 3}, {}, {0.52049988, 0.84270079, 0.99532227, 0.99997791}, 2e-7},
      {"B110_isnan", cast(of(Op::IsNan), DType::F32), {kNan, 1, kInf, -kInf}, {}, {1, 0, 0, 0}, 0},
      {"B110_isfinite", cast(of(Op::IsFinite), DType::F32), {kNan, 1, kInf, -kInf}, {}, {0, 1, 0, 0}, 0},
      {"B110_isinf", cast(of(Op::IsInf), DType::F32), {kNan, 1, kInf, -kInf}, {}, {0, 0, 1, 1}, 0},
      {"B110_differs", cast(binary(Op::Ne, x(), x()), DType::F32), {kNan, 1, kInf, -kInf}, {}, {1, 0, 0, 0}, 0},
      {"B112_twice", x() * number(2), {1e-40}, {}, {0x1.16c2p-132}, 1e-4},
      {"B112_half_and_back", x() * number(0.5) * number(2), {1e-40}, {}, {1e-40}, 1e-4},
      {"B112_max", binary(Op::Max, x(), number(0)), {1e-40}, {}, {1e-40}, 1e-4},
      {"B112_is_zero", cast(binary(Op::Eq, x(), number(0)), DType::F32), {1e-40}, {}, {0}, 0},
      {"B113_uncontracted", number(1) - x() * y(), {10}, {0.1}, {0}, 0},
      {"B113_difference", x() * y() - y() * x(), {1.1, 3.3e5}, {2.3, 7.7e-3}, {0, 0}, 0},
  };
  return rows;
}

class KnownFloatFaults : public ::testing::TestWithParam<size_t> {};

TEST_P(KnownFloatFaults, HaveTheRightValue) {
  const FloatRow& row = float_rows()[GetParam()];
  const std::vector<float> a(row.x.begin(), row.x.end()), b(row.y.begin(), row.y.end());
  for (const bool with_fma : {false, CompiledExpr::can_fma()}) {
    const auto got = CompiledExpr(row.e, DType::F32, with_fma).operator()<float>(a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      const double want = row.want[i];
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got[i])) << row.id << " of " << a[i];
      } else if (want == 0 || std::isinf(want) || row.relative == 0) {
        EXPECT_TRUE(got[i] == static_cast<float>(want) && std::signbit(got[i]) == std::signbit(want))
            << row.id << " of " << a[i] << " is " << got[i] << ", not " << want;
      } else {
        EXPECT_NEAR(got[i], want, row.relative * std::fabs(want)) << row.id << " of " << a[i];
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, KnownFloatFaults, ::testing::Range<size_t>(0, float_rows().size()),
                         [](const auto& info) { return std::string(float_rows()[info.param].id); });

struct IntegerRow {
  const char* id;
  Op op;
  DType dtype;
  std::vector<int64_t> a, b, want;
};

const IntegerRow kIntegerRows[] = {
    {"B052_floordiv",
     Op::FloorDiv,
     DType::I32,
     {-7, -7, 7, 7, -1, 0, -6, 5},
     {2, -2, -2, 3, 2, 5, 3, -7},
     {-4, 3, -4, 2, -1, 0, -2, -1}},
    {"B052_mod",
     Op::Mod,
     DType::I32,
     {-7, -7, 7, 7, -1, 0, -6, 5},
     {2, -2, -2, 3, 2, 5, 3, -7},
     {1, -1, -1, 1, 1, 0, 0, -2}},
    {"B052_truncdiv",
     Op::TruncDiv,
     DType::I32,
     {-7, -7, 7, 7, -1, 0, -6, 5},
     {2, -2, -2, 3, 2, 5, 3, -7},
     {-3, 3, -3, 2, 0, 0, -2, 0}},
    {"B052_truncmod",
     Op::TruncMod,
     DType::I32,
     {-7, -7, 7, 7, -1, 0, -6, 5},
     {2, -2, -2, 3, 2, 5, 3, -7},
     {-1, -1, 1, 1, -1, 0, 0, 5}},
    {"B054_floordiv", Op::FloorDiv, DType::I32, {5, -5, 0, kMin32}, {0, 0, 0, -1}, {0, 0, 0, kMin32}},
    {"B054_mod", Op::Mod, DType::I32, {5, -5, 0, kMin32}, {0, 0, 0, -1}, {0, 0, 0, 0}},
    {"B054_truncmod", Op::TruncMod, DType::I32, {5, -5, 0, kMin32}, {0, 0, 0, -1}, {0, 0, 0, 0}},
    {"B055_ceildiv", Op::CeilDiv, DType::I32, {-36, -35, 36, 1}, {5, 5, 5, 5}, {-7, -7, 8, 1}},
    {"B057_shl", Op::Shl, DType::I32, {1, 1, 1, -1}, {31, 32, 40, 1}, {kMin32, 0, 0, -2}},
    {"B057_shr", Op::Shr, DType::I32, {-8, -8}, {1, 40}, {-4, -1}},
    {"B057_logical_shr", Op::Shr, DType::U32, {int64_t{0xfffffff8}}, {1}, {2147483644}},
    {"B057_narrow", Op::Shl, DType::U8, {255}, {1}, {254}},
};

template <class T>
std::vector<int64_t> run_integers(const IntegerRow& row) {
  const std::vector<T> a(row.a.begin(), row.a.end()), b(row.b.begin(), row.b.end());
  const Expr e = binary(row.op, operand(row.dtype, 0), operand(row.dtype, 1));
  const auto got = CompiledExpr(e, row.dtype, false).operator()<T>(a, b);
  return {got.begin(), got.end()};
}

TEST(KnownIntegerFaults, HaveTheRightValue) {
  for (const IntegerRow& row : kIntegerRows) {
    const auto got = row.dtype == DType::I32   ? run_integers<int32_t>(row)
                     : row.dtype == DType::U32 ? run_integers<uint32_t>(row)
                                               : run_integers<uint8_t>(row);
    EXPECT_EQ(got, row.want) << row.id;
  }
}

TEST(KnownCastFaults, B058_FloatToIntegerSaturates) {
  const std::vector<float> from = {
      -1, 300.5F, static_cast<float>(kNan), static_cast<float>(kInf), -static_cast<float>(kInf), 3e9F};
  const auto to = [&](DType d) { return CompiledExpr(cast(x(), d), DType::F32, false); };
  EXPECT_EQ(to(DType::U8).operator()<uint8_t>(from), (std::vector<uint8_t>{0, 255, 0, 255, 0, 255}));
  EXPECT_EQ(to(DType::I8).operator()<int8_t>(from), (std::vector<int8_t>{-1, 127, 0, 127, -128, 127}));
  EXPECT_EQ(to(DType::I32).operator()<int32_t>(from),
            (std::vector<int32_t>{-1, 300, 0, 2147483647, static_cast<int32_t>(kMin32), 2147483647}));
}

double half(uint16_t bits, DType d) { return d == DType::F16 ? f16_to(bits) : bf16_to(bits); }

TEST(KnownCastFaults, B048_ToBf16RoundsToNearestEven) {
  const std::vector<float> from = {2.7F, 0.3F, 5.9F, 1.00390625F, 1.01171875F};
  const double want[] = {2.703125, 0.30078125, 5.90625, 1.0, 1.015625};
  const auto got = CompiledExpr(cast(x(), DType::BF16), DType::F32, false).operator()<uint16_t>(from);
  for (size_t i = 0; i < from.size(); ++i) EXPECT_EQ(half(got[i], DType::BF16), want[i]) << from[i];
}

TEST(KnownCastFaults, B050_ToF16RoundsOnce) {
  for (const bool with_fma : {false, CompiledExpr::can_fma()}) {
    const std::vector<float> from = {65519.99F, 65520, 0x1p-25F, 0x1.8p-25F, 2.6F};
    const double want[] = {65504, kInf, 0, 0x1p-24, 2.599609375};
    const auto got = CompiledExpr(cast(x(), DType::F16), DType::F32, with_fma).operator()<uint16_t>(from);
    for (size_t i = 0; i < from.size(); ++i) EXPECT_EQ(half(got[i], DType::F16), want[i]) << from[i];
    const auto once = CompiledExpr(cast(operand(DType::F64, 0), DType::F16), DType::F64, with_fma)
                          .operator()<uint16_t>(std::vector<double>{1 + 0x1p-11 + 0x1p-40});
    EXPECT_EQ(half(once[0], DType::F16), 1.0009765625);
  }
}

TEST(KnownCastFaults, B051_TanhGeluOfHalfs) {
  const double values[] = {8, 10.5, 11, 15.5, 40, -40};
  for (const DType d : {DType::F16, DType::BF16}) {
    const CompiledExpr f(cast(gelu_tanh(cast(operand(d, 0), DType::F32)), d), d, false);
    std::vector<uint16_t> from;
    for (const double v : values) from.push_back(d == DType::F16 ? f16_from(v) : bf16_from(v));
    const auto got = f.operator()<uint16_t>(from);
    for (size_t i = 0; i < from.size(); ++i) {
      const double v = half(got[i], d), want = values[i] < 0 ? -0.0 : values[i];
      EXPECT_TRUE(v == want && std::signbit(v) == std::signbit(want)) << values[i] << " gives " << v;
    }
  }
}

// The sums that cancel keep their relative error; see docs/functions.md.
TEST(Complements, KeepTheirTails) {
  const CompiledExpr erf(number(1) + of(Op::Erf), DType::F32, CompiledExpr::can_fma());
  const CompiledExpr minus_erf(number(1) - of(Op::Erf), DType::F32, false);
  const CompiledExpr tanh(of(Op::Tanh) + number(1), DType::F32, false);
  std::vector<float> at, mirrored;
  for (double v = -9; v < 9; v += 0x1p-10)
    at.push_back(static_cast<float>(v)), mirrored.push_back(static_cast<float>(-v));
  const auto of_erf = erf.operator()<float>(at), of_minus_erf = minus_erf.operator()<float>(mirrored);
  const auto of_tanh = tanh.operator()<float>(at);
  for (size_t i = 0; i < at.size(); ++i) {
    const double want = std::erfc(-double{at[i]}), want_tanh = 2 / (1 + std::exp(-2 * double{at[i]}));
    EXPECT_NEAR(of_erf[i], want, 3e-5 * want) << at[i];
    EXPECT_NEAR(of_minus_erf[i], want, 3e-5 * want) << at[i];
    EXPECT_NEAR(of_tanh[i], want_tanh, 3e-7 * want_tanh) << at[i];
  }
}

}  // namespace
}  // namespace frit::testing
