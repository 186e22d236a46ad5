// Computes: pointwise formulas, and reductions through their accumulators.
#include <algorithm>
#include <array>

#include "compiler/passes/gradient/adjoints.h"
#include "compiler/passes/gradient/reductions.h"
#include "support/error.h"

namespace frit::reverse {
namespace {

// Whether it is cheaper to read the stored result than to compute the value again.
bool is_costly(const Expr& e) {
  return (is_unary(e.op()) && e.op() != Op::Neg && e.op() != Op::Cast && e.op() != Op::Abs && e.op() != Op::Sign) ||
         e.op() == Op::Div || e.op() == Op::Pow || e.op() == Op::Atan2 || e.op() == Op::LogAddExp;
}

bool mentions_accumulator(const Expr& root) {
  bool found = false;
  for_each_node(root, [&](const Expr& e) { found |= e.op() == Op::Acc; });
  return found;
}

class ComputeAdjoint {
 public:
  ComputeAdjoint(Adjoints& adjoints, int id)
      : adjoints_(adjoints), id_(id), node_(adjoints.graph().node(id)), compute_(std::get<Compute>(node_.payload)) {}

  void run() {
    Reduced reduced{node_, compute_, options(), results(false), {}};
    reduced.kept = results(true);
    add_reduction_adjoints(adjoints_, reduced);
  }

 private:
  Graph& graph() { return adjoints_.graph(); }

  // Derives the results that keep the reduced axis, or the others: adjoints go to what their formulas read; those of
  // the accumulators are returned, as tensors.
  std::vector<std::optional<Value>> results(bool kept) {
    std::vector<std::optional<Value>> states(compute_.reduction.init.size());
    const auto rank = kept ? static_cast<int>(compute_.axes.size()) : compute_.free;
    Space space{{compute_.axes.begin(), compute_.axes.begin() + rank}, node_.inputs, {}, node_.label};
    const std::vector<SeededRoot> roots = seeded_results(kept, space);
    if (roots.empty()) return states;
    std::vector<LeafAdjoint> reads;
    for (const LeafAdjoint& leaf : leaf_adjoints(roots, options())) {
      if (!leaf.adjoint) continue;
      const Expr adjoint = with_stored_values(leaf.adjoint, kept, space);
      if (leaf.leaf.op() == Op::Read)
        reads.push_back({leaf.leaf, adjoint});
      else
        states[leaf.leaf.bits()] = emit(graph(), space, rank, adjoint);
    }
    pull_back(adjoints_, space, reads);
    return states;
  }

  DerivativeOptions options() {
    DerivativeOptions o;
    o.is_active = [this](const Expr& leaf) {
      return is_float(leaf.dtype()) &&
             (leaf.op() != Op::Read || adjoints_.is_active(node_.inputs[static_cast<size_t>(leaf.slot())]));
    };
    o.inside = [this](const Expr& read) {
      Expr all = read.guard_condition();
      const Shape& shape = graph().type(node_.inputs[static_cast<size_t>(read.slot())]).shape;
      for (size_t d = 0; d < shape.size(); ++d)
        all = both(all, both(binary(Op::Le, index_constant(0), read.positions()[d]),
                             binary(Op::Lt, read.positions()[d], shape[d])));
      return all;
    };
    return o;
  }

  // A result without some free axis is the same along it: its adjoint belongs to index 0 there.
  std::vector<SeededRoot> seeded_results(bool kept, Space& space) {
    std::vector<SeededRoot> roots;
    for (size_t r = 0; r < compute_.results.size(); ++r) {
      const Compute::Result& result = compute_.results[r];
      const Value primal{id_, static_cast<int>(r)};
      const auto adjoint = adjoints_.total(primal);
      if (compute_.keeps(result) != kept || !adjoint || !adjoints_.is_active(primal)) continue;
      Expr condition = true_value();
      for (int a = 0; a < compute_.free; ++a)
        if (std::find(result.axes.begin(), result.axes.end(), a) == result.axes.end())
          condition = both(condition, binary(Op::Eq, index(a), index_constant(0)));
      const Expr seed = read(graph().type(*adjoint).dtype, space.seed_slot_of(*adjoint), positions_of(result));
      roots.push_back({result.value, seed, condition});
    }
    return roots;
  }

  static std::vector<Expr> positions_of(const Compute::Result& result) {
    std::vector<Expr> at;
    for (const int axis : result.axes) at.push_back(index(axis));
    return at;
  }

  // Results that are in memory are read where a derivative needs them; stored states where it mentions accumulators.
  Expr with_stored_values(const Expr& adjoint, bool kept, Space& space) {
    Expr e = adjoint;
    for (size_t r = 0; r < compute_.results.size(); ++r) {
      const Compute::Result& result = compute_.results[r];
      if (compute_.keeps(result) != kept || !(is_costly(result.value) || mentions_accumulator(result.value))) continue;
      e = rewrite(e, [&](const Expr& n) -> Expr {
        if (!(n == result.value)) return {};
        return read(n.dtype(), space.slot_of({id_, static_cast<int>(r)}), positions_of(result));
      });
    }
    if (!mentions_accumulator(e)) return e;
    const std::vector<Value> states = stored_states(kept);
    return rewrite(e, [&](const Expr& n) -> Expr {
      if (n.op() != Op::Acc) return {};
      return read(n.dtype(), space.slot_of(states[n.bits()]), indices(space.axes.size()));
    });
  }

  // The accumulators as tensors: at the end, or after each step.
  std::vector<Value> stored_states(bool kept) {
    std::vector<Value>& values = states_[kept ? 1 : 0];
    if (!values.empty()) return values;
    Compute c = compute_;
    std::vector<int> axes = free_axes(c);
    if (kept) axes.push_back(c.free);
    c.results.clear();
    for (size_t k = 0; k < c.reduction.init.size(); ++k)
      c.results.push_back({accumulator(c.reduction.init[k].dtype(), static_cast<int>(k)), axes});
    const Value first = graph().add_compute(std::move(c), node_.inputs, node_.label + ".states");
    for (size_t k = 0; k < compute_.reduction.init.size(); ++k) values.push_back({first.node, static_cast<int>(k)});
    return values;
  }

  Adjoints& adjoints_;
  int id_;
  const Node node_;  // copies: the graph grows
  const Compute compute_;
  std::array<std::vector<Value>, 2> states_;
};

}  // namespace

void add_compute_adjoints(Adjoints& adjoints, int id) { ComputeAdjoint(adjoints, id).run(); }

}  // namespace frit::reverse
