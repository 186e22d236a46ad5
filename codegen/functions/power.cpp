// f32 pow, through f64: log2 by atanh of (m - 1) / (m + 1), exp2 by a polynomial; relative error of 2^(y log2 x) about
// 1e-10, so the result is the right f32 or its neighbour.
#include <cmath>
#include <limits>

#include "codegen/functions/definitions.h"

namespace frit::functions {
namespace {

const double kInfinity = std::numeric_limits<double>::infinity();

// log2 of a positive finite f32 (in f64, where every f32 is normal).
Expr log2_f64(const TargetFacts& facts, const Expr& x) {
  const Expr bits = bitcast(x, DType::I64) - constant_int(DType::I64, 0x3fe6a09e667f3bcd);  // sqrt(1/2)
  const Expr exponent = cast(cast(shift_right(bits, 52), DType::I32), DType::F64);
  const Expr m = bitcast(bits_and(bits, 0xfffffffffffff) + constant_int(DType::I64, 0x3fe6a09e667f3bcd), DType::F64);
  const Expr s = (m - f64(1)) / (m + f64(1));
  const Expr z = s * s;
  // (atanh(s)/s - 1)/s^2 on s^2 <= 0.0297, within 4e-16 of atanh(s)/s.
  const Expr p = polynomial(facts, z,
                            {0.33333333333298953, 0.20000000022948938, 0.1428570920077543, 0.11111624240041361,
                             0.09064959791379827, 0.0832938131913191, 0.008185481648755074});
  const Expr log = (s + s * z * p) * f64(2 * 1.4426950408889634);
  return exponent + log;
}

// 2^t for t in [-1000, 1000].
Expr exp2_f64(const TargetFacts& facts, const Expr& t) {
  const double magic = 0x1.8p52;
  const Expr shifted = t + f64(magic);
  const Expr f = t - (shifted - f64(magic));
  const Expr n = bitcast(shifted, DType::I64) - bitcast(f64(magic), DType::I64);
  // 2^f on |f| <= 0.505, relative error 9e-13.
  const Expr p = polynomial(
      facts, f,
      {0.9999999999997377, 0.6931471805454131, 0.24022650699126208, 0.055504109437881595, 0.009618128508115775,
       0.0013333447781069124, 0.00015403864817270865, 1.5310878157957092e-05, 1.3175055560972308e-06});
  const Expr scale = bitcast(shift_left(n + constant_int(DType::I64, 1023), 52), DType::F64);
  return p * scale;
}

Expr pow_of(const TargetFacts& facts, const Expr& x, const Expr& y) {
  const Expr magnitude = absolute(x);
  const Expr wide = cast(magnitude, DType::F64);
  const Expr usable = both(less(f32(0), magnitude), less(magnitude, f32(kInfinity)));
  const Expr exponent = cast(y, DType::F64) * log2_f64(facts, select(usable, wide, f64(1)));
  const Expr bounded = minimum(maximum(exponent, f64(-1000)), f64(1000));
  Expr result = cast(exp2_f64(facts, select(not_equal(bounded, bounded), f64(0), bounded)), DType::F32);

  const Expr whole = equal(unary(Op::Trunc, y), y);  // true for infinities
  const Expr half = y * f32(0.5);
  const Expr odd = both(both(whole, not_equal(unary(Op::Trunc, half), half)), less(absolute(y), f32(0x1p24)));
  const Expr grows = less(f32(0), y);
  // |x| is 0 or infinite.
  result = select(equal(magnitude, f32(0)), select(grows, f32(0), f32(kInfinity)), result);
  result = select(equal(magnitude, f32(kInfinity)), select(grows, f32(kInfinity), f32(0)), result);
  // The sign of x counts where y is odd; elsewhere a negative finite base needs an integer.
  const Expr negative = less(bitcast(x, DType::I32), i32(0));
  result = select(both(negative, odd), -result, result);
  const Expr undefined = both(both(less(x, f32(0)), less(f32(-kInfinity), x)), negation(whole));
  result = select(undefined, f32(std::nan("")), result);
  result = select(either(not_equal(x, x), not_equal(y, y)), x + y, result);
  const Expr at_infinity =
      select(equal(magnitude, f32(1)), f32(1), select(equal(less(f32(1), magnitude), grows), f32(kInfinity), f32(0)));
  result = select(both(equal(absolute(y), f32(kInfinity)), equal(x, x)), at_infinity, result);
  return select(either(equal(y, f32(0)), equal(x, f32(1))), f32(1), result);
}

// Exponents that are a product or roots: within one unit of the last place of the general form, special values alike.
Expr pow_of_constant(const Expr& x, double y) {
  if (y == 2) return x * x;
  if (y == 3) return x * x * x;
  if (y != 0.5 && y != 0.25 && y != 0.75) return {};
  const Expr magnitude =
      select(equal(x, number(x, -kInfinity)), number(x, kInfinity), x + number(x, 0));  // -0 gives 0, -inf gives inf
  const Expr root = unary(Op::Sqrt, magnitude);
  if (y == 0.5) return root;
  const Expr fourth = unary(Op::Sqrt, root);
  return y == 0.25 ? fourth : root * fourth;
}

}  // namespace

Expr define_power(const Expr& e, const TargetFacts& facts) {
  if (e.op() != Op::Pow) return {};
  if (e.arg(1).is_constant())
    if (Expr simple = pow_of_constant(e.arg(0), e.arg(1).float_value())) return simple;
  return e.dtype() == DType::F32 ? pow_of(facts, e.arg(0), e.arg(1)) : Expr();
}

}  // namespace frit::functions
