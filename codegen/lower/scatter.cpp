#include "codegen/lower/scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "codegen/kernel/builder.h"
#include "codegen/lower/emit.h"
#include "codegen/lower/flatten.h"
#include "codegen/lower/operands.h"
#include "codegen/lower/prepare.h"
#include "ir/array.h"
#include "support/error.h"

namespace frit {
namespace {

constexpr int64_t kEnoughTiles = 16;  // of slabs, for workers to share
constexpr int64_t kRanges = 64;       // of the axis that is cut into ranges

// The element after, over Acc(0), the element before, and Acc(1), the value. Stored dtypes: sums and products of 16-bit
// floats never come here (see widen_scatters), and what is left rounds to the same at every step.
Expr changed(ScatterOp op, DType dtype) {
  const Expr value = accumulator(compute_dtype(dtype), 1);
  const Expr before = cast(accumulator(dtype, 0), compute_dtype(dtype));
  switch (op) {
    case ScatterOp::Set:
      return cast(value, dtype);
    case ScatterOp::Add:
      return cast(binary(Op::Add, before, value), dtype);
    case ScatterOp::Mul:
      return cast(binary(Op::Mul, before, value), dtype);
    case ScatterOp::Max:
      return cast(binary(Op::Max, before, value), dtype);
    case ScatterOp::Min:
      return cast(binary(Op::Min, before, value), dtype);
  }
  FRIT_UNREACHABLE();
}

class ScatterLowering {
 public:
  ScatterLowering(const Graph& graph, const Group& group, const StorageLookup& storages, const Machine& machine)
      : graph_(graph),
        group_(group),
        storages_(storages),
        machine_(machine),
        node_(group.root()),
        scatter_(std::get<Scatter>(graph.node(node_).payload)),
        shape_(static_shape(graph.node(node_).results[0].shape)),
        operands_(storages, graph) {}

  Lowered run() {
    FlatScatter flat = flatten_scatter(graph_, group_);
    find_roles(flat.update.compute);
    make_update(flat.update);
    update_schedule_ = schedule_update();
    by_ranges_ = ranged_dim() >= 0 && slab_tiles() < kEnoughTiles;
    if (!storages_.in_place) make_base(flat.base);
    Lowered lowered;
    emit(lowered);
    lowered.operands = operands_.list;
    for (const Operand& o : operands_.list)
      lowered.bytes += static_cast<double>(o.storage.elements) * size_bytes(o.storage.dtype);
    lowered.flops = 1;
    for (const NestAxis& axis : update_.axes) lowered.flops *= static_cast<double>(axis.extent);
    lowered.schedule = to_string(update_schedule_) + (by_ranges_ ? " by ranges" : " by slabs");
    return lowered;
  }

 private:
  // Which dims the write names by an axis of their own: at other indices of it are other elements. A position
  // select(c, p, -1) is p where c holds: a masked index does not write.
  void find_roles(const Compute& update) {
    plain_axis_.assign(shape_.size(), -1);
    std::vector<bool> taken(update.axes.size(), false);
    for (size_t d = 0; d < shape_.size(); ++d) {
      Expr position = update.results[d + 1].value;
      while (position.op() == Op::Select && position.arg(2).is_constant() && position.arg(2).int_value() < 0) {
        condition_ = condition_ ? binary(Op::And, condition_, position.arg(0)) : position.arg(0);
        position = position.arg(1);
      }
      positions_.push_back(position);
      if (position.op() != Op::Index || taken[position.bits()]) continue;
      taken[position.bits()] = true;
      plain_axis_[d] = static_cast<int>(position.bits());
    }
  }

