// f32: sin, cos, tan and their inverses.
#include <array>
#include <cmath>
#include <limits>

#include "codegen/functions/definitions.h"

namespace frit::functions {
namespace {

const double kInfinity = std::numeric_limits<double>::infinity();

struct Quadrant {
  Expr q;  // u32; its two low bits count
  Expr r;  // |x| - q * pi/2, |r| <= pi/4
};

Expr u32(int64_t value) { return constant_int(DType::U32, value); }
Expr word(const Expr& x) { return cast(x, DType::U32); }
Expr wide(const Expr& x) { return cast(x, DType::U64); }

// 2/pi in binary, behind 32 zeros.
constexpr uint32_t kTwoOverPi[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                   0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};

// 96 bits of 2/pi from bit `at` of the table (0 to 159): three words, the highest first.
std::array<Expr, 3> window(const Expr& at) {
  const Expr index = shift_right(at, 5), shift = bits_and(at, 31), rest = bits_and(unary(Op::BitNot, at), 31);
  std::array<Expr, 4> words;
  for (size_t j = 0; j < 4; ++j) {
    words[j] = u32(kTwoOverPi[j + 4]);
    for (int k = 3; k >= 0; --k)
      words[j] = select(less(index, u32(k + 1)), u32(kTwoOverPi[j + static_cast<size_t>(k)]), words[j]);
  }
  const auto joined = [&](size_t j) {
    return bits_or(binary(Op::Shl, words[j], shift), binary(Op::Shr, shift_right(words[j + 1], 1), rest));
  };
  return {joined(0), joined(1), joined(2)};
}

// Payne and Hanek in integers: |x| = m * 2^k, and of the product m * 2^k * 2/pi only what is below 4 is formed, to
// 2^-62. No f32 is nearer to a multiple of pi/2 than 2^-31, so 30 bits of the remainder are right at the least. The
// same for all |x| >= pi/4, however large; below x is its own remainder.
Quadrant reduce_by_half_pi(const TargetFacts& facts, const Expr& magnitude) {
  const Expr bits = bitcast(magnitude, DType::U32);
  const Expr m = wide(bits_or(bits_and(bits, 0x7fffff), u32(0x800000)));
  const auto [high, middle, low] = window(maximum(shift_right(bits, 23), u32(120)) - u32(120));
  const Expr turns = shift_left(m * wide(high), 32) + m * wide(middle) + shift_right(m * wide(low), 32);
  const Expr q = word(shift_right(turns, 62)) + bits_and(word(shift_right(turns, 61)), 1);
  // The fraction as a signed number of 64 bits; its size as a float of 24 bits and another for the rest.
  const Expr fraction = shift_left(turns, 2);
  const Expr negative = less(bitcast(word(shift_right(fraction, 32)), DType::I32), i32(0));
  const Expr size = select(negative, integer(fraction, 0) - fraction, fraction);
  const Expr top = bits_and(word(shift_right(size, 32)), 0xffffff00);
  const Expr rest = bits_and(word(shift_right(size, 9)), 0x7fffffff);
  const auto as_float = [](const Expr& n) { return cast(bitcast(n, DType::I32), DType::F32); };
  const double half_pi = 1.5707963267948966, unit = 0x1p-32 * half_pi;
  const double unit_low = unit - static_cast<double>(static_cast<float>(unit));
  const Expr tail = multiply_add(facts, as_float(top), f32(unit_low), as_float(rest) * f32(0x1p-55 * half_pi));
  const Expr r = multiply_add(facts, as_float(top), f32(unit), tail);
  const Expr small = less(magnitude, f32(0.785398));
  return {select(small, u32(0), q), select(small, magnitude, select(negative, -r, r))};
}

// r + r^3 P(r^2), relative error 4e-9.
Expr sine_poly(const TargetFacts& facts, const Expr& r) {
  const Expr z = r * r;
  return multiply_add(facts, r * z,
                      polynomial(facts, z, {-0.16666655242443085, 0.008332173340022564, -0.00019516666361596435}), r);
}

// 1 - r^2/2 + r^4 P(r^2), relative error 2e-10.
Expr cosine_poly(const TargetFacts& facts, const Expr& r) {
  const Expr z = r * r;
  const Expr p = polynomial(facts, z, {0.04166664555668831, -0.0013887311797589064, 2.4432589270872995e-05});
  return multiply_add(facts, z * z, p, multiply_add(facts, z, f32(-0.5), f32(1)));
}

Expr with_sign_flipped(const Expr& y, const Expr& sign_bit) {
  return bitcast(binary(Op::Xor, bitcast(y, DType::U32), sign_bit), DType::F32);
}

Expr nan_if_infinite(const Expr& x, const Expr& y) { return select(less(absolute(x), f32(kInfinity)), y, x - x); }

Expr sine_or_cosine(const TargetFacts& facts, const Expr& x, bool sine) {
  const Quadrant quadrant = reduce_by_half_pi(facts, absolute(x));
  const Expr q = sine ? quadrant.q : quadrant.q + u32(1);
  const Expr swap = not_equal(bits_and(q, 1), u32(0));
  const Expr y = select(swap, cosine_poly(facts, quadrant.r), sine_poly(facts, quadrant.r));
  Expr flip = shift_left(bits_and(q, 2), 30);
  if (sine) flip = binary(Op::Xor, flip, bits_and(bitcast(x, DType::U32), 0x80000000));
  return nan_if_infinite(x, with_sign_flipped(y, flip));
}

// r + r^3 P(r^2), relative error 2e-9; in odd quadrants -1 / tan(r).
Expr tan_of(const TargetFacts& facts, const Expr& x) {
  const Quadrant quadrant = reduce_by_half_pi(facts, absolute(x));
  const Expr& r = quadrant.r;
  const Expr z = r * r;
  const Expr p = polynomial(facts, z,
                            {0.3333335220813751, 0.13332600891590118, 0.05406659096479416, 0.021249448880553246,
                             0.010916986502707005, -9.456693078391254e-06, 0.004423466511070728});
  const Expr t = multiply_add(facts, r * z, p, r);
  const Expr odd = not_equal(bits_and(quadrant.q, 1), u32(0));
  const Expr y = select(odd, f32(-1) / t, t);
  return nan_if_infinite(x, with_sign_flipped(y, bits_and(bitcast(x, DType::U32), 0x80000000)));
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
