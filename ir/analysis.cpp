#include "ir/analysis.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "ir/polynomial.h"
#include "ir/scalar.h"
#include "support/error.h"

namespace frit {
namespace {

constexpr int64_t kHigh = Range::kNone;
constexpr int64_t kLow = -kHigh - 1;

// Arithmetic on ends of intervals: the ends of int64 are infinite and stay so. `overflow` reports a finite overflow.
int64_t add(int64_t a, int64_t b, bool& overflow) {
  if (a == kHigh || a == kLow) return a;
  if (b == kHigh || b == kLow) return b;
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum) && sum != kHigh && sum != kLow) return sum;
  overflow = true;
  return a < 0 ? kLow : kHigh;
}
int64_t multiply(int64_t a, int64_t b, bool& overflow) {
  if (a == 0 || b == 0) return 0;
  const bool infinite = a == kHigh || a == kLow || b == kHigh || b == kLow;
  int64_t product = 0;
  if (!infinite && !__builtin_mul_overflow(a, b, &product) && product != kHigh && product != kLow) return product;
  overflow |= !infinite;
  return (a < 0) == (b < 0) ? kHigh : kLow;
}
int64_t negated(int64_t a) { return a == kHigh ? kLow : a == kLow ? kHigh : -a; }

Range constant_range(int64_t v) { return {v, v, 0, v}; }
Range interval(int64_t low, int64_t high) { return low == high ? constant_range(low) : Range{low, high, 1, 0}; }

Range dtype_range(DType dtype) {
  if (dtype == DType::Bool) return {0, 1, 1, 0};
  if (dtype == DType::I64 || dtype == DType::U64) return dtype == DType::I64 ? Range{} : Range{};
  const int bits = 8 * size_bytes(dtype);
  if (is_unsigned(dtype)) return {0, (int64_t{1} << bits) - 1, 1, 0};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1, 1, 0};
}

// value = step*k + offset of sums and products; step 1 with offset 0 says nothing.
Range with_congruence(Range r, int64_t step, int64_t offset) {
  if (r.is_constant()) return constant_range(r.low);
  step = step == kLow ? 1 : std::abs(step);
  if (step > 1) r.step = step, r.offset = floor_mod(offset, step);
  return r;
}

Range united(const Range& a, const Range& b) {
  Range r = interval(std::min(a.low, b.low), std::max(a.high, b.high));
  int64_t difference = 0;
  if (__builtin_sub_overflow(a.offset, b.offset, &difference) || difference == kLow) return r;
  return with_congruence(r, std::gcd(std::gcd(a.step, b.step), difference), a.offset);
}

Range divided(Op op, const Range& a, const Range& b) {
  if (b.low <= 0) {  // |a / b| <= |a|, and a division by zero is 0
    if (a.low == kLow || a.high == kHigh) return {};
    const int64_t most = std::max(std::abs(a.low), std::abs(a.high));
    return {-most, most, 1, 0};
  }
  const auto one = [&](int64_t x, int64_t y) {
    if (x == kHigh || x == kLow) return x;
    if (y == kHigh)
      return op == Op::FloorDiv && x < 0 ? int64_t{-1} : op == Op::CeilDiv && x > 0 ? int64_t{1} : int64_t{0};
    return eval_int_binary(op, DType::I64, x, y);
  };
  const std::array<int64_t, 4> ends{one(a.low, b.low), one(a.low, b.high), one(a.high, b.low), one(a.high, b.high)};
  const auto [low, high] = std::minmax_element(ends.begin(), ends.end());
  return interval(*low, *high);
}

