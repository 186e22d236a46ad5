#pragma once
#include <gtest/gtest.h>

#include <cstring>

#include "compiler/onnx/import.h"
#include "compiler/standard_library.h"
#include "seeded/references.h"

namespace frit {

/// The first `rows` rows of a reference's input.
inline Array array_of(const seeded::ReferenceInput& input, int64_t rows) {
  std::vector<int64_t> shape = input.shape;
  shape[0] = std::min(rows, shape[0]);
  Array array(input.f32.empty() ? DType::I32 : DType::F32, shape);
  const void* from = input.f32.empty() ? static_cast<const void*>(input.i32.data()) : input.f32.data();
  std::memcpy(array.mutable_data(), from, array.size_bytes());
  return array;
}

/// A network of tests/references, by name: its model, its inputs, and what it must answer.
class NetworkTest : public testing::TestWithParam<const char*> {
 protected:
  NetworkTest() : reference_(seeded::load_reference(FRIT_TEST_DATA, GetParam())) {}

  std::filesystem::path path() const { return seeded::models_dir() / reference_.model; }

  /// With the named tensors as outputs after the model's own; at most `rows` rows of each input.
  Imported import(int64_t rows, const std::vector<std::string>& outputs) const {
    ImportOptions options;
    for (const auto& input : reference_.inputs) {
      options.shapes[input.name] = input.shape;
      options.shapes[input.name][0] = std::min(rows, input.shape[0]);
    }
    options.more_outputs = outputs;
    if (reference_.seeded) options.random_weights = 0;
    return import_onnx(path(), standard_library(), options);
  }

  seeded::Reference reference_;
};

}  // namespace frit
