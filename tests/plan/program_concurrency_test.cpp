// Programs under several threads: one program run at once, one graph compiled at once.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "compiler/plan/program.h"
#include "compiler/standard_library.h"
#include "frit/frit.h"

namespace frit {
namespace {

Graph graph_of(const char* text, const std::vector<int64_t>& shape) {
  Graph graph;
  const Library library(&standard_library(), text, "f.frit");
  std::vector<lang::Operand> operands;
  operands.emplace_back(std::in_place_type<Value>, graph.add_input("x", {DType::F32, make_shape(shape)}));
  for (const Value& v : lang::instantiate(graph, library, library.get("f"), operands)) graph.add_output("y", v);
  return graph;
}

TEST(program_concurrency, callers_at_once_get_instances_of_their_own) {
  const auto program = Program::compile(graph_of(
      "def f(x[m, n]) { a[m] = sum[n](x[m, n])  y[m, n] = x[m, n] + a[m]  return softmax(y) + y }", {64, 129}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&program, t] {
      Array x(DType::F32, {64, 129});
      for (int64_t i = 0; i < x.size(); ++i) x.set_float(i, static_cast<double>((i * (t + 3)) % 17) / 16);
      const std::vector<Array> inputs{x};
      const Array first = program->run(inputs)[0];
      for (int round = 0; round < 50; ++round) {
        const Array again = program->run(inputs)[0];
        ASSERT_EQ(std::memcmp(first.data(), again.data(), first.size_bytes()), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(program_concurrency, B160_one_compilation_of_a_graph) {
  for (int round = 0; round < 5; ++round) {
    // A constant of its own gives each round a new kernel.
    const std::string text = "def f(x) = x * " + std::to_string(round + 2) + ".25 + 1";
    const Graph graph = graph_of(text.c_str(), {1000});
    const Statistics before = statistics();
    std::vector<std::shared_ptr<const Program>> programs(8);
    std::vector<std::thread> threads;
    for (auto& program : programs) threads.emplace_back([&program, &graph] { program = compile_remembered(graph); });
    for (std::thread& thread : threads) thread.join();
    for (const auto& program : programs) EXPECT_EQ(program, programs[0]);
    const Statistics after = statistics();
    EXPECT_LE(after.compiles + after.disk_hits - before.compiles - before.disk_hits, 1u);
  }
}

}  // namespace
}  // namespace frit
