#include <algorithm>

#include "codegen/lower/flatten.h"
#include "compiler/passes/gradient/reductions.h"
#include "support/error.h"

namespace frit::reverse {

bool Reduced::has_kept() const {
  return std::any_of(kept.begin(), kept.end(), [](const auto& v) { return v.has_value(); });
}
bool Reduced::is_zero() const {
  return !has_kept() && std::none_of(finals.begin(), finals.end(), [](const auto& v) { return v.has_value(); });
}

Expr flat_position(const Compute& c) {
  Expr flat = index_constant(0);
  for (size_t a = static_cast<size_t>(c.free); a < c.axes.size(); ++a)
    flat = flat * c.axes[a].extent + index(static_cast<int>(a));
  return flat;
}

std::vector<int> free_axes(const Compute& c) {
  std::vector<int> axes;
  for (int a = 0; a < c.free; ++a) axes.push_back(a);
  return axes;
}

namespace {

// The arg form of a maximum or minimum: it names the element that is taken.
Reduction arg_form(const Compute& c) {
  const bool largest = c.reduction.op == ReduceOp::Max || c.reduction.op == ReduceOp::ArgMax;
  return make_reduction(largest ? ReduceOp::ArgMax : ReduceOp::ArgMin, c.reduction.step[0].arg(1), flat_position(c));
}

Value chosen_position(Graph& graph, const Reduced& reduced) {
  Compute c;
  c.axes = reduced.compute.axes;
  c.free = reduced.compute.free;
  c.reduction = arg_form(reduced.compute);
  c.results.push_back({accumulator(DType::I64, 1), free_axes(c)});
  std::vector<Value> inputs = reduced.node.inputs;
  drop_unused_inputs(c, inputs);
  return graph.add_compute(std::move(c), std::move(inputs), reduced.node.label + ".arg");
}

void add_to_elements(Adjoints& adjoints, const Reduced& reduced) {
  const Compute& c = reduced.compute;
  Space space{c.axes, reduced.node.inputs, {}, reduced.node.label};
  const std::vector<Expr> at = indices(static_cast<size_t>(c.free));
  const auto seed = [&](size_t k) {
    return read(c.reduction.init[k].dtype(), space.seed_slot_of(*reduced.finals[k]), at);
  };
  std::vector<SeededRoot> roots;
  if (c.reduction.op == ReduceOp::Sum) {
    roots.push_back({c.reduction.step[0].arg(1), seed(0)});
  } else {
    const Value position = chosen_position(adjoints.graph(), reduced);
    const Expr chosen = binary(Op::Eq, read(DType::I64, space.slot_of(position), at), flat_position(c));
    for (size_t k = 0; k < 2 && k < reduced.finals.size(); ++k)
      if (reduced.finals[k]) roots.push_back({c.reduction.step[k].arg(1), seed(k), chosen});
  }
  pull_back(adjoints, space, leaf_adjoints(roots, reduced.options));
}

// A running maximum as the fold of its arg form, so that equal elements leave everything to the first.
void add_arg_scan(Adjoints& adjoints, const Reduced& reduced) {
  Compute c = reduced.compute;
  c.reduction = arg_form(reduced.compute);
  Reduced fold{reduced.node, c, reduced.options, reduced.finals, reduced.kept};
  fold.finals.resize(c.reduction.init.size());
  fold.kept.resize(c.reduction.init.size());
  add_fold_adjoints(adjoints, fold);
}

}  // namespace

void add_reduction_adjoints(Adjoints& adjoints, const Reduced& reduced) {
  if (reduced.is_zero()) return;
  switch (reduced.compute.reduction.op) {
    case ReduceOp::None:
    case ReduceOp::Any:
    case ReduceOp::All:
      return;
    case ReduceOp::Sum:
      return reduced.has_kept() ? add_fold_adjoints(adjoints, reduced) : add_to_elements(adjoints, reduced);
    case ReduceOp::Max:
    case ReduceOp::Min:
      return reduced.has_kept() ? add_arg_scan(adjoints, reduced) : add_to_elements(adjoints, reduced);
    case ReduceOp::ArgMax:
    case ReduceOp::ArgMin:
      return reduced.has_kept() ? add_fold_adjoints(adjoints, reduced) : add_to_elements(adjoints, reduced);
    case ReduceOp::Prod:
    case ReduceOp::Fold:
      return add_fold_adjoints(adjoints, reduced);
  }
}

}  // namespace frit::reverse
