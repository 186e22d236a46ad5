#include "compiler/front/one_line.h"

#include <gtest/gtest.h>

#include <cmath>

namespace frit {
namespace {

using Floats = std::vector<float>;

TEST(one_line, is_text_of_the_language) {
  EXPECT_EQ(front::elementwise_text("a * sigmoid(b)", 2), "def _(a, b) = a * sigmoid(b)");
  EXPECT_EQ(front::reduce_text("log(sum(exp(a)))", 1), "def _(a[.., r.. @ axes]; axes) y[..] = log(sum[r..](exp(a[.., r..])))");
  EXPECT_EQ(front::reduce_text(Reducer{"exp(a)", "s + t", "0", "log(s)"}, 1),
            "def _(a[.., r.. @ axes]; axes) y[..] = log(fold[r..](s = 0 : s + (exp(a[.., r..])) : s + s'))");
  EXPECT_EQ(front::supersample_text("a"),
            "def _(a[.., h.. @ rank(a) - len(k)]; k) y[.., (h, w < k)..] = a[.., h..]");
  EXPECT_EQ(front::einsum_text("bik, bkj -> bij", 2),
            "def _(x0[n_b, n_i, n_k], x1[n_b, n_k, n_j]) y[n_b, n_i, n_j] = sum[n_k](x0[n_b, n_i, n_k] * x1[n_b, n_k, "
            "n_j])");
}

TEST(one_line, elementwise) {
  const Tensor a(Floats{1, 2}, {2}), b(Floats{3, 5}, {2});
  EXPECT_EQ(elementwise("a * b - 1", a, b).to_vector<float>(), (Floats{2, 9}));
  const auto both = elementwise_all("{ y = a + b  z = a - b  return y, z }", {a, b});
  EXPECT_EQ(both[0].to_vector<float>(), (Floats{4, 7}));
  EXPECT_EQ(both[1].to_vector<float>(), (Floats{-2, -3}));
}

TEST(one_line, reduce) {
  const Tensor a(Floats{1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(reduce("sum(a)", {a}, {1}).to_vector<float>(), (Floats{6, 15}));
  EXPECT_EQ(reduce("max(a)", {a}, {0}).to_vector<float>(), (Floats{4, 5, 6}));
  EXPECT_EQ(reduce("sum(a * b)", {a, a}, {-1}).to_vector<float>(), (Floats{14, 77}));
  EXPECT_EQ(reduce("sum(a)", {a}, {0, 1}).to_vector<float>(), (Floats{21}));
  const Tensor lse = reduce(Reducer{.map = "exp(a)", .combine = "s + t", .identity = "0.0", .finish = "log(s)"}, {a}, {1});
  EXPECT_NEAR(lse.to_vector<float>()[0], std::log(std::exp(1.0) + std::exp(2.0) + std::exp(3.0)), 1e-5);
}

TEST(one_line, subsample_and_supersample) {
  const Tensor a(Floats{1, 2, 3, 4}, {1, 1, 4});
  EXPECT_EQ(subsample("max(a)", a, {.k = {2}}).to_vector<float>(), (Floats{2, 4}));
  EXPECT_EQ(subsample("sum(a)", a, {.k = {3}, .s = {1}, .p = {1}, .outside = "0"}).to_vector<float>(),
            (Floats{3, 6, 9, 7}));
  EXPECT_EQ(supersample("a * 10", a, {2}).to_vector<float>(), (Floats{10, 10, 20, 20, 30, 30, 40, 40}));
}

TEST(one_line, einsum) {
  const Tensor a(Floats{1, 2, 3, 4}, {2, 2}), b(Floats{1, 0, 0, 1}, {2, 2});
  EXPECT_EQ(einsum("ik,kj->ij", {a, b}).to_vector<float>(), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(einsum("ij->ji", {a}).to_vector<float>(), (Floats{1, 3, 2, 4}));
  EXPECT_EQ(einsum("ij,ij->", {a, a}).to_vector<float>(), (Floats{30}));
  EXPECT_THROW(einsum("ij,jk", {a, b}), InputError);
  EXPECT_THROW(einsum("ij,jk->ik", {a}), InputError);
}

}  // namespace
}  // namespace frit
