// The definitions of functions, compiled, against the C library in a wider type: over all f32 inputs by stride, over
// every one with FRIT_FULL_SWEEP=1 (FRIT_SWEEP_TABLE=file collects the rows of docs/functions.md).
#include "codegen/functions/functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include "codegen/expr_kernel.h"
#include "codegen/function_reference.h"
#include "ir/scalar.h"

namespace frit::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

bool is_full() { return std::getenv("FRIT_FULL_SWEEP") != nullptr; }

struct Row {
  Op op;
  double bound;  // of f32 in units of the last place, with fma and without; f64: one more. See docs/functions.md
};

constexpr Row kUnary[] = {
    {Op::Exp, 2},   {Op::Exp2, 2},    {Op::Expm1, 3},    {Op::Log, 2},     {Op::Log2, 3},         {Op::Log1p, 3},
    {Op::Erf, 3},   {Op::Sigmoid, 3}, {Op::Softplus, 4}, {Op::Sin, 3},     {Op::Cos, 3},          {Op::Tan, 4},
    {Op::Asin, 3},  {Op::Acos, 3},    {Op::Atan, 3},     {Op::Sinh, 4},    {Op::Cosh, 4},         {Op::Tanh, 3},
    {Op::Asinh, 4}, {Op::Acosh, 4},   {Op::Atanh, 4},    {Op::Rsqrt, 1.5}, {Op::Reciprocal, 0.5},
};
constexpr Row kBinary[] = {{Op::Pow, 1}, {Op::Atan2, 4}, {Op::LogAddExp, 4}};

Expr of(Op op, DType d) { return is_binary(op) ? binary(op, operand(d, 0), operand(d, 1)) : unary(op, operand(d, 0)); }

struct Worst {
  double error = 0, x = 0, y = 0;
  void meet(double e, double at_x, double at_y = 0) {
    if (e > error) *this = {e, at_x, at_y};
  }
};

// One row of the table: worst error with fma and without.
void publish(Op op, const char* domain, const Worst& fma, const Worst& mul, double bound) {
  const std::string function(name(op));
  std::printf("%-10s fma %.3f at (%.9g, %.9g), mul %.3f at (%.9g, %.9g)\n", function.c_str(), fma.error, fma.x, fma.y,
              mul.error, mul.x, mul.y);
  if (const char* path = std::getenv("FRIT_SWEEP_TABLE")) {
    if (std::FILE* file = std::fopen(path, "a")) {
      std::fprintf(file, "| %s | %s | %.2f | %.2f | %g |\n", function.c_str(), domain, fma.error, mul.error, bound);
      std::fclose(file);
    }
  }
  EXPECT_LE(fma.error, bound) << function << " with fma at " << fma.x << ", " << fma.y;
  EXPECT_LE(mul.error, bound) << function << " without fma at " << mul.x << ", " << mul.y;
}

constexpr size_t kBlock = 32;

// False only where no element is off by more than `error` units: a unit is at least 2^-24 of the value. Without
// branches, so that sweeps spend their time elsewhere.
bool may_exceed(const float* got, const double* want, double error) {
  int count = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const double distance = std::fabs(double{got[i]} - want[i]), allowed = error * 0x1p-24 * std::fabs(want[i]);
    const int near = distance <= allowed, equal = got[i] == static_cast<float>(want[i]);
    const int nan = (got[i] != got[i]) & (want[i] != want[i]);
    count += 1 ^ (near | equal | nan);
  }
  return count != 0;
}

class Functions : public ::testing::TestWithParam<size_t> {};

std::string row_name(const ::testing::TestParamInfo<size_t>& info) { return std::string(name(kUnary[info.param].op)); }

