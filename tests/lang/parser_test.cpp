#include "ir/lang/parser.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

using namespace frit;
using namespace frit::lang;

namespace {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::filesystem::path> layer_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(FRIT_TEST_DATA "/../compiler/layers"))
    if (entry.path().extension() == ".frit") files.push_back(entry.path());
  return files;
}

std::string error_of(const std::string& text) {
  try {
    parse(text, "t.frit");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST(Parser, LibraryPrintsAndParsesBack) {
  ASSERT_FALSE(layer_files().empty());
  for (const auto& path : layer_files()) {
    const File file = parse(read_text(path), path.filename().string());
    EXPECT_FALSE(file.definitions.empty()) << path;
    const std::string text = to_text(file);
    EXPECT_EQ(to_text(parse(text, "again")), text) << path;
  }
}

TEST(Parser, PrintsWhatItRead) {
  const std::string rows[] = {
      "def f(x) = x * sigmoid(x)\n",
      "def onnx.Clip.11(x, lo[] = -inf, hi[] = inf) = clamp(x, lo, hi)\n",
      "def f(x[.., n @ axis]: f16|f32; axis = -1, k) y[.., n @ axis] = x[.., n] else 0\n",
      "def f(*xs: float, const k = [1, 2]) = a.b.3(xs, k = k)[0]\n",
      "def f(x[(g, (c, k..)), 3, h..]) y[(g, (i < 2, a)..), n <= 3] = x[.., (i + 1)..] else -1\n",
      "def f(x[n]) m[..], q[..] = fold[n](c = 0, m = 1.5 : c + 1, m + x[n] : c + c', m + m')\n",
      "def f(x) {\n  if a == 1 or not b in [1, 2:] {\n    y = 1\n  } else {\n    if c {\n      y = 2\n    }\n  }\n  "
      "return y, l..\n}\n",
      "# Doc.\n#\n# More.\ndef f(x) {\n  require all((p < h)..), \"p is {p} \\\"q\\\" \\\\ \\n\"\n  for[b.., m] y[b.., "
      "m] max = u[m]\n}\n  grad(dy) {\n  dx = dy\n}\n",
      "def f(x) = --x + ~a & 0xff << 2 // 3 % 1e-5\n",
  };
  for (const std::string& row : rows) EXPECT_EQ(to_text(parse(row, "t.frit")), row);
}

TEST(Parser, KeepsTheCommentAbove) {
  const File file = parse("# far\n\n# Adds.\n#   y = a + b\ndef f(a, b) = a + b # not this\ndef g(a) = a\n", "t");
  EXPECT_EQ(file.definitions[0]->doc, "Adds.\n  y = a + b\n");
  EXPECT_EQ(file.definitions[1]->doc, "");
}

TEST(Parser, GroupsByLevelAndFromTheLeft) {
  const auto tree = [](const std::string& text) {
    const ExPtr e = parse_expression(std::make_shared<Source>("t", text));
    std::ostringstream out;
    const auto walk = [&](auto& self, const ExPtr& x) -> void {
      if (x->kind != Ex::Kind::Binary && x->kind != Ex::Kind::Unary) return void(out << to_text(*x));
      out << "{" << (x->kind == Ex::Kind::Unary ? spelling(x->unary) : spelling(x->binary));
      for (const ExPtr& arg : x->args) out << " ", self(self, arg);
      out << "}";
    };
    walk(walk, e);
    return out.str();
  };
  EXPECT_EQ(tree("a - b - c * d"), "{- {- a b} {* c d}}");
  EXPECT_EQ(tree("a or b and not c == d"), "{or a {and b {not  {== c d}}}}");
  EXPECT_EQ(tree("-a // b << 1 & 3 < 2"), "{< {& {<< {// {- a} b} 1} 3} 2}");
}

TEST(Parser, SaysWhatIsWrong) {
  const std::pair<std::string, std::string> rows[] = {
      {"def f(x) = x +\n",
       "t.frit:1:15: cannot read this\n  1 | def f(x) = x +\n    |               ^\n  got       the end of the text\n"
       "  expected  a formula"},
      {"def f(x) = a < b < c",
       "t.frit:1:18: comparisons do not chain\n  1 | def f(x) = a < b < c\n    |                  ^\n  fix       write "
       "a < b and b < c"},
      {"def f(x[n]) y[n] = x[n] else 0 + 1",
       "t.frit:1:32: no operator follows the value after else\n  1 | def f(x[n]) y[n] = x[n] else 0 + 1\n"
       "    |                                ^\n  fix       write (x[n] else 0) + .."},
      {"def f(x[n]) y[n] = 2*x[n] else 0",
       "t.frit:1:27: else guards one read, and this is a larger formula\n  1 | def f(x[n]) y[n] = 2*x[n] else 0\n"
       "    |                           ^~~~\n  fix       put the guarded read into a parenthesis, as in (x[i - 1] "
       "else 0) * w[i]"},
      {"def f(x) = a & b | c",
       "t.frit:1:18: & and | in a row have no order\n  1 | def f(x) = a & b | c\n    |                  ^\n"
       "  fix       put a parenthesis around one of them"},
      {"def f(x) = x $ 1",
       "t.frit:1:14: this character is not part of the language\n  1 | def f(x) = x $ 1\n    |              ^"},
      {"def f(x) = 3x", "t.frit:1:12: a name cannot start with a digit\n  1 | def f(x) = 3x\n    |            ^~"},
      {"def f(x) = \"abc", "t.frit:1:12: this string has no end\n  1 | def f(x) = \"abc\n    |            ^~~~"},
      {"def f(x) = x' ",
       "t.frit:1:13: a ' belongs in the third part of a fold\n  1 | def f(x) = x' \n    |             ^"},
      {"def f(x) = 99999999999999999999",
       "t.frit:1:12: this integer does not fit 64 bits\n  1 | def f(x) = 99999999999999999999\n"
       "    |            ^~~~~~~~~~~~~~~~~~~~"},
      {"def max(x) = x",
       "t.frit:1:5: cannot read this\n  1 | def max(x) = x\n    |     ^~~\n  got       max (a reserved word)\n"
       "  expected  the name of a definition\n  fix       choose another name, as in max_"},
      {"def f(x: real) = x",
       "t.frit:1:10: real is not a type\n  1 | def f(x: real) = x\n    |          ^~~~\n"
       "  expected  a dtype, or float, int, num"},
      {"def f(x) = g(x, min = 1)",
       "t.frit:1:17: min is reserved and cannot name an attribute\n  1 | def f(x) = g(x, min = 1)\n"
       "    |                 ^~~\n  fix       the definition spells it min_"},
      {"def f(x[n]) y[i + 1] = x[i]",
       "t.frit:1:17: cannot read this\n  1 | def f(x[n]) y[i + 1] = x[i]\n    |                 ^\n  got       +\n  "
       "expected  ]"},
      {"def f(x[n]) y[n] = x[n - 1..]",
       "t.frit:1:22: a formula before .. needs a parenthesis\n  1 | def f(x[n]) y[n] = x[n - 1..]\n"
       "    |                      ^~~~~\n  fix       write (n - 1).."},
      {"def f(x) = fold[n](a = 0, b = 1 : a)",
       "t.frit:1:35: the step of this fold has 1 formula for 2 accumulators\n  1 | def f(x) = fold[n](a = 0, b = 1 : "
       "a)\n"
       "    |                                   ^"},
      // Two definitions, two findings; the good one between does not matter.
      {"def f(x) = )\ndef g(x) = x\ndef h(x = x\n",
       "t.frit:1:12: cannot read this\n  1 | def f(x) = )\n    |            ^\n  got       )\n  expected  a formula\n\n"
       "t.frit:3:12: cannot read this\n  3 | def h(x = x\n    |            ^\n  got       the end of the text\n"
       "  expected  ) after the operands, or `;` before the attributes"},
      {"y = x", "t.frit:1:1: cannot read this\n  1 | y = x\n    | ^\n  got       y\n  expected  def or import"},
  };
  for (const auto& [text, want] : rows) EXPECT_EQ(error_of(text), want) << text;
}

TEST(Parser, LimitsAreErrorsNotCrashes) {
  EXPECT_NE(error_of("def f(x) = " + std::string(5000, '(')).find("levels are nested"), std::string::npos);
  EXPECT_NE(error_of("def f(x) = " + std::string(5000, '-') + "x").find("levels are nested"), std::string::npos);
  EXPECT_NE(error_of("def f(x[" + std::string(5000, '(')).find("levels are nested"), std::string::npos);
  std::string chain = "def f(x) = x", blocks = "def f(x) {";
  for (int i = 0; i < 5000; ++i) chain += " + x", blocks += "if a {";
  EXPECT_NE(error_of(chain).find("operators deep"), std::string::npos);
  EXPECT_NE(error_of(blocks).find("levels are nested"), std::string::npos);
  EXPECT_NE(error_of(std::string(kTextLimit + 1, ' ')).find("too long"), std::string::npos);
  EXPECT_EQ(error_of(std::string(kTextLimit, ' ')), "no error");
  EXPECT_EQ(error_of(""), "no error");
}

TEST(Parser, AnyBytesGiveAnErrorOrATree) {
  std::string corpus;
  for (const auto& path : layer_files()) corpus += read_text(path);
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    if (round % 2 == 0) {
      for (int i = 0; i < 200; ++i) text += static_cast<char>(random());
    } else {
      const size_t at = random() % (corpus.size() - 400);
      text = "def f(x) = " + corpus.substr(at, 400);
      for (int i = 0; i < 3; ++i) text[random() % text.size()] = corpus[random() % corpus.size()];
    }
    EXPECT_NO_THROW(error_of(text));
  }
}