Range remainder(Op op, const Range& a, const Range& b) {
  if (b.is_constant() && b.low > 0) {
    const int64_t q = b.low;
    if (a.step != 0 && a.step % q == 0) return constant_range(op == Op::Mod ? floor_mod(a.offset, q) : 0);
    const bool bounded = a.low != kLow && a.high != kHigh;
    const bool floors = op == Op::Mod || a.low >= 0;
    if (bounded && floors && floor_div(a.low, q) == floor_div(a.high, q))
      return with_congruence(interval(floor_mod(a.low, q), floor_mod(a.high, q)), std::gcd(a.step, q), a.offset);
    if (floors)
      return with_congruence(interval(0, a.low >= 0 ? std::min(q - 1, a.high) : q - 1), std::gcd(a.step, q), a.offset);
  }
  const int64_t above = b.high == kHigh ? kHigh : std::max<int64_t>(0, b.high - 1);
  const int64_t below = b.low == kLow ? kLow : std::min<int64_t>(0, b.low + 1);
  if (op == Op::Mod) return {below, b.low > 0 && a.low >= 0 ? std::min(above, a.high) : above, 1, 0};
  const int64_t most = std::max(above, negated(below));
  return {a.low >= 0 ? 0 : std::max(a.low, negated(most)), a.high <= 0 ? 0 : std::min(a.high, most), 1, 0};
}

}  // namespace

IndexAnalysis::IndexAnalysis(std::vector<Expr> extents) : extents_(std::move(extents)) {}
IndexAnalysis::IndexAnalysis(const std::vector<Axis>& axes) {
  for (const Axis& axis : axes) extents_.push_back(axis.extent);
}

bool IndexAnalysis::is_pure(const Expr& root) {
  if (const auto known = pure_.find(root); known != pure_.end()) return known->second;
  for_each_node(root, [&](const Expr& e) {
    bool pure = e.op() != Op::Read && e.op() != Op::Acc && e.op() != Op::AccRight && e.op() != Op::Cast &&
                e.op() != Op::BitCast && e.op() != Op::Shl && e.op() != Op::Pow;
    for (const Expr& arg : e.args()) pure = pure && pure_.at(arg);
    pure_.emplace(e, pure);
  });
  return pure_.at(root);
}

Range IndexAnalysis::range(const Expr& root) {
  FRIT_CHECK(!is_float(root.dtype()), "ranges are of integers");
  if (const auto known = ranges_.find(root); known != ranges_.end()) return known->second;
  for_each_node(root, [&](const Expr& e) {
    if (!is_float(e.dtype()) && !ranges_.contains(e)) ranges_.emplace(e, range_of_node(e));
  });
  return ranges_.at(root);
}

// What arithmetic gives in the dtype of `e`: everything where it may wrap.
Range IndexAnalysis::fitted(const Expr& e, const Range& r, bool overflow) {
  const Range all = dtype_range(e.dtype());
  if (e.dtype() == DType::I64) {
    const bool open = overflow || r.low == kLow || r.high == kHigh;
    return open && !is_pure(e) ? all : r;
  }
  return e.dtype() != DType::U64 && all.contains(r) && !overflow ? r : all;
}