TEST_P(Functions, OfAllF32) {
  const Row& row = kUnary[GetParam()];
  const CompiledExpr fma(of(row.op, DType::F32), DType::F32, CompiledExpr::can_fma());
  const CompiledExpr mul(of(row.op, DType::F32), DType::F32, false);
  const auto reference = reference_of<double, float>(row.op);
  constexpr size_t kBatch = 4096;
  std::vector<float> x(kBatch), y(kBatch);
  std::vector<double> want(kBatch);
  Worst worst[2] = {{0.5}, {0.5}};  // results rounded right are passed over
  const uint64_t stride = is_full() ? 1 : 251;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32;) {
    for (float& v : x) v = std::bit_cast<float>(static_cast<uint32_t>(bits)), bits += stride;
    reference(x.data(), want.data(), kBatch);
    for (const bool with_fma : {true, false}) {
      (with_fma ? fma : mul).run(x, {}, y, kBatch / kLanes);
      for (size_t i = 0; i < kBatch; i += kBlock)
        if (may_exceed(&y[i], &want[i], worst[with_fma].error))
          for (size_t k = i; k < i + kBlock; ++k) worst[with_fma].meet(ulps(y[k], want[k]), x[k]);
    }
  }
  publish(row.op, is_full() ? "all f32" : "every 251st f32", worst[1], worst[0], row.bound);
}

// f64 by sampling: any bits, numbers of usual size, near one, near zero; against long double.
std::vector<double> samples_f64(size_t n) {
  std::mt19937_64 random(5);
  std::vector<double> list;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t bits = random();
    const double uniform = static_cast<double>(bits >> 11) * 0x1p-52 - 1;
    switch (i % 4) {
      case 0:
        list.push_back(std::bit_cast<double>(bits));
        break;
      case 1:
        list.push_back(uniform * 800);
        break;
      case 2:
        list.push_back(uniform * 6);
        break;
      default:
        list.push_back(i % 8 == 3 ? 1 + uniform * std::ldexp(1, -static_cast<int>(bits % 40))
                                  : uniform * std::ldexp(1, -static_cast<int>(bits % 60)));
    }
  }
  for (const double v : {0.0, -0.0, 1.0, -1.0, HUGE_VAL, -HUGE_VAL, std::nan(""), 5e-324, -5e-324, 1e-310, 1.7e308})
    list[random() % n] = v;
  return list;
}

