// Speed of transposed convolutions inside a network (an activation before and behind), one thread, beside the FMA peak,
// interleaved. Weights are constant; operations are those of the taps that exist, not of zeros between.
//   bench_transposed [weights]      `weights`: an input too, as in training
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "compiler/plan/program.h"
#include "compiler/standard_library.h"
#include "runtime/cpu/probe.h"

namespace {

using namespace frit;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Array filled(const std::vector<int64_t>& shape, int64_t factor) {
  Array array(DType::F32, shape);
  for (int64_t i = 0; i < array.size(); ++i)
    array.as_mutable<float>()[i] = static_cast<float>(i * factor % 1000) / 1000.0F - 0.5F;
  return array;
}

struct Row {
  std::string name;
  std::vector<int64_t> x, f;
  int64_t s, p, g;
};

void measure(const Row& row, bool constant, runtime::Workers& workers, runtime::FmaProbe& probe) {
  lang::Library library(&standard_library());
  library.add(
      "def net(x, f, b; s, p, g) { z = relu(conv_transpose(relu(x), f, b, s = s, p = p, g = g))  return "
      "over_channels(z) }\n"
      "def over_channels(z[n, c, h..]) y[n, h..] = max[c](z[n, c, h..])",
      "net.frit");
  Graph graph;
  std::vector<Array> inputs{filled(row.x, 7919)};
  std::vector<lang::Operand> operands{graph.add_input("x", {DType::F32, make_shape(row.x)})};
  for (const auto& shape : {row.f, std::vector<int64_t>{row.f[1] * row.g}}) {
    if (constant) {
      operands.emplace_back(graph.add_constant(filled(shape, 104729), "f"));
    } else {
      operands.emplace_back(graph.add_input(fmt::format("f{}", operands.size()), {DType::F32, make_shape(shape)}));
      inputs.push_back(filled(shape, 104729));
    }
  }
  const auto results = lang::instantiate(graph, library, library.get("net"), operands,
                                         {{"s", row.s}, {"p", row.p}, {"g", row.g}}, "net");
  graph.add_output("y", results[0]);
  const auto program = Program::compile(graph, {nullptr, &workers, false});
  double operations = 2;  // each element of x meets each tap of each of its group's output channels, borders but for
  for (const int64_t extent : row.x) operations *= static_cast<double>(extent);
  for (size_t d = 1; d < row.f.size(); ++d) operations *= static_cast<double>(row.f[d]);
  double best = 1e300, peak = 0;
  for (int round = 0; round < 150; ++round) {
    peak = std::max(peak, probe.run());
    const double start = seconds();
    program->run(inputs);
    best = std::min(best, seconds() - start);
  }
  fmt::print("{:34} {:8.3f} ms {:7.1f} GFLOP/s of {:7.1f} probed: {:5.1f} %\n", row.name, best * 1e3,
             operations / best / 1e9, peak, 100 * operations / best / 1e9 / peak);
}

}  // namespace

int main(int argc, char** argv) {
  const bool constant = argc < 2 || std::string(argv[1]) != "weights";
  runtime::Workers workers(1);
  runtime::FmaProbe probe(runtime::KernelCache::shared(), workers, 1);
  const std::vector<Row> rows = {{"64x32x32 to 32, k 4, s 2, p 1", {1, 64, 32, 32}, {64, 32, 4, 4}, 2, 1, 1},
                                 {"128x16x16 to 64, k 2, s 2", {1, 128, 16, 16}, {128, 64, 2, 2}, 2, 0, 1},
                                 {"64x32x32 to 64, k 3, s 2, p 1", {1, 64, 32, 32}, {64, 64, 3, 3}, 2, 1, 1},
                                 {"64x32x32 to 64, k 3, s 1, p 1", {1, 64, 32, 32}, {64, 64, 3, 3}, 1, 1, 1},
                                 {"32 groups of 64x32x32, k 4, s 2", {1, 64, 32, 32}, {64, 2, 4, 4}, 2, 1, 32},
                                 {"256x512 to 128, k 8, s 4 (1-D)", {1, 256, 512}, {256, 128, 8}, 4, 2, 1}};
  for (const Row& row : rows) measure(row, constant, workers, probe);
}