Range IndexAnalysis::range_of_node(const Expr& e) {
  const auto arg = [&](int k) { return ranges_.at(e.arg(k)); };
  const bool integers =
      !e.args().empty() && e.op() != Op::Read && !is_float(e.arg(0).dtype()) && e.dtype() != DType::U64;
  switch (e.op()) {
    case Op::Const:
      return e.dtype() == DType::U64 && e.int_value() < 0 ? Range{} : constant_range(e.int_value());
    case Op::Index: {
      if (e.bits() >= extents_.size()) return {0, kHigh, 1, 0};
      const Expr& extent = extents_[e.bits()];
      const int64_t most =
          extent.is_constant() ? extent.int_value() : IndexAnalysis(std::vector<Expr>{}).range(extent).high;
      return interval(0, most == kHigh ? kHigh : std::max<int64_t>(0, most - 1));
    }
    case Op::Symbol:
      return {is_positive_symbol(e) ? 1 : 0, kHigh, 1, 0};
    case Op::Cast: {
      if (is_float(e.arg(0).dtype())) return dtype_range(e.dtype());
      const Range from = arg(0), to = dtype_range(e.dtype());
      if (e.dtype() == DType::Bool)
        return from.low > 0 || from.high < 0 ? constant_range(1) : from.is_constant() ? from : to;
      if (e.arg(0).dtype() == DType::U64 || e.dtype() == DType::U64) return to;
      return to.contains(from) ? from : to;
    }
    default:
      break;
  }
  if (!integers) return dtype_range(e.dtype());
  bool overflow = false;
  switch (e.op()) {
    case Op::Add:
    case Op::Sub: {
      const Range a = arg(0), b = arg(1);
      const bool minus = e.op() == Op::Sub;
      Range r = interval(add(a.low, minus ? negated(b.high) : b.low, overflow),
                         add(a.high, minus ? negated(b.low) : b.high, overflow));
      int64_t offset = 0;
      const bool bad = minus ? __builtin_sub_overflow(a.offset, b.offset, &offset)
                             : __builtin_add_overflow(a.offset, b.offset, &offset);
      return fitted(e, bad ? r : with_congruence(r, std::gcd(a.step, b.step), offset), overflow);
    }
    case Op::Mul: {
      const Range a = arg(0), b = arg(1);
      const std::array<int64_t, 4> ends{multiply(a.low, b.low, overflow), multiply(a.low, b.high, overflow),
                                        multiply(a.high, b.low, overflow), multiply(a.high, b.high, overflow)};
      const auto [low, high] = std::minmax_element(ends.begin(), ends.end());
      Range r = interval(*low, *high);
      // (sa*k + oa) * (sb*l + ob): everything but oa*ob is a multiple of the gcd.
      int64_t ss = 0, so = 0, os = 0, oo = 0;
      const bool bad = __builtin_mul_overflow(a.step, b.step, &ss) || __builtin_mul_overflow(a.step, b.offset, &so) ||
                       __builtin_mul_overflow(a.offset, b.step, &os) || __builtin_mul_overflow(a.offset, b.offset, &oo);
      return fitted(e, bad ? r : with_congruence(r, std::gcd(ss, std::gcd(so, os)), oo), overflow);
    }
    case Op::Neg: {
      const Range a = arg(0);
      Range r = interval(negated(a.high), negated(a.low));
      return fitted(e, a.offset == kLow ? r : with_congruence(r, a.step, -a.offset), overflow);
    }
    case Op::FloorDiv:
    case Op::TruncDiv:
    case Op::CeilDiv:
      return fitted(e, divided(e.op(), arg(0), arg(1)), false);
    case Op::Mod:
    case Op::TruncMod:
      return fitted(e, remainder(e.op(), arg(0), arg(1)), false);
    case Op::Min:
    case Op::Max: {
      const Range a = arg(0), b = arg(1);
      const bool min = e.op() == Op::Min;
      if (min ? a.high <= b.low : a.low >= b.high) return a;
      if (min ? b.high <= a.low : b.low >= a.high) return b;
      Range r = united(a, b);
      const Range ends = min ? interval(std::min(a.low, b.low), std::min(a.high, b.high))
                             : interval(std::max(a.low, b.low), std::max(a.high, b.high));
      r.low = ends.low, r.high = ends.high;
      return ends.is_constant() ? ends : r;
    }
    case Op::Abs: {
      const Range a = arg(0);
      if (a.low >= 0) return a;
      if (a.high <= 0) return fitted(e, interval(negated(a.high), negated(a.low)), false);
      return fitted(e, {0, std::max(negated(a.low), a.high), 1, 0}, false);
    }
    case Op::Sign: {
      const Range a = arg(0);
      return interval(a.low > 0 ? 1 : a.low < 0 ? -1 : 0, a.high > 0 ? 1 : a.high < 0 ? -1 : 0);
    }
    case Op::StopGradient:
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round:
      return arg(0);
    case Op::Select: {
      if (arg(0).is_constant()) return arg(0).low ? arg(1) : arg(2);
      return united(arg(1), arg(2));
    }
    case Op::And:
      if (e.dtype() == DType::Bool)
        return interval(std::min(arg(0).low, arg(1).low), std::min(arg(0).high, arg(1).high));
      if (arg(0).low >= 0 || arg(1).low >= 0)
        return {0, std::min(arg(0).low >= 0 ? arg(0).high : kHigh, arg(1).low >= 0 ? arg(1).high : kHigh), 1, 0};
      break;
    case Op::Or:
      if (e.dtype() == DType::Bool)
        return interval(std::max(arg(0).low, arg(1).low), std::max(arg(0).high, arg(1).high));
      break;
    case Op::Not:
      return interval(1 - arg(0).high, 1 - arg(0).low);
    case Op::Eq:
    case Op::Ne:
    case Op::Lt:
    case Op::Le: {
      if (e.arg(0).dtype() == DType::U64) break;
      const Range a = arg(0), b = arg(1);
      const bool apart = a.high < b.low || b.high < a.low;
      const bool same = a.is_constant() && b.is_constant() && a.low == b.low;
      std::optional<bool> known;
      if (e.op() == Op::Eq || e.op() == Op::Ne) {
        if (apart || same) known = same == (e.op() == Op::Eq);
      } else if (e.op() == Op::Lt) {
        if (a.high < b.low) known = true;
        if (a.low >= b.high) known = false;
      } else {
        if (a.high <= b.low) known = true;
        if (a.low > b.high) known = false;
      }
      return known ? constant_range(*known) : Range{0, 1, 1, 0};
    }
    default:
      break;
  }
  return dtype_range(e.dtype());
}

