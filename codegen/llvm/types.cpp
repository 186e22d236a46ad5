#include "codegen/llvm/types.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace frit::llvm_text {
namespace {

using kernel::Type;

std::string spell_scalar(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return "i1";
    case DType::I8:
    case DType::U8:
      return "i8";
    case DType::I16:
    case DType::U16:
      return "i16";
    case DType::I32:
    case DType::U32:
      return "i32";
    case DType::I64:
    case DType::U64:
      return "i64";
    case DType::F16:
      return "half";
    case DType::BF16:
      return "i16";  // only moved: as a float, masked moves of it would become calls of conversions
    case DType::F32:
      return "float";
    case DType::F64:
      return "double";
  }
  return {};
}

// A float is written as the double of the same value; of a NaN the payload is kept.
uint64_t widened(uint32_t bits) {
  const auto value = std::bit_cast<float>(bits);
  if (!std::isnan(value)) return std::bit_cast<uint64_t>(static_cast<double>(value));
  return (uint64_t{bits >> 31} << 63) | (uint64_t{0x7ff} << 52) | (uint64_t{bits & 0x7fffff} << 29);
}

std::string spell_number(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::Bool:
      return bits ? "true" : "false";
    case DType::F16:
      return fmt::format("0xH{:04X}", bits);
    case DType::F32:
      return fmt::format("0x{:016X}", widened(static_cast<uint32_t>(bits)));
    case DType::F64:
      return fmt::format("0x{:016X}", bits);
    default:
      return is_signed(dtype) ? std::to_string(kernel::signed_value(dtype, bits)) : std::to_string(bits);
  }
}

}  // namespace

std::string spell(Type type) {
  if (type.is_pointer) return "ptr";
  if (!type.is_vector()) return spell_scalar(type.dtype);
  return fmt::format("<{} x {}>", type.lanes, spell_scalar(type.dtype));
}

std::string mangle(Type type) {
  if (type.is_pointer) return "p0";
  const bool is_float_type = is_float(type.dtype) && type.dtype != DType::BF16;
  std::string element =
      is_float_type ? std::string(name(type.dtype)) : "i" + std::to_string(kernel::bit_width(type.dtype));
  return type.is_vector() ? fmt::format("v{}{}", type.lanes, element) : element;
}

std::string spell_constant(Type type, uint64_t bits) {
  if (!type.is_vector()) return spell_number(type.dtype, bits);
  if (bits == 0) return "zeroinitializer";
  return fmt::format("splat ({} {})", spell_scalar(type.dtype), spell_number(type.dtype, bits));
}

std::string spell_iota(Type type) {
  std::string text = "<";
  for (int lane = 0; lane < type.lanes; ++lane)
    text += fmt::format("{}{} {}", lane ? ", " : "", spell_scalar(type.dtype), lane);
  return text + ">";
}

}  // namespace frit::llvm_text
