// An op is a line of text: checked, fused and compiled when it is first used.
#include <frit/frit.h>

#include <cmath>
#include <cstdio>

int main() {
  const frit::Tensor x(std::vector<float>{-2, -1, 0, 1, 2}, {5});
  const auto swish = frit::op("def swish(x) = x * sigmoid(x)");
  const frit::Tensor y = swish(x) + 1;  // nothing is computed yet: one kernel will do both
  const std::vector<float> values = y.to_vector<float>();

  double worst = 0;
  for (int i = 0; i < 5; ++i) {
    const double v = i - 2, want = v / (1 + std::exp(-v)) + 1;
    worst = std::max(worst, std::abs(values[static_cast<size_t>(i)] - want));
    std::printf("swish(%+.0f) + 1 = %f\n", v, values[static_cast<size_t>(i)]);
  }
  std::printf("largest error %.2g\n", worst);
  return worst < 1e-6 ? 0 : 1;
}
