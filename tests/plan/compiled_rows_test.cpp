// Snippets compiled for every instruction set of this machine: known faults by ID against their right values, and a
// table of snippets over awkward shapes against the reference interpreter.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/plan/program.h"
#include "compiler/standard_library.h"
#include "fault_rows.h"
#include "ir/interpreter.h"
#include "runtime/cpu/features.h"

namespace frit {
namespace {

using testing::RowTensor;
using testing::SnippetRow;

class CompiledRows : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    runtime::KernelCacheOptions options;
    try {
      options.cpu = runtime::cpu_target_named(GetParam());
    } catch (const InputError&) {
      GTEST_SKIP() << "this machine has no " << GetParam();
    }
    cache_ = std::make_unique<runtime::KernelCache>(options);
    program_options_.cache = cache_.get();
  }

  std::vector<Array> run(const Graph& graph, const std::vector<Array>& inputs) const {
    return Program::compile(graph, program_options_)->run(inputs);
  }

 private:
  std::unique_ptr<runtime::KernelCache> cache_;
  ProgramOptions program_options_;
};

Array array_of(const RowTensor& row) {
  Array array(row.dtype, row.shape);
  for (int64_t i = 0; i < array.size(); ++i) {
    if (is_float(row.dtype))
      array.set_float(i, row.at(i));
    else
      array.set_int(i, static_cast<int64_t>(row.at(i)));
  }
  return array;
}

// One rounding more than the row asks for, since arithmetic is f32 here and float64 there.
bool agrees(double got, double want, double relative, DType dtype) {
  if (std::isnan(want)) return std::isnan(got);
  if (got == want) return relative > 0 || std::signbit(got) == std::signbit(want);
  const double slack = dtype == DType::F32 && want != 0 ? std::max(relative, 3e-7) : relative;
  return std::fabs(got - want) <= slack * std::fabs(want);
}

Graph graph_of(const Library& library, const std::string& name, const std::vector<Array>& inputs,
               const lang::Attributes& attributes) {
  Graph graph;
  std::vector<lang::Operand> operands;
  for (size_t i = 0; i < inputs.size(); ++i)
    operands.emplace_back(std::in_place_type<Value>,
                          graph.add_input("x" + std::to_string(i), {inputs[i].dtype(), make_shape(inputs[i].shape())}));
  for (const Value& v : lang::instantiate(graph, library, library.get(name), operands, attributes, name))
    graph.add_output("y" + std::to_string(graph.outputs().size()), v);
  return graph;
}

