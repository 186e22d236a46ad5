// The reverse recurrence of a fold. With states S[0] = init, S[t+1] = step(S[t], t) and L[t] the adjoint of S[t]:
//     L[T] = adjoint of the final state
//     L[t] = (L[t+1] + adjoint of what a scan stored after step t) * d step / d S, at (S[t], t)
//     element t of an operand gets (the same sum) * d step / d element
// Forward states are kept only where these derivatives mention them. Both directions are scans, so that gradients of
// gradients are again scans.
#include <algorithm>

#include "codegen/lower/flatten.h"
#include "compiler/passes/gradient/reductions.h"
#include "support/error.h"

namespace frit::reverse {
namespace {

bool mentions(const Expr& root, Op op) {
  bool found = false;
  for_each_node(root, [&](const Expr& e) { found |= e.op() == op; });
  return found;
}

class FoldAdjoint {
 public:
  FoldAdjoint(Adjoints& adjoints, const Reduced& reduced)
      : adjoints_(adjoints), reduced_(reduced), c_(reduced.compute), count_(c_.reduction.init.size()) {
    length_ = 1;
    for (size_t a = static_cast<size_t>(c_.free); a < c_.axes.size(); ++a) length_ *= static_extent(c_.axes[a].extent);
    for (int a = 0; a < c_.free; ++a) axes_.push_back(c_.axes[static_cast<size_t>(a)]);
    axes_.push_back({"t", index_constant(length_)});
  }

  void run() {
    find_active();
    find_derivatives();
    const bool needs_states = std::any_of(leaves_.begin(), leaves_.end(),
                                          [](const LeafAdjoint& l) { return mentions(l.adjoint, Op::Acc); });
    if (needs_states) states_ = stored_states();
    is_sum() ? sum_backwards() : fold_backwards();
    add_to_elements();
    add_to_init();
  }

 private:
  Graph& graph() { return adjoints_.graph(); }
  DType dtype(size_t k) const { return c_.reduction.init[k].dtype(); }
  std::string label(const char* part) const { return reduced_.node.label + part; }

  // Accumulators that depend on what is differentiated.
  void find_active() {
    active_.assign(count_, false);
    for (bool grown = true; grown;) {
      grown = false;
      for (size_t k = 0; k < count_; ++k) {
        if (active_[k] || !is_float(dtype(k))) continue;
        for (const Expr* e : {&c_.reduction.init[k], &c_.reduction.step[k]})
          for_each_node(*e, [&](const Expr& n) {
            const bool leaf = n.op() == Op::Read || n.op() == Op::Acc;
            if (leaf && (n.op() == Op::Acc ? active_[n.bits()] : reduced_.options.is_active(n))) active_[k] = true;
          });
        grown |= active_[k];
      }
    }
  }

  // The adjoint L[t+1] of accumulator k, with what a scan adds to it, stands as AccRight(k) in formulas.
  static Expr incoming(DType dtype, size_t k) { return accumulator(dtype, static_cast<int>(k), true); }

  void find_derivatives() {
    std::vector<SeededRoot> roots;
    for (size_t k = 0; k < count_; ++k)
      if (active_[k]) roots.push_back({c_.reduction.step[k], incoming(dtype(k), k)});
    DerivativeOptions options = reduced_.options;
    options.is_active = [&](const Expr& leaf) {
      return leaf.op() == Op::Acc ? active_[leaf.bits()] : reduced_.options.is_active(leaf);
    };
    before_.resize(count_);
    for (LeafAdjoint& leaf : leaf_adjoints(roots, options)) {
      if (!leaf.adjoint) continue;
      if (leaf.leaf.op() == Op::Acc) before_[leaf.leaf.bits()] = leaf.adjoint;
      leaves_.push_back(std::move(leaf));
    }
  }

  // ---------------------------------------------------------------------------------------------- scans

  // Indices of the old axes at step t of the flat axis.
  std::vector<Expr> old_indices(const Expr& t) const {
    std::vector<Expr> at = indices(static_cast<size_t>(c_.free));
    Expr rest = t;
    std::vector<Expr> inner;
    for (size_t a = c_.axes.size(); a-- > static_cast<size_t>(c_.free);) {
      const bool outermost = a == static_cast<size_t>(c_.free);
      inner.insert(inner.begin(), outermost ? rest : binary(Op::Mod, rest, c_.axes[a].extent));
      rest = binary(Op::FloorDiv, rest, c_.axes[a].extent);
    }
    at.insert(at.end(), inner.begin(), inner.end());
    return at;
  }

