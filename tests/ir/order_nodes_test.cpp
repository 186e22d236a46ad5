// Scans, scatters, sorts and custom gradients: what they compute, that their text reads back, that malformed ones are
// refused.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/interpreter.h"
#include "support/error.h"

using namespace frit;

namespace {

struct Row {
  const char* name;
  const char* graph;
  std::vector<std::vector<double>> results;
};

const double kNan = std::numeric_limits<double>::quiet_NaN();

const std::vector<Row> kRows = {
    {"inclusive prefix",
     R"(%0 = constant f32[2, 3] {1, 2, 3, 10, 20, 30}
%1 = compute f32[2, 3] reads %0 (b < 2; t < 3) sum(acc0 = 0.0 : acc0 + x0[b, t] : acc0 + acc0') -> acc0 [b, t]
output "y" = %1)",
     {{1, 3, 6, 10, 30, 60}}},
    {"prefix along the first axis, stored with the axis outermost",
     R"(%0 = constant f32[3, 2] {1, 2, 3, 10, 20, 30}
%1 = compute f32[3, 2] reads %0 (b < 2; t < 3) sum(acc0 = 0.0 : acc0 + x0[t, b] : acc0 + acc0') -> acc0 [t, b]
output "y" = %1)",
     {{1, 2, 4, 12, 24, 42}}},
    {"prefix along a middle axis",
     R"(%0 = constant f32[2, 3, 2] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
%1 = compute f32[2, 3, 2] reads %0 (a < 2, c < 2; t < 3) sum(acc0 = 0.0 : acc0 + x0[a, t, c] : acc0 + acc0') -> acc0 [a, t, c]
output "y" = %1)",
     {{1, 2, 4, 6, 9, 12, 7, 8, 16, 18, 27, 30}}},
    {"exclusive prefix, the last state, and a value that reads the step",
     R"(%0 = constant f32[4] {1, 2, 3, 4}
%1 = compute f32[4], f32[], f32[4] reads %0 (; t < 4) fold(acc0 = 0.0, acc1 = 0.0 : acc1, acc1 + x0[t]) -> acc0 [t]; acc1; acc1*x0[t] [t]
output "before" = %1
output "last" = %1.1
output "scaled" = %1.2)",
     {{0, 1, 3, 6}, {10}, {1, 6, 18, 40}}},
    {"linear recurrence",
     R"(%0 = constant f32[3] {2, 3, 4}
%1 = constant f32[3] {1, 1, 1}
%2 = compute f32[3] reads %0, %1 (; t < 3) fold(acc0 = 0.0 : x0[t]*acc0 + x1[t]) -> acc0 [t]
output "y" = %2)",
     {{1, 4, 17}}},
    {"prefix of nothing",
     R"(%0 = constant f32[2, 0] {}
%1 = compute f32[2, 0] reads %0 (b < 2; t < 0) sum(acc0 = 0.0 : acc0 + x0[b, t] : acc0 + acc0') -> acc0 [b, t]
output "y" = %1)",
     {{}}},
    {"add to repeated positions, skip those outside",
     R"(%0 = constant f32[3] {10, 20, 30}
%1 = constant i32[5] {0, 2, 0, 3, -1}
%2 = constant f32[5] {1, 2, 4, 8, 16}
%3 = scatter f32[3] reads %0, %1, %2 (i < 5) [i64(x1[i])] add x2[i]
output "y" = %3)",
     {{15, 20, 32}}},
    {"the last write stays and reads the version before",
     R"(%0 = constant f32[3] {10, 20, 30}
%1 = scatter f32[3] reads %0 (i < 4) [i % 2] set x0[1] + x0[0]
output "y" = %1)",
     {{30, 30, 30}}},
    {"max lets NaN win; integers wrap",
     R"(%0 = constant f32[2] {0, 0}
%1 = constant f32[3] {nan, 5, -1}
%2 = scatter f32[2] reads %0, %1 (i < 3) [i % 2] max x1[i]
%3 = constant u8[1] {250}
%4 = scatter u8[1] reads %3 (i < 2) [0] add 10_u8
output "m" = %2
output "w" = %4)",
     {{kNan, 5}, {14}}},
    {"f16 sums are rounded once",
     R"(%0 = constant f16[1] {2048}
%1 = scatter f16[1] reads %0 (i < 3) [0] add 1.0
output "y" = %1)",
     {{2052}}},
    {"sort, stable, NaN last",
     R"(%0 = constant f32[6] {3, nan, 1, 3, -0, 0}
%1 = sort f32[6], i64[6] reads %0 axis 0 ascending
%2 = sort f32[6], i64[6] reads %0 axis 0 descending
output "v" = %1
output "i" = %1.1
output "w" = %2
output "j" = %2.1)",
     {{0, 0, 1, 3, 3, kNan}, {4, 5, 2, 0, 3, 1}, {3, 3, 1, 0, 0, kNan}, {0, 3, 2, 4, 5, 1}}},
    {"sort along the first axis",
     R"(%0 = constant u64[3, 2] {18446744073709551615, 1, 0, 3, 5, 2}
%1 = sort u64[3, 2], i64[3, 2] reads %0 axis 0 ascending
output "i" = %1.1)",
     {{1, 0, 2, 2, 0, 1}}},
    {"a custom gradient is its values",
     R"(%0 = input f32[2] "x"
%1 = compute f32[2] reads %0 (i < 2) -> x0[i]*x0[i]
%2 = custom_gradient f32[2] reads %0, %1 operands 1 [0] {
%0 = input f32[2] "x"
%1 = input f32[2] "y"
%2 = input f32[2] "dy"
output "dx" = %2
}  # square
output "y" = %2)",
     {{9, 16}}},
};

