#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/lower/lower.h"
#include "compiler/plan/template.h"
#include "ir/array.h"
#include "ir/graph.h"
#include "runtime/kernel_cache.h"
#include "runtime/plan_instance.h"
#include "runtime/workers.h"

namespace frit {

struct ProgramOptions {
  runtime::KernelCache* cache = nullptr;  // null: the process's own
  runtime::Workers* workers = nullptr;    // null: the process's own
  bool use_plan_cache = true;             // on disk
};

/// A graph compiled for this machine with its weights, ready to run. Thread safe: callers at once get instances of
/// their own.
class Program {
 public:
  /// From the plans on disk when graph, machine and this build of Frit are the same and all kernels are there: then no
  /// pass runs and no text is printed. Else by all passes. Weights are packed and folded here, by compiled kernels.
  /// errors  UnsupportedError, CompilerError, InternalError as `build` and `KernelCache::get` say
  static std::shared_ptr<Program> compile(const Graph& graph, const ProgramOptions& options = {});

  /// Inputs in order of the graph's input nodes, results in order of its outputs. Borrows the inputs for the call.
  /// errors  InputError: number, dtype or shape of the inputs
  std::vector<Array> run(std::span<const Array> inputs) const;

  struct Port {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape;
  };
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  const PlanTemplate& plan() const { return *template_; }
  bool is_from_disk() const { return is_from_disk_; }
  double init_ms() const { return init_ms_; }  // of the init plan: packing and folding weights

  /// An instance for a caller who binds arrays of its own and runs often.
  runtime::InstancePool::Lease take() const { return pool_->take(); }
  runtime::Workers& workers() const { return *workers_; }
  /// errors  InputError naming the input
  void check_inputs(std::span<const Array> inputs) const;

 private:
  Program() = default;
  bool load(const Graph& graph, const Digest& key, runtime::KernelCache& cache);
  void make(const Graph& graph, const Digest& key, runtime::KernelCache& cache, bool store);
  void start(const Graph& graph, std::vector<runtime::KernelRef> init, std::vector<runtime::KernelRef> main);

  std::vector<Port> inputs_, outputs_;
  std::shared_ptr<const PlanTemplate> template_;
  std::unique_ptr<runtime::InstancePool> pool_;
  runtime::Workers* workers_ = nullptr;
  bool is_from_disk_ = false;
  double init_ms_ = 0;
};

/// What the machine of a kernel cache offers to schedules.
Machine machine_of(const runtime::KernelCache& cache);

/// The program of a graph without large constants, from a bounded memory of recent ones; one compilation per graph at a
/// time. Thread safe.
std::shared_ptr<const Program> compile_remembered(const Graph& graph);
/// How often a graph was found there.
uint64_t remembered_programs();

}  // namespace frit
