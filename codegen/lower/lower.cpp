#include "codegen/lower/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "codegen/functions/functions.h"
#include "codegen/kernel/builder.h"
#include "codegen/lower/choose_schedule.h"
#include "codegen/lower/emit.h"
#include "codegen/lower/flatten.h"
#include "codegen/lower/nest.h"
#include "codegen/lower/operands.h"
#include "codegen/lower/prepare.h"
#include "codegen/lower/scatter.h"
#include "codegen/lower/sort.h"
#include "support/error.h"

namespace frit {
namespace {

constexpr size_t kMaxOperations = 4000;  // of one stage

TargetFacts facts_of(const Machine& machine) {
  TargetFacts facts;
  facts.has_fma = machine.has_fma;
  facts.has_rounding = machine.has_rounding;
  facts.has_f16_convert = machine.has_f16_convert;
  return facts;
}

// a * b + c with one rounding: `standard` allows it, and it is decided here so that every target does the same. Only
// what the user wrote is contracted, never the insides of a function's definition, which are expanded afterwards.
Expr contract(const Expr& root) {
  return rewrite(root, [](const Expr& e) -> Expr {
    if (e.op() != Op::Add || !is_float(e.dtype())) return {};
    if (e.arg(1).op() == Op::Mul) return fma(e.arg(1).arg(0), e.arg(1).arg(1), e.arg(0));
    if (e.arg(0).op() == Op::Mul) return fma(e.arg(0).arg(0), e.arg(0).arg(1), e.arg(1));
    return {};
  });
}

}  // namespace

void check_size(const Flat& flat, const std::string& name) {
  std::set<const void*> nodes;
  const auto count = [&](const Expr& root) { for_each_node(root, [&](const Expr& e) { nodes.insert(e.id()); }); };
  for (const Expr& e : flat.compute.reduction.step) count(e);
  for (const Compute::Result& r : flat.compute.results) count(r.value);
  if (nodes.size() <= kMaxOperations) return;
  throw UnsupportedError(Finding{.where = name,
                                 .what = "a formula is too long for one kernel",
                                 .excerpt = {},
                                 .got = fmt::format("{} operations", nodes.size()),
                                 .expected = fmt::format("at most {}", kMaxOperations),
                                 .fix = "give a part of it a name of its own",
                                 .from = {}});
}

void prepare(Compute& compute, const Machine& machine) {
  const TargetFacts facts = facts_of(machine);
  const auto apply = [&](Expr& e) { e = expand_functions(machine.has_fma ? contract(e) : e, facts); };
  for (Expr& e : compute.reduction.init) apply(e);
  for (Expr& e : compute.reduction.step) apply(e);
  for (Expr& e : compute.reduction.merge) apply(e);
  for (Compute::Result& r : compute.results) apply(r.value);
}

void straighten(Flat& flat, NestOperands& operands) {
  IndexAnalysis analysis(flat.compute.axes);
  const size_t axes = flat.compute.axes.size();
  rewrite_reads(flat.compute, [&](const Expr& e) -> Expr {
    const NestOperands::Entry entry = operands.inputs[static_cast<size_t>(e.slot())];
    Expr offset = index_constant(0);
    bool plain = true;
    for (size_t d = 0; d < e.positions().size(); ++d) {
      plain = plain && affine(e.positions()[d], axes);
      if (entry.storage.axes[d].block != 0) return {};
      offset = offset + e.positions()[d] * index_constant(entry.storage.axes[d].stride);
    }
    if (plain) return {};
    offset = analysis.simplify(offset);
    if (!affine(offset, axes)) return {};
    Storage line = entry.storage;
    line.axes = {Storage::AxisStep{1, 0, 0}};
    const int slot = static_cast<int>(operands.inputs.size());
    operands.inputs.push_back({entry.operand, line});
    flat.inputs.push_back(flat.inputs[static_cast<size_t>(e.slot())]);
    const std::vector<Expr> position{offset};
    if (!e.is_guarded()) return read(e.dtype(), slot, position);
    return guarded_read(e.dtype(), slot, position, e.guard_condition(), e.fill());
  });
}

namespace {

double operation_count(const Nest& nest) {
  const auto count = [](const Expr& root) {
    double n = 0;
    for_each_node(root, [&](const Expr& e) {
      if (e.op() == Op::Fma)
        n += 2;
      else if (is_float(e.dtype()) && (is_unary(e.op()) || is_binary(e.op())))
        n += 1;
    });
    return n;
  };
  double free = 1, all = 1;
  for (const NestAxis& axis : nest.axes) {
    all *= static_cast<double>(axis.extent);
    if (!axis.reduced) free *= static_cast<double>(axis.extent);
  }
  double total = 0;
  for (const Expr& e : nest.reduction.step) total += all * count(e);
  for (size_t k = 0; k < nest.values.size(); ++k) total += (nest.kept[k] ? all : free) * count(nest.values[k]);
  return total;
}

// Lowers the stages of one group into one kernel.
class GroupLowering {
 public:
  GroupLowering(const Graph& graph, const Group& group, const StorageLookup& storages, const Machine& machine)
      : graph_(graph), group_(group), storages_(storages), machine_(machine), operands_(storages, graph) {}

