#include <random>

#include "onnx/import_fixture.h"

// What the importer does around operators: inputs, scopes, constants, errors.
namespace frit::onnx {
namespace {

using namespace test;

ModelText chain() {  // y = relu(x * w)
  ModelText m;
  m.graph.inputs = {{"x", {"N", 2}, 1}};
  m.graph.initializers = {floats("w", {2}, {2, -3})};
  m.graph.nodes = {{"Mul", {"x", "w"}, {"t"}, {}, "mul_1", ""}, {"Relu", {"t"}, {"y"}, {}, "relu_1", ""}};
  m.graph.outputs = {"y"};
  return m;
}

Array row(const std::vector<float>& values, std::vector<int64_t> shape = {}) {
  return array_of(
      floats("", shape.empty() ? std::vector<int64_t>{static_cast<int64_t>(values.size())} : shape, values));
}

TEST(OnnxImport, FreeDimsAreBoundOrNamed) {
  EXPECT_NE(import_error(chain()).find("x[N, 2]"), std::string::npos) << import_error(chain());
  const Imported batch = import_text(chain(), {.free_batch_is_one = true});
  EXPECT_EQ(to_string(batch.inputs[0].type), "f32[1, 2]");
  EXPECT_EQ(batch.inputs[0].dims, (std::vector<std::string>{"N", "2"}));
  const Imported three = import_text(chain(), {.shapes = {{"x", {3, 2}}}});
  EXPECT_EQ(to_string(three.outputs[0].type), "f32[3, 2]");
  EXPECT_NE(import_error(chain(), {.shapes = {{"x", {3, 5}}}}).find("contradicts"), std::string::npos);
  EXPECT_NE(import_error(chain(), {.shapes = {{"x", {3}}}}).find("rank"), std::string::npos);
  EXPECT_NE(import_error(chain(), {.shapes = {{"q", {3}}}}).find("no such input"), std::string::npos);
  // A dim of value -1 and one without a value are free as well.
  ModelText m = chain();
  m.graph.inputs = {{"x", {-1, 2}, 1}};
  EXPECT_NE(import_error(m).find("x[?, 2]"), std::string::npos);
  m.graph.inputs = {{"x", {"", 2}, 1}};
  EXPECT_EQ(to_string(import_text(m, {.shapes = {{"x", {4, 2}}}}).outputs[0].type), "f32[4, 2]");
}

TEST(OnnxImport, B184_EachShapeIsItsOwn) {
  ModelText m;
  m.graph.inputs = {{"x", {"N", "L"}, 1}};
  m.graph.nodes = {{"ReduceSum", {"x"}, {"y"}, {attr("axes", std::vector<int64_t>{1}), attr("keepdims", 0)}, "", ""}};
  m.graph.outputs = {"y"};
  m.opset = 11;
  for (const auto& [n, l] : {std::pair{1, 3}, {3, 5}, {1, 3}, {0, 4}, {2, 0}}) {
    const Imported i = import_text(m, {.shapes = {{"x", {n, l}}}});
    const auto y = interpret(i.graph, {{"x", row(std::vector<float>(static_cast<size_t>(n * l), 1), {n, l})}}).front();
    expect_near(y, {n}, std::vector<double>(static_cast<size_t>(n), l), "B184");
  }
}

TEST(OnnxImport, B184_SameConvOfEachLength) {
  ModelText m;
  m.graph.inputs = {{"x", {"N", 1, "L"}, 1}};
  m.graph.initializers = {floats("w", {1, 1, 3}, {1, 10, 100})};
  m.graph.nodes = {{"Conv", {"x", "w"}, {"y"}, {attr("auto_pad", "SAME_UPPER")}, "", ""}};
  m.graph.outputs = {"y"};
  for (const int64_t l : {1, 3, 5, 0}) {
    const Imported i = import_text(m, {.shapes = {{"x", {1, 1, l}}}});
    std::vector<double> want;
    for (int64_t k = 0; k < l; ++k) want.push_back((k > 0 ? 1 : 0) + 10 + (k + 1 < l ? 100 : 0));
    expect_near(interpret(i.graph, {{"x", row(std::vector<float>(static_cast<size_t>(l), 1), {1, 1, l})}}).front(),
                {1, 1, l}, want, "length " + std::to_string(l));
  }
}

TEST(OnnxImport, B182_InitializersThatAreInputs) {
  ModelText m;
  m.graph.inputs = {{"x", {1}, 1}, {"w", {1}, 1}};
  m.graph.initializers = {floats("w", {1}, {2})};
  m.graph.nodes = {{"Mul", {"x", "w"}, {"y"}, {}, "", ""}};
  m.graph.outputs = {"y"};
  const Imported plain = import_text(m);
  ASSERT_EQ(plain.inputs.size(), 2u);
  EXPECT_TRUE(plain.inputs[1].has_default);
  EXPECT_EQ(interpret(plain.graph, {{"x", row({3})}}).front().values[0], 6);
  const Imported fed = import_text(m, {.fed_initializers = {"w"}});
  EXPECT_EQ(interpret(fed.graph, {{"x", row({3})}, {"w", row({5})}}).front().values[0], 15);
  m.ir_version = 3;
  EXPECT_EQ(interpret(import_text(m).graph, {{"x", row({3})}}).front().values[0], 6);
  EXPECT_NE(import_error(m, {.fed_initializers = {"w"}}).find("IR version 3"), std::string::npos);
  EXPECT_NE(import_error(m, {.fed_initializers = {"nosuch"}}).find("no such initializer"), std::string::npos);
}

TEST(OnnxImport, ValuesKnownNow) {
  ModelText m;  // y = x reshaped to s
  m.graph.inputs = {{"x", {4}, 1}, {"s", {2}, 7}};
  m.graph.nodes = {{"Reshape", {"x", "s"}, {"y"}, {}, "", ""}};
  m.graph.outputs = {"y"};
  EXPECT_NE(import_error(m).find("depends on data"), std::string::npos);
  const Array shape = array_of(int64s("", {2}, {2, 2}));
  const Imported i = import_text(m, {.values = {{"s", shape}}});
  ASSERT_EQ(i.inputs.size(), 1u);
  EXPECT_EQ(to_string(i.outputs[0].type), "f32[2, 2]");
  EXPECT_NE(import_error(m, {.values = {{"s", row({2, 2})}}}).find("wrong dtype"), std::string::npos);
  EXPECT_NE(import_error(m, {.values = {{"s", array_of(int64s("", {1}, {4}))}}}).find("contradicts"),
            std::string::npos);
}

TEST(OnnxImport, B181_BranchesSeeOuterValues) {
  GraphText then_branch, else_branch;
  then_branch.nodes = {{"Neg", {"k"}, {"r"}, {}, "", ""}};
  then_branch.outputs = {"r"};
  else_branch.nodes = {{"Identity", {"k"}, {"r"}, {}, "", ""}};
  else_branch.outputs = {"r"};
  ModelText m;
  m.graph.inputs = {{"x", {1}, 1}};
  m.graph.initializers = {bools("c", {}, {0}), floats("k", {2}, {1, 2})};
  m.graph.nodes = {{"If",
                    {"c"},
                    {"b"},
                    {attr_graph("then_branch", then_branch.bytes()), attr_graph("else_branch", else_branch.bytes())},
                    "if_1",
                    ""},
                   {"Add", {"x", "b"}, {"y"}, {}, "", ""}};
  m.graph.outputs = {"y"};
  expect_near(interpret(import_text(m).graph, {{"x", row({0})}}).front(), {2}, {1, 2}, "else");
  m.graph.initializers[0] = bools("c", {}, {1});
  expect_near(interpret(import_text(m).graph, {{"x", row({0})}}).front(), {2}, {-1, -2}, "then");
  // An inner name hides the outer one and leaves it alone.
  else_branch.nodes = {{"Add", {"k", "k"}, {"x"}, {}, "", ""}};
  else_branch.outputs = {"x"};
  m.graph.initializers[0] = bools("c", {}, {0});
  m.graph.nodes[0].attributes[1] = attr_graph("else_branch", else_branch.bytes());
  expect_near(interpret(import_text(m).graph, {{"x", row({100})}}).front(), {2}, {102, 104}, "hidden");
  // A condition that depends on data is refused with the reason.
  m.graph.initializers.erase(m.graph.initializers.begin());
  m.graph.inputs.push_back({"c", {}, 9});
  EXPECT_NE(import_error(m).find("condition depends on data"), std::string::npos);
}

ModelText counting_loop(const TensorText& trips) {  // b = 1; for each trip: b = b + 2, out gets b
  GraphText body;
  body.inputs = {{"i", {}, 7}, {"go", {}, 9}, {"b", {1}, 1}};
  body.initializers = {floats("two", {1}, {2})};
  body.nodes = {{"Identity", {"go"}, {"go_on"}, {}, "", ""},
                {"Add", {"b", "two"}, {"b_out"}, {}, "", ""},
                {"Identity", {"b_out"}, {"each"}, {}, "", ""}};
  body.outputs = {"go_on", "b_out", "each"};
  ModelText m;
  m.graph.inputs = {{"b", {1}, 1}};
  m.graph.initializers = {trips, bools("yes", {}, {1})};
  m.graph.nodes = {{"Loop", {"n", "yes", "b"}, {"last", "all"}, {attr_graph("body", body.bytes())}, "loop_1", ""},
                   {"Identity", {"b"}, {"still"}, {}, "", ""}};
  m.graph.outputs = {"last", "all", "still"};
  return m;
}

TEST(OnnxImport, B181_LoopsAreUnrolled) {
  const Imported i = import_text(counting_loop(int64s("n", {}, {3})));
  const auto results = interpret(i.graph, {{"b", row({1})}});
  expect_near(results[0], {1}, {7}, "last");
  expect_near(results[1], {3, 1}, {3, 5, 7}, "all");
  expect_near(results[2], {1}, {1}, "outer b");
  EXPECT_NE(import_error(counting_loop(int64s("n", {}, {1000}))).find("1000 trips"), std::string::npos);
  ModelText open = counting_loop(int64s("unused", {}, {3}));
  open.graph.inputs.push_back({"n", {}, 7});
  EXPECT_NE(import_error(open).find("depends on data"), std::string::npos);
}

TEST(OnnxImport, ShapeArithmeticVanishes) {
  // y = x expanded to [size of x, 2]: Shape, Slice, Concat and Expand over a batch
  ModelText m;
  m.graph.inputs = {{"x", {"N", 1}, 1}};
  m.graph.initializers = {int64s("zero", {1}, {0}), int64s("one", {1}, {1}), int64s("two", {1}, {2})};
  m.graph.nodes = {{"Shape", {"x"}, {"s"}, {}, "", ""},
                   {"Slice", {"s", "zero", "one", "zero"}, {"n"}, {}, "", ""},
                   {"Concat", {"n", "two"}, {"to"}, {attr("axis", 0)}, "", ""},
                   {"Expand", {"x", "to"}, {"y"}, {}, "", ""}};
  m.graph.outputs = {"y"};
  const Imported i = import_text(m, {.shapes = {{"x", {3, 1}}}});
  EXPECT_EQ(to_string(i.outputs[0].type), "f32[3, 2]");
  for (const Node& node : i.graph.nodes()) EXPECT_FALSE(std::holds_alternative<Constant>(node.payload)) << node.label;
}

TEST(OnnxImport, SizesWorkedOutInFloats) {
  // y = x[: int(floor(size of x * 0.7))]; in float32 the product is 7, in float64 it is less
  ModelText m;
  m.graph.inputs = {{"x", {10}, 1}};
  m.graph.initializers = {floats("scale", {1}, {0.7f}), int64s("zero", {1}, {0})};
  m.graph.nodes = {{"Shape", {"x"}, {"s"}, {}, "", ""},
                   {"Cast", {"s"}, {"f"}, {attr("to", 1)}, "", ""},
                   {"Mul", {"f", "scale"}, {"g"}, {}, "", ""},
                   {"Floor", {"g"}, {"h"}, {}, "", ""},
                   {"Cast", {"h"}, {"end"}, {attr("to", 7)}, "", ""},
                   {"Slice", {"x", "zero", "end"}, {"y"}, {}, "", ""}};
  m.graph.outputs = {"y"};
  EXPECT_EQ(to_string(import_text(m).outputs[0].type), "f32[7]");
  // The same decides a branch.
  GraphText then_branch, else_branch;
  then_branch.nodes = {{"Neg", {"x"}, {"r"}, {}, "", ""}};
  then_branch.outputs = {"r"};
  else_branch.nodes = {{"Relu", {"x"}, {"r"}, {}, "", ""}};
  else_branch.outputs = {"r"};
  m.graph.nodes[4] = {"Less", {"h", "scale"}, {"c"}, {}, "", ""};
  m.graph.nodes[5] = {
      "If",  {"c"},
      {"y"}, {attr_graph("then_branch", then_branch.bytes()), attr_graph("else_branch", else_branch.bytes())},
      "",    ""};
  expect_near(interpret(import_text(m).graph, {{"x", row(std::vector<float>(10, 2))}}).front(), {10},
              std::vector<double>(10, 2), "else");
}

TEST(OnnxImport, DeadNodesAreNotImported) {
  ModelText m = chain();
  m.graph.nodes.insert(m.graph.nodes.begin(), {"NoSuchOperator", {"x"}, {"unused"}, {}, "", ""});
  m.graph.nodes.push_back({"Neg", {"y"}, {"unused2"}, {}, "", ""});
  const Imported i = import_text(m, {.free_batch_is_one = true});
  size_t computes = 0;
  for (const Node& node : i.graph.nodes()) computes += std::holds_alternative<Compute>(node.payload);
  EXPECT_LE(computes, 2u);
  EXPECT_TRUE(verify(i.graph).empty());
}

TEST(OnnxImport, MoreOutputs) {
  const Imported i = import_text(chain(), {.free_batch_is_one = true, .more_outputs = {"t"}});
  ASSERT_EQ(i.outputs.size(), 2u);
  const auto results = interpret(i.graph, {{"x", row({1, 1}, {1, 2})}});
  expect_near(results[0], {1, 2}, {2, 0}, "y");
  expect_near(results[1], {1, 2}, {2, -3}, "t");
}

TEST(OnnxImport, LargeConstantOfShapeIsAWeight) {
  ModelText m;
  m.graph.inputs = {{"x", {1, 2048}, 1}};
  m.graph.initializers = {int64s("shape", {2}, {2048, 2})};
  m.graph.nodes = {{"ConstantOfShape", {"shape"}, {"w"}, {attr("value", floats("", {1}, {0.5f}))}, "", ""},
                   {"MatMul", {"x", "w"}, {"y"}, {}, "", ""}};
  m.graph.outputs = {"y"};
  const auto weight_of = [](const Imported& i) {
    for (const Node& node : i.graph.nodes()) {
      if (const auto* c = std::get_if<Constant>(&node.payload)) return c->array;
    }
    return Array();
  };
  const Array same = weight_of(import_text(m));
  ASSERT_EQ(same.size(), 4096);
  EXPECT_EQ(same.float_at(4095), 0.5);
  // docs/references.md: (2u - 1) * sqrt(6 / fan)
  const Array a = weight_of(import_text(m, {.random_weights = 0}));
  const Array b = weight_of(import_text(m, {.random_weights = 1}));
  ASSERT_EQ(a.size(), 4096);
  EXPECT_NE(a.float_at(0), a.float_at(1));
  EXPECT_NE(a.float_at(0), b.float_at(0));
  EXPECT_LE(std::abs(a.float_at(0)), std::sqrt(3.0));
}

// --- errors

TEST(OnnxImport, AllUnsupportedOperatorsAtOnce) {
  ModelText m = chain();
  m.graph.nodes.push_back({"NonMaxSuppression", {"y"}, {"a"}, {}, "nms_1", ""});
  m.graph.nodes.push_back({"Frobnicate", {"a"}, {"b"}, {}, "frob_1", "com.example"});
  m.graph.outputs = {"b"};
  m.more_opsets = {{"com.example", 1}};
  try {
    import_text(m, {.free_batch_is_one = true});
    FAIL();
  } catch (const UnsupportedError& e) {
    EXPECT_EQ(e.findings().size(), 2u);
    const std::string text = e.what();
    EXPECT_NE(text.find("node 2 \"nms_1\""), std::string::npos) << text;
    EXPECT_NE(text.find("com.example.Frobnicate"), std::string::npos) << text;
  }
}

TEST(OnnxImport, UnsupportedFormsAtOnce) {
  ModelText m = chain();
  m.graph.nodes = {
      {"Pad", {"x"}, {"a"}, {attr("mode", "reflect"), attr("pads", std::vector<int64_t>{0, -1, 0, 1})}, "p", ""},
      {"Relu", {"a"}, {"b"}, {}, "", ""},
      {"Cast", {"x"}, {"c"}, {attr("to", 8)}, "c", ""},
      {"Add", {"b", "c"}, {"y"}, {}, "", ""}};
  m.opset = 9;
  try {
    import_text(m, {.free_batch_is_one = true});
    FAIL();
  } catch (const UnsupportedError& e) {
    EXPECT_EQ(e.findings().size(), 2u) << e.what();
    EXPECT_NE(std::string(e.what()).find("negative pads"), std::string::npos) << e.what();
  }
}

struct BadModel {
  std::string id;
  ModelText model;
  std::vector<std::string> words;
};

ModelText node_model(const std::string& op, int64_t opset, const std::vector<In>& operands,
                     std::vector<AttributeText> attributes) {
  return one_node(op, opset, operands, std::move(attributes)).model;
}

TEST(OnnxImport, ErrorsNameTheNodeAndTheOperand) {
  const auto values = [](size_t n) { return std::vector<float>(n, 1); };
  ModelText missing = chain(), twice = chain(), cycle = chain(), no_opset = chain(), no_output = chain();
  missing.graph.nodes[0].inputs[1] = "nothing";
  twice.graph.nodes[1].outputs = {"t"};
  twice.graph.outputs = {"t"};
  cycle.graph.nodes[0].inputs[1] = "y";
  no_opset.graph.nodes[0].domain = "com.other";
  no_output.graph.outputs = {"nowhere"};
  const std::vector<BadModel> rows = {
      {"B175", node_model("Clip", 11, {fed({1}, {1})}, {attr("min", 0.f)}), {"Clip_1", "min", "opset 11"}},
      {"B176",
       node_model("Pad", 13, {fed({2, 2}, values(4)), stored_int({2, 0, 0, 0})}, {attr("mode", "reflect")}),
       {"Pad_1", "reflect"}},
      {"B178",
       node_model("Pad", 13, {fed({4}, values(4)), stored_int({-3, 3})}, {attr("mode", "reflect")}),
       {"Pad_1", "negative pads"}},
      {"B190_conv_0d",
       node_model("Conv", 11, {fed({1, 1, 4}, values(4)), stored({}, {1})}, {}),
       {"Conv_1", "\"b\" f32[]"}},
      {"B190_gemm_0d", node_model("Gemm", 11, {fed({1, 1}, {1}), stored({}, {1})}, {}), {"Gemm_1", "\"b\" f32[]"}},
      {"B190_conv_rank",
       node_model("Conv", 11, {fed({7, 6, 1, 5}, values(210)), stored({1, 6, 1, 1, 1}, values(6))}, {}),
       {"Conv_1", "f32[1, 6, 1, 1, 1]"}},
      {"B190_gemm_attributes",
       node_model("Gemm", 11, {fed({2, 3}, values(6)), stored({2, 3}, values(6)), stored({5}, values(5))},
                  {attr("transB", 823), attr("beta", -693.752f)}),
       {"Gemm_1"}},
      {"B031",
       node_model("MaxPool", 12, {fed({1, 1, 2, 2}, values(4))},
                  {attr("kernel_shape", std::vector<int64_t>{2, 2}), attr("pads", std::vector<int64_t>{2, 2, 2, 2})}),
       {"MaxPool_1", "padding"}},
      {"B066_twice",
       node_model("ReduceSum", 11, {fed({2, 2}, values(4))}, {attr("axes", std::vector<int64_t>{1, -1})}),
       {"ReduceSum_1"}},
      {"B066_range",
       node_model("ReduceSum", 11, {fed({2, 2}, values(4))}, {attr("axes", std::vector<int64_t>{2})}),
       {"ReduceSum_1"}},
      {"too_many", node_model("Relu", 13, {fed({1}, {1}), fed({1}, {1})}, {}), {"Relu_1", "fewer operands"}},
      {"too_few", node_model("Add", 13, {fed({1}, {1})}, {}), {"Add_1"}},
      {"broadcast",
       node_model("Add", 13, {fed({2}, values(2)), fed({3}, values(3))}, {}),
       {"Add_1", "f32[2]", "f32[3]"}},
      {"matmul", node_model("MatMul", 13, {fed({2, 3}, values(6)), fed({2, 3}, values(6))}, {}), {"MatMul_1"}},
      {"slice_step",
       node_model("Slice", 13,
                  {fed({2}, values(2)), stored_int({0}), stored_int({1}), stored_int({0}), stored_int({0})}, {}),
       {"Slice_1", "step 0"}},
      {"data_shape",
       node_model("Reshape", 13, {fed({2}, values(2)), fed_int({1}, {2})}, {}),
       {"Reshape_1", "depends on data"}},
      {"unknown_attribute",
       node_model("Transpose", 13, {fed({2}, values(2))}, {attr("axis", 1)}),
       {"Transpose_1", "axis"}},
      {"huge",
       node_model("ConstantOfShape", 9, {stored_int({1 << 30, 1 << 30})}, {}),
       {"ConstantOfShape_1", "too large"}},
      {"missing", missing, {"mul_1", "\"nothing\""}},
      {"twice", twice, {"relu_1", "made twice"}},
      {"cycle", cycle, {"mul_1", "\"y\""}},
      {"no_opset", no_opset, {"mul_1", "com.other"}},
      {"no_output", no_output, {"\"nowhere\""}},
  };
  for (const BadModel& row : rows) {
    const std::string message = import_error(row.model, {.free_batch_is_one = true});
    for (const std::string& word : row.words) {
      EXPECT_NE(message.find(word), std::string::npos) << row.id << " lacks " << word << ":\n" << message;
    }
  }
}

TEST(OnnxImport, FlippedBytesNeverCrash) {
  ModelText m = chain();
  m.graph.nodes.push_back({"Transpose", {"y"}, {"z"}, {attr("perm", std::vector<int64_t>{1, 0})}, "", ""});
  m.graph.outputs = {"z"};
  const std::string good = m.bytes();
  std::mt19937 random(7);
  for (int round = 0; round < 1500; ++round) {
    std::string bad = good;
    for (int k = 0; k < 1 + round % 3; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    const OwnedBytes bytes = own(bad);
    try {
      const Imported i =
          import_onnx(bytes.span, bytes.owner, "m.onnx", standard_library(), {.free_batch_is_one = true});
      EXPECT_TRUE(verify(i.graph).empty());
    } catch (const Error& e) {
      EXPECT_NE(e.kind(), ErrorKind::Internal) << e.what();
    }
  }
}

// --- LSTM

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One direction, batch 1, hidden size 1: gates i, o, f, c.
struct Cell {
  double w[4], r[4], b[8];
  void step(double x, double& h, double& c) const {
    double z[4];
    for (int g = 0; g < 4; ++g) z[g] = w[g] * x + r[g] * h + b[g] + b[g + 4];
    c = sigmoid(z[2]) * c + sigmoid(z[0]) * std::tanh(z[3]);
    h = sigmoid(z[1]) * std::tanh(c);
  }
};

TEST(OnnxImport, LstmInEachDirection) {
  const Cell cells[2] = {{{.1, .2, .3, .4}, {.5, -.6, .7, .8}, {.1, 0, -.1, .2, 0, .1, .2, 0}},
                         {{-.4, .3, .2, .1}, {.1, .2, -.3, .4}, {0, .1, .2, .3, .1, 0, 0, .1}}};
  const std::vector<float> x = {1, -2, 3};
  for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
    const int directions = direction == "bidirectional" ? 2 : 1;
    std::vector<float> w, r, b, h0, c0;
    std::vector<double> y(static_cast<size_t>(3 * directions)), last_h, last_c;
    for (int d = 0; d < directions; ++d) {
      w.insert(w.end(), cells[d].w, cells[d].w + 4);
      r.insert(r.end(), cells[d].r, cells[d].r + 4);
      b.insert(b.end(), cells[d].b, cells[d].b + 8);
      double h = 0.25 + d, c = -0.5;
      h0.push_back(static_cast<float>(h));
      c0.push_back(static_cast<float>(c));
      const bool back = direction == "reverse" || d == 1;
      for (int k = 0; k < 3; ++k) {
        const int t = back ? 2 - k : k;
        cells[d].step(x[static_cast<size_t>(t)], h, c);
        y[static_cast<size_t>(t * directions + d)] = h;
      }
      last_h.push_back(h);
      last_c.push_back(c);
    }
    const int64_t n = directions;
    OneNode m = one_node("LSTM", 14,
                         {fed({3, 1, 1}, x), stored({n, 4, 1}, w), stored({n, 4, 1}, r), stored({n, 8}, b), absent(),
                          stored({n, 1, 1}, h0), stored({n, 1, 1}, c0)},
                         {attr("hidden_size", 1), attr("direction", direction.c_str())}, 3);
    const auto results = interpret(import_text(m.model).graph, m.feeds);
    expect_near(results[0], {3, n, 1, 1}, y, direction);
    expect_near(results[1], {n, 1, 1}, last_h, direction);
    expect_near(results[2], {n, 1, 1}, last_c, direction);
  }
}

TEST(OnnxImport, LstmWithoutBiasAndStates) {
  OneNode m =
      one_node("LSTM", 7, {fed({1, 1, 1}, {2}), stored({1, 4, 1}, {1, 1, 1, 1}), stored({1, 4, 1}, {9, 9, 9, 9})},
               {attr("hidden_size", 1)}, 1);
  const Cell cell{{1, 1, 1, 1}, {9, 9, 9, 9}, {}};
  double h = 0, c = 0;
  cell.step(2, h, c);
  expect_near(interpret(import_text(m.model).graph, m.feeds).front(), {1, 1, 1, 1}, {h}, "plain");
}

TEST(OnnxImport, LstmFormsThatAreRefused) {
  const auto refused = [](std::vector<AttributeText> attributes, std::vector<In> more = {}) {
    std::vector<In> operands = {fed({1, 1, 1}, {2}), stored({1, 4, 1}, {1, 1, 1, 1}), stored({1, 4, 1}, {1, 1, 1, 1})};
    operands.insert(operands.end(), more.begin(), more.end());
    return import_error(one_node("LSTM", 14, operands, std::move(attributes)).model);
  };
  EXPECT_NE(refused({attr("clip", 1.f)}).find("clip"), std::string::npos);
  EXPECT_NE(refused({attr("layout", 1)}).find("layout"), std::string::npos);
  EXPECT_NE(refused({}, {absent(), absent(), absent(), absent(), stored({1, 3}, {1, 1, 1})}).find("peepholes"),
            std::string::npos);
  EXPECT_NE(refused({attr("direction", "sideways")}).find("sideways"), std::string::npos);
}

}  // namespace
}  // namespace frit::onnx
