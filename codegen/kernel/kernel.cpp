#include "codegen/kernel/kernel.h"

#include <array>

#include "support/error.h"

namespace frit::kernel {

std::string_view name(Code code) {
  static constexpr auto kNames = std::to_array<std::string_view>({
#define FRIT_CODE(code, text) text,
      FRIT_KERNEL_CODES(FRIT_CODE)
#undef FRIT_CODE
  });
  return kNames[static_cast<size_t>(code)];
}

std::string to_string(Type type) {
  if (type.is_pointer) return "ptr";
  std::string text(frit::name(type.dtype));
  if (type.lanes != 1) text += "x" + std::to_string(type.lanes);
  return text;
}

bool is_primitive(Op op) {
  switch (op) {
    case Op::Neg:
    case Op::Abs:
    case Op::Sqrt:
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round:
    case Op::Not:
    case Op::BitNot:
    case Op::Cast:
    case Op::BitCast:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::TruncDiv:
    case Op::TruncMod:
    case Op::Min:
    case Op::Max:
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::Shl:
    case Op::Shr:
    case Op::Eq:
    case Op::Ne:
    case Op::Lt:
    case Op::Le:
    case Op::Select:
    case Op::Fma:
      return true;
    default:  // a definition, expanded before; not one switch per printer
      return false;
  }
}

int bit_width(DType dtype) { return dtype == DType::Bool ? 1 : 8 * size_bytes(dtype); }

uint64_t mask_bits(DType dtype, uint64_t bits) {
  const int width = bit_width(dtype);
  return width == 64 ? bits : bits & ((uint64_t{1} << width) - 1);
}

int64_t signed_value(DType dtype, uint64_t bits) {
  if (!is_signed(dtype)) return static_cast<int64_t>(mask_bits(dtype, bits));
  const int unused = 64 - bit_width(dtype);
  return static_cast<int64_t>(bits << unused) >> unused;
}

}  // namespace frit::kernel
