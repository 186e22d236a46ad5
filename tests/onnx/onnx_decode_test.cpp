#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "compiler/onnx/decode.h"
#include "onnx/model_builder.h"
#include "support/error.h"

namespace frit::onnx {
namespace {

using namespace test;

ModelDef decode(const std::string& text) {
  const OwnedBytes bytes = own(text);
  return decode_model(bytes.span, bytes.owner, "m.onnx");
}

ModelText small_model() {
  ModelText m;
  m.graph.inputs = {{"x", {"N", 3}, 1}};
  m.graph.initializers = {floats("w", {3}, {1, 2, 3}), int64s("axes", {1}, {1})};
  m.graph.nodes = {{"Mul", {"x", "w"}, {"t"}, {}, "mul_1", ""},
                   {"ReduceSum", {"t", "axes"}, {"y"}, {attr("keepdims", 0)}, "sum_1", ""}};
  m.graph.outputs = {"y"};
  m.metadata = {{"labels", "a,b"}};
  return m;
}

std::string message_of(const std::string& text) {
  try {
    decode(text);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

TEST(OnnxDecode, ReadsEveryPart) {
  const ModelDef m = decode(small_model().bytes());
  EXPECT_EQ(m.ir_version, 8);
  EXPECT_EQ(m.opsets.at(""), 13);
  EXPECT_EQ(m.metadata.at("labels"), "a,b");
  ASSERT_EQ(m.graph.nodes.size(), 2u);
  EXPECT_EQ(m.graph.nodes[1].index, 1);
  EXPECT_EQ(m.graph.nodes[1].op, "ReduceSum");
  EXPECT_EQ(m.graph.nodes[1].find("keepdims")->i, 0);
  ASSERT_EQ(m.graph.inputs.size(), 1u);
  ASSERT_EQ(m.graph.inputs[0].shape->size(), 2u);
  EXPECT_FALSE((*m.graph.inputs[0].shape)[0].value);
  EXPECT_EQ((*m.graph.inputs[0].shape)[0].name, "N");
  EXPECT_EQ((*m.graph.inputs[0].shape)[1].value, 3);
  const Array w = to_array(m.graph.initializers[0], m, "w");
  EXPECT_EQ(w.shape(), std::vector<int64_t>{3});
  EXPECT_EQ(w.float_at(2), 3);
  EXPECT_EQ(place(m, m.graph.nodes[0]), "m.onnx: node 0 \"mul_1\"");
}

TEST(OnnxDecode, DefaultDomainHasTwoNames) {
  ModelText m = small_model();
  m.more_opsets = {{"ai.onnx.ml", 2}};
  EXPECT_EQ(decode(m.bytes()).opsets.at("ai.onnx.ml"), 2);
  m.more_opsets = {{"ai.onnx", 9}};
  EXPECT_NE(message_of(m.bytes()).find("two opsets"), std::string::npos);
}

TEST(OnnxDecode, TypedAndRawDataOfEveryType) {
  ModelDef m;
  const auto row = [&](TensorText t, std::vector<double> want) {
    ModelText text = small_model();
    text.graph.initializers = {t};
    const ModelDef d = decode(text.bytes());
    const Array a = to_array(d.graph.initializers[0], d, "t");
    ASSERT_EQ(a.size(), static_cast<int64_t>(want.size()));
    for (int64_t i = 0; i < a.size(); ++i) {
      const double got = is_float(a.dtype()) ? a.float_at(i) : static_cast<double>(a.int_at(i));
      EXPECT_EQ(got, want[static_cast<size_t>(i)]) << name(a.dtype()) << " " << i;
    }
  };
  row({"t", 1, {2}, {}, {1.5f, -2}, {}, {}, {}}, {1.5, -2});
  row({"t", 7, {2}, {}, {}, {-1, int64_t{1} << 40}, {}, {}}, {-1, 1099511627776.0});
  row({"t", 6, {2}, {}, {}, {}, {-7, 7}, {}}, {-7, 7});
  row({"t", 2, {2}, {}, {}, {}, {0, 255}, {}}, {0, 255});
  row({"t", 3, {2}, {}, {}, {}, {-128, 127}, {}}, {-128, 127});
  row({"t", 9, {2}, {}, {}, {}, {0, 1}, {}}, {0, 1});
  row({"t", 9, {2}, std::string("\x00\x05", 2), {}, {}, {}, {}}, {0, 1});
  row({"t", 10, {2}, {}, {}, {}, {0x3c00, 0xc000}, {}}, {1, -2});        // f16 as bits
  row({"t", 16, {1}, std::string("\x80\x3f", 2), {}, {}, {}, {}}, {1});  // bf16
  row({"t", 1, {}, {}, {4}, {}, {}, {}}, {4});                           // rank 0
  row({"t", 1, {0, 3}, {}, {}, {}, {}, {}}, {});                         // empty
}

TEST(OnnxDecode, LargeAlignedDataIsBorrowed) {
  ModelText text = small_model();
  text.graph.initializers = {floats("w", {4096}, std::vector<float>(4096, 2))};
  for (size_t shift = 0; shift < 4; ++shift) {  // the field's place in the file decides the alignment
    text.graph.initializers[0].name = std::string(4 + shift, 'w');
    const std::string bytes = text.bytes();
    const OwnedBytes owned = own(bytes);
    const ModelDef m = decode_model(owned.span, owned.owner, "m.onnx");
    const Array a = to_array(m.graph.initializers[0], m, "w");
    const bool inside = a.data() >= owned.span.data() && a.data() < owned.span.data() + owned.span.size();
    const bool aligned = reinterpret_cast<uintptr_t>(m.graph.initializers[0].raw->data()) % 4 == 0;
    EXPECT_EQ(inside, aligned);
    EXPECT_EQ(a.float_at(4095), 2);
  }
}

struct BadTensor {
  const char* id;
  TensorText tensor;
  const char* words;  // of the message
};
class BadTensors : public testing::TestWithParam<BadTensor> {};

TEST_P(BadTensors, AreRefusedBeforeAnyCopy) {
  ModelText text = small_model();
  text.graph.initializers = {GetParam().tensor};
  const ModelDef m = decode(text.bytes());
  try {
    to_array(m.graph.initializers[0], m, "m.onnx: initializer \"t\"");
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(GetParam().words), std::string::npos) << e.what();
  }
}
INSTANTIATE_TEST_SUITE_P(
    Hostile, BadTensors,
    testing::Values(
        BadTensor{"B187_long", {"t", 7, {1}, std::string(4096, 'x'), {}, {}, {}, {}}, "4096 bytes"},
        BadTensor{"B187_short", {"t", 7, {4}, std::string(8, 'x'), {}, {}, {}, {}}, "32 bytes for i64[4]"},
        BadTensor{"B187_both", {"t", 7, {1}, std::string(8, 'x'), {}, {1}, {}, {}}, "given twice"},
        BadTensor{"B187_wrong_field", {"t", 7, {1}, {}, {1.f}, {}, {}, {}}, "0 of them in int64_data"},
        BadTensor{"B187_typed_short", {"t", 1, {4}, {}, {1.f}, {}, {}, {}}, "does not fit"},
        BadTensor{"B188_negative", {"t", 1, {-1}, {}, {}, {}, {}, {}}, "negative dim"},
        BadTensor{"B188_wrap", {"t", 1, {int64_t{1} << 40, int64_t{1} << 40}, {}, {}, {}, {}, {}}, "too large"},
        BadTensor{"B188_wrap_zero", {"t", 1, {int64_t{1} << 32, int64_t{1} << 32, 0}, {}, {}, {}, {}, {}}, "too large"},
        BadTensor{"B188_rank", {"t", 1, std::vector<int64_t>(70, 1), {}, {1.f}, {}, {}, {}}, "70 dims"},
        BadTensor{"strings", {"t", 8, {1}, {}, {}, {}, {}, {}}, "STRING"},
        BadTensor{"unknown_type", {"t", 77, {1}, {}, {}, {}, {}, {}}, "data type 77"},
        BadTensor{"external_in_memory", {"t", 1, {1}, {}, {}, {}, {}, {{"location", "w"}}}, "from memory"}),
    [](const auto& info) { return info.param.id; });

TEST(OnnxDecode, GarbageNamesTheOffset) {
  EXPECT_NE(message_of("").find("without a graph"), std::string::npos);
  EXPECT_NE(message_of("PK\x03\x04 not a model").find("ONNX"), std::string::npos);
  const std::string good = small_model().bytes();
  const std::string message = message_of(good.substr(0, good.size() / 2));
  EXPECT_NE(message.find("at byte"), std::string::npos) << message;
}

TEST(OnnxDecode, EveryPrefixIsAnErrorOrAModel) {
  const std::string good = small_model().bytes();
  for (size_t n = 0; n < good.size(); ++n) {
    try {
      decode(good.substr(0, n));
    } catch (const InputError&) {
    }
  }
}

TEST(OnnxDecode, FlippedBytesNeverCrash) {
  const std::string good = small_model().bytes();
  std::mt19937 random(1);
  for (int round = 0; round < 4000; ++round) {
    std::string bad = good;
    for (int k = 0; k < 1 + round % 4; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    try {
      const ModelDef m = decode(bad);
      for (const TensorDef& t : m.graph.initializers) to_array(t, m, "t");
    } catch (const Error& e) {
      EXPECT_NE(e.kind(), ErrorKind::Internal) << e.what();
    }
  }
}

TEST(OnnxDecode, DeepGraphsAreRefused) {
  std::string inner = GraphText{{}, {}, {}, {}}.bytes();
  for (int depth = 0; depth < 100; ++depth) {
    GraphText g;
    g.nodes = {{"If", {"c"}, {"y"}, {attr_graph("then_branch", inner)}, "", ""}};
    inner = g.bytes();
  }
  std::string model;
  pbf_writer(model).add_message(7, inner);
  EXPECT_NE(message_of(model).find("nested too deeply"), std::string::npos);
}

TEST(OnnxDecode, LongNamesAreRefusedAndControlCharactersEscaped) {
  ModelText m = small_model();
  m.graph.nodes[0].name = std::string(1 << 20, 'n');
  EXPECT_NE(message_of(m.bytes()).find("name too long"), std::string::npos);
  EXPECT_EQ(quote_name("a\nb\"c"), "\"a\\x0ab\\\"c\"");
}

class OnnxFiles : public testing::Test {
 protected:
  OnnxFiles() : dir_(std::filesystem::temp_directory_path() / ("frit_onnx_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(dir_ / "model" / "sub");
  }
  ~OnnxFiles() override { std::filesystem::remove_all(dir_); }
  void write(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(dir_ / path, std::ios::binary) << bytes;
  }
  // What is said about a tensor of two floats whose data is elsewhere; its sum where it is read.
  std::string read(std::vector<std::pair<std::string, std::string>> entries) {
    ModelText text = small_model();
    text.graph.initializers = {{"t", 1, {2}, {}, {}, {}, {}, std::move(entries)}};
    write("model/m.onnx", text.bytes());
    const ModelDef m = decode_file(dir_ / "model" / "m.onnx");
    try {
      const Array a = to_array(m.graph.initializers[0], m, "t");
      return "sum " + std::to_string(static_cast<int>(a.float_at(0) + a.float_at(1)));
    } catch (const InputError& e) {
      return e.what();
    }
  }
  std::filesystem::path dir_;
};

TEST_F(OnnxFiles, B185_B191_ExternalData) {
  const std::string data = raw_bytes<float>({1, 2, 30, 40});
  write("secret.bin", data);
  write("model/w.bin", data);
  write("model/sub/w.bin", data);
  write("model/linked.bin", data);
  const auto model = dir_ / "model";
  std::filesystem::create_symlink(dir_ / "secret.bin", model / "soft.bin");
  std::filesystem::create_symlink(dir_, model / "up");
  std::filesystem::create_hard_link(model / "linked.bin", model / "hard.bin");
  ASSERT_EQ(mkfifo((model / "fifo").c_str(), 0600), 0);

  EXPECT_EQ(read({{"location", "w.bin"}}), "sum 3");
  EXPECT_EQ(read({{"location", "w.bin"}, {"offset", "8"}, {"length", "8"}}), "sum 70");
  EXPECT_EQ(read({{"location", "sub/w.bin"}, {"offset", "4"}}), "sum 32");
  const std::string absolute = (dir_ / "secret.bin").string();
  for (const std::string& location :
       {std::string("../secret.bin"), std::string("sub/../../secret.bin"), absolute, std::string(), std::string("."),
        std::string("sub"), std::string("soft.bin"), std::string("up/secret.bin"), std::string("hard.bin"),
        std::string("fifo"), std::string("sub//w.bin"), std::string("missing.bin"), std::string("w.bin\0x", 7)}) {
    EXPECT_NE(read({{"location", location}}).find("refused"), std::string::npos) << location;
  }
  const std::vector<std::vector<std::pair<std::string, std::string>>> bad = {
      {{"location", "w.bin"}, {"length", "1152921504606846976"}},
      {{"location", "w.bin"}, {"offset", "9223372036854775807"}},
      {{"location", "w.bin"}, {"offset", "18446744073709551615"}, {"length", "8"}},
      {{"location", "w.bin"}, {"offset", "12"}, {"length", "8"}},
      {{"location", "w.bin"}, {"length", "4"}},
      {{"location", "w.bin"}, {"offset", "-8"}},
      {{"location", "w.bin"}, {"offset", "8x"}},
      {{"location", "w.bin"}, {"__class__", "x"}},
      {{"location", "w.bin"}, {"location", "w.bin"}},
      {{"offset", "0"}},
  };
  for (const auto& entries : bad) {
    const std::string said = read(entries);
    EXPECT_NE(said.find("refused"), std::string::npos) << entries.back().second << ": " << said;
  }
}

TEST_F(OnnxFiles, ThatAreNoModels) {
  const auto refused = [](const std::filesystem::path& path) {
    try {
      decode_file(path);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(refused(dir_ / "missing.onnx").find("cannot open"), std::string::npos);
  EXPECT_NE(refused(dir_).find("regular file"), std::string::npos);
  ASSERT_EQ(mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  EXPECT_NE(refused(dir_ / "fifo").find("regular file"), std::string::npos);
  write("empty.onnx", "");
  EXPECT_NE(refused(dir_ / "empty.onnx").find("empty"), std::string::npos);
  write("good.onnx", small_model().bytes());
  EXPECT_EQ(decode_file(dir_ / "good.onnx").graph.nodes.size(), 2u);
}

}  // namespace
}  // namespace frit::onnx
