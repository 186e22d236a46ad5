// exp, log and their kin, f32 and f64. Coefficients: minimax fits of our own (weighted least squares, reweighted), with
// the range and the error of each beside it.
#include <cmath>
#include <limits>

#include "codegen/functions/definitions.h"

namespace frit::functions {
namespace {

const double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLog2E = 1.4426950408889634;

// What differs between f32 and f64.
struct Format {
  DType bits;                // integer of the same width
  int fraction_bits, bias;   // of the float
  double magic;              // adding it to a small x leaves the nearest integer in the low bits
  double ln2_high, ln2_low;  // ln 2 in two parts: n * ln2_high is exact for every exponent n
  double log2e_high, log2e_low;
  int64_t log2e_mask;           // a float cut by it times log2e_high is exact
  int64_t root_half;            // bits of sqrt(1/2)
  double exp_lowest, exp_most;  // e^x is 0 below, infinite above
  double exp2_lowest, exp2_most;
  double expm1_lowest, expm1_most;
  double smallest_normal;
};

constexpr Format kF32 = {.bits = DType::I32,
                         .fraction_bits = 23,
                         .bias = 127,
                         .magic = 0x1.8p23,
                         .ln2_high = 0.693359375,
                         .ln2_low = -2.1219444005469057e-4,
                         .log2e_high = 1.44287109375,
                         .log2e_low = kLog2E - 1.44287109375,
                         .log2e_mask = ~int64_t{0xfff},
                         .root_half = 0x3f3504f3,
                         .exp_lowest = -104.5,
                         .exp_most = 89.5,
                         .exp2_lowest = -151,
                         .exp2_most = 129,
                         .expm1_lowest = -27,
                         .expm1_most = 88.8,
                         .smallest_normal = 0x1p-126};
constexpr Format kF64 = {.bits = DType::I64,
                         .fraction_bits = 52,
                         .bias = 1023,
                         .magic = 0x1.8p52,
                         .ln2_high = 0x1.62e42feep-1,
                         .ln2_low = 0x1.a39ef35793c76p-33,
                         .log2e_high = 0x1.715476p0,
                         .log2e_low = 0x1.4ae0bf85ddf44p-26,
                         .log2e_mask = ~int64_t{0xffffffff},
                         .root_half = 0x3fe6a09e667f3bcd,
                         .exp_lowest = -746,
                         .exp_most = 710.5,
                         .exp2_lowest = -1076,
                         .exp2_most = 1025,
                         .expm1_lowest = -40,
                         .expm1_most = 709.9,
                         .smallest_normal = 0x1p-1022};

const Format& format_of(const Expr& x) { return x.dtype() == DType::F64 ? kF64 : kF32; }
bool is_f64(const Expr& x) { return x.dtype() == DType::F64; }

Expr as_integer(const Expr& x) { return bitcast(x, format_of(x).bits); }
Expr clamped(const Expr& x, double low, double high) { return minimum(maximum(x, number(x, low)), number(x, high)); }
Expr is_nan(const Expr& x) { return not_equal(x, x); }

struct Reduced {
  Expr n;  // integer as wide as x
  Expr r;  // x - n * ln 2, |r| <= 0.35
};

// x with a quotient by ln 2 that is small beside 2^fraction_bits.
Reduced reduce_by_ln2(const TargetFacts& facts, const Expr& x) {
  const Format& format = format_of(x);
  const Expr magic = number(x, format.magic);
  const Expr shifted = multiply_add(facts, x, number(x, kLog2E), magic);
  const Expr n = shifted - magic;
  const Expr high = multiply_add(facts, n, number(x, -format.ln2_high), x);
  return {as_integer(shifted) - as_integer(magic), multiply_add(facts, n, number(x, -format.ln2_low), high)};
}

// (e^r - 1 - r) / r^2 on |r| <= 0.35; relative to e^r - 1 within 4e-9, f64 within 3e-19.
Expr exp_tail(const TargetFacts& facts, const Expr& r) {
  if (is_f64(r))
    return polynomial(facts, r,
                      {0.5, 0.16666666666666677, 0.0416666666666667, 0.008333333333321575, 0.0013888888888866809,
                       0.00019841269886272526, 2.480158736060974e-05, 2.7557244056110225e-06, 2.755724271668651e-07,
                       2.5109092298376176e-08, 2.0924456125754676e-09});
  return polynomial(facts, r,
                    {0.5, 0.16666512191295624, 0.0416661873459816, 0.008369598537683487, 0.0013951717410236597});
}

// 2^n as a float like `like`, n of the integer of that width, in the range of normal numbers.
Expr power_of_two(const Expr& like, const Expr& n) {
  const Format& format = format_of(like);
  return bitcast(shift_left(n + integer(n, format.bias), format.fraction_bits), like.dtype());
}

// p * 2^n in two steps, so that denormal results and results up to the largest are reached.
Expr scale(const Expr& p, const Expr& n) {
  const Expr half = shift_right(n, 1);
  return (p * power_of_two(p, half)) * power_of_two(p, n - half);
}

}  // namespace

// 2^n e^r
Expr exp_of_reduced(const TargetFacts& facts, const Expr& r, const Expr& n) {
  return scale(multiply_add(facts, r * r, exp_tail(facts, r), r) + number(r, 1), n);
}

Expr exp_of(const TargetFacts& facts, const Expr& x) {
  const Format& format = format_of(x);
  const Reduced reduced = reduce_by_ln2(facts, clamped(x, format.exp_lowest, format.exp_most));
  return select(is_nan(x), x, exp_of_reduced(facts, reduced.r, reduced.n));
}

namespace {

// 2^x: the integer part is exact, the rest goes through e^(f ln 2).
Expr exp2_of(const TargetFacts& facts, const Expr& x) {
  const Format& format = format_of(x);
  const Expr inside = clamped(x, format.exp2_lowest, format.exp2_most), magic = number(x, format.magic);
  const Expr shifted = inside + magic;
  const Expr f = inside - (shifted - magic);
  const Expr n = as_integer(shifted) - as_integer(magic);
  return select(is_nan(x), x, exp_of_reduced(facts, f * number(x, 0.6931471805599453), n));
}

}  // namespace

// 2 * (2^(n-1) * (e^r - 1) + (2^(n-1) - 1/2)): no cancellation, no overflow before the end.
Expr expm1_of(const TargetFacts& facts, const Expr& x) {
  const Format& format = format_of(x);
  const Reduced reduced = reduce_by_ln2(facts, clamped(x, format.expm1_lowest, format.expm1_most));
  const Expr& r = reduced.r;
  const Expr p = multiply_add(facts, r * r, exp_tail(facts, r), r);
  const Expr s = power_of_two(x, reduced.n - integer(reduced.n, 1));
  const Expr y = multiply_add(facts, p, s, s - number(x, 0.5)) * number(x, 2);
  return select(either(is_nan(x), equal(x, number(x, 0))), x, y);
}

namespace {

struct Logarithm {
  Expr exponent;  // a float, an integer
  Expr f;         // mantissa - 1, in [sqrt(1/2) - 1, sqrt(2) - 1]
};

// x = 2^exponent * (1 + f), for positive finite x, denormals too.
Logarithm split(const Expr& x) {
  const Format& format = format_of(x);
  const Expr tiny = less(x, number(x, format.smallest_normal));
  const Expr normal = select(tiny, x * number(x, std::ldexp(1.0, format.fraction_bits)), x);
  const Expr root_half = constant_int(format.bits, format.root_half);
  const Expr bits = as_integer(normal) - root_half;
  const Expr exponent = cast(cast(shift_right(bits, format.fraction_bits), DType::I32), x.dtype()) -
                        select(tiny, number(x, format.fraction_bits), number(x, 0));
  const Expr fraction = bits_and(bits, (int64_t{1} << format.fraction_bits) - 1);
  return {exponent, bitcast(fraction + root_half, x.dtype()) - number(x, 1)};
}

// log1p(f) - f on the range of split. f32: -f^2/2 + f^3 P(f), within 4e-10 of log1p. f64: through s = f / (2 + f),
// log1p(f) = 2 atanh(s), atanh(s) = s + s^3 P(s^2), within 2e-18 of it.
Expr log_tail(const TargetFacts& facts, const Expr& f) {
  const Expr square = f * f;
  if (is_f64(f)) {
    const Expr s = f / (f + f64(2)), z = s * s, half = square * f64(0.5);
    const Expr p = polynomial(facts, z,
                              {0.6666666666666735, 0.3999999999941195, 0.28571428742997452, 0.22222198509281154,
                               0.18183567740784781, 0.15313960466830268, 0.14796880063635024});
    return multiply_add(facts, s, multiply_add(facts, z, p, half), -half);
  }
  const Expr p = polynomial(
      facts, f,
      {0.3333330452442169, -0.2499999701976776, 0.20002558827400208, -0.16668936610221863, 0.14212489128112793,
       -0.12386315315961838, 0.11916574835777283, -0.11793802678585052, 0.0682801827788353});
  return multiply_add(facts, square * f, p, square * f32(-0.5));
}

Expr log_specials(const Expr& x, const Expr& y) {
  Expr result = select(equal(x, number(x, kInfinity)), x, y);
  result = select(equal(x, number(x, 0)), number(x, -kInfinity), result);
  return select(less_equal(number(x, 0), x), result, number(x, std::nan("")));  // negative and NaN
}

}  // namespace

Expr log_of(const TargetFacts& facts, const Expr& x) {
  const Format& format = format_of(x);
  const Logarithm l = split(x);
  const Expr low = multiply_add(facts, l.exponent, number(x, format.ln2_low), log_tail(facts, l.f));
  return log_specials(x, multiply_add(facts, l.exponent, number(x, format.ln2_high), l.f + low));
}

namespace {

// e + f * log2(e) + tail * log2(e), log2(e) in two parts and the large product last.
Expr log2_of(const TargetFacts& facts, const Expr& x) {
  const Format& format = format_of(x);
  const Logarithm l = split(x);
  const Expr high = bitcast(bits_and(as_integer(l.f), format.log2e_mask), x.dtype());
  const Expr tail = log_tail(facts, l.f), rest = (l.f - high) + tail;
  const Expr low = multiply_add(facts, l.f + tail, number(x, format.log2e_low), rest * number(x, format.log2e_high));
  return log_specials(x, l.exponent + (high * number(x, format.log2e_high) + low));
}

}  // namespace

// Kahan: the error of 1 + x is put back.
Expr log1p_of(const TargetFacts& facts, const Expr& x) {
  const Expr one = number(x, 1), u = one + x;
  const Expr error = x - (u - one);
  const Expr y = log_of(facts, u) + select(less(u, number(x, kInfinity)), error / u, number(x, 0));
  const Expr result = select(equal(u, one), x, y);
  return select(equal(x, number(x, kInfinity)), x, select(equal(x, number(x, -1)), number(x, -kInfinity), result));
}

Expr define_exponential(const Expr& e, const TargetFacts& facts) {
  const Expr& x = e.arg(0);
  switch (e.op()) {
    case Op::Exp:
      return exp_of(facts, x);
    case Op::Exp2:
      return exp2_of(facts, x);
    case Op::Expm1:
      return expm1_of(facts, x);
    case Op::Log:
      return log_of(facts, x);
    case Op::Log2:
      return log2_of(facts, x);
    case Op::Log1p:
      return log1p_of(facts, x);
    default:
      return {};
  }
}

}  // namespace frit::functions
