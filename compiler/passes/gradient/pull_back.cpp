// From formulas over the indices of a reader to tensors over the indices of what it reads.
#include <algorithm>

#include "codegen/lower/flatten.h"
#include "compiler/passes/gradient/adjoints.h"
#include "compiler/passes/gradient/inverse.h"
#include "compiler/passes/simplify.h"

namespace frit::reverse {
namespace {

constexpr double kMostPadding = 4;  // a zero border makes a tensor at most this many times larger

bool has_reads(const Expr& root) {
  bool found = false;
  for_each_node(root, [&](const Expr& e) { found |= e.op() == Op::Read; });
  return found;
}

bool has_reads_below(const Expr& read) {
  return std::any_of(read.args().begin(), read.args().end(), has_reads);
}

double volume(const std::vector<int64_t>& shape) {
  double n = 1;
  for (const int64_t e : shape) n *= static_cast<double>(e);
  return n;
}

// One read with its adjoint, from the side of what is read.
class PullBack {
 public:
  PullBack(Graph& graph, const Space& space, Inverse inverse)
      : graph_(graph), space_{inverse.axes, space.inputs, space.seeds, space.label}, inverse_(std::move(inverse)),
        analysis_(space_.axes) {}

  const Space& space() const { return space_; }
  int free() const { return inverse_.free; }
  bool is_sum() const { return static_cast<size_t>(inverse_.free) < space_.axes.size(); }

  /// The formula over q and what is summed over; nothing where no index reads anything.
  Expr body(const Expr& adjoint) {
    if (inverse_.is_empty) return {};
    Expr e = simplify_scalar(substitute_indices(adjoint, inverse_.values), analysis_);
    if (!inverse_.ranges.empty() && is_product(e)) {
      e = rewrite(guarded(e), [&](const Expr& n) { return is_seed(n) ? with_ranges(n) : Expr{}; });
      e = simplify_scalar(e, analysis_);
      if (is_sum() && e.op() == Op::Mul) e = with_borders(e);
      return simplify_scalar(where(guarded(all_of(inverse_.remainders, inverse_.tests)), e), analysis_);
    }
    std::vector<Expr> ranges;
    for (const Inverse::Range& r : inverse_.ranges) ranges.push_back(range_test(r));
    const Expr condition = both(all_of(ranges, inverse_.remainders), all_of(inverse_.tests, {}));
    return simplify_scalar(where(guarded(condition), guarded(e)), analysis_);
  }

 private:
  bool is_seed(const Expr& e) const { return e.op() == Op::Read && space_.seeds.contains(e.slot()); }

  // A formula that is 0 where its one seed is. In a sum also a product: it meets zeros beyond the ends of the seed, as
  // in a padded convolution, so that an infinite factor makes NaN there as it would in the convolution.
  bool is_product(const Expr& e) const {
    int seeds = 0;
    return product_of(e, seeds) && seeds == 1;
  }
  bool product_of(const Expr& e, int& seeds) const {
    switch (e.op()) {
      case Op::Read:
        seeds += is_seed(e) ? 1 : 0;
        return true;
      case Op::Const:
        return true;
      case Op::Neg:
      case Op::Cast:
        return is_float(e.arg(0).dtype()) && product_of(e.arg(0), seeds);
      case Op::Mul:
        return is_sum() && product_of(e.arg(0), seeds) && product_of(e.arg(1), seeds);
      case Op::Select:
        return e.arg(2).is_constant() && e.arg(2).float_value() == 0 && product_of(e.arg(1), seeds);
      default:
        return false;
    }
  }

  static Expr all_of(const std::vector<Expr>& a, const std::vector<Expr>& b) {
    Expr all = true_value();
    for (const auto* list : {&a, &b})
      for (const Expr& test : *list) all = both(all, test);
    return all;
  }
  static Expr range_test(const Inverse::Range& r) {
    return both(binary(Op::Le, index_constant(0), r.value), binary(Op::Lt, r.value, r.extent));
  }

  // Reads that may leave their tensors where no index is meant.
  Expr guarded(const Expr& root) {
    return rewrite(root, [&](const Expr& e) -> Expr {
      if (e.op() != Op::Read || e.is_guarded() || is_inside(e)) return {};
      return guarded_read(e.dtype(), e.slot(), e.positions(), true_value(), zero_of(e.dtype()));
    });
  }
  bool is_inside(const Expr& e) {
    const Shape& shape = graph_.type(space_.inputs[static_cast<size_t>(e.slot())]).shape;
    for (size_t d = 0; d < shape.size(); ++d)
      if (!analysis_.is_inside(e.positions()[d], shape[d])) return false;
    return true;
  }

