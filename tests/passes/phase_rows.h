#pragma once
// Snippets with reads at exact divisions, at awkward sizes.
#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "compiler/differential.h"

namespace frit::testing {

/// The gradient of a grouped convolution with stride s and dilation d to its input of extents h, as it is derived.
inline const char* const kConvGradient =
    "def f(dy[n, (g, o), i..], w[(g, o), c, k..]; h, g = 1, s = 1, d = 1, p = 0)"
    "  y[n, (g, c), (a < h)..] = sum[o, k..]((dy[n, (g, o), ((a + p - k*d) / s)..] else 0) * w[(g, o), c, k..])";

inline bool iterations_are_none(const Compute& compute) {
  return std::any_of(compute.axes.begin(), compute.axes.end(), [](const Axis& a) { return a.extent.is_constant(0); });
}

/// Whether a compute that has elements asks for a remainder or divides.
inline bool has_remainders(const Graph& graph) {
  bool found = false;
  const auto look = [&](const Expr& root) {
    for_each_node(root, [&](const Expr& e) {
      found =
          found || ((e.op() == Op::Mod || e.op() == Op::FloorDiv || e.op() == Op::TruncDiv || e.op() == Op::TruncMod) &&
                    is_integer(e.dtype()));
    });
  };
  for (const Node& node : graph.nodes()) {
    const auto* compute = std::get_if<Compute>(&node.payload);
    if (!compute || iterations_are_none(*compute)) continue;
    for (const auto* list : {&compute->reduction.init, &compute->reduction.step})
      for (const Expr& e : *list) look(e);
    for (const Compute::Result& r : compute->results) look(r.value);
  }
  return found;
}

/// Extents 0, 1 and a prime; stride above, at and below the kernel; dilations that share factors with the stride; pads
/// up to more than a kernel and below zero; elements beyond the last tap.
inline std::vector<DifferentialRow> transposed_rows(DType dtype, Fill fill) {
  std::vector<DifferentialRow> rows;
  const auto add = [&](const std::string& name, const std::string& text, std::vector<OperandSpec> operands,
                       const lang::Attributes& attributes) {
    for (OperandSpec& o : operands) o.dtype = dtype;
    rows.push_back({fmt::format("{} {} {}", name, frit::name(dtype), rows.size()), text, name, std::move(operands),
                    attributes, fill});
  };
  for (const int64_t h : {0, 1, 5}) {
    for (const auto& [k, s, d] : std::vector<std::array<int64_t, 3>>{{1, 2, 1},
                                                                     {2, 2, 1},
                                                                     {3, 2, 1},
                                                                     {4, 2, 1},
                                                                     {3, 2, 2},
                                                                     {3, 3, 2},
                                                                     {2, 4, 2},
                                                                     {3, 4, 6},
                                                                     {2, 3, 3},
                                                                     {1, 5, 1}}) {
      const int64_t full = (h - 1) * s + (k - 1) * d + 1;
      for (const int64_t p : {int64_t{-1}, int64_t{0}, int64_t{1}, full / 2 + 1}) {
        const int64_t extra = (h + k) % s;
        if (full + extra - p < 0) continue;
        add("conv_transpose", "", {f32({1, 2, h}), f32({2, 3, k}), f32({3})},
            {{"s", s}, {"d", d}, {"p", p}, {"q", 0}, {"extra", extra}});
      }
      add("f", kConvGradient, {f32({2, 4, h}), f32({4, 3, k})},
          {{"s", s}, {"d", d}, {"p", 1}, {"g", 2}, {"h", std::max<int64_t>(0, full - 1)}});
    }
  }
  add("conv_transpose", "", {f32({2, 4, 5, 4}), f32({4, 3, 3, 2}), f32({6})}, {{"s", 2}, {"d", 2}, {"p", 1}, {"g", 2}});
  add("conv_transpose", "", {f32({1, 2, 3, 2, 3}), f32({2, 2, 3, 2, 1})},
      {{"s", std::vector<int64_t>{2, 3, 2}}, {"p", 0}, {"extra", 1}});
  add("conv_transpose", "", {f32({1, 4, 3, 7}), f32({4, 1, 3, 3}), f32({4})}, {{"s", 2}, {"p", 1}, {"g", 4}});
  add("f", kConvGradient, {f32({1, 4, 4, 3}), f32({4, 3, 3, 3})},
      {{"s", 2}, {"d", 2}, {"p", 2}, {"g", 2}, {"h", std::vector<int64_t>{8, 7}}});
  for (const int64_t k : {1, 2, 3})
    for (const int64_t d : {1, 2})
      for (const int64_t n : {5, 6})
        add("fold_back", "",
            {f32({2, 3 * k * k, ((n + 2 - (k - 1) * d - 1) / 2 + 1) * ((n + 2 - (k - 1) * d - 1) / 2 + 1)})},
            {{"o", std::vector<int64_t>{n, n}}, {"k", std::vector<int64_t>{k, k}}, {"s", 2}, {"d", d}, {"p", 1}});
  return rows;
}

/// Other reductions and fills, tests of several axes, of reduced axes alone, behind a select.
inline std::vector<DifferentialRow> gather_rows(Fill fill) {
  std::vector<DifferentialRow> rows;
  const auto add = [&](const std::string& id, const std::string& text, std::vector<OperandSpec> operands) {
    rows.push_back({id, "def f(" + text, "f", std::move(operands), {}, fill});
  };
  const std::vector<OperandSpec> xf{f32({7}), f32({5})};
  add("zeros between", "x[n]) y[i < 3*n + 1] = x[i / 3] else 0", {f32({7})});
  add("ones between", "x[n]) y[i < 3*n + 1] = 2*(x[(i - 1) / 3] else 1)", {f32({7})});
  add("max", "x[n]; k = 5) y[i < 2*n] = max[a < k](x[(i + 1 - a) / 2] else -inf)", {f32({7})});
  add("min of integers", "x[n]; k = 5) y[i < 2*n] = min[a < k](x[(i + 1 - a) / 2] else inf)", {of(DType::I32, {7})});
  add("min, zeros outside", "x[n]; k = 5) y[i < 2*n] = min[a < k](x[(i + 1 - a) / 2] else 0)", {f32({7})});
  add("product", "x[n]; k = 4) y[i < 2*n] = prod[a < k](x[(i + 1 - a) / 2] else 1)", {f32({7})});
  add("argmax", "x[n]; k = 5) y[i < 2*n] = argmax[a < k](x[(i + 1 - a) / 2] else -inf)", {f32({7})});
  add("argmax of two", "x[n]; k = 4) y[i < 2*n] = argmax[b < 2, a < k](x[(i + 1 - a) / 2] else 0)", {f32({7})});
  add("any", "x[n]; k = 5) y[i < 2*n] = any[a < k]((x[(i + 1 - a) / 2] else 0) > 0)", {f32({7})});
  add("ones outside", "x[n], w[k]) y[i < 2*n + k] = sum[k]((x[(i - k) / 2] else 1) * w[k])", xf);
  add("integers", "x[n], w[k]) y[i < 2*n + k] = sum[k]((x[(i - k) / 2] else 0) * w[k])",
      {of(DType::I32, {7}), of(DType::I32, {5})});
  add("narrow", "x[n], w[k]) y[i < 2*n + k] = sum[k]((x[(i - k) / 2] else 0) * w[k])",
      {of(DType::F16, {7}), of(DType::BF16, {5})});
  add("two strides", "x[n], w[k]) y[i < 2*n] = sum[k]((x[(i - k) / 2] else 0) * (x[(i + k) / 3] else 0) * w[k])", xf);
  add("sum of two strides", "x[n], w[k]) y[i < 2*n] = sum[k]((x[(i - k) / 2] else 0) + (x[(i + k) / 3] else 0)*w[k])",
      xf);
  add("two reduced axes in one test", "x[n], w[k]) y[i < 2*n] = sum[k, a < 3]((x[(i - k - a) / 2] else 0) * w[k])", xf);
  add("two reduced axes, no product", "x[n], w[k]) y[i < 2*n] = sum[k, a < 3]((x[(i - k - a) / 2] else 0) + w[k])", xf);
  add("two free axes in one test", "x[n], w[k]) y[i < 5, j < n] = sum[k]((x[(i + 2*j - k) / 3] else 0) * w[k])", xf);
  add("weights of the free axis", "x[n], w[k]) y[i < 5] = sum[k]((x[(i + 3 - k) / 2] else 0) * w[i])", xf);
  add("reduced alone", "x[n], w[k]) y[i < 4] = sum[k]((x[i + k / 2] else 0) * w[k])", xf);
  add("reduced alone, offset", "x[n], w[k]) y[i < 4] = sum[k]((x[i + (k + 1) / 3] else 0) * w[k])", xf);
  add("reduced alone, no product", "x[n], w[k]) y[i < 4] = max[k](x[i + k / 2] else -inf)", xf);
  add("fold", "x[n], w[k]) y[i < 2*n] = fold[k](h = 0 : w[k]*h + (x[(i - k) / 2] else 0))", xf);
  add("fold that skips",
      "x[n], w[k]) y[i < 2*n] = fold[k](h = 1 : h + w[k]*h*select((i - index(k)) % 2 == 0, (x[(i - k) // 2 + 2] else "
      "0), 0))",
      xf);
  add("a select",
      "x[n], w[k]) y[i < 2*n] = sum[k](select((i - index(k)) % 2 == 0, (x[(i - k) // 2] else 0) * w[k], 0))", xf);
  add("an index as a value", "x[n], w[k]) y[i < 2*n] = sum[k]((x[(i - k) / 2] else 0) * w[k] * i) + i*i", xf);
  add("a chain behind",
      "x[n], w[k], b[m]) { z[i < 2*n] = sum[k]((x[(i - k) / 2] else 0) * w[k])  a[m] = z[m] + b[m]  "
      "y[m] = a[m] * sigmoid(a[m]) + z[m] }",
      {f32({7}), f32({5}), f32({14})});
  add("a chain behind two",
      "x[n], w[k]) { z[i < 2*n] = sum[k]((x[(i - k) / 2] else 0) * w[k])  "
      "a[i < 2*n] = x[i / 2] else 3  y[m < 2*n] = z[m] + a[m] + z[0]  u[m < 2*n] = z[2*n - 1 - m] + a[m]  return y, u "
      "}",
      xf);
  add("a window behind", "x[n], w[k]) { z[i < 2*n] = x[i / 2] else 0  y[i] = sum[k](z[i + k] * w[k]) }", xf);
  return rows;
}

}  // namespace frit::testing
