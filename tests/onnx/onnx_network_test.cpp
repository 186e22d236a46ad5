// Real networks: they import, their shapes are those of the stored references, and the reference interpreter gives the
// stored numbers where it is fast enough (all twelve agree, but eight take a quarter of a minute to a minute).
#include <gtest/gtest.h>

#include "ir/interpreter.h"
#include "network_fixture.h"

namespace frit::onnx {
namespace {

class Networks : public NetworkTest {
 protected:
  Imported import(int64_t rows) const { return NetworkTest::import(rows, reference_.tensor_names()); }
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

// One net in four styles, If against none and LSTM against Gemm with Sigmoid and Tanh: the numbers are the same.
TEST(SpeechNetworks, AllStylesAgree) {
  const auto folder = seeded::models_dir() / "silero-vad/silero_vad/data";
  if (!std::filesystem::exists(folder / "silero_vad.onnx")) GTEST_SKIP() << folder << " is not fetched";
  Array chunk(DType::F32, {1, 576}), state(DType::F32, {2, 1, 128}), rate(DType::I64, {});
  for (int64_t i = 0; i < chunk.size(); ++i) chunk.set_float(i, seeded::voice(static_cast<uint64_t>(i) + 4096));
  for (int64_t i = 0; i < state.size(); ++i) state.set_float(i, seeded::voice(static_cast<uint64_t>(i)));
  rate.set_int(0, 16000);
  const std::map<std::string, Array> feeds = {{"input", chunk}, {"state", state}};
  std::vector<std::vector<double>> probabilities, states;
  for (const char* file :
       {"silero_vad.onnx", "silero_vad_16k_op15.onnx", "silero_vad_op18_ifless.onnx", "silero_vad_openvino_16k.onnx"}) {
    ImportOptions options;
    options.shapes = {{"input", {1, 576}}, {"state", {2, 1, 128}}};
    if (std::string(file).find("openvino") == std::string::npos) options.values = {{"sr", rate}};
    const auto results = interpret(import_onnx(folder / file, standard_library(), options).graph, feeds);
    ASSERT_EQ(results.size(), 2u) << file;
    probabilities.push_back(results[0].values);
    states.push_back(results[1].values);
  }
  EXPECT_GT(probabilities[0][0], 0);
  for (size_t k = 1; k < states.size(); ++k) {
    EXPECT_NEAR(probabilities[k][0], probabilities[0][0], 1e-6) << k;
    for (size_t i = 0; i < states[0].size(); ++i) ASSERT_NEAR(states[k][i], states[0][i], 1e-6) << k << " " << i;
  }
}

}  // namespace
}  // namespace frit::onnx
