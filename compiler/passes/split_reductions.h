#pragma once
#include "ir/graph.h"

namespace frit {

/// Cuts long reductions into chunks and merges the partial states in a second, short reduction.
///     y = merge over c of (reduce over i of x[c*q + i])
/// The chunks follow from the shape alone, so the order of a sum does not depend on threads; workers share the chunks;
/// a float sum has the error of a blocked sum, about (q + n/q) roundings and not n. needs   a verified graph gives
/// reductions over at most about `kLongReduction` elements where few results share the work keeps   meaning: only
/// reductions with a merge are cut, into contiguous ranges in row-major order
Graph split_reductions(const Graph& graph);

constexpr int64_t kLongReduction = 16384;
constexpr int64_t kReductionChunk = 4096;

}  // namespace frit
