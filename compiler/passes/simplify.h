#pragma once
#include "ir/analysis.h"
#include "ir/graph.h"

namespace frit {

/// Makes a graph smaller without changing any value, not even in the last bit or the sign of a zero.
///   dead nodes, results and operands are dropped; equal nodes become one
///   views, and computes that only copy, move into the reads of the computes behind them; identities go away
///   index arithmetic is simplified, guards that always hold are dropped
///   nodes over small constants are evaluated where the result is exact; computes of indices alone move into reads
///   float algebra only where it is exact for every value: x*1, x - 0.0, -(-x), constants
/// needs   a verified graph
/// gives   no view of a view; a view that remains is an output or read by something else than a Compute
/// keeps   inputs, outputs, their names and order; the order of every sum
/// again   simplifying twice is simplifying once
Graph simplify(const Graph& graph);

/// The scalar rules alone: index arithmetic under `analysis`, then exact float algebra.
Expr simplify_scalar(const Expr& e, IndexAnalysis& analysis);

}  // namespace frit
