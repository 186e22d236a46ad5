// Groups print, read back equal, and refuse what does not fit the graph.
#include <gtest/gtest.h>

#include "codegen/group.h"
#include "compiler/passes/group.h"
#include "compiler/passes/pipeline.h"
#include "compiler/standard_library.h"

namespace frit {
namespace {

Graph graph_of(const std::string& text, const std::string& name, const std::vector<std::vector<int64_t>>& shapes) {
  const Library library(&standard_library(), text, "t.frit");
  Graph graph;
  std::vector<lang::Operand> operands;
  for (size_t i = 0; i < shapes.size(); ++i)
    operands.emplace_back(graph.add_input("x" + std::to_string(i), {DType::F32, make_shape(shapes[i])}));
  const auto results = lang::instantiate(graph, library, library.get(name), operands);
  for (size_t r = 0; r < results.size(); ++r) graph.add_output("y" + std::to_string(r), results[r]);
  return optimize(graph);
}

TEST(GroupText, ReadsBackWhatItPrints) {
  const Graph graphs[] = {
      graph_of("def f(x) = softmax(x)", "f", {{3, 50}}),
      graph_of("def f(x, w, v) { y = conv(relu(x), w, p = 1)  z = relu(y)  return conv(z, v, p = 1) }", "f",
               {{1, 8, 9, 9}, {16, 8, 3, 3}, {4, 16, 3, 3}}),
      graph_of("def f(x) = x * sigmoid(x)", "f", {{7}}),
  };
  for (const Graph& graph : graphs) {
    for (const char* machine : {"sse2", "avx512"}) {
      const Grouping grouping = group(graph, machine_named(machine));
      const std::string text = to_string(grouping, graph);
      const Grouping again = parse_grouping(text, graph);
      EXPECT_EQ(to_string(again, graph), text);
      EXPECT_EQ(again.layouts, grouping.layouts);
      EXPECT_EQ(again.groups.size(), grouping.groups.size());
    }
  }
}

TEST(GroupText, RefusesWhatDoesNotFit) {
  const Graph graph = graph_of("def f(x) = softmax(x)", "f", {{3, 50}});
  const std::string good = to_string(group(graph, machine_named("avx2")), graph);
  for (const std::string& bad :
       {std::string("nonsense"), std::string("group 0"), std::string("  %0 root"), std::string("layout %99.0 a0"),
        good + "packing %4 99 a0\n", good + "layout %1.0 a7\n", good + good, std::string()}) {
    EXPECT_THROW(parse_grouping(bad, graph), InputError) << bad;
  }
  for (size_t n = 0; n < good.size(); ++n) {
    try {
      parse_grouping(good.substr(0, n), graph);
    } catch (const InputError&) {  // a prefix is whole only where it ends with what the graph needs
    }
  }
}

}  // namespace
}  // namespace frit
