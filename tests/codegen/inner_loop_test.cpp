// What the machine code of products and convolutions looks like: no stack operand in an innermost loop, and that loop
// is made of FMAs.
#include <gtest/gtest.h>

#include "asm_checks.h"
#include "build_runner.h"
#include "lang/snippet.h"
#include "runtime/cpu/disassemble.h"
#include "support/error.h"

namespace frit::testing {
namespace {

struct Row {
  std::string name;
  std::vector<OperandSpec> operands;
  lang::Attributes attributes = {};
};

const std::vector<Row>& rows() {
  static const std::vector<Row> list = {
      {"gemm", {f32({256, 256}), f32({256, 256})}},
      {"gemm", {f32({1, 512}), f32({512, 1000})}},
      {"gemm", {f32({37, 19}), f32({19, 41})}},
      {"gemm", {f32({64, 64}), f32({64, 64})}, {{"j", int64_t{0}}}},
      {"conv", {f32({1, 64, 56, 56}), f32({64, 64, 3, 3}), f32({64})}, {{"p", int64_t{1}}}},
      {"conv", {f32({1, 64, 56, 56}), f32({256, 64, 1, 1}), f32({256})}},
      {"conv", {f32({1, 256, 14, 14}), f32({512, 256, 1, 1}), f32({512})}, {{"s", int64_t{2}}}},
      {"conv", {f32({1, 128, 28, 28}), f32({128, 128, 3, 3}), f32({128})}, {{"p", int64_t{1}}, {"s", int64_t{2}}}},
      {"conv", {f32({1, 3, 112, 112}), f32({64, 3, 7, 7}), f32({64})}, {{"p", int64_t{3}}, {"s", int64_t{2}}}},
      {"conv", {f32({1, 32, 28, 28}), f32({32, 1, 3, 3}), f32({32})}, {{"p", int64_t{1}}, {"g", int64_t{32}}}},
  };
  return list;
}

std::string describe(const Row& row) {
  std::string text = row.name;
  for (const OperandSpec& o : row.operands) {
    text += " [";
    for (size_t d = 0; d < o.shape.size(); ++d) text += (d ? "," : "") + std::to_string(o.shape[d]);
    text += "]";
  }
  return text;
}

// The first operand is an input, the others are weights.
Graph graph_of(const Row& row) {
  Graph graph;
  std::vector<lang::Operand> operands;
  for (const OperandSpec& o : row.operands) {
    const bool is_input = operands.empty();
    operands.emplace_back(is_input ? graph.add_input("x", {o.dtype, make_shape(o.shape)})
                                   : graph.add_constant(Array(o.dtype, o.shape)));
  }
  const auto results = lang::instantiate(graph, layers(), layers().get(row.name), operands, row.attributes, row.name);
  graph.add_output("y", results[0]);
  return graph;
}

// The loop with the most multiply-adds of a kernel.
InnerLoop hottest(const std::string& assembly) {
  InnerLoop best;
  for (const InnerLoop& loop : inner_loops(assembly))
    if (loop.count("vfmadd") > best.count("vfmadd")) best = loop;
  return best;
}

void check(const Row& row, const char* level) {
  SCOPED_TRACE(describe(row) + " on " + level);
  const Build lowered = frit::build(graph_of(row), machine_named(level));
  CpuRunner runner(level);
  int most = 0;
  for (const BuiltLaunch& launch : lowered.launches) {
    if (!launch.lowered.kernel || launch.lowered.tiles == 0) continue;
    const auto kernel = runner.compile(*launch.lowered.kernel);
    const std::string assembly = runtime::disassemble(*kernel, runtime::cpu_target_named(level));
    const InnerLoop loop = hottest(assembly);
    if (loop.count("vfmadd") == 0) continue;  // packing
    most = std::max(most, loop.count("vfmadd"));
    const auto found = stack_operands(assembly);
    EXPECT_TRUE(found.empty()) << launch.name << ", " << found.size() << " instructions use the stack: " << found[0];
  }
  EXPECT_GE(most, 4);
}

TEST(InnerLoop, ProductsAndConvolutionsUseNoStack) {
  for (const char* level : {"avx2", "avx512"}) {
    if (!can_run(level)) continue;
    for (const Row& row : rows()) check(row, level);
  }
}

}  // namespace
}  // namespace frit::testing
