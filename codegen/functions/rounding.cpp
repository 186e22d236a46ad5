// Rounding without instructions for it, float division with floor and trunc, Fma without hardware.
#include <cmath>
#include <limits>

#include "codegen/functions/definitions.h"

namespace frit::functions {
namespace {

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

// The remainder of truncated division, sign of a. Quotients of up to 2^51 are exact: each step takes away a multiple of
// b by an integer that fits 26 bits, in f64 for f32 operands, so that the product and the difference are exact.
Expr trunc_mod(const Expr& a, const Expr& b) {
  const Expr x = absolute(cast(a, DType::F64)), y = absolute(cast(b, DType::F64));
  Expr rest = x;
  for (const double scale : {0x1p26, 1.0}) {
    const Expr step = y * number(y, scale);
    const Expr q = unary(Op::Trunc, rest / step);
    const Expr next = rest - q * step;
    // The quotient may be one too large when the division rounds up.
    rest = select(less(next, number(y, 0)), next + step, next);
    rest = select(less_equal(step, rest), rest - step, rest);
  }
  rest = select(equal(y, f64(std::numeric_limits<double>::infinity())),
                select(less(x, f64(std::numeric_limits<double>::infinity())), x, f64(std::nan(""))), rest);
  return copy_sign(cast(rest, a.dtype()), a);
}

Expr floor_mod(const Expr& a, const Expr& b) {
  const Expr r = binary(Op::TruncMod, a, b);
  const Expr other = both(not_equal(r, number(r, 0)), not_equal(less(r, number(r, 0)), less(b, number(b, 0))));
  return select(other, r + b, r);
}

// One rounding without hardware. f32: the product is exact in f64; the sum is made odd when it is inexact, so that the
// second rounding, to f32, decides right.
Expr fused_f32(const Expr& a, const Expr& b, const Expr& c) {
  const Expr p = cast(a, DType::F64) * cast(b, DType::F64), z = cast(c, DType::F64);
  const Expr s = p + z;
  const Expr t = s - p;
  const Expr error = (p - (s - t)) + (z - t);
  const Expr bits = bitcast(s, DType::I64);
  const Expr even = equal(bits_and(bits, 1), constant_int(DType::I64, 0));
  const Expr away = not_equal(less(f64(0), error), less(s, f64(0)));  // the error points away from zero
  const Expr odd = select(away, bits + constant_int(DType::I64, 1), bits - constant_int(DType::I64, 1));
  const Expr finite = less(absolute(s), f64(std::numeric_limits<double>::infinity()));
  const Expr fix = both(both(not_equal(error, f64(0)), even), finite);
  return cast(select(fix, bitcast(odd, DType::F64), s), DType::F32);
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
      return unary(Op::Floor, x / e.arg(1));
    case Op::TruncDiv:
      return unary(Op::Trunc, x / e.arg(1));
    case Op::CeilDiv:
      return unary(Op::Ceil, x / e.arg(1));
    case Op::TruncMod:
      return trunc_mod(x, e.arg(1));
    case Op::Mod:
      return floor_mod(x, e.arg(1));
    case Op::Fma:
      return facts.has_fma || e.dtype() != DType::F32 ? Expr() : fused_f32(x, e.arg(1), e.arg(2));
    default:
      return {};
  }
}

}  // namespace frit::functions
