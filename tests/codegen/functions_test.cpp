// The definitions of functions in true f32 arithmetic against the C library in float64, over all f32 inputs by stride.
#include "codegen/functions/functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <unordered_map>

#include "codegen/kernel/kernel.h"
#include "ir/array.h"

namespace frit {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

// Evaluates an expanded expression as a target would: every operation rounds to its dtype. Values are held as bits.
class Machine {
 public:
  explicit Machine(const Expr& root) {
    for_each_node(root, [&](const Expr& e) {
      Step step{e, {}};
      for (const Expr& arg : e.args()) step.args.push_back(number_.at(arg.id()));
      if (!e.args().empty()) {
        EXPECT_TRUE(kernel::is_primitive(e.op())) << to_string(e);
      }
      number_[e.id()] = static_cast<int>(steps_.size());
      steps_.push_back(std::move(step));
    });
    values_.resize(steps_.size());
  }

  // Inputs are the reads of slots 0, 1, ..; bits of the dtype.
  uint64_t run(std::initializer_list<uint64_t> inputs) {
    for (size_t i = 0; i < steps_.size(); ++i) values_[i] = value(steps_[i], inputs.begin());
    return values_.back();
  }

 private:
  struct Step {
    Expr e;
    std::vector<int> args;
  };

  uint64_t value(const Step& s, const uint64_t* inputs) {
    const Expr& e = s.e;
    if (e.op() == Op::Read) return inputs[e.slot()];
    if (e.op() == Op::Const) {
      if (e.dtype() == DType::F32) return std::bit_cast<uint32_t>(static_cast<float>(e.float_value()));
      return e.bits();
    }
    const auto arg = [&](size_t i) { return values_[static_cast<size_t>(s.args[i])]; };
    const DType from = e.arg(0).dtype();
    if (e.op() == Op::Select) return arg(0) & 1 ? arg(1) : arg(2);
    if (e.op() == Op::BitCast) return arg(0);
    if (e.op() == Op::Cast) return convert(arg(0), from, e.dtype());
    if (from == DType::F32)
      return floating<float, uint32_t>(e, arg(0), s.args.size() > 1 ? arg(1) : 0, s.args.size() > 2 ? arg(2) : 0);
    if (from == DType::F64)
      return floating<double, uint64_t>(e, arg(0), s.args.size() > 1 ? arg(1) : 0, s.args.size() > 2 ? arg(2) : 0);
    return whole(e, arg(0), s.args.size() > 1 ? arg(1) : 0);
  }

  static int64_t extend(uint64_t bits, DType dtype) {
    switch (dtype) {
      case DType::Bool:
        return static_cast<int64_t>(bits & 1);
      case DType::I8:
        return static_cast<int8_t>(bits);
      case DType::I16:
        return static_cast<int16_t>(bits);
      case DType::I32:
        return static_cast<int32_t>(bits);
      case DType::U8:
        return static_cast<uint8_t>(bits);
      case DType::U16:
        return static_cast<uint16_t>(bits);
      case DType::U32:
        return static_cast<uint32_t>(bits);
      default:
        return static_cast<int64_t>(bits);
    }
  }

