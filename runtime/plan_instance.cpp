#include "runtime/plan_instance.h"

#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <chrono>

#include "runtime/fork_guard.h"
#include "runtime/kernel_cache.h"
#include "support/error.h"

namespace frit::runtime {
namespace {

constexpr unsigned kDefaultFloatState = 0x1f80;  // all exceptions masked, round to nearest, denormals kept
constexpr int64_t kScratchPadding = 4096;        // threads do not meet on a page

uint64_t now_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

/// Kernels compute the same whatever the caller has set on its thread (flush to zero, rounding).
class FloatState {
 public:
  FloatState() : saved_(_mm_getcsr()) {
    if (saved_ != kDefaultFloatState) _mm_setcsr(kDefaultFloatState);
  }
  ~FloatState() {
    if (saved_ != kDefaultFloatState) _mm_setcsr(saved_);
  }
  FloatState(const FloatState&) = delete;
  FloatState& operator=(const FloatState&) = delete;

 private:
  unsigned saved_;
};

[[noreturn]] void fail_bind(std::string what, std::string got, std::string expected) {
  throw InputError(Finding{.where = {},
                           .what = std::move(what),
                           .excerpt = {},
                           .got = std::move(got),
                           .expected = std::move(expected),
                           .fix = {},
                           .from = {}});
}

std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += "\n" + format(finding);
  return text;
}

bool share_bytes(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes) {
  const auto one = reinterpret_cast<uintptr_t>(a), two = reinterpret_cast<uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && one < two + static_cast<uintptr_t>(b_bytes) &&
         two < one + static_cast<uintptr_t>(a_bytes);
}

}  // namespace

PlanInstance::PlanInstance(std::shared_ptr<const Plan> plan, std::vector<KernelRef> kernels,
                           std::vector<Constant> constants, int workers)
    : plan_(std::move(plan)),
      kernels_(std::move(kernels)),
      constants_(std::move(constants)),
      max_workers_(workers > 0 ? workers : Workers::shared().count()) {
  const std::vector<Finding> findings = verify_plan(*plan_);
  FRIT_CHECK(findings.empty(), "plan" + findings_text(findings));
  FRIT_CHECK(kernels_.size() == plan_->kernels.size(),
             fmt::format("{} kernels for {}", kernels_.size(), plan_->kernels.size()));
  for (const KernelRef& kernel : kernels_) FRIT_CHECK(kernel != nullptr, "a kernel is missing");
  FRIT_CHECK(constants_.size() == static_cast<size_t>(plan_->count_of(StorageKind::Constant)),
             fmt::format("{} constants", constants_.size()));
  resolve();
}

