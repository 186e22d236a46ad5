#pragma once
// Snippets with inputs and right values: the known faults of this kind of software by ID, and the examples of the
// language. Every backend runs the same rows.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/lang/library.h"

namespace frit::testing {

/// A tensor by value. `fill` gives all elements one value where `values` is empty.
struct RowTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<double> values;
  double fill = 0;
  double at(int64_t i) const { return values.empty() ? fill : values[static_cast<size_t>(i)]; }
};

struct SnippetRow {
  std::string id;                 // "B019 ties": the fault's ID first
  std::string text;               // definitions; empty where the library has `name`
  std::string name;               // the definition that is applied
  std::vector<RowTensor> inputs;  // x0, x1, ..
  lang::Attributes attributes;
  std::vector<RowTensor> want;  // the first results
  double relative = 0;          // tolerance; 0 is exact, also the sign of zeros
};

inline RowTensor vec(std::vector<double> values, DType dtype = DType::F32) {
  const auto n = static_cast<int64_t>(values.size());
  return {dtype, {n}, std::move(values), 0};
}
inline RowTensor tensor(std::vector<int64_t> shape, std::vector<double> values, DType dtype = DType::F32) {
  return {dtype, std::move(shape), std::move(values), 0};
}
inline RowTensor filled(std::vector<int64_t> shape, double value, DType dtype = DType::F32) {
  return {dtype, std::move(shape), {}, value};
}
inline RowTensor number(double value, DType dtype = DType::F32) { return {dtype, {}, {value}, 0}; }
inline RowTensor counted(std::vector<int64_t> shape, double first = 0, DType dtype = DType::F32) {
  int64_t n = 1;
  for (const int64_t e : shape) n *= e;
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(first + static_cast<double>(i));
  return {dtype, std::move(shape), std::move(values), 0};
}

