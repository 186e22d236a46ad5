// `for` writes and `sort` of the language, compiled against the interpreter; what they mean, against values by hand.
#include <fmt/format.h>

#include "compiler/differential.h"
#include "lang/snippet_run.h"

namespace frit::testing {
namespace {

using enum DType;
using Rows = std::vector<DifferentialRow>;

void check(const Rows& rows) {
  for (const DifferentialRow& row : rows) check_row(row);
}

const std::vector<int64_t> kSizes = {0, 1, 2, 7, 16, 17, 33, 129};
const std::vector<DType> kTypes = {F32, F64, F16, BF16, I32, I64, U8};

TEST(Writes, Library) {
  Rows rows;
  for (const int64_t n : kSizes) {
    for (const int64_t axis : {0, 1, -1})
      rows.push_back({fmt::format("scatter_add {} axis {}", n, axis),
                      "",
                      "scatter_add",
                      {f32({9, n}), of(I64, {axis == 0 ? 13 : 9, n}), f32({axis == 0 ? 13 : 9, n})},
                      {{"axis", axis}},
                      Fill::Index});
    rows.push_back(
        {fmt::format("one axis {}", n), "", "scatter_add", {f32({9}), of(I32, {n}), f32({n})}, {}, Fill::Index});
    rows.push_back({fmt::format("cache {}", n),
                    "",
                    "cache_append",
                    {f32({2, 3, 11, n}), f32({2, 3, 4, n}), of(I64, {})},
                    {},
                    Fill::Index});
    for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
      rows.push_back({fmt::format("ScatterElements {} {}", reduction, n),
                      "",
                      "onnx.ScatterElements.16",
                      {f32({9, n}), of(I64, {13, n}), f32({13, n})},
                      {{"reduction", reduction}},
                      Fill::Index});
      rows.push_back({fmt::format("ScatterND {} {}", reduction, n),
                      "",
                      "onnx.ScatterND.16",
                      {f32({5, 4, n}), of(I64, {13, 2}), f32({13, n})},
                      {{"reduction", reduction}},
                      Fill::Index});
    }
  }
  for (const DType dtype : kTypes)
    rows.push_back({fmt::format("cache {}", name(dtype)),
                    "",
                    "cache_append",
                    {of(dtype, {1, 2, 300, 8}), of(dtype, {1, 2, 4, 8}), of(I64, {})},
                    {},
                    Fill::Index});
  check(rows);
}

TEST(Writes, Sorts) {
  Rows rows;
  for (const DType dtype : {F32, F64, F16, BF16, I8, I32, I64, U8, U32, U64, Bool})
    for (const int64_t n : {0, 1, 2, 17, 64, 65, 1000})
      for (const bool descending : {false, true})
        rows.push_back(
            {fmt::format("{} {} {}", name(dtype), n, descending),
             fmt::format("def f(x) {{ v, i = sort(x, axis = 1, descending = {})  return v, i }}", descending),
             "f",
             {of(dtype, {2, n, 3})},
             {},
             Fill::Special});
  for (const int64_t k : {0, 1, 5, 33})
    for (const int64_t axis : {0, -1})
      rows.push_back(
          {fmt::format("topk {} {}", k, axis), "", "topk", {f32({33, 33})}, {{"k", k}, {"axis", axis}}, Fill::Special});
  rows.push_back({"values alone", "def f(x) = sort(-x)", "f", {f32({3, 50})}, {}, Fill::Special});
  rows.push_back({"positions alone", "def f(x) { v, i = sort(x)  return i }", "f", {of(U8, {3, 50})}, {}});
  rows.push_back({"100000", "def f(x) { v, i = sort(x)  return v, i }", "f", {f32({100000})}, {}, Fill::Special});
  rows.push_back({"100000 wide",
                  "def f(x) { v, i = sort(x, descending = true)  return v, i }",
                  "f",
                  {of(I64, {100000})},
                  {},
                  Fill::Special});
  check(rows);
}

TEST(Writes, Forms) {
  check({
      {"histogram", "def f(t[n]: int) { y[i < 7] = 0  for[n] y[t[n]] += 1 }", "f", {of(I64, {500})}, {}, Fill::Index},
      {"histogram of rows",
       "def f(t[.., n]: int) { y[i < 7] = 0  for[.., n] y[t[.., n]] += 1 }",
       "f",
       {of(I64, {5, 3, 40})},
       {},
       Fill::Index},
      {"leading dims",
       "def f(x[.., n], t[.., m]: int, u[.., m]) { y[.., n] = x[.., n]  for[.., m] y[.., t[.., m]] += u[.., m] }",
       "f",
       {f32({3, 2, 8}), of(I32, {2, 30}), f32({3, 1, 30})},
       {},
       Fill::Index},
      {"bound by an index", "def f(x[n]) { y[n] = x[n]  for[i < n, j <= i] y[j] += x[i - j] }", "f", {f32({40})}, {}},
      {"bound by data",
       "def f(x[n], c[n]: int, u[n, m]) { y[n] = x[n]  for[n, j < min(c[n], size(m))] y[n] += u[n, j] }",
       "f",
       {f32({40}), of(I64, {40}), f32({40, 9})},
       {},
       Fill::Index},
      {"one element, bound by data",
       "def f(c[]: int, u[m]) { y[] = 1.0  for[j < min(c[], size(m))] y[] += u[j] }",
       "f",
       {of(I64, {}), f32({9})},
       {},
       Fill::Index},
      {"one element", "def f(u[m]) { y[] = 0.5  for[m] y[] += u[m] }", "f", {f32({99})}, {}},
      {"exact division", "def f(x[n]) { y[i < n] = 0.0  for[n] y[(n - 3) / 2] += x[n] }", "f", {f32({41})}, {}},
      {"factor by factor",
       "def f(x[(g, c)], t[m]: int, u[g, m]; g = 4) { y[(g, c)] = x[(g, c)]  for[g, m] y[(g, t[m])] += u[g, m] }",
       "f",
       {f32({20}), of(I64, {30}), f32({4, 30})},
       {},
       Fill::Index},
      {"a reduction inside",
       "def f(x[n], t[m]: int, u[m, k]) { y[n] = x[n]  for[m] y[t[m]] += sum[k](u[m, k]) }",
       "f",
       {f32({8}), of(I64, {30}), f32({30, 17})},
       {},
       Fill::Index},
      {"guarded reads",
       "def f(x[n], t[m]: int) { y[n] = x[n]  for[m] y[(t[m + 1] else 0)] += x[t[m]] else 5 }",
       "f",
       {f32({8}), of(I64, {30})},
       {},
       Fill::Index},
      {"twice",
       "def f(x[n], t[m]: int) { y[n] = x[n]  for[m] y[t[m]] = 1  for[m] y[t[m] + 1] *= y[m % n] + 2 }",
       "f",
       {f32({8}), of(I64, {30})},
       {},
       Fill::Index},
      {"both versions are read",
       "def f(x[n], t[m]: int) { y[n] = 2*x[n]  z = y  for[m] y[t[m]] = 1  return y, z, y + z }",
       "f",
       {f32({8}), of(I64, {30})},
       {},
       Fill::Index},
      {"bools", "def f(t[m]: int) { y[i < 8] = false  for[m] y[t[m]] = true }", "f", {of(I64, {5})}, {}, Fill::Index},
      {"limits",
       "def f(t[m]: int, u[m]: int) { y[i < 8] = cast(0, i32)  for[m] y[t[m]] max= u[m]  for[m] y[t[m] + 1] = -inf }",
       "f",
       {of(I64, {5}), of(I64, {5})},
       {},
       Fill::Index},
      {"integers wrap into u8",
       "def f(x[n]: u8, u[m]: int) { y[n] = x[n]  for[m] y[m % n] += u[m] }",
       "f",
       {of(U8, {8}), of(I64, {50})},
       {},
       Fill::Special},
      {"f16 accumulates in f32",
       "def f(x[n], t[m]: int, u[m]) { y[n] = x[n]  for[m] y[t[m]] += u[m]  for[m] y[t[m]] *= 1.5 }",
       "f",
       {of(F16, {8}), of(I64, {500}), of(F16, {500})},
       {},
       Fill::Index},
      {"whole tensors",
       "def f(x, t[m]: int) { y = x * 2  for[m] y[t[m]] += 1 }",
       "f",
       {f32({8}), of(I64, {30})},
       {},
       Fill::Index},
  });
}

// Order, masks and roundings by hand.
TEST(Writes, Values) {
  const std::vector<SnippetRow> rows = {
      {"the last write stays",
       "def f(x[n]) { y[i < 2] = 0.0  for[n] y[n % 2] = x[n] }",
       "f",
       {vec({1, 2, 3, 4, 5})},
       {},
       {vec({5, 4})}},
      {"order of the indices",
       "def f(x[i, j]) { y[k < 1] = 0.0  for[i, j] y[(i + j) % 2] = x[i, j] }",
       "f",
       {tensor({3, 2}, {1, 2, 3, 4, 5, 6})},
       {},
       {vec({5})}},
      {"order by @",
       "def f(x[i, j]) { y[k < 1] = 0.0  for[i @ 1, j @ 0] y[(i + j) % 2] = x[i, j] }",
       "f",
       {tensor({3, 2}, {1, 2, 3, 4, 5, 6})},
       {},
       {vec({4})}},
      {"the version before is read",
       "def f(x[n]) { y[n] = x[n]  for[i < n - 1] y[i + 1] += y[i] }",
       "f",
       {vec({1, 2, 3, 4})},
       {},
       {vec({1, 3, 5, 7})}},
      {"a masked index does not write",
       "def f(x[n]) { y[n] = x[n]  for[i < n, j < i] y[j] = 9 }",
       "f",
       {vec({1, 2, 3})},
       {},
       {vec({9, 9, 3})}},
      {"an inner factor outside",
       "def f(x[(g, c)], t[m]: int; g = 2) { y[(g, c)] = x[(g, c)]  for[g, m] y[(g, t[m])] += 1 }",
       "f",
       {vec({0, 0, 0, 0}), vec({1, 2, -1}, I64)},
       {},
       {vec({0, 1, 0, 1})}},
      {"a remainder is outside",
       "def f(x[n]) { y[i < 3] = 0.0  for[n] y[n / 2] += x[n] }",
       "f",
       {vec({1, 2, 4, 8, 16, 32, 64})},
       {},
       {vec({1, 4, 16})}},
      {"f16 is rounded once",
       "def f(x[n]: f16) { y[i < 1] = f16(2048)  for[n] y[0] += x[n] }",
       "f",
       {filled({5}, 1, F16)},
       {},
       {vec({2052}, F16)}},
      {"a cast rounds",
       "def f(x[n]: f32) { y[i < 1] = f16(0)  for[n] y[0] = x[n]  z[] = f32(y[0]) }",
       "f",
       {vec({2049})},
       {},
       {number(2048)}},
      {"a huge position of u64",
       "def f(t[m]: u64) { y[i < 2] = 0  for[m] y[t[m]] = 1 }",
       "f",
       {vec({1, 1.3835058055282164e19}, U64)},
       {},
       {vec({0, 1}, I64)}},
      {"sort",
       "def f(x) { v, i = sort(x)  return v, i }",
       "f",
       {vec({3, NAN, 1, 3, -0.0, 0})},
       {},
       {vec({-0.0, 0, 1, 3, 3, NAN}), vec({4, 5, 2, 0, 3, 1}, I64)}},
      {"sort descending",
       "def f(x) { v, i = sort(x, descending = true)  return v, i }",
       "f",
       {vec({3, NAN, 1, 3, -0.0, 0})},
       {},
       {vec({3, 3, 1, -0.0, 0, NAN}), vec({0, 3, 2, 4, 5, 1}, I64)}},
  };
  for (const SnippetRow& row : rows) check_row(row);
}

}  // namespace
}  // namespace frit::testing
