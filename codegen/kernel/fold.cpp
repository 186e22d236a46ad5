#include "codegen/kernel/fold.h"

#include "codegen/kernel/kernel.h"

namespace frit::kernel {
namespace {

// Operands are extended by their sign, or by zeros when unsigned: one width serves all.
std::optional<uint64_t> divide(Op op, bool is_signed_type, int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  const bool quotient = op == Op::TruncDiv;
  if (!is_signed_type) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return quotient ? x / y : x % y;
  }
  if (b == -1) return std::nullopt;  // MIN / -1 traps; the rest is not worth a case
  return static_cast<uint64_t>(quotient ? a / b : a % b);
}

bool less(bool is_signed_type, int64_t a, int64_t b) {
  return is_signed_type ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
}

}  // namespace

std::optional<uint64_t> fold_binary(Op op, DType dtype, uint64_t a_bits, uint64_t b_bits) {
  if (is_float(dtype)) return std::nullopt;
  const bool by_sign = is_signed(dtype);
  const int64_t a = signed_value(dtype, a_bits), b = signed_value(dtype, b_bits);
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  const auto wrapped = [&](uint64_t v) { return std::optional(mask_bits(dtype, v)); };
  const bool shift_fits = y < static_cast<uint64_t>(bit_width(dtype));
  switch (op) {
    case Op::Add:
      return wrapped(x + y);
    case Op::Sub:
      return wrapped(x - y);
    case Op::Mul:
      return wrapped(x * y);
    case Op::And:
      return wrapped(x & y);
    case Op::Or:
      return wrapped(x | y);
    case Op::Xor:
      return wrapped(x ^ y);
    case Op::Min:
      return wrapped(less(by_sign, a, b) ? x : y);
    case Op::Max:
      return wrapped(less(by_sign, b, a) ? x : y);
    case Op::Eq:
      return a == b;
    case Op::Ne:
      return a != b;
    case Op::Lt:
      return less(by_sign, a, b);
    case Op::Le:
      return !less(by_sign, b, a);
    case Op::Shl:
      return shift_fits ? wrapped(x << y) : std::nullopt;
    case Op::Shr:
      return shift_fits ? wrapped(by_sign ? static_cast<uint64_t>(a >> b) : x >> y) : std::nullopt;
    case Op::TruncDiv:
    case Op::TruncMod: {
      const auto value = divide(op, by_sign, a, b);
      return value ? wrapped(*value) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace frit::kernel