TEST(OrderNodes, ComputeWhatTheySay) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    const Graph graph = parse_graph(row.graph);
    EXPECT_EQ(verify(graph), std::vector<std::string>{});
    Array x(DType::F32, {2});
    x.set_float(0, 3), x.set_float(1, 4);
    const std::vector<ReferenceTensor> got = interpret(graph, {{"x", x}});
    ASSERT_EQ(got.size(), row.results.size());
    for (size_t r = 0; r < got.size(); ++r) {
      const size_t n = is_float(got[r].dtype) ? got[r].values.size() : got[r].integers.size();
      ASSERT_EQ(n, row.results[r].size());
      for (size_t i = 0; i < n; ++i) {
        const double want = row.results[r][i];
        const double value = is_float(got[r].dtype) ? got[r].values[i] : static_cast<double>(got[r].integers[i]);
        EXPECT_TRUE(value == want || (std::isnan(value) && std::isnan(want))) << r << "[" << i << "] is " << value;
      }
    }
  }
}

TEST(OrderNodes, TextReadsBack) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    const Graph graph = parse_graph(row.graph);
    const std::string text = to_string(graph);
    const Graph again = parse_graph(text);
    EXPECT_EQ(to_string(again), text);
    EXPECT_EQ(hash(again), hash(graph));
  }
}

TEST(OrderNodes, MalformedTextIsRefused) {
  const char* bad[] = {
      "%0 = constant f32[2] {1, 2}\n%1 = scatter f32[2] reads %0 (i < 2) [i, i] add x0[i]",   // rank
      "%0 = constant f32[2] {1, 2}\n%1 = scatter f32[2] reads %0 (i < 2) [i] plus x0[i]",     // no such write
      "%0 = constant f32[2] {1, 2}\n%1 = scatter f32[2] reads %0 (i < 2) [i] add i",          // dtype
      "%0 = constant f32[2] {1, 2}\n%1 = sort f32[2], i64[2] reads %0 axis 1 ascending",      // axis
      "%0 = constant f32[2] {1, 2}\n%1 = sort f32[2], i64[2] reads %0 axis 0",                // order
      "%0 = constant f32[2] {1, 2}\n%1 = custom_gradient f32[2] reads %0 operands 0 [] {",    // open clause
      "%0 = constant f32[2] {1, 2}\n%1 = custom_gradient f32[2] reads %0 operands 0 [] {\n}"  // inputs of the clause
      ,
      // two reduced axes
      "%0 = constant f32[2, 2] {1, 2, 3, 4}\n%1 = compute f32[2] reads %0 (; a < 2, b < 2) sum(acc0 = 0.0 : acc0 + x0[a, "
      "b] : acc0 + acc0') -> acc0 [b]",
  };
  for (const char* text : bad) {
    SCOPED_TRACE(text);
    EXPECT_THROW(parse_graph(text), InputError);
  }
}

}  // namespace
