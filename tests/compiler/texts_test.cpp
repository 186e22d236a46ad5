// What one text is good for, and that its inner loops keep to registers.
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

std::set<std::string> texts_of(const Graph& graph, const std::string& isa) {
  std::set<std::string> texts;
  for (const runtime::KernelSource& source : frit::build(graph, machine_named(isa)).sources) texts.insert(source.text);
  return texts;
}

TEST(Texts, ServeManyShapesOfAProduct) {
  for (const auto& [isa, cache] : caches()) {
    std::set<std::string> texts;
    for (int64_t k = 0; k < 100; ++k)
      texts.merge(texts_of(snippet_graph("matmul", {{101 + 2 * k, 64 + k}, {64 + k, 257 + 2 * k}}), isa));
    EXPECT_LE(texts.size(), 26U) << isa;
  }
}

TEST(Texts, ServeManyShapesOfAConvolution) {
  for (const auto& [isa, cache] : caches()) {
    std::set<std::string> texts;
    for (int64_t k = 0; k < 100; ++k) {
      const int64_t channels = 32 + 16 * (k % 4), size = 14 + k;
      texts.merge(
          texts_of(snippet_graph("conv", {{1, channels, size, size}, {64, channels, 3, 3}, {64}}, {{"p", 1}}), isa));
    }
    EXPECT_LE(texts.size(), 40U) << isa;
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
        const std::vector<std::string> found = stack_operands(runtime::disassemble(*cache->get(source), cache->cpu()));
        EXPECT_TRUE(found.empty()) << isa << " " << name << " " << source.name << ": " << found.size() << ", first "
                                   << found[0];
      }
    }
  }
}

}  // namespace
}  // namespace frit::testing
