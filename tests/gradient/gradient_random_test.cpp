// Random graphs of computes, reductions, views and assembles with every kind of position: derived gradients agree with
// differences, and what is compiled agrees with the interpreter.
#include "gradient/gradient_check.h"
#include "ir/random_graph.h"

namespace frit::testing {
namespace {

constexpr int64_t kChecked = 10;  // elements of each input

// Rounding to f16 and bf16 makes steps, which have no difference quotient.
bool has_halves(const Graph& graph) {
  for (const Node& node : graph.nodes())
    for (const TensorType& type : node.results)
      if (type.dtype != compute_dtype(type.dtype)) return true;
  return false;
}

NamedArrays plain_values(const Graph& graph, uint64_t seed) {
  NamedArrays values;
  for (const int id : graph.input_nodes()) {
    const TensorType& type = graph.node(id).results[0];
    values.emplace(std::get<Input>(graph.node(id).payload).name,
                   make_input(type.dtype, static_shape(type.shape), Fill::Plain, seed + static_cast<uint64_t>(id)));
  }
  return values;
}

// d output / d one element, by moving it; steps are exact in f32, and the interpreter does not round.
double difference(const Graph& graph, NamedArrays& values, Array& a, int64_t i) {
  const double at = a.float_at(i);
  const double h = 0x1p-12;
  a.set_float(i, at + h);
  const double right = a.float_at(i), above = inner_product(graph, values);
  a.set_float(i, at - h);
  const double left = a.float_at(i), below = inner_product(graph, values);
  a.set_float(i, at);
  return (above - below) / (right - left);
}

void check_seed(uint64_t seed, int* checked) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  const Graph graph = RandomGraph(seed, false).make(6);
  if (has_halves(graph)) return;
  const std::vector<std::string> wrt = float_inputs(graph);
  const Graph derived = gradient(graph, wrt);
  for (const std::string& finding : verify(derived)) FAIL() << finding << "\n" << to_string(graph);
  NamedArrays values = plain_values(graph, seed);
  add_adjoints(derived, values);
  const auto results = interpret(derived, values);
  for (size_t k = 0; k < wrt.size(); ++k) {
    Array& a = values.at(wrt[k]);
    for (int64_t n = 0; n < std::min(a.size(), kChecked); ++n) {
      const int64_t i = a.size() <= kChecked ? n : n * 7 % a.size();
      const double got = results[k].values[static_cast<size_t>(i)];
      const double want = difference(graph, values, a, i);
      if (!std::isfinite(want) || !std::isfinite(got)) continue;
      ++*checked;
      ASSERT_NEAR(got, want, 2e-3 * (1 + std::fabs(want))) << "d_" << wrt[k] << ", element " << i << "\n"
                                                          << to_string(graph) << to_string(derived);
    }
  }
}

TEST(GradientRandom, AgreeWithDifferences) {
  int checked = 0;
  for (uint64_t seed = 1; seed <= 1500 && !HasFatalFailure(); ++seed) check_seed(seed, &checked);
  EXPECT_GT(checked, 1000);
}

TEST(GradientRandom, CompiledAsInterpreted) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Graph graph = RandomGraph(seed, false).make(6);
    try {
      check_compiled(graph, plain_values(graph, seed));
    } catch (const Error& error) {
      ADD_FAILURE() << error.what() << "\n" << to_string(gradient(graph, float_inputs(graph)));
    }
  }
}

}  // namespace
}  // namespace frit::testing
