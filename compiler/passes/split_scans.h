#pragma once
#include "ir/graph.h"

namespace frit {

/// Cuts long scans with few others beside them into chunks: the state of each chunk, an exclusive scan of those, and the
/// scan of each chunk from there.
///     y[c*q + r] = merge(states of chunks before c, reduce over i <= r of x[c*q + i])
/// Rows of chunks run side by side and workers share them, for one more pass over the operands. The chunks follow from the
/// shape alone, so the order of a sum does not depend on threads.
/// needs   a verified graph; before split_reductions, which may cut the states of long chunks
/// keeps   meaning: only scans with a merge are cut, and only if every result keeps the axis
Graph split_scans(const Graph& graph);

constexpr int64_t kLongScan = 32768;
constexpr int64_t kScanChunk = 4096;
constexpr int64_t kFewScans = 8;  // from here on the scans themselves are rows enough

}  // namespace frit
