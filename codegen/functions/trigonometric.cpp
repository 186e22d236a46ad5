// f32: sin, cos, tan and their inverses.
#include <cmath>
#include <limits>

#include "codegen/functions/definitions.h"

namespace frit::functions {
namespace {

struct Quadrant {
  Expr q;  // i64, the multiple of pi/2
  Expr r;  // f64, |r| <= pi/4
};

// In f64: n * high is exact for |n| < 2^27, so up to |x| of about 2e8 the remainder is right to 2^-50.
Quadrant reduce_by_half_pi(const Expr& x) {
  const Expr wide = cast(x, DType::F64);
  const Expr quotient = wide * f64(0.6366197723675814);
  const double magic = 0x1.8p52;
  const Expr shifted = quotient + f64(magic);
  const Expr n = shifted - f64(magic);
  // pi/2 in parts of 26 and 53 bits.
  const double high = 1.5707963109016418, low = 1.5893254773528197e-08;
  const Expr r = (wide - n * f64(high)) - n * f64(low);
  return {bitcast(shifted, DType::I64), r};
}

Expr sine_f64(const Expr& r) {
  const Expr z = r * r;
  const TargetFacts plain{false, true, true};
  return r + r * z * polynomial(plain, z, {-0.16666666666, 0.0083333292, -0.00019839256, 2.71756448e-06});
}

Expr cosine_f64(const Expr& r) {
  const Expr z = r * r;
  const TargetFacts plain{false, true, true};
  return f64(1) - z * f64(0.5) +
         z * z * polynomial(plain, z, {0.041666666666, -0.00138888834, 2.479943578e-05, -2.72033e-07});
}

Expr sine_like(const Expr& x, int quarter) {
  const Quadrant quadrant = reduce_by_half_pi(x);
  const Expr q = quadrant.q + constant_int(DType::I64, quarter);
  const Expr swap = not_equal(bits_and(q, 1), constant_int(DType::I64, 0));
  const Expr flip = not_equal(bits_and(q, 2), constant_int(DType::I64, 0));
  const Expr y = select(swap, cosine_f64(quadrant.r), sine_f64(quadrant.r));
  return cast(select(flip, -y, y), DType::F32);
}

Expr sin_of(const Expr& x) { return select(equal(x, f32(0)), x, sine_like(x, 0)); }
Expr cos_of(const Expr& x) { return sine_like(x, 1); }

Expr tan_of(const Expr& x) {
  const Quadrant quadrant = reduce_by_half_pi(x);
  const Expr s = sine_f64(quadrant.r), c = cosine_f64(quadrant.r);
  const Expr swap = not_equal(bits_and(quadrant.q, 1), constant_int(DType::I64, 0));
  return select(equal(x, f32(0)), x, cast(select(swap, -(c / s), s / c), DType::F32));
}

// atan on [0, 1]: a + a^3 P(a^2), relative error 5e-10.
Expr atan_unit(const TargetFacts& facts, const Expr& a) {
  const Expr z = a * a;
  const Expr p = polynomial(
      facts, z,
      {-0.333333283662796, 0.1999967098236084, -0.14279833436012268, 0.11058221757411957, -0.08811084926128387,
       0.06741581857204437, -0.04468972980976105, 0.022539688274264336, -0.0073178717866539955, 0.00111377181019634});
  return multiply_add(facts, a * z, p, a);
}

constexpr double kHalfPi = 1.5707963267948966, kPi = 3.141592653589793;

Expr atan_of(const TargetFacts& facts, const Expr& x) {
  const Expr a = absolute(x);
  const Expr large = less(f32(1), a);
  const Expr y = atan_unit(facts, select(large, f32(1) / a, a));
  const Expr value = select(large, f32(kHalfPi) - y, y);
  return select(not_equal(x, x), x, copy_sign(value, x));
}

Expr atan2_of(const TargetFacts& facts, const Expr& y, const Expr& x) {
  const Expr ay = absolute(y), ax = absolute(x);
  const Expr steep = less(ax, ay);
  const Expr same = equal(ax, ay);  // both infinite, both zero, or the diagonal
  const Expr ratio =
      select(same, select(equal(ax, f32(0)), f32(0), f32(1)), select(steep, ax, ay) / select(steep, ay, ax));
  Expr angle = atan_unit(facts, ratio);
  angle = select(steep, f32(kHalfPi) - angle, angle);
  const Expr left = less(bitcast(x, DType::I32), i32(0));
  angle = select(left, f32(kPi) - angle, angle);
  return select(either(not_equal(x, x), not_equal(y, y)), x + y, copy_sign(angle, y));
}

// asin(x)/x on x^2 <= 1/4.
Expr asin_ratio(const TargetFacts& facts, const Expr& z) {
  return polynomial(facts, z,
                    {0.16666658222675323, 0.07500645518302917, 0.044488634914159775, 0.03205275163054466,
                     0.01348387822508812, 0.03889106959104538});
}

// |x| <= 1/2 by the polynomial, else pi/2 - 2 asin(sqrt((1 - |x|)/2)).
Expr asin_of(const TargetFacts& facts, const Expr& x) {
  const Expr a = absolute(x);
  const Expr large = less(f32(0.5), a);
  const Expr z = select(large, (f32(1) - a) * f32(0.5), a * a);
  const Expr s = select(large, unary(Op::Sqrt, z), a);
  const Expr y = multiply_add(facts, s * z, asin_ratio(facts, z), s);
  return copy_sign(select(large, f32(kHalfPi) - y * f32(2), y), x);
}

Expr acos_of(const TargetFacts& facts, const Expr& x) {
  const Expr a = absolute(x);
  const Expr large = less(f32(0.5), a);
  const Expr z = select(large, (f32(1) - a) * f32(0.5), a * a);
  const Expr s = select(large, unary(Op::Sqrt, z), x);
  const Expr y = multiply_add(facts, s * z, asin_ratio(facts, z), s);
  const Expr far = select(less(x, f32(0)), f32(kPi) - y * f32(2), y * f32(2));
  return select(large, far, f32(kHalfPi) - y);
}

}  // namespace

Expr define_trigonometric(const Expr& e, const TargetFacts& facts) {
  const Expr& x = e.arg(0);
  switch (e.op()) {
    case Op::Sin:
      return sin_of(x);
    case Op::Cos:
      return cos_of(x);
    case Op::Tan:
      return tan_of(x);
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
