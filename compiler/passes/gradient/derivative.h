#pragma once
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "ir/expr.h"

namespace frit::reverse {

/// A root of a scalar formula and the adjoint of its value, in the computing type of the root's dtype: `seed` where the
/// condition holds, else exactly 0.
struct SeededRoot {
  Expr root, seed;
  Expr condition = true_value();
};

/// A leaf of the formulas, a Read or an Acc, and its adjoint.
struct LeafAdjoint {
  Expr leaf, adjoint;
};

struct DerivativeOptions {
  std::function<bool(const Expr& leaf)> is_active;    // leaves whose adjoint is wanted
  std::function<Expr(const Expr& read)> inside = {};  // where a guarded read is not its fill; for active fills
};

/// Adjoints of the active leaves below the roots, in one sweep from the roots to the leaves.
///     adjoint(leaf) = sum over roots of seed * d root / d leaf, by the table of docs/gradient.md
/// A branch that is not taken (select, the fill or the element of a guarded read, the smaller side of max) contributes
/// exactly 0, also where its own derivative is infinite or NaN: conditions travel beside the values and are applied by
/// `select` at the leaf, after all products. Leaves without a contribution are left out. Integer and bool parts,
/// positions and conditions have no derivative.
std::vector<LeafAdjoint> leaf_adjoints(std::span<const SeededRoot> roots, const DerivativeOptions& options);

// Helpers that keep formulas small: an empty Expr is an exact zero.
Expr zero_of(DType dtype);
Expr both(const Expr& a, const Expr& b);
Expr either(const Expr& a, const Expr& b);
Expr negation(const Expr& condition);
Expr plus(const Expr& a, const Expr& b);
Expr times(const Expr& a, const Expr& b);
/// `value` where `condition` holds, else 0.
Expr where(const Expr& condition, const Expr& value);

}  // namespace frit::reverse
