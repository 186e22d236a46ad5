#pragma once
#include "codegen/lower/lower.h"

namespace frit {

/// Lowers a group whose root is a Scatter: each share copies its part of the base and applies its updates in row-major
/// order of the axes, so that results do not depend on how shares are cut. Two ways to cut the result:
///   slabs   along the axes that the write names by themselves, when they give enough tiles; one is the vector axis
///   ranges  of the first other axis: a share goes through all updates once and applies those in its range
/// The base is read only where no copy of it is made in place (`StorageLookup::in_place`).
Lowered lower_scatter(const Graph& graph, const Group& group, const StorageLookup& storages, const Machine& machine);

}  // namespace frit