  Lowered run() {
    flats_ = flatten(graph_, group_);
    place_scratch();
    for (Flat& flat : flats_) {
      check_size(flat, group_.name);
      NestOperands entries = nest_operands(flat);
      straighten(flat, entries);
      split_axes(flat, group_.shared_axes);
      prepare(flat.compute, machine_);
      check_size(flat, group_.name);  // again: functions are definitions now
      nests_.push_back(make_nest(flat, entries, group_.shared_axes));
      schedules_.push_back(choose_schedule(nests_.back(), machine_));
    }
    Lowered lowered;
    emit(lowered);
    lowered.operands = operands_.list;
    lowered.scratch_bytes = scratch_bytes_;
    for (size_t i = 0; i < nests_.size(); ++i) {
      lowered.flops += operation_count(nests_[i]);
      lowered.schedule += (i ? "; " : "") + to_string(schedules_[i]);
    }
    for (const Operand& o : operands_.list)
      lowered.bytes += static_cast<double>(o.storage.elements) * size_bytes(o.storage.dtype);
    return lowered;
  }

 private:
  // Rows of At stages in the worker's scratch: dense over the axes beyond the shared ones.
  void place_scratch() {
    for (const Flat& flat : flats_) {
      if (flat.placement != Placement::At) continue;
      for (size_t r = 0; r < flat.compute.results.size(); ++r) {
        const Compute::Result& result = flat.compute.results[r];
        Storage storage;
        storage.dtype = result.value.dtype();
        storage.axes.resize(result.axes.size());
        int64_t stride = 1;
        for (size_t d = result.axes.size(); d-- > 0;) {
          const int axis = result.axes[d];
          if (axis < group_.shared_axes) continue;
          storage.axes[d].stride = stride;
          stride *= static_extent(flat.compute.axes[static_cast<size_t>(axis)].extent);
        }
        storage.elements = stride;
        storage.offset = scratch_bytes_ / size_bytes(storage.dtype);
        scratch_bytes_ += (stride * size_bytes(storage.dtype) + 63) / 64 * 64;
        scratch_[Value{flat.node, static_cast<int>(r)}] = storage;
      }
    }
  }

  NestOperands nest_operands(const Flat& flat) {
    NestOperands entries;
    for (size_t slot = 0; slot < flat.inputs.size(); ++slot) {
      const Value& value = flat.inputs[slot];
      if (const auto found = scratch_.find(value); found != scratch_.end()) {
        entries.inputs.push_back({-1, found->second});
        continue;
      }
      const auto [node, original] = original_slot(flat, value);
      const int k = operands_.read(value, node, original);
      entries.inputs.push_back({k, operands_.list[static_cast<size_t>(k)].storage});
    }
    for (size_t r = 0; r < flat.compute.results.size(); ++r) {
      const Value value{flat.node, static_cast<int>(r)};
      if (const auto found = scratch_.find(value); found != scratch_.end()) {
        entries.results.push_back({-1, found->second});
        continue;
      }
      const int k = operands_.write(value);
      entries.results.push_back({k, operands_.list[static_cast<size_t>(k)].storage});
    }
    return entries;
  }

  // The node of this group and its slot through which a flat stage reads `value`: packings are named by them.
  std::pair<int, int> original_slot(const Flat& flat, const Value& value) const {
    for (const Stage& stage : group_.stages) {
      const std::vector<Value>& inputs = graph_.node(stage.node).inputs;
      for (size_t slot = 0; slot < inputs.size(); ++slot)
        if (inputs[slot] == value && storages_.packed.contains({stage.node, static_cast<int>(slot)}))
          return {stage.node, static_cast<int>(slot)};
    }
    return {flat.node, -1};
  }