  static double widened(uint64_t bits, DType dtype) {
    if (dtype == DType::F32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (dtype == DType::F64) return std::bit_cast<double>(bits);
    if (dtype == DType::F16) return f16_to(static_cast<uint16_t>(bits));
    if (dtype == DType::U64) return static_cast<double>(bits);
    return static_cast<double>(extend(bits, dtype));
  }

  static uint64_t convert(uint64_t bits, DType from, DType to) {
    if (to == DType::F32) return std::bit_cast<uint32_t>(static_cast<float>(widened(bits, from)));
    if (to == DType::F64) return std::bit_cast<uint64_t>(widened(bits, from));
    if (to == DType::F16) return f16_from(widened(bits, from));
    if (!is_float(from)) return static_cast<uint64_t>(to == DType::Bool ? extend(bits, from) != 0 : extend(bits, from));
    Array one(to, {1});
    one.set_float(0, widened(bits, from));
    return static_cast<uint64_t>(one.int_at(0));
  }

  template <class T, class Bits>
  static uint64_t floating(const Expr& e, uint64_t a_bits, uint64_t b_bits, uint64_t c_bits) {
    const T a = std::bit_cast<T>(static_cast<Bits>(a_bits)), b = std::bit_cast<T>(static_cast<Bits>(b_bits));
    const T c = std::bit_cast<T>(static_cast<Bits>(c_bits));
    const auto give = [](T v) { return uint64_t{std::bit_cast<Bits>(v)}; };
    switch (e.op()) {
      case Op::Neg:
        return give(-a);
      case Op::Abs:
        return give(std::fabs(a));
      case Op::Sqrt:
        return give(std::sqrt(a));
      case Op::Floor:
        return give(std::floor(a));
      case Op::Ceil:
        return give(std::ceil(a));
      case Op::Trunc:
        return give(std::trunc(a));
      case Op::Round:
        return give(std::nearbyint(a));
      case Op::Add:
        return give(a + b);
      case Op::Sub:
        return give(a - b);
      case Op::Mul:
        return give(a * b);
      case Op::Div:
        return give(a / b);
      case Op::Fma:
        return give(std::fma(a, b, c));
      case Op::Min:
        return give(std::isnan(a) ? a : a < b ? a : b);
      case Op::Max:
        return give(std::isnan(a) ? a : a > b ? a : b);
      case Op::Eq:
        return a == b;
      case Op::Ne:
        return a != b;
      case Op::Lt:
        return a < b;
      case Op::Le:
        return a <= b;
      default:
        ADD_FAILURE() << to_string(e);
        return 0;
    }
  }

  static uint64_t whole(const Expr& e, uint64_t a_bits, uint64_t b_bits) {
    const DType dtype = e.arg(0).dtype();
    const int64_t a = extend(a_bits, dtype), b = extend(b_bits, dtype);
    const uint64_t ua = a_bits, ub = b_bits;
    const bool is_u = is_unsigned(dtype);
    const auto wrap = [&](uint64_t v) { return static_cast<uint64_t>(extend(v, e.dtype())); };
    const int width = 8 * size_bytes(dtype);
    switch (e.op()) {
      case Op::Neg:
        return wrap(0 - ua);
      case Op::Abs:
        return wrap(a < 0 ? 0 - ua : ua);
      case Op::Not:
        return !(ua & 1);
      case Op::BitNot:
        return wrap(~ua);
      case Op::Add:
        return wrap(ua + ub);
      case Op::Sub:
        return wrap(ua - ub);
      case Op::Mul:
        return wrap(ua * ub);
      case Op::TruncDiv:
        EXPECT_NE(b, 0);
        EXPECT_FALSE(b == -1 && !is_u && a == std::numeric_limits<int64_t>::min());
        if (b == 0) return 0;
        return is_u ? wrap(static_cast<uint64_t>(a) / static_cast<uint64_t>(b)) : wrap(static_cast<uint64_t>(a / b));
      case Op::Min:
        return wrap(static_cast<uint64_t>(a < b ? a : b));
      case Op::Max:
        return wrap(static_cast<uint64_t>(a > b ? a : b));
      case Op::And:
        return wrap(ua & ub);
      case Op::Or:
        return wrap(ua | ub);
      case Op::Xor:
        return wrap(ua ^ ub);
      case Op::Shl:
        EXPECT_TRUE(b >= 0 && b < width);
        return wrap(ua << (b & 63));
      case Op::Shr:
        EXPECT_TRUE(b >= 0 && b < width);
        return is_u ? wrap(static_cast<uint64_t>(a) >> (b & 63)) : wrap(static_cast<uint64_t>(a >> (b & 63)));
      case Op::Eq:
        return a == b;
      case Op::Ne:
        return a != b;
      case Op::Lt:
        return a < b;
      case Op::Le:
        return a <= b;
      default:
        ADD_FAILURE() << to_string(e);
        return 0;
    }
  }

  std::vector<Step> steps_;
  std::unordered_map<const void*, int> number_;
  std::vector<uint64_t> values_;
};

Expr input(DType dtype, int slot) { return read(dtype, slot, std::span<const Expr>()); }
Expr of(Op op) {
  return is_binary(op) ? binary(op, input(DType::F32, 0), input(DType::F32, 1)) : unary(op, input(DType::F32, 0));
}

float run1(Machine& m, float x) {
  return std::bit_cast<float>(static_cast<uint32_t>(m.run({std::bit_cast<uint32_t>(x)})));
}
// |got - want| in units of the last place of want as an f32; 0 where both are the same special value.
double ulps(float got, double want) {
  const float rounded = static_cast<float>(want);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    // The largest finite value beside an overflow that rounds the other way is one step off.
    const double limit = 3.4028234663852886e38;
    return std::fabs(std::fabs(want) - limit) / 2.028240960365167e31 + 1;
  }
  const double unit = std::fmax(std::ldexp(1.0, std::ilogb(std::fmax(std::fabs(want), 0x1p-126)) - 23), 0x1p-149);
  return std::fabs(static_cast<double>(got) - want) / unit;
}

struct Row {
  Op op;
  double (*reference)(double);
  double bound;  // published: docs/functions.md
  float low = -kInf, high = kInf;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
double rsqrt(double x) { return 1 / std::sqrt(x); }
double reciprocal(double x) { return 1 / x; }

const Row kRows[] = {
    {Op::Exp, std::exp, 2},
    {Op::Exp2, std::exp2, 2},
    {Op::Expm1, std::expm1, 3},
    {Op::Log, std::log, 2},
    {Op::Log2, std::log2, 3},
    {Op::Log1p, std::log1p, 3},
    {Op::Sigmoid, sigmoid, 3},
    {Op::Softplus, softplus, 4},
    {Op::Tanh, std::tanh, 3},
    {Op::Erf, std::erf, 3},
    {Op::Sinh, std::sinh, 4},
    {Op::Cosh, std::cosh, 4},
    {Op::Asinh, std::asinh, 4},
    {Op::Acosh, std::acosh, 4},
    {Op::Atanh, std::atanh, 4},
    {Op::Atan, std::atan, 3},
    {Op::Asin, std::asin, 3},
    {Op::Acos, std::acos, 3},
    {Op::Rsqrt, rsqrt, 1.5},
    {Op::Reciprocal, reciprocal, 1},
    {Op::Sin, std::sin, 1, -0x1p27F, 0x1p27F},
    {Op::Cos, std::cos, 1, -0x1p27F, 0x1p27F},
    {Op::Tan, std::tan, 1.5, -0x1p27F, 0x1p27F},
};

class Functions : public ::testing::TestWithParam<std::tuple<size_t, bool>> {};

// All f32 by their bits: every 251st, or all with FRIT_FULL_SWEEP=1.
TEST_P(Functions, WithinTheirPublishedBound) {
  const Row& row = kRows[std::get<0>(GetParam())];
  const TargetFacts facts{std::get<1>(GetParam()), std::get<1>(GetParam()), true};
  Machine machine(expand_functions(of(row.op), facts));
  const uint64_t stride = std::getenv("FRIT_FULL_SWEEP") ? 1 : 251 * 16 + 1;
  double worst = 0;
  float where = 0;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += stride) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (x < row.low || x > row.high) continue;
    const double error = ulps(run1(machine, x), row.reference(x));
    if (error > worst) worst = error, where = x;
  }
  RecordProperty("max_ulp", std::to_string(worst));
  std::printf("%-12s %s max %.3f ulp at %.9g\n", std::string(name(row.op)).c_str(), facts.has_fma ? "fma" : "mul",
              worst, where);
  EXPECT_LE(worst, row.bound) << name(row.op) << " at " << where;
  for (const float x : {0.0F, -0.0F, 1.0F, -1.0F, kInf, -kInf, kNan, 1e-40F, -1e-40F, 3.4e38F, -3.4e38F}) {
    if (!(x >= row.low && x <= row.high) && !std::isnan(x)) continue;
    const double want = row.reference(x);
    const float got = run1(machine, x);
    EXPECT_LE(ulps(got, want), row.bound) << name(row.op) << " of " << x << " is " << got << ", not " << want;
    if (want == 0) {
      EXPECT_EQ(std::signbit(got), std::signbit(want)) << name(row.op) << " of " << x;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Functions,
                         ::testing::Combine(::testing::Range<size_t>(0, std::size(kRows)), ::testing::Bool()),
                         [](const auto& info) {
                           return std::string(name(kRows[std::get<0>(info.param)].op)) +
                                  (std::get<1>(info.param) ? "_fma" : "_mul");
                         });

}  // namespace
}  // namespace frit
