// Scans: one pass over the data, compiled as the definition says, at every shape, axis and dtype.
#include <fmt/format.h>

#include "compiler/differential.h"

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

}  // namespace
}  // namespace frit::testing