  void emit(Lowered& lowered) {
    if (operands_.list.size() > kernel::kMaxBuffers)
      throw UnsupportedError(Finding{.where = group_.name,
                                     .what = "a formula reads too many tensors for one kernel",
                                     .excerpt = {},
                                     .got = fmt::format("{} tensors", operands_.list.size()),
                                     .expected = fmt::format("at most {}", kernel::kMaxBuffers),
                                     .fix = "give a part of it a name of its own",
                                     .from = {}});
    kernel::Builder b(group_.name);  // no origin: it would be part of the text, and equal layers share theirs
    b.set_hoist_integers(true);
    operands_.add_buffers(b);
    const Target target{b, machine_, lowered.dims, scratch_bytes_};
    if (group_.shared_axes == 0 && nests_.size() == 1)
      emit_single(target, lowered);
    else
      emit_rows(target, lowered);
    lowered.kernel = std::make_shared<kernel::Kernel>(b.finish());
  }

  static int64_t product(const std::vector<int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), int64_t{1}, std::multiplies<>());
  }

  void emit_single(Target target, Lowered& lowered) {
    NestEmitter emitter(target, nests_[0], schedules_[0]);
    const std::vector<int64_t> counts = emitter.tile_counts();
    lowered.tiles = product(counts);
    emit_shares(target, counts, [&](const std::vector<kernel::Value>& tiles) {
      emitter.bind_tile(tiles);
      emitter.tile();
    });
  }

  void emit_rows(Target target, Lowered& lowered) {
    std::vector<int64_t> counts;
    for (int a = 0; a < group_.shared_axes; ++a)
      counts.push_back(static_extent(flats_.back().compute.axes[static_cast<size_t>(a)].extent));
    lowered.tiles = product(counts);
    std::vector<NestEmitter> emitters;
    for (size_t i = 0; i < nests_.size(); ++i) emitters.emplace_back(target, nests_[i], schedules_[i]);
    emit_shares(target, counts, [&](const std::vector<kernel::Value>& rows) {
      for (NestEmitter& emitter : emitters) {
        for (size_t a = 0; a < rows.size(); ++a) emitter.bind(static_cast<int>(a), rows[a]);
        emitter.serial_loops();
      }
    });
  }

  const Graph& graph_;
  const Group& group_;
  const StorageLookup& storages_;
  const Machine& machine_;
  Operands operands_;
  std::vector<Flat> flats_;
  std::vector<Nest> nests_;
  std::vector<Schedule> schedules_;
  std::map<Value, Storage> scratch_;
  int64_t scratch_bytes_ = 0;
};

}  // namespace

namespace {

Expr constant_of(DType dtype, double value) {
  return is_float(dtype) ? cast(constant(compute_dtype(dtype), value), dtype) : constant(dtype, value);
}

Compute copy_compute(const std::vector<int64_t>& shape, const Expr& value) {
  Compute compute;
  compute.free = static_cast<int>(shape.size());
  Compute::Result result{value, {}};
  for (size_t a = 0; a < shape.size(); ++a) {
    compute.axes.push_back({fmt::format("i{}", a), index_constant(shape[a])});
    result.axes.push_back(static_cast<int>(a));
  }
  compute.results.push_back(std::move(result));
  return compute;
}

std::vector<Expr> plain_indices(size_t rank) {
  std::vector<Expr> list;
  for (size_t a = 0; a < rank; ++a) list.push_back(index(static_cast<int>(a)));
  return list;
}

kernel::BufferParam buffer_param(const char* name, DType dtype, bool written) {
  return {name, dtype == DType::Bool ? DType::U8 : dtype, written, size_bytes(dtype)};
}

// The margin cells as disjoint boxes: before and after each axis, over the whole width of later axes.
std::vector<std::pair<std::vector<int64_t>, Storage>> margin_boxes(const std::vector<int64_t>& shape,
                                                                   const Storage& storage, const Layout& layout) {
  std::vector<std::pair<std::vector<int64_t>, Storage>> boxes;
  for (size_t a = 0; a < layout.margins.size(); ++a) {
    for (const bool after : {false, true}) {
      const int64_t width = after ? layout.margins[a].after : layout.margins[a].before;
      if (width == 0) continue;
      std::vector<int64_t> extents = shape;
      Storage box = storage;
      for (size_t d = a + 1; d < layout.margins.size(); ++d) {
        extents[d] += layout.margins[d].before + layout.margins[d].after;
        box.offset -= layout.margins[d].before * storage.axes[d].stride;
      }
      extents[a] = width;
      box.offset += (after ? shape[a] : -width) * storage.axes[a].stride;
      boxes.emplace_back(std::move(extents), std::move(box));
    }
  }
  return boxes;
}

}  // namespace