void PlanInstance::resolve() {
  inputs_.resize(static_cast<size_t>(plan_->count_of(StorageKind::Input)));
  outputs_.resize(static_cast<size_t>(plan_->count_of(StorageKind::Output)));
  input_patches_.resize(inputs_.size());
  output_patches_.resize(outputs_.size());
  arena_ = Buffer(static_cast<size_t>(plan_->arena_bytes));
  for (const Storage& storage : plan_->storages) {
    const auto at = static_cast<size_t>(storage.at);
    if (storage.kind == StorageKind::Input) inputs_[at] = &storage;
    if (storage.kind == StorageKind::Output) outputs_[at] = &storage;
    if (storage.kind != StorageKind::Constant) continue;
    FRIT_CHECK(constants_[at].bytes >= static_cast<size_t>(storage.bytes),
               fmt::format("constant \"{}\" has {} bytes of {}", storage.name, constants_[at].bytes, storage.bytes));
  }
  size_t arguments = 0;
  int64_t scratch = 0;
  for (const Launch& launch : plan_->launches) {
    arguments += launch.arguments.size();
    scratch = std::max(scratch, launch.scratch_bytes);
  }
  if (scratch > 0) {
    scratch_stride_ = (scratch + kScratchPadding - 1) / kScratchPadding * kScratchPadding;
    scratch_ = Buffer(static_cast<size_t>(scratch_stride_) * static_cast<size_t>(max_workers_));
  }
  pointers_.reserve(arguments);  // steps point into it
  steps_.reserve(plan_->launches.size());
  for (const Launch& launch : plan_->launches) {
    steps_.push_back({.fn = kernels_[static_cast<size_t>(launch.kernel)]->fn(),
                      .buffers = pointers_.data() + pointers_.size(),
                      .dims = launch.dims.data(),
                      .tiles = launch.tiles,
                      .is_serial = launch.is_serial,
                      .waits = launch.waits});
    is_all_serial_ = is_all_serial_ && launch.is_serial;
    for (const Argument& argument : launch.arguments) {
      const Storage& storage = plan_->storages[static_cast<size_t>(argument.storage)];
      const auto at = static_cast<size_t>(storage.at);
      const Patch patch{static_cast<uint32_t>(pointers_.size()), argument.offset};
      void* pointer = nullptr;
      switch (storage.kind) {
        case StorageKind::Arena:
          pointer = arena_.as<char>() + storage.at + argument.offset;
          break;
        case StorageKind::Constant:
          pointer = static_cast<char*>(const_cast<void*>(constants_[at].data.get())) + argument.offset;
          break;
        case StorageKind::Input:
          input_patches_[at].push_back(patch);
          break;
        case StorageKind::Output:
          output_patches_[at].push_back(patch);
          break;
      }
      pointers_.push_back(pointer);
    }
  }
  launch_ns_.resize(steps_.size());
  is_bound_ = inputs_.empty() && outputs_.empty();
}

PlanInstance::PlanInstance(const PlanInstance& other, Cloned)
    : plan_(other.plan_), kernels_(other.kernels_), constants_(other.constants_), max_workers_(other.max_workers_) {
  resolve();
}

std::unique_ptr<PlanInstance> PlanInstance::clone() const {
  return std::unique_ptr<PlanInstance>(new PlanInstance(*this, Cloned{}));
}

const Kernel& PlanInstance::kernel_of(size_t launch) const {
  return *kernels_.at(static_cast<size_t>(plan_->launches.at(launch).kernel));
}

void PlanInstance::check_disjoint(std::span<const void* const> inputs, std::span<void* const> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == nullptr && outputs_[i]->bytes > 0) {
      fail_bind(fmt::format("no memory for output \"{}\"", outputs_[i]->name), "null",
                fmt::format("{} bytes", outputs_[i]->bytes));
    }
    for (size_t j = 0; j < i; ++j) {
      if (share_bytes(outputs[i], outputs_[i]->bytes, outputs[j], outputs_[j]->bytes)) {
        fail_bind(fmt::format("outputs \"{}\" and \"{}\" share bytes", outputs_[j]->name, outputs_[i]->name),
                  "overlapping memory", "memory of its own for each output");
      }
    }
    for (size_t j = 0; j < inputs.size(); ++j) {
      if (share_bytes(outputs[i], outputs_[i]->bytes, inputs[j], inputs_[j]->bytes)) {
        fail_bind(fmt::format("input \"{}\" and output \"{}\" share bytes", inputs_[j]->name, outputs_[i]->name),
                  "overlapping memory", "memory of its own for each output");
      }
    }
  }
}

void PlanInstance::bind(std::span<const void* const> inputs, std::span<void* const> outputs) {
  if (inputs.size() != inputs_.size() || outputs.size() != outputs_.size()) {
    fail_bind("wrong number of buffers", fmt::format("{} inputs, {} outputs", inputs.size(), outputs.size()),
              fmt::format("{} inputs, {} outputs", inputs_.size(), outputs_.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr && inputs_[i]->bytes > 0) {
      fail_bind(fmt::format("no memory for input \"{}\"", inputs_[i]->name), "null",
                fmt::format("{} bytes", inputs_[i]->bytes));
    }
  }
  check_disjoint(inputs, outputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    // Kernels take one pointer type; the verifier has seen that inputs which are not donated are only read.
    char* base = static_cast<char*>(const_cast<void*>(inputs[i]));
    for (const Patch& patch : input_patches_[i]) pointers_[patch.pointer] = base + patch.offset;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const Patch& patch : output_patches_[i]) {
      pointers_[patch.pointer] = static_cast<char*>(outputs[i]) + patch.offset;
    }
  }
  is_bound_ = true;
}

