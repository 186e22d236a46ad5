// What one text is good for, and that its inner loops keep to registers.
#include <map>
#include <set>

#include "asm_checks.h"
#include "compiler/differential.h"
#include "runtime/cpu/disassemble.h"

namespace frit::testing {
namespace {

// The operands after the first are weights.
Graph snippet_graph(const std::string& name, const std::vector<std::vector<int64_t>>& shapes,
                    const lang::Attributes& attributes = {}) {
  std::vector<OperandSpec> operands;
  for (const auto& shape : shapes) operands.push_back(f32(shape));
  return graph_of({name, "", name, operands, attributes, Fill::Plain, 1});
}

// By the name of the kernel, each with a schedule that led to it.
using Texts = std::map<std::string, std::map<std::string, std::string>>;

void add_texts(Texts& texts, const Graph& graph, const std::string& isa) {
  const Build built = frit::build(graph, machine_named(isa));
  for (const BuiltLaunch& launch : built.launches)
    if (launch.source >= 0)
      texts[launch.name].emplace(built.sources[static_cast<size_t>(launch.source)].text, launch.lowered.schedule);
}

void expect_few(const Texts& texts, size_t most, const std::string& isa) {
  for (const auto& [name, of_kernel] : texts) {
    std::string schedules;
    for (const auto& [text, schedule] : of_kernel) schedules += "\n  " + schedule;
    EXPECT_LE(of_kernel.size(), most) << isa << " " << name << schedules;
  }
}

TEST(Texts, ServeManyShapesOfAProduct) {
  for (const char* isa : {"sse2", "avx2", "avx512"}) {
    Texts texts;
    for (int64_t k = 0; k < 100; ++k)
      add_texts(texts, snippet_graph("matmul", {{101 + 2 * k, 64 + k}, {64 + k, 257 + 2 * k}}), isa);
    expect_few(texts, 1, isa);
  }
}

TEST(Texts, ServeManyShapesOfAConvolution) {
  for (const char* isa : {"sse2", "avx2", "avx512"}) {
    Texts texts;
    for (int64_t k = 0; k < 100; ++k) {
      const int64_t channels = 32 + 16 * (k % 4), size = 14 + k;
      add_texts(texts, snippet_graph("conv", {{1, channels, size, size}, {64, channels, 3, 3}, {64}}, {{"p", 1}}), isa);
    }
    expect_few(texts, 3, isa);
  }
}

TEST(Texts, ServeManyShapesOfAFormula) {
  for (const char* isa : {"sse2", "avx2", "avx512"}) {
    Texts formula, rows;
    for (int64_t k = 0; k < 100; ++k) {
      add_texts(formula, snippet_graph("swish", {{3 + k, 70 + 3 * k}}), isa);
      add_texts(rows, snippet_graph("softmax", {{3 + k, 70 + 3 * k}}), isa);
    }
    expect_few(formula, 1, isa);
    expect_few(rows, 1, isa);
  }
}

TEST(Texts, NoStackOperandInAnInnerLoop) {
  const std::vector<std::pair<std::string, Graph>> graphs = {
      {"product", snippet_graph("matmul", {{64, 65}, {65, 128}})},
      {"odd product", snippet_graph("matmul", {{33, 65}, {65, 129}})},
      {"dense", snippet_graph("dense", {{40, 96}, {96, 96}, {96}})},
      {"conv 3x3", snippet_graph("conv", {{1, 32, 14, 14}, {64, 32, 3, 3}, {64}}, {{"p", 1}})},
      {"conv 1x1", snippet_graph("conv", {{1, 64, 14, 14}, {96, 64, 1, 1}, {96}})},
      {"conv 7x7", snippet_graph("conv", {{1, 3, 64, 64}, {64, 3, 7, 7}, {64}}, {{"p", 3}, {"s", 2}})},
      {"depthwise", snippet_graph("conv", {{1, 32, 14, 14}, {32, 1, 3, 3}, {32}}, {{"p", 1}, {"g", 32}})},
      {"grouped", snippet_graph("conv", {{1, 32, 14, 14}, {64, 8, 3, 3}, {64}}, {{"p", 1}, {"g", 4}})}};
  for (const auto& [isa, cache] : caches()) {
    for (const auto& [name, graph] : graphs) {
      for (const runtime::KernelSource& source : frit::build(graph, machine_named(isa)).sources) {
        if (source.name.ends_with(".packed")) continue;  // a copy of weights that runs once
        const std::vector<std::string> found = stack_operands(runtime::disassemble(*cache->get(source), cache->cpu()));
        EXPECT_TRUE(found.empty()) << isa << " " << name << " " << source.name << ": " << found.size() << ", first "
                                   << found[0];
      }
    }
  }
}

}  // namespace
}  // namespace frit::testing
