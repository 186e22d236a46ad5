// Real networks: they import, their shapes are those of the stored references, and the reference interpreter gives the
// stored numbers where it is fast enough (all twelve agree, but eight take a quarter of a minute to a minute).
#include <gtest/gtest.h>

#include <cstring>

#include "compiler/onnx/import.h"
#include "compiler/standard_library.h"
#include "ir/interpreter.h"
#include "seeded/references.h"

namespace frit::onnx {
namespace {

using seeded::Reference;

Array array_of(const seeded::ReferenceInput& input, int64_t rows) {
  std::vector<int64_t> shape = input.shape;
  shape[0] = std::min(rows, shape[0]);
  Array array(input.f32.empty() ? DType::I32 : DType::F32, shape);
  const void* from = input.f32.empty() ? static_cast<const void*>(input.i32.data()) : input.f32.data();
  std::memcpy(array.mutable_data(), from, array.size_bytes());
  return array;
}

class Networks : public testing::TestWithParam<const char*> {
 protected:
  Networks() : reference_(seeded::load_reference(FRIT_TEST_DATA, GetParam())) {}

  std::filesystem::path path() const { return seeded::models_dir() / reference_.model; }

  Imported import(int64_t rows) const {
    ImportOptions options;
    for (const auto& input : reference_.inputs) {
      options.shapes[input.name] = input.shape;
      options.shapes[input.name][0] = std::min(rows, input.shape[0]);
    }
    for (const std::string& name : reference_.tensor_names()) options.more_outputs.push_back(name);
    if (reference_.seeded) options.random_weights = 0;
    return import_onnx(path(), standard_library(), options);
  }

  Reference reference_;
};

TEST_P(Networks, ImportWithTheStoredShapes) {
  if (!std::filesystem::exists(path())) GTEST_SKIP() << path() << " is not fetched";
  const Imported imported = import(1 << 20);
  for (const auto& tensor : reference_.tensors) {
    bool found = false;
    for (const auto& output : imported.outputs) {
      if (output.name != tensor.name) continue;
      found = true;
      EXPECT_EQ(static_shape(output.type.shape), tensor.shape) << tensor.name;
    }
    EXPECT_TRUE(found) << tensor.name;
  }
  const auto findings = verify(imported.graph);
  EXPECT_TRUE(findings.empty()) << findings.front();
}

INSTANTIATE_TEST_SUITE_P(All, Networks,
                         testing::Values("light_bvlc_alexnet", "light_densenet121", "light_inception_v1",
                                         "light_inception_v2", "light_resnet50", "light_shufflenet", "light_squeezenet",
                                         "light_vgg19", "light_zfnet512", "opennsfw", "silero_v6", "magika"),
                         [](const auto& info) { return std::string(info.param); });

class InterpretedNetworks : public Networks {};

TEST_P(InterpretedNetworks, GiveTheStoredNumbers) {
  if (!std::filesystem::exists(path())) GTEST_SKIP() << path() << " is not fetched";
  const int64_t rows = reference_.files.empty() ? 1 << 20 : 1;  // one file tells as much as seventeen
  const Imported imported = import(rows);
  std::map<std::string, Array> feeds;
  for (const auto& input : reference_.inputs) feeds.emplace(input.name, array_of(input, rows));
  const auto results = interpret(imported.graph, feeds);
  size_t compared = 0;
  for (seeded::ReferenceTensor tensor : reference_.tensors) {
    for (size_t i = 0; i < results.size(); ++i) {
      if (imported.outputs[i].name != tensor.name) continue;
      const std::vector<float> values(results[i].values.begin(), results[i].values.end());
      if (values.size() < tensor.count()) {  // fewer rows
        ASSERT_TRUE(tensor.is_whole());
        tensor.shape[0] = rows;
        tensor.samples.resize(tensor.count());
      }
      EXPECT_LE(seeded::worst_error(tensor, values), 1e-4) << tensor.name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, reference_.tensors.size());
}

INSTANTIATE_TEST_SUITE_P(All, InterpretedNetworks,
                         testing::Values("silero_v6", "magika", "light_shufflenet", "light_squeezenet"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace frit::onnx