void PlanInstance::step(const Step& step, const Workers::Team& team) {
  int64_t begin = 0, end = step.tiles;
  if (step.is_serial) {
    if (team.worker != 0) return;
  } else {
    team.share(step.tiles, begin, end);
    if (begin == end) return;
  }
  step.fn(step.buffers, step.dims, begin, end, scratch_of(team));
}

void PlanInstance::walk(const Workers::Team& team) {
  const FloatState state;
  for (const Step& next : steps_) {
    if (next.waits) team.barrier->wait();
    step(next, team);
  }
}

void PlanInstance::walk_profiled(const Workers::Team& team) {
  const FloatState state;
  for (size_t i = 0; i < steps_.size(); ++i) {
    team.barrier->wait();
    const uint64_t start = team.worker == 0 ? now_ns() : 0;
    step(steps_[i], team);
    team.barrier->wait();
    if (team.worker == 0) launch_ns_[i] += now_ns() - start;
  }
}

void PlanInstance::run(Workers& workers) {
  FRIT_CHECK(is_bound_, "run before bind");
  const int limit = is_all_serial_ ? 1 : max_workers_;
  if (is_profiling_) {
    ++profiled_runs_;
    const auto body = [](void* self, const Workers::Team& team) {
      static_cast<PlanInstance*>(self)->walk_profiled(team);
    };
    workers.run(body, this, limit);
    return;
  }
  workers.run([](void* self, const Workers::Team& team) { static_cast<PlanInstance*>(self)->walk(team); }, this, limit);
}

std::optional<std::vector<KernelRef>> find_kernels(KernelCache& cache, const Plan& plan) {
  std::vector<KernelRef> kernels;
  for (const PlanKernel& wanted : plan.kernels) {
    kernels.push_back(cache.get_by_key(wanted.key, wanted.name));
    if (!kernels.back()) return std::nullopt;
  }
  return kernels;
}

InstancePool::InstancePool(std::unique_ptr<PlanInstance> first, size_t kept) : kept_(std::max<size_t>(kept, 1)) {
  idle_.reserve(kept_);
  owned_first_ = first.get();
  idle_.push_back(first.get());
  owned_.push_back(std::move(first));
  ForkGuard::instance().add({.state = this, .mutex = &mutex_});
}

InstancePool::~InstancePool() { ForkGuard::instance().remove(this); }

InstancePool::Lease InstancePool::take() {
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      PlanInstance* instance = idle_.back();
      idle_.pop_back();
      return {*this, instance};
    }
  }
  // The first may be running: a clone reads only what no run writes.
  std::unique_ptr<PlanInstance> fresh = owned_first_->clone();
  PlanInstance* instance = fresh.get();
  const std::scoped_lock lock(mutex_);
  owned_.push_back(std::move(fresh));
  return {*this, instance};
}

void InstancePool::give_back(PlanInstance* instance) {
  std::unique_ptr<PlanInstance> surplus;  // destroyed after the lock is released
  const std::scoped_lock lock(mutex_);
  if (idle_.size() < kept_) {
    idle_.push_back(instance);
    return;
  }
  if (instance == owned_first_) std::swap(instance, idle_.front());
  const auto found =
      std::find_if(owned_.begin(), owned_.end(), [&](const auto& owned) { return owned.get() == instance; });
  surplus = std::move(*found);
  owned_.erase(found);
}

}  // namespace frit::runtime
