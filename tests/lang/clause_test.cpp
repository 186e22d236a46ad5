// `grad` clauses become CustomGradient nodes whose clause gives the adjoints that were written.
#include "ir/interpreter.h"
#include "lang/snippet_run.h"

using namespace frit;
using namespace frit::testing;

namespace {

struct Row {
  const char* name;
  const char* text;
  const char* definition;
  std::vector<std::vector<double>> operands;            // vectors; one number is a scalar
  std::vector<int> overridden;                          // of the first custom gradient
  std::vector<double> value;                            // of the definition
  std::vector<std::vector<double>> adjoints;            // for an adjoint of 1, 2, 3 ..
};

const std::vector<Row> kRows = {
    {"elementwise, whole", "", "relu6", {{-1, 3, 7, 6}}, {0}, {0, 3, 6, 6}, {{0, 2, 0, 0}}},
    {"one of two operands, summed over what it is broadcast along",
     "def f(x, s) = x * s grad(dy) { ds = dy * x }",
     "f",
     {{1, 2, 3}, {2}},
     {1},
     {2, 4, 6},
     {{1 + 4 + 9}}},
    {"an adjoint that is a number", "def f(x) = x * x grad(dy) = 5", "f", {{1, 2}}, {0}, {1, 4}, {{5, 5}}},
    {"names of the body and of the definition's attributes",
     "def f(x[n]; k = 3) { e[n] = exp(x[n]) y[n] = e[n] * k } grad(dy) { dx[n] = dy[n] * e[n] * k + size(n) }",
     "f",
     {{0, 0}},
     {0},
     {3, 3},
     {{5, 8}}},
    {"in a formula with indices",
     "def c(x) = clamp(x, 0, 6) grad(dy) = select(x < 0, -dy, dy) def f(x[n], w[n]) y[i < n] = c(x[n - 1 - i]) * w[i]",
     "f",
     {{-1, 7}, {10, 1}},
     {0},
     {60, 0},
     {{1, -2}}},
    {"in a reduction",
     "def c(x, s) = x * s grad(dy) { dx = dy * 100 } def f(x[n], w[k]) y[n] = sum[k](c(x[n], w[k]))",
     "f",
     {{1, 2}, {3, 4}},
     {0},
     {7, 14},
     {{100, 200, 300, 400}}},
};

Array vector_of(const std::vector<double>& values) {
  Array a(DType::F32, values.size() == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{int64_t(values.size())});
  for (size_t i = 0; i < values.size(); ++i) a.set_float(static_cast<int64_t>(i), values[i]);
  return a;
}

TEST(GradClause, GivesWhatIsWritten) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    const Library library(&layers(), row.text, "clause.frit");
    Graph graph;
    std::vector<lang::Operand> operands;
    std::map<std::string, Array> inputs;
    for (const auto& values : row.operands) {
      const std::string name = "in" + std::to_string(operands.size());
      const Array a = vector_of(values);
      operands.emplace_back(graph.add_input(name, {DType::F32, make_shape(a.shape())}));
      inputs.emplace(name, a);
    }
    for (const Value v : lang::instantiate(graph, library, library.get(row.definition), operands)) graph.add_output("y", v);
    ASSERT_EQ(verify(graph), std::vector<std::string>{});
    const auto all = interpret_all(graph, inputs);
    EXPECT_EQ(all.at(graph.outputs()[0].value).values, row.value);
    const Node* custom = nullptr;
    for (const Node& node : graph.nodes())
      if (std::holds_alternative<CustomGradient>(node.payload) && !custom) custom = &node;
    ASSERT_NE(custom, nullptr);
    const auto& payload = std::get<CustomGradient>(custom->payload);
    EXPECT_EQ(payload.overridden, row.overridden);
    std::map<std::string, Array> given;
    for (size_t k = 0; k < custom->inputs.size(); ++k) {
      const ReferenceTensor& t = all.at(custom->inputs[k]);
      Array a(t.dtype, t.shape), adjoint(t.dtype, t.shape);
      for (int64_t i = 0; i < a.size(); ++i)
        a.set_float(i, t.values[static_cast<size_t>(i)]), adjoint.set_float(i, static_cast<double>(i + 1));
      const auto operands_count = static_cast<size_t>(payload.operands);
      given.emplace(k < operands_count ? "x" + std::to_string(k) : "y" + std::to_string(k - operands_count), a);
      if (k >= operands_count) given.emplace("dy" + std::to_string(k - operands_count), adjoint);
    }
    const std::vector<ReferenceTensor> adjoints = interpret(*payload.clause, given);
    ASSERT_EQ(adjoints.size(), row.adjoints.size());
    for (size_t k = 0; k < adjoints.size(); ++k) EXPECT_EQ(adjoints[k].values, row.adjoints[k]);
  }
}

TEST(GradClause, MistakesAreShown) {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {"def f(x) = x grad(dy, dz) = dy", "this grad clause names 2 adjoints"},
      {"def f(x, s) = x * s grad(dy) = dy", "f has 2 operands"},
      {"def f(x, s) = x * s grad(dy) { dq = dy }", "this grad clause defines no adjoint"},
      {"def f(x[n]) y[n] = x[n] grad(dy) { dx[i < 2] = dy[i] }", "dx has another shape than x"},
      {"def f(x[n]) y[n] = x[n] grad(y) { dx[n] = y[n] }", "y is a local already"},
  };
  for (const auto& [text, what] : rows) {
    SCOPED_TRACE(text);
    const Library library(&layers(), text, "clause.frit");
    Graph graph;
    std::vector<lang::Operand> operands;
    for (size_t k = 0; k < lang::interface_of(library.get("f")).operands.size(); ++k)
      operands.emplace_back(graph.add_input("in" + std::to_string(k), {DType::F32, make_shape(std::vector<int64_t>{3})}));
    try {
      lang::instantiate(graph, library, library.get("f"), operands);
      ADD_FAILURE() << "no error";
    } catch (const InputError& error) {
      EXPECT_NE(error.findings()[0].what.find(what), std::string::npos) << error.what();
      EXPECT_FALSE(error.findings()[0].where.empty());
    }
  }
}

}  // namespace
