// The public ONNX backend tests of one node each, where the `onnx` wheel is unpacked ($FRIT_ONNX_TESTS names its folder
// onnx/backend/test/data/node): what imports must give the stored results in the reference interpreter.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "compiler/onnx/shapes.h"
#include "onnx/import_fixture.h"

namespace frit::onnx {
namespace {

using namespace test;
namespace fs = std::filesystem;

std::string read_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// A TensorProto in a file of its own.
Array read_tensor(const fs::path& path) {
  std::string graph, model;
  pbf_writer(graph).add_message(5, read_bytes(path));
  pbf_writer(model).add_message(7, graph);
  const OwnedBytes bytes = own(model);
  const ModelDef def = decode_model(bytes.span, bytes.owner, path.string());
  return to_array(def.graph.initializers.at(0), def, path.string());
}

bool close(double got, double want, double slack) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  return got == want || std::abs(got - want) <= 1e-3 * std::abs(want) + 1e-6 + slack;
}

std::string difference(const ReferenceTensor& got, const Array& want) {
  if (got.shape != want.shape()) {
    return "shape " + to_string(std::span(got.shape)) + ", expected " + to_string(std::span(want.shape()));
  }
  if (got.dtype != want.dtype())
    return "dtype " + std::string(name(got.dtype)) + ", expected " + std::string(name(want.dtype()));
  const std::vector<double> values = values_of(got);
  // The interpreter divides in float64, so that a tie of float32 may round the other way.
  const double slack = want.dtype() == DType::U8 || want.dtype() == DType::I8 ? 1 : 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    const double expected = is_float(want.dtype()) ? want.float_at(i) : static_cast<double>(want.int_at(i));
    if (!close(values[static_cast<size_t>(i)], expected, slack)) {
      return "element " + std::to_string(i) + " is " + std::to_string(values[static_cast<size_t>(i)]) + ", expected " +
             std::to_string(expected);
    }
  }
  return {};
}

// Empty if all agrees.
std::string run_case(const fs::path& folder) {
  const fs::path data = folder / "test_data_set_0";
  const ModelDef def = decode_file(folder / "model.onnx");
  ImportOptions options;
  std::map<std::string, Array> feeds;
  for (size_t i = 0; i < def.graph.inputs.size(); ++i) {
    const Array array = read_tensor(data / ("input_" + std::to_string(i) + ".pb"));
    options.shapes[def.graph.inputs[i].name] = array.shape();
    feeds.emplace(def.graph.inputs[i].name, array);
  }
  Imported imported;
  try {
    imported = import_onnx(folder / "model.onnx", standard_library(), options);
  } catch (const UnsupportedError&) {  // perhaps because small integers that decide a shape are inputs here
    for (const auto& [name, array] : feeds) {
      if (!is_float(array.dtype()) && array.size() <= 64) options.values.emplace(name, array);
    }
    imported = import_onnx(folder / "model.onnx", standard_library(), options);
  }
  const auto results = interpret(imported.graph, feeds);
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string said = difference(results[i], read_tensor(data / ("output_" + std::to_string(i) + ".pb")));
    if (!said.empty()) return imported.outputs[i].name + ": " + said;
  }
  return {};
}

// Sequences and optionals are stored in another format than tensors.
bool uses_sequences(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.find("sequence") != name.npos || name.find("optional") != name.npos || name.find("_seq") != name.npos ||
         name == "test_identity_opt";
}

// Valid, and refused by a `require` of the definition.
const std::set<std::string> kRefused = {"test_batchnorm_epsilon_training_mode",
                                        "test_batchnorm_example_training_mode",
                                        "test_dequantizelinear_blocked",
                                        "test_gathernd_example_int32_batch_dim1",
                                        "test_maxpool_with_argmax_2d_precomputed_strides",
                                        "test_quantizelinear_blocked_asymmetric",
                                        "test_quantizelinear_blocked_symmetric"};

TEST(OnnxConformance, WhatImportsAgrees) {
  const char* root = std::getenv("FRIT_ONNX_TESTS");
  if (!root) GTEST_SKIP() << "FRIT_ONNX_TESTS is not set";
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(root)) folders.push_back(entry.path());
  std::ranges::sort(folders);
  size_t passed = 0, unsupported = 0;
  for (const fs::path& folder : folders) {
    if (uses_sequences(folder) || kRefused.contains(folder.filename().string())) continue;
    try {
      const std::string said = run_case(folder);
      if (said.empty()) {
        ++passed;
      } else {
        ADD_FAILURE() << folder.filename() << ": " << said;
      }
    } catch (const UnsupportedError& e) {
      ++unsupported;
      if (std::getenv("FRIT_ONNX_VERBOSE"))
        std::cout << "unsupported " << folder.filename() << ": " << e.what() << "\n";
    } catch (const std::exception& e) {
      ADD_FAILURE() << folder.filename() << ": " << e.what();
    }
  }
  std::cout << passed << " agree, " << unsupported << " are not supported, of " << folders.size() << "\n";
  EXPECT_GT(passed, 0u);
}

}  // namespace
}  // namespace frit::onnx
