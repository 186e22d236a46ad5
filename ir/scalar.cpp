#include "ir/scalar.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ir/array.h"
#include "support/error.h"

namespace frit {
namespace {

int width_of(DType dtype) { return 8 * size_bytes(dtype); }
uint64_t bits(int64_t v) { return static_cast<uint64_t>(v); }
int64_t number(uint64_t v) { return static_cast<int64_t>(v); }

struct Division {
  int64_t quotient = 0, remainder = 0;  // toward zero
};

// Total: by zero gives 0 and 0, MIN / -1 wraps with remainder 0.
Division divide(DType dtype, int64_t a, int64_t b) {
  if (b == 0) return {};
  if (dtype == DType::U64) return {number(bits(a) / bits(b)), number(bits(a) % bits(b))};
  if (b == -1) return {wrap_to(dtype, number(0 - bits(a))), 0};
  return {a / b, a % b};
}

int64_t floor_divide(DType dtype, int64_t a, int64_t b) {
  const Division d = divide(dtype, a, b);
  return is_signed(dtype) && d.remainder != 0 && (d.remainder < 0) != (b < 0) ? d.quotient - 1 : d.quotient;
}

int64_t floor_modulo(DType dtype, int64_t a, int64_t b) {
  const Division d = divide(dtype, a, b);
  return is_signed(dtype) && d.remainder != 0 && (d.remainder < 0) != (b < 0) ? d.remainder + b : d.remainder;
}

int64_t ceil_divide(DType dtype, int64_t a, int64_t b) {
  const Division d = divide(dtype, a, b);
  const bool up = d.remainder != 0 && (!is_signed(dtype) || (d.remainder < 0) == (b < 0));
  return up ? wrap_to(dtype, number(bits(d.quotient) + 1)) : d.quotient;
}

int64_t power(DType dtype, int64_t a, int64_t n) {
  if (is_signed(dtype) && n < 0) {
    if (a == 1) return 1;
    if (a == -1) return n % 2 == 0 ? 1 : -1;
    return 0;
  }
  uint64_t result = 1, base = bits(a);
  for (uint64_t rest = bits(n); rest != 0; rest >>= 1) {
    if (rest & 1) result *= base;
    base *= base;
  }
  return wrap_to(dtype, number(result));
}

bool is_shift_inside(DType dtype, int64_t n) { return bits(n) < static_cast<uint64_t>(width_of(dtype)); }

int64_t shift_left(DType dtype, int64_t a, int64_t n) {
  return is_shift_inside(dtype, n) ? wrap_to(dtype, number(bits(a) << n)) : 0;
}

int64_t shift_right(DType dtype, int64_t a, int64_t n) {
  if (is_signed(dtype)) return is_shift_inside(dtype, n) ? a >> n : a < 0 ? -1 : 0;
  return is_shift_inside(dtype, n) ? number(bits(a) >> n) : 0;
}

// The floor of the exact quotient: one that was rounded up to a whole number shows by the sign of the rest, of which
// one rounding keeps the sign. From 2^53 on every quotient is whole.
double float_floor_divide(double a, double b) {
  const double q = std::floor(a / b);
  const double rest = std::fma(-q, b, a);
  return std::fabs(q) < 0x1p53 && (b < 0 ? rest > 0 : rest < 0) ? q - 1 : q;
}

double float_trunc_divide(double a, double b) {
  const double q = float_floor_divide(std::fabs(a), std::fabs(b));
  return std::signbit(a) == std::signbit(b) ? q : -q;
}

double float_modulo(double a, double b) {
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

double sigmoid(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

double log_add_exp(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  const double high = std::max(a, b);
  if (std::isinf(high)) return high;  // both -inf, or one +inf: the difference would be nan
  return high + std::log1p(std::exp(std::min(a, b) - high));
}

}  // namespace

int64_t wrap_to(DType dtype, int64_t v) {
  switch (dtype) {
    case DType::Bool:
      return v != 0;
    case DType::I8:
      return static_cast<int8_t>(v);
    case DType::I16:
      return static_cast<int16_t>(v);
    case DType::I32:
      return static_cast<int32_t>(v);
    case DType::U8:
      return static_cast<uint8_t>(v);
    case DType::U16:
      return static_cast<uint16_t>(v);
    case DType::U32:
      return static_cast<uint32_t>(v);
    case DType::I64:
    case DType::U64:
      return v;
    case DType::F16:
    case DType::BF16:
    case DType::F32:
    case DType::F64:
      break;
  }
  FRIT_UNREACHABLE();
}

int64_t saturate_to(DType dtype, double v) {
  if (dtype == DType::Bool) return v != 0;
  if (std::isnan(v)) return 0;
  const int width = width_of(dtype) - (is_signed(dtype) ? 1 : 0);
  const double limit = std::ldexp(1.0, width);
  if (v >= limit)
    return width == 64 ? -1 : width == 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << width) - 1;
  if (!is_signed(dtype)) return v <= 0 ? 0 : number(static_cast<uint64_t>(v));
  return v <= -limit ? number(uint64_t{0} - (uint64_t{1} << width)) : static_cast<int64_t>(v);
}

double round_to_float(DType dtype, double v) {
  if (dtype == DType::F16) return f16_to(f16_from(v));
  if (dtype == DType::BF16) return bf16_to(bf16_from(v));
  return dtype == DType::F32 ? static_cast<float>(v) : v;
}

double int_to_float(DType from, DType to, int64_t v) {
  if (to == DType::F32) return from == DType::U64 ? static_cast<float>(bits(v)) : static_cast<float>(v);
  if (to == DType::F64) return from == DType::U64 ? static_cast<double>(bits(v)) : static_cast<double>(v);
  // Rounded to odd at 53 bits first, so that the second rounding sees on which side of a tie the integer lies.
  const bool negative = from != DType::U64 && v < 0;
  uint64_t magnitude = negative ? 0 - bits(v) : bits(v);
  const int excess = std::max(0, static_cast<int>(std::bit_width(magnitude)) - 53);
  const uint64_t lost = magnitude & ((uint64_t{1} << excess) - 1);
  magnitude = (magnitude >> excess) | (lost != 0 ? 1 : 0);
  const double exact = std::ldexp(static_cast<double>(magnitude), excess);
  return round_to_float(to, negative ? -exact : exact);
}

int64_t eval_int_unary(Op op, DType dtype, int64_t a) {
  switch (op) {
    case Op::Neg:
      return wrap_to(dtype, number(0 - bits(a)));
    case Op::Abs:
      return is_signed(dtype) && a < 0 ? wrap_to(dtype, number(0 - bits(a))) : a;
    case Op::Sign:
      return is_signed(dtype) && a < 0 ? -1 : a != 0;
    case Op::Not:
      return a == 0;
    case Op::BitNot:
      return wrap_to(dtype, dtype == DType::Bool ? a == 0 : ~a);
    case Op::IsNan:
    case Op::IsInf:
      return 0;
    case Op::IsFinite:
      return 1;
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round:
    case Op::StopGradient:
      return a;
    default:
      break;
  }
  fail_internal("eval_int_unary", std::string(name(op)) + " of " + std::string(name(dtype)), __FILE__, __LINE__);
}

int64_t eval_int_binary(Op op, DType dtype, int64_t a, int64_t b) {
  const bool flip = dtype == DType::U64;
  const auto less = [&](int64_t x, int64_t y) { return flip ? bits(x) < bits(y) : x < y; };
  switch (op) {
    case Op::Add:
      return wrap_to(dtype, number(bits(a) + bits(b)));
    case Op::Sub:
      return wrap_to(dtype, number(bits(a) - bits(b)));
    case Op::Mul:
      return wrap_to(dtype, number(bits(a) * bits(b)));
    case Op::FloorDiv:
      return floor_divide(dtype, a, b);
    case Op::Mod:
      return floor_modulo(dtype, a, b);
    case Op::TruncDiv:
      return divide(dtype, a, b).quotient;
    case Op::TruncMod:
      return divide(dtype, a, b).remainder;
    case Op::CeilDiv:
      return ceil_divide(dtype, a, b);
    case Op::Min:
      return less(b, a) ? b : a;
    case Op::Max:
      return less(a, b) ? b : a;
    case Op::Pow:
      return power(dtype, a, b);
    case Op::And:
      return a & b;
    case Op::Or:
      return a | b;
    case Op::Xor:
      return a ^ b;
    case Op::Shl:
      return shift_left(dtype, a, b);
    case Op::Shr:
      return shift_right(dtype, a, b);
    default:
      break;
  }
  fail_internal("eval_int_binary", std::string(name(op)) + " of " + std::string(name(dtype)), __FILE__, __LINE__);
}

bool eval_int_compare(Op op, DType dtype, int64_t a, int64_t b) {
  switch (op) {
    case Op::Eq:
      return a == b;
    case Op::Ne:
      return a != b;
    case Op::Lt:
      return dtype == DType::U64 ? bits(a) < bits(b) : a < b;
    case Op::Le:
      return dtype == DType::U64 ? bits(a) <= bits(b) : a <= b;
    default:
      break;
  }
  FRIT_UNREACHABLE();
}

double eval_float_unary(Op op, double a) {
  switch (op) {
    case Op::Neg:
      return -a;
    case Op::Abs:
      return std::fabs(a);
    case Op::Sign:
      return a > 0 ? 1 : a < 0 ? -1 : a;  // keeps nan and the sign of zero
    case Op::Floor:
      return std::floor(a);
    case Op::Ceil:
      return std::ceil(a);
    case Op::Trunc:
      return std::trunc(a);
    case Op::Round:
      return std::nearbyint(a);
    case Op::Sqrt:
      return std::sqrt(a);
    case Op::Rsqrt:
      return 1 / std::sqrt(a);
    case Op::Reciprocal:
      return 1 / a;
    case Op::Exp:
      return std::exp(a);
    case Op::Exp2:
      return std::exp2(a);
    case Op::Expm1:
      return std::expm1(a);
    case Op::Log:
      return std::log(a);
    case Op::Log2:
      return std::log2(a);
    case Op::Log1p:
      return std::log1p(a);
    case Op::Erf:
      return std::erf(a);
    case Op::Sigmoid:
      return sigmoid(a);
    case Op::Softplus:
      return log_add_exp(a, 0);
    case Op::Sin:
      return std::sin(a);
    case Op::Cos:
      return std::cos(a);
    case Op::Tan:
      return std::tan(a);
    case Op::Asin:
      return std::asin(a);
    case Op::Acos:
      return std::acos(a);
    case Op::Atan:
      return std::atan(a);
    case Op::Sinh:
      return std::sinh(a);
    case Op::Cosh:
      return std::cosh(a);
    case Op::Tanh:
      return std::tanh(a);
    case Op::Asinh:
      return std::asinh(a);
    case Op::Acosh:
      return std::acosh(a);
    case Op::Atanh:
      return std::atanh(a);
    case Op::StopGradient:
      return a;
    default:
      break;
  }
  fail_internal("eval_float_unary", std::string(name(op)), __FILE__, __LINE__);
}

bool eval_float_test(Op op, double a) {
  if (op == Op::IsNan) return std::isnan(a);
  if (op == Op::IsInf) return std::isinf(a);
  FRIT_CHECK(op == Op::IsFinite, std::string(name(op)));
  return std::isfinite(a);
}

double eval_float_binary(Op op, double a, double b) {
  switch (op) {
    case Op::Add:
      return a + b;
    case Op::Sub:
      return a - b;
    case Op::Mul:
      return a * b;
    case Op::Div:
      return a / b;
    case Op::FloorDiv:
      return float_floor_divide(a, b);
    case Op::Mod:
      return float_modulo(a, b);
    case Op::TruncDiv:
      return float_trunc_divide(a, b);
    case Op::TruncMod:
      return std::fmod(a, b);
    case Op::CeilDiv:
      return -float_floor_divide(-a, b);
    case Op::Min:
      return std::isnan(a) || std::isnan(b) ? a + b : b < a ? b : a;
    case Op::Max:
      return std::isnan(a) || std::isnan(b) ? a + b : a < b ? b : a;
    case Op::Pow:
      return std::pow(a, b);
    case Op::Atan2:
      return std::atan2(a, b);
    case Op::LogAddExp:
      return log_add_exp(a, b);
    default:
      break;
  }
  fail_internal("eval_float_binary", std::string(name(op)), __FILE__, __LINE__);
}

bool eval_float_compare(Op op, double a, double b) {
  switch (op) {
    case Op::Eq:
      return a == b;
    case Op::Ne:
      return a != b;
    case Op::Lt:
      return a < b;
    case Op::Le:
      return a <= b;
    default:
      break;
  }
  FRIT_UNREACHABLE();
}

int64_t float_bits(DType dtype, double v) {
  switch (dtype) {
    case DType::F16:
      return f16_from(v);
    case DType::BF16:
      return bf16_from(v);
    case DType::F32:
      return std::bit_cast<int32_t>(static_cast<float>(v));
    case DType::F64:
      return std::bit_cast<int64_t>(v);
    default:
      FRIT_UNREACHABLE();
  }
}

double float_from_bits(DType dtype, int64_t v) {
  switch (dtype) {
    case DType::F16:
      return f16_to(static_cast<uint16_t>(v));
    case DType::BF16:
      return bf16_to(static_cast<uint16_t>(v));
    case DType::F32:
      return std::bit_cast<float>(static_cast<int32_t>(v));
    case DType::F64:
      return std::bit_cast<double>(v);
    default:
      FRIT_UNREACHABLE();
  }
}

}  // namespace frit
