// Integer operations made total: division by zero gives 0, MIN / -1 wraps, shifts by any amount, powers.
#include <limits>

#include "codegen/functions/definitions.h"
#include "support/error.h"

namespace frit::functions {
namespace {

int64_t lowest(DType dtype) {
  return dtype == DType::I64 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (8 * size_bytes(dtype) - 1));
}

struct Division {
  Expr divisor;  // never zero, never -1 under the lowest dividend
  Expr is_zero;  // empty: the divisor is a constant that is not zero
};

Division safe_division(const Expr& a, const Expr& b) {
  if (b.is_constant() && !b.is_constant(0) && !(is_signed(b.dtype()) && b.is_constant(-1))) return {b, {}};
  const Expr is_zero = equal(b, integer(b, 0));
  Expr unsafe = is_zero;
  if (is_signed(a.dtype()))
    unsafe = either(unsafe, both(equal(a, integer(a, lowest(a.dtype()))), equal(b, integer(b, -1))));
  return {select(unsafe, integer(b, 1), b), is_zero};
}

Expr or_zero(const Division& division, const Expr& value) {
  return division.is_zero ? select(division.is_zero, integer(value, 0), value) : value;
}

enum class Toward { Zero, Floor, Ceiling };

// Dividing by one in place of MIN / -1 gives the wrapped quotient MIN and remainder 0.
Expr divide(const Expr& a, const Expr& b, Toward toward, bool remainder) {
  const Division division = safe_division(a, b);
  const Expr q = binary(Op::TruncDiv, a, division.divisor);
  const Expr r = a - q * division.divisor;
  if (toward == Toward::Zero || (toward == Toward::Floor && is_unsigned(a.dtype())))
    return or_zero(division, remainder ? r : q);
  const Expr inexact = not_equal(r, integer(r, 0));
  if (toward == Toward::Ceiling) {
    Expr up = inexact;
    if (is_signed(a.dtype())) up = both(up, equal(less(r, integer(r, 0)), less(division.divisor, integer(r, 0))));
    return or_zero(division, select(up, q + integer(q, 1), q));
  }
  const Expr down = both(inexact, not_equal(less(r, integer(r, 0)), less(division.divisor, integer(r, 0))));
  if (remainder) return or_zero(division, select(down, r + division.divisor, r));
  return or_zero(division, select(down, q - integer(q, 1), q));
}

Expr shift(const Expr& e) {
  const Expr &a = e.arg(0), &n = e.arg(1);
  const int width = 8 * size_bytes(a.dtype());
  if (n.is_constant() && n.int_value() >= 0 && n.int_value() < width) return {};
  const Expr amount = bits_and(n, width - 1);
  Expr valid = less(n, integer(n, width));
  if (is_signed(n.dtype())) valid = both(valid, less_equal(integer(n, 0), n));
  const Expr shifted = binary(e.op(), a, amount);
  Expr outside = integer(a, 0);
  if (e.op() == Op::Shr && is_signed(a.dtype())) outside = select(less(a, integer(a, 0)), integer(a, -1), outside);
  return select(valid, shifted, outside);
}

bool is_masked_shift(const Expr& e) {
  const Expr& n = e.arg(1);
  return n.op() == Op::And && n.arg(1).is_constant(8 * size_bytes(e.dtype()) - 1);
}

bool is_safe(const Expr& e) {
  const Expr& b = e.arg(1);
  if (b.is_constant()) return !b.is_constant(0) && !(is_signed(b.dtype()) && b.is_constant(-1));
  return b.op() == Op::Select && b.arg(1).is_constant(1);  // as safe_division writes it
}

// Repeated squaring over the bits of the exponent; negative ones give 0 unless the base is 1 or -1.
Expr power(const Expr& a, const Expr& n) {
  Expr result = integer(a, 1), base = a;
  const int bits = 8 * size_bytes(n.dtype()) - (is_signed(n.dtype()) ? 1 : 0);
  for (int k = 0; k < bits; ++k) {
    const Expr bit = bits_and(k == 0 ? n : shift_right(n, k), 1);
    result = select(not_equal(bit, integer(bit, 0)), result * base, result);
    base = base * base;
  }
  if (!is_signed(n.dtype())) return result;
  const Expr odd = not_equal(bits_and(n, 1), integer(n, 0));
  Expr inverse = select(equal(a, integer(a, 1)), integer(a, 1), integer(a, 0));
  inverse = select(equal(a, integer(a, -1)), select(odd, integer(a, -1), integer(a, 1)), inverse);
  return select(less(n, integer(n, 0)), inverse, result);
}

}  // namespace

Expr define_integer(const Expr& e) {
  if (!is_integer(e.dtype())) return {};
  switch (e.op()) {
    case Op::FloorDiv:
      return divide(e.arg(0), e.arg(1), Toward::Floor, false);
    case Op::Mod:
      return divide(e.arg(0), e.arg(1), Toward::Floor, true);
    case Op::CeilDiv:
      return divide(e.arg(0), e.arg(1), Toward::Ceiling, false);
    case Op::TruncDiv:
      return is_safe(e) ? Expr() : divide(e.arg(0), e.arg(1), Toward::Zero, false);
    case Op::TruncMod:
      return divide(e.arg(0), e.arg(1), Toward::Zero, true);
    case Op::Shl:
    case Op::Shr:
      return is_masked_shift(e) ? Expr() : shift(e);
    case Op::Pow:
      return power(e.arg(0), e.arg(1));
    default:
      return {};
  }
}

}  // namespace frit::functions
