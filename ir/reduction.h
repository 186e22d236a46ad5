#pragma once
// Combiners made of combiners, for scans and for reductions in pieces.
#include <vector>

#include "ir/graph.h"

namespace frit {

/// Whether the elements may come in any order: a commutative reducer, or a fold whose steps are all `s op e` with op
/// one of + * min max and or & | ^ and e free of accumulators.
bool is_free_of_order(const Reduction& reduction);

/// The same reduction for elements that come from the last to the first. Needs a merge, or is_free_of_order.
Reduction reversed(const Reduction& reduction);

/// A reduction whose elements are states: accumulator k of each is `states[k]`.
Reduction over_states(const Reduction& reduction, const std::vector<Expr>& states);

/// The same reduction, where steps without `valid` keep the state.
Reduction masked(Reduction reduction, const Expr& valid);

}  // namespace frit
