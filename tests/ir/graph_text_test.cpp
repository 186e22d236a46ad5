#include "ir/graph_text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/interpreter.h"
#include "ir/random_expr.h"
#include "ir/random_graph.h"
#include "support/error.h"

using namespace frit;
using frit::testing::RandomGraph;
using frit::testing::RandomIndex;

namespace {

std::string error_of(const std::string& text) {
  try {
    parse_graph(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

constexpr const char* kDense = R"(%0 = input f32[8, 64] "a"
%1 = constant f32[64, 32] large  # weights
%2 = compute f32[8, 32] reads %0, %1 (m < 8, n < 32; k < 64) sum(acc0 = 0.0 : acc0 + x0[m, k]*x1[k, n] : acc0 + acc0') -> acc0  # dense
%3 = view f32[32, 8] reads %2 (i < 32, j < 8) [j, i]
%4 = assemble f32[32, 16] reads %3, %3 [0, 0]+[1, 2], [0, 1]+[1, 2]
output "y" = %4
)";

}  // namespace

TEST(GraphText, ReadsBackWhatItPrints) { EXPECT_EQ(to_string(parse_graph(kDense)), kDense); }

TEST(GraphText, VerifiedGraphsHaveNoFindings) { EXPECT_TRUE(verify(parse_graph(kDense)).empty()); }

TEST(GraphText, ShapesMayHaveSymbols) {
  const std::string text =
      "%0 = input f16[n, 2*m] \"x\"\n"
      "%1 = compute f16[n, 2*m] reads %0 (n < ${n}, j < 2*m) -> f16(exp(x0[n, j]))\n"
      "output \"y\" = %1\n";
  const std::string printed = to_string(parse_graph(text));
  EXPECT_EQ(printed, text);
  EXPECT_TRUE(verify(parse_graph(text)).empty());
}

TEST(GraphText, SaysWhatIsWrong) {
  const struct {
    const char* text;
    const char* words;
  } rows[] = {
      {"%0 = input f32[2] \"x\"\n%1 = compute f32[3] reads %0 (i < 2) -> x0[i]", "stated type"},
      {"%0 = input f32[2] \"x\"\n%1 = compute f32[2] reads %0 (i < 2) -> x1[i]", "no such operand"},
      {"%0 = input f32[2] \"x\"\n%1 = compute f32[2] reads %0 (i < 2) -> x0[i, i]", "not well formed"},
      {"%0 = input f32[2] \"x\"\n%1 = compute f32[2] reads %0 (i < 2) -> x0[i] + 1", "operands do not fit"},
      {"%0 = input f33[2] \"x\"", "not a dtype"},
      {"%0 = input f32[2] \"x", "does not end"},
      {"%0 = constant f32[1000000, 1000000, 1000000] large", "too large"},
      {"%0 = constant u8[1] {256}", "not an element"},
      {"%1 = view f32[2] reads %0 (i < 2) [i]", "no such node"},
      {"output \"y\" = %7", "no such node"},
      {"%0 = thing f32[2]", "no such kind"},
  };
  for (const auto& row : rows) EXPECT_NE(error_of(row.text).find(row.words), std::string::npos) << error_of(row.text);
  EXPECT_NE(error_of(std::string("%0 = input f32[") + std::string(5000, '(')).find("too deeply nested"),
            std::string::npos);
}

TEST(GraphText, DamagedTextIsAnErrorNotACrash) {
  const std::string text = kDense;
  for (size_t at = 0; at < text.size(); ++at) {
    for (const char c : {'%', '(', '9', ' ', ']', '"'}) {
      std::string damaged = text;
      damaged[at] = c;
      try {
        verify(parse_graph(damaged));
      } catch (const InputError&) {
      }
    }
    try {
      parse_graph(text.substr(0, at));
    } catch (const InputError&) {
    }
  }
}

TEST(GraphText, ExpressionsRoundTrip) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    RandomIndex random(seed, 3, true);
    const Expr e = seed % 2 ? random.integer(5) : random.condition(5);
    EXPECT_EQ(parse_expr(to_string(e)), e) << to_string(e);
  }
  const Expr i = index(0);
  const Expr x = read(DType::F32, 0, std::span(&i, 1));
  for (const double v : {0.1, 1e-42, 1e30, -0.0, HUGE_VAL, -HUGE_VAL}) {
    for (const DType dtype : {DType::F32, DType::F64}) {
      const Expr e = binary(Op::Sub, cast(x, dtype), unary(Op::Neg, constant(dtype, v)));
      EXPECT_EQ(parse_expr(to_string(e)), e) << to_string(e);
    }
  }
  for (const DType dtype : {DType::I8, DType::U8, DType::I32, DType::U64, DType::Bool}) {
    const Expr e = cast(constant_int(dtype, -1), DType::I64) + index_constant(INT64_MIN);
    EXPECT_EQ(parse_expr(to_string(e)), e) << to_string(e);
  }
  Expr deep = x;
  for (int k = 0; k < 3000; ++k) deep = unary(Op::Neg, unary(Op::Tanh, deep));
  EXPECT_EQ(parse_expr(to_string(deep)), deep);
  const Expr nan = constant(DType::F32, NAN) + bitcast(cast(i, DType::I32), DType::F32);
  EXPECT_EQ(parse_expr(to_string(nan)), nan);
  EXPECT_EQ(parse_expr("${a}+b"), symbol("a") + symbol("b"));
}

TEST(GraphText, RandomGraphsRoundTripWithEqualHash) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomGraph random(seed);
    const Graph g = random.make(static_cast<int>(seed % 9) + 1);
    const std::string text = to_string(g);
    const std::vector<std::string> findings = verify(g);
    ASSERT_TRUE(findings.empty()) << "seed " << seed << ": " << findings[0];
    const Graph back = parse_graph(text);
    ASSERT_EQ(to_string(back), text) << "seed " << seed;
    ASSERT_EQ(hash(back), hash(g)) << "seed " << seed;
  }
}