  // The updates as a nest: the axes of plain dims, in order of the dims, are free; the others run in order.
  void make_update(Flat flat) {
    const Compute& from = flat.compute;
    std::vector<Axis> axes;
    std::vector<int> number(from.axes.size(), -1);
    std::vector<Expr> extents;
    for (const Axis& axis : from.axes) extents.push_back(axis.extent);
    for (size_t d = 0; d < shape_.size(); ++d) {
      if (plain_axis_[d] < 0) continue;
      const auto a = static_cast<size_t>(plain_axis_[d]);
      number[a] = static_cast<int>(axes.size());
      extents[a] = index_constant(std::min(static_extent(extents[a]), shape_[d]));  // beyond is outside
      axes.push_back({from.axes[a].name, extents[a]});
      plain_dims_.push_back(static_cast<int>(d));
    }
    for (size_t a = 0; a < from.axes.size(); ++a) {
      if (number[a] >= 0) continue;
      number[a] = static_cast<int>(axes.size());
      axes.push_back(from.axes[a]);
    }
    std::vector<Expr> indices;
    for (const int n : number) indices.push_back(index(n));
    const DType dtype = graph_.node(node_).results[0].dtype;
    Compute compute;
    compute.free = static_cast<int>(plain_dims_.size());
    compute.reduction.op = ReduceOp::Fold;
    std::vector<Expr>& step = compute.reduction.step;
    step = {from.results[0].value, condition(extents), changed(scatter_.op, dtype)};
    NestUpdate update{{}, scatter_.op != ScatterOp::Set};
    std::vector<Expr> write;
    for (size_t d = 0; d < shape_.size(); ++d) {
      write.push_back(index_constant(0));
      if (plain_axis_[d] >= 0) {
        write.back() = index(number[static_cast<size_t>(plain_axis_[d])]);
        continue;
      }
      update.dims.push_back(static_cast<int>(d));
      step.push_back(positions_[d]);
    }
    for (Expr& e : step) e = substitute_indices(e, indices);
    compute.axes = std::move(axes);
    compute.results.push_back({constant_int(DType::I64, 0), {}});  // stands for the write
    flat.compute = std::move(compute);
    flat.write_positions = {std::move(write)};
    update_ = nest(std::move(flat), static_cast<int>(plain_dims_.size()));
    update_.update = std::move(update);
  }

  // The positions are inside, apart from what the extents prove, and no index is masked.
  Expr condition(const std::vector<Expr>& extents) const {
    std::vector<Expr> positions;
    Shape bounds;
    for (size_t d = 0; d < shape_.size(); ++d) {
      if (plain_axis_[d] >= 0) continue;
      positions.push_back(positions_[d]);
      bounds.push_back(index_constant(shape_[d]));
    }
    const Expr masked = condition_ ? condition_ : true_value();
    return IndexAnalysis(extents).simplify(inside(positions, bounds, masked));
  }

  Nest nest(Flat flat, int outer) {
    check_size(flat, group_.name);
    NestOperands entries;
    for (const Value& value : flat.inputs) {
      const int k = operands_.read(value, node_, -1);
      entries.inputs.push_back({k, operands_.list[static_cast<size_t>(k)].storage});
    }
    const int k = operands_.write({node_, 0});
    entries.results.push_back({k, operands_.list[static_cast<size_t>(k)].storage});
    straighten(flat, entries);
    prepare(flat.compute, machine_);
    check_size(flat, group_.name);
    Nest nest = make_nest(flat, entries, outer);
    for (NestAxis& axis : nest.axes) axis.outer = false;  // they were kept as they are, but have no loops around them
    nest.free_count += nest.outer_count;
    nest.outer_count = 0;
    return nest;
  }

  // Vectors along the plain axis that is contiguous in the result.
  Schedule schedule_update() const {
    Schedule schedule;
    const Access& to = update_.writes[0];
    for (int a = 0; a < update_.free_count; ++a) {
      schedule.order.push_back(a);
      if (to.coefficients[static_cast<size_t>(a)] == 1 && dim_extent(a) >= 4) vectorize(schedule, a, dim_extent(a), to);
    }
    for (int a = update_.free_count; a < static_cast<int>(update_.axes.size()); ++a)
      schedule.reduced_order.push_back(a);
    return schedule;
  }
  int64_t dim_extent(int a) const { return shape_[static_cast<size_t>(plain_dims_[static_cast<size_t>(a)])]; }

  void vectorize(Schedule& schedule, int axis, int64_t extent, const Access& to) const {
    schedule.vector_axis = axis;
    schedule.lanes = machine_.vector_bytes / (size_bytes(to.dtype) == 8 ? 8 : 4);
    while (schedule.vectors < 4 && int64_t{schedule.lanes} * schedule.vectors < extent) schedule.vectors *= 2;
  }

  int64_t tile_of(int a) const {
    return a == update_schedule_.vector_axis ? int64_t{update_schedule_.lanes} * update_schedule_.vectors : 1;
  }
  std::vector<int64_t> slab_counts() const {
    std::vector<int64_t> counts;
    for (int a = 0; a < update_.free_count; ++a) counts.push_back((dim_extent(a) + tile_of(a) - 1) / tile_of(a));
    return counts;
  }
  int64_t slab_tiles() const {
    const std::vector<int64_t> counts = slab_counts();
    return std::accumulate(counts.begin(), counts.end(), int64_t{1}, std::multiplies<>());
  }

  // The dim that may be cut into ranges: the first that is computed and has a length.
  int ranged_dim() const {
    for (const int d : update_.update->dims)
      if (shape_[static_cast<size_t>(d)] > 1) return d;
    return -1;
  }

