// The known faults of this kind of software, by ID: compiled, on every instruction set.
#include <fmt/format.h>
#include <frit/frit.h>

#include <cmath>
#include <fstream>
#include <set>

#include "compiler/differential.h"
#include "fault_rows.h"
#include "lang/snippet_run.h"
#include "runtime/runtime_fixture.h"
#include "runtime/workers.h"

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

// One formula over many operands: more than a kernel takes.
TEST(CompiledFaults, B134B159ManyOperandsOfOneFormula) {
  Library library(&layers());
  library.add("def f(*xs) = sum(xs)", "row.frit");
  for (const size_t n : {600U, 1500U}) {
    std::vector<Array> inputs(n, Array(DType::F32, {3}));
    for (Array& input : inputs)
      for (int64_t i = 0; i < 3; ++i) input.set_float(i, static_cast<double>(i + 1));
    const Graph graph = build(library, "f", std::vector<OperandSpec>(n, f32({3}))).graph;
    for (const auto& [isa, cache] : caches()) {
      const auto results = Program::compile(graph, {cache.get(), nullptr, false})->run(inputs);
      for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(results[0].float_at(i), static_cast<double>(n) * (i + 1)) << isa;
    }
  }
}

// A reduction is not cut: it is refused by name, before anything is compiled.
TEST(CompiledFaults, B134ManyOperandsOfOneReduction) {
  Library library(&layers());
  std::string operands, terms;
  for (int i = 0; i < 70; ++i) {
    operands += fmt::format("{}x{}[n]", i ? ", " : "", i);
    terms += fmt::format("{}x{}[n]", i ? " * " : "", i);
  }
  library.add(fmt::format("def f({}) y[] = sum[n]({})", operands, terms), "row.frit");
  const Graph graph = build(library, "f", std::vector<OperandSpec>(70, f32({3}))).graph;
  EXPECT_THROW(frit::build(graph, machine_named("sse2")), UnsupportedError);
}

// Sums of floats past 2^24 terms.
TEST(CompiledFaults, B010LongSums) {
  Library library(&layers());
  library.add("def f(x[n]) y[] = sum[n](x[n])  def g(x[n, c]) y[c] = mean[n](x[n, c])", "row.frit");
  const auto ones = [](std::vector<int64_t> shape) {
    Array a(DType::F32, std::move(shape));
    std::fill_n(a.as_mutable<float>(), a.size(), 1.0F);
    return a;
  };
  const std::vector<Array> row{ones({18'000'000})}, columns{ones({19'000'000, 2})};
  const Graph sum = build(library, "f", {f32({18'000'000})}).graph, mean = build(library, "g", {f32({19'000'000, 2})}).graph;
  for (const auto& [isa, cache] : caches()) {
    EXPECT_EQ(Program::compile(sum, {cache.get(), nullptr, false})->run(row)[0].float_at(0), 18'000'000) << isa;
    const Array means = Program::compile(mean, {cache.get(), nullptr, false})->run(columns)[0];
    EXPECT_EQ(means.float_at(0), 1) << isa;
    EXPECT_EQ(means.float_at(1), 1) << isa;
  }
}

// The order of a sum follows from its shape, never from time or threads.
TEST(CompiledFaults, B015SumsAreTheSameInEveryRun) {
  constexpr int64_t kCount = 99'999;
  Library library(&layers());
  library.add("def f(x[n]) y[] = sum[n](x[n])", "row.frit");
  std::vector<Array> inputs{Array(DType::F32, {kCount})};
  for (int64_t i = 0; i < kCount; ++i) {
    const double v = static_cast<double>(i) * 0.6180339887;
    inputs[0].set_float(i, v - std::floor(v));
  }
  const Graph graph = build(library, "f", {f32({kCount})}).graph;
  for (const auto& [isa, cache] : caches()) {
    std::set<float> sums;
    for (const int threads : {1, 2, 7}) {
      runtime::Workers workers(threads);
      const auto program = Program::compile(graph, {cache.get(), &workers, false});
      for (int run = 0; run < 20; ++run) sums.insert(program->run(inputs)[0].as<float>()[0]);
    }
    EXPECT_EQ(sums.size(), 1U) << isa;
  }
}

// What an import says is part of what is remembered.
TEST(CompiledFaults, B118ImportsAreReadAgain) {
  const runtime::TemporaryFolder folder;
  const auto write = [&](const char* file, const std::string& text) { std::ofstream(folder / file) << text; };
  write("op.frit", "import \"helper.frit\"  def f(x) = helper(x)");
  const Tensor x(std::vector<float>{1, 2}, {2});
  for (const int added : {1, 2}) {
    write("helper.frit", fmt::format("def helper(x) = x + {}", added));
    EXPECT_EQ(op_file(folder / "op.frit")(x).to_vector<float>(), (std::vector<float>{static_cast<float>(1 + added), static_cast<float>(2 + added)}));
  }
}

}  // namespace
}  // namespace frit::testing
