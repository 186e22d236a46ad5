// pow. f32 goes through f64: log2 by atanh of (m - 1) / (m + 1), exp2 by a polynomial; relative error of 2^(y log2 x)
// about 1e-10, so the result is the right f32 or its neighbour. f64 carries y log2 x as a sum of two.
#include <cmath>
#include <limits>

#include "codegen/functions/definitions.h"
#include "codegen/functions/exact.h"

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

// x^y from |x|^y: signs and special values as in IEEE 754.
Expr with_special_powers(const Expr& x, const Expr& y, Expr result) {
  const Expr zero = number(x, 0), one = number(x, 1), infinity = number(x, kInfinity), magnitude = absolute(x);
  const Expr whole = equal(unary(Op::Trunc, y), y);  // true for infinities
  const Expr half = y * number(x, 0.5);
  const Expr below = less(absolute(y), number(x, x.dtype() == DType::F64 ? 0x1p53 : 0x1p24));
  const Expr odd = both(both(whole, not_equal(unary(Op::Trunc, half), half)), below);
  const Expr grows = less(zero, y);
  // |x| is 0 or infinite.
  result = select(equal(magnitude, zero), select(grows, zero, infinity), result);
  result = select(equal(magnitude, infinity), select(grows, infinity, zero), result);
  // The sign of x counts where y is odd; elsewhere a negative finite base needs an integer.
  const DType bits = x.dtype() == DType::F64 ? DType::I64 : DType::I32;
  const Expr negative = less(bitcast(x, bits), constant_int(bits, 0));
  result = select(both(negative, odd), -result, result);
  const Expr undefined = both(both(less(x, zero), less(-infinity, x)), negation(whole));
  result = select(undefined, number(x, std::nan("")), result);
  result = select(either(not_equal(x, x), not_equal(y, y)), x + y, result);
  const Expr at_infinity =
      select(equal(magnitude, one), one, select(equal(less(one, magnitude), grows), infinity, zero));
  result = select(both(equal(absolute(y), infinity), equal(x, x)), at_infinity, result);
  return select(either(equal(y, zero), equal(x, one)), one, result);
}

Expr is_usable(const Expr& magnitude) {
  return both(less(number(magnitude, 0), magnitude), less(magnitude, number(magnitude, kInfinity)));
}

Expr pow_of_f32(const TargetFacts& facts, const Expr& x, const Expr& y) {
  const Expr magnitude = absolute(x);
  const Expr base = select(is_usable(magnitude), cast(magnitude, DType::F64), f64(1));
  const Expr exponent = cast(y, DType::F64) * log2_f64(facts, base);
  const Expr bounded = minimum(maximum(exponent, f64(-1000)), f64(1000));
  const Expr result = cast(exp2_f64(facts, select(not_equal(bounded, bounded), f64(0), bounded)), DType::F32);
  return with_special_powers(x, y, result);
}

// log2 of a positive finite f64 within 2^-65 of it: s = (m - 1) / (m + 1) as a sum of two, and
// log2(m) = 2 / (3 ln 2) * s * (3 + s^2 + s^4 Q(s^2)), Q within 4e-20 of the sum.
Sum exact_log2(const TargetFacts& facts, const Expr& x) {
  const Expr tiny = less(x, f64(0x1p-1022)), root_half = constant_int(DType::I64, 0x3fe6a09e667f3bcd);
  const Expr bits = bitcast(select(tiny, x * f64(0x1p54), x), DType::I64) - root_half;
  const Expr exponent = cast(cast(shift_right(bits, 52), DType::I32), DType::F64) - select(tiny, f64(54), f64(0));
  const Expr m = bitcast(bits_and(bits, 0xfffffffffffff) + root_half, DType::F64);
  const Expr f = m - f64(1), g = m + f64(1), g_low = m - (g - f64(1)), s = f / g;
  const Sum back = exact_product(facts, s, g);
  const Expr s_low = (((f - back.high) - back.low) - s * g_low) / g;
  const Sum z = exact_product(facts, s, s);
  const Expr q = polynomial(facts, z.high,
                            {0.600000000000034, 0.428571428551432, 0.33333333781010227, 0.2727267644994296,
                             0.23080140737411456, 0.1988511398083745, 0.1979555864608612});
  const Sum three = exact_sum_ordered(f64(3), z.high);
  const Expr rest = three.low + (z.low + f64(2) * s * s_low + z.high * z.high * q);
  const Sum t = exact_sum_ordered(three.high, rest);
  const Sum u = exact_product(facts, s, t.high);
  const Expr u_low = u.low + (s * t.low + s_low * t.high);
  const Expr c = f64(0x1.ec709dc3a03fdp-1), c_low = f64(0x1.d27f05548af0cp-55);  // 2 / (3 ln 2)
  const Sum v = exact_product(facts, u.high, c);
  const Sum sum = exact_sum(exponent, v.high);
  return exact_sum_ordered(sum.high, sum.low + (v.low + (u.high * c_low + u_low * c)));
}

Expr pow_of_f64(const TargetFacts& facts, const Expr& x, const Expr& y) {
  const Expr magnitude = absolute(x);
  const Sum log = exact_log2(facts, select(is_usable(magnitude), magnitude, f64(1)));
  // Beyond 2^66 every power of another base than 1 is 0 or infinite.
  const Expr times = minimum(maximum(select(equal(y, y), y, f64(0)), f64(-0x1p66)), f64(0x1p66));
  const Sum product = exact_product(facts, log.high, times);
  const Sum exponent = exact_sum_ordered(product.high, product.low + log.low * times);
  const Expr bounded = minimum(maximum(exponent.high, f64(-1076)), f64(1025)), magic = f64(0x1.8p52);
  const Expr shifted = bounded + magic;
  const Expr low = select(equal(bounded, exponent.high), exponent.low, f64(0));
  const Expr rest = (bounded - (shifted - magic)) + low;
  const Expr n = bitcast(shifted, DType::I64) - bitcast(magic, DType::I64);
  return with_special_powers(x, y, exp_of_reduced(facts, rest * f64(0.6931471805599453), n));
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
  const auto general = e.dtype() == DType::F64 ? pow_of_f64 : pow_of_f32;
  return general(facts, e.arg(0), e.arg(1));
}

}  // namespace frit::functions
