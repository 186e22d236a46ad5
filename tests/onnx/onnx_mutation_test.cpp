// Decoded models with wrong numbers in them: every one imports to a graph that verifies, or is refused with a message.
#include <random>

#include "compiler/onnx/importer.h"
#include "onnx/import_fixture.h"

namespace frit::onnx {
namespace {

using namespace test;

std::vector<float> ones(size_t n) { return std::vector<float>(n, 1); }
std::vector<int64_t> list(std::vector<int64_t> v) { return v; }

// One model for each kind of shape rule.
std::vector<ModelText> seeds() {
  const In image = fed({1, 2, 5, 5}, ones(50)), vector = fed({4}, ones(4)), matrix = fed({2, 3}, ones(6));
  std::vector<OneNode> nodes = {
      one_node("Conv", 11, {image, stored({4, 1, 3, 3}, ones(36)), stored({4}, ones(4))},
               {attr("group", 2), attr("strides", list({2, 1})), attr("pads", list({1, 0, 1, 2})),
                attr("dilations", list({1, 2})), attr("kernel_shape", list({3, 3}))}),
      one_node("MaxPool", 12, {image},
               {attr("kernel_shape", list({2, 3})), attr("strides", list({2, 2})), attr("pads", list({0, 1, 1, 1})),
                attr("ceil_mode", 1)}),
      one_node("AveragePool", 19, {image},
               {attr("kernel_shape", list({2, 2})), attr("dilations", list({1, 1})), attr("auto_pad", "SAME_UPPER"),
                attr("count_include_pad", 1)}),
      one_node("ConvTranspose", 11, {image, stored({2, 1, 2, 2}, ones(8))},
               {attr("strides", list({2, 2})), attr("output_padding", list({1, 0})), attr("pads", list({0, 0, 1, 1}))}),
      one_node("Gemm", 11, {matrix, stored({3, 2}, ones(6)), vector}, {attr("transB", 0), attr("alpha", 2.f)}),
      one_node("MatMul", 13, {matrix, stored({3, 2}, ones(6))}, {}),
      one_node("Softmax", 13, {matrix}, {attr("axis", 1)}),
      one_node("LRN", 1, {image}, {attr("size", 3)}),
      one_node("ReduceSum", 13, {image, stored_int({1, 3})}, {attr("keepdims", 0)}),
      one_node("ReduceMax", 11, {image}, {attr("axes", list({2})), attr("keepdims", 1)}),
      one_node("Slice", 13, {matrix, stored_int({0}), stored_int({2}), stored_int({1}), stored_int({2})}, {}),
      one_node("Pad", 18, {matrix, stored_int({0, 1, 1, 0}), stored({}, {1})}, {attr("mode", "constant")}),
      one_node("Pad", 13, {matrix, stored_int({0, 1, 1, 0})}, {attr("mode", "reflect")}),
      one_node("Transpose", 13, {image}, {attr("perm", list({0, 2, 3, 1}))}),
      one_node("Reshape", 13, {matrix, stored_int({3, -1})}, {}),
      one_node("Expand", 13, {matrix, stored_int({2, 1, 1})}, {}),
      one_node("Concat", 13, {matrix, matrix}, {attr("axis", 1)}),
      one_node("Split", 13, {matrix, stored_int({1, 2})}, {attr("axis", 1)}, 2),
      one_node("Gather", 13, {matrix, stored_int({0, -1})}, {attr("axis", 1)}),
      one_node("Resize", 13, {image, absent(), stored({4}, {1, 1, 2, 1.5f})}, {attr("mode", "linear")}),
      one_node("LSTM", 14, {fed({2, 1, 3}, ones(6)), stored({1, 8, 3}, ones(24)), stored({1, 8, 2}, ones(16))},
               {attr("hidden_size", 2)}, 3),
      one_node("Clip", 13, {vector, stored({}, {0}), stored({}, {1})}, {}),
      one_node("Cast", 13, {vector}, {attr("to", 7)}),
      one_node("BatchNormalization", 9,
               {image, stored({2}, ones(2)), stored({2}, ones(2)), stored({2}, ones(2)), stored({2}, ones(2))}, {}),
      one_node("LayerNormalization", 17, {matrix, stored({3}, ones(3))}, {attr("axis", -1)}),
      one_node("ConstantOfShape", 9, {stored_int({2, 3})}, {}),
  };
  std::vector<ModelText> models;
  for (OneNode& node : nodes) models.push_back(std::move(node.model));
  return models;
}

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  void mutate(ModelDef& m) {
    GraphDef& g = m.graph;
    NodeDef& node = g.nodes.front();
    switch (below(7)) {
      case 0:
      case 1:
        if (!node.attributes.empty()) change(node.attributes[below(node.attributes.size())]);
        break;
      case 2:
        if (!g.inputs.empty()) change(*g.inputs[below(g.inputs.size())].shape);
        break;
      case 3:
        if (!g.inputs.empty()) g.inputs[below(g.inputs.size())].element_type = static_cast<int32_t>(1 + below(16));
        break;
      case 4:
        if (node.inputs.empty()) break;
        if (below(3) == 0) {
          node.inputs.pop_back();
        } else {
          node.inputs[below(node.inputs.size())] = below(2) ? "" : node.inputs.front();
        }
        break;
      case 5:
        m.opsets[""] = static_cast<int64_t>(1 + below(27));
        break;
      case 6:
        if (!g.initializers.empty()) change(g.initializers[below(g.initializers.size())]);
        break;
    }
  }
  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }

 private:
  int64_t number() {
    constexpr int64_t kNumbers[] = {0, 1, -1, 2, 3, 4, 5, 7, -2, -3, 16, 1 << 20, INT64_MAX, INT64_MIN, INT64_MAX - 1};
    return kNumbers[below(below(3) ? 10 : std::size(kNumbers))];
  }
  void change(AttributeDef& a) {
    constexpr float kFloats[] = {0, -1, 1e-30f, -1e30f, std::numeric_limits<float>::infinity()};
    a.i = number();
    a.f = kFloats[below(std::size(kFloats))];
    if (a.ints.empty()) return;
    if (below(4) == 0) {
      a.ints.pop_back();
    } else if (below(4) == 0) {
      a.ints.push_back(number());
    } else {
      a.ints[below(a.ints.size())] = number();
    }
  }
  void change(std::vector<ValueDef::Dim>& shape) {
    if (below(4) == 0) {
      shape.push_back({1, ""});
    } else if (!shape.empty() && below(4) == 0) {
      shape.pop_back();
    } else if (!shape.empty()) {
      shape[below(shape.size())].value = static_cast<int64_t>(below(7));
    }
  }
  // A small list of integers gets other values or another length.
  void change(TensorDef& t) {
    if (t.data_type != 7) return;
    const size_t n = below(4);
    t.raw.reset();
    t.dims = {static_cast<int64_t>(n)};
    t.int64s.clear();
    for (size_t i = 0; i < n; ++i) t.int64s.push_back(number());
  }

  std::mt19937 random_;
};

TEST(OnnxMutation, ImportsAndVerifiesOrIsRefused) {
  size_t imported = 0, refused = 0;
  uint32_t seed = 0;
  for (const ModelText& text : seeds()) {
    const OwnedBytes bytes = own(text.bytes());
    for (int round = 0; round < 100; ++round) {
      Mutator mutator(++seed);
      ModelDef model = decode_model(bytes.span, bytes.owner, "m.onnx");
      for (size_t k = mutator.below(4); k > 0; --k) mutator.mutate(model);
      const ImportOptions options{.free_batch_is_one = true};
      try {
        const auto findings = verify(Importer(model, standard_library(), options).run().graph);
        EXPECT_TRUE(findings.empty()) << "seed " << seed << ": " << findings.front();
        ++imported;
      } catch (const Error& e) {
        EXPECT_NE(e.kind(), ErrorKind::Internal) << "seed " << seed << ": " << e.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(imported, 500u);
  EXPECT_GT(refused, 500u);
}

}  // namespace
}  // namespace frit::onnx
