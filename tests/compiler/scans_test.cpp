// Scans: one pass over the data, compiled as the definition says, at every shape, axis and dtype.
#include <fmt/format.h>

#include "compiler/differential.h"
#include "compiler/passes/split_scans.h"

namespace frit::testing {
namespace {

const std::vector<int64_t> kSizes = {0, 1, 2, 7, 16, 17, 65, 131};

// A graph over one input, in the text of graphs; {n} is the extent that is scanned, {m} another.
struct GraphRow {
  const char* id;
  const char* text;
  std::vector<std::string> dtypes = {"f32", "f64", "i32", "f16"};
};

const std::vector<GraphRow> kGraphs = {
    {"last axis",
     R"(%0 = input {t}[{m}, {n}] "x"
%1 = compute {t}[{m}, {n}] reads %0 (b < {m}; t < {n}) sum(acc0 = {zero} : acc0 + x0[b, t] : acc0 + acc0') -> {value} [b, t]
output "y" = %1)"},
    {"first axis",
     R"(%0 = input {t}[{n}, {m}] "x"
%1 = compute {t}[{n}, {m}] reads %0 (b < {m}; t < {n}) sum(acc0 = {zero} : acc0 + x0[t, b] : acc0 + acc0') -> {value} [t, b]
output "y" = %1)"},
    {"middle axis",
     R"(%0 = input {t}[3, {n}, {m}] "x"
%1 = compute {t}[3, {n}, {m}] reads %0 (a < 3, b < {m}; t < {n}) sum(acc0 = {zero} : acc0 + x0[a, t, b] : acc0 + acc0') -> {value} [a, t, b]
output "y" = %1)"},
    {"alone",
     R"(%0 = input {t}[{n}] "x"
%1 = compute {t}[{n}] reads %0 (; t < {n}) sum(acc0 = {zero} : acc0 + x0[t] : acc0 + acc0') -> {value} [t]
output "y" = %1)"},
    {"exclusive, the last state, and a value that reads the step",
     R"(%0 = input f32[{m}, {n}] "x"
%1 = compute f32[{m}, {n}], f32[{m}], f32[{n}, {m}] reads %0 (b < {m}; t < {n}) fold(acc0 = 0.0, acc1 = 0.0 : acc1, acc1 + x0[b, t]) -> acc0 [b, t]; acc1 [b]; acc1*x0[b, t] [t, b]
output "before" = %1
output "last" = %1.1
output "scaled" = %1.2)",
     {"f32"}},
    {"linear recurrence",
     R"(%0 = input f32[{m}, {n}] "x"
%1 = input f32[{m}, {n}] "b"
%2 = compute f32[{m}, {n}] reads %0, %1 (b < {m}; t < {n}) fold(acc0 = 0.0 : x0[b, t]*acc0 + x1[b, t]) -> acc0 [b, t]
output "y" = %2)",
     {"f32"}},
    {"a value that shares a part with the step",
     R"(%0 = input f32[{n}, {m}] "x"
%1 = compute f32[{n}, {m}] reads %0 (b < {m}; t < {n}) fold(acc0 = 0.0 : x0[t, b]*acc0 + 1.0) -> x0[t, b]*acc0 + 2.0 [t, b]
output "y" = %1)",
     {"f32"}},
    {"backwards, turned round",
     R"(%0 = input f32[{n}, {m}] "x"
%1 = compute f32[{n}, {m}] reads %0 (b < {m}; t < {n}) sum(acc0 = 0.0 : acc0 + x0[-t + {n} - 1, b] : acc0 + acc0') -> acc0 [t, b]
%2 = view f32[{n}, {m}] reads %1 (t < {n}, b < {m}) [-t + {n} - 1, b]
output "y" = %2)",
     {"f32"}},
    {"a pointwise producer, an epilogue",
     R"(%0 = input f32[{m}, {n}] "x"
%1 = compute f32[{m}, {n}] reads %0 (b < {m}, t < {n}) -> exp(x0[b, t])
%2 = compute f32[{m}, {n}] reads %1 (b < {m}; t < {n}) sum(acc0 = 0.0 : acc0 + x0[b, t] : acc0 + acc0') -> acc0 [b, t]
%3 = compute f32[{m}, {n}] reads %2, %0 (b < {m}, t < {n}) -> log(x0[b, t]) * x1[b, t] + 1.0
output "y" = %3)",
     {"f32"}},
    {"an epilogue in another order",
     R"(%0 = input f32[{m}, {n}] "x"
%1 = compute f32[{m}, {n}] reads %0 (b < {m}; t < {n}) sum(acc0 = 0.0 : acc0 + x0[b, t] : acc0 + acc0') -> acc0 [b, t]
%2 = compute f32[{n}, 1, {m}] reads %1 (t < {n}, o < 1, b < {m}) -> x0[b, t] + f32(t)
output "y" = %2)",
     {"f32"}},
    {"over rows of their own sums",
     R"(%0 = input f32[{m}, {n}] "x"
%1 = compute f32[{m}] reads %0 (b < {m}; t < {n}) sum(acc0 = 0.0 : acc0 + abs(x0[b, t]) : acc0 + acc0') -> acc0 [b]
%2 = compute f32[{m}, {n}] reads %0, %1 (b < {m}; t < {n}) sum(acc0 = 0.0 : acc0 + x0[b, t]/(x1[b] + 1.0) : acc0 + acc0') -> acc0 [b, t]
%3 = compute f32[{m}, {n}] reads %2, %0, %1 (b < {m}, t < {n}) -> x0[b, t]*x1[b, t] - x2[b]
%4 = compute f32[{m}] reads %3 (b < {m}; t < {n}) max(acc0 = -inf : max(acc0, x0[b, t]) : max(acc0, acc0')) -> acc0 [b]
output "y" = %4)",
     {"f32"}},
    {"whether any so far, where the first maximum is",
     R"(%0 = input f32[{n}, {m}] "x"
%1 = compute bool[{n}, {m}] reads %0 (b < {m}; t < {n}) any(acc0 = false : acc0 or 0.5 < x0[t, b] : acc0 or acc0') -> acc0 [t, b]
output "y" = %1)",
     {"f32"}},
};

std::string replaced(std::string text, std::string_view from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

TEST(Scans, GraphsAreCompiledAsTheyAreDefined) {
  for (const GraphRow& row : kGraphs) {
    for (const std::string& dtype : row.dtypes) {
      for (const int64_t n : kSizes) {
        for (const int64_t m : {1, 5, 33}) {
          SCOPED_TRACE(fmt::format("{} {} n {} m {}", row.id, dtype, n, m));
          std::string text = replaced(replaced(row.text, "{n} - 1", std::to_string(n - 1)), "{n}", std::to_string(n));
          text = replaced(replaced(replaced(text, "{m}", std::to_string(m)), "{t}", dtype), "{value}",
                          dtype == "f16" ? "f16(acc0)" : "acc0");
          text = replaced(text, "{zero}", dtype == "i32" ? "0_i32" : dtype == "f64" ? "0.0_f64" : "0.0");
          const Graph graph = parse_graph(text);
          EXPECT_EQ(verify(graph), std::vector<std::string>{});
          EXPECT_EQ(disagreement(graph, make_inputs(graph, Fill::Plain)), "");
        }
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------- the language

// A spelling that becomes a scan, and the same values as a sum over a whole axis under a condition. x has shape [5, n].
struct Spelling {
  const char* id;
  const char* scan;
  const char* definition;
  bool is_integer = false;  // x is i32, else f32
};

const std::vector<Spelling> kSpellings = {
    {"inclusive", "def f(x[m, n]) y[m, i < n] = sum[j <= i](x[m, j])",
     "def f(x[m, n]) y[m, i < n] = sum[j < n](select(j <= i, x[m, j], 0))"},
    {"exclusive", "def f(x[m, n]) y[m, i < n] = sum[j < i](x[m, j])",
     "def f(x[m, n]) y[m, i < n] = sum[j < n](select(j < i, x[m, j], 0))"},
    {"exclusive, with the whole at the end", "def f(x[m, n]) y[m, i < n + 1] = sum[j < i](x[m, j])",
     "def f(x[m, n]) y[m, i < n + 1] = sum[j < n](select(j < i, x[m, j], 0))"},
    {"two behind", "def f(x[m, n]) y[m, i < n] = max[j < i - 1](x[m, j])",
     "def f(x[m, n]) y[m, i < n] = max[j < n](select(j < i - 1, x[m, j], -inf))"},
    {"two ahead", "def f(x[m, n]) y[m, i < n] = sum[j < i + 3](x[m, j] else 0)",
     "def f(x[m, n]) y[m, i < n] = sum[j < n](select(j < i + 3, x[m, j], 0))"},
    {"integers", "def f(x[m, n]) y[m, i < n] = sum[j < i](x[m, j])",
     "def f(x[m, n]) y[m, i < n] = sum[j < n](select(j < i, x[m, j], 0))", true},
    {"first axis", "def f(x[m, n]) y[n, i < m] = sum[j <= i](x[j, n])",
     "def f(x[m, n]) y[n, i < m] = sum[j < m](select(j <= i, x[j, n], 0))"},
    {"another axis of the result", "def f(x[m, n]) y[m, i < n @ 0] = min[j <= i](x[m, j])",
     "def f(x[m, n]) y[m, i < n @ 0] = min[j < n](select(j <= i, x[m, j], inf))"},
    {"of shifted elements", "def f(x[m, n]) y[m, i < n] = sum[j <= i](x[m, n - 1 - j] * f32(j))",
     "def f(x[m, n]) y[m, i < n] = sum[j < n](select(j <= i, x[m, n - 1 - j] * f32(j), 0))"},
    {"of guarded elements", "def f(x[m, n]) y[m, i < n] = prod[j <= i](x[m, j - 2] else 1.5)",
     "def f(x[m, n]) y[m, i < n] = prod[j < n](select(j <= i, x[m, j - 2] else 1.5, 1))"},
    {"mean", "def f(x[m, n]) y[m, i < n] = mean[j <= i](x[m, j])",
     "def f(x[m, n]) y[m, i < n] = sum[j < n](select(j <= i, x[m, j], 0)) / f32(i + 1)"},
    {"any", "def f(x[m, n]) y[m, i < n] = any[j < i](x[m, j] > 0.8)",
     "def f(x[m, n]) y[m, i < n] = any[j < n](j < i and x[m, j] > 0.8)"},
    {"all", "def f(x[m, n]) y[m, i < n] = all[j <= i](x[m, j] > -0.8)",
     "def f(x[m, n]) y[m, i < n] = all[j < n](j > i or x[m, j] > -0.8)"},
    {"argmax", "def f(x[m, n]) y[m, i < n] = argmax[j <= i](x[m, j] // 20)",
     "def f(x[m, n]) y[m, i < n] = argmax[j < n](select(j <= i, x[m, j] // 20, -100))", true},
    {"argmin of what a second formula says", "def f(x[m, n]) y[m, i < n] = argmin[j <= i](x[m, j] // 20, x[m, j] * 2)",
     "def f(x[m, n]) y[m, i < n] = argmin[j < n](select(j <= i, x[m, j] // 20, 100), x[m, j] * 2)", true},
    {"suffix", "def f(x[m, n]) y[m, i < n] = sum[j < n - i](x[m, i + j])",
     "def f(x[m, n]) y[m, i < n] = sum[j < n](select(j >= i, x[m, j], 0))"},
    {"exclusive suffix", "def f(x[m, n]) y[m, i < n] = max[j < n - 1 - i](x[m, i + 1 + j])",
     "def f(x[m, n]) y[m, i < n] = max[j < n](select(j > i, x[m, j], -inf))"},
    {"suffix of more than there are results", "def f(x[m, n]) y[m, i < n // 2] = sum[j < n - i](x[m, i + j])",
     "def f(x[m, n]) y[m, i < n // 2] = sum[j < n](select(j >= i, x[m, j], 0))"},
    {"suffix that ends early", "def f(x[m, n]) y[m, i < n] = mean[j < n // 2 + 1 - i](x[m, i + j])",
     "def f(x[m, n]) { h = n // 2 + 1  y[m, i < n] = sum[j < n](select(j >= i and j < h, x[m, j], 0)) / f32(max(h - i, "
     "0)) }"},
    {"argmax of a suffix, first on ties", "def f(x[m, n]) y[m, i < n] = argmax[j < n - i](x[m, i + j] // 30)",
     "def f(x[m, n]) y[m, i < n] = argmax[j < n](select(j >= i, x[m, j] // 30, -100)) - i", true},
    {"position in a suffix as a value", "def f(x[m, n]) y[m, i < n] = sum[j < n - i](x[m, i + j] * f32(i + j))",
     "def f(x[m, n]) y[m, i < n] = sum[j < n](select(j >= i, x[m, j] * f32(j), 0))"},
    {"two indices", "def f(x[m, n]) y[i < n] = sum[m, j <= i](x[m, j])",
     "def f(x[m, n]) y[i < n] = sum[m, j < n](select(j <= i, x[m, j], 0))"},
    {"two indices of a suffix", "def f(x[m, n]) y[i < n] = max[j < n - i, m](x[m, i + j])",
     "def f(x[m, n]) y[i < n] = max[j < n, m](select(j >= i, x[m, j], -inf))"},
    {"of a prefix that is no scan", "def f(x[m, n]) y[i < m] = sum[j <= i](sum[k <= j](x[j, k] else 0))",
     "def f(x[m, n]) y[i < m] = sum[j < m, k < n](select(j <= i and k <= j, x[j, k], 0))"},
    {"argmax over two indices", "def f(x[m, n]) y[i < n] = argmax[j <= i, m](x[m, j] // 30, index(m, j))",
     "def f(x[m, n]) y[i < n] = argmax[j < n, m](select(j <= i, x[m, j] // 30, -100), index(m, j))", true},
    {"inside a formula", "def f(x[m, n]) y[m, i < n] = x[m, i] / (1 + sum[j <= i](abs(x[m, j]))) - sum[m](x[m, i])",
     "def f(x[m, n]) { s[m, i < n] = sum[j < n](select(j <= i, abs(x[m, j]), 0))  y[m, n] = x[m, n] / (1 + s[m, n]) - "
     "sum[m](x[m, n]) }"},
    {"inside a reduction", "def f(x[m, n]) y[m] = max[i < n](sum[j <= i](x[m, j]))",
     "def f(x[m, n]) { s[m, i < n] = sum[j < n](select(j <= i, x[m, j], 0))  y[m] = max[i < n](s[m, i]) }"},
    {"of a scan", "def f(x[m, n]) { s[m, i < n] = sum[j <= i](x[m, j])  y[m, i < n] = max[j <= i](s[m, j]) }",
     "def f(x[m, n]) { s[m, i < n] = sum[j < n](select(j <= i, x[m, j], 0))  y[m, i < n] = max[j < n](select(j <= i, "
     "s[m, j], -inf)) }"},
    {"of a reduction", "def f(x[m, n]) y[i < n] = sum[j < i](max[m](x[m, j]))",
     "def f(x[m, n]) { s[n] = max[m](x[m, n])  y[i < n] = sum[j < n](select(j < i, s[j], 0)) }"},
    {"several accumulators",
     "def f(x[m, n]) { a[m, i < n], b[m, i < n] = fold[j <= i](a = 0.0, b = 1.0 : a + x[m, j] * b, b * 0.5 + a)  "
     "return a, b }",
     "def f(x[m, n]) { a[m, i < n], b[m, i < n] = fold[j < n](a = 0.0, b = 1.0 : select(j <= i, a + x[m, j] * b, a), "
     "select(j <= i, b * 0.5 + a, b))  return a, b }"},
    {"a fold from a state of its row",
     "def f(x[m, n]) { s[m] = x[m, 0] else 3  y[m, i < n] = fold[j < i](h = s[m] : h * 0.5 + x[m, j]) }",
     "def f(x[m, n]) { s[m] = x[m, 0] else 3  y[m, i < n] = fold[j < n](h = s[m] : select(j < i, h * 0.5 + x[m, j], "
     "h)) }"},
    {"a fold in any order, of a suffix", "def f(x[m, n]) y[m, i < n] = fold[j < n - i](h = 2.0 : h + x[m, i + j])",
     "def f(x[m, n]) y[m, i < n] = fold[j < n](h = 2.0 : h + select(j >= i, x[m, j], 0))"},
    {"a fold with a merge, of a suffix",
     "def f(x[m, n]) y[m, i < n] = fold[j < n - i](a = 1.0, b = 0.0 : a * 0.5, b * 0.5 + x[m, i + j] : a * a', b * a' "
     "+ b')",
     "def f(x[m, n]) y[m, i < n] = fold[j < n](a = 1.0, b = 0.0 : select(j >= i, a * 0.5, a), select(j >= i, b * 0.5 + "
     "x[m, j], b))"},
    {"a tuple on the left", "def f(x[m, n]) y[(m, i < n)] = sum[j <= i](x[m, j])",
     "def f(x[m, n]) y[(m, i < n)] = sum[j < n](select(j <= i, x[m, j], 0))"},
    {"read as a tuple", "def f(x[m, n]) { z[(m, n)] = x[m, n]  y[m, i < n] = sum[j < i](z[(m, j)]) }",
     "def f(x[m, n]) y[m, i < n] = sum[j < n](select(j < i, x[m, j], 0))"},
};

Graph graph_of(const char* text, const OperandSpec& x) { return graph_of(DifferentialRow{"", text, "f", {x}, {}}); }

// Steps of all loops, and how many nodes are scans.
std::pair<double, int> work_of(const Graph& graph) {
  double steps = 0;
  int scans = 0;
  for (const Node& node : graph.nodes()) {
    const auto* compute = std::get_if<Compute>(&node.payload);
    if (!compute) continue;
    double points = 1;
    for (const Axis& axis : compute->axes) points *= static_cast<double>(static_extent(axis.extent));
    steps += points;
    scans += compute->is_scan();
  }
  return {steps, scans};
}

std::string difference(const std::vector<ReferenceTensor>& got, const std::vector<ReferenceTensor>& want) {
  for (size_t r = 0; r < got.size(); ++r) {
    if (got[r].shape != want[r].shape) return "shapes";
    if (got[r].integers != want[r].integers)
      return fmt::format("{} for {}", fmt::join(got[r].integers, " "), fmt::join(want[r].integers, " "));
    for (size_t i = 0; i < got[r].values.size(); ++i) {
      const double a = got[r].values[i], b = want[r].values[i];
      if (!(a == b || std::abs(a - b) <= 1e-12 * (1 + std::abs(b)) || (std::isnan(a) && std::isnan(b))))
        return fmt::format("result {} at {}: {} for {}", r, i, a, b);
    }
  }
  return {};
}

TEST(Scans, EverySpellingIsOnePassAndMeansWhatItSays) {
  for (const Spelling& row : kSpellings) {
    for (const int64_t n : {1, 2, 7, 33}) {
      SCOPED_TRACE(fmt::format("{} n {}", row.id, n));
      try {
        const OperandSpec x = of(row.is_integer ? DType::I32 : DType::F32, {5, n});
        const Graph scan = graph_of(row.scan, x), definition = graph_of(row.definition, x);
        EXPECT_EQ(verify(scan), std::vector<std::string>{});
        std::map<std::string, Array> inputs{{"x0", make_input(x.dtype, x.shape, Fill::Plain, 7)}};
        EXPECT_EQ(difference(interpret(scan, inputs), interpret(definition, inputs)), "");
        if (n < 33) continue;
        const auto [steps, scans] = work_of(scan);
        EXPECT_GE(scans, 1);
        EXPECT_LE(steps, 6.0 * 5 * static_cast<double>(n + 3));
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
}

TEST(Scans, EverySpellingIsCompiled) {
  for (const Spelling& row : kSpellings)
    for (const int64_t n : {0, 1, 17, 40})
      check_row({fmt::format("{} n {}", row.id, n),
                 row.scan,
                 "f",
                 {of(row.is_integer ? DType::I32 : DType::F32, {5, n})},
                 {}});
}

// Few long scans are cut in chunks, with a rest or without; values are as of one pass.
TEST(Scans, LongOnesAreCut) {
  const int64_t n = 32768, odd = 40961;
  const char* merged =
      "def f(x[m, n]) y[m, i < n] = fold[j <= i](a = 1.0, b = 0.0 : a * 0.5, b * 0.5 + x[m, j] : a * a', b * a' + b')";
  for (const DifferentialRow& row : std::vector<DifferentialRow>{
           {"whole chunks", "", "cumsum", {f32({n})}, {}},
           {"a rest", "", "cumsum", {f32({odd})}, {}},
           {"several, a rest", "", "cumsum", {f32({3, odd})}, {}},
           {"first axis", "", "cumsum", {f32({odd, 3})}, {{"axis", int64_t{0}}}},
           {"backwards", "", "cumsum_reverse_exclusive", {f32({2, odd})}, {}},
           {"integers", "", "cumsum", {of(DType::I32, {odd})}, {}},
           {"f16", "def f(x[m, n]) y[m, i < n] = max[j <= i](x[m, j])", "f", {of(DType::F16, {2, odd})}, {}},
           {"where", "def f(x[m, n]) y[m, i < n] = argmax[j <= i](x[m, j])", "f", {of(DType::I32, {1, odd})}, {}},
           {"a merge", merged, "f", {f32({2, odd})}, {}},
           {"mean", "def f(x[n]) y[i < n] = mean[j < i + 1](x[j])", "f", {f32({odd})}, {}},
       }) {
    SCOPED_TRACE(row.id);
    const Graph graph = graph_of(row), cut = split_scans(graph);
    EXPECT_EQ(verify(cut), std::vector<std::string>{});
    EXPECT_GT(cut.nodes().size(), graph.nodes().size());
    check_row(row);
  }
  const Graph recurrence = graph_of(DifferentialRow{"", "", "linear_recurrence", {f32({odd}), f32({odd})}, {}});
  EXPECT_EQ(split_scans(recurrence).nodes().size(), recurrence.nodes().size());
}

// What mentions the outer index otherwise stays as it is written.
TEST(Scans, OtherBoundsStay) {
  for (const char* text : {
           "def f(x[m, n]) y[m, i < n] = sum[j <= i](x[m, j] * f32(i))",
           "def f(x[m, n]) y[m, i < n] = sum[j <= i](x[m, i - j])",
           "def f(x[m, n]) y[m, i < n] = sum[j < n - i](x[m, j])",
           "def f(x[m, n]) y[m, i < n] = sum[j < n - i](x[m, i + j] * f32(j))",
           "def f(x[m, n]) y[i < m, k < n] = sum[j < min(i, k)](x[0, j] else 0)",
           "def f(x[m, n]) y[m, i < n] = fold[j < n - i](h = 0 : h * 0.5 + x[m, i + j])",
           "def f(x[m, n]) y[m, i < n] = fold[j <= i](h = f32(i) : h * 0.5 + x[m, j])",
           "def f(x[m, n]) y[i < n] = fold[m, j <= i](h = 0 : h * 0.5 + x[m, j])",
           "def f(x[m, n]) y[i < n] = sum[j <= i, k <= i](x[0, j] * x[0, k])",
       }) {
    SCOPED_TRACE(text);
    EXPECT_EQ(work_of(graph_of(text, f32({5, 7}))).second, 0);
    check_row({text, text, "f", {f32({5, 7})}, {}});
  }
}

// The definitions of the library are one pass.
TEST(Scans, TheLibraryTakesThem) {
  const int64_t n = 64;
  for (const DifferentialRow& row : std::vector<DifferentialRow>{
           {"", "", "cumsum", {f32({3, n})}, {}},
           {"", "", "cumsum", {f32({n, 3})}, {{"axis", int64_t{0}}}},
           {"", "", "cumsum_reverse_exclusive", {f32({3, n})}, {}},
           {"", "", "onnx_cumsum", {f32({3, n})}, {{"axis", int64_t{1}}, {"exclusive", true}, {"reverse", false}}},
           {"", "", "onnx_cumsum", {f32({n, 3})}, {{"axis", int64_t{0}}, {"exclusive", true}, {"reverse", true}}},
           {"", "", "linear_recurrence", {f32({3, n}), f32({3, n})}, {}},
           {"",
            "",
            "selective_scan",
            {f32({1, n, 2}), f32({1, n, 2}), f32({2, 3}), f32({1, n, 3}), f32({1, n, 3})},
            {}},
       }) {
    SCOPED_TRACE(row.name);
    const auto [steps, scans] = work_of(graph_of(row));
    EXPECT_EQ(scans, 1);
    EXPECT_LE(steps, 16.0 * static_cast<double>(n));
    check_row(row);
  }
}

}  // namespace
}  // namespace frit::testing
