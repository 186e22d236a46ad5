// Models of 16-bit floats: each node's result is rounded to its dtype, also where nodes share a kernel.
#include "compiler/differential.h"
#include "onnx/import_fixture.h"

namespace frit::onnx {
namespace {

using namespace test;

constexpr int kF16 = 10, kBF16 = 16;

struct Row {
  std::string id;
  std::vector<NodeText> nodes;                                                 // the last one makes y
  std::vector<std::pair<std::vector<int64_t>, std::vector<double>>> operands;  // a, b, ..
  std::vector<double> f16, bf16;                                               // y
  size_t launches = 1;
  size_t first_weight = 100;  // operands from here on are stored in the model
};

NodeText node(const std::string& op, std::vector<std::string> inputs, std::string output,
              std::vector<AttributeText> attributes = {}) {
  return {op, std::move(inputs), {output}, std::move(attributes), output + "_node", ""};
}

TensorText halfs(const std::string& name, int type, const std::vector<int64_t>& dims,
                 const std::vector<double>& values) {
  std::string raw;
  for (const double v : values) {
    const uint16_t bits = type == kF16 ? f16_from(v) : bf16_from(v);
    raw += static_cast<char>(bits & 255);
    raw += static_cast<char>(bits >> 8);
  }
  TensorText t;
  t.name = name;
  t.type = type;
  t.dims = dims;
  t.raw = raw;
  return t;
}

void check(const Row& row, int type) {
  SCOPED_TRACE(row.id + (type == kF16 ? " f16" : " bf16"));
  ModelText model;
  model.opset = 13;
  model.graph.nodes = row.nodes;
  model.graph.outputs = {"y"};
  std::vector<Array> inputs;
  std::map<std::string, Array> feeds;
  for (size_t i = 0; i < row.operands.size(); ++i) {
    const auto& [dims, values] = row.operands[i];
    const TensorText t = halfs(std::string(1, static_cast<char>('a' + i)), type, dims, values);
    if (i >= row.first_weight) {
      model.graph.initializers.push_back(t);
      continue;
    }
    model.graph.inputs.push_back({t.name, std::vector<DimText>(dims.begin(), dims.end()), type});
    inputs.push_back(array_of(t));
    feeds.emplace(t.name, inputs.back());
  }
  try {
    const Graph graph = import_text(model).graph;
    const std::vector<double>& want = type == kF16 ? row.f16 : row.bf16;
    EXPECT_EQ(interpret(graph, feeds)[0].values, want);
    for (const auto& [isa, cache] : testing::caches()) {
      EXPECT_EQ(build(graph, machine_named(isa)).launches.size(), row.launches) << isa;
      const Array y = Program::compile(graph, {cache.get(), nullptr, false})->run(inputs)[0];
      ASSERT_EQ(y.size(), static_cast<int64_t>(want.size()));
      for (int64_t i = 0; i < y.size(); ++i) EXPECT_EQ(y.float_at(i), want[static_cast<size_t>(i)]) << isa << " " << i;
    }
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

TEST(OnnxRounding, StaysBetweenNodesOfOneKernel) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<Row> rows = {
      {"sum and back",
       {node("Add", {"a", "b"}, "s"), node("Sub", {"s", "a"}, "y")},
       {{{4}, {2048, 256, 1, 3}}, {{4}, {1, 1, 0.0625, 0.00390625}}},
       {0, 1, 0.0625, 0.00390625},
       {0, 0, 0.0625, 0}},
      {"overflow",
       {node("Mul", {"a", "b"}, "s"), node("Div", {"s", "b"}, "y")},
       {{{2}, {60000, 3}}, {{2}, {2, 2}}},
       {inf, 3},
       {59904, 3}},
      {"three",
       {node("Mul", {"a", "a"}, "s"), node("Add", {"s", "b"}, "t"), node("Sub", {"t", "s"}, "u"),
        node("Mul", {"u", "a"}, "y")},
       {{{3}, {46, 16, 2}}, {{3}, {1, 1, 1}}},
       {0, 16, 2},
       {0, 0, 2}},
      {"sum of a row and back",
       {node("ReduceSum", {"a"}, "s"), node("Sub", {"s", "b"}, "y")},
       {{{1, 3}, {2048, 0.5, 0.5}}, {{1, 1}, {2048}}},
       {0},
       {0}},
      {"product and back",
       {node("MatMul", {"a", "b"}, "s"), node("Sub", {"s", "c"}, "y")},
       {{{1, 2}, {64, 1}}, {{2, 2}, {32, 4, 1, 1}}, {{1, 2}, {2048, 256}}},
       {0, 1},
       {0, 0}},
      {"convolution and back",
       {node("Conv", {"a", "c"}, "s"), node("Sub", {"s", "b"}, "y")},
       {{{1, 2, 1, 2}, {64, 8, 1, 1}}, {{1, 1, 1, 2}, {2048, 256}}, {{1, 2, 1, 1}, {32, 1}}},
       {0, 1},
       {0, 0},
       1,
       2},
      {"casts",
       {node("Cast", {"a"}, "s", {attr("to", 1)}), node("Add", {"s", "s"}, "t"),
        node("Cast", {"t"}, "y", {attr("to", 0)})},
       {{{2}, {40000, 1}}},
       {inf, 2},
       {79872, 2}},
  };
  for (const Row& row : rows) {
    for (const int type : {kF16, kBF16}) {
      Row typed = row;
      if (row.id == "casts") typed.nodes.back().attributes = {attr("to", type)};
      check(typed, type);
    }
  }
}

}  // namespace
}  // namespace frit::onnx
