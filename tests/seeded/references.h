#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace frit::seeded {

/// One input of a stored run, rebuilt from its description: f32 values, or i32 for file rows.
struct ReferenceInput {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> f32;
  std::vector<int32_t> i32;
};

/// One compared tensor: its largest magnitude and mean, and its values at sample_position(k, count); all of a small
/// one.
struct ReferenceTensor {
  std::string name;
  std::vector<int64_t> shape;
  double max_abs = 0, mean = 0;
  std::vector<float> samples;

  uint64_t count() const;
  bool is_whole() const { return samples.size() == count(); }
};

struct FileAnswer {
  std::string file, label;
  double score = 0;
};

/// A file of tests/references (docs/references.md): what ONNX Runtime answered, on which input.
struct Reference {
  std::string model;    // below models_dir()
  bool seeded = false;  // its weights are those of seed_model
  std::vector<ReferenceInput> inputs;
  std::vector<ReferenceTensor> tensors;
  std::vector<FileAnswer> files;

  const ReferenceTensor& tensor(const std::string& name) const;
  std::vector<std::string> tensor_names() const;
};

/// name     "light_resnet50", "magika", ...
/// errors   InputError: no such file below `folder`
Reference load_reference(const std::filesystem::path& folder, const std::string& name);

/// max |value - reference| / max |reference| over the stored samples; infinite when the count differs or a value is
/// no number.
double worst_error(const ReferenceTensor& reference, std::span<const float> values);

/// Where scripts/fetch-models keeps its files: $FRIT_MODELS, else below $XDG_DATA_HOME or ~/.local/share.
std::filesystem::path models_dir();

/// The model of a reference with the wanted tensors as its outputs, written into `folder`; none when it is not fetched.
std::optional<std::filesystem::path> prepare_model(const Reference& reference, const std::filesystem::path& folder,
                                                   const std::vector<std::string>& outputs);

/// A made-up vowel at 16 kHz whose loudness rises and falls.
///     0.25 saw(532) (1 + tri(16)) / 2 + 0.2 tri(2600) [saw(532) < 0] + 0.02 (2 u("voice", i) - 1)
///     saw(f) = (i f mod 65536) / 32768 - 1,  tri(f) = 2 |saw(f)| - 1,  float64, rounded once
float voice(uint64_t i);

/// The 2048 numbers that the file-type network reads of a file of at least 8 bytes: the first and the last 1024 bytes
/// of the first and last 4096, without white space at the outer end, padded with 256 on the inner side.
std::vector<int32_t> file_row(std::span<const unsigned char> bytes);

}  // namespace frit::seeded
