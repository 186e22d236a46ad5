// Compile time of one small fused kernel of a new text, in a process that has compiled before: first call of a fresh
// constant less a repeated call. Nothing is taken from disk when FRIT_CACHE_LIMIT is 0.
//   FRIT_CACHE_LIMIT=0 bench_compile
#include <fmt/format.h>
#include <frit/frit.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace {

double milliseconds(const frit::Tensor& x, const auto& op) {
  const auto start = std::chrono::steady_clock::now();
  op(x).evaluate();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void row(const std::string& name, const std::string& before, const std::string& after) {
  const frit::Tensor x(std::vector<float>(512 * 512, 0.5F), {512, 512});
  std::vector<double> times;
  for (int i = 0; i < 8; ++i) {
    const auto op = frit::op(fmt::format("def f(x) = {}1.{:03}{}", before, 100 + 37 * i, after));
    const double first = milliseconds(x, op);
    const double again = milliseconds(x, op);
    if (i > 0) times.push_back(first - again);  // the first of all opens LLVM
  }
  std::sort(times.begin(), times.end());
  fmt::print("{:24} median {:6.2f} ms  min {:6.2f} ms  of {}\n", name, times[times.size() / 2], times[0], times.size());
}

}  // namespace

int main() {
  row("x*sigmoid(x+c)+x", "x * sigmoid(x + ", ") + x");
  row("softmax(x*c)", "softmax(x * ", ")");
  row("relu(c*(x@x))", "relu(matmul(x, x) * ", ")");
}
