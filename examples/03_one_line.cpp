// The usual kinds of op in one line each: elementwise, reductions, windows, repetition, products.
#include <frit/frit.h>

#include <cstdio>

namespace {

int failures = 0;

void expect(const char* what, const frit::Tensor& tensor, const std::vector<float>& want) {
  const std::vector<float> got = tensor.to_vector<float>();
  std::printf("%-44s", what);
  for (const float v : got) std::printf(" %g", v);
  std::printf("\n");
  if (got != want) ++failures;
}

}  // namespace

int main() {
  const frit::Tensor a(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  const frit::Tensor b(std::vector<float>{1, 0, 0, 1, 1, 1}, {3, 2});
  expect("elementwise: max(a - 2, 0)", frit::elementwise("max(a - 2, 0)", a), {0, 0, 1, 2, 3, 4});
  expect("reduce: sum(a * a) over the last axis", frit::reduce("sum(a * a)", {a}, {-1}), {14, 77});
  expect("reduce: one's own, the largest magnitude",
         frit::reduce(frit::Reducer{.map = "abs(a)", .combine = "max(s, t)", .identity = "0.0"}, {a - 4}, {0}),
         {3, 2, 2});
  expect("subsample: sums of windows of 2, step 1", frit::subsample("sum(a)", a, {.k = {2}, .s = {1}}), {3, 5, 9, 11});
  expect("supersample: each element twice", frit::supersample("a", b, {2}), {1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
  expect("einsum: a matrix product", frit::einsum("ik,kj->ij", {a, b}), {4, 5, 10, 11});
  return failures;
}
