#pragma once
// Runs a row of snippets in the reference interpreter.
#include <gtest/gtest.h>

#include <cmath>

#include "fault_rows.h"
#include "ir/interpreter.h"
#include "lang/snippet.h"
#include "passes/simplify_check.h"

namespace frit::testing {

inline Array array_of(const RowTensor& row) {
  Array array(row.dtype, row.shape);
  for (int64_t i = 0; i < array.size(); ++i) {
    if (is_float(row.dtype))
      array.set_float(i, row.at(i));
    else
      array.set_int(i, row.at(i) < 0x1p63 ? static_cast<int64_t>(row.at(i))
                                          : static_cast<int64_t>(static_cast<uint64_t>(row.at(i))));
  }
  return array;
}

/// Whether an element agrees: NaN with NaN, exact values also in the sign of zero.
inline bool agrees(double got, double want, double relative) {
  if (std::isnan(want)) return std::isnan(got);
  if (got == want) return relative > 0 || std::signbit(got) == std::signbit(want);
  return std::fabs(got - want) <= relative * std::max(std::fabs(want), relative == 0 ? 0 : 1e-30);
}

inline void check_row(const SnippetRow& row) {
  SCOPED_TRACE(row.id);
  try {
    Library library(&layers());
    if (!row.text.empty()) library.add(row.text, "row.frit");
    std::vector<OperandSpec> operands;
    std::map<std::string, Array> arrays;
    for (size_t i = 0; i < row.inputs.size(); ++i) {
      operands.push_back(of(row.inputs[i].dtype, row.inputs[i].shape));
      arrays["x" + std::to_string(i)] = array_of(row.inputs[i]);
    }
    const Built built = build(library, row.name, operands, row.attributes);
    for (const std::string& finding : verify(built.graph)) ADD_FAILURE() << finding;
    const auto results = interpret(built.graph, arrays);
    check_simplify(built.graph, arrays, "simplified");
    ASSERT_GE(results.size(), row.want.size());
    for (size_t r = 0; r < row.want.size(); ++r) {
      const RowTensor& want = row.want[r];
      ASSERT_EQ(name(results[r].dtype), name(want.dtype)) << "result " << r;
      ASSERT_EQ(results[r].shape, want.shape) << "result " << r;
      const int64_t n = element_count(want.shape);
      for (int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<size_t>(i);
        const double got = is_float(want.dtype) ? results[r].values[at] : static_cast<double>(results[r].integers[at]);
        // The interpreter works in float64: f32 values agree to f32 precision.
        const bool rounds = want.dtype == DType::F32 && row.relative == 0 && want.at(i) != 0;
        ASSERT_TRUE(agrees(got, want.at(i), rounds ? 1e-7 : row.relative))
            << "result " << r << ", element " << i << ": got " << got << ", want " << want.at(i);
      }
    }
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

}  // namespace frit::testing