TEST(GraphHash, DependsOnStructureOnly) {
  const std::string x = "%0 = input f32[4] \"x\"\n";
  const std::string exp = "compute f32[4] reads %0 (i < 4) -> exp(x0[i])\n",
                    tanh = "compute f32[4] reads %0 (j < 4) -> tanh(x0[j])\n";
  const uint64_t one = hash(parse_graph(x + "%1 = " + exp + "%2 = " + tanh + "output \"a\" = %1\noutput \"b\" = %2"));
  const uint64_t other = hash(parse_graph(x + "%2 = " + tanh + "%1 = " + exp + "output \"c\" = %1\noutput \"d\" = %2"));
  EXPECT_EQ(one, other);
  EXPECT_NE(one, hash(parse_graph(x + "%1 = " + exp + "%2 = " + tanh + "output \"a\" = %2\noutput \"b\" = %1")));
  EXPECT_NE(hash(parse_graph("%0 = constant f32[1] {1}\noutput \"y\" = %0")),
            hash(parse_graph("%0 = constant f32[1] {2}\noutput \"y\" = %0")));
}

TEST(Verify, FindsWhatDoesNotHold) {
  const struct {
    const char* text;
    const char* words;
  } rows[] = {
      {"%0 = input f32[3] \"x\"\n%1 = compute f32[4] reads %0 (i < 4) -> x0[i]\n",
       "may leave axis 0 of f32[3]: i0 is 0 to 3"},
      {"%0 = input f32[3] \"x\"\n%1 = view f32[2] reads %0 (i < 2) [i - 1]\n", "-1 to 0"},
      {"%0 = input f32[2] \"x\"\n%1 = assemble f32[4] reads %0, %0 [0]+[1], [1]+[1]\n", "overlap"},
      {"%0 = input f32[2] \"x\"\n%1 = assemble f32[5] reads %0, %0 [0]+[2], [1]+[2]\n", "fill 4 elements of 5"},
      {"%0 = input f32[2] \"x\"\n%1 = assemble f32[4] reads %0, %0 [0]+[1], [3]+[1]\n", "leaves axis 0"},
      {"%0 = input f32[2] \"x\"\n%1 = compute f32[] reads %0 (; k < 2) max(acc0 = 0.0 : max(acc0, x0[k]) : max(acc0, "
       "acc0')) -> acc0\n",
       "reducer max"},
      {"%0 = input f32[2] \"x\"\n%1 = input f32[2] \"x\"\n", "two inputs of one name"},
  };
  for (const auto& row : rows) {
    const std::vector<std::string> findings = verify(parse_graph(row.text));
    ASSERT_FALSE(findings.empty()) << row.text;
    EXPECT_NE(findings[0].find(row.words), std::string::npos) << findings[0];
  }
}

TEST(Verify, EmptyRangesReadNothing) {
  EXPECT_TRUE(
      verify(parse_graph(
                 "%0 = input f32[0] \"x\"\n%1 = compute f32[0] reads %0 (i < 0) -> x0[i]\n"
                 "%2 = compute f32[3] reads %0 (i < 3; k < 0) sum(acc0 = 0.0 : acc0 + x0[k] : acc0 + acc0') -> acc0\n"))
          .empty());
}
