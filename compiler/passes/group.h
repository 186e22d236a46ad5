#pragma once
#include "codegen/group.h"
#include "codegen/lower/lower.h"
#include "ir/graph.h"

namespace frit {

/// Decides which computes share a kernel and how tensors are stored.
/// needs   a simplified, verified graph
/// gives   every Compute in one group or inlined; layouts of intermediate values; packings of operands
/// keeps   the value of every output
Grouping group(const Graph& graph, const Machine& machine);

}  // namespace frit
