#include "seeded/references.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/seeded.h"
#include "seeded/seed_model.h"
#include "support/error.h"

namespace frit::seeded {
namespace {

using nlohmann::json;

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(Finding{path.string(), "cannot be read", "", "", "", "", {}});
  return std::string(std::istreambuf_iterator<char>(file), {});
}

uint64_t product(const std::vector<int64_t>& shape) {
  uint64_t count = 1;
  for (const int64_t n : shape) count *= static_cast<uint64_t>(n);
  return count;
}

/// Chunks of 576 samples: 512 new ones with the last 64 of the chunk before in front.
std::vector<float> voice_chunks(uint64_t chunks) {
  constexpr uint64_t kNew = 512, kOld = 64;
  std::vector<float> rows;
  for (uint64_t chunk = 0; chunk < chunks; ++chunk)
    for (uint64_t k = 0; k < kOld + kNew; ++k) {
      const uint64_t at = chunk * kNew + k;
      rows.push_back(at < kOld ? 0.0f : voice(at - kOld));
    }
  return rows;
}

ReferenceInput read_input(const json& row, const json& whole, const std::filesystem::path& files) {
  ReferenceInput input;
  input.name = row.at("name");
  input.shape = row.at("shape").get<std::vector<int64_t>>();
  const uint64_t count = product(input.shape);
  const std::string fill = row.at("fill");
  if (fill == "uniform") {
    const float scale = row.at("scale"), offset = row.at("offset");
    const uint64_t seed = fnv1a64(input.name);
    for (uint64_t i = 0; i < count; ++i) {
      const float scaled = uniform(seed, i) * scale;
      input.f32.push_back(scaled + offset);
    }
  } else if (fill == "zero") {
    input.f32.assign(count, 0.0f);
  } else if (fill == "voice") {
    input.f32 = voice_chunks(static_cast<uint64_t>(input.shape.at(0)));
  } else if (fill == "files") {
    for (const json& answer : whole.at("files")) {
      const std::string bytes = read_text(files / answer.at("file").get<std::string>());
      const auto row_values = file_row({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
      input.i32.insert(input.i32.end(), row_values.begin(), row_values.end());
    }
  }
  return input;
}

bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

uint64_t ReferenceTensor::count() const { return product(shape); }

const ReferenceTensor& Reference::tensor(const std::string& name) const {
  for (const ReferenceTensor& t : tensors)
    if (t.name == name) return t;
  throw InputError(Finding{model, "the reference holds no tensor '" + name + "'", "", "", "", "", {}});
}

std::vector<std::string> Reference::tensor_names() const {
  std::vector<std::string> names;
  for (const ReferenceTensor& t : tensors) names.push_back(t.name);
  return names;
}

Reference load_reference(const std::filesystem::path& folder, const std::string& name) {
  const json whole = json::parse(read_text(folder / "references" / (name + ".json")));
  Reference reference;
  reference.model = whole.at("model");
  reference.seeded = whole.at("seeded");
  for (const json& row : whole.at("inputs")) reference.inputs.push_back(read_input(row, whole, folder / "files"));
  for (const json& row : whole.at("tensors"))
    reference.tensors.push_back({row.at("name"), row.at("shape").get<std::vector<int64_t>>(), row.at("max_abs"),
                                 row.at("mean"), row.at("samples").get<std::vector<float>>()});
  for (const json& row : whole.value("files", json::array()))
    reference.files.push_back({row.at("file"), row.at("label"), row.at("score")});
  return reference;
}

double worst_error(const ReferenceTensor& reference, std::span<const float> values) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  if (values.size() != reference.count()) return kWrong;
  double worst = 0;
  for (size_t k = 0; k < reference.samples.size(); ++k) {
    const float value = values[reference.is_whole() ? k : sample_position(k, values.size())];
    const double error = std::abs(double{value} - double{reference.samples[k]});
    if (std::isnan(error)) return kWrong;
    worst = std::max(worst, error);
  }
  return worst == 0 ? 0 : worst / reference.max_abs;
}

std::filesystem::path models_dir() {
  if (const char* dir = std::getenv("FRIT_MODELS"); dir && *dir) return dir;
  const char* share = std::getenv("XDG_DATA_HOME");
  if (share && *share) return std::filesystem::path(share) / "frit" / "models";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home ? home : "/tmp") / ".local" / "share" / "frit" / "models";
}

std::optional<std::filesystem::path> prepare_model(const Reference& reference, const std::filesystem::path& folder,
                                                   const std::vector<std::string>& outputs) {
  const std::filesystem::path source = models_dir() / reference.model;
  if (!std::filesystem::exists(source)) return std::nullopt;
  const std::filesystem::path target = folder / source.filename();
  seed_model(source, target, {outputs, !reference.seeded});
  return target;
}

float voice(uint64_t i) {
  const auto saw = [i](uint64_t f) { return static_cast<double>(i * f % 65536) / 32768 - 1; };
  const auto tri = [saw](uint64_t f) { return 2 * std::abs(saw(f)) - 1; };
  const double noise = 2 * static_cast<double>(uniform(fnv1a64("voice"), i)) - 1;
  const double gate = saw(532) < 0 ? 1 : 0;
  return static_cast<float>(0.25 * saw(532) * (1 + tri(16)) / 2 + 0.2 * tri(2600) * gate + 0.02 * noise);
}

std::vector<int32_t> file_row(std::span<const unsigned char> bytes) {
  constexpr size_t kRead = 4096, kKept = 1024;
  constexpr int32_t kPadding = 256;
  auto begin = bytes.first(std::min(bytes.size(), kRead));
  while (!begin.empty() && is_space(begin.front())) begin = begin.subspan(1);
  begin = begin.first(std::min(begin.size(), kKept));
  auto end = bytes.last(std::min(bytes.size(), kRead));
  while (!end.empty() && is_space(end.back())) end = end.first(end.size() - 1);
  end = end.last(std::min(end.size(), kKept));

  std::vector<int32_t> row(2 * kKept, kPadding);
  std::copy(begin.begin(), begin.end(), row.begin());
  std::copy(end.begin(), end.end(), row.end() - static_cast<std::ptrdiff_t>(end.size()));
  return row;
}

}  // namespace frit::seeded