// A symbol that is a factor of an extent: inside the ranges it is not zero.
bool IndexAnalysis::is_positive_symbol(const Expr& e) const {
  for (const Expr& extent : extents_) {
    std::vector<Expr> work{extent};
    while (!work.empty()) {
      const Expr factor = work.back();
      work.pop_back();
      if (factor == e) return true;
      if (factor.op() == Op::Mul) work.insert(work.end(), {factor.arg(0), factor.arg(1)});
    }
  }
  return false;
}

bool IndexAnalysis::is_pure(const Polynomial& p) {
  for (const auto& [atoms, coefficient] : p)
    for (const Expr& atom : atoms)
      if (!is_pure(atom)) return false;
  return true;
}

Range IndexAnalysis::sum_range(const Polynomial& p) {
  bool overflow = false;
  Range sum = constant_range(0);
  int64_t step = 0, offset = 0;
  bool congruent = true, pure = true;
  for (const auto& [atoms, coefficient] : p) {
    Range term = constant_range(coefficient);
    for (const Expr& atom : atoms) {
      pure = pure && is_pure(atom);
      const Range a = range(atom);
      const std::array<int64_t, 4> ends{multiply(a.low, term.low, overflow), multiply(a.low, term.high, overflow),
                                        multiply(a.high, term.low, overflow), multiply(a.high, term.high, overflow)};
      const auto [low, high] = std::minmax_element(ends.begin(), ends.end());
      term = interval(*low, *high);
    }
    sum = interval(add(sum.low, term.low, overflow), add(sum.high, term.high, overflow));
    int64_t term_step = coefficient, term_offset = 0;
    if (atoms.empty()) term_step = 0, term_offset = coefficient;
    if (atoms.size() == 1) {
      const Range a = range(atoms[0]);
      congruent = congruent && !__builtin_mul_overflow(a.step, coefficient, &term_step) &&
                  !__builtin_mul_overflow(a.offset, coefficient, &term_offset);
    }
    congruent = congruent && term_step != kLow && !__builtin_add_overflow(offset, term_offset, &offset);
    if (congruent) step = std::gcd(step, term_step);
  }
  if (!pure && (overflow || sum.low == kLow || sum.high == kHigh)) return {};  // may wrap
  return congruent ? with_congruence(sum, step, offset) : sum;
}

