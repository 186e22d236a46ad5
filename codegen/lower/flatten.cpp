#include "codegen/lower/flatten.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "ir/analysis.h"
#include "support/error.h"

namespace frit {
namespace {

const Compute& compute_of(const Graph& graph, int node) { return std::get<Compute>(graph.node(node).payload); }

Expr both(const Expr& a, const Expr& b) {
  if (a.is_constant(1)) return b;
  if (b.is_constant(1)) return a;
  return binary(Op::And, a, b);
}

// Applies `rule` to every expression of a compute.
template <class Rule>
void rewrite_all(Compute& compute, Rule rule) {
  const auto apply = [&](std::vector<Expr>& list) {
    for (Expr& e : list) e = rewrite(e, rule);
  };
  apply(compute.reduction.init);
  apply(compute.reduction.step);
  apply(compute.reduction.merge);
  for (Compute::Result& r : compute.results) r.value = rewrite(r.value, rule);
}

Expr with_slot(const Expr& e, int slot) {
  return Expr::make(Op::Read, e.dtype(), e.args(), static_cast<uint64_t>(slot) * 2 + (e.is_guarded() ? 1 : 0));
}

class Flattener {
 public:
  Flattener(const Graph& graph, const std::set<int>& inlined) : graph_(graph), inlined_(inlined) {}

  Flat run(int node, Placement placement) { return run(node, placement, compute_of(graph_, node)); }

  // `compute` stands for the node, whose inputs it reads.
  Flat run(int node, Placement placement, Compute compute) {
    Flat flat{node, placement, std::move(compute), graph_.node(node).inputs};
    inline_all_pointwise(flat);
    inline_reduction(flat);
    inline_all_pointwise(flat);
    write_guards(flat);
    drop_unused_inputs(flat.compute, flat.inputs);
    return flat;
  }

 private:
  bool is_inlined(Value v) const { return inlined_.contains(v.node); }

  // Slots of the producer's inputs among the consumer's; new ones are appended.
  static std::vector<int> merge_inputs(std::vector<Value>& inputs, const std::vector<Value>& added) {
    std::vector<int> slots;
    for (const Value& v : added) {
      const auto found = std::find(inputs.begin(), inputs.end(), v);
      slots.push_back(static_cast<int>(found - inputs.begin()));
      if (found == inputs.end()) inputs.push_back(v);
    }
    return slots;
  }

  // The body of result `r` of `producer` at `positions`, reading slots `slots`; under `guard` every read is guarded.
  static Expr body_at(const Compute& producer, int r, std::span<const Expr> positions, const std::vector<int>& slots,
                      const Expr& guard) {
    const Compute::Result& result = producer.results[static_cast<size_t>(r)];
    std::vector<Expr> values(producer.axes.size());
    for (size_t d = 0; d < result.axes.size(); ++d) values[static_cast<size_t>(result.axes[d])] = positions[d];
    return rewrite(result.value, [&](const Expr& e) -> Expr {
      if (e.op() == Op::Index) return values[e.bits()];
      if (e.op() == Op::Read) {
        const Expr moved = with_slot(e, slots[static_cast<size_t>(e.slot())]);
        if (guard.is_constant(1)) return moved;
        if (moved.is_guarded())
          return guarded_read(e.dtype(), moved.slot(), moved.positions(), both(guard, moved.guard_condition()),
                              moved.fill());
        return guarded_read(e.dtype(), moved.slot(), moved.positions(), guard, zero_of(e.dtype()));
      }
      if (is_binary(e.op()) && is_integer(e.dtype()) && !is_comparison(e.op()))
        return binary(e.op(), e.arg(0), e.arg(1));
      return {};
    });
  }

  static Expr zero_of(DType dtype) {
    if (!is_float(dtype)) return constant_int(dtype, 0);
    return cast(constant(compute_dtype(dtype), 0), dtype);
  }

  // Readers before what they read, so that a tensor read along several paths is still there when its turn comes.
  void inline_all_pointwise(Flat& flat) {
    int done = std::numeric_limits<int>::max();
    while (true) {
      int next = -1;
      for (size_t slot = 0; slot < flat.inputs.size(); ++slot) {
        const Value& v = flat.inputs[slot];
        if (!is_inlined(v) || v.node >= done || compute_of(graph_, v.node).reduced() != 0) continue;
        if (next < 0 || v.node > flat.inputs[static_cast<size_t>(next)].node) next = static_cast<int>(slot);
      }
      if (next < 0) return;
      done = flat.inputs[static_cast<size_t>(next)].node;
      inline_pointwise(flat, next);
    }
  }

