#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace frit {

/// The values that stand for the results of `node`, whose operands in the new graph `out` are `inputs`; nothing keeps the
/// node as it is.
using NodeRule = std::function<std::optional<std::vector<Value>>(Graph& out, const Node& node,
                                                                 const std::vector<Value>& inputs)>;

/// Rebuilds a graph node by node, in order, outputs included.
Graph rewrite_nodes(const Graph& graph, const NodeRule& rule);

/// All results of the node that `first` is result 0 of.
std::vector<Value> results_of(const Graph& graph, Value first);

}  // namespace frit
