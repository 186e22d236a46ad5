// Gradients of lazy tensors.
#include <gtest/gtest.h>

#include <functional>

#include "frit/frit.h"

namespace frit {
namespace {

using Floats = std::vector<float>;

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Grad, OfFormulas) {
  const Tensor x(Floats{1, 2, 3}, {3}), w(Floats{4, 5, 6}, {3});
  const std::vector<Tensor> d = grad(x * w + w, {x, w});
  EXPECT_EQ(d[0].to_vector<float>(), (Floats{4, 5, 6}));
  EXPECT_EQ(d[1].to_vector<float>(), (Floats{2, 3, 4}));
  const Tensor seed(Floats{1, 0, -1}, {3});
  EXPECT_EQ(grad(x * w, {x}, seed)[0].to_vector<float>(), (Floats{4, 0, -6}));
}

TEST(Grad, BroadcastsAreSummed) {
  const Tensor x(Floats{1, 2, 3, 4}, {2, 2}), b(Floats{10, 20}, {2});
  const Tensor d = grad(x * b, {b})[0];
  EXPECT_EQ(d.shape(), (std::vector<int64_t>{2}));
  EXPECT_EQ(d.to_vector<float>(), (Floats{4, 6}));
}

TEST(Grad, OfGradients) {
  const Tensor x(Floats{2, 3}, {2});
  const Tensor first = grad(x * x * x, {x})[0];
  const Tensor second = grad(first, {x})[0];
  EXPECT_EQ(second.to_vector<float>(), (Floats{12, 18}));
  EXPECT_EQ(first.to_vector<float>(), (Floats{12, 27}));
}

TEST(Grad, OfResultsOnTheWayAndOfNothing) {
  const Tensor x(Floats{2, 3}, {2}), other(Floats{1}, {1});
  const Tensor h = x * x;
  const std::vector<Tensor> d = grad(h * 3, {h, x, other, h});
  EXPECT_EQ(d[0].to_vector<float>(), (Floats{3, 3}));
  EXPECT_EQ(d[1].to_vector<float>(), (Floats{12, 18}));
  EXPECT_EQ(d[2].to_vector<float>(), (Floats{0}));
  EXPECT_EQ(d[3].to_vector<float>(), (Floats{3, 3}));
  EXPECT_EQ(grad(x, {x})[0].to_vector<float>(), (Floats{1, 1}));
}

TEST(Grad, OfAnInputComputedBefore) {
  const Tensor x(Floats{2, 3}, {2});
  const Tensor w = (x * 2).evaluate();
  EXPECT_EQ(grad(w * w, {w})[0].to_vector<float>(), (Floats{8, 12}));
}

TEST(Grad, ForgottenFormulasAreNoZeros) {
  const Tensor data = (Tensor(Floats{8, 9}, {2}) / 2).evaluate();
  const Tensor x(Floats{2, 3}, {2});
  const Tensor h = (x * data).evaluate();
  EXPECT_EQ(error_of([&] { grad(h * 2, {x}); }),
            "grad: a tensor on the way was computed before: its formula is forgotten, and no gradient can flow through "
            "it\n  got       f32[2]\n  expected  tensors that are not evaluated yet\n  fix       call grad before "
            "reading values, name the tensor among the inputs, or pass x.detach()");
  EXPECT_EQ(grad(h.detach() * x * data, {x})[0].to_vector<float>(), (Floats{32, 60.75}));
}

TEST(Grad, MistakesAreInputErrors) {
  const Tensor x(Floats{1, 2}, {2}), i(std::vector<int32_t>{1, 2}, {2});
  EXPECT_THROW(grad(x, {i}), InputError);
  EXPECT_THROW(grad(i, {x}), InputError);
  EXPECT_THROW(grad(x, {Tensor()}), InputError);
  EXPECT_THROW(grad(Tensor(), {x}), InputError);
  EXPECT_THROW(grad(x * 2, {x}, Tensor(Floats{1}, {1})), InputError);
}

// Gradient descent on a plane: the same graph in every step.
TEST(Grad, Descends) {
  const auto dense = standard_op("dense");
  const Tensor x(Floats{1, 0, 0, 1, 1, 1, 2, -1}, {4, 2}), y(Floats{2, -3, -1, 7}, {4, 1});
  Tensor w(Floats{0, 0}, {1, 2});
  for (int step = 0; step < 200; ++step) {
    const Tensor e = dense(x, w) - y;
    w = w - grad(e * e, {w})[0] * 0.05;
    w.evaluate();
  }
  const Floats found = w.to_vector<float>();
  EXPECT_NEAR(found[0], 2, 1e-4);
  EXPECT_NEAR(found[1], -3, 1e-4);
}

}  // namespace
}  // namespace frit
