#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/passes/gradient/derivative.h"
#include "ir/graph.h"

namespace frit::reverse {

/// The adjoints of a graph while they grow: every value gathers what its readers send. Adjoints are stored in the
/// computing type (f32 for f16 and bf16), so that sums of several readers are rounded once, at the end.
class Adjoints {
 public:
  /// Derivatives flow to values of the first `end` nodes that depend on `wrt`, and to those themselves.
  /// No derivative flows past `stops`.
  Adjoints(Graph& graph, std::span<const Value> wrt, int end, std::span<const Value> stops = {});

  Graph& graph() { return graph_; }
  bool is_active(Value v) const { return active_.contains(v); }
  bool is_stop(int node) const { return stops_.contains(node); }
  /// Whether the adjoint of this value is wanted itself, so that no reader may look through it.
  bool is_pinned(Value v) const { return roots_.contains(v) || stops_.contains(v.node); }
  void add(Value primal, Value adjoint) { parts_[primal].push_back(adjoint); }
  /// The sum of what was added; nothing was: no value.
  std::optional<Value> total(Value primal);

 private:
  Graph& graph_;
  std::set<Value> roots_, active_;
  std::set<int> stops_;
  std::map<Value, std::vector<Value>> parts_;
};

/// Formulas over one set of axes that read `inputs`. Reads of the slots in `seeds` are adjoints: formulas are linear in
/// them.
struct Space {
  std::vector<Axis> axes;
  std::vector<Value> inputs;
  std::set<int> seeds;
  std::string label;

  int slot_of(Value v);
  int seed_slot_of(Value v);
};

/// Sends the adjoints of reads back to the tensors that are read: the adjoint of element q is the sum of `adjoint` over
/// all indices that read q. Reads that become sums of products get an operand with a zero border instead of a guard.
void pull_back(Adjoints& adjoints, const Space& space, std::span<const LeafAdjoint> reads);

/// A tensor of `formula` over the first axes of the space (`free` of them), summed over the others. A plain move becomes
/// a View, or is what it reads.
Value emit(Graph& graph, const Space& space, int free, const Expr& formula);

/// Adds the adjoints of the operands of the nodes before `end`, last node first.
void sweep(Adjoints& adjoints, int end);
/// Adds the adjoints of the operands of `node`, whose results have theirs.
void add_node_adjoints(Adjoints& adjoints, int node);
void add_compute_adjoints(Adjoints& adjoints, int node);

/// The indices 0 .. n-1.
std::vector<Expr> indices(size_t n);

}  // namespace frit::reverse
