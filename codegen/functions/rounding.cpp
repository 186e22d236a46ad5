// Rounding without instructions for it, float division with floor and trunc, Fma without hardware.
#include <cmath>
#include <limits>

#include "codegen/functions/definitions.h"
#include "codegen/functions/exact.h"

namespace frit::functions {
namespace {

DType bits_of(const Expr& x) { return x.dtype() == DType::F64 ? DType::I64 : DType::I32; }

// Half to even: adding and taking away 2^(mantissa bits) rounds what is smaller than that; larger values are integers.
Expr round_even(const Expr& x) {
  const double big = x.dtype() == DType::F64 ? 0x1p52 : 0x1p23;
  const Expr magnitude = absolute(x);
  const Expr rounded = (magnitude + number(x, big)) - number(x, big);
  return select(less(magnitude, number(x, big)), copy_sign(rounded, x), x);
}

Expr truncate(const Expr& x) {
  const double big = x.dtype() == DType::F64 ? 0x1p52 : 0x1p23;
  const Expr magnitude = absolute(x);
  const Expr rounded = (magnitude + number(x, big)) - number(x, big);
  const Expr down = select(less(magnitude, rounded), rounded - number(x, 1), rounded);
  return select(less(magnitude, number(x, big)), copy_sign(down, x), x);
}

Expr floor_of(const Expr& x) {
  const Expr rounded = round_even(x);
  return select(less(x, rounded), rounded - number(x, 1), rounded);
}

// -floor(-x) keeps the sign of a zero.
Expr ceil_of(const Expr& x) { return -floor_of(-x); }

// The remainder of truncated division of f32, exact, sign of a: long division in f64 with digits of 29 bits, ten of
// them for quotients of up to 2^277. A digit times a divisor of 24 bits is exact, and so is what remains. A quotient
// that rounds up makes the digit one too large and the rest negative, once.
Expr trunc_mod_f32(const Expr& a, const Expr& b) {
  const Expr x = absolute(cast(a, DType::F64)), y = absolute(cast(b, DType::F64));
  const Expr infinity = f64(std::numeric_limits<double>::infinity());
  Expr rest = x;
  for (int digit = 9; digit >= 0; --digit) {
    const Expr step = y * f64(std::ldexp(1.0, 29 * digit));
    const Expr next = rest - unary(Op::Trunc, rest / step) * step;
    rest = select(less(next, f64(0)), next + step, next);
  }
  rest = select(equal(y, infinity), select(less(x, infinity), x, x - x), rest);
  return copy_sign(cast(rest, DType::F32), a);
}

// Sign of b, also of a remainder of zero.
Expr floor_mod(const Expr& a, const Expr& b) {
  const Expr r = binary(Op::TruncMod, a, b), zero = number(r, 0);
  const Expr other = not_equal(less(r, zero), less(b, zero));
  return select(equal(r, zero), copy_sign(r, b), select(other, r + b, r));
}

// The quotient, rounded to a whole number; a quotient that had been rounded up to it shows by the sign of the
// remainder, of which one rounding keeps the sign. Where all floats are whole it stays rounded.
Expr floor_div(const Expr& a, const Expr& b) {
  const Expr q = unary(Op::Floor, a / b), r = fma(-q, b, a), zero = number(r, 0);
  const Expr beyond = select(less(b, zero), less(zero, r), less(r, zero));
  const Expr fine = less(absolute(q), number(q, a.dtype() == DType::F64 ? 0x1p53 : 0x1.000002p24));
  return select(both(beyond, fine), q - number(q, 1), q);
}

Expr trunc_div(const Expr& a, const Expr& b) {
  const Expr q = floor_div(absolute(a), absolute(b));
  return copy_sign(q, bitcast(binary(Op::Xor, bitcast(a, bits_of(a)), bitcast(b, bits_of(b))), a.dtype()));
}

Expr to_odd(const Sum& s) {
  const Expr bits = bitcast(s.high, DType::I64), one = integer(bits, 1);
  const Expr away = not_equal(less(f64(0), s.low), less(s.high, f64(0)));  // the rest points away from zero
  const Expr fix = both(not_equal(s.low, f64(0)), equal(bits_and(bits, 1), integer(bits, 0)));
  return select(fix, bitcast(select(away, bits + one, bits - one), DType::F64), s.high);
}

// One rounding without hardware. f32: the product is exact in f64; the sum is made odd when it is inexact, so that the
// second rounding, to f32, decides right.
Expr fused_f32(const Expr& a, const Expr& b, const Expr& c) {
  const Expr p = cast(a, DType::F64) * cast(b, DType::F64), z = cast(c, DType::F64);
  const Sum s = exact_sum(p, z);
  const Expr finite = less(absolute(s.high), f64(std::numeric_limits<double>::infinity()));
  return cast(select(finite, to_odd(s), s.high), DType::F32);
}

struct Scaled {
  Expr mantissa;  // in [1, 2)
  Expr exponent;  // i64
};

// x = mantissa * 2^exponent, of a positive finite f64, denormal too.
Scaled split_f64(const Expr& x) {
  const Expr tiny = less(x, f64(0x1p-1022));
  const Expr bits = bitcast(select(tiny, x * f64(0x1p54), x), DType::I64);
  const Expr exponent = shift_right(bits, 52) - select(tiny, integer(bits, 1077), integer(bits, 1023));
  const Expr fraction = bits_and(bits, 0xfffffffffffff);
  return {bitcast(bits_or(fraction, bitcast(f64(1), DType::I64)), DType::F64), exponent};
}

Expr power_of_two_f64(const Expr& n) { return bitcast(shift_left(n + integer(n, 1023), 52), DType::F64); }

// f64 by Boldo and Melquiond: product and sum in exact parts, the parts added to odd, then one rounding. On mantissas,
// so that no part leaves the range; an addend 200 binary places away from the product counts as that far away. Only a
// denormal result may round twice.
Expr fused_f64(const Expr& a, const Expr& b, const Expr& c) {
  const Scaled sa = split_f64(absolute(a)), sb = split_f64(absolute(b)), sc = split_f64(absolute(c));
  const Expr exponent = sa.exponent + sb.exponent, distance = sc.exponent - exponent;
  const Expr at_most = minimum(distance, integer(distance, 200));
  const Expr addend = sc.mantissa * power_of_two_f64(maximum(at_most, integer(distance, -200)));
  const Sum product = exact_product_without_fma(copy_sign(sa.mantissa, a), copy_sign(sb.mantissa, b));
  const Sum below = exact_sum(copy_sign(addend, c), product.low);
  const Sum above = exact_sum(product.high, below.high);
  const Expr sum = above.high + to_odd(exact_sum(above.low, below.low));
  const Expr scale = exponent + (distance - at_most), quarter = shift_right(scale, 2);
  const Expr step = power_of_two_f64(quarter);
  const Expr last = power_of_two_f64(scale - quarter * integer(scale, 3));
  const Expr fused = sum * step * step * step * last;

  const Expr zero = f64(0), infinity = f64(std::numeric_limits<double>::infinity()), plain = a * b + c;
  const Expr finite = both(less(absolute(a), infinity), less(absolute(b), infinity));
  const Expr usable =
      both(both(not_equal(a, zero), not_equal(b, zero)), both(not_equal(c, zero), not_equal(sum, zero)));
  // A finite product, however large, gives way to an infinite c.
  return select(finite, select(less(absolute(c), infinity), select(usable, fused, plain), c), plain);
}

// The same for f64 on mantissas, since a step could overflow: the rest moves up by the bits of a digit and gives away
// the nearest multiple of the divisor. With fma a digit has 51 bits; without it 26, and the divisor is taken away in
// two parts of at most 27 bits. The quotient of the exponents' difference by the digit says how many digits count.
Expr trunc_mod_f64(const Expr& a, const Expr& b, const TargetFacts& facts) {
  const Expr x = absolute(a), y = absolute(b), infinity = f64(std::numeric_limits<double>::infinity());
  const Scaled dividend = split_f64(x), divisor = split_f64(y);
  const Expr& m = divisor.mantissa;
  const Expr high = high_half(m), low = m - high, magic = f64(0x1.8p52);
  const auto reduced = [&](const Expr& rest) {
    const Expr q = (rest / m + magic) - magic;
    return facts.has_fma ? fma(-q, m, rest) : (rest - q * high) - q * low;
  };
  const int digit = facts.has_fma ? 51 : 26;
  const Expr distance = cast(maximum(dividend.exponent - divisor.exponent, constant_int(DType::I64, 0)), DType::I32);
  const Expr count = shift_right(distance * i32((1 << 20) / digit + 1), 20);  // distance / digit, up to 2100
  Expr rest = reduced(dividend.mantissa * power_of_two_f64(cast(distance - count * i32(digit), DType::I64)));
  for (int done = 0; (done + 1) * digit < 2100; ++done)
    rest = select(less(i32(done), count), reduced(rest * f64(std::ldexp(1.0, digit))), rest);
  rest = select(less(rest, f64(0)), rest + m, rest);
  const Expr half = shift_right(divisor.exponent, 1);
  Expr result = rest * power_of_two_f64(half) * power_of_two_f64(divisor.exponent - half);
  result = select(less(x, y), x, result);
  const Expr valid = both(less(x, infinity), less(f64(0), y));
  result = select(valid, result, f64(std::numeric_limits<double>::quiet_NaN()));
  return select(either(not_equal(a, a), not_equal(b, b)), a + b, copy_sign(result, a));
}

}  // namespace

Expr define_rounding(const Expr& e, const TargetFacts& facts) {
  if (!is_float(e.dtype())) return {};
  const Expr& x = e.args().empty() ? e : e.arg(0);
  switch (e.op()) {
    case Op::Floor:
      return facts.has_rounding ? Expr() : floor_of(x);
    case Op::Ceil:
      return facts.has_rounding ? Expr() : ceil_of(x);
    case Op::Trunc:
      return facts.has_rounding ? Expr() : truncate(x);
    case Op::Round:
      return facts.has_rounding ? Expr() : round_even(x);
    case Op::FloorDiv:
      return floor_div(x, e.arg(1));
    case Op::TruncDiv:
      return trunc_div(x, e.arg(1));
    case Op::CeilDiv:
      return -floor_div(-x, e.arg(1));
    case Op::TruncMod:
      return e.dtype() == DType::F64 ? trunc_mod_f64(x, e.arg(1), facts) : trunc_mod_f32(x, e.arg(1));
    case Op::Mod:
      return floor_mod(x, e.arg(1));
    case Op::Fma:
      if (facts.has_fma) return {};
      return e.dtype() == DType::F64 ? fused_f64(x, e.arg(1), e.arg(2)) : fused_f32(x, e.arg(1), e.arg(2));
    default:
      return {};
  }
}

}  // namespace frit::functions
