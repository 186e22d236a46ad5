// Snippets of every kind at awkward sizes: what is compiled agrees with the definition.
#include "compiler/differential.h"

#include <fmt/format.h>

namespace frit::testing {
namespace {

using enum DType;
using L = std::vector<int64_t>;
using Rows = std::vector<DifferentialRow>;

void check(const Rows& rows) {
  for (const DifferentialRow& row : rows) check_row(row);
}

// One element, one past a vector and a tile, primes, none.
const std::vector<int64_t> kSizes = {0, 1, 2, 7, 15, 16, 17, 31, 33, 63, 65, 129};

TEST(Differential, Elementwise) {
  Rows rows;
  for (const int64_t n : kSizes) {
    rows.push_back({fmt::format("fma {}", n),
                    "def f(a, b, c) = a * b + c - a / (abs(b) + 1)",
                    "f",
                    {f32({n}), f32({n}), f32({n})},
                    {}});
    rows.push_back(
        {fmt::format("broadcast column {}", n), "def f(a, b) = a + b * 2", "f", {f32({3, n}), f32({3, 1})}, {}});
    rows.push_back({fmt::format("broadcast row {}", n), "def f(a, b) = max(a, b)", "f", {f32({n, 5}), f32({5})}, {}});
    rows.push_back(
        {fmt::format("outer {}", n), "def f(a[i], b[j]) y[i, j] = a[i] * b[j]", "f", {f32({n}), f32({17})}, {}});
    rows.push_back({fmt::format("middle {}", n), "def f(a, b) = a - b", "f", {f32({2, n, 3}), f32({2, 1, 3})}, {}});
    rows.push_back({fmt::format("f16 {}", n), "def f(a, b) = a * b + 1", "f", {of(F16, {n}), of(BF16, {n})}, {}});
    rows.push_back({fmt::format("index values {}", n),
                    "def f(a[i, j]) y[i, j] = a[i, j] + f32(index(i) * 3 + index(j))",
                    "f",
                    {f32({3, n})},
                    {}});
    rows.push_back({fmt::format("triangle {}", n), "", "trilu", {f32({n, n})}, {{"k", 1}}});
  }
  check(rows);
}

TEST(Differential, Functions) {
  Rows rows;
  for (const char* name : {"abs(x)",        "sign(x)",         "floor(x*9)",  "ceil(x*9)",
                           "round(x*9)",    "trunc(x*9)",      "sqrt(x)",     "rsqrt(x)",
                           "square(x)",     "reciprocal(x)",   "exp(x)",      "exp2(x)",
                           "expm1(x)",      "log(x)",          "log2(x)",     "log1p(x)",
                           "erf(x)",        "sigmoid(x)",      "softplus(x)", "sin(x*50)",
                           "cos(x*50)",     "tan(x)",          "asin(x)",     "acos(x)",
                           "atan(x)",       "sinh(x)",         "cosh(x)",     "tanh(x)",
                           "asinh(x)",      "acosh(x+2)",      "atanh(x)",    "select(isnan(x), 1, 0)*1.0",
                           "f32(isinf(x))", "f32(isfinite(x))"}) {
    for (const Fill fill : {Fill::Plain, Fill::Special})
      rows.push_back({fmt::format("{} {}", name, static_cast<int>(fill)),
                      fmt::format("def f(x) = {}", name),
                      "f",
                      {f32({67})},
                      {},
                      fill});
  }
  for (const char* name : {"pow(x, y)", "atan2(x, y)", "logaddexp(x, y)", "min(x, y)", "max(x, y)", "x // y", "x % y",
                           "tdiv(x, y)", "tmod(x, y)", "fma(x, y, x)", "clamp(x, -0.5, y)"}) {
    for (const Fill fill : {Fill::Plain, Fill::Special, Fill::Positive})
      rows.push_back({fmt::format("{} {}", name, static_cast<int>(fill)),
                      fmt::format("def f(x, y) = {}", name),
                      "f",
                      {f32({67}), f32({67})},
                      {},
                      fill});
  }
  check(rows);
}

TEST(Differential, Casts) {
  Rows rows;
  const std::vector<DType> all = {Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64};
  for (const DType from : all) {
    for (const DType to : all)
      rows.push_back({fmt::format("{} to {}", name(from), name(to)),
                      fmt::format("def f(x) = {}(x)", name(to)),
                      "f",
                      {of(from, {37})},
                      {},
                      Fill::Special});
  }
  rows.push_back(
      {"bits", "def f(x) = bitcast(bitcast(x, u32) ^ u32(0x80000000), f32)", "f", {f32({37})}, {}, Fill::Special});
  rows.push_back({"mixed widths",
                  "def f(a, b, c, d) = select(a, f32(b), f32(c)) + f32(d)",
                  "f",
                  {of(Bool, {35}), of(I64, {35}), of(U8, {35}), of(I16, {35})},
                  {}});
  check(rows);
}

TEST(Differential, Integers) {
  Rows rows;
  for (const DType t : {I8, I16, I32, I64, U8, U16, U32, U64}) {
    const std::string text =
        "def f(a, b) { return a + b, a * b, a // b, a % b, tdiv(a, b), tmod(a, b), cdiv(a, b), a << (b % 9), "
        "a >> (b % 9), min(a, b), max(a, b), a & b, a | b, a ^ b, abs(a) }";
    for (const Fill fill : {Fill::Plain, Fill::Special, Fill::Positive})
      rows.push_back(
          {fmt::format("{} {}", name(t), static_cast<int>(fill)), text, "f", {of(t, {35}), of(t, {35})}, {}, fill});
    rows.push_back({fmt::format("shifts {}", name(t)),
                    "def f(a, b) { return a << b, a >> b }",
                    "f",
                    {of(t, {35}), of(t, {35})},
                    {},
                    Fill::Index});
    rows.push_back(
        {fmt::format("sum {}", name(t)), "def f(a[i, j]) y[i] = sum[j](a[i, j])", "f", {of(t, {3, 35})}, {}});
    rows.push_back(
        {fmt::format("max {}", name(t)), "def f(a[i, j]) y[j] = max[i](a[i, j])", "f", {of(t, {5, 35})}, {}});
    rows.push_back({fmt::format("product {}", name(t)),
                    "def f(a[m, k], b[k, n]) y[m, n] = sum[k](a[m, k] * b[k, n])",
                    "f",
                    {of(t, {5, 7}), of(t, {7, 19})},
                    {}});
    rows.push_back({fmt::format("compare {}", name(t)),
                    "def f(a, b) { return a < b, a <= b, a == b, a != b, a > b }",
                    "f",
                    {of(t, {35}), of(t, {35})},
                    {},
                    Fill::Index});
  }
  rows.push_back({"bools",
                  "def f(a, b) { return a and b, a or b, not a, a ^ b, a == b }",
                  "f",
                  {of(Bool, {35}), of(Bool, {35})},
                  {}});
  rows.push_back({"compare mixed",
                  "def f(a, b) { return a < b, a == b }",
                  "f",
                  {of(U64, {35}), of(I64, {35})},
                  {},
                  Fill::Special});
  rows.push_back({"quantized product",
                  "def f(a[m, k], b[k, n]) y[m, n] = sum[k](i32(a[m, k]) * i32(b[k, n]))",
                  "f",
                  {of(U8, {7, 33}), of(I8, {33, 17})},
                  {}});
  check(rows);
}

TEST(Differential, Reductions) {
  Rows rows;
  const std::vector<const char*> reducers = {"sum", "prod", "max", "min", "mean", "argmax", "argmin"};
  for (const char* reducer : reducers) {
    for (const int64_t n : {1, 2, 7, 16, 17, 33, 65, 129}) {
      const auto add = [&](const char* what, const std::string& text, const L& shape) {
        rows.push_back({fmt::format("{} {} {}", reducer, what, n), text, "f", {f32(shape)}, {}});
      };
      add("all", fmt::format("def f(x[n]) y[] = {}[n](x[n])", reducer), {n});
      add("last", fmt::format("def f(x[i, n]) y[i] = {}[n](x[i, n])", reducer), {5, n});
      add("first", fmt::format("def f(x[n, i]) y[i] = {}[n](x[n, i])", reducer), {n, 19});
      add("middle", fmt::format("def f(x[i, n, j]) y[i, j] = {}[n](x[i, n, j])", reducer), {3, n, 7});
      add("two", fmt::format("def f(x[i, n, j]) y[n] = {}[i, j](x[i, n, j])", reducer), {3, n, 18});
      add("two inner", fmt::format("def f(x[i, n, j]) y[i] = {}[n, j](x[i, n, j])", reducer), {3, n, 5});
    }
    for (const Fill fill : {Fill::Special})
      for (const int64_t n : {3, 40})
        rows.push_back({fmt::format("{} special {}", reducer, n),
                        fmt::format("def f(x[i, n]) y[i] = {}[n](x[i, n])", reducer),
                        "f",
                        {f32({5, n})},
                        {},
                        fill});
  }
  for (const char* reducer : {"any", "all"})
    for (const int64_t n : {0, 1, 17, 70})
      for (const char* text : {"def f(x[i, n]) y[i] = {}[n](x[i, n])", "def f(x[n, i]) y[i] = {}[n](x[n, i])"})
        rows.push_back(
            {fmt::format("{} {}", reducer, n), fmt::format(fmt::runtime(text), reducer), "f", {of(Bool, {3, n})}, {}});
  for (const char* reducer : {"sum", "prod", "max", "min", "mean"})
    rows.push_back({fmt::format("{} empty", reducer),
                    fmt::format("def f(x[i, n]) y[i] = {}[n](x[i, n])", reducer),
                    "f",
                    {f32({3, 0})},
                    {}});
  rows.push_back({"big row", "def f(x[n]) y[] = sum[n](x[n])", "f", {f32({100003})}, {}});
  rows.push_back({"big row squares", "def f(x[i, n]) y[i] = sum[n](square(x[i, n]))", "f", {f32({2, 40001})}, {}});
  rows.push_back({"big columns", "def f(x[n, i]) y[i] = sum[n](x[n, i])", "f", {f32({20011, 3})}, {}});
  rows.push_back({"f16 sum", "def f(x[i, n]) y[i] = sum[n](x[i, n])", "f", {of(F16, {3, 1000})}, {}});
  rows.push_back({"f64 sum", "def f(x[i, n]) y[i] = sum[n](x[i, n])", "f", {of(F64, {3, 1000})}, {}});
  rows.push_back({"masked",
                  "def f(x[i, n], t[i]: int) y[i] = sum[j < clamp(t[i], 0, n)](x[i, j])",
                  "f",
                  {f32({9, 21}), of(I32, {9})},
                  {},
                  Fill::Index});
  rows.push_back({"masked max",
                  "def f(x[i, n], t[i]: int) y[i] = max[j < clamp(t[i], 0, n)](x[i, j])",
                  "f",
                  {f32({9, 21}), of(I32, {9})},
                  {},
                  Fill::Index});
  rows.push_back({"guarded", "def f(x[n]) y[i < n + 3] = sum[j < 5](x[i - 3 + j] else 0)", "f", {f32({37})}, {}});
  check(rows);
}

TEST(Differential, Folds) {
  Rows rows;
  for (const int64_t n : {1, 2, 15, 16, 17, 65, 129}) {
    rows.push_back({fmt::format("moments {}", n), "", "moments", {f32({3, n})}, {}});
    rows.push_back({fmt::format("logsumexp {}", n), "", "logsumexp", {f32({5, n})}, {}});
    rows.push_back({fmt::format("logsumexp special {}", n), "", "logsumexp", {f32({5, n})}, {}, Fill::Special});
    rows.push_back({fmt::format("sequential {}", n),
                    "def f(a[i, n]) y[i] = fold[n](s = 1.0 : s*0.5 + a[i, n])",
                    "f",
                    {f32({3, n})},
                    {}});
    rows.push_back({fmt::format("sequential column {}", n),
                    "def f(a[n, i]) y[i] = fold[n](s = 1.0 : s*0.5 + a[n, i])",
                    "f",
                    {f32({n, 18})},
                    {}});
    rows.push_back({fmt::format("two states {}", n),
                    "def f(a[n, i]) p[i], q[i] = fold[n](s = 0.0, t = 1.0 : s + t*a[n, i], t*0.9)",
                    "f",
                    {f32({n, 18})},
                    {}});
    rows.push_back({fmt::format("cumsum {}", n), "", "cumsum", {f32({3, n})}, {}});
    rows.push_back({fmt::format("cumsum 0 {}", n), "", "cumsum", {f32({n, 18})}, {{"axis", 0}}});
    rows.push_back({fmt::format("reverse {}", n), "", "cumsum_reverse_exclusive", {f32({2, n})}, {}});
    rows.push_back({fmt::format("recurrence {}", n), "", "linear_recurrence", {f32({2, n}), f32({2, n})}, {}});
    rows.push_back({fmt::format("argmax last {}", n), "", "argmax_last", {f32({4, n})}, {}});
  }
  rows.push_back({"selective scan",
                  "",
                  "selective_scan",
                  {f32({2, 9, 5}), f32({2, 9, 5}), f32({5, 4}), f32({2, 9, 4}), f32({2, 9, 4}), f32({5})},
                  {}});
  check(rows);
}

TEST(Differential, Windows) {
  Rows rows;
  const auto pool = [&](const char* name, const L& shape, const lang::Attributes& attributes) {
    rows.push_back({fmt::format("{} {} row {}", name, shape.back(), rows.size()), "", name, {f32(shape)}, attributes});
  };
  for (const char* name : {"max_pool", "avg_pool"}) {
    for (const int64_t n : {5, 17, 33}) {
      pool(name, {2, 3, n}, {{"k", 3}, {"s", 2}, {"p", 1}});
      pool(name, {1, 17, n, n + 1}, {{"k", L{3, 3}}, {"s", 2}, {"p", 1}});
      pool(name, {1, 16, n, n}, {{"k", L{2, 2}}, {"s", 2}});
      pool(name, {1, 5, n, n}, {{"k", L{3, 3}}, {"s", 1}, {"p", 1}});
      pool(name, {1, 4, n, n}, {{"k", L{3, 3}}, {"s", 2}, {"ceil_mode", true}});
      pool(name, {2, 3, n, 6}, {{"k", L{2, 3}}, {"s", L{1, 2}}, {"p", L{1, 0}}, {"q", L{0, 2}}, {"d", L{2, 1}}});
    }
    pool(name, {1, 3, 5, 6, 7}, {{"k", L{2, 2, 2}}, {"s", 1}, {"p", 1}});
    pool(name, {1, 33, 7, 7}, {{"k", L{7, 7}}});
    pool(name, {1, 33, 7, 7}, {{"k", L{7, 7}}, {"p", 2}, {"s", 3}});
    pool(name, {1, 2048, 7, 7}, {{"k", L{7, 7}}});
    pool(name, {1, 3, 7, 7}, {{"k", L{3, 3}}, {"p", 1}, {"s", 2}, {"ceil_mode", true}});
  }
  pool("avg_pool", {1, 16, 9, 9}, {{"k", L{3, 3}}, {"s", 2}, {"p", 1}, {"count_include_pad", true}});
  pool("avg_pool", {1, 16, 8, 8},
       {{"k", L{3, 3}}, {"s", 2}, {"p", 1}, {"count_include_pad", true}, {"ceil_mode", true}});
  pool("adaptive_avg_pool", {1, 17, 7, 9}, {{"o", L{3, 4}}});
  pool("adaptive_avg_pool", {2, 3, 5}, {{"o", L{3}}});
  pool("lrn", {1, 9, 5, 5}, {{"k", 5}});
  pool("unfold", {1, 3, 6, 7}, {{"k", L{3, 2}}, {"s", 2}, {"p", 1}});
  pool("fold_back", {1, 12, 20}, {{"o", L{5, 6}}, {"k", L{2, 2}}});
  pool("resize_nearest", {1, 3, 5, 7}, {{"o", L{11, 3}}});
  pool("resize_linear", {1, 3, 5, 7}, {{"o", L{11, 3}}});
  rows.push_back({"pool after conv",
                  "def f(x[n, c, h, w], f[o, c, a, b]) { y = conv(x, f, p = [1, 1])  return "
                  "max_pool(relu(y), k = [3, 3], s = [2, 2], p = [1, 1]) }",
                  "f",
                  {f32({1, 3, 17, 17}), f32({19, 3, 3, 3})},
                  {}});
  rows.push_back({"avg pool after conv",
                  "def f(x[n, c, h, w], f[o, c, a, b]) { y = conv(x, f)  return "
                  "avg_pool(relu(y), k = [7, 7]) }",
                  "f",
                  {f32({1, 3, 7, 7}), f32({40, 3, 1, 1})},
                  {}});
  rows.push_back({"padded avg pool after conv",
                  "def f(x[n, c, h, w], f[o, c, a, b]) { y = conv(x, f)  return "
                  "avg_pool(relu(y), k = [3, 3], p = [1, 1], s = [2, 2]) }",
                  "f",
                  {f32({1, 3, 9, 9}), f32({40, 3, 1, 1})},
                  {}});
  check(rows);
}

TEST(Differential, Convolutions) {
  Rows rows;
  const auto conv = [&](const L& x, const L& f, bool bias, const lang::Attributes& attributes) {
    for (const int first_weight : {1, 100})
      rows.push_back({fmt::format("conv {}x{} row {}", fmt::join(x, ","), fmt::join(f, ","), rows.size()),
                      "",
                      "conv",
                      {f32(x), f32(f), bias ? f32({f[0]}) : absent()},
                      attributes,
                      Fill::Plain,
                      first_weight});
  };
  conv({1, 1, 7}, {1, 1, 3}, false, {});
  conv({2, 3, 17}, {5, 3, 3}, true, {{"s", 2}, {"p", 1}});
  conv({2, 4, 33}, {6, 2, 5}, true, {{"g", 2}, {"d", 2}, {"p", 3}});
  for (const int64_t c : {1, 3, 16, 17, 33}) {
    conv({1, c, 7, 7}, {17, c, 1, 1}, true, {});
    conv({1, c, 9, 11}, {16, c, 3, 3}, false, {{"p", 1}});
    conv({1, c, 15, 15}, {33, c, 3, 3}, true, {{"s", 2}, {"p", 1}});
    conv({2, c, 6, 5}, {c, 1, 3, 3}, true, {{"g", c}, {"p", 1}});
    conv({1, c, 12, 12}, {2 * c, 1, 3, 3}, false, {{"g", c}, {"s", 2}, {"p", L{1, 0}}, {"q", L{0, 1}}});
  }
  conv({1, 3, 31, 31}, {64, 3, 7, 7}, true, {{"s", 2}, {"p", 3}});
  conv({1, 8, 9, 9}, {12, 4, 3, 3}, true, {{"g", 2}, {"p", 1}});
  conv({1, 32, 9, 9}, {64, 16, 3, 3}, true, {{"g", 2}, {"p", 1}});
  conv({1, 6, 12, 12}, {4, 6, 3, 3}, true, {{"d", L{2, 3}}, {"p", L{2, 3}}});
  conv({1, 5, 10, 10}, {7, 5, 1, 7}, true, {{"p", L{0, 3}}});
  conv({1, 2, 5, 6, 7}, {3, 2, 2, 3, 3}, true, {{"p", 1}, {"s", L{1, 2, 1}}});
  conv({1, 4, 4, 4}, {5, 4, 4, 4}, true, {});
  conv({0, 3, 8, 8}, {4, 3, 3, 3}, true, {});
  conv({1, 0, 8, 8}, {4, 0, 3, 3}, true, {});
  for (const int64_t g : {1, 2})
    for (const int64_t s : {1, 2, 3})
      rows.push_back({fmt::format("transposed g{} s{}", g, s),
                      "",
                      "conv_transpose",
                      {f32({1, 4, 5, 6}), f32({4, 3, 3, 3}), f32({3 * g})},
                      {{"g", g}, {"s", s}, {"p", 1}}});
  rows.push_back({"transposed dilated",
                  "",
                  "conv_transpose",
                  {f32({1, 1, 3}), f32({1, 1, 3}), absent()},
                  {{"s", 2}, {"d", 3}, {"p", 2}, {"q", 1}}});
  rows.push_back({"dynamic", "", "dynamic_conv2d", {f32({2, 7, 7, 3}), f32({2, 5, 3, 3, 3})}, {{"p", L{1, 1}}}});
  rows.push_back(
      {"deformable", "", "deform_conv", {f32({1, 4, 6, 6}), f32({5, 4, 3, 3}), f32({1, 18, 4, 4}), f32({5})}, {}});
  for (const int first_weight : {1, 100})
    rows.push_back({"block",
                    "def f(x, a, b, c) { p = relu(conv(x, a, p = [1, 1]))  q = relu6(conv(p, b, g = 24, p = [1, 1]))  "
                    "return conv(q, c) + x }",
                    "f",
                    {f32({1, 17, 9, 9}), f32({24, 17, 3, 3}), f32({24, 1, 3, 3}), f32({17, 24, 1, 1})},
                    {},
                    Fill::Plain,
                    first_weight});
  rows.push_back({"f16", "", "conv", {of(F16, {1, 5, 9, 9}), of(F16, {18, 5, 3, 3}), absent()}, {{"p", 1}}});
  check(rows);
}

TEST(Differential, Rows) {
  Rows rows;
  for (const int64_t n : {1, 2, 15, 16, 17, 33, 65, 129, 1000}) {
    rows.push_back({fmt::format("softmax {}", n), "", "softmax", {f32({3, n})}, {}});
    rows.push_back({fmt::format("softmax special {}", n), "", "softmax", {f32({9, n})}, {}, Fill::Special});
    rows.push_back({fmt::format("softmax first {}", n), "", "softmax", {f32({n, 5})}, {{"axis", 0}}});
    rows.push_back({fmt::format("softmax middle {}", n), "", "softmax", {f32({2, n, 3})}, {{"axis", 1}}});
    rows.push_back({fmt::format("log_softmax {}", n), "", "log_softmax", {f32({3, n})}, {}});
    rows.push_back({fmt::format("layer_norm {}", n), "", "layer_norm", {f32({3, n}), f32({n}), f32({n})}, {}});
    rows.push_back({fmt::format("rms_norm {}", n), "", "rms_norm", {f32({3, n}), f32({n})}, {}});
    rows.push_back({fmt::format("f16 softmax {}", n), "", "softmax", {of(F16, {3, n})}, {}});
  }
  rows.push_back(
      {"layer_norm two axes", "", "layer_norm", {f32({3, 5, 7}), f32({5, 7}), f32({5, 7})}, {{"axis", L{1, 2}}}});
  rows.push_back({"batch_norm",
                  "",
                  "batch_norm",
                  {f32({2, 17, 3, 5}), f32({17}), f32({17}), f32({17}), f32({17})},
                  {},
                  Fill::Positive});
  rows.push_back({"batch_norm_train",
                  "",
                  "batch_norm_train",
                  {f32({4, 5, 3, 3}), f32({5}), f32({5}), f32({5}), f32({5})},
                  {},
                  Fill::Positive});
  rows.push_back({"softmax empty", "", "softmax", {f32({0, 5})}, {}});
  rows.push_back({"softmax no columns", "", "softmax", {f32({5, 0})}, {}});
  check(rows);
}

TEST(Differential, Products) {
  Rows rows;
  const L sizes = {0, 1, 2, 15, 16, 17, 33, 65};
  for (const int64_t m : sizes)
    for (const int64_t n : sizes)
      for (const int first_weight : {1, 100})
        rows.push_back({fmt::format("matmul {}x{}", m, n),
                        "",
                        "matmul",
                        {f32({m, 19}), f32({19, n})},
                        {},
                        Fill::Plain,
                        first_weight});
  for (const int64_t k : {0, 1, 2, 16, 17, 129}) {
    rows.push_back({fmt::format("depth {}", k), "", "matmul", {f32({5, k}), f32({k, 18})}, {}});
    rows.push_back({fmt::format("constant dense {}", k),
                    "",
                    "dense",
                    {f32({2, 3, k}), f32({21, k}), f32({21})},
                    {},
                    Fill::Plain,
                    1});
    rows.push_back({fmt::format("dense {}", k), "", "dense", {f32({2, 3, k}), f32({21, k}), f32({21})}, {}});
    rows.push_back({fmt::format("vector {}", k),
                    "def f(a[m, k], x[k]) y[m] = sum[k](a[m, k] * x[k])",
                    "f",
                    {f32({21, k}), f32({k})},
                    {}});
    rows.push_back({fmt::format("left vector {}", k),
                    "def f(a[k, n], x[k]) y[n] = sum[k](a[k, n] * x[k])",
                    "f",
                    {f32({k, 21}), f32({k})},
                    {}});
    rows.push_back(
        {fmt::format("dot {}", k), "def f(a[k], x[k]) y[] = sum[k](a[k] * x[k])", "f", {f32({k}), f32({k})}, {}});
    rows.push_back({fmt::format("transposed left {}", k),
                    "def f(a[k, m], b[k, n]) y[m, n] = sum[k](a[k, m] * b[k, n])",
                    "f",
                    {f32({k, 9}), f32({k, 21})},
                    {}});
    rows.push_back({fmt::format("transposed both {}", k),
                    "def f(a[k, m], b[n, k]) y[m, n] = sum[k](a[k, m] * b[n, k])",
                    "f",
                    {f32({k, 9}), f32({21, k})},
                    {}});
    rows.push_back({fmt::format("transposed out {}", k),
                    "def f(a[m, k], b[k, n]) y[n, m] = sum[k](a[m, k] * b[k, n])",
                    "f",
                    {f32({9, k}), f32({k, 21})},
                    {}});
    rows.push_back({fmt::format("f16 {}", k), "", "matmul", {of(F16, {5, k}), of(F16, {k, 18})}, {}});
    rows.push_back({fmt::format("f64 {}", k), "", "matmul", {of(F64, {5, k}), of(F64, {k, 18})}, {}});
  }
  rows.push_back({"batched", "", "matmul", {f32({3, 5, 7}), f32({3, 7, 17})}, {}});
  rows.push_back({"batch broadcast", "", "matmul", {f32({2, 1, 5, 7}), f32({3, 7, 17})}, {}});
  rows.push_back({"trace", "", "trace", {f32({17, 17})}, {}});
  rows.push_back({"attention", "", "attention", {f32({2, 4, 9, 8}), f32({2, 2, 11, 8}), f32({2, 2, 11, 5})}, {}});
  rows.push_back(
      {"causal", "", "attention", {f32({1, 2, 17, 8}), f32({1, 2, 17, 8}), f32({1, 2, 17, 16})}, {{"causal", true}}});
  rows.push_back({"epilogue",
                  "def f(a[m, k], b[k, n], c[n], r[m, n]) y[m, n] = r[m, n] + tanh(sum[k](a[m, k] * b[k, n]) + c[n])",
                  "f",
                  {f32({17, 20}), f32({20, 33}), f32({33}), f32({17, 33})},
                  {}});
  rows.push_back(
      {"three",
       "def f(a[i, k], b[k, j], c[j, l]) { t[i, j] = sum[k](a[i, k] * b[k, j])  y[i, l] = sum[j](t[i, j] * c[j, l]) }",
       "f",
       {f32({5, 6}), f32({6, 7}), f32({7, 8})},
       {}});
  rows.push_back(
      {"lstm", "", "lstm_cell", {f32({2, 9}), f32({2, 17}), f32({2, 17}), f32({68, 9}), f32({68, 17}), f32({68})}, {}});
  rows.push_back({"distance",
                  "def f(a[m, k], b[n, k]) y[m, n] = sum[k](square(a[m, k] - b[n, k]))",
                  "f",
                  {f32({17, 9}), f32({20, 9})},
                  {}});
  rows.push_back({"maxplus",
                  "def f(a[m, k], b[k, n]) y[m, n] = max[k](a[m, k] + b[k, n])",
                  "f",
                  {f32({17, 9}), f32({9, 20})},
                  {}});
  check(rows);
}

TEST(Differential, Moves) {
  Rows rows;
  for (const int64_t n : {1, 16, 17, 33}) {
    rows.push_back({fmt::format("transpose {}", n), "", "transpose", {f32({n, 19})}, {{"perm", L{1, 0}}}});
    rows.push_back({fmt::format("transpose 3 {}", n),
                    "def f(x) = transpose(x, perm = [2, 0, 1]) * 2",
                    "f",
                    {f32({3, n, 18})},
                    {}});
    rows.push_back({fmt::format("u8 {}", n), "def f(x) = transpose(x, perm = [1, 0])", "f", {of(U8, {n, 19})}, {}});
    rows.push_back({fmt::format("f16 {}", n), "def f(x) = transpose(x, perm = [1, 0])", "f", {of(F16, {n, 19})}, {}});
    rows.push_back({fmt::format("flip {}", n), "def f(x[i, n]) y[i, j < n] = x[i, n - 1 - j]", "f", {f32({3, n})}, {}});
    rows.push_back({fmt::format("slice {}", n),
                    "",
                    "slice",
                    {f32({4, n})},
                    {{"axes", L{1}}, {"start", L{0}}, {"stop", L{n}}, {"step", L{2}}}});
    rows.push_back(
        {fmt::format("pad {}", n), "", "pad", {f32({3, n})}, {{"p", L{1, 2}}, {"q", L{0, 3}}, {"value", 1.5}}});
    rows.push_back(
        {fmt::format("pad edge {}", n), "", "pad", {f32({3, n})}, {{"p", L{1, 2}}, {"q", L{0, 3}}, {"mode", "edge"}}});
    rows.push_back({fmt::format("concat {}", n),
                    "def f(a, b, c) = concat([a, b * 2, c], axis = 1)",
                    "f",
                    {f32({3, n}), f32({3, 2}), f32({3, 17})},
                    {}});
    rows.push_back({fmt::format("concat 0 {}", n),
                    "def f(a, b) = concat([a, exp(b)], axis = 0) + 1",
                    "f",
                    {f32({n, 5}), f32({2, 5})},
                    {}});
    rows.push_back({fmt::format("gather {}", n), "", "gather", {f32({9, n}), of(I64, {5})}, {}, Fill::Index});
    rows.push_back(
        {fmt::format("gather last {}", n), "", "gather", {f32({9, n}), of(I32, {2, 3})}, {{"axis", -1}}, Fill::Index});
    rows.push_back({fmt::format("embedding {}", n), "", "embedding", {f32({7, n}), of(I64, {2, 3})}, {}, Fill::Index});
    rows.push_back(
        {fmt::format("one hot {}", n), "", "one_hot", {of(I64, {n}), absent(), absent()}, {{"depth", 9}}, Fill::Index});
    rows.push_back({fmt::format("reshape {}", n), "def f(x) = reshape(x * 2, [-1])", "f", {f32({3, n})}, {}});
    rows.push_back({fmt::format("reshape sum {}", n),
                    "def f(x) { t = reshape(x, [-1, 3])  y[i] = sum[j](t[i, j]) }",
                    "f",
                    {f32({3, n})},
                    {}});
  }
  rows.push_back({"tuples", "def f(x[n, (g, c), h]) y[n, (c, g), h] = x[n, (g, c), h]", "f", {f32({2, 12, 5})}, {}});
  rows.back().text = "def f(x[n, (g, c), h]; g = 3) y[n, (c, g), h] = x[n, (g, c), h]";
  rows.push_back({"depth_to_space", "", "depth_to_space", {f32({1, 12, 3, 5})}, {{"a", 2}}});
  rows.push_back({"gather_nd", "", "gather_nd", {f32({5, 4, 3}), of(I64, {6, 2})}, {}, Fill::Index});
  rows.push_back({"rope", "", "rope", {f32({2, 5, 8}), of(I64, {5})}, {}, Fill::Index});
  rows.push_back({"grid_sample", "", "grid_sample", {f32({1, 3, 5, 6}), f32({1, 4, 7, 2})}, {}});
  rows.push_back({"data dependent",
                  "def f(x[n, m], t[i]: int, u[i]: int) y[i] = x[wrap(t[i], n), wrap(u[i], m)] else -1",
                  "f",
                  {f32({9, 9}), of(I64, {35}), of(I32, {35})},
                  {},
                  Fill::Index});
  rows.push_back({"sum of gathered",
                  "def f(x[n, m], t[i, k]: int) y[i, m] = sum[k](x[wrap(t[i, k], n), m] else 0)",
                  "f",
                  {f32({9, 19}), of(I64, {5, 3})},
                  {},
                  Fill::Index});
  rows.push_back({"dropout", "", "dropout", {f32({3, 35}), of(U64, {})}, {}});
  rows.push_back({"expand", "", "expand", {f32({3, 1})}, {{"shape", L{2, 3, 17}}}});
  check(rows);
}

}  // namespace
}  // namespace frit::testing
