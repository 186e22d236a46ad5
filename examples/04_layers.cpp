// Layers in a file of their own: a norm over rows is one kernel, and an error says where it is.
#include <frit/frit.h>

#include <cmath>
#include <cstdio>

int main() {
  const auto file = FRIT_SOURCE_DIR "/examples/04_layers.frit";
  const auto rms_norm = frit::op_file(file, "rms_norm"), gated = frit::op_file(file, "gated");

  constexpr int64_t kRows = 4, kColumns = 64;
  std::vector<float> values(kRows * kColumns);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  const frit::Tensor x(values, {kRows, kColumns}), g(std::vector<float>(kColumns, 2.0f));
  const std::vector<float> y = rms_norm(x, g).to_vector<float>();

  double worst = 0;
  for (int64_t r = 0; r < kRows; ++r) {
    double squares = 0;
    for (int64_t c = 0; c < kColumns; ++c) squares += std::pow(values[static_cast<size_t>(r * kColumns + c)], 2);
    for (int64_t c = 0; c < kColumns; ++c) {
      const auto i = static_cast<size_t>(r * kColumns + c);
      worst = std::max(worst, std::abs(y[i] - 2 * values[i] / std::sqrt(squares / kColumns + 1e-6)));
    }
  }
  std::printf("rms_norm of %ld rows, largest error %.2g\n", static_cast<long>(kRows), worst);

  const frit::Tensor wrong(std::vector<float>(10 * 32), {10, 32});
  try {
    gated(x, wrong, wrong);
    return 1;
  } catch (const frit::InputError& error) {
    std::printf("%s\n", format(error.findings()[0]).c_str());
  }
  return worst < 1e-5 ? 0 : 1;
}
