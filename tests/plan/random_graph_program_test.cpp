#include <gtest/gtest.h>

#include "compiler/plan/program.h"
#include "ir/interpreter.h"
#include "ir/random_graph.h"
#include "support/error.h"

using namespace frit;
using frit::testing::RandomGraph;

namespace {

// So that no input is without a reader.
void read_all_inputs(Graph& graph) {
  Compute c;
  std::vector<Value> inputs;
  Expr sum = constant(DType::F32, 1);
  for (const int id : graph.input_nodes()) {
    const TensorType& type = graph.node(id).results[0];
    const DType dtype = compute_dtype(type.dtype);
    const std::vector<Expr> zeros(type.shape.size(), index_constant(0));
    const Expr fill = is_float(dtype) ? constant(dtype, 0) : constant_int(dtype, 0);
    sum = sum + cast(guarded_read(dtype, static_cast<int>(inputs.size()), zeros, true_value(), fill), DType::F32);
    inputs.push_back({id, 0});
  }
  c.results = {{sum, {}}};
  graph.add_output("all", graph.add_compute(c, inputs));
}

}  // namespace

// Random graphs of computes, reductions, views and assembles, compiled and run, against their definition.
TEST(RandomGraphProgram, AgreesWithTheInterpreter) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomGraph random(seed, /*with_steps=*/false);
    Graph graph = random.make(static_cast<int>(seed % 8) + 1);
    read_all_inputs(graph);
    const auto inputs = random.inputs();
    bool is_empty = false;
    for (const auto& [name, array] : inputs) is_empty |= array.size() == 0;
    if (is_empty) continue;  // simplify leaves such an input without a reader
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
