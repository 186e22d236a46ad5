// What a user reads after a mistake: whole texts, as LANGUAGE.md section 12 lays them out.
#include <gtest/gtest.h>

#include "golden.h"
#include "lang/snippet.h"

using namespace frit;
using namespace frit::testing;
using enum DType;

namespace {

struct Mistake {
  std::string file, text;
  std::vector<OperandSpec> operands;
  lang::Attributes attributes;
};

std::string message(const Mistake& mistake) {
  try {
    Library library(&layers());
    library.add(mistake.text, mistake.file + ".frit");
    const std::string all = mistake.text;
    // The last definition of the text is applied.
    const size_t def = all.rfind("def ") + 4;
    build(library, all.substr(def, all.find('(', def) - def), mistake.operands, mistake.attributes);
  } catch (const InternalError& error) {
    return std::string("INTERNAL ") + error.what();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

// The samples of the language's page, word for word.
TEST(SnippetErrors, Samples) {
  const std::pair<Mistake, std::string> rows[] = {
      {{"pool",
        "# One window.\n\ndef pool(x[n]; k, s, p)\n  y[i] = max[a < k](x[i*s + a - p])\n",
        {f32({32})},
        {{"k", 3}, {"s", 2}, {"p", 1}}},
       R"(pool.frit:4:21: read may leave the bounds of x
  4 |   y[i] = max[a < k](x[i*s + a - p])
    |                     ^~~~~~~~~~~~~~
  got       indices -1 to 31 into x[32]  (k = 3, s = 2, p = 1, i < 16)
  expected  0 to 31, or a guarded read
  fix       write x[i*s + a - p] else -inf, so that the border never wins)"},
      {{"blur", "def blur(x[n])\n  y[i] = sum[a](x[i + a])\n", {f32({32})}, {}},
       R"(blur.frit:2:5: cannot infer the extent of i and a
  2 |   y[i] = sum[a](x[i + a])
    |     ^
  got       one read that names both: x[i + a], x f32[32]
  expected  one unknown per position, or a bound
  fix       give one of them a bound, as in sum[a < 3])"},
      {{"dense",
        "def dense(x[.., k], w[n, k], b[n] = 0)\n  y[.., n] = sum[k](x[.., k] * w[n, k]) + b[n]\n",
        {f32({8, 64}), f32({10, 32})},
        {}},
       R"(dense.frit:1:26: k has two extents
  1 | def dense(x[.., k], w[n, k], b[n] = 0)
    |                          ^
  got       k = 64 from x f32[8, 64], k = 32 from w f32[10, 32]
  expected  the same extent in both
  fix       pass w f32[10, 64])"},
      {{"conv",
        "def conv(x[n, (g, c), h..], f[(g, o), c, k..]; g = 1)\n  y[n, (g, o), i..] = sum[c, k..](x[n, (g, c), (i + "
        "k)..] * f[(g, o), c, k..])\n",
        {f32({1, 10, 8, 8}), f32({8, 3, 3, 3})},
        {{"g", 4}}},
       R"(conv.frit:1:15: axis 1 of x does not split into (g, c)
  1 | def conv(x[n, (g, c), h..], f[(g, o), c, k..]; g = 1)
    |               ^~~~~~
  got       10 channels, g = 4  (x f32[1, 10, 8, 8])
  expected  a multiple of 4
  fix       pass a g that divides 10)"},
      {{"norm", "def norm(x[.., n])\n  y[.., n] = x[.., n] / n\n", {f32({2, 64})}, {}},
       R"(norm.frit:2:25: n is an index and an extent here
  2 |   y[.., n] = x[.., n] / n
    |                         ^
  got       the name n as a value, bound by y[.., n], and a dim of x
  expected  one meaning
  fix       write size(n) for 64, or index(n) for the position)"},
      {{"mm", "def mm(a[m, k], b[k, n])\n  y[m, n] = a[m, k] * b[k, n]\n", {f32({2, 3}), f32({3, 4})}, {}},
       R"(mm.frit:2:18: k is not bound
  2 |   y[m, n] = a[m, k] * b[k, n]
    |                  ^
  got       k on the right only
  expected  k left of =, or in a reducer's brackets
  fix       write sum[k](a[m, k] * b[k, n]))"},
      {{"idx", "def idx(t[n], s[n])\n  y[n] = t[n] + s[n]\n", {of(U64, {16}), of(I32, {16})}, {}},
       R"(idx.frit:2:15: u64 and i32 have no common type
  2 |   y[n] = t[n] + s[n]
    |               ^
  got       t u64[16], s i32[16]
  expected  types that promote
  fix       write i64(t[n]) + s[n] if the values allow it)"},
  };
  for (const auto& [mistake, want] : rows) EXPECT_EQ(message(mistake), want);
}

// Everything else that people get wrong; the texts are in golden/lang/errors.txt.
TEST(SnippetErrors, Golden) {
  const std::vector<Mistake> rows = {
      {"name", "def f(x[n]; scale = 1) y[n] = x[n] * scal", {f32({4})}, {}},
      {"function", "def f(x) = sigmod(x)", {f32({4})}, {}},
      {"unknown", "def f(x[n]) y[n] = x[n] + zzz", {f32({4})}, {}},
      {"attribute", "def f(x; axis = -1) = softmax(x, axs = axis)", {f32({4})}, {}},
      {"attribute_missing", "def f(x[n]; k) y[i] = x[i*k]", {f32({4})}, {}},
      {"attribute_given", "def f(x[n]; k = 2) y[i] = x[i*k]", {f32({4})}, {{"stride", 2}}},
      {"operand_as_attribute", "def g(x, b) = x + b\ndef f(x, b) = g(x, b = b)", {f32({4}), f32({4})}, {}},
      {"operand_missing", "def f(x, b) = x + b", {f32({4})}, {}},
      {"operands_too_many", "def f(x) = x", {f32({4}), f32({4})}, {}},
      {"type", "def f(x: float) = exp(x)", {of(I32, {4})}, {}},
      {"rank", "def f(x[n, c, h..]) y[n] = sum[c, h..](x[n, c, h..])", {f32({4})}, {}},
      {"rank_exact", "def f(x[m, n]) y[m] = sum[n](x[m, n])", {f32({4})}, {}},
      {"number", "def f(x[n, 3]) y[n] = sum[i < 3](x[n, i])", {f32({4, 5})}, {}},
      {"two_unknown", "def f(x[(a, b)]) y[a] = sum[b](x[(a, b)])", {f32({6})}, {}},
      {"axis", "def f(x[.., n @ axis]; axis) y[..] = sum[n](x[.., n])", {f32({4, 5})}, {{"axis", 2}}},
      {"axis_twice",
       "def f(x[.., r.. @ axes]; axes) y[..] = sum[r..](x[.., r..])",
       {f32({4, 5})},
       {{"axes", std::vector<int64_t>{1, -1}}}},
      {"broadcast", "def f(a, b) = a + b", {f32({2, 3}), f32({2, 4})}, {}},
      {"integer_exp", "def f(x) = exp(x)", {of(I32, {4})}, {}},
      {"integer_division", "def f(x[n]) y[n] = x[n] / 2", {of(I32, {4})}, {}},
      {"integer_mean", "def f(x[n]) y[] = mean[n](x[n])", {of(I32, {4})}, {}},
      {"two_bools", "def f(a, b) = a + b", {of(Bool, {4}), of(Bool, {4})}, {}},
      {"does_not_fit", "def f(x) = x + 300", {of(U8, {4})}, {}},
      {"static_division", "def f(x[n]) { k = size(n) / 2  y[i < k] = x[i] }", {f32({5})}, {}},
      {"float_position", "def f(x[n], p[m]) y[m] = x[floor(p[m])] else 0", {f32({4}), f32({3})}, {}},
      {"data_unguarded", "def f(x[n], t[m]) y[m] = x[t[m]]", {f32({4}), of(I32, {3})}, {}},
      {"out_of_bounds", "def f(x[n, c]) y[i < n, c] = x[i + 1, c]", {f32({4, 2})}, {}},
      {"in_a_sum", "def f(x[n]) y[i < n] = sum[a < 3](x[i + a - 1])", {f32({4})}, {}},
      {"exact_division", "def f(x[n]) y[i < n] = x[i / 2]", {f32({4})}, {}},
      {"two_extents", "def f(a[n], b[m]) y[i] = a[i] + b[i]", {f32({3}), f32({4})}, {}},
      {"guarded_only", "def f(x[n]) y[i] = x[i - 1] else 0", {f32({3})}, {}},
      {"unread", "def f(x[n]) y[i] = 1", {f32({3})}, {}},
      {"negative", "def f(x[n]) y[i < n - 5] = x[i]", {f32({3})}, {}},
      {"whole_in_indices", "def f(x[n], w) y[n] = x[n] * w", {f32({3}), f32({3})}, {}},
      {"formula_in_indices", "def f(x[n]) { u = x * 2  y[n] = x[n] * u }", {f32({3})}, {}},
      {"layer_in_indices", "def f(x[n]) y[n] = softmax(x[n])", {f32({3})}, {}},
      {"brackets_in_whole", "def f(x[n]) { y = x[n] * 2 }", {f32({3})}, {}},
      {"reducer_in_whole", "def f(x[n]) { y = x / sum[n](x[n]) }", {f32({3})}, {}},
      {"dim_with_bound", "def f(x[n]) y[n < 3] = x[n]", {f32({5})}, {}},
      {"twice", "def f(x) { y = x + 1  y = y + 1 }", {f32({5})}, {}},
      {"name_taken", "def f(x; k = 1) { k = 2  y = x * k }", {f32({5})}, {}},
      {"bound_twice", "def f(x[n]) y[i, i] = x[i]", {f32({5})}, {}},
      {"other_branch", "def f(x; a = 1) { if a == 2 { z = x }  return z }", {f32({5})}, {}},
      {"condition", "def f(x) { if x > 1 { y = x } else { y = -x }  return y }", {f32({5})}, {}},
      {"require",
       "def f(x[n]; k) { require k <= n, \"a window of {k} does not fit {n} elements\"  y[i] = x[i + k - 1] }",
       {f32({3})},
       {{"k", 5}}},
      {"require_called",
       "def g(x; k) { require k > 0, \"k is {k}\"  return x }\ndef f(x) = g(x, k = -1)",
       {f32({3})},
       {}},
      {"called", "def shift(x[n]) y[i < n] = x[i + 1]\ndef f(x) = shift(relu(x))", {f32({3})}, {}},
      {"recursion", "def f(x) = f(x) + 1", {f32({3})}, {}},
      {"recursion_of_two", "def g(x) = f(x)\ndef f(x) = g(x) + 1", {f32({3})}, {}},
      {"list_of_number", "def f(x[h..]; s = 1) y[(i < h)..] = x[(i*s[0])..]", {f32({3})}, {}},
      {"list_position", "def f(x; l) = x * l[3]", {f32({3})}, {{"l", std::vector<int64_t>{1, 2}}}},
      {"pattern_lengths",
       "def f(x[h..]; p) y[(i < h + p)..] = x[(i - p)..] else 0",
       {f32({3, 3})},
       {{"p", std::vector<int64_t>{1, 1, 1}}}},
      {"two_findings", "def f(x[n], z[n]) y[i < n] = x[i + 1] + z[i - 1]", {f32({3}), f32({3})}, {}},
      {"read_rank", "def f(x[m, n]) y[m] = x[m]", {f32({3, 3})}, {}},
      {"factors", "def f(x[(a, b)]; a = 2) y[a, b] = x[(a, b, a)]", {f32({6})}, {}},
      {"no_tuple", "def f(x[n]; g = 2) y[i < g, j < 3] = x[(i, j + 1)]", {f32({6})}, {}},
      {"absent_dim", "def f(x[n], b[m] = 0) y[n, m] = x[n] + b[m]", {f32({6}), absent()}, {}},
      {"dots_unbound", "def f(x[.., n]) y[n] = x[.., n]", {f32({6})}, {}},
      {"no_largest", "def f(x[n], t[m]) y[m] = sum[j < t[m]](x[j] else 0)", {f32({6}), of(I64, {2})}, {}},
      {"empty_argmax", "def f(x[n]) y[] = argmax[n](x[n])", {f32({0})}, {}},
      {"overflow", "def f(x) = x * (9223372036854775807 + 1)", {f32({2})}, {}},
      {"select_condition", "def f(x) = select(x, 1, 2)", {f32({2})}, {}},
      {"bits_of_float", "def f(x) = x & 1", {f32({2})}, {}},
      {"reshape", "def f(x) = reshape(x, [4, -1])", {f32({2, 3})}, {}},
      {"concat", "def f(a, b) = concat([a, b], axis = 0)", {f32({2, 3}), f32({2, 4})}, {}},
      {"write_undefined", "def f(x[n]) { y[n] = x[n]  for[n] z[n] += x[n] }", {f32({3})}, {}},
      {"write_operand", "def f(x[n], t[m]: int) { for[m] x[t[m]] = 0 }", {f32({3}), of(I64, {2})}, {}},
      {"write_attribute", "def f(x[n]; y = 1) { z = x  for[n] y[n] = x[n] }", {f32({3})}, {}},
      {"write_number", "def f(x[n]) { y = 1  for[n] y[n] = x[n] }", {f32({3})}, {}},
      {"write_rank", "def f(x[n]) { y[n] = x[n]  for[n] y[n, 0] += x[n] }", {f32({3})}, {}},
      {"write_dtype", "def f(x[n], u[n]) { y[n] = x[n]  for[n] y[n] += u[n] }", {of(I32, {3}), f32({3})}, {}},
      {"write_literal", "def f(x[n]) { y[n] = x[n]  for[n] y[n] += 0.5 }", {of(I32, {3})}, {}},
      {"write_large", "def f(x[n]) { y[n] = x[n]  for[n] y[n] = 300 }", {of(U8, {3})}, {}},
      {"write_bool", "def f(x[n]) { y[n] = x[n] > 0  for[n] y[n] += x[n] > 1 }", {f32({3})}, {}},
      {"write_position", "def f(x[n]) { y[n] = 0  for[n] y[floor(x[n])] += 1 }", {f32({3})}, {}},
      {"write_dots", "def f(x[.., n], u[.., n]) { y[.., n] = x[.., n]  for[.., n] y[.., n] += u[.., n] }",
       {f32({2, 3}), f32({4, 2, 3})}, {}},
      {"write_extent", "def f(x[n], t[m]: int) { y[n] = x[n]  for[i] y[i] = 1 }", {f32({3}), of(I64, {2})}, {}},
      {"write_read", "def f(x[n], u[m]) { y[n] = x[n]  for[i < n] y[i] = u[i + 1] }", {f32({3}), f32({3})}, {}},
      {"write_branch", "def f(x[n]; a = 0) { if a == 1 { y[n] = x[n] }  for[n] y[n] = 0 }", {f32({3})}, {}},
      {"sort_axis", "def f(x) { v, i = sort(x, axis = 2)  return i }", {f32({3, 2})}, {}},
      {"sort_number", "def f(x) { v = sort(x)  return v }", {f32({})}, {}},
      {"sort_two", "def f(x, y) { v = sort(x, y)  return v }", {f32({3}), f32({3})}, {}},
      {"sort_attribute", "def f(x) { v = sort(x, order = 1)  return v }", {f32({3})}, {}},
      {"sort_indices", "def f(x[n]) y[n] = sort(x)", {f32({3})}, {}},
      {"tuple_value", "def f(x) = x * (1, 2)", {f32({3})}, {}},
  };
  std::string all;
  for (const Mistake& mistake : rows) {
    const std::string text = message(mistake);
    EXPECT_EQ(text.find("INTERNAL"), std::string::npos) << text;
    EXPECT_NE(text, "no error") << mistake.file;
    all += text + "\n\n";
  }
  expect_golden("lang/errors.txt", all);
}
