// Gradients of gradients, of nodes that no definition makes, at sizes of nothing, and what is refused.
#include "compiler/passes/pipeline.h"
#include "gradient/gradient_check.h"

namespace frit::testing {
namespace {

using enum DType;
using L = std::vector<int64_t>;

// The derived graph is a graph: its own gradient, for operands and incoming adjoints, agrees with its differences.
TEST(GradientGraphs, SecondOrder) {
  const std::vector<GradientRow> rows = {
      {"onnx.Tanh.6", {x({4})}},
      {"swish", {x({4})}},
      {"dense", {x({2, 3}), x({2, 3}), x({2})}},
      {"softmax", {x({2, 3})}},
      {"layer_norm", {x({2, 4}), x({4}), x({4})}},
      {"conv", {x({1, 2, 5}), x({2, 2, 3})}, {{"s", 2}, {"p", 1}}},
      {"conv_transpose", {x({1, 1, 3}), x({1, 2, 3})}, {{"s", 2}}},
      {"max_pool", {x({1, 1, 5})}, {{"k", 2}, {"s", 1}}},
      {"reduce_prod", {x({2, 3})}, {{"axes", L{1}}}},
      {"cumsum", {x({2, 3})}},
      {"linear_recurrence", {x({1, 3}), x({1, 3})}},
      {"gather", {x({4, 2}), ints({3}, 0, 4)}},
      {"logsumexp", {x({2, 3})}},
      {"adaptive_avg_pool", {x({1, 1, 5})}, {{"o", L{3}}}},
  };
  for (const GradientRow& row : rows) {
    SCOPED_TRACE(row.name);
    try {
      const Graph graph = graph_of(row, F64);
      const Graph derived = gradient(graph, float_inputs(graph));
      NamedArrays values = values_of(row, F64);
      add_adjoints(derived, values);
      check_differences(derived, values);
      const Graph single = graph_of(row, F32);
      NamedArrays inputs = values_of(row, F32);
      const Graph once = gradient(single, float_inputs(single));
      add_adjoints(once, inputs);
      check_compiled(once, inputs);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(GradientGraphs, SizesOfNothing) {
  const std::vector<GradientRow> rows = {
      {"swish", {x({0})}},
      {"onnx.Add.7", {x({0, 3}), x({3})}},
      {"onnx.Mul.7", {x({2, 0}), x({2, 1})}},
      {"matmul", {x({2, 0}), x({0, 3})}},
      {"matmul", {x({0, 2}), x({2, 3})}},
      {"softmax", {x({0, 3})}},
      {"reduce_sum", {x({2, 0})}, {{"axes", L{1}}}},
      {"reduce_prod", {x({2, 0})}, {{"axes", L{1}}}},
      {"conv", {x({0, 2, 5}), x({2, 2, 3})}, {{"p", 1}}},
      {"cumsum", {x({2, 0})}},
      {"gather", {x({3, 2}), ints({0}, 0, 1)}},
      {"onnx_concat", {x({2, 0}), x({2, 3})}, {{"axis", 1}}},
  };
  for (const GradientRow& row : rows) check_gradient_row(row);
}

Graph scatter_graph(ScatterOp op) {
  Graph graph;
  const Value base = graph.add_input("x0", {F64, make_shape(L{4, 2})});
  const Value at = graph.add_input("x1", {I64, make_shape(L{5})});
  const Value u = graph.add_input("x2", {F64, make_shape(L{5, 2})});
  Scatter scatter;
  scatter.axes = {{"i", index_constant(5)}, {"j", index_constant(2)}};
  scatter.op = op;
  const std::vector<Expr> i{index(0)}, ij{index(0), index(1)};
  scatter.positions = {read(I64, 1, i), index(1)};
  scatter.value = unary(Op::Sin, read(F64, 2, ij));
  graph.add_output("r0", graph.add(Node{"write", {base, at, u}, {}, std::move(scatter)}));
  return graph;
}

TEST(GradientGraphs, Writes) {
  NamedArrays values = values_of({"", {x({4, 2}), ints({5}, 0, 4), x({5, 2})}}, F64);
  const std::vector<int64_t> at = {2, 0, 2, -1, 4};  // one element twice, two outside
  for (size_t i = 0; i < at.size(); ++i) values.at("x1").set_int(static_cast<int64_t>(i), at[i]);
  for (const ScatterOp op : {ScatterOp::Add, ScatterOp::Set}) {
    const Graph graph = scatter_graph(op);
    check_differences(graph, values);
    const Graph derived = gradient(graph, float_inputs(graph));
    NamedArrays more = values;
    add_adjoints(derived, more);
    check_differences(derived, more);
  }
  EXPECT_THROW(gradient(scatter_graph(ScatterOp::Max), std::vector<std::string>{"x0"}), UnsupportedError);
}

TEST(GradientGraphs, Sorts) {
  Graph graph;
  const Value in = graph.add_input("x0", {F64, make_shape(L{2, 5})});
  const Value sorted = graph.add(Node{"sort", {in}, {}, Sort{1, true}});
  graph.add_output("r0", sorted);
  const NamedArrays values = values_of({"", {x({2, 5})}}, F64);
  check_differences(graph, values);
  const Graph derived = gradient(graph, float_inputs(graph));
  NamedArrays more = values;
  add_adjoints(derived, more);
  check_differences(derived, more);
}

// An operand computed from another one: the clause of the one must not reach the other twice.
TEST(GradientGraphs, ClausesStopAtOperands) {
  const GradientRow row{"f",
                        {x({3}), x({3})},
                        {},
                        "def g(a, b) = a * b * b\n  grad(dy) { da = dy * b * b }\n"
                        "def f(x, y) = g(sin(x) * y, x) + x"};
  check_gradient_row(row);
  const GradientRow wrong{"f", {x({3})}, {}, "def g(a) = a * a\n  grad(dy) { da = 7 * dy }\ndef f(x) = g(2 * x) * 3"};
  const Graph graph = graph_of(wrong, F32);
  const Graph derived = gradient(graph, std::vector<std::string>{"x0"});
  NamedArrays values = values_of(wrong, F32);
  values.emplace("d_r0", array_of(filled({3}, 1)));
  const ReferenceTensor result = interpret(derived, values)[0];
  for (const double v : result.values) EXPECT_EQ(v, 42);
}

TEST(GradientGraphs, HalfPrecisionIsRoundedOnce) {
  const GradientRow row{"f", {x({64})}, {}, "def f(x) = x*x + x*0.001 + exp(x)"};
  const Graph graph = graph_of(row, F16);
  const Graph derived = gradient(graph, std::vector<std::string>{"x0"});
  EXPECT_EQ(to_string(derived.type(derived.outputs()[0].value)), "f16[64]");
  check_compiled(graph, values_of(row, F16));
}

TEST(GradientGraphs, RefusesWhatIsNoFloat) {
  const Graph graph = graph_of({"gather", {x({4, 2}), ints({3}, 0, 4)}}, F32);
  const auto message = [&](const char* name) -> std::string {
    try {
      gradient(graph, std::vector<std::string>{name});
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message("x1"), "gradient: x1 has no gradient\n  got       i64[3]\n  expected  a float");
  EXPECT_EQ(message("w"), "gradient: there is no such input\n  got       w\n  expected  x0, x1");
}

// The gradients of products and convolutions are products and convolutions: no guard and no test inside a sum.
TEST(GradientGraphs, ProductsStayProducts) {
  const std::vector<GradientRow> rows = {
      {"dense", {x({8, 16}), x({12, 16}), none()}},
      {"matmul", {x({2, 8, 16}), x({16, 12})}},
      {"conv", {x({2, 3, 8, 8}), x({4, 3, 3, 3})}, {{"p", 1}}},
      {"conv", {x({2, 4, 8}), x({6, 2, 3})}, {{"g", 2}, {"d", 2}}},
  };
  for (const GradientRow& row : rows) {
    SCOPED_TRACE(row.name);
    const Graph graph = graph_of(row, F32);
    const Graph derived = simplify(gradient(graph, float_inputs(graph)));
    int sums = 0;
    for (const Node& node : derived.nodes()) {
      const auto* c = std::get_if<Compute>(&node.payload);
      if (!c || c->reduction.op != ReduceOp::Sum) continue;
      ++sums;
      const Expr& product = c->reduction.step[0].arg(1);
      EXPECT_EQ(product.op(), Op::Mul);
      for (const Expr& factor : product.args()) {
        EXPECT_EQ(factor.op(), Op::Read);
        EXPECT_FALSE(factor.is_guarded()) << to_string(factor);
      }
    }
    EXPECT_EQ(sums, 2);
  }
}

// INVARIANTS 11: after the passes no test of divisibility is left in an affine adjoint.
TEST(GradientGraphs, StridesLeaveNoTests) {
  const std::vector<GradientRow> rows = {
      {"conv", {x({2, 3, 9, 8}), x({4, 3, 3, 3})}, {{"p", 1}, {"s", 2}}},
      {"conv", {x({1, 2, 11}), x({2, 2, 2})}, {{"s", 3}, {"d", 2}}},
      {"conv_transpose", {x({2, 3, 5}), x({3, 4, 3})}, {{"s", 2}}},
      {"avg_pool", {x({1, 2, 9})}, {{"k", 3}, {"s", 2}}},
      {"fold_back", {x({1, 4, 9})}, {{"o", L{4, 5}}, {"k", L{2, 2}}, {"s", 2}, {"p", 1}}},
  };
  for (const GradientRow& row : rows) {
    SCOPED_TRACE(row.name);
    const Graph graph = graph_of(row, F32);
    const Graph derived = optimize(gradient(graph, float_inputs(graph)));
    const auto check = [](const Expr& condition) {
      for_each_node(condition, [&](const Expr& e) { EXPECT_NE(e.op(), Op::Mod) << to_string(condition); });
    };
    for (const Node& node : derived.nodes()) {
      const auto* c = std::get_if<Compute>(&node.payload);
      if (!c) continue;
      std::vector<Expr> roots = c->reduction.step;
      for (const Compute::Result& r : c->results) roots.push_back(r.value);
      for (const Expr& root : roots)
        for_each_node(root, [&](const Expr& e) {
          if (e.op() == Op::Select) check(e.arg(0));
          if (e.op() == Op::Read && e.is_guarded()) check(e.guard_condition());
        });
    }
  }
}

}  // namespace
}  // namespace frit::testing
