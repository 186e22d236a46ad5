// Nodes that are no computes: views, assembles, scatters, sorts, and clauses of the user.
#include <algorithm>

#include "compiler/passes/gradient/adjoints.h"
#include "support/error.h"

namespace frit::reverse {
namespace {

// out[i] = in[positions(i)]: a compute that only moves.
void add_view_adjoint(Adjoints& adjoints, const Node& node, const View& view, Value adjoint) {
  const DType dtype = compute_dtype(node.results[0].dtype);
  Space space{view.axes, {node.inputs[0]}, {}, node.label};
  const LeafAdjoint element{read(dtype, 0, view.positions),
                            read(dtype, space.seed_slot_of(adjoint), indices(view.axes.size()))};
  pull_back(adjoints, space, {&element, 1});
}

// Each part takes its lattice back.
void add_assemble_adjoints(Adjoints& adjoints, const Node& node, const Assemble& assemble, Value adjoint) {
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

// y[p(i)] += v(i): the base takes all, v(i) what arrives at p(i).
// y[p(i)] = v(i): the same, for elements that nothing is written to, and for the last write of each element. A tensor
// of the numbers of the last writes tells them apart.
class ScatterAdjoint {
 public:
  ScatterAdjoint(Adjoints& adjoints, const Node& node, const Scatter& scatter, Value adjoint)
      : adjoints_(adjoints), node_(node), scatter_(scatter), adjoint_(adjoint) {
    if (scatter.op == ScatterOp::Add || scatter.op == ScatterOp::Set) return;
    throw UnsupportedError(Finding{.where = node.label,
                                   .what = "the gradient of this write is not derived",
                                   .excerpt = {},
                                   .got = std::string(name(scatter.op)),
                                   .expected = "+= or =",
                                   .fix = "give the definition a grad clause",
                                   .from = {}});
  }

  void run() {
    if (scatter_.op == ScatterOp::Set) last_ = last_writes();
    if (adjoints_.is_active(node_.inputs[0])) adjoints_.add(node_.inputs[0], of_base());
    add_to_values();
  }

 private:
  const Shape& shape() const { return node_.results[0].shape; }

  Expr flat() const {
    Expr flat = index_constant(0);
    for (size_t a = 0; a < scatter_.axes.size(); ++a)
      flat = flat * scatter_.axes[a].extent + index(static_cast<int>(a));
    return flat;
  }

  Space over_elements(const char* part) const {
    Space space;
    space.label = node_.label + part;
    for (const Expr& extent : shape()) space.axes.push_back({"i" + std::to_string(space.axes.size()), extent});
    return space;
  }

  // The row-major number of the last write of each element, else -1.
  Value last_writes() {
    const Value none = emit(adjoints_.graph(), over_elements(".none"), static_cast<int>(shape().size()),
                            index_constant(-1));
    std::vector<Value> inputs = node_.inputs;
    inputs.insert(inputs.begin(), none);
    const auto moved = [](const Expr& root) {
      return rewrite(root, [](const Expr& e) -> Expr {
        if (e.op() != Op::Read) return {};
        return e.is_guarded()
                   ? guarded_read(e.dtype(), e.slot() + 1, e.positions(), e.guard_condition(), e.fill())
                   : read(e.dtype(), e.slot() + 1, e.positions());
      });
    };
    Scatter writes{scatter_.axes, ScatterOp::Set, {}, flat()};
    for (const Expr& p : scatter_.positions) writes.positions.push_back(moved(p));
    return adjoints_.graph().add(Node{node_.label + ".last", std::move(inputs), {}, std::move(writes)});
  }

  Value of_base() {
    if (!last_) return adjoint_;
    Space space = over_elements(".kept");
    const std::vector<Expr> at = indices(shape().size());
    const Expr untouched = binary(Op::Lt, read(DType::I64, space.slot_of(*last_), at), index_constant(0));
    const Expr element = read(dtype(), space.seed_slot_of(adjoint_), at);
    return emit(adjoints_.graph(), space, static_cast<int>(at.size()), where(untouched, element));
  }

  void add_to_values() {
    Space space{scatter_.axes, node_.inputs, {}, node_.label};
    const Expr seed = guarded_read(dtype(), space.seed_slot_of(adjoint_), scatter_.positions, true_value(),
                                   zero_of(dtype()));
    Expr wins = true_value();
    if (last_) {
      const Expr last = guarded_read(DType::I64, space.slot_of(*last_), scatter_.positions, true_value(),
                                     index_constant(-1));
      wins = binary(Op::Eq, last, flat());
    }
    DerivativeOptions options;
    options.is_active = [&](const Expr& leaf) {
      return is_float(leaf.dtype()) && adjoints_.is_active(space.inputs[static_cast<size_t>(leaf.slot())]);
    };
    const SeededRoot root{scatter_.value, seed, wins};
    pull_back(adjoints_, space, leaf_adjoints({&root, 1}, options));
  }

  DType dtype() const { return compute_dtype(node_.results[0].dtype); }

  Adjoints& adjoints_;
  const Node& node_;
  const Scatter& scatter_;
  Value adjoint_;
  std::optional<Value> last_;
};

// Sorted values go back to where they came from.
void add_sort_adjoint(Adjoints& adjoints, int id, const Node& node, const Sort& sort, Value adjoint) {
  const Shape& shape = node.results[0].shape;
  const DType dtype = compute_dtype(node.results[0].dtype);
  Space space;
  space.label = node.label;
  for (const Expr& extent : shape) space.axes.push_back({"i" + std::to_string(space.axes.size()), extent});
  const std::vector<Expr> at = indices(shape.size());
  std::vector<Expr> from = at;
  from[static_cast<size_t>(sort.axis)] = read(DType::I64, space.slot_of({id, 1}), at);
  const LeafAdjoint element{read(dtype, space.slot_of(node.inputs[0]), from),
                            read(dtype, space.seed_slot_of(adjoint), at)};
  pull_back(adjoints, space, {&element, 1});
}

// ---------------------------------------------------------------------------------------------- clauses

Value in_dtype(Graph& graph, Value v, DType dtype) {
  const TensorType type = graph.type(v);
  if (type.dtype == dtype) return v;
  Space space;
  space.label = "cast";
  for (const Expr& extent : type.shape) space.axes.push_back({"i" + std::to_string(space.axes.size()), extent});
  const Expr element = read(compute_dtype(type.dtype), space.slot_of(v), indices(type.shape.size()));
  return emit(graph, space, static_cast<int>(type.shape.size()), cast(element, dtype));
}

// Adds the nodes of `inner` with its inputs replaced; gives its outputs.
std::vector<Value> inlined(Graph& graph, const Graph& inner, const std::vector<Value>& inputs) {
  std::vector<int> place(inner.nodes().size(), -1);
  std::map<int, Value> given;
  const std::vector<int> nodes = inner.input_nodes();
  for (size_t k = 0; k < nodes.size(); ++k) given[nodes[k]] = inputs[k];
  const auto moved = [&](Value v) {
    const auto input = given.find(v.node);
    return input != given.end() ? input->second : Value{place[static_cast<size_t>(v.node)], v.result};
  };
  for (size_t id = 0; id < inner.nodes().size(); ++id) {
    if (given.contains(static_cast<int>(id))) continue;
    Node node = inner.nodes()[id];
    for (Value& v : node.inputs) v = moved(v);
    place[id] = graph.add(std::move(node)).node;
  }
  std::vector<Value> outputs;
  for (const Graph::Output& out : inner.outputs()) outputs.push_back(moved(out.value));
  return outputs;
}

// The operands of a clause get what it says; the others what is derived from the values, with operands as inputs.
void add_clause_adjoints(Adjoints& adjoints, int id, const Node& node, const CustomGradient& custom) {
  Graph& graph = adjoints.graph();
  const std::vector<Value> operands(node.inputs.begin(), node.inputs.begin() + custom.operands);
  const std::vector<Value> values(node.inputs.begin() + custom.operands, node.inputs.end());
  std::vector<std::optional<Value>> totals;
  for (size_t r = 0; r < values.size(); ++r) totals.push_back(adjoints.total({id, static_cast<int>(r)}));
  if (std::none_of(totals.begin(), totals.end(), [](const auto& t) { return t.has_value(); })) return;

  std::vector<Value> inputs = node.inputs;
  for (size_t r = 0; r < values.size(); ++r) {
    const TensorType type = node.results[r];
    if (totals[r]) {
      inputs.push_back(in_dtype(graph, *totals[r], type.dtype));
      continue;
    }
    Space zero;
    zero.label = "zero";
    for (const Expr& extent : type.shape) zero.axes.push_back({"i" + std::to_string(zero.axes.size()), extent});
    const Expr nothing = cast(zero_of(compute_dtype(type.dtype)), type.dtype);
    inputs.push_back(emit(graph, zero, static_cast<int>(type.shape.size()), nothing));
  }
  std::set<Value> derived(operands.begin(), operands.end());
  const std::vector<Value> adjoint_of = inlined(graph, *custom.clause, inputs);
  for (size_t k = 0; k < custom.overridden.size(); ++k) {
    const Value operand = operands[static_cast<size_t>(custom.overridden[k])];
    derived.erase(operand);
    if (adjoints.is_active(operand))
      adjoints.add(operand, in_dtype(graph, adjoint_of[k], compute_dtype(graph.type(operand).dtype)));
  }
  std::erase_if(derived, [&](Value v) { return !adjoints.is_active(v); });
  if (derived.empty()) return;

  const std::vector<Value> wrt(derived.begin(), derived.end());
  Adjoints inner(graph, wrt, id, operands);
  for (size_t r = 0; r < values.size(); ++r)
    if (totals[r] && inner.is_active(values[r])) inner.add(values[r], *totals[r]);
  sweep(inner, id);
  for (const Value v : wrt)
    if (const auto total = inner.total(v)) adjoints.add(v, *total);
}

}  // namespace

void sweep(Adjoints& adjoints, int end) {
  for (int id = end; id-- > 0;) {
    const std::vector<Value> inputs = adjoints.graph().node(id).inputs;
    const bool active = std::any_of(inputs.begin(), inputs.end(), [&](Value v) { return adjoints.is_active(v); });
    if (active && !adjoints.is_stop(id)) add_node_adjoints(adjoints, id);
  }
}

void add_node_adjoints(Adjoints& adjoints, int id) {
  const Node node = adjoints.graph().node(id);  // a copy: the graph grows
  if (std::holds_alternative<Compute>(node.payload)) return add_compute_adjoints(adjoints, id);
  if (const auto* custom = std::get_if<CustomGradient>(&node.payload))
    return add_clause_adjoints(adjoints, id, node, *custom);
  const auto adjoint = adjoints.total({id, 0});
  if (!adjoint) return;
  if (const auto* view = std::get_if<View>(&node.payload)) add_view_adjoint(adjoints, node, *view, *adjoint);
  if (const auto* parts = std::get_if<Assemble>(&node.payload)) add_assemble_adjoints(adjoints, node, *parts, *adjoint);
  if (const auto* scatter = std::get_if<Scatter>(&node.payload))
    ScatterAdjoint(adjoints, node, *scatter, *adjoint).run();
  if (const auto* sort = std::get_if<Sort>(&node.payload)) add_sort_adjoint(adjoints, id, node, *sort, *adjoint);
}

}  // namespace frit::reverse
