// What a graph promises; the numbers are those of docs: types as inferred, reads inside, combiners neutral, parts
// disjoint.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "ir/analysis.h"
#include "ir/graph.h"
#include "ir/graph_text.h"
#include "support/error.h"

namespace frit {
namespace {

class NodeVerifier {
 public:
  NodeVerifier(const Graph& graph, int id, std::vector<std::string>& findings)
      : graph_(graph), node_(graph.node(id)), id_(id), findings_(findings) {}

  void run() {
    std::vector<TensorType> types;
    for (const Value v : node_.inputs) {
      if (v.node < 0 || v.node >= id_ || v.result < 0 || static_cast<size_t>(v.result) >= graph_.node(v).results.size())
        return find("an operand is not a result of an earlier node");
      types.push_back(graph_.type(v));
    }
    for (const TensorType& type : node_.results)
      for (const Expr& extent : type.shape)
        if (extent.is_constant() && extent.int_value() < 0) find("an extent is negative: " + to_string(type));
    if (std::holds_alternative<Input>(node_.payload)) return;
    try {
      if (infer(node_.payload, types) != node_.results) find("the result types are not what follows from the node");
    } catch (const InternalError& error) {
      return find(error.what());
    }
    if (const auto* c = std::get_if<Compute>(&node_.payload)) verify_compute(*c, types);
    if (const auto* v = std::get_if<View>(&node_.payload)) verify_view(*v, types[0]);
    if (const auto* a = std::get_if<Assemble>(&node_.payload)) verify_assemble(*a, types);
    if (const auto* s = std::get_if<Scatter>(&node_.payload)) verify_scatter(*s, types);
    if (const auto* c = std::get_if<CustomGradient>(&node_.payload)) verify_clause(*c);
  }

 private:
  void find(const std::string& what) { findings_.push_back(what + "\n  " + node_text(graph_, id_)); }

  void verify_compute(const Compute& c, const std::vector<TensorType>& types) {
    IndexAnalysis all(c.axes);
    std::vector<Expr> free_extents;
    for (int a = 0; a < c.free; ++a) free_extents.push_back(c.axes[static_cast<size_t>(a)].extent);
    IndexAnalysis free(free_extents);
    for (const Expr& e : c.reduction.init) verify_expr(e, types, free);
    for (const Expr& e : c.reduction.step) verify_expr(e, types, all);
    for (const Expr& e : c.reduction.merge) verify_expr(e, types, free);
    checked_.clear();  // an empty reduction proves nothing about what is read beside it
    for (const Compute::Result& r : c.results) verify_expr(r.value, types, c.keeps(r) ? all : free);
    verify_reduction(c.reduction);
  }

  void verify_expr(const Expr& root, const std::vector<TensorType>& types, IndexAnalysis& analysis) {
    for_each_node(root, [&](const Expr& e) {
      if (!checked_.insert(e).second) return;
      if (const std::string error = type_error(e.op(), e.dtype(), e.args()); !error.empty())
        find("operands do not fit: " + error);
      if (e.op() != Op::Read || e.is_guarded()) return;
      verify_inside(e.positions(), types[static_cast<size_t>(e.slot())], analysis);
    });
  }

  void verify_inside(std::span<const Expr> positions, const TensorType& type, IndexAnalysis& analysis) {
    for (size_t d = 0; d < positions.size(); ++d) {
      if (analysis.is_inside(positions[d], type.shape[d]) || analysis.is_empty()) continue;
      const Range r = analysis.range(analysis.simplify(positions[d]));
      find(fmt::format("a read may leave axis {} of {}: {} is {} to {}", d, to_string(type), to_string(positions[d]),
                       r.low, r.high));
    }
  }

  // Built-in reducers have the form that make_reduction gives, so that schedules may rely on the name.
  void verify_reduction(const Reduction& r) {
    if (r.op == ReduceOp::None) return;
    for (const Expr& init : r.init)
      if (init.dtype() != compute_dtype(init.dtype())) find("an accumulator of a storage type");
    if (r.op == ReduceOp::Fold) return;
    const bool arg = r.op == ReduceOp::ArgMax || r.op == ReduceOp::ArgMin;
    bool same = false;
    if (!arg) {
      const bool form =
          r.init.size() == 1 && is_binary(r.step[0].op()) && r.step[0].arg(0) == accumulator(r.init[0].dtype(), 0);
      same = form && mentions_no_accumulator(r.step[0].arg(1)) && equal(r, make_reduction(r.op, r.step[0].arg(1)));
    } else if (r.init.size() >= 2 && r.step[0].op() == Op::Select && r.step[1].op() == Op::Select) {
      const Expr &e = r.step[0].arg(1), &position = r.step[1].arg(1);
      same = mentions_no_accumulator(e) && mentions_no_accumulator(position) &&
             equal(r, make_reduction(r.op, e, position));
    }
    if (!same) find("not the form of the reducer " + std::string(name(r.op)));
  }

  // A payload that simplifies to a non-negative form keeps its flag; so the init and merge of either form will do.
  static bool equal(const Reduction& a, const Reduction& b) {
    if (a.op == ReduceOp::ArgMax || a.op == ReduceOp::ArgMin) return a.init[0] == b.init[0] && a.init[1] == b.init[1];
    return a.init == b.init && a.step == b.step && a.merge == b.merge;
  }

