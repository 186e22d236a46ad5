// Texts that are made to take all time or memory: each gives an error of the caller, or a graph, soon. The faults of
// damaged files are named by ID.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <functional>

#include "ir/lang/parser.h"
#include "lang/snippet.h"

using namespace frit;
using namespace frit::testing;

namespace {

// Far beyond what any row takes, far below what each would take without its limit.
constexpr double kSeconds = 20;

std::string repeated(int n, const std::function<std::string(int)>& line) {
  std::string text;
  for (int k = 0; k < n; ++k) text += line(k);
  return text;
}
std::string number(int k) { return std::to_string(k); }

/// What the last definition of a text gives: "ok", or what the first error says.
std::string outcome(const std::string& text, const std::vector<OperandSpec>& operands) {
  const auto start = std::chrono::steady_clock::now();
  std::string result = "ok";
  try {
    const Library library(&layers(), text, "hostile.frit");
    const size_t def = text.rfind("def ") + 4;
    build(library, text.substr(def, text.find('(', def) - def), operands);
  } catch (const InternalError& error) {
    result = std::string("INTERNAL ") + error.what();
  } catch (const Error& error) {
    result = error.findings()[0].what;
  }
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), kSeconds);
  return result;
}

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("frit-hostile-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_ / "folder");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(file(name)) << text; }

 private:
  std::filesystem::path path_;
};

std::string import_outcome(const Folder& folder, const std::string& path) {
  try {
    Library().add("import \"" + path + "\"\ndef f(x) = x", folder.file("top.frit"));
  } catch (const InputError& error) {
    return error.findings()[0].what + "; " + error.findings()[0].got;
  }
  return "ok";
}

}  // namespace

