#include "compiler/passes/widen_scatters.h"

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
  Graph out;
  std::vector<std::vector<Value>> moved(graph.nodes().size());
  const auto at = [&](const Value& v) { return moved[static_cast<size_t>(v.node)][static_cast<size_t>(v.result)]; };
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    Node copy = node;
    for (Value& v : copy.inputs) v = at(v);
    if (is_narrow_sum(graph, node)) {
      const DType dtype = node.results[0].dtype;
      copy.inputs[0] = stored_as(out, copy.inputs[0], compute_dtype(dtype), node.label);
      moved[n] = {stored_as(out, out.add(std::move(copy)), dtype, node.label)};
      continue;
    }
    const Value first = out.add(std::move(copy));
    for (size_t r = 0; r < node.results.size(); ++r) moved[n].push_back({first.node, static_cast<int>(r)});
  }
  std::vector<Graph::Output> outputs;
  for (const Graph::Output& o : graph.outputs()) outputs.push_back({o.name, at(o.value)});
  out.set_outputs(std::move(outputs));
  return out;
}

}  // namespace frit
