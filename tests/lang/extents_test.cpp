#include <gtest/gtest.h>

#include "lang/snippet.h"

using namespace frit;
using namespace frit::testing;
using lang::Attributes;
using lang::StaticValue;

namespace {

using List = std::vector<int64_t>;

struct Row {
  std::string name;
  std::vector<OperandSpec> operands;
  Attributes attributes;
  std::string want;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    try {
      const Built built = build(layers(), row.name, row.operands, row.attributes);
      EXPECT_EQ(types_of(built), row.want) << row.name;
      for (const std::string& finding : verify(built.graph)) ADD_FAILURE() << row.name << ": " << finding;
    } catch (const Error& error) {
      ADD_FAILURE() << row.name << "\n" << error.what();
    }
  }
}

}  // namespace

// LANGUAGE.md section 14, and the shape of each definition of the library.
TEST(Extents, Worked) {
  check({
      {"conv", {f32({1, 3, 224, 224}), f32({64, 3, 7, 7})}, {{"s", 2}, {"p", 3}}, "f32[1, 64, 112, 112]"},
      {"conv_transpose", {f32({1, 1, 3}), f32({1, 1, 3})}, {{"s", 2}, {"d", 3}, {"p", 2}, {"q", 1}}, "f32[1, 1, 8]"},
      {"max_pool", {f32({1, 1, 4})}, {{"k", 2}, {"s", 3}, {"p", 1}, {"ceil_mode", true}}, "f32[1, 1, 2]; i64[1, 1, 2]"},
      {"avg_pool", {f32({1, 1, 4})}, {{"k", 2}, {"s", 3}, {"p", 1}, {"ceil_mode", true}}, "f32[1, 1, 2]"},
      {"adaptive_avg_pool", {f32({1, 1, 5})}, {{"o", 3}}, "f32[1, 1, 3]"},
  });
}

TEST(Extents, Library) {
  check({
      {"relu", {f32({2, 3})}, {}, "f32[2, 3]"},
      {"relu6", {of(DType::F16, {2, 3})}, {}, "f16[2, 3]"},
      {"fake_quant", {f32({2, 3}), f32({3})}, {}, "f32[2, 3]"},
      {"quantize", {f32({4}), f32({})}, {}, "u8[4]"},
      {"dequantize", {of(DType::U8, {4}), f32({}), of(DType::U8, {})}, {}, "f32[4]"},
      {"expand", {f32({3, 1})}, {{"shape", List{2, 1, 4}}}, "f32[2, 3, 4]"},
      {"log_softmax", {f32({2, 3, 4})}, {{"axis", 1}}, "f32[2, 3, 4]"},
      {"layer_norm", {f32({2, 3, 4}), f32({3, 4})}, {{"axis", List{1, 2}}}, "f32[2, 3, 4]; f32[2]; f32[2]"},
      {"layer_norm", {f32({2, 3, 4}), f32({4}), f32({4})}, {}, "f32[2, 3, 4]; f32[2, 3]; f32[2, 3]"},
      {"rms_norm", {f32({5, 4}), f32({4})}, {}, "f32[5, 4]"},
      {"batch_norm", {f32({2, 3, 4, 5}), f32({3}), f32({3}), f32({3}), f32({3})}, {}, "f32[2, 3, 4, 5]"},
      {"batch_norm_train",
       {f32({2, 3, 4}), f32({3}), f32({3}), f32({3}), f32({3})},
       {},
       "f32[2, 3, 4]; f32[3]; f32[3]"},
      {"moments", {f32({2, 7})}, {}, "f32[2]; f32[2]"},
      {"logsumexp", {f32({2, 7})}, {}, "f32[2]"},
      {"argmax_last", {f32({2, 7, 3})}, {{"axis", 1}}, "i64[2, 3]"},
      {"cumsum", {f32({2, 7})}, {}, "f32[2, 7]"},
      {"cumsum_reverse_exclusive", {f32({2, 7})}, {}, "f32[2, 7]"},
      {"linear_recurrence", {f32({2, 7}), f32({2, 7})}, {}, "f32[2, 7]"},
      {"head", {f32({2, 7, 3})}, {{"k", 2}, {"axis", 1}}, "f32[2, 2, 3]"},
      {"matmul", {f32({2, 1, 3, 4}), f32({5, 4, 6})}, {}, "f32[2, 5, 3, 6]"},
      {"trace", {f32({3, 3})}, {}, "f32[]"},
      {"attention", {f32({1, 4, 5, 8}), f32({1, 2, 6, 8}), f32({1, 2, 6, 8})}, {{"causal", true}}, "f32[1, 4, 5, 8]"},
      {"rope", {of(DType::F16, {2, 3, 8}), of(DType::I64, {3})}, {}, "f16[2, 3, 8]"},
      {"lstm_cell", {f32({2, 3}), f32({2, 4}), f32({2, 4}), f32({16, 3}), f32({16, 4})}, {}, "f32[2, 4]; f32[2, 4]"},
      {"selective_scan",
       {f32({1, 5, 3}), f32({1, 5, 3}), f32({3, 2}), f32({1, 5, 2}), f32({1, 5, 2})},
       {},
       "f32[1, 5, 3]"},
      {"dynamic_conv2d", {f32({2, 5, 5, 3}), f32({2, 4, 3, 3, 3})}, {{"p", List{1, 1}}}, "f32[2, 5, 5, 4]"},
      {"deform_conv", {f32({1, 4, 6, 6}), f32({2, 4, 3, 3}), f32({1, 18, 4, 4})}, {}, "f32[1, 2, 4, 4]"},
      {"lrn", {f32({1, 5, 2, 2})}, {{"k", 3}}, "f32[1, 5, 2, 2]"},
      {"unfold", {f32({1, 2, 4, 4})}, {{"k", List{2, 2}}}, "f32[1, 8, 9]"},
      {"fold_back", {f32({1, 8, 9})}, {{"o", List{4, 4}}, {"k", List{2, 2}}}, "f32[1, 2, 4, 4]"},
      {"transpose", {f32({2, 3, 4})}, {{"perm", List{2, 0, 1}}}, "f32[4, 2, 3]"},
      {"slice",
       {f32({5, 6, 7})},
       {{"axes", List{0, 2}}, {"start", List{1, 0}}, {"stop", List{5, 7}}, {"step", List{2, 3}}},
       "f32[2, 6, 3]"},
      {"pad", {f32({2, 3})}, {{"p", List{1, 0}}, {"q", List{0, 2}}}, "f32[3, 5]"},
      {"pad", {f32({4})}, {{"p", List{3}}, {"q", List{3}}, {"mode", "reflect"}}, "f32[10]"},
      {"pad", {f32({4})}, {{"p", List{9}}, {"q", List{3}}, {"mode", "edge"}}, "f32[16]"},
      {"depth_to_space", {f32({1, 8, 2, 3})}, {{"a", 2}}, "f32[1, 2, 4, 6]"},
      {"resize_nearest", {f32({1, 1, 3, 4})}, {{"o", List{6, 2}}}, "f32[1, 1, 6, 2]"},
      {"resize_linear", {of(DType::F16, {1, 1, 3, 4})}, {{"o", List{6, 2}}}, "f16[1, 1, 6, 2]"},
      {"trilu", {f32({2, 3, 4})}, {}, "f32[2, 3, 4]"},
      {"gather", {f32({3, 4, 5}), of(DType::I32, {2, 6})}, {{"axis", 1}}, "f32[3, 2, 6, 5]"},
      {"gather_nd", {f32({3, 4, 5}), of(DType::I64, {7, 2})}, {}, "f32[7, 5]"},
      {"embedding", {f32({10, 4}), of(DType::I32, {2, 3})}, {}, "f32[2, 3, 4]"},
      {"one_hot", {of(DType::I32, {2, 3})}, {{"depth", 5}}, "f32[2, 3, 5]"},
      {"grid_sample", {f32({1, 2, 4, 4}), f32({1, 3, 3, 2})}, {}, "f32[1, 2, 3, 3]"},
      {"cross_entropy", {f32({4, 10}), of(DType::I64, {4})}, {}, "f32[]"},
      {"sgd", {f32({4}), f32({4}), f32({4}), f32({})}, {}, "f32[4]; f32[4]"},
      {"adamw", {f32({4}), f32({4}), f32({4}), f32({4}), f32({}), f32({})}, {}, "f32[4]; f32[4]; f32[4]"},
  });
}

