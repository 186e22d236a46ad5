#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "runtime/buffer.h"
#include "runtime/kernel.h"
#include "runtime/plan.h"
#include "runtime/workers.h"

namespace frit::runtime {

class KernelCache;

/// Bytes that a plan only reads, and what keeps them alive.
struct Constant {
  std::shared_ptr<const void> data;
  size_t bytes = 0;

  static Constant of(BufferRef buffer) {
    const size_t bytes = buffer->size();
    const void* data = buffer->data();
    return {std::shared_ptr<const void>(std::move(buffer), data), bytes};
  }
};

/// A plan with its memory, ready to run again and again. A run allocates nothing, takes no lock and looks nothing up;
/// it returns when all launches have ended. One thread at a time: a further one uses a clone or an InstancePool.
class PlanInstance {
 public:
  /// kernels    as in plan.kernels
  /// constants  by the index of their storage, each at least as large
  /// workers    run() may be given this many at most; 0: those of Workers::shared()
  /// errors     InternalError: the plan has findings, a kernel is missing, a constant is too small
  PlanInstance(std::shared_ptr<const Plan> plan, std::vector<KernelRef> kernels, std::vector<Constant> constants,
               int workers = 0);

  /// The same plan, kernels and constants with an arena of its own, nothing bound.
  std::unique_ptr<PlanInstance> clone() const;

  /// One pointer per input and output, kept until the next bind. Outputs share no byte with each other or with an
  /// input; a null pointer only where the storage has no bytes.
  /// errors  InputError: wrong count; null; shared bytes
  void bind(std::span<const void* const> inputs, std::span<void* const> outputs);

  void run(Workers& workers = Workers::shared());

  /// Measures each launch from now on, with a barrier before and after it, so that a time is the launch's own.
  void set_profiling(bool is_on) { is_profiling_ = is_on; }
  std::span<const uint64_t> launch_ns() const { return launch_ns_; }  // summed over profiled runs
  uint64_t profiled_runs() const { return profiled_runs_; }

  const Plan& plan() const { return *plan_; }
  const Kernel& kernel_of(size_t launch) const;

 private:
  struct Cloned {};
  PlanInstance(const PlanInstance& other, Cloned);

  struct Step {
    KernelFn fn;
    void* const* buffers;
    const int64_t* dims;
    int64_t tiles;
    bool is_serial, waits;
  };
  struct Patch {  // pointers_[pointer] = the bound pointer + offset
    uint32_t pointer;
    int64_t offset;
  };

  void resolve();
  void check_disjoint(std::span<const void* const> inputs, std::span<void* const> outputs) const;
  void* scratch_of(const Workers::Team& team) { return scratch_.as<char>() + scratch_stride_ * team.worker; }
  void step(const Step& step, const Workers::Team& team);
  void walk(const Workers::Team& team);
  void walk_profiled(const Workers::Team& team);

  std::shared_ptr<const Plan> plan_;
  std::vector<KernelRef> kernels_;
  std::vector<Constant> constants_;
  int max_workers_;
  bool is_all_serial_ = true, is_bound_ = false, is_profiling_ = false;
  Buffer arena_, scratch_;
  int64_t scratch_stride_ = 0;
  std::vector<Step> steps_;
  std::vector<void*> pointers_;
  std::vector<std::vector<Patch>> input_patches_, output_patches_;
  std::vector<const Storage*> inputs_, outputs_;
  std::vector<uint64_t> launch_ns_;
  uint64_t profiled_runs_ = 0;
};

/// Kernels of a plan from the cache, by key alone, so that a warm process needs no text and no LLVM; empty when one is
/// not there.
std::optional<std::vector<KernelRef>> find_kernels(KernelCache& cache, const Plan& plan);

/// One plan for many callers at once: each takes an instance and gives it back. Thread safe.
class InstancePool {
 public:
  /// kept  idle instances that are not destroyed
  explicit InstancePool(std::unique_ptr<PlanInstance> first, size_t kept = 4);
  ~InstancePool();
  InstancePool(const InstancePool&) = delete;
  InstancePool& operator=(const InstancePool&) = delete;

  class Lease {
   public:
    Lease(InstancePool& pool, PlanInstance* instance) : pool_(&pool), instance_(instance) {}
    ~Lease() {
      if (instance_ != nullptr) pool_->give_back(instance_);
    }
    Lease(Lease&& other) noexcept : pool_(other.pool_), instance_(std::exchange(other.instance_, nullptr)) {}
    Lease& operator=(Lease&&) = delete;
    PlanInstance& operator*() const { return *instance_; }
    PlanInstance* operator->() const { return instance_; }

   private:
    InstancePool* pool_;
    PlanInstance* instance_;
  };
  Lease take();

 private:
  void give_back(PlanInstance* instance);

  std::mutex mutex_;
  std::vector<std::unique_ptr<PlanInstance>> owned_;
  std::vector<PlanInstance*> idle_;
  PlanInstance* owned_first_ = nullptr;  // what clones are made from; never destroyed before the pool
  size_t kept_;
};

}  // namespace frit::runtime
