#include "compiler/passes/gradient/adjoints.h"

#include <algorithm>

#include "support/error.h"

namespace frit::reverse {

std::vector<Expr> indices(size_t n) {
  std::vector<Expr> all;
  for (size_t k = 0; k < n; ++k) all.push_back(index(static_cast<int>(k)));
  return all;
}

int Space::slot_of(Value v) {
  for (size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k] == v && !seeds.contains(static_cast<int>(k))) return static_cast<int>(k);
  inputs.push_back(v);
  return static_cast<int>(inputs.size()) - 1;
}

// A value may be an operand and an adjoint at once (when gradients of gradients are taken): two slots.
int Space::seed_slot_of(Value v) {
  for (const int slot : seeds)
    if (inputs[static_cast<size_t>(slot)] == v) return slot;
  inputs.push_back(v);
  seeds.insert(static_cast<int>(inputs.size()) - 1);
  return static_cast<int>(inputs.size()) - 1;
}

Adjoints::Adjoints(Graph& graph, std::span<const Value> wrt, int end, std::span<const Value> stops)
    : graph_(graph), roots_(wrt.begin(), wrt.end()) {
  for (const Value v : stops) stops_.insert(v.node);
  for (int id = 0; id < end; ++id) {
    const Node& node = graph.node(id);
    const bool reached =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](Value v) { return active_.contains(v); });
    for (size_t r = 0; r < node.results.size(); ++r) {
      const Value v{id, static_cast<int>(r)};
      if (is_float(node.results[r].dtype) && (reached || roots_.contains(v))) active_.insert(v);
    }
  }
}

std::optional<Value> Adjoints::total(Value primal) {
  const auto found = parts_.find(primal);
  if (found == parts_.end()) return std::nullopt;
  std::vector<Value>& parts = found->second;
  if (parts.size() == 1) return parts[0];
  const TensorType type = graph_.type(parts[0]);
  Space space;
  space.label = "d_" + graph_.node(primal).label;
  for (const Expr& extent : type.shape) space.axes.push_back({"i" + std::to_string(space.axes.size()), extent});
  const std::vector<Expr> at = indices(type.shape.size());
  Expr sum;
  for (const Value v : parts) sum = plus(sum, read(type.dtype, space.slot_of(v), at));
  parts = {emit(graph_, space, static_cast<int>(at.size()), sum)};
  return parts[0];
}

}  // namespace frit::reverse
