#include "compiler/passes/gradient/inverse.h"

#include <algorithm>
#include <numeric>

#include "compiler/passes/gradient/derivative.h"
#include "compiler/passes/gradient/digits.h"
#include "ir/polynomial.h"

namespace frit::reverse {
namespace {

constexpr size_t kManyAxes = 10;  // subsets of the axes of one position are tried

bool has_reads(const Expr& root) {
  bool found = false;
  for_each_node(root, [&](const Expr& e) { found |= e.op() == Op::Read; });
  return found;
}

void add_conjuncts(const Expr& e, std::vector<Expr>& to) {
  if (e.op() == Op::And && e.dtype() == DType::Bool) {
    add_conjuncts(e.arg(0), to);
    add_conjuncts(e.arg(1), to);
  } else if (!e.is_constant(1)) {
    to.push_back(e);
  }
}

// Of `u % s == 0`: u and s.
struct Divides {
  Expr u;
  int64_t s = 0;
};
std::optional<Divides> divides(const Expr& test) {
  if (test.op() != Op::Eq || test.arg(0).dtype() != DType::I64) return std::nullopt;
  const bool left = test.arg(0).op() == Op::Mod;
  const Expr &mod = test.arg(left ? 0 : 1), &zero = test.arg(left ? 1 : 0);
  if (mod.op() != Op::Mod || !zero.is_constant(0) || !mod.arg(1).is_constant() || mod.arg(1).int_value() < 1)
    return std::nullopt;
  return Divides{mod.arg(0), mod.arg(1).int_value()};
}

/// scale * q = sum of coefficients[a] * axis a + constant, for the index q of axis `dim`
struct Equation {
  size_t dim = 0;
  int64_t scale = 1;
  std::vector<int64_t> coefficients;
  int64_t constant = 0;
};

class Inverter {
 public:
  Inverter(const IndexMap& map, const Shape& shape) : map_(map), shape_(shape) {}

  std::optional<Inverse> run() {
    for (const Axis& axis : map_.axes) result_.is_empty |= static_extent(axis.extent) == 0;
    for (const Expr& extent : shape_) result_.is_empty |= static_extent(extent) == 0;
    if (result_.is_empty) return result_;
    add_conjuncts(map_.condition, conditions_);
    multiply_out();
    if (!find_digits()) return std::nullopt;
    solve();
    return finish();
  }

 private:
  int64_t extent(size_t axis) const { return static_extent(digits_.axes[axis].extent); }

  // Positions u // s under the condition u % s = 0 become u, with q counted s times.
  void multiply_out() {
    IndexAnalysis analysis(map_.axes);
    for (const Expr& position : map_.positions) {
      Expr p = analysis.simplify(position);
      int64_t scale = 1;
      for (size_t k = 0; k < conditions_.size() && scale == 1; ++k) {
        const auto known = divides(conditions_[k]);
        if (!known || known->s == 1) continue;
        if (const Expr product = without_division(p, *known)) {
          p = product;
          scale = known->s;
          conditions_.erase(conditions_.begin() + static_cast<int64_t>(k));
        }
      }
      sides_.push_back(p);
      scales_.push_back(scale);
    }
  }

  // s * p where p contains v // s once and s divides v because it divides u; else nothing.
  static Expr without_division(const Expr& p, const Divides& known) {
    const auto sum = to_polynomial(p);
    const auto u = to_polynomial(known.u);
    if (!sum || !u) return {};
    for (const auto& [atoms, c] : *sum) {
      if (atoms.size() != 1 || atoms[0].op() != Op::FloorDiv || !atoms[0].arg(1).is_constant(known.s)) continue;
      const auto v = to_polynomial(atoms[0].arg(0));
      if (!v || !(is_multiple(*v, *u, known.s, -1) || is_multiple(*v, *u, known.s, 1))) continue;
      Polynomial product, rest = *sum;
      rest.erase(atoms);
      if (!add_scaled(product, rest, known.s) || !add_scaled(product, *v, c)) return {};
      return from_polynomial(product);
    }
    return {};
  }

  // Whether s divides every coefficient of a + sign * b.
  static bool is_multiple(const Polynomial& a, const Polynomial& b, int64_t s, int64_t sign) {
    Polynomial difference = a;
    if (!add_scaled(difference, b, sign)) return false;
    return std::all_of(difference.begin(), difference.end(), [&](const auto& term) { return term.second % s == 0; });
  }

