#include "codegen/c/spell.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "support/error.h"

namespace frit::c_text {
namespace {

using fmt::format;
using kernel::Type;

DType unsigned_of(DType d) {
  const int bytes = size_bytes(d);
  return bytes == 1 ? DType::U8 : bytes == 2 ? DType::U16 : bytes == 4 ? DType::U32 : DType::U64;
}
DType signed_of(DType d) {
  const int bytes = size_bytes(d);
  return bytes == 1 ? DType::I8 : bytes == 2 ? DType::I16 : bytes == 4 ? DType::I32 : DType::I64;
}

std::string spell_number(const Dialect& dialect, DType d, uint64_t bits) {
  if (d == DType::F32) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!std::isfinite(value)) return format("as_float({:#x}u)", bits);
    return std::signbit(value) ? format("({:a}f)", value) : format("{:a}f", value);
  }
  if (d == DType::F64) {
    const auto value = std::bit_cast<double>(bits);
    if (!std::isfinite(value)) return format("as_double({:#x}ul)", bits);
    return std::signbit(value) ? format("({:a})", value) : format("{:a}", value);
  }
  if (d == DType::Bool) return bits ? "1" : "0";
  const std::string type(dialect.types[static_cast<size_t>(d)]);
  if (d == DType::I32 || d == DType::I64) {
    const int64_t value = kernel::signed_value(d, bits);
    const bool is_lowest = value == (d == DType::I32 ? INT32_MIN : INT64_MIN);  // no literal of its own
    const char* suffix = d == DType::I64 ? "l" : "";
    if (!is_lowest) return value < 0 ? format("({}{})", value, suffix) : format("{}{}", value, suffix);
    return format("({}){:#x}{}", type, bits, d == DType::I64 ? "ul" : "u");
  }
  if (d == DType::U32) return format("{}u", bits);
  if (d == DType::U64) return format("{}ul", bits);
  if (is_signed(d)) return format("({})({})", type, kernel::signed_value(d, bits));
  return format("({}){}", type, bits);
}

// The mask that select and comparisons have for vectors of `t`.
Type native_mask(Type t) { return t.with_dtype(signed_of(t.dtype)); }

// A vector of char with 0 or -1 as the native mask of `t`.
std::string widen_mask(const Dialect& d, Type t, const std::string& mask) {
  return size_bytes(t.dtype) == 1 ? mask : format("convert_{}({})", spell(d, native_mask(t)), mask);
}
std::string narrow_mask(Type t, const std::string& mask) {
  return size_bytes(t.dtype) == 1 ? mask : format("convert_char{}({})", t.lanes, mask);
}

// Wrapping arithmetic: in the unsigned type, since signed overflow is undefined in C; in 32 bits at least, since
// narrower operands are promoted to a signed int.
std::string wrapping(const Dialect& d, Type t, std::string_view op, const std::string& a, const std::string& b) {
  if (t.is_vector()) {
    const std::string u = spell(d, t.with_dtype(unsigned_of(t.dtype)));
    return is_signed(t.dtype) ? format("as_{}(as_{}({}) {} as_{}({}))", spell(d, t), u, a, op, u, b)
                              : format("{} {} {}", a, op, b);
  }
  const std::string_view wide = size_bytes(t.dtype) == 8 ? "ulong" : "uint";
  return format("({})(({}){} {} ({}){})", spell(d, t), wide, a, op, wide, b);
}

std::string extremum(Op op, Type t, const std::string& a, const std::string& b) {
  const char* less = op == Op::Min ? "<" : ">";
  if (!is_float(t.dtype)) return format("{}({}, {})", op == Op::Min ? "min" : "max", a, b);
  if (t.is_vector()) return format("select(select({1}, {0}, {0} {2} {1}), {0}, {0} != {0})", a, b, less);
  return format("{0} != {0} ? {0} : {0} {2} {1} ? {0} : {1}", a, b, less);
}

std::string compare(Op op, Type t, const std::string& a, const std::string& b) {
  const char* sign = op == Op::Eq ? "==" : op == Op::Ne ? "!=" : op == Op::Lt ? "<" : "<=";
  const std::string text = format("{} {} {}", a, sign, b);
  if (!t.is_vector()) return text;
  return t.dtype == DType::Bool ? text : narrow_mask(t, text);
}

std::string_view function_of(Op op) {
  switch (op) {
    case Op::Abs:
      return "fabs";
    case Op::Sqrt:
      return "sqrt";
    case Op::Floor:
      return "floor";
    case Op::Ceil:
      return "ceil";
    case Op::Trunc:
      return "trunc";
    case Op::Round:
      return "rint";
    default:
      return {};
  }
}

std::string bitwise(const Dialect& d, Type t, std::string_view op, std::span<const std::string> v) {
  const std::string text = format("{} {} {}", v[0], op, v[1]);
  return t.is_vector() || t.dtype == DType::Bool ? text : format("({})({})", spell(d, t), text);
}

std::string to_bf16(const Dialect& d, Type from, const std::string& v) {
  // Nearest even by integers; a NaN keeps its sign and becomes quiet.
  const Type u32 = from.with_dtype(DType::U32), u16 = from.with_dtype(DType::U16);
  const std::string bits = format("as_{}({})", spell(d, u32), v);
  const std::string rounded = format("({0} + 0x7fffu + (({0} >> 16) & 1u)) >> 16", bits);
  const std::string quiet = format("({} >> 16) | 0x40u", bits);
  if (!from.is_vector()) return format("(ushort)({0} != {0} ? {1} : {2})", v, quiet, rounded);
  return format("convert_{}(select({}, {}, {} != {}))", spell(d, u16), rounded, quiet, v, v);
}

}  // namespace

