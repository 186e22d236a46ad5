#include "compiler/plan/program.h"

#include <gtest/gtest.h>

#include "ir/interpreter.h"

namespace frit {
namespace {

Array random_array(DType dtype, const std::vector<int64_t>& shape, uint64_t seed) {
  Array array(dtype, shape);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (int64_t i = 0; i < array.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto bits = static_cast<int64_t>(state >> 40);
    if (is_float(dtype))
      array.set_float(i, static_cast<double>(bits) / (1 << 23) - 1.0);
    else
      array.set_int(i, dtype == DType::Bool ? bits & 1 : bits % 100);
  }
  return array;
}

TEST(program, adds_two_inputs) {
  Graph graph;
  const Shape shape = make_shape(std::vector<int64_t>{3, 17});
  const Value a = graph.add_input("a", {DType::F32, shape}), b = graph.add_input("b", {DType::F32, shape});
  Compute add;
  add.axes = {{"i", shape[0]}, {"j", shape[1]}};
  add.free = 2;
  const std::vector<Expr> at{index(0), index(1)};
  add.results = {{binary(Op::Add, read(DType::F32, 0, at), read(DType::F32, 1, at)), {0, 1}}};
  graph.add_output("y", graph.add_compute(add, {a, b}, "add"));
  const std::vector<Array> inputs{random_array(DType::F32, {3, 17}, 1), random_array(DType::F32, {3, 17}, 2)};
  const auto program = Program::compile(graph);
  const auto results = program->run(inputs);
  const auto want = interpret(graph, {{"a", inputs[0]}, {"b", inputs[1]}});
  EXPECT_EQ(compare(results[0], want[0]), "");
}

}  // namespace
}  // namespace frit
