// Gradients are derived: of a layer of one's own, with no backward kernel and no formula for it.
#include <frit/frit.h>

#include <cmath>
#include <cstdio>

int main() {
  // A line a*x + b through four points, by gradient descent.
  const frit::Tensor x(std::vector<float>{0, 1, 2, 3}, {4}), want(std::vector<float>{1, 3, 5, 7}, {4});
  const auto line = frit::op("def line(x, a, b) = a * x + b");
  const auto loss = frit::op("def loss(y[n], t[n]) l[] = mean[n](square(y[n] - t[n]))");
  frit::Tensor a = frit::Tensor::scalar(0.0f), b = frit::Tensor::scalar(0.0f);
  for (int step = 0; step < 400; ++step) {
    const std::vector<frit::Tensor> d = frit::grad(loss(line(x, a, b), want), {a, b});  // recorded, not computed
    a = (a - d[0] * 0.1).evaluate();
    b = (b - d[1] * 0.1).evaluate();
  }
  const float slope = a.to_vector<float>()[0], offset = b.to_vector<float>()[0];
  std::printf("%.4f * x + %.4f\n", slope, offset);
  return std::abs(slope - 2) < 1e-3 && std::abs(offset - 1) < 1e-3 ? 0 : 1;
}
