// Reads at exact divisions taken apart by residue: the graphs and their values.
#include "compiler/passes/phases.h"

#include "compiler/passes/pass.h"
#include "compiler/passes/simplify.h"
#include "ir/graph_text.h"
#include "passes/graph_texts.h"
#include "passes/phase_rows.h"
#include "passes/simplify_check.h"

namespace frit::testing {
namespace {

void expect_splits(const std::string& from, const std::string& to) {
  const Graph g = parse_graph(from);
  ASSERT_TRUE(verify(g).empty()) << verify(g)[0];
  EXPECT_EQ(without_labels(to_string(split_phases(g))), to_string(parse_graph(to)));
}

const std::string kXF = "%0 = input f32[3] \"x\"\n%1 = input f32[4] \"f\"\n";

// Simplified, then split: the values stay, a second time changes nothing, and nothing divides.
void check_split(const DifferentialRow& row, bool divides, int* divided = nullptr) {
  SCOPED_TRACE(row.id);
  const Graph graph = simplify(graph_of(row));
  if (divided) *divided += has_remainders(graph);
  const Graph split = split_phases(graph);
  const std::string text = to_string(graph) + "became\n" + to_string(split);
  const auto findings = verify(split);
  ASSERT_TRUE(findings.empty()) << findings[0] << "\n" << text;
  ASSERT_EQ(to_string(split_phases(split)), to_string(split)) << text;
  ASSERT_EQ(has_remainders(split), divides) << text;
  std::map<std::string, Array> named;
  const std::vector<Array> inputs = make_inputs(graph, row.fill);
  for (size_t i = 0; i < inputs.size(); ++i)
    named[std::get<Input>(graph.node(graph.input_nodes()[i]).payload).name] = inputs[i];
  expect_same(interpret(graph, named), interpret(split, named), text);
}

TEST(Phases, OfATransposedConvolution) {
  expect_splits(
      kXF +
          "%2 = compute f32[6] reads %0, %1 (i < 6; k < 4) sum(acc0 = 0.0 : "
          "acc0 + (x0[(i - k + 1)//2] if (i - k + 1)%2 == 0 else 0.0)*x1[k] : acc0 + acc0') -> acc0\n"
          "output \"y\" = %2\n",
      // A weight that is not finite makes NaN of the zeros that it meets: summed apart, once for each class of taps.
      kXF +
          "%2 = compute f32[2] reads %1 (k < 2; i1 < 2) sum(acc0 = 0.0 : acc0 + 0.0*x0[k + i1*2] : acc0 + acc0') -> "
          "acc0\n"
          "%3 = compute f32[3] reads %2 (k < 3; i1 < 2) sum(acc0 = 0.0 : "
          "acc0 + select(k == i1, 0.0, x0[i1]) : acc0 + acc0') -> acc0\n"
          "%4 = compute f32[3] reads %0, %1, %3 (i < 3; k < 2) sum(acc0 = 0.0 : "
          "acc0 + (x0[i - k] else 0.0)*x1[k*2 + 1] : acc0 + acc0') -> acc0 + x2[1]\n"
          "%5 = compute f32[3] reads %0, %1, %3 (i < 3; k < 2) sum(acc0 = 0.0 : "
          "acc0 + (x0[i - k + 1] else 0.0)*x1[k*2] : acc0 + acc0') -> acc0 + x2[0]\n"
          "%6 = assemble f32[6] reads %4, %5 [0]+[2], [1]+[2]\n"
          "output \"y\" = %6\n");
}

TEST(Phases, WithoutATapAreAConstant) {
  expect_splits(kXF +
                    "%2 = compute f32[7] reads %0 (i < 7) -> (x0[i//3] if i%3 == 0 else 0.0)\n"
                    "output \"y\" = %2\n",
                kXF +
                    "%2 = compute f32[3] reads %0 (i < 3) -> x0[i]\n"
                    "%3 = compute f32[2] (i < 2) -> 0.0\n"
                    "%4 = assemble f32[7] reads %2, %3, %3 [0]+[3], [1]+[3], [2]+[3]\n"
                    "output \"y\" = %4\n");
}

TEST(Phases, GoThroughPointwiseReaders) {
  expect_splits(
      kXF +
          "%2 = compute f32[6] reads %0 (i < 6; k < 3) sum(acc0 = 0.0 : "
          "acc0 + (x0[(i - k)//2] if (i - k)%2 == 0 else 0.0) : acc0 + acc0') -> acc0\n"
          "%3 = compute f32[6] reads %2 (m < 6) -> exp(x0[m])*x0[m]\n"
          "%4 = compute f32[6] reads %3 (m < 6) -> x0[5 - m]\n"
          "output \"y\" = %4\n",
      kXF +
          "%2 = compute f32[3] reads %0 (i < 3; k < 2) sum(acc0 = 0.0 : "
          "acc0 + (x0[i - k] else 0.0) : acc0 + acc0') -> acc0\n"
          "%3 = compute f32[3] reads %0 (i < 3; k < 1) sum(acc0 = 0.0 : acc0 + x0[i] : acc0 + acc0') -> acc0\n"
          "%4 = compute f32[3] reads %2 (m < 3) {t0 = x0[m]} -> exp(t0)*t0\n"
          "%5 = compute f32[3] reads %3 (m < 3) {t0 = x0[m]} -> exp(t0)*t0\n"
          "%6 = assemble f32[6] reads %4, %5 [0]+[2], [1]+[2]\n"
          "%7 = compute f32[6] reads %6 (m < 6) -> x0[5 - m]\n"
          "output \"y\" = %7\n");
}

TEST(Phases, OfReducedAxesAloneKeepTheirLattice) {
  expect_splits(kXF +
                    "%2 = compute f32[2] reads %0 (i < 2; k < 5) max(acc0 = -inf : "
                    "max(acc0, (x0[i + k//2] if k%2 == 0 else -inf)) : max(acc0, acc0')) -> acc0\n"
                    "output \"y\" = %2\n",
                kXF +
                    "%2 = compute f32[2] reads %0 (i < 2; k < 3) max(acc0 = -inf : "
                    "max(acc0, (x0[i + k] else -inf)) : max(acc0, acc0')) -> acc0\n"
                    "output \"y\" = %2\n");
}

TEST(Phases, LeaveOtherRemainders) {
  for (const std::string body :
       {// A choice by parity alone, a remainder in what a condition reads, a quotient without a test.
        "reads %1 (i < 4) -> select(i%2 == 0, x0[i], -x0[i])",
        "reads %1 (i < 4) {t0 = x0[i//3 + i%3]} -> select(t0 <= 0.0, 0.0, t0)", "reads %1 (i < 4) -> exp(x0[i//2])",
        // Each step of a scan is a result.
        "reads %1 (; i < 4) sum(acc0 = 0.0 : acc0 + (x0[i//2] if i%2 == 0 else 0.0) : acc0 + acc0') -> acc0 [i]"}) {
    const std::string text = kXF + "%2 = compute f32[4] " + body + "\noutput \"y\" = %2\n";
    expect_splits(text, text);
  }
}

TEST(Phases, KeepEveryValueOfTransposedConvolutions) {
  int divided = 0;
  for (const Fill fill : {Fill::Plain, Fill::NonFinite}) {
    for (const DifferentialRow& row : transposed_rows(DType::F32, fill)) {
      check_split(row, false, &divided);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(divided, 180);
}

TEST(Phases, KeepEveryValueOfGathers) {
  int divided = 0;
  for (const Fill fill : {Fill::Plain, Fill::NonFinite}) {
    for (const DifferentialRow& row : gather_rows(fill)) {
      check_split(row, false, &divided);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(divided, static_cast<int>(2 * gather_rows(Fill::Plain).size()));
}

TEST(Phases, LeaveWhatHasTooManyParts) {
  check_split({"81 parts", "", "conv_transpose", {f32({1, 1, 2, 2}), f32({1, 1, 2, 2})}, {{"s", 9}}}, true);
  check_split({"far apart",
               "def f(x[n], w[k]) y[i < 9] = sum[k]((x[(i - k) / 1152921504606846976] else 0) * w[k])",
               "f",
               {f32({2}), f32({3})},
               {}},
              true);
}

}  // namespace
}  // namespace frit::testing