  // The seed in the ranges of the indices, else 0. A range that is that of a position of the seed is said by the guard.
  Expr with_ranges(const Expr& seed) {
    const Shape& shape = graph_.type(space_.inputs[static_cast<size_t>(seed.slot())]).shape;
    Expr all = seed.is_guarded() ? seed.guard_condition() : true_value();
    bool positional = seed.is_guarded();
    for (const Inverse::Range& r : inverse_.ranges) {
      bool said = false;
      for (size_t d = 0; d < shape.size(); ++d) said |= seed.positions()[d] == r.value && shape[d] == r.extent;
      if (!said) all = both(all, range_test(r));
      positional |= said;
    }
    if (all.is_constant(1) && !positional) return {};
    return guarded_read(seed.dtype(), seed.slot(), seed.positions(), guarded(all), zero_of(seed.dtype()));
  }

  // ---------------------------------------------------------------------------------------------- borders

  // Operands of a sum of products are read without a guard, as in a padded convolution.
  Expr with_borders(const Expr& product) {
    return rewrite(product, [&](const Expr& e) -> Expr {
      if (e.op() != Op::Read || !e.is_guarded() || !(e.fill() == zero_of(e.dtype()))) return {};
      return with_border(e);
    });
  }

  Expr with_border(const Expr& e) {
    const Value source = space_.inputs[static_cast<size_t>(e.slot())];
    const TensorType type = graph_.type(source);
    const std::vector<int64_t> shape = static_shape(type.shape);
    std::vector<int64_t> padded;
    Space border;
    std::vector<Expr> from, to;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (has_reads(e.positions()[d])) return {};
      const Range r = analysis_.range(e.positions()[d]);
      if (r.low == -Range::kNone - 1 || r.high == Range::kNone) return {};
      const int64_t low = std::min<int64_t>(0, r.low), high = std::max(shape[d] - 1, r.high);
      padded.push_back(high - low + 1);
      border.axes.push_back({"i" + std::to_string(d), index_constant(padded.back())});
      from.push_back(index(static_cast<int>(d)) + index_constant(low));
      to.push_back(analysis_.simplify(e.positions()[d] - index_constant(low)));
    }
    const Expr& test = e.guard_condition();
    if (padded == shape)
      return test.is_constant(1) ? read(e.dtype(), e.slot(), e.positions()) : Expr{};
    if (volume(padded) > kMostPadding * volume(shape)) return {};
    border.label = space_.label + ".border";
    const Expr element = guarded_read(e.dtype(), border.slot_of(source), from, true_value(), zero_of(e.dtype()));
    const Value whole = emit(graph_, border, static_cast<int>(shape.size()), element);
    const bool seed = is_seed(e);
    const int slot = seed ? space_.seed_slot_of(whole) : space_.slot_of(whole);
    return test.is_constant(1) ? read(e.dtype(), slot, to)
                               : guarded_read(e.dtype(), slot, to, test, zero_of(e.dtype()));
  }

  Graph& graph_;
  Space space_;
  Inverse inverse_;
  IndexAnalysis analysis_;
};

// What a formula without sums gives when it only moves: a view, or the tensor itself.
std::optional<Value> moved(Graph& graph, const Space& space, const Expr& value) {
  if (value.op() != Op::Read || value.is_guarded()) return std::nullopt;
  const Value source = space.inputs[static_cast<size_t>(value.slot())];
  const TensorType& type = graph.type(source);
  if (type.dtype != value.dtype()) return std::nullopt;
  bool same = type.shape.size() == space.axes.size();
  for (size_t d = 0; d < value.positions().size(); ++d) {
    const Expr& p = value.positions()[d];
    if (has_reads(p)) return std::nullopt;
    same = same && p == index(static_cast<int>(d)) && space.axes[d].extent == type.shape[d];
  }
  if (same) return source;
  return graph.add_view(View{space.axes, {value.positions().begin(), value.positions().end()}}, source,
                        "d_" + space.label);
}

}  // namespace

namespace {

// A sum of equal terms is a product.
Expr without_idle_axes(Space& space, int free, const Expr& value) {
  std::vector<bool> used(space.axes.size(), false);
  for_each_node(value, [&](const Expr& e) {
    if (e.op() == Op::Index) used[e.bits()] = true;
  });
  std::vector<Axis> axes;
  std::vector<Expr> place;
  int64_t count = 1;
  for (size_t a = 0; a < space.axes.size(); ++a) {
    place.push_back(index(static_cast<int>(axes.size())));
    if (static_cast<int>(a) < free || used[a])
      axes.push_back(space.axes[a]);
    else
      count *= static_extent(space.axes[a].extent);
  }
  space.axes = axes;
  const Expr moved = substitute_indices(value, place);
  return count == 1 ? moved : times(moved, constant(value.dtype(), static_cast<double>(count)));
}

}  // namespace

Value emit(Graph& graph, const Space& from, int free, const Expr& formula) {
  Space space = from;
  const Expr value = without_idle_axes(space, free, formula);
  Compute c;
  c.axes = space.axes;
  c.free = free;
  std::vector<int> axes;
  for (int a = 0; a < free; ++a) axes.push_back(a);
  if (c.reduced() == 0) {
    if (const auto v = moved(graph, space, value)) return *v;
    c.results.push_back({value, axes});
  } else {
    c.reduction = make_reduction(ReduceOp::Sum, value);
    c.results.push_back({accumulator(value.dtype(), 0), axes});
  }
  std::vector<Value> inputs = space.inputs;
  drop_unused_inputs(c, inputs);
  return graph.add_compute(std::move(c), std::move(inputs), "d_" + space.label);
}

