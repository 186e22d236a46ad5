// What a definition costs before its first kernel: its text read, checked with typical operands, extents inferred and
// reads proven. Rows over a millisecond end in OVER, and the exit status is 1. The library itself is read once.
//   bench_language [NAME ...]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "compiler/standard_library.h"
#include "ir/lang/library.h"

namespace {

using frit::DType;
using List = std::vector<int64_t>;
using Clock = std::chrono::steady_clock;

constexpr double kLimit = 1000;  // microseconds
constexpr int kRounds = 41;

struct Operand {
  List shape;
  DType dtype = DType::F32;
};
struct Row {
  std::string name;
  std::vector<Operand> operands;
  frit::lang::Attributes attributes = {};
};

const std::vector<Row>& rows() {
  const auto i64 = DType::I64;
  static const std::vector<Row> all = {
      {"relu", {{{64, 1024}}}},
      {"relu6", {{{64, 1024}}}},
      {"swish", {{{64, 1024}}}},
      {"dense", {{{64, 1024}}, {{4096, 1024}}, {{4096}}}},
      {"softmax", {{{8, 12, 128, 128}}}},
      {"log_softmax", {{{64, 1000}}}},
      {"layer_norm", {{{64, 128, 768}}, {{768}}, {{768}}}},
      {"rms_norm", {{{64, 128, 768}}, {{768}}}},
      {"batch_norm", {{{32, 64, 56, 56}}, {{64}}, {{64}}, {{64}}, {{64}}}},
      {"batch_norm_train", {{{32, 64, 56, 56}}, {{64}}, {{64}}, {{64}}, {{64}}}},
      {"moments", {{{64, 1024}}}},
      {"logsumexp", {{{64, 1024}}}},
      {"argmax_last", {{{64, 1000}}}},
      {"cumsum", {{{64, 1024}}}},
      {"cumsum_reverse_exclusive", {{{64, 1024}}}},
      {"linear_recurrence", {{{64, 1024}}, {{64, 1024}}}},
      {"head", {{{64, 1000}}}, {{"k", 5}}},
      {"matmul", {{{12, 128, 64}}, {{12, 64, 128}}}},
      {"trace", {{{512, 512}}}},
      {"attention", {{{8, 16, 128, 64}}, {{8, 4, 128, 64}}, {{8, 4, 128, 64}}}, {{"causal", true}}},
      {"rope", {{{8, 16, 128, 64}}, {{128}, i64}}},
      {"lstm_cell", {{{32, 256}}, {{32, 512}}, {{32, 512}}, {{2048, 256}}, {{2048, 512}}, {{2048}}}},
      {"selective_scan", {{{2, 256, 64}}, {{2, 256, 64}}, {{64, 16}}, {{2, 256, 16}}, {{2, 256, 16}}, {{64}}}},
      {"conv", {{{1, 64, 56, 56}}, {{64, 64, 3, 3}}, {{64}}}, {{"p", 1}}},
      {"conv", {{{1, 64, 56, 56}}, {{64, 1, 3, 3}}, {{64}}}, {{"p", 1}, {"g", 64}, {"s", 2}}},
      {"conv_transpose", {{{1, 64, 28, 28}}, {{64, 32, 4, 4}}, {{32}}}, {{"s", 2}, {"p", 1}}},
      {"dynamic_conv2d", {{{8, 32, 32, 16}}, {{8, 16, 16, 3, 3}}}, {{"p", List{1, 1}}}},
      {"deform_conv", {{{1, 64, 28, 28}}, {{64, 64, 3, 3}}, {{1, 18, 28, 28}}}, {{"p", 1}}},
      {"max_pool", {{{1, 64, 112, 112}}}, {{"k", 3}, {"s", 2}, {"p", 1}}},
      {"avg_pool", {{{1, 64, 112, 112}}}, {{"k", 3}, {"s", 2}, {"p", 1}}},
      {"adaptive_avg_pool", {{{1, 512, 7, 7}}}, {{"o", 1}}},
      {"lrn", {{{1, 64, 56, 56}}}, {{"k", 5}}},
      {"unfold", {{{1, 64, 28, 28}}}, {{"k", List{3, 3}}}},
      {"fold_back", {{{1, 576, 676}}}, {{"o", List{28, 28}}, {"k", List{3, 3}}}},
      {"transpose", {{{8, 128, 12, 64}}}, {{"perm", List{0, 2, 1, 3}}}},
      {"slice", {{{8, 128, 768}}}, {{"axes", List{1}}, {"start", List{0}}, {"stop", List{64}}}},
      {"pad", {{{8, 128}}}, {{"p", List{0, 1}}, {"q", List{0, 1}}}},
      {"pad", {{{8, 128}}}, {{"p", List{1, 1}}, {"q", List{1, 1}}, {"mode", "reflect"}}},
      {"depth_to_space", {{{1, 256, 28, 28}}}, {{"a", 2}}},
      {"resize_nearest", {{{1, 64, 28, 28}}}, {{"o", List{56, 56}}}},
      {"resize_linear", {{{1, 64, 28, 28}}}, {{"o", List{56, 56}}}},
      {"trilu", {{{8, 128, 128}}}},
      {"gather", {{{30000, 768}}, {{8, 128}, i64}}},
      {"gather_nd", {{{32, 64, 16}}, {{100, 2}, i64}}},
      {"embedding", {{{30000, 768}}, {{8, 128}, i64}}},
      {"one_hot", {{{64}, i64}}, {{"depth", 1000}}},
      {"grid_sample", {{{1, 16, 64, 64}}, {{1, 64, 64, 2}}}},
      {"cross_entropy", {{{64, 1000}}, {{64}, i64}}},
      {"sgd", {{{768, 768}}, {{768, 768}}, {{768, 768}}, {{}}}},
      {"adamw", {{{768, 768}}, {{768, 768}}, {{768, 768}}, {{768, 768}}, {{}}, {{}}}},
      {"onnx.Conv.1", {{{1, 64, 56, 56}}, {{64, 64, 3, 3}}, {{64}}}, {{"pads", List{1, 1, 1, 1}}}},
      {"onnx.Gemm.7", {{{64, 1024}}, {{4096, 1024}}, {{4096}}}, {{"transB", 1}}},
      {"onnx.Softmax.13", {{{64, 1000}}}},
      {"onnx.BatchNormalization.9", {{{1, 64, 56, 56}}, {{64}}, {{64}}, {{64}}, {{64}}}},
  };
  return all;
}

double microseconds(const Row& row, const frit::lang::Definition& def, const std::string& text) {
  const auto start = Clock::now();
  const frit::lang::Library library(&frit::standard_library(), text, "bench.frit");
  frit::Graph graph;
  std::vector<frit::lang::Operand> operands;
  for (const Operand& operand : row.operands)
    operands.emplace_back(graph.add_input("x", {operand.dtype, frit::make_shape(operand.shape)}));
  frit::lang::instantiate(graph, library, *library.find(def.name), operands, row.attributes);
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  const auto start = Clock::now();
  const size_t count = frit::standard_library().definitions().size();
  fmt::print("{:28} {:9.0f} us, {} definitions, once\n", "the library",
             std::chrono::duration<double, std::micro>(Clock::now() - start).count(), count);
  bool over = false;
  for (const Row& row : rows()) {
    const bool wanted = argc == 1 || std::any_of(argv + 1, argv + argc, [&](const char* a) { return row.name == a; });
    const frit::lang::Definition* def = frit::standard_library().find(row.name);
    if (!wanted || !def) continue;
    const std::string text = frit::lang::to_text(*def);
    std::vector<double> times;
    for (int round = 0; round < kRounds; ++round) times.push_back(microseconds(row, *def, text));
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2];
    over |= median > kLimit;
    fmt::print("{:28} {:9.0f} us, least {:.0f}{}\n", row.name, median, times[0], median > kLimit ? "  OVER" : "");
  }
  return over ? 1 : 0;
}