// A formula is one node and a reduction is one; nothing is copied, and results are rounded where they are made.
TEST(Extents, NodesOfDefinitions) {
  const struct {
    std::string name;
    std::vector<OperandSpec> operands;
    Attributes attributes;
    int computes, views;
  } rows[] = {
      {"relu", {of(DType::F16, {4})}, {}, 1, 0},
      {"softmax", {of(DType::F16, {8, 100})}, {}, 4, 0},
      {"conv", {f32({1, 3, 8, 8}), f32({4, 3, 3, 3})}, {}, 1, 0},
      {"conv", {f32({1, 3, 8, 8}), f32({4, 3, 3, 3})}, {{"p", 1}}, 2, 0},
      {"conv", {f32({1, 3, 8, 8}), f32({4, 3, 3, 3}), f32({4})}, {{"p", 1}}, 3, 0},
      {"conv", {f32({1, 4, 8, 8}), f32({4, 1, 3, 3})}, {{"g", 4}}, 1, 0},
      {"conv", {f32({1, 4, 8, 8}), f32({4, 2, 3, 3})}, {{"g", 2}}, 1, 1},
      {"max_pool", {f32({1, 3, 8, 8})}, {{"k", 2}}, 2, 0},
      {"avg_pool", {f32({1, 3, 8, 8})}, {{"k", 2}}, 1, 0},
      {"matmul", {of(DType::F16, {3, 4}), of(DType::F16, {4, 5})}, {}, 1, 0},
      {"transpose", {of(DType::F16, {3, 4})}, {{"perm", List{1, 0}}}, 1, 0},
      {"transpose", {f32({3, 4})}, {{"perm", List{0, 1}}}, 0, 0},
  };
  for (const auto& row : rows) {
    const Built built = build(layers(), row.name, row.operands, row.attributes);
    int computes = 0, views = 0;
    for (const Node& node : built.graph.nodes()) {
      computes += std::holds_alternative<Compute>(node.payload);
      views += std::holds_alternative<View>(node.payload);
    }
    EXPECT_EQ(computes, row.computes) << to_string(built.graph);
    EXPECT_EQ(views, row.views) << to_string(built.graph);
  }
}
