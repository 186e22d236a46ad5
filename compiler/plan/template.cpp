#include "compiler/plan/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "compiler/plan/arena.h"
#include "support/error.h"

namespace frit {
namespace {

using runtime::Access;
using runtime::Argument;
using runtime::Launch;
using runtime::Plan;
using runtime::StorageKind;

// A launch that takes less than two barriers and a share saved is left to one thread. Rates of one thread, modest.
constexpr double kSerialNanoseconds = 1000, kFlopsPerNanosecond = 16, kBytesPerNanosecond = 16;

bool is_serial(const Lowered& lowered) {
  const double ns = std::max(lowered.flops / kFlopsPerNanosecond, lowered.bytes / kBytesPerNanosecond);
  return lowered.tiles == 1 || ns < kSerialNanoseconds;
}

// The launches of one plan with the blocks they use.
class PlanMaker {
 public:
  PlanMaker(const Build& build, bool is_static, const std::vector<Digest>& keys)
      : build_(build), is_static_(is_static), keys_(keys) {
    storage_of_.assign(build.places.blocks.size(), -1);
  }

  /// kind and index of a block in this plan
  template <class KindOf>
  Plan run(KindOf kind_of) {
    for (size_t b = 0; b < build_.places.blocks.size(); ++b) {
      const auto kind = kind_of(static_cast<int>(b));
      if (kind) add_storage(static_cast<int>(b), kind->first, kind->second);
    }
    for (const BuiltLaunch& launch : build_.launches) {
      if (launch.is_static == is_static_) add_launch(launch);
    }
    place_arena();
    place_barriers();
    return std::move(plan_);
  }

 private:
  void add_storage(int block, StorageKind kind, int64_t index) {
    const Block& b = build_.places.blocks[static_cast<size_t>(block)];
    storage_of_[static_cast<size_t>(block)] = static_cast<int>(plan_.storages.size());
    plan_.storages.push_back({b.name, kind, index, b.bytes, false});
  }

  void add_launch(const BuiltLaunch& built) {
    const auto [kernel, is_new] = kernel_of_.try_emplace(built.source, static_cast<int>(plan_.kernels.size()));
    if (is_new)
      plan_.kernels.push_back(
          {build_.sources[static_cast<size_t>(built.source)].name, keys_[static_cast<size_t>(built.source)]});
    Launch launch;
    launch.name = built.name;
    launch.kernel = kernel->second;
    for (const BuiltLaunch::Buffer& buffer : built.buffers) {
      launch.arguments.push_back({storage_of_[static_cast<size_t>(buffer.block)], buffer.offset,
                                  buffer.is_changed   ? Access::ReadWrite
                                  : buffer.is_written ? Access::Write
                                                      : Access::Read});
    }
    launch.dims = built.lowered.dims;
    launch.tiles = built.lowered.tiles;
    launch.scratch_bytes = built.lowered.scratch_bytes;
    launch.is_serial = is_serial(built.lowered);
    launch.waits = false;
    plan_.launches.push_back(std::move(launch));
  }

  void place_arena() {
    std::vector<Life> lives(plan_.storages.size());
    for (size_t s = 0; s < lives.size(); ++s) {
      if (plan_.storages[s].kind == StorageKind::Arena) lives[s].bytes = plan_.storages[s].bytes;
      lives[s].first = static_cast<int>(plan_.launches.size());
    }
    for (size_t i = 0; i < plan_.launches.size(); ++i) {
      for (const Argument& argument : plan_.launches[i].arguments) {
        Life& life = lives[static_cast<size_t>(argument.storage)];
        life.first = std::min(life.first, static_cast<int>(i));
        life.last = std::max(life.last, static_cast<int>(i));
      }
    }
    drop_unused(lives);
    const ArenaPlan arena = plan_arena(lives);
    for (size_t s = 0; s < lives.size(); ++s) {
      if (plan_.storages[s].kind == StorageKind::Arena) plan_.storages[s].at = arena.offsets[s];
    }
    plan_.arena_bytes = arena.bytes;
  }

  // Boxes that no launch touches (of empty tensors, or whose readers are gone) are no part of the plan.
  void drop_unused(std::vector<Life>& lives) {
    std::vector<int> renumbered(lives.size(), -1);
    size_t kept = 0;
    for (size_t s = 0; s < lives.size(); ++s) {
      if (plan_.storages[s].kind == StorageKind::Arena && lives[s].last < 0) continue;
      renumbered[s] = static_cast<int>(kept);
      if (kept != s) {
        lives[kept] = lives[s];
        plan_.storages[kept] = std::move(plan_.storages[s]);
      }
      ++kept;
    }
    lives.resize(kept);
    plan_.storages.resize(kept);
    for (Launch& launch : plan_.launches) {
      for (Argument& argument : launch.arguments) argument.storage = renumbered[static_cast<size_t>(argument.storage)];
    }
  }

  // A barrier before each launch that depends on one since the last barrier, unless one thread runs both in order.
  void place_barriers() {
    size_t start = 0;
    for (size_t i = 0; i < plan_.launches.size(); ++i) {
      Launch& launch = plan_.launches[i];
      for (size_t j = start; j < i && !launch.waits; ++j) {
        const Launch& earlier = plan_.launches[j];
        if (earlier.is_serial && launch.is_serial) continue;
        launch.waits = depends(earlier, launch);
      }
      if (launch.waits) start = i;
    }
  }

