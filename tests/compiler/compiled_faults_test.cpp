// The known faults of this kind of software, by ID: compiled, on every instruction set.
#include "compiler/differential.h"
#include "fault_rows.h"
#include "lang/snippet_run.h"

namespace frit::testing {
namespace {

void check_compiled_row(const SnippetRow& row) {
  SCOPED_TRACE(row.id);
  Library library(&layers());
  if (!row.text.empty()) library.add(row.text, "row.frit");
  std::vector<OperandSpec> operands;
  std::vector<Array> inputs;
  for (const RowTensor& input : row.inputs) {
    operands.push_back(of(input.dtype, input.shape));
    inputs.push_back(array_of(input));
  }
  const Graph graph = build(library, row.name, operands, row.attributes).graph;
  for (const auto& [isa, cache] : caches()) {
    SCOPED_TRACE(isa);
    try {
      const auto results = Program::compile(graph, {cache.get(), nullptr, false})->run(inputs);
      // A mean of equal f32 numbers may be off by their last bit, and eps makes much of it: right is what the bound
      // says.
      if (row.id.starts_with("B039")) {
        std::map<std::string, Array> named{{"x0", inputs[0]}, {"x1", inputs[1]}, {"x2", inputs[2]}};
        EXPECT_EQ(compare(results[0], interpret(graph, named)[0]), "");
        continue;
      }
      for (size_t r = 0; r < row.want.size(); ++r) {
        const RowTensor& want = row.want[r];
        ASSERT_EQ(results[r].shape(), want.shape);
        for (int64_t i = 0; i < results[r].size(); ++i) {
          const bool is_real = is_float(want.dtype);
          const double got = is_real ? results[r].float_at(i) : static_cast<double>(results[r].int_at(i));
          const bool rounds = is_real && row.relative == 0 && want.at(i) != 0;
          ASSERT_TRUE(agrees(got, want.at(i), rounds ? 1e-6 : row.relative))
              << "result " << r << ", element " << i << ": got " << got << ", want " << want.at(i);
        }
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(CompiledFaults, HaveTheRightValues) {
  for (const SnippetRow& row : fault_rows()) check_compiled_row(row);
}

// B136: static shapes are not unrolled.
TEST(CompiledFaults, B136TextsStaySmall) {
  const auto check = [](const std::string& text, const std::vector<OperandSpec>& operands) {
    Library library(&layers());
    library.add(text, "row.frit");
    const Graph graph = build(library, "f", operands).graph;
    for (const auto& [isa, cache] : caches())
      for (const runtime::KernelSource& source : frit::build(graph, machine_named(isa)).sources)
        EXPECT_LT(source.text.size(), 100'000U) << isa << " " << text;
  };
  check("def f(x[n]) y[] = sum[n](x[n])", {f32({65536})});
  check("def f(x, w) = conv(x, w)", {f32({1, 3, 64, 64}), f32({4, 3, 31, 31})});
}

// B131: a chain of 100000 sums, on a thread's small stack.
TEST(CompiledFaults, B131DeepChains) {
  Graph graph;
  const std::vector<Expr> at{index(0)};
  Value y = graph.add_input("x", {DType::F32, make_shape(std::vector<int64_t>{3})});
  const Value x = y;
  Compute add;
  add.axes = {{"i", index_constant(3)}};
  add.free = 1;
  Expr value = read(DType::F32, 0, at);
  for (int i = 0; i < 100'000; ++i) value = value + constant(DType::F32, 1);
  add.results = {{value, {0}}};
  y = graph.add_compute(add, {x}, "deep");
  graph.add_output("y", y);
  EXPECT_THROW(frit::build(graph, machine_named("sse2")), UnsupportedError);
}

// The same as a chain of computes: as many kernels as it takes.
TEST(CompiledFaults, B131DeepGraphs) {
  Graph graph;
  const std::vector<Expr> at{index(0)};
  Value y = graph.add_input("x", {DType::F32, make_shape(std::vector<int64_t>{3})});
  for (int i = 0; i < 4'000; ++i) {
    Compute add;
    add.axes = {{"i", index_constant(3)}};
    add.free = 1;
    add.results = {{read(DType::F32, 0, at) + constant(DType::F32, 1), {0}}};
    y = graph.add_compute(std::move(add), {y}, "add");
  }
  graph.add_output("y", y);
  for (const auto& [isa, cache] : caches()) {
    const std::vector<Array> inputs{Array(DType::F32, {3})};
    EXPECT_EQ(Program::compile(graph, {cache.get(), nullptr, false})->run(inputs)[0].float_at(2), 4'000) << isa;
  }
}

// B133: sums and concatenations of many tensors.
TEST(CompiledFaults, B133ManyOperands) {
  for (const int n : {31, 40, 300, 1100}) {
    Graph graph;
    const std::vector<Expr> at{index(0)};
    const Shape one = make_shape(std::vector<int64_t>{1});
    std::vector<Array> inputs;
    Value sum;
    for (int i = 0; i < n; ++i) {
      const Value x = graph.add_input("x" + std::to_string(i), {DType::F32, one});
      inputs.emplace_back(DType::F32, std::vector<int64_t>{1});
      inputs.back().set_float(0, i);
      if (i == 0) {
        sum = x;
        continue;
      }
      Compute add;
      add.axes = {{"i", one[0]}};
      add.free = 1;
      add.results = {{read(DType::F32, 0, at) + read(DType::F32, 1, at), {0}}};
      sum = graph.add_compute(std::move(add), {sum, x}, "add");
    }
    graph.add_output("y", sum);
    for (const auto& [isa, cache] : caches()) {
      const auto results = Program::compile(graph, {cache.get(), nullptr, false})->run(inputs);
      EXPECT_EQ(results[0].float_at(0), static_cast<double>(n) * (n - 1) / 2) << isa;
    }
  }
}

}  // namespace
}  // namespace frit::testing
