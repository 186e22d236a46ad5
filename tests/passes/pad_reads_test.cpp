#include "compiler/passes/pad_reads.h"

#include <gtest/gtest.h>

#include "ir/graph_text.h"
#include "passes/graph_texts.h"

using namespace frit;
using frit::testing::without_labels;

namespace {

void expect_pads(const std::string& from, const std::string& to) {
  const Graph g = parse_graph(from);
  ASSERT_TRUE(verify(g).empty()) << verify(g)[0];
  const Graph padded = pad_reads(g);
  ASSERT_TRUE(verify(padded).empty()) << verify(padded)[0];
  EXPECT_EQ(without_labels(to_string(padded)), to_string(parse_graph(to)));
  EXPECT_EQ(to_string(pad_reads(padded)), to_string(padded));
}

const std::string kXF = "%0 = input f32[5] \"x\"\n%1 = input f32[3] \"f\"\n";

}  // namespace

TEST(PadReads, SharesOneTensorAmongReaders) {
  expect_pads(kXF +
                  "%2 = compute f32[5] reads %0, %1 (i < 5; k < 3) sum(acc0 = 0.0 : "
                  "acc0 + (x0[i + k - 1] else 0.0)*x1[k] : acc0 + acc0') -> acc0\n"
                  "%3 = compute f32[5] reads %0, %1 (i < 5; k < 3) sum(acc0 = 0.0 : "
                  "acc0 + (x0[i - k] else 0.0)*x1[k] : acc0 + acc0') -> acc0\n"
                  "output \"y\" = %2\noutput \"z\" = %3\n",
              kXF +
                  "%2 = compute f32[8] reads %0 (i0 < 8) -> (x0[i0 - 2] else 0.0)\n"
                  "%3 = compute f32[5] reads %2, %1 (i < 5; k < 3) sum(acc0 = 0.0 : "
                  "acc0 + x0[i + k + 1]*x1[k] : acc0 + acc0') -> acc0\n"
                  "%4 = compute f32[5] reads %2, %1 (i < 5; k < 3) sum(acc0 = 0.0 : "
                  "acc0 + x0[i - k + 2]*x1[k] : acc0 + acc0') -> acc0\n"
                  "output \"y\" = %3\noutput \"z\" = %4\n");
}

TEST(PadReads, LeavesOtherGuards) {
  // Conditions, data, no product, nothing but padding.
  for (const std::string body :
       {"(i < 5; k < 3) sum(acc0 = 0.0 : acc0 + (x0[i + k - 1] if i != 2 else 0.0)*x1[k] : acc0 + acc0') -> acc0",
        "(i < 5; k < 3) sum(acc0 = 0.0 : acc0 + (x0[i64(x1[k])] else 0.0)*x1[k] : acc0 + acc0') -> acc0",
        "(i < 5; k < 3) sum(acc0 = 0.0 : acc0 + ((x0[i + k - 1] else 0.0) + x1[k]) : acc0 + acc0') -> acc0",
        "(i < 5; k < 3) sum(acc0 = 0.0 : acc0 + (x0[i + k*100000 - 1] else 0.0)*x1[k] : acc0 + acc0') -> acc0"}) {
    const std::string text = kXF + "%2 = compute f32[5] reads %0, %1 " + body + "\noutput \"y\" = %2\n";
    expect_pads(text, text);
  }
}
