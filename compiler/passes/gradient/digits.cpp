#include "compiler/passes/gradient/digits.h"

#include <algorithm>
#include <set>

#include "ir/analysis.h"

namespace frit::reverse {
namespace {

constexpr int kRounds = 8;

bool is_division(const Expr& e) {
  return (e.op() == Op::FloorDiv || e.op() == Op::Mod) && e.dtype() == DType::I64 && e.arg(1).is_constant() &&
         e.arg(1).int_value() > 0;
}

class Splitter {
 public:
  Splitter(const std::vector<Axis>& axes, const std::vector<Expr>& positions) : now_{axes, positions, {}, {}} {
    for (size_t a = 0; a < axes.size(); ++a) now_.values.push_back(index(static_cast<int>(a)));
  }

  std::optional<Digits> run() {
    for (int round = 0; round < kRounds; ++round) {
      IndexAnalysis analysis(now_.axes);
      for (Expr& p : now_.positions) p = analysis.simplify(p);
      if (all_affine()) return now_;
      if (!join() && !split()) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  bool all_affine() const {
    return std::all_of(now_.positions.begin(), now_.positions.end(),
                       [&](const Expr& p) { return affine(p, now_.axes.size()).has_value(); });
  }

  int64_t extent(size_t axis) const { return static_extent(now_.axes[axis].extent); }

  template <class Visit>
  void for_each_division(Visit visit) const {
    for (const Expr& p : now_.positions)
      for_each_node(p, [&](const Expr& e) {
        if (is_division(e)) visit(e);
      });
  }

  void substitute(const std::vector<Axis>& axes, const std::vector<Expr>& values) {
    now_.axes = axes;
    IndexAnalysis analysis(axes);
    const auto moved = [&](const Expr& e) { return analysis.simplify(substitute_indices(e, values)); };
    for (auto* list : {&now_.positions, &now_.values, &now_.tests})
      for (Expr& e : *list) e = moved(e);
  }

  // The axes of a flat number, outermost first: c1 > c2 > .. > 1 with c_k = c_k+1 * extent_k+1, and no constant.
  std::vector<int> mixed_radix(const Expr& e) const {
    const auto form = affine(e, now_.axes.size());
    if (!form || form->constant != 0) return {};
    std::vector<std::pair<int64_t, int>> terms;
    for (size_t a = 0; a < form->coefficients.size(); ++a) {
      const int64_t c = form->coefficients[a];
      if (c < 0) return {};
      if (c > 0) terms.emplace_back(c, static_cast<int>(a));
    }
    std::sort(terms.begin(), terms.end());
    int64_t expected = 1;
    std::vector<int> axes;
    for (const auto& [c, a] : terms) {
      if (c != expected) return {};
      expected *= extent(static_cast<size_t>(a));
      axes.insert(axes.begin(), a);
    }
    return axes.size() > 1 ? axes : std::vector<int>{};
  }

  // Two or more axes that a division takes as one flat number become one axis.
  bool join() {
    std::vector<int> flat;
    for_each_division([&](const Expr& e) {
      if (flat.empty()) flat = mixed_radix(e.arg(0));
    });
    if (flat.empty()) return false;
    std::vector<Axis> axes;
    std::vector<Expr> values(now_.axes.size());
    for (size_t a = 0; a < now_.axes.size(); ++a) {
      if (std::find(flat.begin(), flat.end(), static_cast<int>(a)) != flat.end()) continue;
      values[a] = index(static_cast<int>(axes.size()));
      axes.push_back(now_.axes[a]);
    }
    Expr rest = index(static_cast<int>(axes.size()));
    int64_t total = 1;
    for (size_t k = flat.size(); k-- > 0;) {
      const auto a = static_cast<size_t>(flat[k]);
      const Expr radix = index_constant(extent(a));
      values[a] = k == 0 ? rest : binary(Op::Mod, rest, radix);
      rest = binary(Op::FloorDiv, rest, radix);
      total *= extent(a);
    }
    axes.push_back({"flat", index_constant(total)});
    substitute(axes, values);
    return true;
  }

  // Radices at which divisions cut `axis`: (i // a) % b cuts at a and a*b, (i % b) // a at a and b.
  std::set<int64_t> cuts_of(size_t axis) const {
    std::set<int64_t> cuts;
    const Expr i = index(static_cast<int>(axis));
    for_each_division([&](const Expr& e) {
      std::vector<Expr> chain;  // outermost first
      Expr x = e;
      for (; is_division(x); x = x.arg(0)) chain.push_back(x);
      if (!(x == i)) return;
      int64_t unit = 1;
      for (size_t k = chain.size(); k-- > 0;) {
        int64_t cut = 0;
        if (__builtin_mul_overflow(unit, chain[k].arg(1).int_value(), &cut)) return;
        cuts.insert(cut);
        if (chain[k].op() == Op::FloorDiv) unit = cut;
      }
    });
    return cuts;
  }

  bool split() {
    for (size_t a = 0; a < now_.axes.size(); ++a) {
      std::set<int64_t> cuts = cuts_of(a);
      cuts.erase(1);
      std::erase_if(cuts, [&](int64_t c) { return c >= extent(a); });
      if (cuts.empty()) continue;
      int64_t before = 1;
      for (const int64_t c : cuts) {
        if (c % before != 0) return false;
        before = c;
      }
      split_at(a, {cuts.begin(), cuts.end()});
      return true;
    }
    return false;
  }

  void split_at(size_t axis, std::vector<int64_t> cuts) {
    std::vector<Axis> axes;
    std::vector<Expr> values;
    const int64_t whole = extent(axis);
    for (size_t a = 0; a < now_.axes.size(); ++a) {
      if (a != axis) {
        values.push_back(index(static_cast<int>(axes.size())));
        axes.push_back(now_.axes[a]);
        continue;
      }
      Expr sum = index_constant(0);
      for (size_t k = cuts.size() + 1; k-- > 0;) {
        const int64_t unit = k == 0 ? 1 : cuts[k - 1];
        const int64_t digits = k == cuts.size() ? (whole + unit - 1) / unit : cuts[k] / unit;
        sum = sum + index(static_cast<int>(axes.size())) * index_constant(unit);
        axes.push_back({now_.axes[a].name + std::to_string(k), index_constant(digits)});
      }
      values.push_back(sum);
    }
    if (whole % cuts.back() != 0)
      now_.tests.push_back(binary(Op::Lt, index(static_cast<int>(axis)), index_constant(whole)));
    substitute(axes, values);
  }

  Digits now_;
};

}  // namespace

std::optional<Digits> split_digits(const std::vector<Axis>& axes, const std::vector<Expr>& positions) {
  return Splitter(axes, positions).run();
}

}  // namespace frit::reverse
