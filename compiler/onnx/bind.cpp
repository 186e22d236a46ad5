#include "compiler/onnx/bind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/onnx/decode.h"
#include "support/error.h"

namespace frit::onnx {
namespace {

bool is_free(const ValueDef::Dim& dim) { return !dim.value || *dim.value < 0; }

std::string declared(const ValueDef& value) {
  return fmt::format("{}[{}]", value.name, fmt::join(declared_dims(value), ", "));
}

class Binder {
 public:
  Binder(const ModelDef& model, const std::vector<const ValueDef*>& inputs, const ImportOptions& options)
      : model_(model), inputs_(inputs), options_(options) {}

  std::vector<Dims> run() {
    check_names();
    for (const ValueDef* input : inputs_) take_given(*input);
    if (options_.free_batch_is_one) {
      for (const ValueDef* input : inputs_) {
        if (!input->shape->empty() && is_free(input->shape->front())) sizes_.emplace(input->shape->front().name, 1);
      }
    }
    std::vector<Dims> result;
    for (const ValueDef* input : inputs_) result.push_back(resolve(*input));
    if (!open_.empty()) {
      throw InputError(Finding{model_.path,
                               "free dims without a size",
                               {},
                               fmt::format("{}", fmt::join(open_, ", ")),
                               "a shape for each of these inputs",
                               fmt::format("--shape {}=..., or ImportOptions::shapes", first_open_),
                               {}});
    }
    return result;
  }

 private:
  [[noreturn]] void fail(std::string what, std::string got, std::string expected) const {
    throw InputError(Finding{model_.path, std::move(what), {}, std::move(got), std::move(expected), {}, {}});
  }

  void check_names() const {
    for (const auto& [name, shape] : options_.shapes) {
      const auto same = [&name = name](const ValueDef* v) { return v->name == name; };
      if (std::ranges::any_of(inputs_, same)) continue;
      std::vector<std::string> names;
      for (const ValueDef* v : inputs_) names.push_back(declared(*v));
      fail("no such input", quote_name(name), fmt::format("{}", fmt::join(names, ", ")));
    }
  }

  void take_given(const ValueDef& input) {
    const auto given = options_.shapes.find(input.name);
    if (given == options_.shapes.end()) return;
    const Dims& shape = given->second;
    if (shape.size() != input.shape->size()) {
      fail("wrong rank for an input", fmt::format("{}{}", input.name, to_string(shape)), declared(input));
    }
    for (size_t i = 0; i < shape.size(); ++i) {
      const ValueDef::Dim& dim = (*input.shape)[i];
      if (shape[i] < 0) fail("negative dim", fmt::format("{}{}", input.name, to_string(shape)), "dims of 0 or more");
      if (!is_free(dim) && *dim.value != shape[i]) {
        fail("shape contradicts the model", fmt::format("{}{}", input.name, to_string(shape)), declared(input));
      }
      if (!is_free(dim) || dim.name.empty()) continue;
      const auto [at, is_new] = sizes_.emplace(dim.name, shape[i]);
      if (!is_new && at->second != shape[i]) {
        fail("one dim with two sizes", fmt::format("{} = {} and {}", quote_name(dim.name), at->second, shape[i]),
             "the same size wherever a name occurs");
      }
    }
  }

  Dims resolve(const ValueDef& input) {
    Dims shape;
    const auto given = options_.shapes.find(input.name);
    for (size_t i = 0; i < input.shape->size(); ++i) {
      const ValueDef::Dim& dim = (*input.shape)[i];
      const auto size = sizes_.find(dim.name);
      if (!is_free(dim)) {
        shape.push_back(*dim.value);
      } else if (given != options_.shapes.end()) {
        shape.push_back(given->second[i]);
      } else if (!dim.name.empty() && size != sizes_.end()) {
        shape.push_back(size->second);
      } else if (i == 0 && options_.free_batch_is_one) {
        shape.push_back(1);
      } else {
        if (first_open_.empty()) first_open_ = input.name;
        open_.push_back(declared(input));
        return {};
      }
    }
    return shape;
  }

  const ModelDef& model_;
  const std::vector<const ValueDef*>& inputs_;
  const ImportOptions& options_;
  std::map<std::string, int64_t> sizes_;  // of named dims
  std::vector<std::string> open_;
  std::string first_open_;
};

}  // namespace

std::vector<std::string> declared_dims(const ValueDef& value) {
  std::vector<std::string> dims;
  if (value.shape) {
    for (const ValueDef::Dim& dim : *value.shape) {
      if (!is_free(dim)) {
        dims.push_back(std::to_string(*dim.value));
      } else {
        dims.push_back(dim.name.empty() ? "?" : dim.name);
      }
    }
  }
  return dims;
}

std::vector<Dims> bind_input_shapes(const ModelDef& model, const std::vector<const ValueDef*>& inputs,
                                    const ImportOptions& options) {
  for (const ValueDef* input : inputs) {
    const std::string where = fmt::format("{}: input {}", model.path, quote_name(input->name));
    if (!input->is_tensor) {
      throw UnsupportedError(
          Finding{where, "only tensors can be inputs", {}, "a sequence, map or optional", "a tensor", {}, {}});
    }
    if (!input->shape) {
      throw UnsupportedError(
          Finding{where, "an input of unknown rank", {}, "no shape", "a shape, dims may be free", {}, {}});
    }
  }
  std::vector<Dims> shapes = Binder(model, inputs, options).run();
  for (size_t i = 0; i < inputs.size(); ++i) {  // the same limits as for tensors of the file
    TensorDef tensor;
    tensor.dims = shapes[i];
    checked_dims(tensor, fmt::format("{}: input {}", model.path, quote_name(inputs[i]->name)));
  }
  return shapes;
}

}  // namespace frit::onnx
