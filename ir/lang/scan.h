#pragma once
// Prefix and suffix reductions (LANGUAGE.md sections 6 and 8): which they are, and what each step of their one pass is.
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ir/lang/affine.h"

namespace frit::lang {

/// A reduction over j < i + c, or over j < e - i, as one pass of `steps` steps:
///     prefix  step t takes element j = t + first, the state after step t is that of i = t - skipped
///     suffix  step t takes position i + j = steps - 1 - t, the state after it is that of i = steps - 1 - t
/// Elements outside [0, elements) change nothing: `valid` says so where there are such steps.
struct Scan {
  int outer = -1, inner = -1;  // i and j, indices of the statement
  bool is_suffix = false;
  int64_t steps = 0;
  int64_t first = 0, skipped = 0;  // of a prefix
  int64_t elements = 0;            // of a suffix: positions below it exist

  /// What the step at axis `t` takes: j of a prefix, i + j of a suffix.
  Expr element(const Expr& t) const;
  /// The i of the state after step `t`.
  Expr result(const Expr& t) const;
  /// The step that leaves the state of i = `at`.
  Expr step_of(const Expr& at) const;
  /// Whether the step takes an element; true if they all do.
  Expr valid(const Expr& t) const;
  bool is_plain() const { return !is_suffix && skipped == 0; }  // step t leaves the state of i = t
};

/// The scan that the bounds of `inner` make of a reduction over `inner` with results over `outer`: one index is bounded
/// by one outer index, which no other bound mentions.
std::optional<Scan> find_scan(const std::vector<int>& outer, const std::vector<int>& inner,
                              const std::vector<IndexVar>& vars, Ranges& ranges);

}  // namespace frit::lang