Lowered lower_copy(const std::vector<int64_t>& shape, const Storage& from, const Storage& to, const Layout&,
                   const Machine& machine) {
  const auto indices = plain_indices(shape.size());
  Flat flat{-1, Placement::Root, copy_compute(shape, read(from.dtype, 0, indices)), {Value{0, 0}}};
  const NestOperands operands{{{0, from}}, {{1, to}}};
  const Nest nest = make_nest(flat, operands, 0);
  const Schedule schedule = choose_schedule(nest, machine);
  Lowered lowered;
  kernel::Builder b("copy");
  b.set_hoist_integers(true);
  b.add_buffer(buffer_param("from", from.dtype, false));
  b.add_buffer(buffer_param("to", to.dtype, true));
  const Target target{b, machine, lowered.dims, lowered.scratch_bytes};
  NestEmitter emitter(target, nest, schedule);
  const std::vector<int64_t> counts = emitter.tile_counts();
  lowered.tiles = std::accumulate(counts.begin(), counts.end(), int64_t{1}, std::multiplies<>());
  emit_shares(target, counts, [&](const std::vector<kernel::Value>& tiles) {
    emitter.bind_tile(tiles);
    emitter.tile();
  });
  lowered.kernel = std::make_shared<kernel::Kernel>(b.finish());
  lowered.operands = {{Value{}, from, -1, false}, {Value{}, to, -1, true}};
  lowered.bytes = 2.0 * static_cast<double>(to.elements) * size_bytes(to.dtype);
  lowered.schedule = to_string(schedule);
  return lowered;
}

Lowered lower_margins(const std::vector<int64_t>& shape, const Storage& storage, const Layout& layout,
                      const Machine& machine) {
  Lowered lowered;
  const auto boxes = margin_boxes(shape, storage, layout);
  lowered.tiles = element_count(shape) == 0 ? 0 : static_cast<int64_t>(boxes.size());
  lowered.operands = {{Value{}, storage, -1, true}};
  kernel::Builder b("margins");
  b.set_hoist_integers(true);
  b.add_buffer(buffer_param("to", storage.dtype, true));
  const Target target{b, machine, lowered.dims, lowered.scratch_bytes};
  const auto loop = b.begin_loop(b.begin(), b.end(), b.i64(1));
  std::vector<Nest> nests;
  std::vector<Schedule> schedules;
  nests.reserve(boxes.size());  // emitters keep references
  schedules.reserve(boxes.size());
  for (size_t i = 0; i < boxes.size(); ++i) {
    const auto& [extents, box] = boxes[i];
    Flat flat{-1, Placement::Root, copy_compute(extents, constant_of(storage.dtype, layout.fill)), {}};
    nests.push_back(make_nest(flat, {{}, {{0, box}}}, 0));
    schedules.push_back(choose_schedule(nests.back(), machine));
    b.begin_if(b.eq(loop.i, b.i64(static_cast<int64_t>(i))));
    NestEmitter(target, nests.back(), schedules.back()).serial_loops();
    b.end_if();
    lowered.bytes += static_cast<double>(element_count(extents)) * size_bytes(storage.dtype);
  }
  b.end_loop();
  lowered.kernel = std::make_shared<kernel::Kernel>(b.finish());
  return lowered;
}

Machine machine_named(std::string_view name) {
  if (name == "avx512") return {"avx512", 64, 32, true, true, true};
  if (name == "avx2") return {"avx2", 32, 16, true, true, true};
  if (name == "sse2") return {"sse2", 16, 16, false, false, false};
  throw InputError(Finding{.where = {},
                           .what = "unknown instruction set",
                           .excerpt = {},
                           .got = std::string(name),
                           .expected = "sse2, avx2 or avx512",
                           .fix = {},
                           .from = {}});
}

Lowered lower(const Graph& graph, const Group& group, const StorageLookup& storages, const Machine& machine) {
  const Payload& root = graph.node(group.root()).payload;
  if (std::holds_alternative<Scatter>(root)) return lower_scatter(graph, group, storages, machine);
  if (std::holds_alternative<Sort>(root)) return lower_sort(graph, group, storages, machine);
  return GroupLowering(graph, group, storages, machine).run();
}

}  // namespace frit
