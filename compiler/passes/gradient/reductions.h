#pragma once
#include "compiler/passes/gradient/adjoints.h"

namespace frit::reverse {

/// A Compute with reduced axes, what its derivatives flow to, and the adjoints of its accumulators; none is zero.
struct Reduced {
  const Node& node;
  const Compute& compute;
  DerivativeOptions options;
  std::vector<std::optional<Value>> finals;  // of the states at the end, over the free axes
  std::vector<std::optional<Value>> kept;    // of the states after each step of a scan, over all axes
  bool is_zero() const;
  bool has_kept() const;
};

/// Sends the adjoints of the accumulators to the operands.
///   sum              to every element
///   max min          to the element that the arg form names; argmax and argmin: their payload too
///   prod, fold       the reverse recurrence over stored states; scans of any kind
///   any all          nothing
void add_reduction_adjoints(Adjoints& adjoints, const Reduced& reduced);
void add_fold_adjoints(Adjoints& adjoints, const Reduced& reduced);

/// Row-major position over the reduced axes.
Expr flat_position(const Compute& c);
/// The free axes, as axes of a result.
std::vector<int> free_axes(const Compute& c);

}  // namespace frit::reverse