  std::vector<Expr> at_step(const Expr& t) const {
    std::vector<Expr> at = indices(static_cast<size_t>(c_.free));
    at.push_back(t);
    return at;
  }

  std::vector<int> all_axes() const {
    std::vector<int> axes = free_axes(c_);
    axes.push_back(c_.free);
    return axes;
  }

  // S[t] for all t: accumulators that follow one step behind.
  std::vector<Value> stored_states() {
    Compute scan;
    scan.axes = axes_;
    scan.free = c_.free;
    scan.reduction = {ReduceOp::Fold, c_.reduction.init, {}, {}};
    const std::vector<Expr> at = old_indices(index(c_.free));
    for (const Expr& e : c_.reduction.step) scan.reduction.step.push_back(substitute_indices(e, at));
    for (size_t k = 0; k < count_; ++k) {
      scan.reduction.init.push_back(c_.reduction.init[k]);
      scan.reduction.step.push_back(accumulator(dtype(k), static_cast<int>(k)));
      scan.results.push_back({accumulator(dtype(k), static_cast<int>(count_ + k)), all_axes()});
    }
    const Value first = graph().add_compute(std::move(scan), reduced_.node.inputs, label(".states"));
    std::vector<Value> states;
    for (size_t k = 0; k < count_; ++k) states.push_back({first.node, static_cast<int>(k)});
    return states;
  }

  // One accumulator whose derivative is 1 everywhere.
  bool is_sum() const {
    return count_ == 1 && active_[0] && before_[0] && before_[0] == incoming(dtype(0), 0);
  }

  // What arrives at step t from results that a scan stores there; nothing is zero.
  Expr kept_at(Space& space, size_t k, const Expr& t) {
    if (!reduced_.kept[k]) return {};
    return read(dtype(k), space.seed_slot_of(*reduced_.kept[k]), at_step(t));
  }

  // L[t+1] of a sum: what arrives later, and at the end.
  void sum_backwards() {
    incoming_.assign(1, std::nullopt);
    first_.assign(1, std::nullopt);
    Space space{axes_, {}, {}, label(".back")};
    const Expr t = index_constant(length_ - 1) - index(c_.free);
    const Expr arrives = kept_at(space, 0, t);
    FRIT_CHECK(arrives, "a sum that is no scan");
    Compute scan;
    scan.axes = axes_;
    scan.free = c_.free;
    scan.reduction = make_reduction(ReduceOp::Sum, arrives);
    Expr total = accumulator(dtype(0), 0);
    if (reduced_.finals[0])
      total = total + read(dtype(0), space.seed_slot_of(*reduced_.finals[0]), indices(static_cast<size_t>(c_.free)));
    scan.results = {{total, all_axes()}, {total, free_axes(c_)}};
    const Value v = graph().add_compute(std::move(scan), space.inputs, "d_" + reduced_.node.label);
    incoming_[0] = v;
    first_[0] = Value{v.node, 1};
  }