  // The copy of the base: a loop for each dim.
  void make_base(const Flat& flat) {
    base_ = nest(flat, static_cast<int>(shape_.size()));
    const Access& to = base_->writes[0];
    for (int d = 0; d < static_cast<int>(shape_.size()); ++d) base_schedule_.order.push_back(d);
    if (!by_ranges_ && update_schedule_.vector_axis >= 0) {  // in the tiles of the updates
      base_schedule_.vector_axis = plain_dims_[static_cast<size_t>(update_schedule_.vector_axis)];
      base_schedule_.lanes = update_schedule_.lanes;
      base_schedule_.vectors = update_schedule_.vectors;
      return;
    }
    for (int d = static_cast<int>(shape_.size()) - 1; d >= 0; --d) {
      const int64_t extent = shape_[static_cast<size_t>(d)];
      const bool is_bound = !by_ranges_ && plain_axis_[static_cast<size_t>(d)] >= 0;
      if (to.coefficients[static_cast<size_t>(d)] == 1 && extent >= 4 && !is_bound)
        return vectorize(base_schedule_, d, extent, to);
    }
  }

  void emit(Lowered& lowered) {
    kernel::Builder b(group_.name);
    b.set_hoist_integers(true);
    operands_.add_buffers(b);
    const Target target{b, machine_, lowered.dims, lowered.scratch_bytes};
    if (by_ranges_)
      emit_ranges(target, lowered);
    else
      emit_slabs(target, lowered);
    lowered.kernel = std::make_shared<kernel::Kernel>(b.finish());
  }

  void emit_slabs(Target target, Lowered& lowered) {
    kernel::Builder& b = target.b;
    NestEmitter update(target, update_, update_schedule_);
    std::optional<NestEmitter> base;
    if (base_) base.emplace(target, *base_, base_schedule_);
    std::vector<bool> bound(shape_.size(), false);
    for (const int d : plain_dims_) bound[static_cast<size_t>(d)] = true;
    lowered.tiles = slab_tiles();
    emit_shares(target, slab_counts(), [&](const std::vector<kernel::Value>& tiles) {
      kernel::Value reached;  // the tile has elements that are written
      for (int a = 0; a < update_.free_count; ++a) {
        const kernel::Value at = b.mul(tiles[static_cast<size_t>(a)], b.i64(tile_of(a)));
        update.bind(a, at);
        if (base) base->bind(plain_dims_[static_cast<size_t>(a)], at);
        const NestAxis& axis = update_.axes[static_cast<size_t>(a)];
        if (axis.extent >= dim_extent(a)) continue;
        const kernel::Value inside = b.lt(at, target.number(axis.extent, axis.name));
        reached = reached ? b.logical_and(reached, inside) : inside;
      }
      if (base) base->serial_loops(bound);
      if (reached) b.begin_if(reached);
      update.tile();
      if (reached) b.end_if();
    });
  }

  void emit_ranges(Target target, Lowered& lowered) {
    kernel::Builder& b = target.b;
    const int d = ranged_dim();
    const int64_t extent = shape_[static_cast<size_t>(d)];
    const bool by_vectors = base_schedule_.vector_axis == d;
    const int64_t step = by_vectors ? int64_t{base_schedule_.lanes} * base_schedule_.vectors : 1;
    const int64_t steps = (extent + step - 1) / step;
    const int64_t chunk = (steps + kRanges - 1) / kRanges * step;
    lowered.tiles = (extent + chunk - 1) / chunk;
    const kernel::Value size = target.number(chunk, "chunk");
    const kernel::Value low = b.mul(b.begin(), size);
    const kernel::Value high = b.min(b.mul(b.end(), size), target.number(extent, "rows"));
    if (base_) {
      NestEmitter base(target, *base_, base_schedule_);
      base.serial_loops(std::vector<bool>(shape_.size(), false), d, low, high);
    }
    NestEmitter update(target, update_, update_schedule_);
    const std::vector<int>& dims = update_.update->dims;
    update.limit(static_cast<int>(std::find(dims.begin(), dims.end(), d) - dims.begin()), low, high);
    update.serial_loops();
  }

  const Graph& graph_;
  const Group& group_;
  const StorageLookup& storages_;
  const Machine& machine_;
  int node_;
  const Scatter& scatter_;
  std::vector<int64_t> shape_;
  Operands operands_;
  std::vector<int> plain_axis_;  // of each dim the axis that alone is its position, or -1
  std::vector<int> plain_dims_;  // of each free axis of the nest
  std::vector<Expr> positions_;  // of each dim, without masks
  Expr condition_;               // where indices are not masked; empty: everywhere
  Nest update_;
  Schedule update_schedule_;
  std::optional<Nest> base_;
  Schedule base_schedule_;
  bool by_ranges_ = false;
};

}  // namespace

Lowered lower_scatter(const Graph& graph, const Group& group, const StorageLookup& storages, const Machine& machine) {
  return ScatterLowering(graph, group, storages, machine).run();
}

}  // namespace frit
