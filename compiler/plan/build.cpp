#include "compiler/plan/build.h"

#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <set>
#include <thread>
#include <unordered_map>

#include "codegen/llvm/llvm.h"
#include "compiler/passes/group.h"
#include "compiler/passes/pipeline.h"
#include "support/error.h"

namespace frit {
namespace {

// The place as kernels see it: pointers carry the offset, so that it is no part of the text.
Storage from_pointer(const Place& place) {
  Storage storage = place.storage;
  storage.offset = 0;
  return storage;
}

BuiltLaunch::Buffer buffer_at(const Place& place, bool is_written) {
  return {place.block, place.storage.offset * size_bytes(place.storage.dtype), is_written};
}

bool is_empty(const Shape& shape) {
  for (const Expr& extent : shape) {
    if (extent.is_constant(0)) return true;
  }
  return false;
}

class StepLowering {
 public:
  StepLowering(const Build& build, const Machine& machine) : build_(build), machine_(machine) {}

  /// A launch without a kernel where there is nothing to compute.
  BuiltLaunch run(const Step& step) const {
    BuiltLaunch launch;
    switch (step.kind) {
      case Step::Kind::Group:
        launch = group(build_.grouping.groups[static_cast<size_t>(step.index)]);
        break;
      case Step::Kind::Copy:
        launch = copy(build_.places.copies[static_cast<size_t>(step.index)]);
        break;
      case Step::Kind::Pack:
        launch = pack(build_.places.packed[static_cast<size_t>(step.index)]);
        break;
      case Step::Kind::Margins:
        launch = margins(build_.places.margins[static_cast<size_t>(step.index)]);
        break;
    }
    launch.is_static = step.is_static;
    return launch;
  }

 private:
  const Place& place_of(Value v) const { return build_.places.of.at(v); }

  BuiltLaunch group(const Group& group) const {
    BuiltLaunch launch;
    launch.name = group.name;
    bool has_work = false;
    StorageLookup storages;
    for (const Stage& stage : group.stages) {
      const Node& node = build_.graph.node(stage.node);
      for (size_t slot = 0; slot < node.inputs.size(); ++slot) add_read(storages, stage.node, static_cast<int>(slot));
      for (size_t r = 0; r < node.results.size(); ++r) {
        const Value v{stage.node, static_cast<int>(r)};
        if (stage.placement != Placement::Root) continue;
        storages.values[v] = from_pointer(place_of(v));
        has_work = has_work || !is_empty(node.results[r].shape);
      }
    }
    if (!has_work) return launch;
    storages.in_place = is_in_place(group.root());
    launch.lowered = lower(build_.graph, group, storages, machine_);
    for (const Operand& operand : launch.lowered.operands) {
      const Place& place = operand.packing >= 0 ? build_.places.packed[static_cast<size_t>(operand.packing)].place
                                                : place_of(operand.value);
      launch.buffers.push_back(buffer_at(place, operand.written));
      launch.buffers.back().is_changed = storages.in_place && operand.written;
    }
    return launch;
  }

  // Whether the node is a scatter into the place where its base is.
  bool is_in_place(int node) const {
    if (!std::holds_alternative<Scatter>(build_.graph.node(node).payload)) return false;
    const auto base = build_.places.of.find(build_.graph.node(node).inputs[0]);
    return base != build_.places.of.end() && base->second == place_of({node, 0});
  }

  void add_read(StorageLookup& storages, int node, int slot) const {
    const Value v = build_.graph.node(node).inputs[static_cast<size_t>(slot)];
    const auto place = build_.places.of.find(v);
    if (place != build_.places.of.end()) storages.values[v] = from_pointer(place->second);
    const auto packed = build_.places.packed_read.find({node, slot});
    if (packed == build_.places.packed_read.end()) return;
    storages.packed[{node, slot}] = from_pointer(build_.places.packed[static_cast<size_t>(packed->second)].place);
    storages.packing_index[{node, slot}] = packed->second;
  }

