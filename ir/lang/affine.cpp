#include "ir/lang/affine.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "support/error.h"

namespace frit::lang {
namespace {

constexpr char kExtentPrefix = '#';  // no name of the language starts so

Wide clamped(Wide v) { return std::clamp(v, -kInfinite, kInfinite); }
bool infinite(Wide v) { return v <= -kInfinite || v >= kInfinite; }

Wide add(Wide a, Wide b) {
  if (infinite(a)) return a;
  if (infinite(b)) return b;
  return clamped(a + b);
}

Wide multiply(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  const bool negative = (a < 0) != (b < 0);
  const Wide x = a < 0 ? -a : a, y = b < 0 ? -b : b;
  if (x >= kInfinite || y >= kInfinite || x > kInfinite / y) return negative ? -kInfinite : kInfinite;
  return a * b;
}

Wide floor_div(Wide a, Wide b) {
  if (infinite(a)) return b < 0 ? -a : a;
  const Wide q = a / b;
  return a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q;
}

Interval hull(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Interval range_of(DType dtype) {
  if (dtype == DType::Bool) return {0, 1};
  if (!is_integer(dtype)) return {};
  const int bits = 8 * size_bytes(dtype);
  if (is_signed(dtype)) return {-(Wide{1} << (bits - 1)), (Wide{1} << (bits - 1)) - 1};
  return {0, (Wide{1} << bits) - 1};
}

// What rounding to the dtype may add: integers that it holds stay, and rounding keeps order.
Interval rounded(Interval range, DType dtype) {
  const auto end = [&](Wide v, bool upper) {
    if (v <= -kInfinite || v >= kInfinite) return v;
    const double near = dtype == DType::F64 ? static_cast<double>(v) : static_cast<double>(static_cast<float>(v));
    if (!(near > -0x1p99 && near < 0x1p99)) return upper ? kInfinite : -kInfinite;
    return upper ? std::max(v, static_cast<Wide>(near)) : std::min(v, static_cast<Wide>(near));
  };
  return {end(range.lo, false), end(range.hi, true)};
}

Interval product_of(Interval a, Interval b) {
  const Wide p[] = {multiply(a.lo, b.lo), multiply(a.lo, b.hi), multiply(a.hi, b.lo), multiply(a.hi, b.hi)};
  return {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
}

// Quotients at the corners; `divide` is monotonic in each argument where the divisor keeps its sign. By zero gives 0.
template <class Divide>
Interval quotient(Interval a, Interval b, Divide divide) {
  Interval result{kInfinite, -kInfinite};
  const auto side = [&](Wide lo, Wide hi) {
    if (lo > hi) return;
    for (const Wide x : {a.lo, a.hi})
      for (const Wide y : {lo, hi}) {
        // x / infinity tends to 0 from either side.
        const Interval q =
            infinite(y) ? (infinite(x) ? Interval{} : Interval{-1, 1}) : Interval{divide(x, y), divide(x, y)};
        result = hull(result, q);
      }
  };
  side(std::max<Wide>(b.lo, 1), b.hi);
  side(b.lo, std::min<Wide>(b.hi, -1));
  if (b.lo <= 0 && b.hi >= 0) result = hull(result, {0, 0});
  return result;
}

Wide trunc_div(Wide a, Wide b) { return infinite(a) ? (b < 0 ? -a : a) : a / b; }
Wide ceil_div(Wide a, Wide b) { return infinite(a) ? (b < 0 ? -a : a) : -floor_div(-a, b); }

void scale(Linear& form, Wide by) {
  if (by == 0) {
    form = {};
    return;
  }
  form.constant *= by;
  for (auto& [var, c] : form.vars) c *= by;
  for (auto& [id, term] : form.terms) term.second *= by;
}

void add_scaled(Linear& a, const Linear& b, Wide by) {
  a.constant += b.constant * by;
  for (const auto& [var, c] : b.vars)
    if ((a.vars[var] += c * by) == 0) a.vars.erase(var);
  for (const auto& [id, term] : b.terms) {
    auto& mine = a.terms[id];
    mine.first = term.first;
    if ((mine.second += term.second * by) == 0) a.terms.erase(id);
  }
}

// Far from the ends of 128 bits, so that sums and products of two stay exact.
bool is_small(const Linear& form) {
  constexpr Wide kSmall = Wide{1} << 62;
  const auto small = [&](Wide c) { return c < kSmall && c > -kSmall; };
  return small(form.constant) &&
         std::all_of(form.vars.begin(), form.vars.end(), [&](const auto& v) { return small(v.second); }) &&
         std::all_of(form.terms.begin(), form.terms.end(), [&](const auto& t) { return small(t.second.second); });
}

Linear term(const Expr& e) {
  Linear form;
  form.terms[e.id()] = {e, 1};
  return form;
}

}  // namespace

Expr extent_of(const std::vector<IndexVar>& vars, int var) {
  const int64_t extent = vars[static_cast<size_t>(var)].extent;
  return extent >= 0 ? index_constant(extent) : symbol(kExtentPrefix + std::to_string(var));
}

Expr with_known_extents(const Expr& e, const std::vector<IndexVar>& vars) {
  return rewrite(e, [&](const Expr& x) -> Expr {
    if (x.op() == Op::Symbol) {
      const std::string name = symbol_name(x);
      if (name[0] == kExtentPrefix) return extent_of(vars, std::atoi(name.c_str() + 1));
    }
    if (is_binary(x.op()) && x.dtype() == DType::I64 && is_integer(x.arg(0).dtype()))
      return binary(x.op(), x.arg(0), x.arg(1));
    return {};
  });
}

Linear Ranges::linear(const Expr& e) {
  if (e.is_constant() && is_integer(e.dtype())) {
    Linear form;
    form.constant = e.int_value();
    return form;
  }
  if (e.dtype() != DType::I64) return term(e);
  switch (e.op()) {
    case Op::Index: {
      Linear form;
      const int var = static_cast<int>(e.bits());
      // An index of extent 1 is always 0. One with a bound is not dropped: where its range is empty it says so.
      const IndexVar& v = vars_[static_cast<size_t>(var)];
      if (v.extent != 1 || (v.bound && !v.bound.is_constant())) form.vars[var] = 1;
      return form;
    }
    case Op::Symbol: {
      const Expr known = with_known_extents(e, vars_);
      return known == e ? term(e) : linear(known);
    }
      return linear(e.arg(0));
    case Op::Neg: {
      Linear form = linear(e.arg(0));
      scale(form, -1);
      return form;
    }
    case Op::Add:
    case Op::Sub: {
      Linear form = linear(e.arg(0));
      const Linear other = linear(e.arg(1));
      if (!is_small(form) || !is_small(other)) return term(e);
      add_scaled(form, other, e.op() == Op::Add ? 1 : -1);
      return form;
    }
    case Op::Mul: {
      Linear a = linear(e.arg(0)), b = linear(e.arg(1));
      if (a.is_constant()) std::swap(a, b);
      if (!b.is_constant() || !is_small(a) || !is_small(b)) return term(e);
      scale(a, b.constant);
      return a;
    }
    case Op::FloorDiv: {
      const Linear by = linear(e.arg(1));
      Linear form = linear(e.arg(0));
      if (!by.is_constant() || by.constant <= 0) return term(e);
      const Wide c = by.constant, constant = form.constant;
      form.constant = 0;
      if (!divides(form, c)) return term(e);
      for (auto& [var, k] : form.vars) k /= c;
      for (auto& [id, t] : form.terms) t.second /= c;
      form.constant = floor_div(constant, c);
      return form;
    }
    default:
      return term(e);
  }
}

bool Ranges::divides(const Linear& form, Wide by) {
  if (form.constant % by != 0) return false;
  for (const auto& [var, c] : form.vars)
    if (c % by != 0) return false;
  for (const auto& [id, t] : form.terms)
    if (t.second % by != 0) return false;
  return true;
}

bool Ranges::mentions(const Expr& e, int var) {
  bool found = false;
  for_each_node(e, [&](const Expr& x) { found |= x.op() == Op::Index && static_cast<int>(x.bits()) == var; });
  return found;
}

namespace {

// The largest index in an expression; -1 if there is none (data at fixed places).
int innermost(const Expr& e) {
  int index = -1;
  for_each_node(e, [&](const Expr& x) {
    if (x.op() == Op::Index) index = std::max(index, static_cast<int>(x.bits()));
  });
  return index;
}

}  // namespace

// Replaces every index but `keep` by the end of its range that makes the form largest (or smallest), the innermost
// first: a bound that is put in for an index sees only indices outside it.
Linear Ranges::eliminate(Linear form, bool upper, int keep) {
  for (;;) {
    int var = -2;
    for (const auto& [v, c] : form.vars)
      if (v != keep) var = std::max(var, v);
    for (const auto& [id, t] : form.terms) var = std::max(var, innermost(t.first));
    if (var == -2) return form;
    for (auto at = form.terms.begin(); at != form.terms.end();) {
      const auto [e, c] = at->second;
      if (innermost(e) != var) {
        ++at;
        continue;
      }
      if (keep >= 0 && mentions(e, keep)) {
        form.constant = upper ? kInfinite : -kInfinite;
        return form;
      }
      const Interval range = interval(e);
      form.constant = add(form.constant, multiply(c, (c > 0) == upper ? range.hi : range.lo));
      at = form.terms.erase(at);
    }
    const auto found = form.vars.find(var);
    if (found == form.vars.end() || var == keep) continue;
    const Wide c = found->second;
    form.vars.erase(found);
    if ((c > 0) != upper) continue;  // the index is 0 at this end
    const IndexVar& info = vars_[static_cast<size_t>(var)];
    if (info.bound) {
      Linear last = linear(info.bound);
      if (!is_small(last) || c >= kInfinite || c <= -kInfinite) {
        form.constant = upper ? kInfinite : -kInfinite;
        return form;
      }
      last.constant -= 1;
      add_scaled(form, last, c);
    } else if (info.extent < 0) {
      form.constant = upper ? kInfinite : -kInfinite;
      return form;
    } else {
      form.constant = add(form.constant, multiply(c, info.extent - 1));
    }
  }
}

Interval Ranges::range(const Linear& form) {
  return {eliminate(form, false, -1).constant, eliminate(form, true, -1).constant};
}

bool Ranges::end_in(const Linear& form, int keep, bool upper, Wide* coefficient, Wide* constant) {
  const Linear end = eliminate(form, upper, keep);
  if (infinite(end.constant) || !end.terms.empty()) return false;
  const auto at = end.vars.find(keep);
  *coefficient = at == end.vars.end() ? 0 : at->second;
  *constant = end.constant;
  return true;
}

Interval Ranges::interval(const Expr& e) {
  const auto at = memo_.find(e.id());
  if (at != memo_.end()) return at->second.second;
  const Interval result = compute(e);
  memo_.emplace(e.id(), std::pair(e, result));
  return result;
}

// Data may be NaN; what is made of integers is none where each step of it is bounded.
bool Ranges::may_be_nan(const Expr& root) {
  bool may = false;
  for_each_node(root, [&](const Expr& e) {
    if (!may && is_float(e.dtype())) may = e.op() == Op::Read || !interval(e).is_bounded();
  });
  return may;
}

Interval Ranges::compute(const Expr& e) {
  if (e.is_constant()) {
    if (is_float(e.dtype())) {
      const double v = e.float_value();
      if (!(v > -1e18 && v < 1e18)) return {};
      const auto whole = static_cast<int64_t>(v);
      return {whole - (v < static_cast<double>(whole)), whole + (v > static_cast<double>(whole))};
    }
    return {e.int_value(), e.int_value()};
  }
  const auto of = [&](int k) { return interval(e.arg(k)); };
  switch (e.op()) {
    case Op::Index: {
      const IndexVar& var = vars_[e.bits()];
      Interval range{0, var.extent < 0 ? kInfinite : std::max<int64_t>(var.extent - 1, 0)};
      if (var.bound) range.hi = std::min(range.hi, interval(var.bound).hi - 1);
      return range;
    }
    case Op::Symbol: {
      const Expr known = with_known_extents(e, vars_);
      return known == e ? Interval{0, kInfinite} : interval(known);
    }
    case Op::Add:
    case Op::Sub:
    case Op::Mul: {
      Interval plain;
      const Interval a = of(0), b = of(1);
      if (e.op() == Op::Add)
        plain = {add(a.lo, b.lo), add(a.hi, b.hi)};
      else if (e.op() == Op::Sub)
        plain = {add(a.lo, -b.hi), add(a.hi, -b.lo)};
      else
        plain = product_of(a, b);
      if (e.dtype() == DType::I64) {
        const Linear form = linear(e);
        if (!(form.vars.empty() && form.terms.size() == 1)) {
          const Interval exact = range(form);
          return {std::max(plain.lo, exact.lo), std::min(plain.hi, exact.hi)};
        }
        return plain;
      }
      if (is_float(e.dtype())) return rounded(plain, e.dtype());
      const Interval all = range_of(e.dtype());
      return plain.lo >= all.lo && plain.hi <= all.hi ? plain : all;
    }
    case Op::Neg:
      return {-of(0).hi, -of(0).lo};
    case Op::Abs: {
      const Interval a = of(0);
      const Wide far = std::max(-a.lo, a.hi);
      return {a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, far};
    }
    case Op::Min:
      return {std::min(of(0).lo, of(1).lo), std::min(of(0).hi, of(1).hi)};
    case Op::Max:
      return {std::max(of(0).lo, of(1).lo), std::max(of(0).hi, of(1).hi)};
    case Op::FloorDiv:
      return quotient(of(0), of(1), floor_div);
    case Op::CeilDiv:
      return quotient(of(0), of(1), ceil_div);
    case Op::TruncDiv:
      return quotient(of(0), of(1), trunc_div);
    case Op::Mod: {
      const Interval a = of(0), b = of(1);
      if (b.lo > 0 && a.lo >= 0 && a.hi < b.lo) return a;
      return {std::min<Wide>(b.lo < 0 ? b.lo + 1 : 0, 0), std::max<Wide>(b.hi > 0 ? b.hi - 1 : 0, 0)};
    }
    case Op::TruncMod: {
      const Interval a = of(0), b = of(1);
      const Wide far = std::max<Wide>({b.hi - 1, -b.lo - 1, 0});
      return {a.lo < 0 ? std::max(-far, a.lo) : 0, a.hi > 0 ? std::min(far, a.hi) : 0};
    }
    case Op::Select:
      return hull(of(1), of(2));
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc:
      return of(0);
    case Op::Cast: {
      const Interval a = of(0), all = range_of(e.dtype());
      if (is_float(e.dtype())) return rounded(a, e.dtype());
      if (e.dtype() == DType::Bool) return {0, 1};
      if (is_float(e.arg(0).dtype())) {
        // NaN gives 0, and clamps keep it.
        const Interval in{std::clamp(a.lo, all.lo, all.hi), std::clamp(a.hi, all.lo, all.hi)};
        return may_be_nan(e.arg(0)) ? hull(in, {0, 0}) : in;
      }
      return a.lo >= all.lo && a.hi <= all.hi ? a : all;
    }
    case Op::Sign:
      return {-1, 1};
    case Op::Read: {
      Interval range = range_of(e.dtype());
      if (e.is_guarded()) range = hull(range, interval(e.fill()));
      return range;
    }
    default:
      return range_of(e.dtype());
  }
}

}  // namespace frit::lang
