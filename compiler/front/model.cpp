#include <fmt/format.h>

#include <chrono>
#include <list>
#include <mutex>
#include <set>

#include "compiler/front/node.h"
#include "compiler/onnx/decode.h"
#include "compiler/onnx/import.h"
#include "compiler/plan/program.h"
#include "compiler/standard_library.h"
#include "frit/frit.h"
#include "support/error.h"

namespace frit {
namespace front {

constexpr size_t kPrograms = 8;  // shapes that a model is kept compiled for

struct ModelData {
  std::filesystem::path path;
  Model::Info info;
  std::mutex mutex;  // guards what follows; held while a new set of shapes is compiled, so that it is compiled once
  struct Compiled {
    std::string key;
    std::shared_ptr<Program> program;
  };
  std::list<Compiled> programs;  // most recent first
  Model::Report report;
};

}  // namespace front

namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Finding finding(const std::string& name, std::string what, std::string got, std::string expected) {
  return {.where = fmt::format("input \"{}\"", name),
          .what = std::move(what),
          .excerpt = {},
          .got = std::move(got),
          .expected = std::move(expected),
          .fix = {},
          .from = {}};
}

Model::Port port_of(const onnx::ValueDef& value) {
  Model::Port port{value.name, onnx::dtype_of(value.element_type).value_or(DType::F32), {}};
  if (!value.shape) return port;
  for (const onnx::ValueDef::Dim& dim : *value.shape)
    port.dims.push_back(dim.value ? std::to_string(*dim.value) : dim.name.empty() ? "?" : dim.name);
  return port;
}

Model::Info info_of(const onnx::ModelDef& model) {
  Model::Info info;
  std::set<std::string> constants;
  for (const onnx::TensorDef& initializer : model.graph.initializers) constants.insert(initializer.name);
  for (const onnx::ValueDef& input : model.graph.inputs) {
    if (!constants.contains(input.name)) info.inputs.push_back(port_of(input));
  }
  for (const onnx::ValueDef& output : model.graph.outputs) info.outputs.push_back(port_of(output));
  info.producer = model.producer;
  info.metadata = model.metadata;
  return info;
}

void check_names(const Model::Info& info, const std::map<std::string, Tensor>& inputs) {
  std::vector<Finding> findings;
  std::string known;
  for (const Model::Port& port : info.inputs) {
    known += (known.empty() ? "" : ", ") + port.name;
    const auto given = inputs.find(port.name);
    if (given == inputs.end() || !given->second)
      findings.push_back(finding(port.name, "is missing", "nothing", "a tensor"));
    else if (given->second.dtype() != port.dtype)
      findings.push_back(finding(port.name, "has another dtype", std::string(name(given->second.dtype())),
                                 std::string(name(port.dtype))));
  }
  for (const auto& [given, tensor] : inputs) {
    const bool is_known = std::any_of(info.inputs.begin(), info.inputs.end(),
                                      [&](const Model::Port& port) { return port.name == given; });
    if (!is_known) findings.push_back(finding(given, "the model has no such input", given, known));
  }
  if (!findings.empty()) throw InputError(std::move(findings));
}

std::shared_ptr<Program> compile_model(front::ModelData& data, const std::map<std::string, Tensor>& inputs) {
  const auto start = Clock::now();
  ImportOptions options;
  for (const auto& [name, tensor] : inputs) options.shapes[name] = tensor.shape();
  const Imported imported = import_onnx(data.path, standard_library(), options);
  data.report.import_ms = ms_since(start);
  const auto compiling = Clock::now();
  auto program = Program::compile(imported.graph);
  data.report.compile_ms = ms_since(compiling);
  const runtime::Plan& plan = program->plan().main;
  data.report.kernels = plan.kernels.size();
  data.report.launches = plan.launches.size();
  data.report.arena_bytes = plan.arena_bytes;
  data.report.is_from_disk = program->is_from_disk();
  return program;
}

std::shared_ptr<Program> program_for(front::ModelData& data, const std::map<std::string, Tensor>& inputs) {
  std::string key;
  for (const auto& [name, tensor] : inputs) key += fmt::format("{}[{}] ", name, fmt::join(tensor.shape(), ","));
  const std::lock_guard lock(data.mutex);
  for (auto entry = data.programs.begin(); entry != data.programs.end(); ++entry) {
    if (entry->key != key) continue;
    data.programs.splice(data.programs.begin(), data.programs, entry);
    return data.programs.front().program;
  }
  data.programs.push_front({key, compile_model(data, inputs)});
  if (data.programs.size() > front::kPrograms) data.programs.pop_back();
  return data.programs.front().program;
}

}  // namespace

Model load_onnx(const std::filesystem::path& path) {
  auto data = std::make_shared<front::ModelData>();
  data->path = path;
  data->info = info_of(onnx::decode_file(path));
  return Model(std::move(data));
}

const Model::Info& Model::info() const { return data_->info; }

Model::Report Model::report() const {
  const std::lock_guard lock(data_->mutex);
  return data_->report;
}

std::map<std::string, Tensor> Model::run(const std::map<std::string, Tensor>& inputs) const {
  check_names(data_->info, inputs);
  const std::shared_ptr<Program> program = program_for(*data_, inputs);
  std::vector<Array> arrays;
  for (const Program::Port& port : program->inputs()) {
    const Tensor& tensor = inputs.at(port.name).evaluate();
    arrays.push_back(*tensor.node()->state().value);
  }
  std::map<std::string, Tensor> results;
  std::vector<Array> values = program->run(arrays);
  for (size_t i = 0; i < values.size(); ++i)
    results.emplace(program->outputs()[i].name, Tensor(front::make_value(std::move(values[i]))));
  return results;
}

}  // namespace frit
