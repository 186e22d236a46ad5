// Gradients at special points: ties, kinks, ends of ranges, branches that are not taken; the known faults by ID.
#include <limits>

#include "gradient/gradient_check.h"

namespace frit::testing {
namespace {

using enum DType;
using L = std::vector<int64_t>;

const double inf = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

struct PointRow {
  std::string id;
  std::string text;  // definitions; empty where the library has `name`
  std::string name;
  std::vector<RowTensor> inputs;
  std::vector<RowTensor> want;              // the adjoint of each float input, where every output has ones
  double relative = 0;                      // tolerance; 0 is exact
  lang::Attributes attributes = {};
  std::vector<RowTensor> adjoints = {};     // of the float outputs, where they are not ones
};

PointRow pointwise(std::string id, const std::string& formula, const std::vector<double>& at, std::vector<double> want,
                   double relative = 0) {
  return {std::move(id), "def f(x) = " + formula, "f", {vec(at)}, {vec(std::move(want))}, relative};
}

// `first`, then `rest`.
RowTensor spike(std::vector<int64_t> shape, double first, double rest) {
  std::vector<double> values(static_cast<size_t>(element_count(shape)), rest);
  values[0] = first;
  return tensor(std::move(shape), std::move(values));
}

// (index along `axis` + 1) * `unit`.
RowTensor blocks(std::vector<int64_t> shape, size_t axis, double unit) {
  int64_t inner = 1;
  for (size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  std::vector<double> values;
  for (int64_t i = 0; i < element_count(shape); ++i)
    values.push_back(static_cast<double>(i / inner % shape[axis] + 1) * unit);
  return tensor(std::move(shape), std::move(values));
}

const std::vector<PointRow>& rows() {
  static const std::vector<PointRow> all = {
      // EMPTY and CONV, the gradient halves
      {"B070",
       "def f(x[a, b, c]) y[a] = mean[b, c](x[a, b, c])",
       "f",
       {counted({3, 2, 5})},
       {blocks({3, 2, 5}, 0, 0.1)},
       1e-6,
       {},
       {vec({1, 2, 3})}},
      {"B070 outer axes",
       "def f(x[a, b, c]) y[b] = mean[a, c](x[a, b, c])",
       "f",
       {counted({3, 2, 5})},
       {blocks({3, 2, 5}, 1, 1.0 / 15)},
       1e-6,
       {},
       {vec({1, 2})}},
      {"B085",
       "",
       "conv",
       {counted({1, 1, 5}, 1), tensor({1, 1, 2}, {10, 20})},
       {tensor({1, 1, 5}, {10, 20, 10, 20, 0}), tensor({1, 1, 2}, {4, 6})},
       0,
       {{"s", 2}}},
      // GRAD
      {"B095 pool",
       "",
       "max_pool",
       {tensor({1, 1, 4}, {2, 2, 1, 2})},
       {tensor({1, 1, 4}, {1, 0, 0, 0})},
       0,
       {{"k", 4}}},
      {"B095 reduce", "def f(x[n]) y[] = max[n](x[n])", "f", {vec({2, 2, 1, 2})}, {vec({1, 0, 0, 0})}},
      {"B095 min", "def f(x[n]) y[] = min[n](x[n])", "f", {vec({2, 1, 1, 2})}, {vec({0, 1, 0, 0})}},
      {"B095 payload",
       "def f(x[n], v[n]) y[] = argmax[n](x[n], v[n])",
       "f",
       {vec({1, 3, 3}), vec({4, 5, 6})},
       {vec({0, 0, 0}), vec({0, 1, 0})}},
      pointwise("B097 where", "select(x > 0, sqrt(x), 0)", {0, 4}, {0, 0.25}),
      {"B097 norm",
       "def f(x, y) = max(sqrt(x*x + y*y), 1e-10)",
       "f",
       {vec({0, 3}), vec({0, 4})},
       {vec({0, 0.6}), vec({0, 0.8})},
       1e-6},
      pointwise("B097 sqrt", "sqrt(x)", {0}, {inf}),
      pointwise("B097 twice", "select(x > 0, sqrt(x), 0) + select(x > 1, sqrt(x), 0)", {0, 4}, {0, 0.5}),
      pointwise("B098 square", "pow(x, 2)", {0, -3}, {0, -6}),
      pointwise("B098 one", "pow(x, 1)", {0, -3}, {1, 1}),
      pointwise("B098 zero", "pow(x, 0)", {0, -3}, {0, 0}),
      pointwise("B098 cube", "pow(x, 3)", {-2}, {12}),
      {"B098 exponents",
       "def f(x, p) = pow(x, p)",
       "f",
       {vec({0, 0, 0, -2}), vec({2, 1, 0, 3})},
       {vec({0, 1, 0, 12}), vec({0, 0, -inf, nan})},
       1e-6},
      {"B100",
       "def f(x, y) = x*y",
       "f",
       {vec({2, 2}), vec({2})},
       {vec({2, 2}), vec({4})}},
      {"B100 rank", "def f(x, y) = x*y", "f", {vec({1}), filled({1, 2}, 1)}, {vec({2}), filled({1, 2}, 1)}},
      {"B101 sigmoid",
       "def f(x) = sigmoid(x)",
       "f",
       {vec({-1000, -100, 0, 100, 1000})},
       {vec({0, 0, 0.25, 0, 0})},
       1e-6},
      {"B101 gelu", "", "onnx.Gelu.20", {vec({-1000, -100, 0, 100, 1000})}, {vec({0, 0, 0.5, 1, 1})}, 1e-6},

      // POOL, SMX and NORM, their other halves
      {"B025 padding takes nothing",
       "",
       "max_pool",
       {tensor({1, 1, 2, 2}, {-1, -2, -3, -4})},
       {tensor({1, 1, 2, 2}, {4, 0, 0, 0})},
       0,
       {{"k", L{3, 3}}, {"s", 1}, {"p", 1}}},
      {"B027 ceil",
       "",
       "avg_pool",
       {tensor({1, 1, 4}, {1, 2, 3, 4})},
       {tensor({1, 1, 4}, {1, 0, 0.5, 0.5})},
       0,
       {{"k", 2}, {"s", 3}, {"p", 1}, {"ceil_mode", true}}},
      {"B028 ceil",
       "",
       "avg_pool",
       {tensor({1, 1, 4}, {1, 2, 3, 4})},
       {tensor({1, 1, 4}, {0.5, 0.5 + 1. / 3, 1. / 3, 1 + 1. / 3})},
       1e-6,
       {{"k", 3}, {"s", 2}, {"p", 1}, {"ceil_mode", true}}},
      {"B033",
       "",
       "softmax",
       {vec({1000, 1001, 1002})},
       {vec({0.0819250606, -0.0220329496, -0.0598921110})},
       1e-5,
       {},
       {vec({1, 0, 0})}},
      {"B035", "", "softmax", {vec({0, -inf, 1})}, {vec({0.1966119332, 0, -0.1966119332})}, 1e-5, {}, {vec({1, 0, 0})}},
      {"B036", "", "logsumexp", {filled({70000}, 0, F16)}, {filled({70000}, 1.430511474609375e-05, F16)}},
      {"B038",
       "",
       "cross_entropy",
       {tensor({1, 3}, {-400, 250, 431}), vec({0}, I64)},
       {tensor({1, 3}, {-1, 0, 1})},
       1e-6},
      {"B039 constant row",
       "",
       "layer_norm",
       {filled({1, 192}, 777.75), filled({192}, 1), filled({192}, 0.25)},
       {spike({1, 192}, 314.5807463, -1.647019615), filled({192}, 0), spike({192}, 1, 0)},
       1e-5,
       {},
       {spike({1, 192}, 1, 0), vec({0}), vec({0})}},

      // the table of LANGUAGE.md section 9
      {"max of equals", "def f(a, b) = max(a, b)", "f", {vec({1, 2, 0}), vec({1, 0, 2})},
       {vec({0.5, 1, 0}), vec({0.5, 0, 1})}},
      {"min of equals", "def f(a, b) = min(a, b)", "f", {vec({1, 2, 0}), vec({1, 0, 2})},
       {vec({0.5, 0, 1}), vec({0.5, 1, 0})}},
      {"max beside infinite slopes", "def f(x) = max(sqrt(x), 1)", "f", {vec({0, 4})}, {vec({0, 0.25})}},
      {"clamp", "def f(x, lo, hi) = clamp(x, lo, hi)", "f",
       {vec({-2, -1, 0, 1, 2}), filled({5}, -1), filled({5}, 1)},
       {vec({0, 1, 1, 1, 0}), vec({1, 0, 0, 0, 0}), vec({0, 0, 0, 0, 1})}},
      pointwise("clamp to numbers", "clamp(x, 0, 6)", {-1, 0, 3, 6, 7}, {0, 1, 1, 1, 0}),
      {"clamp with crossed limits", "def f(x, lo, hi) = clamp(x, lo, hi)", "f",
       {vec({-2, 0, 2}), filled({3}, 1), filled({3}, -1)},
       {vec({0, 0, 0}), vec({0, 0, 0}), vec({1, 1, 1})}},
      pointwise("relu at 0", "select(x <= 0, 0, x)", {-1, 0, 1}, {0, 0, 1}),
      pointwise("max at 0", "max(x, 0)", {-1, 0, 1}, {0, 0.5, 1}),
      pointwise("abs", "abs(x)", {-2, 0, 3}, {-1, 0, 1}),
      pointwise("sign", "sign(x)", {-2, 0, 3}, {0, 0, 0}),
      pointwise("steps", "floor(x) + ceil(x) + round(x) + trunc(x)", {-2, 0, 0.5}, {0, 0, 0}),
      {"mod", "def f(a, b) = a % b", "f", {vec({7, -7}), vec({2, 2})}, {vec({1, 1}), vec({-3, 4})}},
      {"tmod", "def f(a, b) = tmod(a, b)", "f", {vec({7, -7}), vec({2, 2})}, {vec({1, 1}), vec({-3, 3})}},
      {"quotients", "def f(a, b) = a // b + tdiv(a, b)", "f", {vec({7, -7}), vec({2, 2})}, {vec({0, 0}), vec({0, 0})}},
      pointwise("cast to int", "f32(i32(x)) + x", {1.5}, {1}),
      pointwise("stop_gradient", "x * stop_gradient(x)", {3}, {3}),
      pointwise("select of infinities", "select(x == 0, 1, log(x) / x)", {0}, {0}),
      pointwise("select of nan", "select(x < 0, 0, sqrt(x))", {-1}, {0}),
      {"else", "def f(x[n]) y[i < 3] = log(x[i] else 1) * 2", "f", {vec({2})}, {vec({1})}},
      {"prod without zeros", "def f(x[n]) y[] = prod[n](x[n])", "f", {vec({2, 3, 4})}, {vec({12, 8, 6})}},
      {"prod with a zero", "def f(x[n]) y[] = prod[n](x[n])", "f", {vec({2, 0, 4})}, {vec({0, 8, 0})}},
      {"prod with two zeros", "def f(x[n]) y[] = prod[n](x[n])", "f", {vec({0, 0, 4})}, {vec({0, 0, 0})}},
      {"logaddexp", "def f(a, b) = logaddexp(a, b)", "f", {vec({-inf, 0, 1000}), vec({-inf, 0, 0})},
       {vec({0.5, 0.5, 1}), vec({0.5, 0.5, 0})}},
      {"an infinite factor", "def f(x[n], w[n]) y[n] = (x[n - 1] else 0) * w[n]", "f", {vec({1, 2}), vec({inf, 3})},
       {vec({3, 0}), vec({0, 1})}},
      {"a scaled shift", "def f(x[n], w[]) y[n] = (x[n - 1] else 0) * w", "f", {vec({1, 2}), number(inf)},
       {vec({inf, 0}), number(1)}},
      {"an empty sum", "def f(x[n], w[]) y[] = sum[n](x[n] * w)", "f", {filled({0}, 0), number(2)},
       {filled({0}, 0), number(0)}},
      {"what nothing depends on", "def f(x, y) = y * 2", "f", {vec({1, 2}), vec({3})}, {vec({0, 0}), vec({2})}},
      {"an index is no float", "def f(x[n]) y[n] = x[n] * f32(index(n))", "f", {vec({5, 6, 7})}, {vec({0, 1, 2})}},
      {"gather adds up", "", "gather", {vec({1, 2, 3}), vec({2, 0, 2, -1, 7}, I64)}, {vec({1, 0, 3})}},
      {"gather in f16", "", "gather", {vec({1, 2, 3}, F16), vec({2, 0, 2}, I64)}, {vec({1, 0, 2}, F16)}},
      {"clause", "", "relu6", {vec({-1, 0, 3, 6, 7})}, {vec({0, 0, 1, 0, 0})}},
      {"clause and what it leaves out", "", "fake_quant", {vec({0.6, 2.4}), vec({1, 1})}, {vec({1, 1}), vec({1, 2})}},
      {"running maximum", "def f(x[n]) y[i < n] = max[j <= i](x[j])", "f", {vec({1, 3, 3, 2})}, {vec({1, 3, 0, 0})}},
  };
  return all;
}

void expect_adjoints(const PointRow& row, const std::vector<std::vector<double>>& got, const char* where) {
  ASSERT_EQ(got.size(), row.want.size()) << where;
  for (size_t k = 0; k < got.size(); ++k) {
    const RowTensor& want = row.want[k];
    ASSERT_EQ(static_cast<int64_t>(got[k].size()), element_count(want.shape)) << where;
    const double relative = row.relative > 0 ? row.relative : 1e-7;
    for (size_t i = 0; i < got[k].size(); ++i)
      ASSERT_TRUE(agrees(got[k][i] + 0.0, want.at(static_cast<int64_t>(i)) + 0.0, relative))
          << where << ": adjoint " << k << ", element " << i << ": got " << got[k][i] << ", want "
          << want.at(static_cast<int64_t>(i));
  }
}

void check(const PointRow& row) {
  SCOPED_TRACE(row.id);
  try {
    Library library(&layers());
    if (!row.text.empty()) library.add(row.text, "row.frit");
    std::vector<OperandSpec> operands;
    NamedArrays values;
    for (size_t k = 0; k < row.inputs.size(); ++k) {
      operands.push_back(of(row.inputs[k].dtype, row.inputs[k].shape));
      values.emplace("x" + std::to_string(k), array_of(row.inputs[k]));
    }
    const Graph graph = build(library, row.name, operands, row.attributes).graph;
    const Graph derived = gradient(graph, float_inputs(graph));
    for (const std::string& finding : verify(derived)) ADD_FAILURE() << finding;
    std::vector<Array> inputs;
    size_t given = 0;
    for (const int id : derived.input_nodes()) {
      const std::string& name = std::get<Input>(derived.node(id).payload).name;
      const TensorType& type = derived.node(id).results[0];
      if (!values.contains(name)) {
        const bool ones = row.adjoints.empty();
        const std::vector<int64_t> shape = static_shape(type.shape);
        values.emplace(name, array_of(ones ? filled(shape, 1, type.dtype) : row.adjoints[given++]));
      }
      inputs.push_back(values.at(name));
    }
    std::vector<std::vector<double>> interpreted, compiled;
    for (const ReferenceTensor& t : interpret(derived, values)) interpreted.push_back(t.values);
    expect_adjoints(row, interpreted, "interpreter");
    for (const Array& a : Program::compile(derived, {caches().rbegin()->second.get(), nullptr, false})->run(inputs)) {
      compiled.emplace_back();
      for (int64_t i = 0; i < a.size(); ++i) compiled.back().push_back(a.float_at(i));
    }
    expect_adjoints(row, compiled, "compiled");
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

TEST(GradientPoints, AreThoseOfTheTable) {
  for (const PointRow& row : rows()) check(row);
}

}  // namespace
}  // namespace frit::testing
