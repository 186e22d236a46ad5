// f32: sin, cos, tan and their inverses.
#include <cmath>
#include <limits>

#include "codegen/functions/definitions.h"

namespace frit::functions {
namespace {

const double kInfinity = std::numeric_limits<double>::infinity();

bool is_f64(const Expr& x) { return x.dtype() == DType::F64; }
Expr u32(int64_t value) { return constant_int(DType::U32, value); }

// r + r^3 P(r^2), relative error 4e-9, f64 4e-18.
Expr sine_poly(const TargetFacts& facts, const Expr& r) {
  const Expr z = r * r;
  const Expr p = is_f64(r)
                     ? polynomial(facts, z,
                                  {-0.16666666666666632, 0.00833333333332228, -0.00019841269829702697,
                                   2.7557313655625187e-06, -2.5050752408383602e-08, 1.5896461792242266e-10})
                     : polynomial(facts, z, {-0.16666655242443085, 0.008332173340022564, -0.00019516666361596435});
  return multiply_add(facts, r * z, p, r);
}

// 1 - r^2/2 + r^4 P(r^2), relative error 2e-10, f64 6e-20.
Expr cosine_poly(const TargetFacts& facts, const Expr& r) {
  const Expr z = r * r;
  const Expr p = is_f64(r)
                     ? polynomial(facts, z,
                                  {0.041666666666666595, -0.0013888888888872893, 2.480158728874752e-05,
                                   -2.755731414858338e-07, 2.087569658299297e-09, -1.1358311651088949e-11})
                     : polynomial(facts, z, {0.04166664555668831, -0.0013887311797589064, 2.4432589270872995e-05});
  return multiply_add(facts, z * z, p, multiply_add(facts, z, number(r, -0.5), number(r, 1)));
}

// y, negated where bit 0 of a u32 is set; and once more where x is negative, if it counts.
Expr with_sign(const Expr& y, const Expr& flip, const Expr* x) {
  if (is_f64(y)) {
    const Expr sign = shift_left(cast(bits_and(flip, 1), DType::U64), 63), bits = bitcast(y, DType::U64);
    const Expr flipped = binary(Op::Xor, bits, sign);
    if (!x) return bitcast(flipped, DType::F64);
    const Expr of_x = bits_and(bitcast(*x, DType::U64), std::numeric_limits<int64_t>::min());
    return bitcast(binary(Op::Xor, flipped, of_x), DType::F64);
  }
  Expr sign = shift_left(flip, 31);
  if (x) sign = binary(Op::Xor, sign, bits_and(bitcast(*x, DType::U32), 0x80000000));
  return bitcast(binary(Op::Xor, bitcast(y, DType::U32), sign), DType::F32);
}

Expr nan_if_infinite(const Expr& x, const Expr& y) { return select(less(absolute(x), number(x, kInfinity)), y, x - x); }

Expr sine_or_cosine(const TargetFacts& facts, const Expr& x, bool sine) {
  const Quadrant quadrant = reduce_by_half_pi(facts, absolute(x));
  const Expr q = sine ? quadrant.q : quadrant.q + u32(1);
  const Expr swap = not_equal(bits_and(q, 1), u32(0));
  const Expr y = select(swap, cosine_poly(facts, quadrant.r), sine_poly(facts, quadrant.r));
  return nan_if_infinite(x, with_sign(y, shift_right(q, 1), sine ? &x : nullptr));
}

// r + r^3 P(r^2), relative error 2e-9, f64 2e-18; in odd quadrants -1 / tan(r).
Expr tan_of(const TargetFacts& facts, const Expr& x) {
  const Quadrant quadrant = reduce_by_half_pi(facts, absolute(x));
  const Expr& r = quadrant.r;
  const Expr z = r * r;
  const Expr p =
      is_f64(x)
          ? polynomial(facts, z,
                       {0.33333333333333387, 0.1333333333332476, 0.05396825397319666, 0.021869488391858625,
                        0.008863238034628068, 0.003592099788873224, 0.0014560527949016397, 0.0005888306892483502,
                        0.00024386478806755338, 8.32842512485052e-05, 6.769524144453161e-05, -2.6201355642443994e-05,
                        4.908575993172444e-05, -2.448572169033657e-05, 9.843895687143044e-06})
          : polynomial(facts, z,
                       {0.3333335220813751, 0.13332600891590118, 0.05406659096479416, 0.021249448880553246,
                        0.010916986502707005, -9.456693078391254e-06, 0.004423466511070728});
  const Expr t = multiply_add(facts, r * z, p, r);
  const Expr odd = not_equal(bits_and(quadrant.q, 1), u32(0));
  return nan_if_infinite(x, with_sign(select(odd, number(x, -1) / t, t), u32(0), &x));
}

constexpr double kHalfPi = 1.5707963267948966, kPi = 3.141592653589793;
constexpr double kHalfPiLow = 6.123233995736766e-17;  // of pi/2 in f64

// angle - y, angle a multiple of pi/2; f64 with the low part of pi.
Expr angle_minus(double quarters, const Expr& y) {
  const Expr rest = is_f64(y) ? y - f64(quarters * kHalfPiLow) : y;
  return number(y, quarters * kHalfPi) - rest;
}

// atan on [0, 1]. f32: a + a^3 P(a^2), relative error 5e-10. f64 the same up to tan(pi/8), 5e-20; above it
// pi/4 + atan((a - 1) / (a + 1)).
Expr atan_unit(const TargetFacts& facts, const Expr& a) {
  if (is_f64(a)) {
    const Expr steep = less(f64(0.41421356237309503), a);
    const Expr b = select(steep, (a - f64(1)) / (a + f64(1)), a), z = b * b;
    const Expr p = polynomial(facts, z,
                              {-0.33333333333333326, 0.1999999999999768, -0.14285714285389464, 0.1111111108826942,
                               -0.09090908147857274, 0.07692282834343284, -0.06666227880009831, 0.05877032832586657,
                               -0.052184756461420574, 0.045038399648705284, -0.03348123702902571, 0.01520205377569557});
    const Expr y = multiply_add(facts, b * z, p, b);
    return select(steep, f64(kHalfPi / 2) + (y + f64(kHalfPiLow / 2)), y);
  }
  const Expr z = a * a;
  const Expr p = polynomial(
      facts, z,
      {-0.333333283662796, 0.1999967098236084, -0.14279833436012268, 0.11058221757411957, -0.08811084926128387,
       0.06741581857204437, -0.04468972980976105, 0.022539688274264336, -0.0073178717866539955, 0.00111377181019634});
  return multiply_add(facts, a * z, p, a);
}

Expr atan_of(const TargetFacts& facts, const Expr& x) {
  const Expr a = absolute(x);
  const Expr large = less(number(x, 1), a);
  const Expr y = atan_unit(facts, select(large, number(x, 1) / a, a));
  return select(not_equal(x, x), x, copy_sign(select(large, angle_minus(1, y), y), x));
}

Expr atan2_of(const TargetFacts& facts, const Expr& y, const Expr& x) {
  const Expr ay = absolute(y), ax = absolute(x);
  const Expr steep = less(ax, ay);
  const Expr same = equal(ax, ay);  // both infinite, both zero, or the diagonal
  const Expr ratio = select(same, select(equal(ax, number(x, 0)), number(x, 0), number(x, 1)),
                            select(steep, ax, ay) / select(steep, ay, ax));
  Expr angle = atan_unit(facts, ratio);
  angle = select(steep, angle_minus(1, angle), angle);
  const DType bits = is_f64(x) ? DType::I64 : DType::I32;
  const Expr left = less(bitcast(x, bits), constant_int(bits, 0));
  angle = select(left, angle_minus(2, angle), angle);
  return select(either(not_equal(x, x), not_equal(y, y)), x + y, copy_sign(angle, y));
}

// (asin(x)/x - 1)/x^2 on x^2 <= 1/4; asin(x)/x within 5e-9, f64 1e-18.
Expr asin_ratio(const TargetFacts& facts, const Expr& z) {
  if (is_f64(z))
    return polynomial(
        facts, z,
        {0.16666666666666763, 0.07499999999970056, 0.04464285717532692, 0.030381942673295543, 0.022372215962932977,
         0.01735159445144983, 0.013981031423117324, 0.011397184877293626, 0.010789943254109792, 0.0036697740868784664,
         0.021796664487256107, -0.02112545065593034, 0.032707757928392076});
  return polynomial(facts, z,
                    {0.16666658222675323, 0.07500645518302917, 0.044488634914159775, 0.03205275163054466,
                     0.01348387822508812, 0.03889106959104538});
}

// |x| <= 1/2 by the polynomial, else pi/2 - 2 asin(sqrt((1 - |x|)/2)).
Expr asin_of(const TargetFacts& facts, const Expr& x) {
  const Expr a = absolute(x), half = number(x, 0.5);
  const Expr large = less(half, a);
  const Expr z = select(large, (number(x, 1) - a) * half, a * a);
  const Expr s = select(large, unary(Op::Sqrt, z), a);
  const Expr y = multiply_add(facts, s * z, asin_ratio(facts, z), s);
  return copy_sign(select(large, angle_minus(1, y * number(x, 2)), y), x);
}

Expr acos_of(const TargetFacts& facts, const Expr& x) {
  const Expr a = absolute(x), half = number(x, 0.5), two = number(x, 2);
  const Expr large = less(half, a);
  const Expr z = select(large, (number(x, 1) - a) * half, a * a);
  const Expr s = select(large, unary(Op::Sqrt, z), x);
  const Expr y = multiply_add(facts, s * z, asin_ratio(facts, z), s);
  const Expr far = select(less(x, number(x, 0)), angle_minus(2, y * two), y * two);
  return select(large, far, angle_minus(1, y));
}

}  // namespace

Expr define_trigonometric(const Expr& e, const TargetFacts& facts) {
  const Expr& x = e.arg(0);
  switch (e.op()) {
    case Op::Sin:
      return sine_or_cosine(facts, x, true);
    case Op::Cos:
      return sine_or_cosine(facts, x, false);
    case Op::Tan:
      return tan_of(facts, x);
    case Op::Atan:
      return atan_of(facts, x);
    case Op::Atan2:
      return atan2_of(facts, x, e.arg(1));
    case Op::Asin:
      return asin_of(facts, x);
    case Op::Acos:
      return acos_of(facts, x);
    default:
      return {};
  }
}

}  // namespace frit::functions
