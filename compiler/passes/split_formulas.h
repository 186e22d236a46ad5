#pragma once
#include "ir/graph.h"

namespace frit {

/// Cuts pointwise computes that read very many tensors into several, since a kernel takes 64 buffers: the largest parts
/// of the formula that read at most `kMostReads` tensors become tensors of their own.
/// needs   a verified graph
/// gives   pointwise computes over at most about twice `kMostReads` tensors; grouping keeps kernels below the limit
/// keeps   every operation and its order; parts are stored in the type they are computed in
/// order   after simplify; before group
Graph split_formulas(const Graph& graph);

constexpr size_t kMostReads = 24;

}  // namespace frit
