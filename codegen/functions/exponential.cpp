// f32: exp, log and what is made of them. Coefficients: minimax fits of our own (weighted least squares, reweighted),
// with the range and the error of each beside it.
#include <cmath>
#include <limits>

#include "codegen/functions/definitions.h"

namespace frit::functions {
namespace {

const double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLog2E = 1.4426950408889634;
// ln 2 in two parts: the first has 12 bits, so that n * kLn2High is exact for |n| < 2^12.
constexpr double kLn2High = 0.693359375;
constexpr double kLn2Low = -2.1219444005469057e-4;
constexpr double kMagic = 0x1.8p23;  // adding it to |x| < 2^22 leaves the nearest integer in the low bits

struct Reduced {
  Expr n;  // i32
  Expr r;  // x - n * ln 2, |r| <= 0.35
};

// x within +-2^21 * ln 2.
Reduced reduce_by_ln2(const TargetFacts& facts, const Expr& x) {
  const Expr shifted = multiply_add(facts, x, f32(kLog2E), f32(kMagic));
  const Expr n = shifted - f32(kMagic);
  const Expr high = multiply_add(facts, n, f32(-kLn2High), x);
  const Expr r = multiply_add(facts, n, f32(-kLn2Low), high);
  const Expr bits = bitcast(shifted, DType::I32) - bitcast(f32(kMagic), DType::I32);
  return {bits, r};
}

// (e^r - 1 - r) / r^2 on |r| <= 0.35; relative to e^r - 1 within 4e-9.
Expr exp_tail(const TargetFacts& facts, const Expr& r) {
  return polynomial(facts, r,
                    {0.5, 0.16666512191295624, 0.0416661873459816, 0.008369598537683487, 0.0013951717410236597});
}

Expr power_of_two(const Expr& n) { return bitcast(shift_left(n + i32(127), 23), DType::F32); }

// p * 2^n for n in [-252, 254], in two steps so that results below 2^-126 and up to the largest are reached.
Expr scale(const Expr& p, const Expr& n) {
  const Expr half = shift_right(n, 1);
  return (p * power_of_two(half)) * power_of_two(n - half);
}

Expr exp_of(const TargetFacts& facts, const Expr& x) {
  const Expr inside = minimum(maximum(x, f32(-104.5)), f32(89.5));
  const Reduced reduced = reduce_by_ln2(facts, inside);
  const Expr& r = reduced.r;
  const Expr p = multiply_add(facts, r * r, exp_tail(facts, r), r) + f32(1);
  return select(not_equal(x, x), x, scale(p, reduced.n));
}

// 2^x: the integer part is exact, the rest goes through e^(f ln 2).
Expr exp2_of(const TargetFacts& facts, const Expr& x) {
  const Expr inside = minimum(maximum(x, f32(-151)), f32(129));
  const Expr shifted = inside + f32(kMagic);
  const Expr f = inside - (shifted - f32(kMagic));
  const Expr n = bitcast(shifted, DType::I32) - bitcast(f32(kMagic), DType::I32);
  const Expr r = f * f32(0.6931471805599453);
  const Expr p = multiply_add(facts, r * r, exp_tail(facts, r), r) + f32(1);
  return select(not_equal(x, x), x, scale(p, n));
}

// 2 * (2^(n-1) * (e^r - 1) + (2^(n-1) - 1/2)): no cancellation, no overflow before the end.
Expr expm1_of(const TargetFacts& facts, const Expr& x) {
  const Expr inside = minimum(maximum(x, f32(-27)), f32(88.8));  // n <= 128
  const Reduced reduced = reduce_by_ln2(facts, inside);
  const Expr& r = reduced.r;
  const Expr p = multiply_add(facts, r * r, exp_tail(facts, r), r);
  const Expr s = power_of_two(reduced.n - i32(1));
  const Expr y = multiply_add(facts, p, s, s - f32(0.5)) * f32(2);
  return select(either(not_equal(x, x), equal(x, f32(0))), x, y);
}

struct Logarithm {
  Expr exponent;  // f32, an integer
  Expr f;         // mantissa - 1, in [sqrt(1/2) - 1, sqrt(2) - 1]
};

// x = 2^exponent * (1 + f), for positive finite x, denormals too.
Logarithm split(const Expr& x) {
  const Expr tiny = less(x, f32(0x1p-126));
  const Expr normal = select(tiny, x * f32(0x1p23), x);
  const Expr bits = bitcast(normal, DType::I32) - i32(0x3f3504f3);
  const Expr exponent = cast(shift_right(bits, 23), DType::F32) - select(tiny, f32(23), f32(0));
  const Expr mantissa = bitcast(bits_and(bits, 0x7fffff) + i32(0x3f3504f3), DType::F32);
  return {exponent, mantissa - f32(1)};
}

// log1p(f) - f, on the range of split: -f^2/2 + f^3 P(f), relative to log1p within 4e-10.
Expr log_tail(const TargetFacts& facts, const Expr& f) {
  const Expr p = polynomial(
      facts, f,
      {0.3333330452442169, -0.2499999701976776, 0.20002558827400208, -0.16668936610221863, 0.14212489128112793,
       -0.12386315315961838, 0.11916574835777283, -0.11793802678585052, 0.0682801827788353});
  const Expr square = f * f;
  return multiply_add(facts, square * f, p, square * f32(-0.5));
}

Expr log_specials(const Expr& x, const Expr& y) {
  Expr result = select(equal(x, f32(kInfinity)), x, y);
  result = select(equal(x, f32(0)), f32(-kInfinity), result);
  return select(less_equal(f32(0), x), result, f32(std::nan("")));  // negative and NaN
}

Expr log_of(const TargetFacts& facts, const Expr& x) {
  const Logarithm l = split(x);
  const Expr low = multiply_add(facts, l.exponent, f32(kLn2Low), log_tail(facts, l.f));
  return log_specials(x, multiply_add(facts, l.exponent, f32(kLn2High), l.f + low));
}

// e + f * log2(e) + tail * log2(e), log2(e) in two parts and the large product last.
Expr log2_of(const TargetFacts& facts, const Expr& x) {
  const Logarithm l = split(x);
  constexpr double kHigh = 1.44287109375, kLow = kLog2E - kHigh;  // 10 bits: with f cut below the product is exact
  const Expr high = bitcast(bits_and(bitcast(l.f, DType::I32), ~0xfff), DType::F32);
  const Expr rest = (l.f - high) + log_tail(facts, l.f);
  const Expr low = multiply_add(facts, l.f + log_tail(facts, l.f), f32(kLow), rest * f32(kHigh));
  return log_specials(x, l.exponent + (high * f32(kHigh) + low));
}

// Kahan: the error of 1 + x is put back.
Expr log1p_of(const TargetFacts& facts, const Expr& x) {
  const Expr u = f32(1) + x;
  const Expr error = x - (u - f32(1));
  const Expr y = log_of(facts, u) + select(less(u, f32(kInfinity)), error / u, f32(0));
  const Expr result = select(equal(u, f32(1)), x, y);
  return select(equal(x, f32(kInfinity)), x, select(equal(x, f32(-1)), f32(-kInfinity), result));
}

// e = exp(-|x|) never overflows: 1 / (1 + e) above zero, e / (1 + e) below.
Expr sigmoid_of(const TargetFacts& facts, const Expr& x) {
  const Expr e = exp_of(facts, -absolute(x));
  const Expr top = select(less(x, f32(0)), e, f32(1));
  return select(not_equal(x, x), x, top / (f32(1) + e));
}

// Small |x|: x + x^3 P(x^2), P within 5e-9 of tanh on [0, 0.625]; else 1 - 2 / (e^2|x| + 1).
Expr tanh_of(const TargetFacts& facts, const Expr& x) {
  const Expr magnitude = absolute(x);
  const Expr z = x * x;
  const Expr p = polynomial(
      facts, z,
      {-0.3333328366279602, 0.13331490755081177, -0.05374349653720856, 0.020650578662753105, -0.005717036779969931});
  const Expr small = multiply_add(facts, magnitude * z, p, magnitude);
  const Expr e = exp_of(facts, minimum(magnitude, f32(10)) * f32(2));
  const Expr large = f32(1) - f32(2) / (e + f32(1));
  const Expr y = copy_sign(select(less(magnitude, f32(0.625)), small, large), x);
  return select(not_equal(x, x), x, y);
}

// Small |x|: x + x P(x^2), within 7e-10; else 1 - exp(Q(|x|)), Q the logarithm of erfc within 4e-11 on [0.93, 3.95].
Expr erf_of(const TargetFacts& facts, const Expr& x) {
  const Expr magnitude = absolute(x);
  const Expr p = polynomial(facts, x * x,
                            {0.128379225730896, -0.37612631916999817, 0.11283663660287857, -0.026857705786824226,
                             0.005196951795369387, -0.0008097701938822865, 8.185087062884122e-05});
  const Expr a = minimum(magnitude, f32(3.95));
  const Expr q =
      polynomial(facts, a,
                 {0.00017845234833657742, -1.1295331716537476, -0.6333099007606506, -0.10832107067108154,
                  0.025146078318357468, -0.004181241150945425, 0.00043657500646077096, -2.127876359736547e-05});
  const Expr large = copy_sign(f32(1) - exp_of(facts, q), x);
  return select(less(magnitude, f32(0.94)), multiply_add(facts, x, p, x), select(not_equal(x, x), x, large));
}

Expr softplus_of(const TargetFacts& facts, const Expr& x) {
  return maximum(x, f32(0)) + log1p_of(facts, exp_of(facts, -absolute(x)));
}

Expr logaddexp_of(const TargetFacts& facts, const Expr& a, const Expr& b) {
  const Expr distance = select(equal(a, b), f32(0), absolute(a - b));  // also where both are the same infinity
  return maximum(a, b) + log1p_of(facts, exp_of(facts, -distance));
}

// sinh by expm1: (u + u / (u + 1)) / 2; beyond 88 through e^(x/2) twice.
Expr sinh_of(const TargetFacts& facts, const Expr& x) {
  const Expr magnitude = absolute(x);
  const Expr u = expm1_of(facts, minimum(magnitude, f32(88)));
  const Expr near = (u + u / (u + f32(1))) * f32(0.5);
  const Expr half = exp_of(facts, magnitude * f32(0.5));
  const Expr far = (half * f32(0.5)) * half;
  return select(not_equal(x, x), x, copy_sign(select(less(magnitude, f32(88)), near, far), x));
}

Expr cosh_of(const TargetFacts& facts, const Expr& x) {
  const Expr magnitude = absolute(x);
  const Expr e = exp_of(facts, minimum(magnitude, f32(88)));
  const Expr near = e * f32(0.5) + f32(0.5) / e;
  const Expr half = exp_of(facts, magnitude * f32(0.5));
  const Expr far = (half * f32(0.5)) * half;
  return select(less(magnitude, f32(88)), near, select(not_equal(x, x), x, far));
}

// log1p(t + t^2 / (1 + sqrt(1 + t^2))); for large t log t + log 2.
Expr asinh_of(const TargetFacts& facts, const Expr& x) {
  const Expr t = absolute(x);
  const Expr square = t * t;
  const Expr near = log1p_of(facts, t + square / (f32(1) + unary(Op::Sqrt, f32(1) + square)));
  const Expr far = log_of(facts, t) + f32(0.6931471805599453);
  return select(not_equal(x, x), x, copy_sign(select(less(t, f32(0x1p30)), near, far), x));
}

Expr acosh_of(const TargetFacts& facts, const Expr& x) {
  const Expr t = x - f32(1);
  const Expr near = log1p_of(facts, t + unary(Op::Sqrt, t * (t + f32(2))));
  const Expr far = log_of(facts, x) + f32(0.6931471805599453);
  return select(less(x, f32(1)), f32(std::nan("")),
                select(less(x, f32(0x1p30)), near, select(not_equal(x, x), x, far)));
}

Expr atanh_of(const TargetFacts& facts, const Expr& x) {
  const Expr t = absolute(x);
  const Expr y = log1p_of(facts, (t + t) / (f32(1) - t)) * f32(0.5);
  const Expr valid =
      select(less_equal(t, f32(1)), copy_sign(select(equal(t, f32(1)), f32(kInfinity), y), x), f32(std::nan("")));
  return select(equal(x, f32(0)), x, valid);
}

}  // namespace

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
    case Op::Sigmoid:
      return sigmoid_of(facts, x);
    case Op::Softplus:
      return softplus_of(facts, x);
    case Op::LogAddExp:
      return logaddexp_of(facts, x, e.arg(1));
    case Op::Tanh:
      return tanh_of(facts, x);
    case Op::Erf:
      return erf_of(facts, x);
    case Op::Sinh:
      return sinh_of(facts, x);
    case Op::Cosh:
      return cosh_of(facts, x);
    case Op::Asinh:
      return asinh_of(facts, x);
    case Op::Acosh:
      return acosh_of(facts, x);
    case Op::Atanh:
      return atanh_of(facts, x);
    default:
      return {};
  }
}

}  // namespace frit::functions
