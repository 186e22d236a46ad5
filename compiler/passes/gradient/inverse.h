#pragma once
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace frit::reverse {

/// Where a tensor is read: at `positions` over `axes`, where `condition` holds.
struct IndexMap {
  std::vector<Axis> axes;
  std::vector<Expr> positions;
  Expr condition;
};

/// The same points, walked from the elements of the tensor. Axes: first one for each axis of the tensor (its index q),
/// then the old axes that q does not determine. An old point i is `values` where all `ranges`, `remainders` and `tests`
/// hold, and every old point of q is met exactly once.
struct Inverse {
  struct Range {
    Expr value, extent;  // 0 <= value < extent
  };
  std::vector<Axis> axes;
  int free = 0;              // the q
  std::vector<Expr> values;  // of each old axis
  std::vector<Range> ranges;
  std::vector<Expr> remainders;  // u % c = 0 of exact divisions
  std::vector<Expr> tests;       // other conditions
  bool is_empty = false;  // no point at all
};

/// Solves positions(i) = q for i. Each position is a sum of axes with integer coefficients, perhaps after `//` and `%`
/// by constants were split into digits of an axis, or after an exact division (`u // s` where the condition says
/// u % s = 0) was multiplied out. For each axis of the tensor as many old axes are solved as are unique, the largest
/// ones; a coefficient c other than 1 and -1 gives u // c and the remainder u % c = 0.
/// returns   nothing where a position depends on data or has another form
/// errors    UnsupportedError: an extent that is not a number
std::optional<Inverse> invert(const IndexMap& map, const Shape& shape);

}  // namespace frit::reverse
