#pragma once
#include <optional>
#include <vector>

#include "compiler/passes/gradient/inverse.h"

namespace frit::reverse {

/// An index map whose axes are replaced by others that it is affine in.
struct Digits {
  std::vector<Axis> axes;
  std::vector<Expr> positions;  // over the new axes
  std::vector<Expr> values;     // of each old axis, over the new axes
  std::vector<Expr> tests;      // where digits stand for no old index
};

/// Axes that `//` and `%` by constants take apart become digits (i = i1*c + i0), after axes that are only used as one
/// flat number (i*n + j) were joined. Nothing where that does not make every position affine.
std::optional<Digits> split_digits(const std::vector<Axis>& axes, const std::vector<Expr>& positions);

}  // namespace frit::reverse