  void inline_pointwise(Flat& flat, int slot) {
    const Value source = flat.inputs[static_cast<size_t>(slot)];
    const Compute& producer = compute_of(graph_, source.node);
    const std::vector<int> slots = merge_inputs(flat.inputs, graph_.node(source).inputs);
    const Shape& shape = graph_.type(source).shape;
    rewrite_all(flat.compute, [&](const Expr& e) -> Expr {
      if (e.op() != Op::Read || e.slot() != slot) return {};
      // A read of f16 or bf16 gives f32, the producer what would have been stored.
      if (!e.is_guarded()) return cast(body_at(producer, source.result, e.positions(), slots, true_value()), e.dtype());
      const Expr guard = inside(e.positions(), shape, e.guard_condition());
      return select(guard, cast(body_at(producer, source.result, e.positions(), slots, guard), e.dtype()), e.fill());
    });
  }

  // A pointwise stage that reads one inline reduction at a permutation of its own indices.
  void inline_reduction(Flat& flat) {
    for (size_t slot = 0; slot < flat.inputs.size(); ++slot) {
      const Value source = flat.inputs[slot];
      if (!is_inlined(source) || compute_of(graph_, source.node).reduced() == 0) continue;
      FRIT_CHECK(flat.compute.reduced() == 0, "an epilogue of two reductions");
      become_epilogue(flat, static_cast<int>(slot));
      return;
    }
  }

  void become_epilogue(Flat& flat, int slot) {
    const Value source = flat.inputs[static_cast<size_t>(slot)];
    const Compute& anchor = compute_of(graph_, source.node);
    // Which axis of the anchor each axis of the stage is, from the positions of the reads.
    std::vector<int> anchor_axis(flat.compute.axes.size(), -1);
    for (const Compute::Result& r : flat.compute.results) {
      for_each_node(r.value, [&](const Expr& e) {
        if (e.op() != Op::Read || e.slot() != slot) return;
        const std::vector<int>& axes = anchor.results[static_cast<size_t>(source.result)].axes;
        for (size_t d = 0; d < axes.size(); ++d) {
          const Expr& p = e.positions()[d];
          if (p.op() == Op::Index) anchor_axis[p.bits()] = axes[d];
        }
      });
    }
    Compute merged = anchor;
    for (const Compute::Result& r : flat.compute.results)
      for (const int axis : r.axes) add_axis_for(merged, anchor_axis, axis);
    std::vector<Expr> renamed;
    for (size_t k = 0; k < anchor_axis.size(); ++k) {
      const bool single = flat.compute.axes[k].extent.is_constant(1);
      FRIT_CHECK(anchor_axis[k] >= 0 || single, "an epilogue reads its anchor at its own indices");
      renamed.push_back(anchor_axis[k] >= 0 ? index(anchor_axis[k]) : index_constant(0));
    }
    std::vector<Value> inputs = graph_.node(source).inputs;
    const std::vector<int> slots = merge_inputs(inputs, flat.inputs);
    const Expr state = merged.results[static_cast<size_t>(source.result)].value;
    merged.results.clear();
    for (const Compute::Result& r : flat.compute.results) {
      Compute::Result result;
      result.value = rewrite(r.value, [&](const Expr& e) -> Expr {
        if (e.op() == Op::Index) return renamed[e.bits()];
        if (e.op() != Op::Read) return {};
        return e.slot() == slot ? cast(state, e.dtype()) : with_slot(e, slots[static_cast<size_t>(e.slot())]);
      });
      for (const int axis : r.axes) result.axes.push_back(anchor_axis[static_cast<size_t>(axis)]);
      merged.results.push_back(std::move(result));
    }
    flat.compute = std::move(merged);
    flat.inputs = std::move(inputs);
  }

  // An axis of the stage that the anchor lacks (its extent is 1) becomes a new one of the merged compute.
  static void add_axis_for(Compute& merged, std::vector<int>& anchor_axis, int axis) {
    if (anchor_axis[static_cast<size_t>(axis)] >= 0) return;
    const int added = merged.free;
    for (int& known : anchor_axis) known += known >= added;  // the axis that a scan keeps
    // New free axes stand before the reduced ones, so all later indices move up by one.
    std::vector<Expr> moved;
    for (size_t k = 0; k < merged.axes.size(); ++k)
      moved.push_back(index(static_cast<int>(k) + (static_cast<int>(k) >= added)));
    rewrite_all(merged, [&](const Expr& e) -> Expr { return e.op() == Op::Index ? moved[e.bits()] : Expr(); });
    merged.axes.insert(merged.axes.begin() + added, Axis{"one", index_constant(1)});
    ++merged.free;
    anchor_axis[static_cast<size_t>(axis)] = added;
  }