TEST(Hostile, TextsAreBounded) {
  struct Row {
    std::string name, text, want;
    std::vector<OperandSpec> operands = {f32({2})};
  };
  const std::string many_steps = "this takes more than 500000 steps to work out";
  const std::string too_deep = "formulas and calls are more than 700 deep here";
  const std::vector<Row> rows = {
      {"sums of sums, inlined",
       "def g0(x) = x + x\n" +
           repeated(60,
                    [](int k) {
                      return "def g" + number(k + 1) + "(x) = g" + number(k) + "(x) + g" + number(k) + "(x)\n";
                    }) +
           "def f(x) = g60(x)",
       many_steps},
      {"sums of sums, inlined beside indices",
       "def g0(x) = x + x\n" +
           repeated(60,
                    [](int k) {
                      return "def g" + number(k + 1) + "(x) = g" + number(k) + "(x) + g" + number(k) + "(x)\n";
                    }) +
           "def f(x[n]) y[n] = g60(x[n])",
       many_steps},
      {"layers of layers",
       "def g0(x) = softmax(x)\n" +
           repeated(60,
                    [](int k) {
                      return "def g" + number(k + 1) + "(x) = g" + number(k) + "(x) + g" + number(k) + "(x)\n";
                    }) +
           "def f(x) = g60(x)",
       many_steps},
      {"a square of a square of a choice",
       "def f(x, c) { s0 = select(c, 2.0, 3.0)  " +
           repeated(40, [](int k) { return "s" + number(k + 1) + " = s" + number(k) + " * s" + number(k) + "  "; }) +
           "return x * s40 }",
       many_steps,
       {f32({2}), of(DType::Bool, {2})}},
      {"a list of a list of a list",
       "def f(x) { l0 = [1, 2]  " +
           repeated(40, [](int k) { return "l" + number(k + 1) + " = [l" + number(k) + ", l" + number(k) + "]  "; }) +
           "return x * select(l40 == l39, 1, 2) }",
       "a list of too many elements"},
      {"a list that doubles",
       "def f(x) { l0 = [1, 2]  " +
           repeated(40,
                    [](int k) { return "l" + number(k + 1) + " = [l" + number(k) + ".., l" + number(k) + "..]  "; }) +
           "return x * l40[0] }",
       "a list of too many elements"},
      {"a range of a billion", "def f(x) = x + sum(range(10000000000))", "range takes a length from 0 to 4096"},
      {"a fill of a billion", "def f(x) = x + sum(fill(1000000000, 1))", "fill takes a length from 0 to 4096"},
      {"a tensor of 4096 axes", "def f(x) = reshape(x, fill(4096, 1))", "a tensor of too many axes", {f32({1})}},
      {"4096 indices", "def f(x[n]) y[(i < fill(4096, 1))..] = x[0]", "too many indices are bound here"},
      {"4096 reduced indices", "def f(x[n]) y[] = sum[(i < fill(4096, 1))..](x[0])", "too many indices are bound here"},
      {"reads of 1000 patterns",
       "def f(x[h..]) y[] = x[" + repeated(1000, [](int k) { return k ? ", (0).." : "(0).."; }) + "]",
       "a tensor of too many axes"},
      {"an operand of 100 axes", "def f(x) = x", "a tensor of too many axes", {f32(std::vector<int64_t>(100, 1))}},
      {"extents that overflow", "def f(x[n]) y[i < 4611686018427387904, j < 8] = x[0]", "this tensor is too large"},
      {"an extent that overflows", "def f(x[n]) y[i < 9223372036854775807 + n] = x[0]", "this does not fit i64"},
      {"a tuple that overflows", "def f(x[n]) y[(i < 4611686018427387904, j < 8)] = x[0]", "this tensor is too large"},
      {"a power that overflows", "def f(x) = x * pow(10, 1000000000)", "this does not fit i64"},
      {"a power of one", "def f(x) = x * pow(1, 1000000000)", "ok"},
      {"calls 100 deep",
       "def g0(x) = x\n" +
           repeated(100, [](int k) { return "def g" + number(k + 1) + "(x) = g" + number(k) + "(x)\n"; }) +
           "def f(x) = g100(x)",
       "calls are more than 64 deep"},
      {"deep formulas in deep calls",
       "def g0(x) = x\n" +
           repeated(60,
                    [](int k) {
                      return "def g" + number(k + 1) + "(x) = g" + number(k) + "(x)" +
                             repeated(400, [](int) { return " + 1"; }) + "\n";
                    }) +
           "def f(x) = g60(x)",
       too_deep},
      {"a formula that is too deep", "def f(x) = x" + repeated(900, [](int) { return " + 1"; }),
       "this formula is more than 500 operators deep"},
      {"a position of many steps",
       "def g(x) = x" + repeated(100, [](int) { return " % 7 + 1"; }) + "\ndef f(x[n]) y[n] = x[" +
           repeated(40, [](int) { return "g("; }) + "index(n)" + repeated(40, [](int) { return ")"; }) + "]",
       "this position takes more than 2000 steps to work out"},
      {"folds in folds",
       "def f(x[n]) y[] = " +
           repeated(
               30,
               [](int k) { return "fold[t" + number(k) + " < 2](a" + number(k) + " = 0.0 : a" + number(k) + " + "; }) +
           "x[0]" + repeated(30, [](int) { return ")"; }),
       many_steps},
      {"reductions in reductions",
       "def f(x[n]) y[] = " + repeated(150, [](int k) { return "sum[t" + number(k) + " < 2]("; }) + "x[0]" +
           repeated(150, [](int) { return ")"; }),
       "ok"},
      {"bounds in bounds",
       "def f(x[n]) y[t0 < n] = " +
           repeated(60, [](int k) { return "sum[t" + number(k + 1) + " <= t" + number(k) + "]("; }) + "x[t60]" +
           repeated(60, [](int) { return ")"; }),
       "ok"},
      {"many definitions",
       repeated(20000, [](int k) { return "def g" + number(k) + "(x) = x\n"; }) + "def f(x) = g7(x)", "ok"},
      {"many attributes",
       "def f(x; " + repeated(5000, [](int k) { return (k ? ", a" : "a") + number(k) + " = " + number(k); }) +
           ") = x * a9",
       "ok"},
      {"attributes that need one another",
       "def f(x; " +
           repeated(5000, [](int k) { return (k ? ", a" : "a") + number(k) + " = a" + number(k + 1) + " + 1"; }) +
           ", a5000 = 1) = x * a0",
       too_deep},
      {"a name of a megabyte", "def f(x) = x + " + std::string(900000, 'a'), "nothing is called aaaaaaaa"},
      {"a line of a megabyte", "def f(x) = " + std::string(900000, ' ') + "x", "ok"},
      {"a comment of a megabyte", std::string(900000, '#') + "\ndef f(x) = x", "ok"},
      {"a text beyond the limit", std::string(lang::kTextLimit, ' ') + "def f(x) = x", "the text is too long"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string got = outcome(row.text, row.operands);
    EXPECT_EQ(got.substr(0, row.want.size()), row.want);
    EXPECT_LT(got.size(), 1000U);
  }
}

TEST(Hostile, B185_imports_that_are_no_files) {
  const Folder folder;
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("loop", folder.file("loop"));
  std::filesystem::create_symlink("/dev/zero", folder.file("zero"));
  for (const char* path : {"folder", "pipe", "loop", "zero", "/dev/zero", "", ".", "..", "missing.frit", "a\\nb"})
    EXPECT_TRUE(import_outcome(folder, path).starts_with("cannot read "))
        << path << ": " << import_outcome(folder, path);
}

TEST(Hostile, B191_imports_are_not_read_beyond_the_limit) {
  const Folder folder;
  folder.write("large.frit", "");
  std::filesystem::resize_file(folder.file("large.frit"), std::uintmax_t{1} << 40);  // sparse
  EXPECT_TRUE(import_outcome(folder, "large.frit").ends_with("; a file that is too long"));
}

TEST(Hostile, ImportsAreReadOnceAndInNoCircle) {
  const Folder folder;
  // Each file imports the next twice: 2^14 readings, if each were read each time.
  for (int k = 0; k < 14; ++k)
    folder.write(
        "d" + number(k) + ".frit",
        repeated(2, [&](int) { return "import \"d" + number(k + 1) + ".frit\"\n"; }) + "def d" + number(k) + "(x) = x");
  folder.write("d14.frit", "def d14(x) = x");
  EXPECT_EQ(import_outcome(folder, "d0.frit"), "ok");
  for (int k = 0; k < 20; ++k) folder.write("e" + number(k) + ".frit", "import \"e" + number(k + 1) + ".frit\"\n");
  EXPECT_TRUE(import_outcome(folder, "e0.frit").starts_with("imports are more than 16 deep"));
  folder.write("a.frit", "import \"folder/../b.frit\"");
  folder.write("b.frit", "import \"a.frit\"");
  EXPECT_EQ(import_outcome(folder, "a.frit"), "a.frit imports itself; a.frit imports b.frit imports a.frit");
  EXPECT_EQ(import_outcome(folder, "top.frit"), "top.frit imports itself; top.frit imports top.frit");
}
