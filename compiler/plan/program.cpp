#include "compiler/plan/program.h"

#include <fmt/format.h>

#include <chrono>

#include "compiler/plan/build_id.h"
#include "support/error.h"

namespace frit {
namespace {

std::string type_text(DType dtype, const std::vector<int64_t>& shape) {
  return fmt::format("{}[{}]", name(dtype), fmt::join(shape, ", "));
}

Digest plan_key(const Graph& graph, const runtime::KernelCache& cache) {
  const std::string structure = structure_of(graph).hex(),
                    fields = cache.key_fields({.name = {}, .target = "cpu", .text = {}});
  const std::string_view parts[] = {"program", structure, fields, build_id()};
  return digest_of_fields(parts);
}

bool has_size(const runtime::Plan& plan, runtime::StorageKind kind, const std::vector<Program::Port>& ports) {
  if (plan.count_of(kind) != static_cast<int>(ports.size())) return false;
  for (const runtime::Storage& storage : plan.storages) {
    if (storage.kind != kind) continue;
    const Program::Port& port = ports[static_cast<size_t>(storage.at)];
    if (storage.bytes != element_count(port.shape) * size_bytes(port.dtype)) return false;
  }
  return true;
}

bool has_weights(const runtime::Plan& plan, const std::vector<ConstantSource>& constants,
                 const std::vector<Array>& weights) {
  for (const runtime::Storage& storage : plan.storages) {
    if (storage.kind != runtime::StorageKind::Constant) continue;
    const ConstantSource& constant = constants[static_cast<size_t>(storage.at)];
    if (constant.kind != ConstantSource::Kind::Weight) continue;
    if (static_cast<size_t>(storage.bytes) > weights[static_cast<size_t>(constant.index)].size_bytes()) return false;
  }
  return true;
}

// Fills constants from their sources.
class Binder {
 public:
  explicit Binder(const Graph& graph) : weights_(weights_of(graph)) {}

  std::vector<runtime::Constant> bind(const std::vector<ConstantSource>& sources) const {
    std::vector<runtime::Constant> constants;
    for (const ConstantSource& source : sources) {
      switch (source.kind) {
        case ConstantSource::Kind::Weight: {
          const auto array = std::make_shared<Array>(weights_[static_cast<size_t>(source.index)]);
          constants.push_back({std::shared_ptr<const void>(array, array->data()), array->size_bytes()});
          break;
        }
        case ConstantSource::Kind::Small: {
          const auto buffer = runtime::make_buffer(std::max<size_t>(source.bytes.size(), 1));
          std::copy(source.bytes.begin(), source.bytes.end(), buffer->as<char>());
          constants.push_back(runtime::Constant::of(buffer));
          break;
        }
        case ConstantSource::Kind::Init:
          constants.push_back(results[static_cast<size_t>(source.index)]);
          break;
      }
    }
    return constants;
  }

  std::vector<runtime::Constant> results;  // of the init plan