TEST_P(Functions, OfF64) {
  const Row& row = kUnary[GetParam()];
  const std::vector<double> x = samples_f64(is_full() ? 40'000'000 : 200'000);
  std::vector<long double> want(x.size());
  reference_of<long double, double>(row.op)(x.data(), want.data(), x.size());
  Worst worst[2];
  for (const bool with_fma : {false, true}) {
    const CompiledExpr f(of(row.op, DType::F64), DType::F64, with_fma && CompiledExpr::can_fma());
    const auto y = f.operator()<double>(x);
    for (size_t i = 0; i < x.size(); ++i) {
      worst[with_fma].meet(ulps(y[i], want[i]), x[i]);
      if (want[i] == 0) {
        EXPECT_EQ(std::signbit(y[i]), std::signbit(want[i])) << x[i];
      }
    }
  }
  publish(row.op, "f64", worst[1], worst[0], row.bound + 1);
}

// Values that sweeps pass over or compare loosely: signs of zeros, edges, in both dtypes.
TEST_P(Functions, OfSpecialValues) {
  const Row& row = kUnary[GetParam()];
  const std::vector<float> x = {0.0F,    -0.0F,   1.0F,     -1.0F,  kInf, -kInf, kNan, 1e-40F,
                                -1e-40F, 3.4e38F, -3.4e38F, 1e-45F, 2.0F, -2.0F, 0.5F, -0.5F};
  for (const bool with_fma : {false, CompiledExpr::can_fma()}) {
    const auto y = CompiledExpr(of(row.op, DType::F32), DType::F32, with_fma).operator()<float>(x);
    for (size_t i = 0; i < x.size(); ++i) {
      double want;
      const double wide = x[i];
      reference_of<double, double>(row.op)(&wide, &want, 1);
      EXPECT_LE(ulps(y[i], want), row.bound) << x[i] << " gives " << y[i] << ", not " << want;
      if (static_cast<float>(want) == 0) {
        EXPECT_EQ(std::signbit(y[i]), std::signbit(want)) << x[i];
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Functions, ::testing::Range<size_t>(0, std::size(kUnary)), row_name);

// Operands of two-operand functions: any bits; powers that stay in range; bases near one; whole exponents; edges.
struct Pairs {
  std::vector<float> x, y;
};

Pairs pairs(std::mt19937_64& random, size_t n) {
  constexpr float kEdges[] = {0.0F,  -0.0F, 1.0F,  -1.0F,  kInf,    -kInf,       kNan,        0.5F,       -0.5F, 2.0F,
                              -2.0F, 3.0F,  -3.0F, 1e-40F, 3.4e38F, 16777216.0F, 16777215.0F, 8388607.5F, -1e10F};
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const auto any = [&] { return std::bit_cast<float>(static_cast<uint32_t>(random())); };
  const auto edge = [&] { return kEdges[random() % std::size(kEdges)]; };
  Pairs p;
  for (size_t i = 0; i < n; ++i) {
    float x = any(), y = any();
    switch (i % 8) {
      case 0:
        x = edge(), y = edge();
        break;
      case 1:
        x = edge();
        break;
      case 2:
        y = edge();
        break;
      case 3:
        y = static_cast<float>(static_cast<int>(random() % 41) - 20);
        break;
      case 4:
        x = static_cast<float>(1 + (uniform() - 0.5) * std::ldexp(1.0, -static_cast<int>(random() % 20)));
        y = static_cast<float>((uniform() - 0.5) * 300 / std::log2(x));
        break;
      case 5:
        x = std::fabs(x);
        y = static_cast<float>((uniform() - 0.5) * 310 / std::log2(x));
        break;
      case 6:
        x = static_cast<float>((uniform() - 0.5) * 200), y = static_cast<float>((uniform() - 0.5) * 200);
        break;
      default:
        break;
    }
    p.x.push_back(x), p.y.push_back(y);
  }
  return p;
}

class BinaryFunctions : public ::testing::TestWithParam<size_t> {};

TEST_P(BinaryFunctions, OfPairs) {
  const Row& row = kBinary[GetParam()];
  const CompiledExpr fma(of(row.op, DType::F32), DType::F32, CompiledExpr::can_fma());
  const CompiledExpr mul(of(row.op, DType::F32), DType::F32, false);
  std::mt19937_64 random(7);
  Worst worst[2];
  for (size_t batch = 0, batches = is_full() ? 24000 : 240; batch < batches; ++batch) {
    const Pairs p = pairs(random, 4096);
    const auto with = fma.operator()<float>(p.x, p.y), without = mul.operator()<float>(p.x, p.y);
    for (size_t i = 0; i < p.x.size(); ++i) {
      // In f64 a sum of f32 that cancels keeps 29 bits more than the result has.
      const double want = eval_float_binary(row.op, p.x[i], p.y[i]);
      const auto error = [&](float got) {
        if (row.op != Op::LogAddExp || !std::isfinite(want)) return ulps(got, want);
        // Near a result of zero the operands cancel: units of the larger operand.
        const double size = std::max({std::fabs(want), std::fabs(double{p.x[i]}), std::fabs(double{p.y[i]})});
        return std::isfinite(size) ? std::fabs(got - want) / (std::max(size, 0x1p-126) * 0x1p-23) : ulps(got, want);
      };
      worst[1].meet(error(with[i]), p.x[i], p.y[i]);
      worst[0].meet(error(without[i]), p.x[i], p.y[i]);
    }
  }
  publish(row.op, "f32 pairs", worst[1], worst[0], row.bound);
}
// f64 on the f32 pairs, spread: both operands get bits that no f32 has, powers reach the limits of f64.
TEST_P(BinaryFunctions, OfF64Pairs) {
  const Row& row = kBinary[GetParam()];
  std::mt19937_64 random(9);
  const Pairs p = pairs(random, is_full() ? 20'000'000 : 100'000);
  std::vector<double> x(p.x.begin(), p.x.end()), y(p.y.begin(), p.y.end());
  for (size_t i = 0; i < x.size(); ++i) {
    if (i % 8 < 4) continue;  // edges and whole exponents as they are
    x[i] *= 1 + static_cast<double>(random() >> 11) * 0x1p-85;
    y[i] *= (row.op == Op::Pow ? 7 : 1) + static_cast<double>(random() >> 11) * 0x1p-85;
  }
  Worst worst[2];
  for (const bool with_fma : {false, true}) {
    const CompiledExpr f(of(row.op, DType::F64), DType::F64, with_fma && CompiledExpr::can_fma());
    const auto got = f.operator()<double>(x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const long double a = x[i], b = y[i], high = std::max(a, b);
      if (row.op == Op::LogAddExp && std::isfinite(high)) {
        const long double want = high + std::log1p(std::exp(std::min(a, b) - high));
        const long double size = std::max({std::fabs(want), std::fabs(a), std::fabs(b), 0x1p-1022L});
        worst[with_fma].meet(static_cast<double>(std::fabs(got[i] - want) / (size * 0x1p-52L)), x[i], y[i]);
        continue;
      }
      const long double want = row.op == Op::Pow     ? std::pow(a, b)
                               : row.op == Op::Atan2 ? std::atan2(a, b)
                                                     : eval_float_binary(row.op, x[i], y[i]);
      worst[with_fma].meet(ulps(got[i], want), x[i], y[i]);
    }
  }
  publish(row.op, "f64 pairs", worst[1], worst[0], row.bound + 1);
}

INSTANTIATE_TEST_SUITE_P(All, BinaryFunctions, ::testing::Range<size_t>(0, std::size(kBinary)),
                         [](const auto& info) { return std::string(name(kBinary[info.param].op)); });

// docs/functions.md says what is tested here: the bounds, and figures within them.
TEST(PublishedBounds, AreThoseTested) {
  std::ifstream page(std::string(FRIT_TEST_DATA) + "/../docs/functions.md");
  std::map<std::string, double> bounds;
  for (const Row& row : kUnary) bounds[std::string(name(row.op))] = row.bound;
  for (const Row& row : kBinary) bounds[std::string(name(row.op))] = row.bound;
  size_t rows = 0;
  for (std::string line; std::getline(page, line);) {
    std::istringstream words(line);
    std::string bar, function, inputs, word;
    double fma = 0, mul = 0, bound = 0;
    if (!(words >> bar >> function >> bar >> inputs) || bar != "|" || !bounds.contains(function)) continue;
    while (words >> word && word != "|") inputs += " " + word;
    ASSERT_TRUE(words >> fma >> bar >> mul >> bar >> bound) << line;
    EXPECT_EQ(bound, bounds[function] + (inputs.starts_with("f64") ? 1 : 0)) << line;
    EXPECT_LE(std::max(fma, mul), bound) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 2 * bounds.size()) << "a row each for f32 and f64";
}

// Operations with one right answer.
template <class T>
bool same(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

template <class T>
std::vector<T> any_floats(std::mt19937_64& random, size_t n) {
  std::vector<T> list;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t bits = random();
    if (i % 3 == 0) {
      list.push_back(static_cast<T>(static_cast<int64_t>(bits) >> (40 + bits % 23)) / 4);
    } else if constexpr (sizeof(T) == 4) {
      list.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    } else {
      list.push_back(std::bit_cast<double>(
          i % 3 == 1 ? bits : (bits & ~(uint64_t{0x7ff} << 52)) | (uint64_t{1000 + bits % 40} << 52)));
    }
  }
  for (const double v : {0.0, -0.0, 1.0, -1.0, HUGE_VAL, -HUGE_VAL, std::nan(""), 1e-40, 5e-324, 0.5, 2.5})
    list[random() % n] = static_cast<T>(v);
  return list;
}

template <class T, class Want>
void check_exact(const Expr& written, DType d, const char* what, Want want) {
  for (const bool with_fma : {false, CompiledExpr::can_fma()}) {
    const CompiledExpr f(written, d, with_fma);
    std::mt19937_64 random(11);
    for (int batch = 0; batch < 50; ++batch) {
      const auto a = any_floats<T>(random, 4000), b = any_floats<T>(random, 4000);
      const auto y = f.template operator()<T>(a, b);
      for (size_t i = 0; i < a.size(); ++i)
        ASSERT_TRUE(same(y[i], static_cast<T>(want(a[i], b[i]))))
            << what << (with_fma ? " with" : " without") << " fma of " << std::hexfloat << a[i] << ", " << b[i] << ": "
            << y[i] << ", not " << want(a[i], b[i]);
    }
  }
}

template <class T>
T floor_modulo(T a, T b) {
  const T r = std::fmod(a, b);
  return r == 0 ? std::copysign(T(0), b) : (r < 0) != (b < 0) ? r + b : r;
}

template <class T>
void check_divisions(DType d) {
  check_exact<T>(of(Op::TruncMod, d), d, "truncmod", [](T a, T b) { return std::fmod(a, b); });
  check_exact<T>(of(Op::Mod, d), d, "mod", floor_modulo<T>);
  check_exact<T>(of(Op::Min, d), d, "min", [](T a, T b) {
    return std::isnan(a) || std::isnan(b) ? a + b : b < a ? b : a < b ? a : b;
  });
}

TEST(ExactFunctions, DivisionsOfF32) { check_divisions<float>(DType::F32); }
TEST(ExactFunctions, DivisionsOfF64) { check_divisions<double>(DType::F64); }

template <class T>
void check_rounding(DType d) {
  check_exact<T>(of(Op::Floor, d), d, "floor", [](T a, T) { return std::floor(a); });
  check_exact<T>(of(Op::Ceil, d), d, "ceil", [](T a, T) { return std::ceil(a); });
  check_exact<T>(of(Op::Trunc, d), d, "trunc", [](T a, T) { return std::trunc(a); });
  check_exact<T>(of(Op::Round, d), d, "round", [](T a, T) { return std::nearbyint(a); });
}

TEST(ExactFunctions, RoundingOfF32) { check_rounding<float>(DType::F32); }
TEST(ExactFunctions, RoundingOfF64) { check_rounding<double>(DType::F64); }

template <class T>
void check_fused(DType d) {
  const Expr a = operand(d, 0), b = operand(d, 1);
  check_exact<T>(fma(a, b, unary(Op::Neg, a * b)), d, "a*b - round(a*b)",
                 [](T x, T y) { return std::fma(x, y, -(x * y)); });
  check_exact<T>(fma(a, b, a), d, "a*b + a", [](T x, T y) { return std::fma(x, y, x); });
  check_exact<T>(fma(b, b, a), d, "b*b + a", [](T x, T y) { return std::fma(y, y, x); });
}

TEST(ExactFunctions, FusedF32) { check_fused<float>(DType::F32); }

// Without hardware f64 rounds once where the result is normal.
TEST(ExactFunctions, FusedF64) {
  const Expr a = operand(DType::F64, 0), b = operand(DType::F64, 1);
  const CompiledExpr square(fma(b, b, a), DType::F64, false),
      error(fma(a, b, unary(Op::Neg, a * b)), DType::F64, false);
  std::mt19937_64 random(3);
  for (int batch = 0; batch < 50; ++batch) {
    const auto x = any_floats<double>(random, 4000), y = any_floats<double>(random, 4000);
    const auto squares = square.operator()<double>(x, y), errors = error.operator()<double>(x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = std::fma(y[i], y[i], x[i]), want_error = std::fma(x[i], y[i], -(x[i] * y[i]));
      if (!(std::fabs(want) < 0x1p-1022)) {
        ASSERT_TRUE(same(squares[i], want)) << std::hexfloat << x[i] << ", " << y[i];
      }
      if (!(std::fabs(want_error) < 0x1p-1022)) {
        ASSERT_TRUE(same(errors[i], want_error))
            << std::hexfloat << x[i] << ", " << y[i] << ": " << errors[i] << ", not " << want_error;
      }
    }
  }
}

// The floor and the whole part of an exact quotient, where one rounding of it would go past them. From 2^24 on every
// f32 is whole and the quotient is only rounded.
TEST(ExactFunctions, QuotientsOfF32) {
  const auto rounded = [](float a, float b, double (*to_whole)(double)) {
    const double q = static_cast<double>(a) / b;
    return std::fabs(q) < 0x1p24 ? static_cast<float>(to_whole(q)) : a / b;
  };
  check_exact<float>(of(Op::TruncDiv, DType::F32), DType::F32, "truncdiv",
                     [&](float a, float b) { return rounded(a, b, std::trunc); });
  check_exact<float>(of(Op::FloorDiv, DType::F32), DType::F32, "floordiv",
                     [&](float a, float b) { return rounded(a, b, std::floor); });
  const CompiledExpr f(of(Op::FloorDiv, DType::F32), DType::F32, CompiledExpr::can_fma());
  EXPECT_EQ(f.operator()<float>(std::vector{1.0F, -1.0F}, std::vector{0.1F, 0.1F}), (std::vector{9.0F, -10.0F}));
}

}  // namespace
}  // namespace frit::testing
