#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "compiler/passes/simplify.h"
#include "ir/interpreter.h"

namespace frit::testing {

inline void expect_same(const std::vector<ReferenceTensor>& a, const std::vector<ReferenceTensor>& b,
                        const std::string& where) {
  ASSERT_EQ(a.size(), b.size()) << where;
  for (size_t k = 0; k < a.size(); ++k) {
    ASSERT_EQ(a[k].dtype, b[k].dtype) << where;
    ASSERT_EQ(a[k].shape, b[k].shape) << where;
    ASSERT_EQ(a[k].integers, b[k].integers) << where;
    ASSERT_EQ(a[k].values.size(), b[k].values.size()) << where;
    for (size_t i = 0; i < a[k].values.size(); ++i) {
      const double x = a[k].values[i], y = b[k].values[i];
      ASSERT_TRUE((std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y)))
          << where << " output " << k << " element " << i << ": " << x << " became " << y;
    }
  }
}

/// Simplifying keeps every value of the interpreter exactly, gives a graph that verifies, and is done after one time.
inline void check_simplify(const Graph& graph, const std::map<std::string, Array>& inputs, const std::string& where) {
  const Graph simplified = simplify(graph);
  const std::string text = where + "\n" + to_string(graph) + "became\n" + to_string(simplified);
  const auto findings = verify(simplified);
  ASSERT_TRUE(findings.empty()) << findings[0] << "\n" << text;
  ASSERT_EQ(to_string(simplify(simplified)), to_string(simplified)) << text;
  expect_same(interpret(graph, inputs), interpret(simplified, inputs), text);
}

}  // namespace frit::testing
