// Whole networks, compiled: every tensor of the stored references, within 1e-4 of its largest value. Once with one
// tensor per block as an output, which shows where an error starts; once with the last one only, so that nothing keeps
// groups from growing.
#include <gtest/gtest.h>

#include "compiler/plan/build.h"
#include "compiler/plan/program.h"
#include "network_fixture.h"

namespace frit {
namespace {

constexpr int64_t kAllRows = 1 << 20;
constexpr double kBound = 1e-4;

std::vector<float> floats(const Array& array) {
  std::vector<float> values(static_cast<size_t>(array.size()));
  std::memcpy(values.data(), array.data(), array.size_bytes());
  return values;
}

class CompiledNetworks : public NetworkTest {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(path())) GTEST_SKIP() << path() << " is not fetched";
  }

  void compare(const std::vector<std::string>& names) const {
    const Imported imported = import(kAllRows, names);
    const auto program = Program::compile(imported.graph);
    std::vector<Array> inputs;
    for (const auto& port : program->inputs())
      for (const auto& input : reference_.inputs)
        if (input.name == port.name) inputs.push_back(array_of(input, kAllRows));
    ASSERT_EQ(inputs.size(), program->inputs().size());
    const std::vector<Array> results = program->run(inputs);
    ASSERT_EQ(results.size(), imported.outputs.size());
    size_t compared = 0;
    for (const std::string& name : names)
      for (size_t i = 0; i < results.size(); ++i) {
        if (imported.outputs[i].name != name) continue;
        EXPECT_LE(seeded::worst_error(reference_.tensor(name), floats(results[i])), kBound) << name;
        ++compared;
        break;
      }
    EXPECT_EQ(compared, names.size());
  }
};

TEST_P(CompiledNetworks, AgreeInEveryBlock) { compare(reference_.tensor_names()); }

TEST_P(CompiledNetworks, AgreeAtTheEnd) {
  const std::vector<std::string> names = reference_.tensor_names();
  compare({names.back()});
}

// Concatenations cost nothing: every part is produced in its place.
class ConcatNetworks : public CompiledNetworks {};

TEST_P(ConcatNetworks, HaveNoConcatKernel) {
  const Build built = build(import(kAllRows, {reference_.tensor_names().back()}).graph, machine_named("avx2"));
  int assembles = 0;
  for (const Node& node : built.graph.nodes()) assembles += std::holds_alternative<Assemble>(node.payload);
  EXPECT_GT(assembles, 5);
  for (const Step& step : built.places.steps) {
    if (step.kind != Step::Kind::Copy || step.is_static) continue;
    ADD_FAILURE() << "a copy: " << built.places.copies[static_cast<size_t>(step.index)].name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ConcatNetworks,
                         testing::Values("light_densenet121", "light_inception_v1", "light_inception_v2"),
                         [](const auto& info) { return std::string(info.param); });

INSTANTIATE_TEST_SUITE_P(All, CompiledNetworks,
                         testing::Values("light_bvlc_alexnet", "light_densenet121", "light_inception_v1",
                                         "light_inception_v2", "light_resnet50", "light_shufflenet", "light_squeezenet",
                                         "light_vgg19", "light_zfnet512", "opennsfw", "silero_v6", "magika"),
                         [](const auto& info) { return std::string(info.param); });

// Twelve calls of one chunk, the state carried, are one call of twelve.
class CompiledRecurrent : public CompiledNetworks {};

TEST_P(CompiledRecurrent, CarriesItsState) {
  const Imported imported = import(1, {});
  const auto program = Program::compile(imported.graph);
  const Array chunks = array_of(reference_.inputs.at(0), kAllRows);
  const int64_t count = chunks.shape()[0], length = chunks.shape()[1];
  std::map<std::string, Array> given;
  for (const auto& input : reference_.inputs) given.emplace(input.name, array_of(input, 1));
  std::vector<float> probabilities;
  for (int64_t chunk = 0; chunk < count; ++chunk) {
    Array row(DType::F32, {1, length});
    std::memcpy(row.mutable_data(), chunks.data() + static_cast<size_t>(chunk) * row.size_bytes(), row.size_bytes());
    given.insert_or_assign("input", row);
    std::vector<Array> inputs;
    for (const auto& port : program->inputs()) inputs.push_back(given.at(port.name));
    const std::vector<Array> results = program->run(inputs);
    for (size_t i = 0; i < results.size(); ++i) {
      const std::string& name = imported.outputs[i].name;
      if (name == "speech_probs") probabilities.push_back(floats(results[i]).at(0));
      if (name == "hn") given.insert_or_assign("h", results[i]);
      if (name == "cn") given.insert_or_assign("c", results[i]);
    }
  }
  EXPECT_LE(seeded::worst_error(reference_.tensor("speech_probs"), probabilities), kBound);
  EXPECT_LE(seeded::worst_error(reference_.tensor("hn"), floats(given.at("h"))), kBound);
  EXPECT_LE(seeded::worst_error(reference_.tensor("cn"), floats(given.at("c"))), kBound);
}

INSTANTIATE_TEST_SUITE_P(All, CompiledRecurrent, testing::Values("silero_v6"),
                         [](const auto& info) { return std::string(info.param); });

// The label and the score of each file are ONNX Runtime's.
class CompiledFileTypes : public CompiledNetworks {};

TEST_P(CompiledFileTypes, NamesRealFiles) {
  const Imported imported = import(kAllRows, {});
  const auto program = Program::compile(imported.graph);
  const std::vector<Array> results = program->run(std::vector<Array>{array_of(reference_.inputs.at(0), kAllRows)});
  const std::vector<float> scores = floats(results.at(0));
  const seeded::ReferenceTensor& want = reference_.tensors.at(0);
  const size_t labels = static_cast<size_t>(want.shape.at(1));
  ASSERT_EQ(scores.size(), reference_.files.size() * labels);
  for (size_t file = 0; file < reference_.files.size(); ++file) {
    const auto row = std::span(scores).subspan(file * labels, labels);
    const auto want_row = std::span(want.samples).subspan(file * labels, labels);
    const auto best = std::max_element(row.begin(), row.end());
    EXPECT_EQ(best - row.begin(), std::max_element(want_row.begin(), want_row.end()) - want_row.begin())
        << reference_.files[file].file << " is " << reference_.files[file].label;
    EXPECT_NEAR(*best, reference_.files[file].score, 1e-3) << reference_.files[file].file;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CompiledFileTypes, testing::Values("magika"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace frit