namespace {

// What is read behind a tensor that only moves elements of another, or constants: a padding, a slice.
struct Target {
  Value tensor;
  IndexMap map;
};

std::optional<Target> behind(const Graph& graph, const Target& target) {
  const Node& node = graph.node(target.tensor);
  const auto* c = std::get_if<Compute>(&node.payload);
  if (!c || c->reduced() != 0 || c->results.size() != 1) return std::nullopt;
  const Compute::Result& result = c->results[0];
  const Expr& moved = result.value;
  if (moved.op() != Op::Read || has_reads_below(moved)) return std::nullopt;
  std::vector<Expr> at(c->axes.size(), index_constant(0));
  for (size_t d = 0; d < result.axes.size(); ++d) at[static_cast<size_t>(result.axes[d])] = target.map.positions[d];
  Target next{node.inputs[static_cast<size_t>(moved.slot())], {target.map.axes, {}, target.map.condition}};
  for (const Expr& p : moved.positions()) next.map.positions.push_back(substitute_indices(p, at));
  if (moved.is_guarded())
    next.map.condition = both(next.map.condition, substitute_indices(moved.guard_condition(), at));
  return next;
}

// Adds elements at positions that have no inverse, in the order of the indices.
Value scattered(Graph& graph, const Space& space, const Target& target, const Expr& adjoint) {
  const TensorType& type = graph.type(target.tensor);
  Space zero;
  zero.label = space.label + ".zero";
  for (const Expr& extent : type.shape) zero.axes.push_back({"i" + std::to_string(zero.axes.size()), extent});
  const Value base = emit(graph, zero, static_cast<int>(type.shape.size()), zero_of(adjoint.dtype()));
  std::vector<Value> inputs{base};
  const auto moved = [&](const Expr& root) {
    return rewrite(root, [&](const Expr& e) -> Expr {
      if (e.op() != Op::Read) return {};
      const Value v = space.inputs[static_cast<size_t>(e.slot())];
      const auto at = std::find(inputs.begin() + 1, inputs.end(), v);
      const int slot = static_cast<int>(at - inputs.begin());
      if (at == inputs.end()) inputs.push_back(v);
      return e.is_guarded() ? guarded_read(e.dtype(), slot, e.positions(), e.guard_condition(), e.fill())
                            : read(e.dtype(), slot, e.positions());
    });
  };
  Scatter scatter{space.axes, ScatterOp::Add, target.map.positions, moved(adjoint)};
  if (!target.map.condition.is_constant(1))  // where nothing is read, the position is outside
    scatter.positions[0] = select(target.map.condition, scatter.positions[0], index_constant(-1));
  for (Expr& p : scatter.positions) p = moved(p);
  return graph.add(Node{"d_" + space.label, std::move(inputs), {}, std::move(scatter)});
}

}  // namespace

void pull_back(Adjoints& adjoints, const Space& space, std::span<const LeafAdjoint> reads) {
  Graph& graph = adjoints.graph();
  struct Pointwise {
    Space space;
    Expr sum;
  };
  std::map<Value, Pointwise> pointwise;  // contributions without sums share one formula
  for (const LeafAdjoint& leaf : reads) {
    if (!leaf.adjoint) continue;
    const Expr& r = leaf.leaf;
    Target target{space.inputs[static_cast<size_t>(r.slot())],
                  {space.axes,
                   {r.positions().begin(), r.positions().end()},
                   r.is_guarded() ? r.guard_condition() : true_value()}};
    auto inverse = invert(target.map, graph.type(target.tensor).shape);
    // A padding has no adjoint of its own: the border of zeros would be computed and thrown away.
    while (!r.is_guarded() && !adjoints.is_pinned(target.tensor)) {
      const auto next = behind(graph, target);
      auto other = next ? invert(next->map, graph.type(next->tensor).shape) : std::nullopt;
      if (!other) break;
      target = *next;
      inverse = std::move(other);
    }
    const Value primal = target.tensor;
    if (!inverse) {
      adjoints.add(primal, scattered(graph, space, target, leaf.adjoint));
      continue;
    }
    PullBack back(graph, space, std::move(*inverse));
    const Expr body = back.body(leaf.adjoint);
    if (!body) continue;
    if (back.is_sum()) {
      adjoints.add(primal, emit(graph, back.space(), back.free(), body));
    } else {
      const auto [at, added] = pointwise.try_emplace(primal, Pointwise{back.space(), body});
      if (!added) at->second.sum = plus(at->second.sum, body);
    }
  }
  for (const auto& [primal, part] : pointwise)
    adjoints.add(primal, emit(graph, part.space, static_cast<int>(part.space.axes.size()), part.sum));
}

}  // namespace frit::reverse