  // A graph of one compute: the general way to move elements.
  BuiltLaunch copy(const Copy& copy) const {
    BuiltLaunch launch;
    launch.name = copy.name;
    Shape shape;
    for (const Axis& axis : copy.view.axes) shape.push_back(axis.extent);
    if (is_empty(shape)) return launch;
    Graph graph;
    const DType dtype = copy.from.storage.dtype;
    const Value from = graph.add_input("from", {dtype, copy.from_shape});
    Compute move;
    move.axes = copy.view.axes;
    move.free = static_cast<int>(move.axes.size());
    Compute::Result result{read(dtype, 0, copy.view.positions), {}};
    for (int a = 0; a < move.free; ++a) result.axes.push_back(a);
    move.results.push_back(std::move(result));
    const Value to = graph.add_compute(std::move(move), {from}, copy.name);
    StorageLookup storages;
    storages.values[from] = from_pointer(copy.from);
    storages.values[to] = from_pointer(copy.to);
    Group group;
    group.name = "copy";
    group.stages = {{to.node, Placement::Root}};
    launch.lowered = lower(graph, group, storages, machine_);
    for (const Operand& operand : launch.lowered.operands)
      launch.buffers.push_back(buffer_at(operand.value == from ? copy.from : copy.to, operand.written));
    return launch;
  }

  BuiltLaunch pack(const Places::Packed& packed) const {
    BuiltLaunch launch;
    launch.name = packed.name;
    const Shape& shape = build_.graph.type(packed.value).shape;
    if (is_empty(shape)) return launch;
    const Place& from = place_of(packed.value);
    launch.lowered =
        lower_copy(static_shape(shape), from_pointer(from), from_pointer(packed.place), packed.layout, machine_);
    launch.buffers = {buffer_at(from, false), buffer_at(packed.place, true)};
    return launch;
  }

  BuiltLaunch margins(const Places::Margins& margins) const {
    BuiltLaunch launch;
    launch.name = margins.name;
    const Shape& shape = build_.graph.type(margins.value).shape;
    if (is_empty(shape)) return launch;
    const Place& place = place_of(margins.value);
    launch.lowered = lower_margins(static_shape(shape), from_pointer(place), margins.layout, machine_);
    launch.buffers = {buffer_at(place, true)};
    return launch;
  }

  const Build& build_;
  const Machine& machine_;
};

// Calls `body(i)` for each i < count on the processors at hand; the first error is thrown when all have ended.
template <class Body>
void in_parallel(size_t count, Body body) {
  const size_t threads = std::min<size_t>(count, std::max(1u, std::min(std::thread::hardware_concurrency(), 8u)));
  std::atomic<size_t> next = 0;
  std::vector<std::exception_ptr> errors(count);
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> helpers;
  for (size_t t = 1; t < threads; ++t) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

// The launches that have work, in order of the steps; `texts` get what they print to.
void lower_steps(Build& build, const Machine& machine, bool print, std::vector<std::string>& texts) {
  const std::vector<Step>& steps = build.places.steps;
  std::vector<BuiltLaunch> launches(steps.size());
  std::vector<std::string> printed(steps.size());
  const StepLowering lowering(build, machine);
  in_parallel(steps.size(), [&](size_t i) {
    launches[i] = lowering.run(steps[i]);
    if (print && launches[i].lowered.tiles > 0) printed[i] = print_llvm(*launches[i].lowered.kernel);
  });
  for (size_t i = 0; i < steps.size(); ++i) {
    if (launches[i].lowered.tiles == 0) continue;
    build.launches.push_back(std::move(launches[i]));
    texts.push_back(std::move(printed[i]));
  }
}

void collect_sources(Build& build, std::vector<std::string> texts) {
  std::unordered_map<std::string_view, int> known;
  build.sources.reserve(texts.size());  // the map refers to the texts
  for (size_t i = 0; i < texts.size(); ++i) {
    BuiltLaunch& launch = build.launches[i];
    const auto found = known.find(texts[i]);
    if (found != known.end()) {
      launch.source = found->second;
      continue;
    }
    launch.source = static_cast<int>(build.sources.size());
    build.sources.push_back({launch.name, "cpu", std::move(texts[i])});
    known.emplace(build.sources.back().text, launch.source);
  }
}

}  // namespace

Build build(Graph simplified, Grouping grouping, const Machine& machine, BuildStage until) {
  Build build;
  build.graph = std::move(simplified);
  build.grouping = std::move(grouping);
  build.places = place(build.graph, build.grouping);
  if (until == BuildStage::Places) return build;
  std::vector<std::string> texts;
  lower_steps(build, machine, until == BuildStage::Sources, texts);
  if (until == BuildStage::Sources) collect_sources(build, std::move(texts));
  return build;
}

Build build(const Graph& graph, const Machine& machine, BuildStage until) {
  Graph optimized = optimize(graph);
  Grouping grouping = group(optimized, machine);
  return build(std::move(optimized), std::move(grouping), machine, until);
}

}  // namespace frit