// Replaces indices with symbolic extents by the end of their range that makes the sum smallest (or largest), as far as
// the sign of what they are multiplied with is known.
std::optional<Polynomial> IndexAnalysis::eliminated(Polynomial p, bool smallest) {
  for (size_t axis = extents_.size(); axis-- > 0;) {
    if (extents_[axis].is_constant()) continue;
    const Expr i = index(static_cast<int>(axis));
    Polynomial rest, factor;
    bool is_linear = true, positive = true, negative = true;
    for (const auto& [atoms, coefficient] : p) {
      const auto count = std::count(atoms.begin(), atoms.end(), i);
      if (count == 0) {
        rest.emplace(atoms, coefficient);
        continue;
      }
      is_linear = is_linear && count == 1;
      std::vector<Expr> others = atoms;
      others.erase(std::find(others.begin(), others.end(), i));
      for (const Expr& other : others) is_linear = is_linear && range(other).low >= 0;
      (coefficient > 0 ? negative : positive) = false;
      factor.emplace(std::move(others), coefficient);
    }
    if (factor.empty()) continue;
    if (!is_linear || (!positive && !negative)) continue;
    if (positive != smallest) {  // the far end
      auto last = to_polynomial(extents_[axis]);
      if (!last || !add_term(*last, {}, -1)) return std::nullopt;
      const auto product = multiplied(factor, *last);
      if (!product || !add_scaled(rest, *product, 1)) return std::nullopt;
    }
    p = std::move(rest);
  }
  return p;
}

int64_t IndexAnalysis::low(const Polynomial& p) {
  const int64_t plain = sum_range(p).low;
  if (plain >= 0 || !is_pure(p)) return plain;
  const auto bound = eliminated(p, true);
  return bound ? std::max(plain, sum_range(*bound).low) : plain;
}

int64_t IndexAnalysis::high(const Polynomial& p) {
  const int64_t plain = sum_range(p).high;
  if (plain < 0 || !is_pure(p)) return plain;
  const auto bound = eliminated(p, false);
  return bound ? std::min(plain, sum_range(*bound).high) : plain;
}

bool IndexAnalysis::is_empty() const {
  return std::any_of(extents_.begin(), extents_.end(), [](const Expr& e) { return e.is_constant(0); });
}

bool IndexAnalysis::is_non_negative(const Expr& e) {
  if (range(e).low >= 0) return true;
  if (e.dtype() != DType::I64 || !is_pure(e)) return false;
  const auto p = to_polynomial(simplify(e));
  return p && low(*p) >= 0;
}

bool IndexAnalysis::is_inside(const Expr& e, const Expr& extent) {
  const Range r = range(e);
  if (r.low >= 0 && extent.is_constant() && r.high < extent.int_value()) return true;
  // x // q < n as x < n*q, and x % q < n as q <= n: what symbolic extents need.
  const bool divides = (e.op() == Op::FloorDiv || e.op() == Op::Mod) && !e.arg(1).is_constant() && is_pure(e);
  if (divides && range(e.arg(1)).low >= 1) {
    const Expr &x = e.arg(0), &q = e.arg(1);
    if (e.op() == Op::Mod) return is_non_negative(extent - q);
    return is_inside(x, extent * q);
  }
  if (!is_non_negative(e)) return false;
  if (!is_pure(e)) {
    const Expr s = simplify(e);
    return extent.is_constant() ? range(s).high < extent.int_value()
                                : decide(binary(Op::Lt, s, extent)).value_or(false);
  }
  return is_non_negative(extent - e - index_constant(1));
}

std::optional<bool> IndexAnalysis::decide(const Expr& condition) {
  const Range r = range(simplify(condition));
  if (r.is_constant()) return r.low != 0;
  return std::nullopt;
}

std::optional<Affine> affine(const Expr& e, size_t axes) {
  if (e.dtype() != DType::I64) return std::nullopt;
  const auto p = to_polynomial(e);
  if (!p) return std::nullopt;
  Affine result{0, std::vector<int64_t>(axes)};
  for (const auto& [atoms, coefficient] : *p) {
    if (atoms.empty()) {
      result.constant = coefficient;
      continue;
    }
    if (atoms.size() != 1 || atoms[0].op() != Op::Index || atoms[0].bits() >= axes) return std::nullopt;
    result.coefficients[atoms[0].bits()] = coefficient;
  }
  return result;
}

}  // namespace frit