  // Writes the bounds of guarded reads into their conditions, apart from those that the extents prove, and the
  // conversion of what is stored in 16 bits into the reads.
  void write_guards(Flat& flat) {
    IndexAnalysis analysis(flat.compute.axes);
    rewrite_all(flat.compute, [&](const Expr& e) -> Expr {
      if (e.op() != Op::Read) return {};
      const TensorType& type = graph_.type(flat.inputs[static_cast<size_t>(e.slot())]);
      const bool is_converted = e.dtype() != type.dtype;
      if (!e.is_guarded()) return is_converted ? cast(read(type.dtype, e.slot(), e.positions()), e.dtype()) : Expr();
      const bool is_empty =
          std::any_of(type.shape.begin(), type.shape.end(), [](const Expr& n) { return n.is_constant(0); });
      if (is_empty) return e.fill();
      const Expr condition = analysis.simplify(inside(e.positions(), type.shape, e.guard_condition()));
      if (condition.is_constant(0)) return e.fill();
      if (condition.is_constant(1)) return cast(read(type.dtype, e.slot(), e.positions()), e.dtype());
      const Expr fill = is_converted ? zero_of(type.dtype) : e.fill();
      const Expr guarded = guarded_read(type.dtype, e.slot(), e.positions(), condition, fill);
      return is_converted ? select(condition, cast(guarded, e.dtype()), e.fill()) : guarded;
    });
  }

  const Graph& graph_;
  const std::set<int>& inlined_;
};

}  // namespace

Expr inside(std::span<const Expr> positions, const Shape& shape, const Expr& condition) {
  Expr all = condition;
  for (size_t d = 0; d < positions.size(); ++d) {
    all = both(all, binary(Op::Le, index_constant(0), positions[d]));
    all = both(all, binary(Op::Lt, positions[d], shape[d]));
  }
  return all;
}

void rewrite_reads(Compute& compute, const std::function<Expr(const Expr&)>& rule) {
  rewrite_all(compute, [&](const Expr& e) -> Expr { return e.op() == Op::Read ? rule(e) : Expr(); });
}

void drop_unused_inputs(Compute& compute, std::vector<Value>& inputs) {
  std::vector<int> renumbered(inputs.size(), -1);
  std::vector<Value> kept;
  const auto note = [&](const Expr& root) {
    for_each_node(root, [&](const Expr& e) {
      if (e.op() != Op::Read || renumbered[static_cast<size_t>(e.slot())] >= 0) return;
      renumbered[static_cast<size_t>(e.slot())] = static_cast<int>(kept.size());
      kept.push_back(inputs[static_cast<size_t>(e.slot())]);
    });
  };
  for (const Expr& e : compute.reduction.init) note(e);
  for (const Expr& e : compute.reduction.step) note(e);
  for (const Compute::Result& r : compute.results) note(r.value);
  rewrite_all(compute, [&](const Expr& e) -> Expr {
    return e.op() == Op::Read ? with_slot(e, renumbered[static_cast<size_t>(e.slot())]) : Expr();
  });
  inputs = std::move(kept);
}

namespace {

std::set<int> inlined_in(const Group& group) {
  std::set<int> inlined;
  for (const Stage& stage : group.stages)
    if (stage.placement == Placement::Inline) inlined.insert(stage.node);
  return inlined;
}

// A compute without reduced axes.
Compute pointwise(std::vector<Axis> axes, const std::vector<Expr>& values) {
  Compute compute;
  compute.axes = std::move(axes);
  compute.free = static_cast<int>(compute.axes.size());
  std::vector<int> all;
  for (int a = 0; a < compute.free; ++a) all.push_back(a);
  for (const Expr& value : values) compute.results.push_back({value, all});
  return compute;
}

}  // namespace

FlatScatter flatten_scatter(const Graph& graph, const Group& group) {
  const int node = group.root();
  const auto& scatter = std::get<Scatter>(graph.node(node).payload);
  const TensorType& type = graph.node(node).results[0];
  const std::set<int> inlined = inlined_in(group);
  std::vector<Axis> axes;
  std::vector<Expr> indices;
  for (const Expr& extent : type.shape) {
    indices.push_back(index(static_cast<int>(axes.size())));
    axes.push_back({fmt::format("i{}", axes.size()), extent});
  }
  std::vector<Expr> update{scatter.value};
  update.insert(update.end(), scatter.positions.begin(), scatter.positions.end());
  Flattener flattener(graph, inlined);
  return {flattener.run(node, Placement::Root, pointwise(std::move(axes), {read(type.dtype, 0, indices)})),
          flattener.run(node, Placement::Root, pointwise(scatter.axes, update))};
}

std::vector<Flat> flatten(const Graph& graph, const Group& group) {
  const std::set<int> inlined = inlined_in(group);
  std::vector<Flat> flats;
  for (const Stage& stage : group.stages)
    if (stage.placement != Placement::Inline)
      flats.push_back(Flattener(graph, inlined).run(stage.node, stage.placement));
  return flats;
}

}  // namespace frit
