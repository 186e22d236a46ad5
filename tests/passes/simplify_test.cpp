#include "compiler/passes/simplify.h"

#include <gtest/gtest.h>

#include "compiler/passes/pass.h"
#include "ir/graph_text.h"
#include "ir/random_graph.h"
#include "passes/simplify_check.h"
#include "support/error.h"

using namespace frit;
using frit::testing::RandomGraph;

namespace {

const std::string kX = "%0 = input f32[4, 6] \"x\"\n";

void expect_simplifies(const std::string& from, const std::string& to) {
  const Graph g = parse_graph(from);
  ASSERT_TRUE(verify(g).empty()) << verify(g)[0];
  const Graph s = simplify(g);
  EXPECT_EQ(to_string(s), to_string(parse_graph(to)));
  EXPECT_TRUE(verify(s).empty());
}

}  // namespace

TEST(Simplify, KeepsValuesAndIsDoneAfterOneTime) {
  for (uint64_t seed = 0; seed < 700; ++seed) {
    RandomGraph random(seed);
    const Graph g = random.make(static_cast<int>(seed % 10) + 1);
    frit::testing::check_simplify(g, random.inputs(), "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(Simplify, ViewsMoveIntoReads) {
  expect_simplifies(kX + "%1 = view f32[6, 4] reads %0 (i < 6, j < 4) [j, i]\n"
                         "%2 = view f32[24] reads %1 (k < 24) [k//4, k%4]\n"
                         "%3 = view f32[6, 4] reads %2 (i < 6, j < 4) [i*4 + j]\n"
                         "%4 = compute f32[6, 4] reads %3 (i < 6, j < 4) -> exp(x0[i, j])\n"
                         "output \"y\" = %4\n",
                    kX + "%1 = compute f32[6, 4] reads %0 (i < 6, j < 4) -> exp(x0[j, i])\n"
                         "output \"y\" = %1\n");
}

TEST(Simplify, SymbolicReshapesCancel) {
  const std::string x = "%0 = input f32[n, m] \"x\"\n";
  expect_simplifies(x + "%1 = view f32[n*m] reads %0 (k < n*m) [k//m, k%m]\n"
                        "%2 = compute f32[n, m] reads %1 (i < n, j < m) -> exp(x0[i*m + j])\n"
                        "%3 = view f32[m*n] reads %2 (k < m*n) [k//m, k%m]\n"
                        "%4 = view f32[n, m] reads %3 (i < n, j < m) [i*m + j]\n"
                        "output \"y\" = %4\n",
                    x + "%1 = compute f32[n, m] reads %0 (i < n, j < m) -> exp(x0[i, j])\n"
                        "output \"y\" = %1\n");
}

TEST(Simplify, CopiesAreViews) {
  expect_simplifies(
      kX + "%1 = compute f32[6, 4] reads %0 (i < 6, j < 4) -> x0[j, i]\n"
           "%2 = compute f32[6] reads %1 (i < 6; k < 4) sum(acc0 = 0.0 : acc0 + x0[i, k] : acc0 + acc0') -> acc0\n"
           "output \"y\" = %2\n",
      kX + "%1 = compute f32[6] reads %0 (i < 6; k < 4) sum(acc0 = 0.0 : acc0 + x0[k, i] : acc0 + acc0') -> acc0\n"
           "output \"y\" = %1\n");
}

TEST(Simplify, GuardsThroughViews) {
  // A shifted read of a transposed tensor needs no more than the implicit check; of a slice it needs the slice's.
  expect_simplifies(kX + "%1 = view f32[6, 4] reads %0 (i < 6, j < 4) [j, i]\n"
                         "%2 = compute f32[6, 4] reads %1 (i < 6, j < 4) -> (x0[i - 1, j] else 0.0)\n"
                         "output \"y\" = %2\n",
                    kX + "%1 = compute f32[6, 4] reads %0 (i < 6, j < 4) -> (x0[j, i - 1] else 0.0)\n"
                         "output \"y\" = %1\n");
  expect_simplifies(kX + "%1 = view f32[4, 2] reads %0 (i < 4, j < 2) [i, j + 2]\n"
                         "%2 = compute f32[4, 4] reads %1 (i < 4, j < 4) -> (x0[i, j] else 0.0)\n"
                         "output \"y\" = %2\n",
                    kX + "%1 = compute f32[4, 4] reads %0 (i < 4, j < 4) -> (x0[i, j + 2] if j < 2 else 0.0)\n"
                         "output \"y\" = %1\n");
}

TEST(Simplify, DeadGuardsGo) {
  expect_simplifies(
      kX + "%1 = compute f32[4, 6] reads %0 (i < 4, j < 6) -> (x0[i, j] if j < 9 else 0.0)\noutput \"y\" = %1\n",
      kX + "%1 = compute f32[4, 6] reads %0 (i < 4, j < 6) -> x0[i, j]\noutput \"y\" = %1\n");
  expect_simplifies(
      kX + "%1 = compute f32[4, 6] reads %0 (i < 4, j < 6) -> (x0[i + 4, j] else 2.0)\noutput \"y\" = %1\n",
      kX + "%1 = compute f32[4, 6] (i < 4, j < 6) -> 2.0\noutput \"y\" = %1\n");
}

TEST(Simplify, KeepsIeeeMeaning) {
  const struct {
    const char *from, *to;
  } rows[] = {
      {"X*1.0", "X"},
      {"-(-X)", "X"},
      {"X - 0.0", "X"},
      {"X + -0.0", "X"},
      {"X + 0.0", "X + 0.0"},  // -0.0 + 0.0 is 0.0
      {"X - X", "X - X"},      // inf - inf is nan
      {"X*0.0", "X*0.0"},
      {"select(1 < 2, X, 0.0)", "X"},
      {"X*(2.0*0.5)", "X"},
      {"X*sqrt(4.0)", "X*2.0"},
      {"X*sqrt(2.0)", "X*sqrt(2.0)"},  // would be rounded
      {"max(X, X)", "X"},
      {"fma(X, 1.0, X)", "X + X"},
      {"floor(round(X))", "round(X)"},
      {"f32(i//8)", "0.0"},
  };
  const std::string x = "x0[i, j]";
  const auto with = [&](std::string body) {
    std::string out;
    for (const char c : body) out += c == 'X' ? x : std::string(1, c);
    const bool reads = out.find("x0") != std::string::npos;
    return kX + "%1 = compute f32[4, 6] " + (reads ? "reads %0 " : "") + "(i < 4, j < 6) -> abs(tanh(" + out +
           "))\noutput \"y\" = %1\n";
  };
  for (const auto& row : rows) {
    const Graph s = simplify(parse_graph(with(row.from)));
    std::string want = with(row.to);
    if (std::string(row.to) == "0.0") want = kX + "%1 = compute f32[4, 6] (i < 4, j < 6) -> 0.0\noutput \"y\" = %1\n";
    EXPECT_EQ(to_string(s), to_string(parse_graph(want))) << row.from;
  }
}

TEST(Simplify, EqualNodesBecomeOneAndDeadOnesGo) {
  expect_simplifies(kX + "%1 = compute f32[4, 6] reads %0 (i < 4, j < 6) -> exp(x0[i, j])\n"
                         "%2 = compute f32[4, 6] reads %0 (m < 4, n < 6) -> exp(x0[m, n])\n"
                         "%3 = compute f32[4, 6] reads %0 (m < 4, n < 6) -> tanh(x0[m, n])\n"
                         "%4 = compute f32[4, 6] reads %1, %2 (i < 4, j < 6) -> x0[i, j] - x1[i, j]\n"
                         "output \"y\" = %4\n",
                    kX + "%1 = compute f32[4, 6] reads %0 (i < 4, j < 6) -> exp(x0[i, j])\n"
                         "%2 = compute f32[4, 6] reads %1 (i < 4, j < 6) -> x0[i, j] - x0[i, j]\n"
                         "output \"y\" = %2\n");
}

TEST(Simplify, SmallConstantsAreFolded) {
  expect_simplifies(
      "%0 = constant i64[4] {3, 5, 7, 9}\n"
      "%1 = compute i64[2] reads %0 (i < 2) -> x0[i*2]*2\n"
      "%2 = compute i64[] reads %1 (; i < 2) prod(acc0 = 1 : acc0*x0[i] : acc0*acc0') -> acc0\n"
      "output \"y\" = %2\n",
      "%0 = constant i64[] {84}\noutput \"y\" = %0\n");
  expect_simplifies(kX + "%1 = constant f32[] {0.5}\n"
                         "%2 = constant f32[6] {2, 2, 2, 2, 2, 2}\n"
                         "%3 = compute f32[4, 6] reads %0, %1, %2 (i < 4, j < 6) -> x0[i, j]*x1[] + x2[j]\n"
                         "output \"y\" = %3\n",
                    kX + "%1 = compute f32[4, 6] reads %0 (i < 4, j < 6) -> x0[i, j]*0.5 + 2.0\n"
                         "output \"y\" = %1\n");
}

TEST(Simplify, Assembles) {
  expect_simplifies(kX + "%1 = assemble f32[4, 6] reads %0 [0, 0]+[1, 1]\n"
                         "%2 = assemble f32[8, 6] reads %1, %1 [0, 0]+[1, 1], [4, 0]+[1, 1]\n"
                         "%3 = assemble f32[8, 12] reads %2, %2 [0, 0]+[1, 1], [0, 6]+[1, 1]\n"
                         "output \"y\" = %3\n",
                    kX + "%1 = assemble f32[8, 6] reads %0, %0 [0, 0]+[1, 1], [4, 0]+[1, 1]\n"
                         "%2 = assemble f32[8, 12] reads %1, %1 [0, 0]+[1, 1], [0, 6]+[1, 1]\n"
                         "output \"y\" = %2\n");
  expect_simplifies(kX + "%1 = input f32[4, 6] \"z\"\n"
                         "%2 = assemble f32[8, 6] reads %0, %1 [0, 0]+[1, 1], [4, 0]+[1, 1]\n"
                         "%3 = assemble f32[8, 12] reads %2, %2 [0, 0]+[1, 2], [0, 1]+[1, 2]\n"
                         "%4 = assemble f32[12, 6] reads %0, %2 [0, 0]+[1, 1], [4, 0]+[1, 1]\n"
                         "output \"y\" = %4\n",
                    kX + "%1 = input f32[4, 6] \"z\"\n"
                         "%2 = assemble f32[12, 6] reads %0, %0, %1 [0, 0]+[1, 1], [4, 0]+[1, 1], [8, 0]+[1, 1]\n"
                         "output \"y\" = %2\n");
}

TEST(Simplify, WeightsAreNotRead) {
  const Graph g = parse_graph(
      "%0 = constant f32[64, 64] large\n"
      "%1 = compute f32[64, 64] reads %0 (i < 64, j < 64) -> x0[i, j]*2.0\n"
      "output \"y\" = %1\n");
  EXPECT_EQ(to_string(simplify(g)), to_string(g));
}

TEST(Passes, RunnerVerifiesTimesPrintsAndSkips) {
  const Graph g = parse_graph(kX + "%1 = view f32[4, 6] reads %0 (i < 4, j < 6) [i, j]\noutput \"y\" = %1\n");
  const Pass passes[] = {{"simplify", simplify}, {"again", simplify}};
  std::string printed;
  PassOptions options{
      .verify = true, .print_after = {"all"}, .skip = {}, .print = [&](std::string_view t) { printed += t; }};
  std::vector<PassReport> reports;
  EXPECT_EQ(to_string(run_passes(g, passes, options, &reports)), kX + "output \"y\" = %0\n");
  EXPECT_TRUE(reports[0].changed);
  EXPECT_FALSE(reports[1].changed);
  EXPECT_NE(printed.find("# after again (unchanged)"), std::string::npos);
  options.skip = {"simplify", "again"};
  EXPECT_EQ(to_string(run_passes(g, passes, options)), to_string(g));
  options.skip = {"nothing"};
  EXPECT_THROW(run_passes(g, passes, options), InputError);
  const Pass broken[] = {{"broken", [](const Graph&) {
                            return parse_graph(kX + "%1 = view f32[4, 6] reads %0 (i < 4, j < 6) [i + 1, j]\n");
                          }}};
  EXPECT_THROW(run_passes(g, broken, PassOptions{.verify = true, .print_after = {}, .skip = {}, .print = {}}),
               InternalError);
}

TEST(Simplify, CustomGradientsAreTheirValues) {
  expect_simplifies(kX + "%1 = compute f32[4, 6] reads %0 (i < 4, j < 6) -> exp(x0[i, j])\n"
                         "%2 = compute f32[4, 6] reads %1 (i < 4, j < 6) -> x0[i, j]*x0[i, j]\n"
                         "%3 = custom_gradient f32[4, 6] reads %0, %1 operands 1 [0] {\n"
                         "%0 = input f32[4, 6] \"x\"\n%1 = input f32[4, 6] \"y\"\n%2 = input f32[4, 6] \"dy\"\n"
                         "output \"dx\" = %2\n}\n"
                         "output \"y\" = %3\n",
                    kX + "%1 = compute f32[4, 6] reads %0 (i < 4, j < 6) -> exp(x0[i, j])\n"
                         "output \"y\" = %1\n");
}

TEST(Simplify, ScansScattersAndSortsStay) {
  const std::string scan =
      kX + "%1 = compute f32[4, 6] reads %0 (i < 4; t < 6) sum(acc0 = 0.0 : acc0 + x0[i, t] : acc0 + acc0') -> acc0 [i, t]\n"
           "%2 = scatter f32[4, 6] reads %1, %0 (i < 4, j < 6) [i, 0] add x1[i, j]\n"
           "%3 = sort f32[4, 6], i64[4, 6] reads %2 axis 1 descending\n"
           "output \"v\" = %3\noutput \"i\" = %3.1\n";
  expect_simplifies(scan, scan);
}
