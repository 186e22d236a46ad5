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

Adjoints::Adjoints(Graph& graph, std::span<const Value> wrt) : graph_(graph) {
  const std::set<Value> roots(wrt.begin(), wrt.end());
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.nodes()[id];
    const bool reached =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](Value v) { return active_.contains(v); });
    for (size_t r = 0; r < node.results.size(); ++r) {
      const Value v{static_cast<int>(id), static_cast<int>(r)};
      if (is_float(node.results[r].dtype) && (reached || roots.contains(v))) active_.insert(v);
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

// ------------------------------------------------------------------------------------------------ nodes

namespace {

// out[i] = in[positions(i)]: a compute that only moves.
void add_view_adjoint(Adjoints& adjoints, int id, const View& view, Value adjoint) {
  const Node& node = adjoints.graph().node(id);
  const DType dtype = compute_dtype(node.results[0].dtype);
  Space space{view.axes, {node.inputs[0]}, {}, node.label};
  const LeafAdjoint element{read(dtype, 0, view.positions),
                            read(dtype, space.seed_slot_of(adjoint), indices(view.axes.size()))};
  pull_back(adjoints, space, {&element, 1});
}

// Each part takes its lattice back.
void add_assemble_adjoints(Adjoints& adjoints, int id, const Assemble& assemble, Value adjoint) {
  const Node node = adjoints.graph().node(id);
  for (size_t p = 0; p < assemble.parts.size(); ++p) {
    if (!adjoints.is_active(node.inputs[p])) continue;
    const TensorType& type = adjoints.graph().type(node.inputs[p]);
    View view;
    for (size_t d = 0; d < type.shape.size(); ++d) {
      view.axes.push_back({"i" + std::to_string(d), type.shape[d]});
      const auto axis = static_cast<int>(d);
      view.positions.push_back(index(axis) * index_constant(assemble.parts[p].step[d]) +
                               index_constant(assemble.parts[p].offset[d]));
    }
    adjoints.add(node.inputs[p], adjoints.graph().add_view(std::move(view), adjoint, "d_" + node.label));
  }
}

}  // namespace

void add_node_adjoints(Adjoints& adjoints, int id) {
  const Payload payload = adjoints.graph().node(id).payload;  // a copy: the graph grows
  if (std::holds_alternative<Compute>(payload)) return add_compute_adjoints(adjoints, id);
  const auto adjoint = adjoints.total({id, 0});
  if (!adjoint) return;
  if (const auto* view = std::get_if<View>(&payload)) add_view_adjoint(adjoints, id, *view, *adjoint);
  if (const auto* assemble = std::get_if<Assemble>(&payload)) add_assemble_adjoints(adjoints, id, *assemble, *adjoint);
}

}  // namespace frit::reverse