  void fold_backwards() {
    Space space{axes_, reduced_.node.inputs, {}, label(".back")};
    const Expr t = index_constant(length_ - 1) - index(c_.free);
    const std::vector<Expr> old = old_indices(t);
    std::vector<int> place(count_, -1);
    Compute scan;
    scan.axes = axes_;
    scan.free = c_.free;
    scan.reduction.op = ReduceOp::Fold;
    for (size_t k = 0; k < count_; ++k) {
      if (!active_[k]) continue;
      place[k] = static_cast<int>(scan.reduction.init.size());
      const auto& final = reduced_.finals[k];
      const std::vector<Expr> at = indices(static_cast<size_t>(c_.free));
      scan.reduction.init.push_back(final ? read(dtype(k), space.seed_slot_of(*final), at) : zero_of(dtype(k)));
    }
    std::vector<Expr> totals(count_);
    for (size_t k = 0; k < count_; ++k)
      if (active_[k]) totals[k] = plus(accumulator(dtype(k), place[k]), kept_at(space, k, t));
    for (size_t k = 0; k < count_; ++k) {
      if (!active_[k]) continue;
      const Expr before = before_[k] ? with_states(substitute_indices(before_[k], old), space, t) : zero_of(dtype(k));
      scan.reduction.step.push_back(rewrite(before, [&](const Expr& e) {
        return e.op() == Op::AccRight ? totals[e.bits()] : Expr();
      }));
    }
    // The totals are kept by accumulators of their own.
    const size_t carried = scan.reduction.init.size();
    for (size_t k = 0; k < count_; ++k) {
      if (!active_[k]) continue;
      scan.results.push_back({accumulator(dtype(k), static_cast<int>(scan.reduction.init.size())), all_axes()});
      scan.reduction.init.push_back(zero_of(dtype(k)));
      scan.reduction.step.push_back(totals[k]);
    }
    for (size_t k = 0; k < carried; ++k)
      scan.results.push_back({accumulator(scan.reduction.init[k].dtype(), static_cast<int>(k)), free_axes(c_)});
    std::vector<Value> inputs = space.inputs;
    drop_unused_inputs(scan, inputs);
    const Value v = graph().add_compute(std::move(scan), std::move(inputs), "d_" + reduced_.node.label);
    incoming_.assign(count_, std::nullopt);
    first_.assign(count_, std::nullopt);
    for (size_t k = 0; k < count_; ++k) {
      if (!active_[k]) continue;
      incoming_[k] = Value{v.node, place[k]};
      first_[k] = Value{v.node, static_cast<int>(carried) + place[k]};
    }
  }

  Expr with_states(const Expr& root, Space& space, const Expr& t) {
    return rewrite(root, [&](const Expr& e) -> Expr {
      if (e.op() != Op::Acc) return {};
      return read(e.dtype(), space.slot_of(states_[e.bits()]), at_step(t));
    });
  }

  // ---------------------------------------------------------------------------------------------- results

  void add_to_elements() {
    Space space{c_.axes, reduced_.node.inputs, {}, reduced_.node.label};
    const Expr t = flat_position(c_), u = index_constant(length_ - 1) - t;
    std::vector<LeafAdjoint> reads;
    for (const LeafAdjoint& leaf : leaves_) {
      if (leaf.leaf.op() != Op::Read) continue;
      const Expr adjoint = rewrite(with_states(leaf.adjoint, space, t), [&](const Expr& e) -> Expr {
        if (e.op() != Op::AccRight) return {};
        return read(e.dtype(), space.seed_slot_of(*incoming_[e.bits()]), at_step(u));
      });
      reads.push_back({leaf.leaf, adjoint});
    }
    pull_back(adjoints_, space, reads);
  }

  void add_to_init() {
    Space space{{c_.axes.begin(), c_.axes.begin() + c_.free}, reduced_.node.inputs, {}, reduced_.node.label};
    std::vector<SeededRoot> roots;
    const std::vector<Expr> at = indices(static_cast<size_t>(c_.free));
    for (size_t k = 0; k < count_; ++k)
      if (active_[k])
        roots.push_back({c_.reduction.init[k], read(dtype(k), space.seed_slot_of(*first_[k]), at)});
    pull_back(adjoints_, space, leaf_adjoints(roots, reduced_.options));
  }

  Adjoints& adjoints_;
  const Reduced& reduced_;
  const Compute& c_;
  size_t count_;
  int64_t length_;             // steps
  std::vector<Axis> axes_;     // of scans: the free axes and t
  std::vector<bool> active_;   // of accumulators
  std::vector<LeafAdjoint> leaves_;
  std::vector<Expr> before_;   // L[t] by accumulator, over S[t] (Acc) and L[t+1] (AccRight)
  std::vector<Value> states_;  // S[t]
  std::vector<std::optional<Value>> incoming_;  // what arrives after step t, at T - 1 - t
  std::vector<std::optional<Value>> first_;     // L[0]
};

}  // namespace

void add_fold_adjoints(Adjoints& adjoints, const Reduced& reduced) { FoldAdjoint(adjoints, reduced).run(); }

}  // namespace frit::reverse
