// Sets of definitions: lookup, versions, imports, descriptions, and how long a definition takes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <functional>

#include "lang/snippet_run.h"

using namespace frit;
using namespace frit::testing;
using enum DType;
using L = std::vector<int64_t>;

namespace {

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("frit-import-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_ / "deep");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST(SnippetLibrary, FindsTheNewestVersionNotAboveTheOpset) {
  const Library library(nullptr,
                        "def onnx.Clip.6(x; min_ = -inf, max_ = inf) = clamp(x, min_, max_)\n"
                        "def onnx.Clip.11(x, lo[] = -inf, hi[] = inf) = clamp(x, lo, hi)\n"
                        "def com.microsoft.Gelu.1(x) = x\n",
                        "onnx.frit");
  EXPECT_EQ(library.find_onnx("", "Clip", 5), nullptr);
  EXPECT_EQ(library.find_onnx("", "Clip", 10)->name, "onnx.Clip.6");
  EXPECT_EQ(library.find_onnx("ai.onnx", "Clip", 11)->name, "onnx.Clip.11");
  EXPECT_EQ(library.find_onnx("", "Clip", 99)->name, "onnx.Clip.11");
  EXPECT_EQ(library.find_onnx("com.microsoft", "Gelu", 1)->name, "com.microsoft.Gelu.1");
  EXPECT_EQ(library.versions_of("", "Clip").size(), 2U);
  EXPECT_EQ(lang::signature_text(library.get("onnx.Clip.11")), "onnx.Clip.11(x, lo[] = -inf, hi[] = inf)");
}

TEST(SnippetLibrary, SaysWhatADefinitionTakes) {
  const Library library(nullptr, "def f(x: float, const k = [], *rest: i32|i64; a, b = \"(\") { y = x  return y, y }",
                        "f.frit");
  const lang::Interface f = lang::interface_of(library.get("f"));
  ASSERT_EQ(f.operands.size(), 3U);
  EXPECT_EQ(f.operands[0].types, std::vector<std::string>{"float"});
  EXPECT_TRUE(f.operands[1].is_const && f.operands[1].is_optional);
  EXPECT_TRUE(f.operands[2].is_variadic);
  EXPECT_TRUE(f.attributes[0].is_required);
  EXPECT_EQ(f.attributes[1].default_text, "\"(\"");
  EXPECT_EQ(f.results, 2);
  EXPECT_EQ(lang::signature_text(library.get("f")), "f(x: float, const k = [], *rest: i32|i64; a, b = \"(\")");
}

TEST(SnippetLibrary, NamesAreFoundInOrderAndNearOnesOffered) {
  Library library(&layers(), "def relu(x) = x + 100\ndef f(x) = relu(x)", "own.frit");
  check_row({"own definition first", "def relu(x) = x + 100\ndef f(x) = relu(x)", "f", {vec({-1})}, {}, {vec({99})}});
  EXPECT_EQ(error_of([&] { library.get("sofmax"); }),
            "there is no definition sofmax\n  fix       did you mean softmax");
  EXPECT_EQ(
      error_of([&] { library.add("def f(x) = x", "again.frit"); }),
      "again.frit:1:5: f is defined twice\n  1 | def f(x) = x\n    |     ^\n  got       the first at own.frit:2:5\n"
      "  expected  one definition of each name in a library");
}

TEST(SnippetLibrary, ImportsAreRelativeAndNotPassedOn) {
  const Folder folder;
  folder.write("base.frit", "def twice(x) = x + x");
  folder.write("deep/middle.frit", "import \"../base.frit\"\ndef four(x) = twice(twice(x))");
  folder.write("loop.frit", "import \"loop.frit\"\ndef f(x) = x");
  Library library;
  library.add("import \"deep/middle.frit\"\ndef f(x) = four(x)\n", folder.file("top.frit"));
  const Built built = build(library, "f", {of(F32, {1})});
  EXPECT_EQ(interpret(built.graph, {{"x0", array_of(vec({3}))}})[0].values[0], 12);
  Library hidden;
  hidden.add("import \"deep/middle.frit\"\ndef f(x) = twice(x)\n", folder.file("top.frit"));
  EXPECT_NE(error_of([&] { build(hidden, "f", {of(F32, {1})}); }).find("there is no function twice"),
            std::string::npos);
  EXPECT_NE(error_of([&] { Library().add("import \"none.frit\"", folder.file("top.frit")); }).find("cannot read"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              Library().add("import \"loop.frit\"", folder.file("top.frit"));
            }).find("loop.frit imports itself"),
            std::string::npos);
}

TEST(SnippetLibrary, ConstantsAreReadFromTheGraph) {
  const Library library(nullptr, "def f(x[.., r.. @ axes], const axes = []) y[..] = sum[r..](x[.., r..])", "f.frit");
  Graph graph;
  const Value x = graph.add_input("x", {F32, make_shape(L{2, 3})});
  Array axes(I64, {1});
  axes.set_int(0, 1);
  const Value constant = graph.add_constant(axes);
  EXPECT_EQ(to_string(graph.type(instantiate(graph, library, library.get("f"), {x, constant})[0])), "f32[2]");
  EXPECT_EQ(to_string(graph.type(instantiate(graph, library, library.get("f"), {x, lang::StaticValue(L{0})})[0])),
            "f32[3]");
  EXPECT_EQ(to_string(graph.type(instantiate(graph, library, library.get("f"), {x})[0])), "f32[2, 3]");
  EXPECT_NE(error_of([&] {
              instantiate(graph, library, library.get("f"), {x, x});
            }).find("must be known when compiled"),
            std::string::npos);
}

TEST(SnippetLibrary, DocumentationIsTheCommentAbove) {
  EXPECT_EQ(layers().get("swish").doc, "Swish, also SiLU.\n  y = x * sigmoid(x)\n");
  for (const char* file : {"elementwise", "rows", "products", "convolutions", "windows", "moving", "training"}) {
    for (const lang::Definition* def : layers().definitions()) {
      if (def->source->file() != std::string(file) + ".frit" || def->name == "trace") continue;
      EXPECT_FALSE(def->doc.empty()) << def->name;
    }
  }
}

// Parsing, checking and inferring stays below a millisecond; ten here, for slow and busy machines.
TEST(SnippetLibrary, ADefinitionTakesLittleTime) {
  const std::string text = to_text(layers().get("deform_conv"));
  double best = 1e9;
  for (int round = 0; round < 10; ++round) {
    const auto start = std::chrono::steady_clock::now();
    Library library(&layers(), text, "speed.frit");
    build(library, "deform_conv", {f32({1, 4, 6, 6}), f32({2, 4, 3, 3}), f32({1, 18, 4, 4})});
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  EXPECT_LT(best, 10);
}
