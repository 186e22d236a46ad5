#include "codegen/kernel/scalar_step.h"

#include <cmath>

#include "codegen/kernel/kernel.h"
#include "ir/scalar.h"

namespace frit::kernel {
namespace {

double real(DType dtype, uint64_t bits) { return float_from_bits(dtype, static_cast<int64_t>(bits)); }
uint64_t bits_of(DType dtype, double value) {
  return mask_bits(dtype,
                   static_cast<uint64_t>(float_bits(dtype, dtype == DType::F32 ? static_cast<float>(value) : value)));
}

// Sums, products, quotients and roots of f32 in double, rounded once more, are exact: 53 bits are more than 2 * 24 + 2.
uint64_t float_step(Op op, DType dtype, std::span<const uint64_t> v) {
  const double a = real(dtype, v[0]);
  const uint64_t sign = uint64_t{1} << (bit_width(dtype) - 1);
  if (op == Op::Neg) return v[0] ^ sign;
  if (op == Op::Abs) return v[0] & ~sign;
  if (v.size() == 1) return bits_of(dtype, eval_float_unary(op, a));
  const double b = real(dtype, v[1]);
  if (is_comparison(op)) return eval_float_compare(op, a, b);
  if (op == Op::Min) return std::isnan(a) || a < b ? v[0] : v[1];
  if (op == Op::Max) return std::isnan(a) || a > b ? v[0] : v[1];
  if (op != Op::Fma) return bits_of(dtype, eval_float_binary(op, a, b));
  const double c = real(dtype, v[2]);
  if (dtype == DType::F64) return bits_of(dtype, std::fma(a, b, c));
  return bits_of(dtype, std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
}

uint64_t integer_step(Op op, DType dtype, std::span<const uint64_t> v, std::string& fault) {
  const int64_t a = signed_value(dtype, v[0]);
  if (v.size() == 1) return mask_bits(dtype, static_cast<uint64_t>(eval_int_unary(op, dtype, a)));
  const int64_t b = signed_value(dtype, v[1]);
  if (is_comparison(op)) return eval_int_compare(op, dtype, a, b);
  const bool is_division = op == Op::TruncDiv || op == Op::TruncMod, is_shift = op == Op::Shl || op == Op::Shr;
  if (is_division && b == 0) fault = "division by zero";
  if (is_division && is_signed(dtype) && b == -1 && v[0] == uint64_t{1} << (bit_width(dtype) - 1))
    fault = "the lowest integer divided by -1";
  if (is_shift && static_cast<uint64_t>(b) >= static_cast<uint64_t>(bit_width(dtype)))
    fault = "shift by " + std::to_string(b);
  return mask_bits(dtype, static_cast<uint64_t>(eval_int_binary(op, dtype, a, b)));
}

uint64_t cast_step(DType from, DType to, uint64_t bits) {
  if (is_float(from) && is_float(to)) return bits_of(to, round_to_float(to, real(from, bits)));
  if (is_float(from)) return mask_bits(to, static_cast<uint64_t>(saturate_to(to, real(from, bits))));
  const int64_t value = signed_value(from, bits);
  if (is_float(to)) return bits_of(to, int_to_float(from, to, value));
  return mask_bits(to, static_cast<uint64_t>(wrap_to(to, value)));
}

}  // namespace

uint64_t scalar_step(Op op, DType dtype, DType to, std::span<const uint64_t> operands, std::string& fault) {
  if (op == Op::Cast) return cast_step(dtype, to, operands[0]);
  if (op == Op::BitCast) return operands[0];
  return is_float(dtype) ? float_step(op, dtype, operands) : integer_step(op, dtype, operands, fault);
}

uint64_t cast_in_range_step(DType from, DType to, uint64_t bits, std::string& fault) {
  const double value = std::trunc(real(from, bits));
  const uint64_t cast = cast_step(from, to, bits);
  // Only a value that fits comes back as it was.
  if (int_to_float(to, DType::F64, signed_value(to, cast)) != value)
    fault = "cast_in_range of " + std::to_string(value);
  return cast;
}

}  // namespace frit::kernel