TEST_P(CompiledRows, known_faults) {
  for (const SnippetRow& row : testing::fault_rows()) {
    SCOPED_TRACE(row.id);
    try {
      Library library(&standard_library());
      if (!row.text.empty()) library.add(row.text, "row.frit");
      std::vector<Array> inputs;
      for (const RowTensor& input : row.inputs) inputs.push_back(array_of(input));
      const std::vector<Array> results = run(graph_of(library, row.name, inputs, row.attributes), inputs);
      ASSERT_GE(results.size(), row.want.size());
      for (size_t r = 0; r < row.want.size(); ++r) {
        const RowTensor& want = row.want[r];
        ASSERT_EQ(name(results[r].dtype()), name(want.dtype)) << "result " << r;
        ASSERT_EQ(results[r].shape(), want.shape) << "result " << r;
        for (int64_t i = 0; i < results[r].size(); ++i) {
          const double got = is_float(want.dtype) ? results[r].float_at(i) : static_cast<double>(results[r].int_at(i));
          ASSERT_TRUE(agrees(got, want.at(i), row.relative, want.dtype))
              << "result " << r << ", element " << i << ": got " << got << ", want " << want.at(i);
        }
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

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

struct Case {
  const char* text;
  std::vector<std::vector<int64_t>> shapes;  // of the operands
  lang::Attributes attributes = {};
  std::vector<DType> dtypes = {DType::F32};  // of all operands, one after another
};

// Extents 0 and 1, primes, one past a vector and past a tile.
std::vector<Case> cases() {
  using enum DType;
  using L = std::vector<int64_t>;
  std::vector<Case> list;
  for (const L& s : std::vector<L>{{}, {0}, {1}, {7}, {16}, {17}, {257}, {3, 0}, {5, 67}, {2, 3, 33}}) {
    list.push_back({"def f(a, b) = max(a*b + 1, a - b)", {s, s}, {}, {F32, F64, F16, I32, I64, U8, I8}});
    list.push_back({"def f(a) = sigmoid(a) * tanh(a) + exp(a)", {s}});
    list.push_back({"def f(a) { b = a + 1  return b, b * 2, a }", {s}});
    list.push_back({"def f(a, b) = select(a < b, a, b)", {s, s}, {}, {F32, I32, Bool}});
  }
  for (const L& s : std::vector<L>{{0, 5}, {1, 1}, {5, 0}, {7, 33}, {3, 1000}, {65, 17}}) {
    list.push_back({"def f(x[m, n]) y[m] = sum[n](x[m, n])", {s}, {}, {F32, F64, I32, F16}});
    list.push_back({"def f(x[m, n]) y[n] = max[m](x[m, n])", {s}, {}, {F32, I64}});
    list.push_back({"def f(x[m, n]) y[] = sum[m, n](x[m, n]*x[m, n])", {s}});
    list.push_back({"def f(x[m, n]) y[n, m] = x[m, n]", {s}, {}, {F32, I64, U8, Bool}});
    list.push_back({"def f(x) = softmax(x)", {s}});
    list.push_back({"def f(x[m, n]) { b[m, n] = x[m, n] + 1  return concat([x, b, x], axis = 0) }", {s}});
    list.push_back({"def f(x[m, n]) { b[m, n] = x[m, n] * 2  c = concat([b, x], axis = 1)  return c, c + 1 }", {s}});
  }
  for (const auto& [m, n, k] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
           {1, 1, 1}, {0, 3, 4}, {3, 4, 0}, {1, 17, 33}, {15, 33, 7}, {64, 65, 31}}) {
    list.push_back({"def f(a[m, k], b[k, n], c[n]) y[m, n] = max(sum[k](a[m, k]*b[k, n]) + c[n], 0)",
                    {{m, k}, {k, n}, {n}},
                    {},
                    {F32, F64}});
    list.push_back({"def f(a[m, k], b[n, k]) y[m, n] = sum[k](a[m, k]*b[n, k])", {{m, k}, {n, k}}});
  }
  list.push_back({"def f(x, w, b) = conv(x, w, b, p = [1, 1])", {{2, 3, 9, 11}, {17, 3, 3, 3}, {17}}});
  list.push_back({"def f(x, w) = conv(x, w, s = [2, 2])", {{1, 5, 13, 13}, {33, 5, 3, 3}}});
  list.push_back({"def f(x, w) = conv(x, w, g = 6, p = [1, 1])", {{1, 6, 7, 7}, {6, 1, 3, 3}}});
  list.push_back({"def f(x, w) { a = conv(x, w, p = [1, 1])  return conv(max(a, 0), w, p = [1, 1]) + x }",
                  {{1, 16, 8, 8}, {16, 16, 3, 3}}});
  list.push_back({"def f(x[n, c, h..]) = max_pool(x, k = [3, 3], s = [2, 2], p = [1, 1])", {{1, 5, 14, 14}}});
  list.push_back({"def f(x) { y = reshape(x + 1, [6, 4])  return y, transpose(y, perm = [1, 0]) }", {{2, 3, 4}}});
  return list;
}

TEST_P(CompiledRows, agree_with_the_interpreter) {
  for (const Case& c : cases()) {
    for (const DType dtype : c.dtypes) {
      std::string trace = std::string(c.text) + " " + std::string(name(dtype));
      for (const auto& shape : c.shapes) trace += " " + to_string(make_shape(shape));
      SCOPED_TRACE(trace);
      try {
        Library library(&standard_library(), c.text, "case.frit");
        std::vector<Array> inputs;
        std::map<std::string, Array> named;
        for (size_t i = 0; i < c.shapes.size(); ++i) {
          inputs.push_back(random_array(dtype, c.shapes[i], i + 1));
          named["x" + std::to_string(i)] = inputs.back();
        }
        const Graph graph = graph_of(library, "f", inputs, c.attributes);
        const std::vector<Array> results = run(graph, inputs);
        const std::vector<ReferenceTensor> want = interpret(graph, named);
        for (size_t r = 0; r < results.size(); ++r) EXPECT_EQ(compare(results[r], want[r], 8.0), "") << "result " << r;
      } catch (const UnsupportedError& error) {
        ADD_FAILURE() << error.what();
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(levels, CompiledRows, ::testing::Values("sse2", "avx2", "avx512"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace frit