  static bool mentions_no_accumulator(const Expr& root) {
    bool none = true;
    for_each_node(root, [&](const Expr& e) { none = none && e.op() != Op::Acc && e.op() != Op::AccRight; });
    return none;
  }

  void verify_view(const View& v, const TensorType& base) {
    IndexAnalysis analysis(v.axes);
    for (const Expr& p : v.positions)
      for_each_node(p, [&](const Expr& e) {
        if (const std::string error = type_error(e.op(), e.dtype(), e.args()); !error.empty())
          find("operands do not fit: " + error);
      });
    verify_inside(v.positions, base, analysis);
  }

  // Written positions may be anywhere: those outside are skipped.
  void verify_scatter(const Scatter& s, const std::vector<TensorType>& types) {
    IndexAnalysis analysis(s.axes);
    for (const Expr& p : s.positions) verify_expr(p, types, analysis);
    verify_expr(s.value, types, analysis);
  }

  void verify_clause(const CustomGradient& c) {
    for (const std::string& finding : verify(*c.clause)) find("in a gradient clause: " + finding);
  }

  struct Lattice {
    int64_t offset, step, extent;
  };

  static __int128 last_of(const Lattice& l) { return l.offset + static_cast<__int128>(l.step) * (l.extent - 1); }

  // Whether two arithmetic progressions, inside the tensor, have an element in common.
  static bool meet(Lattice a, Lattice b) {
    if (a.extent == 0 || b.extent == 0) return false;
    if (a.step < b.step) std::swap(a, b);
    const int64_t g = std::gcd(a.step, b.step);
    if ((a.offset - b.offset) % g != 0) return false;
    const int64_t low = std::max(a.offset, b.offset);
    const int64_t high = std::min(a.offset + a.step * (a.extent - 1), b.offset + b.step * (b.extent - 1));
    // The first element of a from `low` on that is in b: at most b.step/g tries.
    int64_t v = a.offset + (low - a.offset + a.step - 1) / a.step * a.step;
    for (int64_t tries = 0; tries < b.step / g && v <= high; ++tries, v += a.step)
      if ((v - b.offset) % b.step == 0) return true;
    return false;
  }

  void verify_assemble(const Assemble& a, const std::vector<TensorType>& types) {
    std::vector<std::vector<Lattice>> parts;
    bool known = std::all_of(a.shape.begin(), a.shape.end(), [](const Expr& e) { return e.is_constant(); });
    for (size_t p = 0; p < types.size(); ++p) {
      std::vector<Lattice> axes;
      for (size_t d = 0; d < a.shape.size(); ++d) {
        const Expr& extent = types[p].shape[d];
        known = known && extent.is_constant();
        axes.push_back({a.parts[p].offset[d], a.parts[p].step[d], extent.is_constant() ? extent.int_value() : -1});
        const Lattice& l = axes.back();
        if (l.step < 1 || l.offset < 0) return find(fmt::format("part {} has a step below 1 or an offset below 0", p));
        if (a.shape[d].is_constant() && l.extent > 0 && last_of(l) >= a.shape[d].int_value())
          return find(fmt::format("part {} leaves axis {}", p, d));
      }
      parts.push_back(std::move(axes));
    }
    if (!known) return;  // sizes are checked again when they are known
    int64_t filled = 0;
    for (const TensorType& type : types) filled += element_count(static_shape(type.shape));
    if (filled != element_count(static_shape(a.shape)))
      find(fmt::format("the parts fill {} elements of {}", filled, element_count(static_shape(a.shape))));
    for (size_t p = 0; p < parts.size(); ++p)
      for (size_t q = 0; q < p; ++q)
        if (overlap(parts[p], parts[q])) return find(fmt::format("parts {} and {} overlap", q, p));
  }

  static bool overlap(const std::vector<Lattice>& a, const std::vector<Lattice>& b) {
    for (size_t d = 0; d < a.size(); ++d)
      if (!meet(a[d], b[d])) return false;
    return true;
  }

  const Graph& graph_;
  const Node& node_;
  int id_;
  std::vector<std::string>& findings_;
  std::unordered_set<Expr, ExprHash> checked_;
};

}  // namespace

std::vector<std::string> verify(const Graph& graph) {
  std::vector<std::string> findings;
  std::set<std::string> names;
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    const int node = static_cast<int>(id);
    NodeVerifier(graph, node, findings).run();
    const auto* input = std::get_if<Input>(&graph.node(node).payload);
    if (input && !names.insert(input->name).second)
      findings.push_back("two inputs of one name\n  " + node_text(graph, node));
  }
  for (const Graph::Output& out : graph.outputs()) {
    const bool exists = out.value.node >= 0 && static_cast<size_t>(out.value.node) < graph.nodes().size() &&
                        out.value.result >= 0 &&
                        static_cast<size_t>(out.value.result) < graph.node(out.value).results.size();
    if (!exists) findings.push_back("output \"" + out.name + "\" is no value of the graph");
  }
  return findings;
}

}  // namespace frit
