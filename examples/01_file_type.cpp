// Tells the type of files with magika, a trained network that arrives as an ONNX file.
//
//     example_01_file_type [FILE...]
//
// The first run compiles the network's kernels; later runs find them on disk and compile nothing. Without the network
// (scripts/fetch-models magika brings it) a small network of a few lines tells text from binary data.
#include <frit/frit.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<unsigned char>;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Bytes read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw frit::InputError(frit::Finding{.where = path.string(), .what = "cannot be opened"});
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

struct Answer {
  std::string label;
  double score = 1;
};

// What magika does around its network (its documentation): 1024 bytes of both ends, padded with 256.
constexpr size_t kEnd = 1024, kBlock = 4096, kSmallest = 8;
constexpr int32_t kPadding = 256;

bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_utf8(const Bytes& bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const unsigned char c = bytes[i];
    const size_t length = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
    if (length == 0 || i + length > bytes.size()) return false;
    for (size_t k = 1; k < length; ++k) {
      if (bytes[i + k] >> 6 != 2) return false;
    }
    i += length;
  }
  return true;
}

std::vector<int32_t> features(const Bytes& bytes) {
  std::vector<int32_t> row(2 * kEnd, kPadding);
  const size_t n = std::min(bytes.size(), kBlock);
  const auto head_end = bytes.begin() + static_cast<std::ptrdiff_t>(n);
  const auto head = std::find_if_not(bytes.begin(), head_end, is_space);
  std::copy_n(head, std::min<std::ptrdiff_t>(kEnd, head_end - head), row.begin());
  auto tail_end = bytes.end();
  const auto tail = bytes.end() - static_cast<std::ptrdiff_t>(n);
  while (tail_end != tail && is_space(*(tail_end - 1))) --tail_end;
  const auto count = std::min<std::ptrdiff_t>(kEnd, tail_end - tail);
  std::copy(tail_end - count, tail_end, row.end() - count);
  return row;
}

class Magika {
 public:
  explicit Magika(const fs::path& folder)
      : model_(frit::load_onnx(folder / "magika/models/standard_v3_3/model.onnx")),
        config_(read_json(folder / "magika/models/standard_v3_3/config.min.json")),
        types_(read_json(folder / "magika/config/content_types_kb.min.json")) {}

  Answer tell(const Bytes& bytes) const {
    if (bytes.empty()) return {"empty"};
    const std::vector<int32_t> row = features(bytes);
    if (bytes.size() < kSmallest || row[kSmallest - 1] == kPadding) {
      const Bytes head(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), kBlock)));
      return {is_utf8(head) ? "txt" : "unknown"};
    }
    const auto scores = model_.run({{"bytes", frit::Tensor(row, {1, 2 * kEnd})}}).at("target_label").to_vector<float>();
    const auto best = std::max_element(scores.begin(), scores.end());
    std::string label = config_["target_labels_space"][static_cast<size_t>(best - scores.begin())];
    const double threshold = config_["thresholds"].value(label, config_["medium_confidence_threshold"].get<double>());
    label = config_["overwrite_map"].value(label, label);
    if (*best < threshold) label = types_[label].value("is_text", false) ? "txt" : "unknown";
    return {label, *best};
  }
  const frit::Model& model() const { return model_; }

 private:
  static nlohmann::json read_json(const fs::path& path) {
    std::ifstream file(path);
    return nlohmann::json::parse(file);
  }
  frit::Model model_;
  nlohmann::json config_, types_;
};

// The stand-in: the share of bytes that text has not, weighed by one neuron.
Answer tell_roughly(const Bytes& bytes) {
  if (bytes.empty()) return {"empty"};
  static const auto network = frit::op(
      "def network(x[n]) {\n"
      "  odd[n] = select(x[n] < 9 or x[n] == 127 or (x[n] > 13 and x[n] < 32), 1.0, 0.0)\n"
      "  high[n] = select(x[n] > 127, 1.0, 0.0)\n"
      "  y[] = sigmoid(60.0 * sum[n](odd[n]) / size(n) + 6.0 * sum[n](high[n]) / size(n) - 2.0)\n"
      "}");
  Bytes head(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), kBlock)));
  const std::vector<int32_t> row(head.begin(), head.end());
  const float binary = network(frit::Tensor(row)).to_vector<float>()[0];
  return binary > 0.5f ? Answer{"binary", binary} : Answer{"text", 1 - binary};
}

fs::path models_folder() {
  if (const char* folder = std::getenv("FRIT_MODELS")) return folder;
  if (const char* data = std::getenv("XDG_DATA_HOME")) return fs::path(data) / "frit/models";
  const char* home = std::getenv("HOME");
  return fs::path(home ? home : "/tmp") / ".local/share/frit/models";
}

// Files of this repository, with the answers that the check at the end expects.
struct Sample {
  const char *file, *label, *rough;
};
constexpr Sample kSamples[] = {
    {"compiler/front/tensor.cpp", "cpp", "text"},   {"scripts/make_references.py", "python", "text"},
    {"tests/files/pattern.png", "png", "binary"},   {"tests/files/weather.json", "json", "text"},
    {"tests/files/weather.elf", "elf", "binary"},   {"tests/files/weather.gz", "gzip", "binary"},
    {"tests/files/weather.md", "markdown", "text"}, {"tests/files/weather.rs", "rust", "text"}};

int tell_all(const std::vector<fs::path>& files, bool check) {
  const auto start = Clock::now();
  std::optional<Magika> magika;
  const fs::path folder = models_folder() / "magika";
  if (fs::exists(folder / "magika/models/standard_v3_3/model.onnx"))
    magika.emplace(folder);
  else
    std::printf("the magika network is not in %s: a small network tells text from binary\n", folder.c_str());
  const double load_ms = ms_since(start);
  int wrong = 0;
  double first_ms = 0, rest_ms = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    const Bytes bytes = read_bytes(files[i]);
    const auto begin = Clock::now();
    const Answer answer = magika ? magika->tell(bytes) : tell_roughly(bytes);
    (i == 0 ? first_ms : rest_ms) += ms_since(begin);
    std::printf("%-32s %-12s %5.1f %%\n", files[i].filename().c_str(), answer.label.c_str(), 100 * answer.score);
    if (check) wrong += answer.label != (magika ? kSamples[i].label : kSamples[i].rough);
  }
  const frit::Statistics counts = frit::statistics();
  frit::Model::Report report;
  if (magika) {
    report = magika->model().report();
    std::printf("%zu kernels; load %.1f ms, compile %.1f ms, ", report.kernels, load_ms + report.import_ms,
                report.compile_ms);
  } else {
    std::printf("first file %.1f ms, ", first_ms);
  }
  if (files.size() > 1) std::printf("run %.2f ms a file\n", rest_ms / static_cast<double>(files.size() - 1));
  if (counts.compiles == 0)
    std::printf("compiled nothing: %llu kernels were on disk\n", static_cast<unsigned long long>(counts.disk_hits));
  else
    std::printf("compiled %llu kernels; the next run finds them on disk\n",
                static_cast<unsigned long long>(counts.compiles));
  if (wrong > 0) std::printf("%d files were told wrong\n", wrong);
  return wrong > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<fs::path> files(argv + 1, argv + argc);
    const bool is_default = files.empty();
    if (is_default) {
      for (const Sample& sample : kSamples) files.push_back(fs::path(FRIT_SOURCE_DIR) / sample.file);
    }
    return tell_all(files, is_default);
  } catch (const frit::Error& error) {
    for (const frit::Finding& finding : error.findings()) std::fprintf(stderr, "%s\n", format(finding).c_str());
    return 1;
  }
}
