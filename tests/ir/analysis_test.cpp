#include "ir/analysis.h"

#include <gtest/gtest.h>

#include "ir/random_expr.h"

using namespace frit;
using frit::testing::evaluate;
using frit::testing::RandomIndex;

namespace {

const Expr i = index(0), j = index(1), k = index(2);
const Expr n = symbol("n"), m = symbol("m");
Expr c(int64_t v) { return index_constant(v); }
Expr fdiv(const Expr& a, const Expr& b) { return binary(Op::FloorDiv, a, b); }
Expr mod(const Expr& a, const Expr& b) { return binary(Op::Mod, a, b); }
Expr less(const Expr& a, const Expr& b) { return binary(Op::Lt, a, b); }
Expr clamp(const Expr& x, const Expr& low, const Expr& high) { return binary(Op::Min, binary(Op::Max, x, low), high); }

IndexAnalysis over(std::vector<Expr> extents) { return IndexAnalysis(std::move(extents)); }

}  // namespace

TEST(Analysis, Simplifies) {
  // i < 4, j < 6, k < 8
  const struct {
    Expr e;
    const char* text;
  } rows[] = {
      {j + i - j, "i0"},
      {i * c(2) + i * c(3), "i0*5"},
      {fdiv(i * c(6) + j, c(6)), "i0"},
      {mod(i * c(6) + j, c(6)), "i1"},
      {fdiv((i * c(6) + j) * c(8) + k, c(48)), "i0"},
      {mod(fdiv((i * c(6) + j) * c(8) + k, c(8)), c(6)), "i1"},
      {mod((i * c(6) + j) * c(8) + k, c(8)), "i2"},
      {fdiv(i * c(4) + k, c(8)), "(i0*4 + i2)//8"},
      {fdiv(i * c(4) + mod(k, c(4)), c(8)), "i0//2"},
      {mod(i * c(4) + mod(k, c(4)), c(8)), "i2%4 + i0%2*4"},
      {fdiv(fdiv(k, c(2)), c(2)), "i2//4"},
      {fdiv(j, c(4)) * c(4) + mod(j, c(4)), "i1"},
      {j - fdiv(j, c(4)) * c(4), "i1%4"},
      {fdiv(k, c(8)), "0"},
      {fdiv(k + c(5), c(8)), "(i2 + 5)//8"},
      {mod(mod(k, c(4)), c(2)), "i2%2"},
      {binary(Op::CeilDiv, j, c(4)), "(i1 + 3)//4"},
      {clamp(i, c(0), c(3)), "i0"},
      {clamp(i - c(1), c(0), c(3)), "max(i0 - 1, 0)"},
      {less(i, c(4)), "true"},
      {less(i + c(1), i), "false"},
      {less(i * c(2) + c(1), c(4)), "i0 < 2"},
      {binary(Op::Le, c(3), i), "2 < i0"},
      {less(fdiv(k, c(4)), c(1)), "i2 < 4"},
      {binary(Op::Eq, i * c(2) + c(1), j * c(4)), "false"},
      {select(less(i, c(9)), j, k), "i1"},
      {unary(Op::Abs, i - c(5)), "5 - i0"},
  };
  IndexAnalysis a = over({c(4), c(6), c(8)});
  for (const auto& row : rows) EXPECT_EQ(to_string(a.simplify(row.e)), row.text) << to_string(row.e);
}

TEST(Analysis, AnIndexOfOneValueAddsNothing) {
  IndexAnalysis a = over({c(4), c(1), c(1)});
  EXPECT_EQ(a.simplify(i * c(2) + j), i * c(2));
  EXPECT_EQ(a.simplify(j), j);
  EXPECT_EQ(a.simplify(j * c(3) + k), c(0));
}

TEST(Analysis, SymbolicExtents) {
  IndexAnalysis a = over({m, n, c(8)});  // i < m, j < n
  EXPECT_EQ(a.simplify(fdiv(i * n + j, n)), i);
  EXPECT_EQ(a.simplify(mod(i * n + j, n)), j);
  EXPECT_EQ(to_string(a.simplify(fdiv((i * n + j) * c(8) + k, n * c(8)))), "i0");
  EXPECT_TRUE(a.is_inside(i * n + j, m * n));
  EXPECT_TRUE(a.is_inside(m - c(1) - i, m));
  EXPECT_FALSE(a.is_inside(i + c(1), m));
  EXPECT_EQ(a.decide(less(j, n)), true);
  EXPECT_EQ(a.decide(less(i, n)), std::nullopt);
}

