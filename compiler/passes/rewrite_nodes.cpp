#include "compiler/passes/rewrite_nodes.h"

namespace frit {

std::vector<Value> results_of(const Graph& graph, Value first) {
  std::vector<Value> values;
  for (size_t r = 0; r < graph.node(first).results.size(); ++r) values.push_back({first.node, static_cast<int>(r)});
  return values;
}

Graph rewrite_nodes(const Graph& graph, const NodeRule& rule) {
  Graph out;
  std::vector<std::vector<Value>> moved;
  const auto at = [&](const Value& v) { return moved[static_cast<size_t>(v.node)][static_cast<size_t>(v.result)]; };
  for (const Node& node : graph.nodes()) {
    std::vector<Value> inputs;
    for (const Value& v : node.inputs) inputs.push_back(at(v));
    if (std::optional<std::vector<Value>> values = rule(out, node, inputs)) {
      moved.push_back(std::move(*values));
      continue;
    }
    Node copy = node;
    copy.inputs = std::move(inputs);
    const Value first = out.add(std::move(copy));
    moved.push_back(results_of(out, first));
  }
  std::vector<Graph::Output> outputs;
  for (const Graph::Output& o : graph.outputs()) outputs.push_back({o.name, at(o.value)});
  out.set_outputs(std::move(outputs));
  return out;
}

}  // namespace frit