  bool depends(const Launch& a, const Launch& b) const {
    for (const Argument& x : a.arguments) {
      for (const Argument& y : b.arguments) {
        if (!writes(x.access) && !writes(y.access)) continue;
        if (x.storage == y.storage || overlap(x.storage, y.storage)) return true;
      }
    }
    return false;
  }

  bool overlap(int x, int y) const {
    const runtime::Storage& a = plan_.storages[static_cast<size_t>(x)];
    const runtime::Storage& b = plan_.storages[static_cast<size_t>(y)];
    return a.kind == StorageKind::Arena && b.kind == StorageKind::Arena && a.at < b.at + b.bytes &&
           b.at < a.at + a.bytes;
  }

  const Build& build_;
  const bool is_static_;
  const std::vector<Digest>& keys_;
  Plan plan_;
  std::vector<int> storage_of_;             // of a block
  std::unordered_map<int, int> kernel_of_;  // of a source
};

class TemplateMaker {
 public:
  TemplateMaker(const Build& build, const Graph& original, std::vector<Digest> keys)
      : build_(build), keys_(std::move(keys)) {
    for (const Array& weight : weights_of(original)) {
      weight_index_.emplace(weight.data(), static_cast<int>(weight_index_.size()));
      ++out_.weights;
    }
  }

  PlanTemplate run() {
    find_uses();
    out_.init = PlanMaker(build_, true, keys_).run([&](int b) { return init_kind(b); });
    out_.main = PlanMaker(build_, false, keys_).run([&](int b) { return main_kind(b); });
    for (const BuiltLaunch& launch : build_.launches) {
      if (!launch.is_static) out_.costs.push_back({launch.lowered.flops, launch.lowered.bytes});
    }
    return std::move(out_);
  }

 private:
  using Kind = std::optional<std::pair<StorageKind, int64_t>>;

  void find_uses() {
    for (const BuiltLaunch& launch : build_.launches) {
      for (const BuiltLaunch::Buffer& buffer : launch.buffers)
        (launch.is_static ? used_in_init_ : used_in_main_).insert(buffer.block);
    }
  }
  const Block& block(int b) const { return build_.places.blocks[static_cast<size_t>(b)]; }

  // Results of the init plan that runs read are its outputs, and constants of the plan.
  Kind init_kind(int b) {
    if (!block(b).is_static || !used_in_init_.contains(b)) return std::nullopt;
    if (block(b).kind == StorageKind::Constant) {
      out_.init_constants.push_back(given(b));
      return std::pair(StorageKind::Constant, static_cast<int64_t>(out_.init_constants.size()) - 1);
    }
    if (!used_in_main_.contains(b)) return std::pair(StorageKind::Arena, int64_t{0});
    const int index = static_cast<int>(init_outputs_.size());
    init_outputs_.emplace(b, index);
    return std::pair(StorageKind::Output, static_cast<int64_t>(index));
  }

  Kind main_kind(int b) {
    const Block& of = block(b);
    switch (of.kind) {
      case StorageKind::Input:
      case StorageKind::Output:
        return std::pair(of.kind, static_cast<int64_t>(of.index));
      case StorageKind::Constant:
        if (!used_in_main_.contains(b)) return std::nullopt;
        out_.main_constants.push_back(given(b));
        break;
      case StorageKind::Arena:
        if (!of.is_static) return std::pair(StorageKind::Arena, int64_t{0});
        if (!init_outputs_.contains(b)) return std::nullopt;
        out_.main_constants.push_back({ConstantSource::Kind::Init, init_outputs_.at(b), {}});
        break;
    }
    return std::pair(StorageKind::Constant, static_cast<int64_t>(out_.main_constants.size()) - 1);
  }

  ConstantSource given(int b) const {
    const Array& array = std::get<Constant>(build_.graph.node(block(b).index).payload).array;
    if (array.size_bytes() <= kSmallConstantBytes)
      return {ConstantSource::Kind::Small, 0,
              std::string(reinterpret_cast<const char*>(array.data()), array.size_bytes())};
    const auto found = weight_index_.find(array.data());
    FRIT_CHECK(found != weight_index_.end(), "a pass has made a large constant of its own");
    return {ConstantSource::Kind::Weight, found->second, {}};
  }

  const Build& build_;
  const std::vector<Digest> keys_;
  PlanTemplate out_;
  std::set<int> used_in_init_, used_in_main_;
  std::unordered_map<int, int> init_outputs_;
  std::unordered_map<const void*, int> weight_index_;
};

}  // namespace

std::vector<Array> weights_of(const Graph& graph) {
  std::vector<Array> weights;
  for (const Node& node : graph.nodes()) {
    const Constant* constant = std::get_if<Constant>(&node.payload);
    if (constant && constant->array.size_bytes() > kSmallConstantBytes) weights.push_back(constant->array);
  }
  return weights;
}

PlanTemplate make_template(const Build& build, const Graph& original,
                           const std::function<Digest(const runtime::KernelSource&)>& key_of) {
  std::vector<Digest> keys;
  for (const runtime::KernelSource& source : build.sources) keys.push_back(key_of(source));
  PlanTemplate plan = TemplateMaker(build, original, std::move(keys)).run();
  for (const runtime::Plan* part : {&plan.init, &plan.main}) {
    std::string findings;
    for (const Finding& finding : verify_plan(*part)) findings += "\n" + format(finding);
    FRIT_CHECK(findings.empty(), "the planner made a wrong plan" + findings);
  }
  return plan;
}

}  // namespace frit
