#include <gtest/gtest.h>

#include <limits>

#include "compiler/onnx/lattice.h"
#include "support/error.h"

namespace frit::onnx {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

AttributeDef ints(std::string name, Dims values) {
  AttributeDef a;
  a.name = std::move(name);
  a.kind = AttributeDef::kInts;
  a.ints = std::move(values);
  return a;
}
AttributeDef integer(std::string name, int64_t value) {
  AttributeDef a;
  a.name = std::move(name);
  a.kind = AttributeDef::kInt;
  a.i = value;
  return a;
}
Known vec(Dims values, DType dtype = DType::I64) {
  const auto n = static_cast<int64_t>(values.size());
  return known_numbers(dtype, {n}, values);
}
Known scalar(int64_t value) { return known_numbers(DType::I64, {}, {&value, 1}); }
Known shaped(Dims shape, Dims values, DType dtype = DType::I64) { return known_numbers(dtype, shape, values); }

struct Row {
  std::string op;
  std::vector<Known> operands;
  std::vector<AttributeDef> attributes;
  Dims shape, values;
  DType dtype = DType::I64;
};

TEST(OnnxLattice, Rows) {
  const std::vector<Row> rows = {
      {"Add", {vec({1, 2}), scalar(10)}, {}, {2}, {11, 12}},
      {"Add", {vec({kMax}), scalar(1)}, {}, {1}, {kMin}},
      {"Add", {vec({127}, DType::I8), vec({1}, DType::I8)}, {}, {1}, {-128}, DType::I8},
      {"Mul", {shaped({2, 1}, {2, 3}), vec({5, 7})}, {}, {2, 2}, {10, 14, 15, 21}},
      {"Div", {vec({-7, 7, kMin, 5}), vec({2, -2, -1, 0})}, {}, {4}, {-3, -3, kMin, 0}},
      {"Mod", {vec({-7, 7, 5}), vec({2, -2, 0})}, {}, {3}, {1, -1, 0}},
      {"Max", {vec({1, 9}), vec({5, 5}), vec({6, 0})}, {}, {2}, {6, 9}},
      {"Equal", {vec({1, 2}), vec({1, 3})}, {}, {2}, {1, 0}, DType::Bool},
      {"Not", {vec({1, 0}, DType::Bool)}, {}, {2}, {0, 1}, DType::Bool},
      {"And", {vec({1, 1}, DType::Bool), vec({1, 0}, DType::Bool)}, {}, {2}, {1, 0}, DType::Bool},
      {"Where", {vec({1, 0}, DType::Bool), vec({1, 2}), vec({3, 4})}, {}, {2}, {1, 4}},
      {"Neg", {vec({3, kMin})}, {}, {2}, {-3, kMin}},
      {"Cast", {vec({300, -1})}, {integer("to", 2)}, {2}, {44, 255}, DType::U8},
      {"Cast", {vec({300, 0})}, {integer("to", 9)}, {2}, {1, 0}, DType::Bool},
      {"Concat", {vec({1}), vec({2, 3})}, {integer("axis", 0)}, {3}, {1, 2, 3}},
      {"Concat",
       {shaped({2, 1}, {1, 2}), shaped({2, 2}, {3, 4, 5, 6})},
       {integer("axis", -1)},
       {2, 3},
       {1, 3, 4, 2, 5, 6}},
      {"Gather", {vec({5, 6, 7}), vec({-1, 0})}, {}, {2}, {7, 5}},
      {"Gather", {vec({5, 6, 7}), scalar(1)}, {}, {}, {6}},
      {"Gather", {shaped({2, 2}, {1, 2, 3, 4}), vec({1})}, {integer("axis", 1)}, {2, 1}, {2, 4}},
      {"Slice", {vec({1, 2, 3, 4, 5}), vec({-2}), vec({kMax})}, {}, {2}, {4, 5}},  // B172
      {"Slice", {vec({0, 1, 2, 3, 4}), vec({-3}), vec({-1})}, {}, {2}, {2, 3}},    // B076
      {"Slice", {vec({0, 1, 2, 3, 4}), vec({-100}), vec({2})}, {}, {2}, {0, 1}},   // B076
      {"Slice", {vec({0, 1, 2, 3}), vec({-1}), vec({kMin}), vec({0}), vec({-1})}, {}, {4}, {3, 2, 1, 0}},
      {"Slice", {vec({0, 1, 2, 3}), vec({0}), vec({4}), vec({0}), vec({3})}, {}, {2}, {0, 3}},
      {"Slice", {vec({0, 1, 2, 3}), vec({3}), vec({0}), vec({0}), vec({kMin})}, {}, {1}, {3}},
      {"Slice",
       {shaped({2, 2}, {1, 2, 3, 4})},
       {ints("starts", {1}), ints("ends", {2}), ints("axes", {1})},
       {2, 1},
       {2, 4}},
      {"Reshape", {vec({1, 2, 3, 4}), vec({2, -1})}, {}, {2, 2}, {1, 2, 3, 4}},
      {"Unsqueeze", {scalar(4), vec({0})}, {}, {1}, {4}},
      {"Unsqueeze", {scalar(4)}, {ints("axes", {0})}, {1}, {4}},
      {"Squeeze", {shaped({1, 2, 1}, {1, 2}), vec({0})}, {}, {2, 1}, {1, 2}},
      {"Squeeze", {shaped({1, 2, 1}, {1, 2})}, {}, {2}, {1, 2}},
      {"Expand", {vec({7}), vec({2, 2})}, {}, {2, 2}, {7, 7, 7, 7}},
      {"Tile", {vec({1, 2}), vec({2})}, {}, {4}, {1, 2, 1, 2}},
      {"Transpose", {shaped({2, 3}, {1, 2, 3, 4, 5, 6})}, {}, {3, 2}, {1, 4, 2, 5, 3, 6}},
      {"Range", {scalar(5), scalar(0), scalar(-2)}, {}, {3}, {5, 3, 1}},
      {"Range", {scalar(0), scalar(0), scalar(1)}, {}, {0}, {}},
      {"ReduceProd", {vec({2, 3, 4})}, {integer("keepdims", 0)}, {}, {24}},
      {"ReduceSum", {shaped({2, 2}, {1, 2, 3, 4}), vec({1})}, {}, {2, 1}, {3, 7}},
      {"ReduceSum", {vec({1, 2})}, {integer("noop_with_empty_axes", 1)}, {2}, {1, 2}},
      {"Identity", {vec({1, 2})}, {}, {2}, {1, 2}},
  };
  for (const Row& row : rows) {
    NodeDef node;
    node.op = row.op;
    node.attributes = row.attributes;
    node.outputs = {"y"};
    std::vector<const Known*> operands;
    for (const Known& k : row.operands) operands.push_back(&k);
    const auto results = evaluate(node, operands);
    ASSERT_TRUE(results) << row.op;
    const Known& got = results->front();
    EXPECT_EQ(got.dtype, row.dtype) << row.op;
    EXPECT_EQ(got.shape, row.shape) << row.op;
    EXPECT_EQ(got.numbers(), row.values) << row.op;
  }
}

TEST(OnnxLattice, SymbolsPassThrough) {
  Known shape = vec({0, 8});
  shape.values[0] = symbol("n");
  const Known two = vec({2, 2}), index = vec({0});
  NodeDef node;
  node.op = "Mul";
  const Known* operands[] = {&shape, &two};
  const auto product = evaluate(node, operands);
  ASSERT_TRUE(product);
  EXPECT_EQ(product->front().values[1].int_value(), 16);
  EXPECT_FALSE(product->front().values[0].is_constant());
  node.op = "Gather";
  const Known* gather[] = {&shape, &index};
  EXPECT_EQ(evaluate(node, gather)->front().values[0], symbol("n"));
  node.op = "Equal";  // undecided
  EXPECT_FALSE(evaluate(node, operands));
}

TEST(OnnxLattice, LargeResultsLeaveIt) {
  NodeDef node;
  node.op = "Expand";
  const Known one = vec({1}), huge = vec({int64_t{1} << 30});
  const Known* operands[] = {&one, &huge};
  EXPECT_FALSE(evaluate(node, operands));
  node.op = "Range";
  const Known a = scalar(0), b = scalar(kMax), c = scalar(1);
  const Known* range[] = {&a, &b, &c};
  EXPECT_FALSE(evaluate(node, range));
}

TEST(OnnxLattice, WrongShapesAreErrors) {
  NodeDef node;
  const Known x = vec({1, 2, 3}), y = vec({1, 2}), out = vec({3});
  const auto refused = [&](const char* op, std::vector<const Known*> operands) {
    node.op = op;
    EXPECT_THROW(evaluate(node, operands), InputError) << op;
  };
  refused("Add", {&x, &y});
  refused("Gather", {&x, &out});
  refused("Reshape", {&x, &y});
}

TEST(OnnxShapes, Rules) {
  EXPECT_EQ(reshape_dims({2, 3, 4}, {0, -1}, false), (Dims{2, 12}));
  EXPECT_EQ(reshape_dims({0, 3}, {0, 3}, true), (Dims{0, 3}));
  EXPECT_EQ(reshape_dims({2, 0}, {3, 0}, true), (Dims{3, 0}));
  EXPECT_THROW(reshape_dims({2, 3}, {-1, -1}, false), InputError);
  EXPECT_THROW(reshape_dims({2, 3}, {4, -1}, false), InputError);
  EXPECT_THROW(reshape_dims({0, 3}, {0, -1}, false), InputError);
  EXPECT_THROW(reshape_dims({2, 3}, {kMax, kMax}, false), InputError);
  EXPECT_EQ(flatten_dims({2, 3, 4}, -1), (Dims{6, 4}));
  EXPECT_EQ(flatten_dims({2, 3, 4}, 3), (Dims{24, 1}));
  EXPECT_EQ(unsqueeze_dims({3}, {-1, 0}), (Dims{1, 3, 1}));
  EXPECT_THROW(unsqueeze_dims({3}, {0, 0}), InputError);
  EXPECT_THROW(squeeze_dims({2, 1}, std::vector<Dims>{{0}}.data()), InputError);
  EXPECT_EQ(broadcast_dims({3, 1}, {2, 1, 4}), (Dims{2, 3, 4}));
  EXPECT_EQ(broadcast_dims({0}, {1}), (Dims{0}));
  EXPECT_EQ(split_sizes(7, nullptr, 3), (Dims{3, 3, 1}));
  EXPECT_EQ(checked_axes(Dims{-1, 0}, 2), (Dims{1, 0}));
  for (const Dims& bad : {Dims{0, 0}, Dims{1, -1}, Dims{2}, Dims{-3}}) {  // B066
    EXPECT_THROW(checked_axes(bad, 2), InputError);
  }
  EXPECT_THROW(checked_axes(Dims{1}, 0), InputError);  // B066
}

}  // namespace
}  // namespace frit::onnx