inline const std::vector<SnippetRow>& fault_rows() {
  using enum DType;
  using L = std::vector<int64_t>;
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::string pair =
      "def f(a[n], b[n]) { p[n] = a[n] // b[n]  q[n] = a[n] % b[n]  r[n] = tdiv(a[n], b[n])  s[n] = tmod(a[n], b[n])  "
      "return p, q, r, s }";
  static const std::vector<SnippetRow> rows = {
      // FUSE: a formula is read whole before anything is written; values have one version.
      {"B001", "def f(x[n]) y[i < n] = x[n - 1 - i]", "f", {vec({0, 1, 2, 3})}, {}, {vec({3, 2, 1, 0})}},
      {"B003",
       "def f(a) { b = a + 1  c = b + 2  return b, b * b / c }",
       "f",
       {filled({4}, 2)},
       {},
       {filled({4}, 3), vec({1.8, 1.8, 1.8, 1.8})},
       1e-6},
      {"B006",
       "def f(x[n]) { t[i < n] = 2*x[i]  y[i < n] = t[i] + t[n - 1 - i] }",
       "f",
       {vec({1, 2, 3, 4})},
       {},
       {filled({4}, 10)}},

      // RED
      {"B013", "def f(x[n]) y[] = mean[n](x[n])", "f", {filled({641}, 1)}, {}, {number(1)}},
      {"B013 41", "def f(x[n]) y[] = mean[n](x[n])", "f", {filled({41}, 1)}, {}, {number(1)}},
      {"B016",
       "def f(x[n, c]) y[c] = sum[n](x[n, c])",
       "f",
       {tensor({3, 2}, {0, 1777, 0, 1777, 0, 1777})},
       {},
       {vec({0, 5331})}},

      // NAN
      {"B017",
       "def f(a, b) { return max(a, b), min(a, b), max(b, a), min(b, a) }",
       "f",
       {vec({1, nan, 3}), vec({nan, 2, 1})},
       {},
       {vec({nan, nan, 3}), vec({nan, nan, 1}), vec({nan, nan, 3}), vec({nan, nan, 1})}},
      {"B017 f16",
       "def f(a, b) = max(a, b)",
       "f",
       {vec({1, nan, 3}, F16), vec({nan, 2, 1}, F16)},
       {},
       {vec({nan, nan, 3}, F16)}},
      {"B017 relu", "", "relu", {vec({-1, nan, 2})}, {}, {vec({0, nan, 2})}},
      {"B017 clamp", "def f(x) = clamp(x, 0.5, inf)", "f", {vec({nan, 0.25})}, {}, {vec({nan, 0.5})}},
      {"B019", "def f(x[n]) y[] = argmax[n](x[n])", "f", {filled({1000}, 2)}, {}, {number(0, I64)}},
      {"B019 last",
       "def f(x[n]) { y[] = argmax[n](x[n])  z[] = n - 1 - argmax[i < n](x[n - 1 - i]) return y, z }",
       "f",
       {vec({0, 9, 0, 0, 9, 0})},
       {},
       {number(1, I64), number(4, I64)}},
      {"B020",
       "def f(x) { return clamp(x, -0.5, inf), clamp(x, -inf, 0.5), x + nan, x * (-0.0), x + 1e-45 }",
       "f",
       {vec({-2, 0, 3})},
       {},
       {vec({-0.5, 0, 3}), vec({-2, 0, 0.5}), vec({nan, nan, nan}), vec({0, -0.0, -0.0}),
        vec({-2, 1.401298464324817e-45, 3})}},
      {"B022 max", "def f(x[n]) y[] = max[n](x[n])", "f", {vec({-inf, -inf})}, {}, {number(-inf)}},
      {"B022 min", "def f(x[n]) y[] = min[n](x[n])", "f", {vec({inf})}, {}, {number(inf)}},
      {"B022 masked",
       "def f(x[n], t[m]: int) y[m] = max[j < clamp(t[m], 0, n)](x[j])",
       "f",
       {vec({1, 5, 3}), vec({0, 1, 3}, I32)},
       {},
       {vec({-inf, 1, 5})}},
      {"B023",
       "def f(x) = select(x == inf, x, x * 0.5 * (1 + erf(x / sqrt(2))))",
       "f",
       {vec({inf, nan, 0, 1})},
       {},
       {vec({inf, nan, 0, 0.84134475})},
       1e-6},

      // POOL
      {"B025",
       "",
       "max_pool",
       {tensor({1, 1, 2, 2}, {-1, -2, -3, -4})},
       {{"k", L{3, 3}}, {"s", 1}, {"p", 1}},
       {filled({1, 1, 2, 2}, -1), filled({1, 1, 2, 2}, 0, I64)}},
      {"B025 dilated",
       "",
       "max_pool",
       {tensor({1, 1, 5}, {-1, -9, -2, -8, -3})},
       {{"k", 2}, {"s", 1}, {"d", 3}, {"p", 1}},
       {tensor({1, 1, 4}, {-2, -1, -3, -2})}},
      {"B027 max",
       "",
       "max_pool",
       {tensor({1, 1, 4}, {1, 2, 3, 4})},
       {{"k", 2}, {"s", 3}, {"p", 1}, {"ceil_mode", true}},
       {tensor({1, 1, 2}, {1, 4}), tensor({1, 1, 2}, {0, 3}, I64)}},
      {"B027 avg",
       "",
       "avg_pool",
       {tensor({1, 1, 4}, {1, 2, 3, 4})},
       {{"k", 2}, {"s", 3}, {"p", 1}, {"ceil_mode", true}},
       {tensor({1, 1, 2}, {1, 3.5})}},
      {"B027 pad",
       "",
       "avg_pool",
       {tensor({1, 1, 4}, {1, 2, 3, 4})},
       {{"k", 2}, {"s", 3}, {"p", 1}, {"ceil_mode", true}, {"count_include_pad", true}},
       {tensor({1, 1, 2}, {0.5, 3.5})}},
      {"B028",
       "",
       "avg_pool",
       {tensor({1, 1, 4}, {1, 2, 3, 4})},
       {{"k", 3}, {"s", 2}, {"p", 1}, {"ceil_mode", true}, {"count_include_pad", true}},
       {tensor({1, 1, 3}, {1, 3, 2})}},
      {"B028 inside",
       "",
       "avg_pool",
       {tensor({1, 1, 4}, {1, 2, 3, 4})},
       {{"k", 3}, {"s", 2}, {"p", 1}, {"ceil_mode", true}},
       {tensor({1, 1, 3}, {1.5, 3, 4})}},
      {"B030",
       "",
       "avg_pool",
       {filled({1, 1, 7, 7}, 1)},
       {{"k", L{3, 3}}, {"s", 2}, {"p", L{1, 1}}, {"q", L{2, 2}}, {"ceil_mode", true}, {"count_include_pad", true}},
       {tensor({1, 1, 4, 4}, {4. / 9, 2. / 3, 2. / 3, 4. / 9, 2. / 3, 1, 1, 2. / 3, 2. / 3, 1, 1, 2. / 3, 4. / 9,
                              2. / 3, 2. / 3, 4. / 9})},
       1e-6},

      // SMX
      {"B033", "", "softmax", {vec({1000, 1001, 1002})}, {}, {vec({0.09003057, 0.24472847, 0.66524096})}, 1e-6},
      {"B033 one", "", "softmax", {vec({400, -250, -300})}, {}, {vec({1, 0, 0})}, 1e-30},
      {"B035", "", "softmax", {vec({0, -inf, 1})}, {}, {vec({0.26894142, 0, 0.73105858})}, 1e-6},
      {"B035 online",
       "",
       "logsumexp",
       {tensor({2, 3}, {-inf, -inf, -inf, 1000, -inf, 1000})},
       {},
       {vec({-inf, 1000.69314718})},
       1e-6},
      {"B036", "", "logsumexp", {filled({70000}, 0, F16)}, {}, {number(11.15625, F16)}},
      {"B038", "", "cross_entropy", {tensor({1, 3}, {-400, 250, 431}), vec({0}, I64)}, {}, {number(831)}},

      // NORM
      {"B039",
       "def f(x[n], g[n], b[n]) { y, m, i = layer_norm(x, g, b)  return y }",
       "f",
       {filled({192}, 777.7), filled({192}, 1), filled({192}, 0.25)},
       {},
       {filled({192}, 0.25)},
       1e-6},
      {"B042",
       "",
       "batch_norm_train",
       {tensor({4, 1}, {5, 5.125, 4.875, 5}), vec({1}), vec({0}), vec({0}), vec({0})},
       {{"momentum", 0.0}},
       {tensor({4, 1}, {0, 1.41330933, -1.41330933, 0}), vec({5}), vec({0.0078125})},
       1e-6},
      {"B042 bf16",
       "",
       "batch_norm_train",
       {tensor({4, 1}, {5, 5.125, 4.875, 5}, BF16), vec({1}), vec({0}), vec({0}), vec({0})},
       {{"momentum", 0.0}},
       {tensor({4, 1}, {0, 1.41330933, -1.41330933, 0})},
       1e-6},
      {"B044",
       "def f(x[n]; correction) { m[] = mean[n](x[n])  y[] = sum[n](square(x[n] - m)) / max(f32(n - correction), 0) }",
       "f",
       {vec({4})},
       {{"correction", 1}},
       {number(nan)}},
      {"B044 one",
       "def f(x[n]; correction) { m[] = mean[n](x[n])  y[] = sum[n](square(x[n] - m)) / max(f32(n - correction), 0) }",
       "f",
       {vec({1, 3})},
       {{"correction", 1}},
       {number(2)}},

      // LOWP
      {"B045",
       "def f(x[n]) { y[] = sum[n](x[n])  z[] = mean[n](x[n])  return y, z }",
       "f",
       {filled({30000}, 1, F16)},
       {},
       {number(30000, F16), number(1, F16)}},
      {"B045 bf16",
       "def f(x[n]) { y[] = sum[n](x[n])  z[] = mean[n](x[n])  return y, z }",
       "f",
       {filled({50000}, 1, BF16)},
       {},
       {number(49920, BF16), number(1, BF16)}},
      {"B047", "def f(x[n]) y[] = mean[n](x[n])", "f", {filled({4}, 60000, F16)}, {}, {number(60000, F16)}},
      {"B048",
       "def f(x) = bf16(x)",
       "f",
       {vec({2.7f, 0.3f, 5.9f, 1.00390625, 1.01171875})},
       {},
       {vec({2.703125, 0.30078125, 5.90625, 1, 1.015625}, BF16)}},
      {"B050",
       "def f(x) = f16(x)",
       "f",
       {vec({65519.98828125, 65520, std::ldexp(1, -25), 1.5 * std::ldexp(1, -25), 2.6f})},
       {},
       {vec({65504, inf, 0, std::ldexp(1, -24), 2.599609375}, F16)}},
      {"B050 f64",
       "def f(x) = f16(x)",
       "f",
       {vec({1 + std::ldexp(1, -11) + std::ldexp(1, -40)}, F64)},
       {},
       {vec({1.0009765625}, F16)}},
      {"B051",
       "def f(x) = 0.5*x*(1 + tanh(sqrt(2/pi)*(x + 0.044715*x*x*x)))",
       "f",
       {vec({8, 10.5, 11, 15.5, 40, -40}, F16)},
       {},
       {vec({8, 10.5, 11, 15.5, 40, -0.0}, F16)}},

      // INT
      {"B052",
       pair,
       "f",
       {vec({-7, -7, 7, 7, -1, 0, -6, 5}, I32), vec({2, -2, -2, 3, 2, 5, 3, -7}, I32)},
       {},
       {vec({-4, 3, -4, 2, -1, 0, -2, -1}, I32), vec({1, -1, -1, 1, 1, 0, 0, -2}, I32),
        vec({-3, 3, -3, 2, 0, 0, -2, 0}, I32), vec({-1, -1, 1, 1, -1, 0, 0, 5}, I32)}},
      {"B054",
       pair,
       "f",
       {vec({5, -5, 0, -2147483648.0}, I32), vec({0, 0, 0, -1}, I32)},
       {},
       {vec({0, 0, 0, -2147483648.0}, I32), vec({0, 0, 0, 0}, I32), vec({0, 0, 0, -2147483648.0}, I32),
        vec({0, 0, 0, 0}, I32)}},
      {"B054 folded",
       "def f(x[n]) { y[i < 4] = index(i)*0 + select(i == 0, 5 // 0, select(i == 1, -5 % 0, select(i == 2, tdiv(0, 0), "
       "tmod(7, 0)))) }",
       "f",
       {vec({1})},
       {},
       {vec({0, 0, 0, 0}, I64)}},
      {"B055",
       "def f(a, b) = cdiv(a, b)",
       "f",
       {vec({-36, -35, 36, 1}, I32), vec({5, 5, 5, 5}, I32)},
       {},
       {vec({-7, -7, 8, 1}, I32)}},
      {"B055 folded",
       "def f(x[]) { y[i < 4] = select(i == 0, cdiv(-36, 5), select(i == 1, cdiv(-35, 5), select(i == 2, cdiv(36, 5), "
       "cdiv(1, 5)))) }",
       "f",
       {number(0)},
       {},
       {vec({-7, -7, 8, 1}, I64)}},
      {"B057",
       "def f(a, n) { return a << n, a >> n }",
       "f",
       {vec({1, 1, 1, -8, -1, -8}, I32), vec({31, 32, 40, 1, 1, 40}, I32)},
       {},
       {vec({-2147483648.0, 0, 0, -16, -2, 0}, I32), vec({0, 0, 0, -4, -1, -1}, I32)}},
      {"B057 unsigned",
       "def f(a, n) { return a << n, a >> n }",
       "f",
       {vec({255, 255, 255}, U8), vec({1, 8, 1}, U8)},
       {},
       {vec({254, 0, 254}, U8), vec({127, 0, 127}, U8)}},
      {"B058",
       "def f(x) { return u8(x), i8(x), i32(x) }",
       "f",
       {vec({-1, 300.5, nan, inf, -inf, 3e9})},
       {},
       {vec({0, 255, 0, 255, 0, 255}, U8), vec({-1, 127, 0, 127, -128, 127}, I8),
        vec({-1, 300, 0, 2147483647, -2147483648.0, 2147483647}, I32)}},

      // EMPTY
      {"B064",
       "def f(x[n]) { a[] = sum[n](x[n]) b[] = prod[n](x[n]) c[] = all[n](x[n] > 0) d[] = any[n](x[n] > 0) e[] = "
       "mean[n](x[n]) g[] = max[n](x[n]) return a, b, c, d, e, g }",
       "f",
       {filled({0}, 0)},
       {},
       {number(0), number(1), number(1, Bool), number(0, Bool), number(nan), number(-inf)}},
      {"B064 int",
       "def f(x[n]) { a[] = max[n](x[n]) b[] = min[n](x[n]) return a, b }",
       "f",
       {filled({0}, 0, I32)},
       {},
       {number(-2147483648.0, I32), number(2147483647, I32)}},
      {"B064 rows", "def f(x[m, n]) y[m] = sum[n](x[m, n])", "f", {filled({1, 0}, 0)}, {}, {vec({0})}},
      {"B064 elementwise", "def f(x) = x + 1", "f", {filled({0, 3}, 0)}, {}, {filled({0, 3}, 0)}},
      {"B066 none",
       "def f(x[.., r.. @ axes]; axes) y[..] = sum[r..](x[.., r..])",
       "f",
       {number(5)},
       {{"axes", L{}}},
       {number(5)}},
      {"B067", "", "matmul", {filled({2, 0}, 0), filled({0, 3}, 0)}, {}, {filled({2, 3}, 0)}},

      // BCAST
      {"B071",
       "def f(a, b) = a + b",
       "f",
       {tensor({4, 1}, {0, 1, 2, 3}), tensor({4, 2}, {0, 10, 20, 30, 40, 50, 60, 70})},
       {},
       {tensor({4, 2}, {0, 10, 21, 31, 42, 52, 63, 73})}},
      {"B073",
       "def f(c[n]) { y[i < n, j < n] = c[j]*c[j] + c[i]*c[i] }",
       "f",
       {vec({-1, -0.5, 0, 0.5, 1})},
       {},
       {tensor({5, 5}, {2,    1.25, 1,    1.25, 2,    1.25, 0.5,  0.25, 0.5,  1.25, 1,    0.25, 0,
                        0.25, 1,    1.25, 0.5,  0.25, 0.5,  1.25, 2,    1.25, 1,    1.25, 2})}},
      {"B074",
       "def f(x[n]) { y[i < n] = 3*x[n - 1 - i]  z[i < n] = 3*x[n - 1 - (n - 1 - i)]  return y, z }",
       "f",
       {counted({7})},
       {},
       {vec({18, 15, 12, 9, 6, 3, 0}), vec({0, 3, 6, 9, 12, 15, 18})}},
      {"B074 rows",
       "def f(x[n, m]) y[i < n, m] = 3*x[n - 1 - i, m]",
       "f",
       {counted({4, 3})},
       {},
       {tensor({4, 3}, {27, 30, 33, 18, 21, 24, 9, 12, 15, 0, 3, 6})}},
      {"B077", "def f(x[n]) y[i < 4] = x[8 - 2*i]", "f", {counted({16})}, {}, {vec({8, 6, 4, 2})}},
      {"B079",
       "def f(a, b) = a + b",
       "f",
       {counted({2, 2, 2, 2}), tensor({2, 2, 1, 2}, {0, 10, 20, 30, 40, 50, 60, 70})},
       {},
       {tensor({2, 2, 2, 2}, {0, 11, 2, 13, 24, 35, 26, 37, 48, 59, 50, 61, 72, 83, 74, 85})}},

      // CONV
      {"B080",
       "",
       "conv",
       {tensor({1, 1, 4}, {1, 2, 3, 4}), tensor({1, 1, 3}, {1, 10, 100})},
       {{"s", 2}, {"p", L{0}}, {"q", L{1}}},
       {tensor({1, 1, 2}, {321, 43})}},
      {"B080 begin",
       "",
       "conv",
       {tensor({1, 1, 4}, {1, 2, 3, 4}), tensor({1, 1, 3}, {1, 10, 100})},
       {{"s", 2}, {"p", L{1}}, {"q", L{0}}},
       {tensor({1, 1, 2}, {210, 432})}},
      {"B082",
       "",
       "conv",
       {tensor({1, 2, 2}, {1, 2, 3, 4}), tensor({4, 1, 1}, {1, 10, 100, 1000})},
       {{"g", 2}},
       {tensor({1, 4, 2}, {1, 2, 10, 20, 300, 400, 3000, 4000})}},
      {"B083",
       "def f(x[n, c, h..], w[o, i, k..]; s) { t = same_pad(h, k, s, 1)..  y = conv(x, w, s = s, p = (t // 2).., q = "
       "(t - t // 2)..)  return y }",
       "f",
       {counted({1, 1, 3, 4}, 1), tensor({1, 1, 1, 3}, {1, 10, 100})},
       {{"s", L{2, 2}}},
       {tensor({1, 1, 2, 2}, {321, 43, 1209, 131})}},
      {"B086",
       "",
       "conv",
       {tensor({1, 2, 3}, {1, 2, 3, 4, 5, 6}), tensor({2, 1, 2}, {1, 2, 3, 4})},
       {{"g", 2}, {"s", 2}},
       {tensor({1, 2, 1}, {5, 32})}},
      {"B088",
       "def f(x[n, l], w[n, k]) y[n, i] = sum[k](x[n, i + k] * w[n, k])",
       "f",
       {tensor({2, 3}, {1, 2, 3, 1, 2, 3}), tensor({2, 2}, {1, 1, 1, -1})},
       {},
       {tensor({2, 2}, {3, 5, -1, -1})}},
      {"B089",
       "",
       "conv",
       {tensor({1, 1, 5}, {1, 2, 3, 4, 5}), filled({1, 1, 3}, 1)},
       {{"d", 2}, {"p", 2}},
       {tensor({1, 1, 5}, {4, 6, 9, 6, 8})}},
      {"B090",
       "",
       "conv",
       {tensor({1, 1, 6}, {1, 2, 3, 4, 5, 6}), tensor({1, 1, 3}, {1, 10, 100})},
       {{"s", 2}, {"p", 0}, {"q", 1}},
       {tensor({1, 1, 3}, {321, 543, 65})}},
      {"B090 lower",
       "",
       "conv",
       {tensor({1, 1, 6}, {1, 2, 3, 4, 5, 6}), tensor({1, 1, 3}, {1, 10, 100})},
       {{"s", 2}, {"p", 1}, {"q", 0}},
       {tensor({1, 1, 3}, {210, 432, 654})}},

      // CONVT
      {"B091",
       "",
       "conv_transpose",
       {tensor({1, 1, 3}, {1, 2, 3}), tensor({1, 1, 3}, {1, 10, 100})},
       {{"s", 2}, {"d", 3}, {"p", 2}, {"q", 1}},
       {tensor({1, 1, 8}, {2, 10, 3, 20, 100, 30, 200, 0})}},
      {"B093",
       "",
       "conv_transpose",
       {tensor({1, 1, 5}, {1, 2, 3, 4, 5}), tensor({1, 1, 2}, {1, 10})},
       {{"d", 2}, {"p", 3}, {"q", 3}, {"extra", 1}},
       {tensor({1, 1, 2}, {24, 35})}},
      {"B094",
       "",
       "conv_transpose",
       {tensor({1, 1, 3}, {1, 2, 3}), filled({1, 1, 4}, 1)},
       {{"s", 2}, {"p", 1}},
       {tensor({1, 1, 6}, {1, 3, 3, 5, 5, 3})}},

      // Names: those of targets and of the language's own C are ordinary names here.
      {"B139",
       "def kernel(double[half], __global[half]; asm = 2) { float4[half] = double[half]*asm  restrict = float4 + "
       "__global  NULL = restrict * 1  return NULL }",
       "kernel",
       {vec({1, 2}), vec({10, 20})},
       {},
       {vec({12, 24})}},
      {"B144", "def a_b(a_b_, ab) = a_b_ - ab", "a_b", {number(5), number(3)}, {}, {number(2)}},

      // Optimisers
      {"B193",
       "",
       "adamw",
       {vec({1}), vec({1e-8}), vec({0}), vec({0}), number(1), number(1e-3)},
       {{"wd", 0.0}},
       {vec({1 - 1e-3 * 0.5})},
       1e-5},
  };
  return rows;
}

}  // namespace frit::testing
