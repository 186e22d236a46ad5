#include <gtest/gtest.h>

#include <thread>

#include "frit/frit.h"

namespace frit {
namespace {

using Floats = std::vector<float>;

TEST(tensor, operators_and_numbers) {
  const Tensor a(Floats{1, 2, 3, 4}, {2, 2}), b(Floats{10, 20}, {2});
  EXPECT_EQ((a + b).to_vector<float>(), (Floats{11, 22, 13, 24}));
  EXPECT_EQ((a - b).to_vector<float>(), (Floats{-9, -18, -7, -16}));
  EXPECT_EQ((a * 2 + 1.5).to_vector<float>(), (Floats{3.5, 5.5, 7.5, 9.5}));
  EXPECT_EQ((12 / a).to_vector<float>(), (Floats{12, 6, 4, 3}));
  EXPECT_EQ((-a).to_vector<float>(), (Floats{-1, -2, -3, -4}));
  EXPECT_EQ((a <= 2).to_vector<bool>(), (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ((a == a).to_vector<bool>(), (std::vector<bool>{true, true, true, true}));
  const Tensor i(std::vector<int32_t>{1, -2}, {2});
  EXPECT_EQ((i * 3).to_vector<int32_t>(), (std::vector<int32_t>{3, -6}));
  EXPECT_EQ((i * 0.5).to_vector<float>(), (Floats{0.5, -1}));
}

TEST(tensor, definitions_are_functions) {
  const auto swish = op("def swish(x) = x * sigmoid(x)");
  const Tensor x(Floats{-1, 0, 2}, {3});
  const Floats y = swish(x).to_vector<float>();
  EXPECT_NEAR(y[0], -0.26894143f, 1e-6);
  EXPECT_EQ(y[1], 0);
  EXPECT_NEAR(y[2], 1.7615942f, 1e-6);
  const auto window = op("def window(x[n]; k) y[i] = sum[a < k](x[i + a])");
  EXPECT_EQ(window.with("k", 2)(x).to_vector<float>(), (Floats{-1, 2}));
  const auto two = op("def two(x[n]) {\n  a[n] = x[n] + 1\n  b[] = sum[n](x[n])\n  return a, b\n}").call({x});
  EXPECT_EQ(two[0].to_vector<float>(), (Floats{0, 1, 3}));
  EXPECT_EQ(two[1].to_vector<float>(), (Floats{1}));
}

TEST(tensor, mistakes_are_input_errors_at_the_call) {
  const Tensor a(Floats{1, 2, 3}, {3}), b(Floats{1, 2}, {2});
  EXPECT_THROW(a + b, InputError);
  EXPECT_THROW(a + Tensor(), InputError);
  EXPECT_THROW(Tensor(Floats{1, 2}, {3}), InputError);
  EXPECT_THROW(a.to_vector<double>(), InputError);
  EXPECT_THROW(op("def f(x = "), InputError);
  EXPECT_THROW(op("# nothing"), InputError);
  EXPECT_THROW(op("def f(x[n]) y[i < n] = x[i + 1]")(a), InputError);
  EXPECT_THROW(op("def f(x) = x")(a, a), InputError);
  EXPECT_THROW(op("def f(x) = x").with("k", 1)(a), InputError);
}

TEST(tensor, B131_long_chains_build_evaluate_and_end) {
  std::thread small([] {
    Tensor y(Floats{0, 1}, {2});
    for (int i = 0; i < 100000; ++i) y = y + 1;
    EXPECT_EQ(y.to_vector<float>(), (Floats{100000, 100001}));
    Tensor unused(Floats{0}, {1});
    for (int i = 0; i < 100000; ++i) unused = unused + 1;
  });
  small.join();
}

TEST(tensor, B163_results_outlive_temporaries) {
  const Tensor x(Floats{1}, {1});
  for (int i = 0; i < 1000; ++i) {
    Tensor y;
    {
      const Tensor t = x + i;
      y = t * 2;
    }
    const Tensor other(Floats(1000, -1), {1000});
    ASSERT_EQ(y.to_vector<float>()[0], 2.0f * (1 + static_cast<float>(i)));
  }
}

TEST(tensor, B165_threads_share_an_operand) {
  const Tensor x(Floats{5}, {1});
  const auto work = [&x](bool adds) {
    for (int i = 0; i < 2000; ++i) {
      const Tensor y = adds ? x + 1 : x * 3;
      ASSERT_EQ(y.to_vector<float>()[0], adds ? 6 : 15);
    }
  };
  std::thread one(work, true), two(work, false);
  one.join();
  two.join();
}

TEST(tensor, equal_work_is_compiled_once) {
  const Tensor x(Floats{1, 2, 3, 4, 5}, {5});
  (x * 7 - 2).to_vector<float>();
  const Statistics before = statistics();
  for (int i = 0; i < 10; ++i) EXPECT_EQ((x * (i + 10) - 2).to_vector<float>()[1], 2 * (i + 10) - 2);
  EXPECT_EQ(statistics().compiles, before.compiles);
  EXPECT_GE(statistics().memory_hits, before.memory_hits + 9);
}

}  // namespace
}  // namespace frit