 private:
  std::vector<Array> weights_;
};

}  // namespace

Machine machine_of(const runtime::KernelCache& cache) { return machine_named(cache.cpu().name()); }

std::shared_ptr<Program> Program::compile(const Graph& graph, const ProgramOptions& options) {
  std::shared_ptr<Program> program(new Program);
  runtime::KernelCache& cache = options.cache ? *options.cache : runtime::KernelCache::shared();
  program->workers_ = options.workers ? options.workers : &runtime::Workers::shared();
  for (const int node : graph.input_nodes()) {
    const TensorType& type = graph.node(node).results[0];
    program->inputs_.push_back({std::get<Input>(graph.node(node).payload).name, type.dtype, static_shape(type.shape)});
  }
  for (const Graph::Output& output : graph.outputs()) {
    const TensorType& type = graph.type(output.value);
    program->outputs_.push_back({output.name, type.dtype, static_shape(type.shape)});
  }
  const bool may_keep = options.use_plan_cache && !build_id().empty() && cache.disk().is_usable();
  const Digest key = may_keep ? plan_key(graph, cache) : Digest{};
  if (!may_keep || !program->load(graph, key, cache)) program->make(graph, key, cache, may_keep);
  return program;
}

bool Program::load(const Graph& graph, const Digest& key, runtime::KernelCache& cache) {
  const std::optional<std::string> text = cache.disk().get("plan", key);
  if (!text) return false;
  try {
    const auto plan = std::make_shared<PlanTemplate>(parse_template(*text));
    const std::vector<Array> weights = weights_of(graph);
    const bool fits = plan->weights == static_cast<int>(weights.size()) &&
                      has_size(plan->main, runtime::StorageKind::Input, inputs_) &&
                      has_size(plan->main, runtime::StorageKind::Output, outputs_) &&
                      has_weights(plan->main, plan->main_constants, weights) &&
                      has_weights(plan->init, plan->init_constants, weights);
    if (!fits) return false;
    auto init = find_kernels(cache, plan->init), main = find_kernels(cache, plan->main);
    if (!init || !main) return false;
    template_ = plan;
    start(graph, std::move(*init), std::move(*main));
    is_from_disk_ = true;
    return true;
  } catch (const InputError&) {
    return false;  // written by another hand: a miss
  }
}

void Program::make(const Graph& graph, const Digest& key, runtime::KernelCache& cache, bool store) {
  const runtime::LlvmOpening opening;  // while the passes run
  const Build built = build(graph, machine_of(cache));
  const auto plan = std::make_shared<PlanTemplate>(
      make_template(built, graph, [&](const runtime::KernelSource& source) { return cache.key_of(source); }));
  const std::vector<runtime::KernelRef> kernels = cache.get_all(built.sources);
  std::map<Digest, runtime::KernelRef> by_key;
  for (const runtime::KernelRef& kernel : kernels) by_key[kernel->key()] = kernel;
  const auto kernels_of = [&](const runtime::Plan& part) {
    std::vector<runtime::KernelRef> list;
    for (const runtime::PlanKernel& kernel : part.kernels) list.push_back(by_key.at(kernel.key));
    return list;
  };
  template_ = plan;
  start(graph, kernels_of(plan->init), kernels_of(plan->main));
  if (store) cache.disk().put("plan", key, print_template(*plan));
}

void Program::start(const Graph& graph, std::vector<runtime::KernelRef> init, std::vector<runtime::KernelRef> main) {
  const auto began = std::chrono::steady_clock::now();
  Binder binder(graph);
  if (!template_->init.launches.empty()) {
    const auto plan = std::shared_ptr<const runtime::Plan>(template_, &template_->init);
    std::vector<void*> outputs(static_cast<size_t>(plan->count_of(runtime::StorageKind::Output)));
    binder.results.resize(outputs.size());
    for (const runtime::Storage& storage : plan->storages) {
      if (storage.kind != runtime::StorageKind::Output) continue;
      const auto buffer = runtime::make_buffer(static_cast<size_t>(std::max<int64_t>(storage.bytes, 1)));
      outputs[static_cast<size_t>(storage.at)] = buffer->data();
      binder.results[static_cast<size_t>(storage.at)] = runtime::Constant::of(buffer);
    }
    runtime::PlanInstance instance(plan, std::move(init), binder.bind(template_->init_constants), workers_->count());
    instance.bind({}, outputs);
    instance.run(*workers_);
  }
  init_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  const auto plan = std::shared_ptr<const runtime::Plan>(template_, &template_->main);
  pool_ = std::make_unique<runtime::InstancePool>(std::make_unique<runtime::PlanInstance>(
      plan, std::move(main), binder.bind(template_->main_constants), workers_->count()));
}

void Program::check_inputs(std::span<const Array> inputs) const {
  if (inputs.size() != inputs_.size()) {
    throw InputError(Finding{.where = {},
                             .what = "wrong number of inputs",
                             .excerpt = {},
                             .got = fmt::format("{}", inputs.size()),
                             .expected = fmt::format("{}", inputs_.size()),
                             .fix = {},
                             .from = {}});
  }
  std::vector<Finding> findings;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() == inputs_[i].dtype && inputs[i].shape() == inputs_[i].shape) continue;
    findings.push_back({.where = fmt::format("input \"{}\"", inputs_[i].name),
                        .what = "dtype or shape differs",
                        .excerpt = {},
                        .got = type_text(inputs[i].dtype(), inputs[i].shape()),
                        .expected = type_text(inputs_[i].dtype, inputs_[i].shape),
                        .fix = {},
                        .from = {}});
  }
  if (!findings.empty()) throw InputError(std::move(findings));
}

std::vector<Array> Program::run(std::span<const Array> inputs) const {
  check_inputs(inputs);
  std::vector<const void*> from;
  for (const Array& input : inputs) from.push_back(input.data());
  std::vector<Array> results;
  std::vector<void*> to;
  for (const Port& port : outputs_) {
    results.emplace_back(port.dtype, port.shape);
    to.push_back(results.back().mutable_data());
  }
  const auto instance = pool_->take();
  instance->bind(from, to);
  instance->run(*workers_);
  return results;
}

}  // namespace frit
