// Every differentiable definition of the library has a gradient row.
#include "gradient/gradient_check.h"

namespace frit::testing {
namespace {

using L = std::vector<int64_t>;

const std::vector<GradientRow>& rows() {
  static const std::vector<GradientRow> all = {
      {"swish", {x({5})}},
      {"relu", {x({5})}},
      {"dense", {x({2, 3}), x({4, 3}), x({4})}},
      {"dense", {x({2, 3}), x({4, 3}), none()}},
      {"matmul", {x({2, 3, 4}), x({4, 5})}},
      {"trace", {x({3, 3})}},
      {"softmax", {x({2, 5})}},
      {"log_softmax", {x({2, 5})}},
      {"layer_norm", {x({2, 5}), x({5}), x({5})}},
      {"conv", {x({1, 4, 5, 6}), x({6, 2, 3, 2}), x({6})}, {{"g", 2}, {"s", 2}, {"d", 1}, {"p", 1}}},
      {"conv", {x({2, 3, 7}), x({4, 3, 3})}, {{"p", 1}}},
      {"conv_transpose", {x({1, 2, 4}), x({2, 3, 3})}, {{"s", 2}, {"p", 1}}},
      {"max_pool", {x({1, 2, 7})}, {{"k", 3}, {"s", 2}, {"p", 1}}},
      {"avg_pool", {x({1, 2, 7})}, {{"k", 3}, {"s", 2}, {"p", 1}}},
      {"lrn", {x({1, 5, 2})}, {{"k", 3}}},
      {"depth_to_space", {x({1, 8, 2, 3})}, {{"a", 2}}},
      {"transpose", {x({2, 3, 4})}, {{"perm", L{2, 0, 1}}}},
      {"attention", {x({1, 4, 3, 2}), x({1, 2, 4, 2}), x({1, 2, 4, 3})}, {{"causal", true}}},
      {"lstm_cell", {x({2, 3}), x({2, 4}), x({2, 4}), x({16, 3}), x({16, 4}), x({16})}},
      {"unfold", {x({1, 2, 5, 4})}, {{"k", L{2, 3}}, {"p", 1}}},
      {"fold_back", {x({1, 6, 4})}, {{"o", L{6}}, {"k", L{3}}}},
      {"moments", {x({2, 5})}},
      {"logsumexp", {x({2, 5})}},
      {"cumsum", {x({2, 5})}},
      {"linear_recurrence", {x({2, 5}), x({2, 5})}},
      {"onnx.ReduceProd.1", {x({2, 2, 3})}, {{"axes", L{1, 2}}}},
      {"gather", {x({5, 3}), ints({4}, -5, 5)}},
      {"embedding", {x({5, 3}), ints({4}, 0, 5)}},
  };
  return all;
}

TEST(GradientLayers, AgreeWithDifferences) {
  for (const GradientRow& row : rows()) check_gradient_row(row);
}

}  // namespace
}  // namespace frit::testing
