#pragma once
#include <optional>

#include "ir/graph.h"

namespace frit::onnx {

/// The elements of a small value that depends on small constants only, as where a size is worked out in floats; nothing
/// for others. Every node is evaluated by the reference interpreter and rounded to its dtype, so that a size comes out
/// as a runtime that computes in that dtype has it.
std::optional<Array> evaluate_constant(const Graph& graph, Value value);

}  // namespace frit::onnx
