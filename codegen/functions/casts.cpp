// Casts to and from 16-bit floats by bits, where the target has no instruction. Bits of bf16 are always handled here.
#include "codegen/functions/definitions.h"

namespace frit::functions {
namespace {

Expr u32(int64_t value) { return constant_int(DType::U32, value); }
Expr choose(const Expr& c, const Expr& a, const Expr& b) { return select(c, a, b); }

// Exponent and fraction move to their places; the scale by 2^112 sets the exponent right, for denormals too.
Expr f16_to_f32(const Expr& x) {
  const Expr h = cast(bitcast(x, DType::U16), DType::U32);
  const Expr moved = shift_left(bits_and(h, 0x7fff), 13);
  const Expr scaled = bitcast(bitcast(moved, DType::F32) * f32(0x1p112), DType::U32);
  const Expr special = bits_or(moved, u32(0x7f800000));  // infinities and NaN keep an exponent of ones
  const Expr is_special = less_equal(u32(0x7c00), bits_and(h, 0x7fff));
  const Expr sign = shift_left(bits_and(h, 0x8000), 16);
  return bitcast(bits_or(choose(is_special, special, scaled), sign), DType::F32);
}

// To nearest even: normal results by adding half a unit and the odd bit, denormal ones by adding 0.5, whose unit is
// 2^-24.
Expr f32_to_f16(const Expr& x) {
  const Expr bits = bitcast(x, DType::U32);
  const Expr magnitude = bits_and(bits, 0x7fffffff);
  const Expr odd = bits_and(shift_right(magnitude, 13), 1);
  const Expr normal = shift_right(magnitude + u32(0xfff) + odd - u32(int64_t{112} << 23), 13);
  const Expr denormal = bitcast(bitcast(magnitude, DType::F32) + f32(0.5), DType::U32) - bitcast(f32(0.5), DType::U32);
  Expr h = choose(less(magnitude, u32(0x38800000)), denormal, normal);
  h = choose(less_equal(u32(0x477ff000), magnitude), u32(0x7c00), h);  // 65520 and above
  h = choose(less(u32(0x7f800000), magnitude), u32(0x7e00), h);
  h = bits_or(h, shift_right(bits_and(bits, 0x80000000), 16));
  return bitcast(cast(h, DType::U16), DType::F16);
}

Expr bf16_to_f32(const Expr& x) {
  return bitcast(shift_left(cast(bitcast(x, DType::U16), DType::U32), 16), DType::F32);
}

Expr f32_to_bf16(const Expr& x) {
  const Expr bits = bitcast(x, DType::U32);
  const Expr odd = bits_and(shift_right(bits, 16), 1);
  const Expr rounded = shift_right(bits + u32(0x7fff) + odd, 16);
  const Expr quiet = bits_or(shift_right(bits, 16), u32(0x40));
  return bitcast(cast(choose(not_equal(x, x), quiet, rounded), DType::U16), DType::BF16);
}

// f64 to f32 by rounding to odd, so that the next rounding to 16 bits is the only one that counts.
Expr f64_to_odd_f32(const Expr& x) {
  const Expr y = cast(x, DType::F32);
  const Expr back = cast(y, DType::F64);
  const Expr bits = bitcast(y, DType::U32);
  const Expr toward_zero = choose(less(absolute(x), absolute(back)), bits - u32(1), bits);
  const Expr inexact = both(not_equal(back, x), equal(x, x));
  return bitcast(choose(inexact, bits_or(toward_zero, u32(1)), bits), DType::F32);
}

}  // namespace

Expr define_cast(const Expr& e, const TargetFacts& facts) {
  if (e.op() != Op::Cast) return {};
  const Expr& x = e.arg(0);
  const DType from = x.dtype(), to = e.dtype();
  const auto is_half = [](DType d) { return d == DType::F16 || d == DType::BF16; };
  if (is_half(from)) {
    if (to != DType::F32) return cast(cast(x, DType::F32), to);
    if (from == DType::BF16) return bf16_to_f32(x);
    return facts.has_f16_convert ? Expr() : f16_to_f32(x);
  }
  if (is_half(to)) {
    if (from == DType::F64) return cast(f64_to_odd_f32(x), to);
    if (from != DType::F32)
      return cast(cast(x, is_integer(from) && size_bytes(from) > 2 ? DType::F64 : DType::F32), to);
    if (to == DType::BF16) return f32_to_bf16(x);
    return facts.has_f16_convert ? Expr() : f32_to_f16(x);
  }
  return {};
}

}  // namespace frit::functions
