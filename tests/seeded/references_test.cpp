// The stored references and what they are rebuilt from: generator, inputs, seeded weights.
#include "seeded/references.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "support/seeded.h"
#include "seeded/seed_model.h"
#include "support/error.h"

namespace frit::seeded {
namespace {

const std::filesystem::path kData = FRIT_TEST_DATA;

TEST(Generator, GivesTheBitsOfTheDocumentation) {
  EXPECT_EQ(mix64(1), 0x5692161d100b05e5u);
  EXPECT_EQ(fnv1a64("data_0"), 0xf1d75aee29c89b3au);
  EXPECT_EQ(input_value("data_0", 0), 0x1.0911980000000p-2f);
  EXPECT_EQ(input_value("data_0", 150527, 2, -1), 0x1.e2eee00000000p-3f);
  EXPECT_EQ(voice(0), -0x1.09d4d60000000p-4f);
  EXPECT_EQ(voice(6143), -0x1.44b80c0000000p-7f);
}

class References : public testing::TestWithParam<const char*> {};

TEST_P(References, AreComplete) {
  const Reference reference = load_reference(kData, GetParam());
  ASSERT_FALSE(reference.tensors.empty());
  for (const ReferenceInput& input : reference.inputs) {
    uint64_t count = 1;
    for (const int64_t n : input.shape) count *= static_cast<uint64_t>(n);
    EXPECT_EQ(input.f32.size() + input.i32.size(), count) << input.name;
  }
  for (const ReferenceTensor& tensor : reference.tensors) {
    EXPECT_GT(tensor.max_abs, 0) << tensor.name;
    EXPECT_LE(tensor.max_abs, 1e6) << tensor.name;
    EXPECT_TRUE(tensor.is_whole() || tensor.samples.size() >= 128) << tensor.name;
    if (!tensor.is_whole()) continue;
    EXPECT_EQ(worst_error(tensor, tensor.samples), 0) << tensor.name;
    // A value that is not the reference must not pass: neither a swapped pair nor a missing number.
    std::vector<float> wrong = tensor.samples;
    wrong[0] = NAN;
    EXPECT_EQ(worst_error(tensor, wrong), INFINITY) << tensor.name;
    wrong.pop_back();
    EXPECT_EQ(worst_error(tensor, wrong), INFINITY) << tensor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, References,
                         testing::Values("light_bvlc_alexnet", "light_densenet121", "light_inception_v1",
                                         "light_inception_v2", "light_resnet50", "light_shufflenet", "light_squeezenet",
                                         "light_vgg19", "light_zfnet512", "opennsfw", "silero_v6", "magika"),
                         [](const auto& info) { return std::string(info.param); });

class SeedModel : public testing::Test {
 protected:
  SeedModel() : folder_(std::filesystem::temp_directory_path() / ("frit-seed-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~SeedModel() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(SeedModel, RefusesWhatIsNoModel) {
  EXPECT_THROW(seed_model(folder_ / "absent.onnx", folder_ / "out.onnx"), InputError);
  for (const std::string text : {"", "no model at all", "\x3a\xff\xff\xff\x0f"}) {
    std::ofstream(folder_ / "in.onnx", std::ios::binary) << text;
    EXPECT_THROW(seed_model(folder_ / "in.onnx", folder_ / "out.onnx"), InputError) << text;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.onnx"));
}

TEST_F(SeedModel, ReplacesConstantsByWeights) {
  const Reference reference = load_reference(kData, "light_squeezenet");
  const auto source = models_dir() / reference.model;
  const auto seeded = prepare_model(reference, folder_, {});
  if (!seeded) GTEST_SKIP() << source << " is not fetched";
  // 1.2 million weights take the place of a few thousand bytes of constants.
  EXPECT_LT(std::filesystem::file_size(source), 1u << 15);
  EXPECT_GT(std::filesystem::file_size(*seeded), 4'900'000u);
  EXPECT_THROW(prepare_model(reference, folder_, {"no such tensor"}), InputError);
}

}  // namespace
}  // namespace frit::seeded
