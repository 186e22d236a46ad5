#include "compiler/passes/widen_scatters.h"

#include "compiler/passes/rewrite_nodes.h"

namespace frit {
namespace {

// x, read in its compute dtype, stored as `dtype`.
Value stored_as(Graph& graph, Value x, DType dtype, const std::string& label) {
  const TensorType type = graph.type(x);
  Compute compute;
  Compute::Result result;
  std::vector<Expr> indices;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    compute.axes.push_back({"i" + std::to_string(d), type.shape[d]});
    indices.push_back(index(static_cast<int>(d)));
    result.axes.push_back(static_cast<int>(d));
  }
  compute.free = static_cast<int>(compute.axes.size());
  result.value = cast(read(compute_dtype(type.dtype), 0, indices), dtype);
  compute.results.push_back(std::move(result));
  return graph.add_compute(std::move(compute), {x}, label);
}

bool is_narrow_sum(const Graph& graph, const Node& node) {
  const auto* scatter = std::get_if<Scatter>(&node.payload);
  if (!scatter || (scatter->op != ScatterOp::Add && scatter->op != ScatterOp::Mul)) return false;
  const DType dtype = graph.type(node.inputs[0]).dtype;
  return is_float(dtype) && compute_dtype(dtype) != dtype;
}

}  // namespace

Graph widen_scatters(const Graph& graph) {
  const NodeRule widen = [&](Graph& out, const Node& node,
                             const std::vector<Value>& inputs) -> std::optional<std::vector<Value>> {
    if (!is_narrow_sum(graph, node)) return std::nullopt;
    const DType dtype = node.results[0].dtype;
    Node wide = node;
    wide.inputs = inputs;
    wide.inputs[0] = stored_as(out, inputs[0], compute_dtype(dtype), node.label);
    const Value sum = out.add(std::move(wide));
    return std::vector<Value>{stored_as(out, sum, dtype, node.label)};
  };
  return rewrite_nodes(graph, widen);
}

}  // namespace frit
