#include <gtest/gtest.h>

#include "compiler/plan/program.h"
#include "ir/interpreter.h"
#include "ir/random_graph.h"
#include "support/error.h"

using namespace frit;
using frit::testing::RandomGraph;

// Random graphs of computes, reductions, views and assembles, compiled and run, against their definition.
TEST(RandomGraphProgram, AgreesWithTheInterpreter) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomGraph random(seed, /*with_steps=*/false);
    const Graph graph = random.make(static_cast<int>(seed % 8) + 1);
    const auto inputs = random.inputs();
    std::vector<Array> arrays;
    for (const int id : graph.input_nodes()) arrays.push_back(inputs.at(std::get<Input>(graph.node(id).payload).name));
    const auto want = interpret(graph, inputs);
    try {
      const auto got = Program::compile(graph)->run(arrays);
      ASSERT_EQ(got.size(), want.size());
      for (size_t k = 0; k < got.size(); ++k)
        EXPECT_EQ(compare(got[k], want[k]), "") << "seed " << seed << ", output " << k << "\n" << to_string(graph);
    } catch (const Error& error) {
      ADD_FAILURE() << "seed " << seed << ": " << error.what() << "\n" << to_string(graph);
    }
  }
}