  // One equation for each position, over digits.
  bool find_digits() {
    if (std::any_of(sides_.begin(), sides_.end(), has_reads)) return false;
    const auto digits = split_digits(map_.axes, sides_);
    if (!digits) return false;
    digits_ = *digits;
    for (size_t d = 0; d < sides_.size(); ++d) {
      const auto form = affine(digits_.positions[d], digits_.axes.size());
      Equation e{d, scales_[d], form->coefficients, form->constant};
      for (size_t a = 0; a < e.coefficients.size(); ++a)  // an axis of one point is its index 0
        if (extent(a) == 1) e.coefficients[a] = 0;
      equations_.push_back(std::move(e));
    }
    return true;
  }

  // ---------------------------------------------------------------------------------------------- solving

  // Values are over Index(d) for q of axis d, and Index(rank + a) for the digit axis a while it is not solved.
  Expr q(size_t d) const { return index(static_cast<int>(d)); }
  Expr unsolved(size_t a) const { return index(static_cast<int>(shape_.size() + a)); }

  std::vector<size_t> open_axes(const Equation& e) const {
    std::vector<size_t> open;
    for (size_t a = 0; a < e.coefficients.size(); ++a)
      if (e.coefficients[a] != 0 && !values_[a]) open.push_back(a);
    return open;
  }

  void solve() {
    values_.resize(digits_.axes.size());
    std::vector<bool> done(equations_.size(), false);
    // Positions with one open axis first, those that need no division before others.
    for (bool grown = true; grown;) {
      grown = false;
      size_t best = equations_.size();
      int64_t best_c = 0;
      for (size_t d = 0; d < equations_.size(); ++d) {
        if (done[d]) continue;
        const std::vector<size_t> open = open_axes(equations_[d]);
        if (open.size() != 1) continue;
        const int64_t c = std::abs(equations_[d].coefficients[open[0]]);
        if (best < equations_.size() && c >= best_c) continue;
        best = d, best_c = c;
      }
      if (best == equations_.size()) {
        for (size_t d = 0; d < equations_.size() && best == equations_.size(); ++d)
          if (!done[d] && open_axes(equations_[d]).size() > 1) best = d;
      }
      if (best == equations_.size()) break;
      solve(equations_[best], best_subset(equations_[best]));
      done[best] = grown = true;
    }
    for (size_t d = 0; d < equations_.size(); ++d) {  // nothing left to solve: a test
      if (done[d]) continue;
      const Equation& e = equations_[d];
      tests_.push_back(binary(Op::Eq, q(e.dim) * index_constant(e.scale), sum_of(e, {})));
    }
  }

  // The constant and all terms but those of `without`.
  Expr sum_of(const Equation& e, const std::vector<size_t>& without) const {
    Expr sum = index_constant(e.constant);
    for (size_t a = 0; a < e.coefficients.size(); ++a) {
      if (e.coefficients[a] == 0 || std::find(without.begin(), without.end(), a) != without.end()) continue;
      sum = sum + (values_[a] ? values_[a] : unsolved(a)) * index_constant(e.coefficients[a]);
    }
    return sum;
  }

  // Largest coefficient first; each must be larger than all that the smaller ones reach together.
  bool is_unique(const Equation& e, std::vector<size_t>& axes) const {
    std::sort(axes.begin(), axes.end(), [&](size_t a, size_t b) {
      return std::abs(e.coefficients[a]) > std::abs(e.coefficients[b]);
    });
    int64_t reach = 0;
    for (size_t k = axes.size(); k-- > 0;) {
      const int64_t c = std::abs(e.coefficients[axes[k]]);
      if (reach >= c) return false;
      reach += c * (extent(axes[k]) - 1);
    }
    return true;
  }

  // The unique open axes with the most points together: what is left is summed over.
  std::vector<size_t> best_subset(const Equation& e) const {
    std::vector<size_t> open = open_axes(e);
    if (open.size() > kManyAxes) open.resize(kManyAxes);
    std::vector<size_t> best;
    double most = 0;
    for (uint32_t set = 1; set < (1U << open.size()); ++set) {
      std::vector<size_t> axes;
      double points = 1;
      for (size_t k = 0; k < open.size(); ++k) {
        if ((set >> k & 1U) == 0) continue;
        axes.push_back(open[k]);
        points *= static_cast<double>(extent(open[k]));
      }
      if (points <= most || !is_unique(e, axes)) continue;
      most = points;
      best = axes;
    }
    return best;
  }