std::string spell(const Dialect& d, Type type) {
  if (type.is_pointer) return std::string(d.global) + "uchar*";
  if (!type.is_vector()) return std::string(d.types[static_cast<size_t>(type.dtype)]);
  return format("{}{}", type.dtype == DType::Bool ? "char" : d.types[static_cast<size_t>(type.dtype)], type.lanes);
}

std::string spell_element(const Dialect& d, Type type) { return spell(d, type.with_lanes(1)); }

std::string spell_constant(const Dialect& d, Type type, uint64_t bits) {
  if (!type.is_vector()) return spell_number(d, type.dtype, bits);
  if (type.dtype == DType::Bool) return format("({})({})", spell(d, type), bits ? "-1" : "0");
  return format("({})({})", spell(d, type), spell_number(d, type.dtype, bits));
}

std::string spell_iota(const Dialect& d, Type type) {
  std::string text;
  for (int n = 0; n < type.lanes; ++n) text += format("{}{}", n ? ", " : "", n);
  return format("({})({})", spell(d, type), text);
}

std::string lane(const std::string& vector, int index) { return format("{}.s{:X}", vector, index); }

std::string spell_arith(const Dialect& d, Op op, Type result, Type t, std::span<const std::string> v) {
  const bool real = is_float(t.dtype), vector = t.is_vector();
  switch (op) {
    case Op::Neg:
      return real ? format("-{}", v[0]) : wrapping(d, t, "-", spell_constant(d, t, 0), v[0]);
    case Op::Abs:
      if (real) break;
      if (!is_signed(t.dtype)) return v[0];
      return vector ? format("as_{}(abs({}))", spell(d, t), v[0]) : format("({})abs({})", spell(d, t), v[0]);
    case Op::Not:
      return vector ? format("~{}", v[0]) : format("!{}", v[0]);
    case Op::BitNot:
      return vector ? format("~{}", v[0]) : format("({})~{}", spell(d, t), v[0]);
    case Op::Add:
      return real ? format("{} + {}", v[0], v[1]) : wrapping(d, t, "+", v[0], v[1]);
    case Op::Sub:
      return real ? format("{} - {}", v[0], v[1]) : wrapping(d, t, "-", v[0], v[1]);
    case Op::Mul:
      return real ? format("{} * {}", v[0], v[1]) : wrapping(d, t, "*", v[0], v[1]);
    case Op::Div:
      return format("{} / {}", v[0], v[1]);
    case Op::TruncDiv:
      return bitwise(d, t, "/", v);
    case Op::TruncMod:
      return bitwise(d, t, "%", v);
    case Op::And:
      return bitwise(d, t, "&", v);
    case Op::Or:
      return bitwise(d, t, "|", v);
    case Op::Xor:
      return bitwise(d, t, "^", v);
    case Op::Shl:
      return wrapping(d, t, "<<", v[0], v[1]);
    case Op::Shr:
      return bitwise(d, t, ">>", v);
    case Op::Min:
    case Op::Max:
      return extremum(op, t, v[0], v[1]);
    case Op::Eq:
    case Op::Ne:
    case Op::Lt:
    case Op::Le:
      return compare(op, t, v[0], v[1]);
    case Op::Fma:
      return format("fma({}, {}, {})", v[0], v[1], v[2]);
    case Op::BitCast:
      return format("as_{}({})", spell(d, result), v[0]);
    default:
      break;
  }
  const std::string_view function = function_of(op);
  FRIT_CHECK(!function.empty(), std::string(frit::name(op)));
  return format("{}({})", function, v[0]);
}

std::string spell_select(const Dialect& d, Type condition, Type t, std::span<const std::string> v) {
  if (!condition.is_vector()) return format("{} ? {} : {}", v[0], v[1], v[2]);
  return format("select({}, {}, {})", v[2], v[1], t.dtype == DType::Bool ? v[0] : widen_mask(d, t, v[0]));
}

std::string spell_cast(const Dialect& d, Type from, Type to, const std::string& v) {
  const bool vector = from.is_vector();
  if (to.dtype == DType::Bool) {
    const std::string text = format("{} != {}", v, spell_constant(d, from, 0));
    return vector ? narrow_mask(from, text) : text;
  }
  if (from.dtype == DType::Bool && vector) return format("convert_{}({} & (char)1)", spell(d, to), v);
  const std::string lanes = vector ? std::to_string(from.lanes) : "";
  if (from.dtype == DType::F16) return format("frit_from_half{}({})", lanes, v);
  if (to.dtype == DType::F16) return format("frit_to_half{}({})", lanes, v);
  if (from.dtype == DType::BF16)
    return vector ? format("as_float{0}(convert_uint{0}({1}) << 16)", lanes, v) : format("as_float((uint){} << 16)", v);
  if (to.dtype == DType::BF16) return to_bf16(d, from, v);
  if (is_float(from.dtype) && !is_float(to.dtype)) return format("convert_{}_sat({})", spell(d, to), v);
  return vector ? format("convert_{}({})", spell(d, to), v) : format("({}){}", spell(d, to), v);
}

std::string spell_cast_in_range(const Dialect& d, Type to, const std::string& v) {
  return format("convert_{}({})", spell(d, to), v);
}

}  // namespace frit::c_text
