#pragma once
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace frit {

/// An output of a graph and the adjoint that arrives there: same shape, and its dtype or the type it is computed in.
struct Seed {
  Value output;
  Value adjoint;
};

/// Appends the reverse sweep to a graph (docs/gradient.md).
///     returns[k] = sum over seeds of adjoint * d output / d wrt[k]
/// wrt      float values of the graph; each adjoint has the shape and dtype of its primal, and is zero where no seed
///          depends on it
/// gives    ordinary nodes, which can be differentiated again; what the sweep needs of the forward pass is read there
/// errors   InputError: an integer or bool value in wrt; UnsupportedError: an extent that is not a number
std::vector<Value> add_gradients(Graph& graph, std::span<const Seed> seeds, std::span<const Value> wrt);

/// The graph that computes gradients of `graph`: its inputs and one more, d_NAME, for each float output; its outputs
/// are d_NAME for each input named. Names that are taken get another `_`.
/// wrt      names of float inputs
/// errors   InputError: no such input, or one that is not float
Graph gradient(const Graph& graph, std::span<const std::string> wrt);

}  // namespace frit