TEST(Analysis, SymbolicReshapes) {
  IndexAnalysis a = over({m * n, c(8)});  // i < m*n
  EXPECT_TRUE(a.is_inside(fdiv(i, n), m));
  EXPECT_TRUE(a.is_inside(mod(i, n), n));
  EXPECT_FALSE(a.is_inside(fdiv(i, n), n));
  EXPECT_FALSE(a.is_inside(mod(i, n), m));
  EXPECT_EQ(a.simplify(fdiv(i, n) * n + mod(i, n)), i);
}

TEST(Analysis, DeepProductsDoNotRecurse) {
  Expr e = i + c(1);
  for (int d = 0; d < 50'000; ++d) e = e * (j + c(2));
  IndexAnalysis a = over({c(4), c(6)});
  EXPECT_EQ(a.range(a.simplify(e)).high, Range::kNone);
}

TEST(Analysis, ConvolutionBounds) {
  // 0 <= i*2 + k <= 228 < 230, from LANGUAGE section 14
  IndexAnalysis a = over({c(112), c(7)});
  EXPECT_TRUE(a.is_inside(i * c(2) + j, c(230)));
  EXPECT_FALSE(a.is_inside(i * c(2) + j, c(228)));
  const Range r = a.range(i * c(2) + c(1));
  EXPECT_EQ(r.low, 1);
  EXPECT_EQ(r.high, 223);
  EXPECT_EQ(r.step, 2);
  EXPECT_EQ(r.offset, 1);
}

TEST(Analysis, DataIsNotTrusted) {
  IndexAnalysis a = over({c(4)});
  const Expr x = read(DType::I64, 0, std::vector<Expr>{i});
  const Expr doubled = fdiv(x * c(2), c(2));  // x*2 may wrap
  EXPECT_EQ(a.simplify(doubled), doubled);
  const Expr b = cast(read(DType::U8, 0, std::vector<Expr>{i}), DType::I64);
  EXPECT_EQ(a.simplify(fdiv(b * c(2), c(2))), b);
  EXPECT_TRUE(a.is_inside(clamp(x, c(0), c(9)), c(10)));
  EXPECT_FALSE(a.is_inside(x, c(10)));
  EXPECT_EQ(a.decide(less(x, x + c(1))), std::nullopt);
}

TEST(Analysis, AffineForms) {
  const auto a = affine(i * c(2) + (j - c(3)) * c(4) - k, 3);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->constant, -12);
  EXPECT_EQ(a->coefficients, (std::vector<int64_t>{2, 4, -1}));
  EXPECT_FALSE(affine(fdiv(i, c(2)), 3));
  EXPECT_FALSE(affine(i * j, 3));
  EXPECT_FALSE(affine(i + n, 3));
}

// Everything that analysis says holds for every index, and simplifying keeps every value and is done after one time.
TEST(Analysis, AgreesWithBruteForce) {
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    RandomIndex random(seed, 3, seed % 4 == 0);
    const bool symbolic = seed % 4 == 0;
    std::vector<int64_t> extents;
    std::vector<Expr> axes;
    for (int a = 0; a < 3; ++a) {
      extents.push_back(random.number(1, 9));
      axes.push_back(c(extents.back()));
    }
    const int64_t n_value = random.number(1, 9);
    if (symbolic) {
      extents[1] = n_value;
      axes[1] = n;
    }
    const Expr e = seed % 3 == 0 ? random.condition(4) : random.integer(4);
    IndexAnalysis analysis{axes};
    const Range r = analysis.range(e);
    const Expr s = analysis.simplify(e);
    IndexAnalysis again{axes};
    ASSERT_EQ(to_string(again.simplify(s)), to_string(s)) << "seed " << seed << ": " << to_string(e);
    const Range rs = again.range(s);
    for (int64_t x = 0; x < extents[0]; ++x)
      for (int64_t y = 0; y < extents[1]; ++y)
        for (int64_t z = 0; z < extents[2]; ++z) {
          const int64_t v = evaluate(e, {x, y, z}, n_value);
          for (const Range& range : {r, rs}) {
            ASSERT_TRUE(range.low <= v && v <= range.high) << "seed " << seed << ": " << to_string(e) << " = " << v;
            if (range.step == 0)
              ASSERT_EQ(v, range.offset) << "seed " << seed << ": " << to_string(e);
            else
              ASSERT_EQ((v - range.offset) % range.step, 0) << "seed " << seed << ": " << to_string(e);
          }
          ASSERT_EQ(evaluate(s, {x, y, z}, n_value), v) << "seed " << seed << " at " << x << " " << y << " " << z
                                                        << ": " << to_string(e) << " became " << to_string(s);
        }
  }
}