  // scale * q - rest = sum of c * i over `axes`, digit by digit. A negative c counts its axis from the end.
  void solve(const Equation& e, const std::vector<size_t>& axes) {
    Expr rest = q(e.dim) * index_constant(e.scale) - sum_of(e, axes);
    for (const size_t a : axes)
      if (e.coefficients[a] < 0) rest = rest - index_constant(e.coefficients[a] * (extent(a) - 1));
    for (size_t k = 0; k < axes.size(); ++k) {
      const size_t a = axes[k];
      const Expr unit = index_constant(std::abs(e.coefficients[a]));
      Expr value = binary(Op::FloorDiv, rest, unit);
      rest = binary(Op::Mod, rest, unit);
      if (k + 1 == axes.size() && !unit.is_constant(1))
        remainders_.push_back(binary(Op::Eq, rest, index_constant(0)));
      ranges_.push_back({value, index_constant(extent(a))});
      if (e.coefficients[a] < 0) value = index_constant(extent(a) - 1) - value;
      values_[a] = value;
    }
  }

  // ---------------------------------------------------------------------------------------------- result

  Inverse finish() {
    const size_t rank = shape_.size();
    for (size_t d = 0; d < rank; ++d) result_.axes.push_back({"q" + std::to_string(d), shape_[d]});
    result_.free = static_cast<int>(rank);
    std::vector<Expr> places(rank + digits_.axes.size());
    for (size_t a = 0; a < digits_.axes.size(); ++a) {
      if (extent(a) == 1 && !values_[a]) values_[a] = index_constant(0);
      if (values_[a]) continue;
      places[rank + a] = index(static_cast<int>(result_.axes.size()));
      result_.axes.push_back(digits_.axes[a]);
    }
    // Values may name axes that were solved after them.
    for (size_t round = 0; round < digits_.axes.size(); ++round) {
      bool changed = false;
      std::vector<Expr> known(rank + digits_.axes.size());
      for (size_t a = 0; a < digits_.axes.size(); ++a) known[rank + a] = values_[a];
      const auto resolve = [&](Expr& e) {
        const Expr next = e ? substitute_indices(e, known) : e;
        changed |= !(next == e);
        e = next;
      };
      for (Expr& v : values_) resolve(v);
      for (Inverse::Range& r : ranges_) resolve(r.value);
      for (auto* list : {&remainders_, &tests_})
        for (Expr& t : *list) resolve(t);
      if (!changed) break;
    }
    IndexAnalysis analysis(result_.axes);
    const auto final = [&](const Expr& e) { return analysis.simplify(substitute_indices(e, places)); };
    std::vector<Expr> digits;
    for (size_t a = 0; a < values_.size(); ++a) digits.push_back(final(values_[a] ? values_[a] : unsolved(a)));
    for (const Expr& v : digits_.values) result_.values.push_back(analysis.simplify(substitute_indices(v, digits)));
    for (const Inverse::Range& r : ranges_) add_range(final(r.value), r.extent, analysis);
    for (const Expr& t : remainders_) add_test(final(t), result_.remainders);
    for (const Expr& t : tests_) add_test(final(t));
    for (const Expr& t : digits_.tests) add_test(analysis.simplify(substitute_indices(t, digits)));
    for (const Expr& c : conditions_) add_test(analysis.simplify(substitute_indices(c, result_.values)));
    return std::move(result_);
  }

  void add_range(const Expr& value, const Expr& extent, IndexAnalysis& analysis) {
    if (analysis.is_inside(value, extent)) return;
    const Range r = analysis.range(value);
    if (r.high < 0 || r.low >= extent.int_value()) result_.is_empty = true;
    result_.ranges.push_back({value, extent});
  }

  void add_test(const Expr& test) { add_test(test, result_.tests); }
  void add_test(const Expr& test, std::vector<Expr>& to) {
    if (test.is_constant(0)) result_.is_empty = true;
    if (!test.is_constant(1)) to.push_back(test);
  }

  const IndexMap& map_;
  const Shape& shape_;
  std::vector<Expr> conditions_;
  std::vector<Expr> sides_;  // what scale * q equals, over the old axes
  std::vector<int64_t> scales_;
  Digits digits_;
  std::vector<Equation> equations_;
  std::vector<Expr> values_;
  std::vector<Inverse::Range> ranges_;
  std::vector<Expr> remainders_, tests_;
  Inverse result_;
};

}  // namespace

std::optional<Inverse> invert(const IndexMap& map, const Shape& shape) { return Inverter(map, shape).run(); }

}  // namespace frit::reverse
