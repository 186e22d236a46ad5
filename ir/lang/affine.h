#pragma once
// Ranges of index arithmetic: linear forms, in which like terms cancel, and intervals for everything else.
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/expr.h"
#include "ir/lang/source.h"

namespace frit::lang {

/// An index of a statement, numbered in order of binding; Index(k) in its expressions means the k-th.
struct IndexVar {
  std::string name;
  Span span;
  int64_t extent = -1;  // -1: not yet known
  Expr bound;           // a bound that is not static: the index stays below it, and below `extent`
  bool reduced = false;
  std::string bound_text;  // as written, "k"; empty if the extent is a dim's or inferred
};

using Wide = __int128;
constexpr Wide kInfinite = Wide{1} << 100;

/// Integers from lo to hi; ends at or beyond kInfinite are unknown.
struct Interval {
  Wide lo = -kInfinite;
  Wide hi = kInfinite;
  bool is_bounded() const { return lo > -kInfinite && hi < kInfinite; }
};

/// constant + sum of coefficients times indices + sum of coefficients times other terms.
struct Linear {
  Wide constant = 0;
  std::map<int, Wide> vars;
  std::map<const void*, std::pair<Expr, Wide>> terms;
  bool is_constant() const { return vars.empty() && terms.empty(); }
};

/// The extent of an index as an expression: a constant, or until it is known a symbol that stands for it.
Expr extent_of(const std::vector<IndexVar>& vars, int var);
/// Replaces the symbols of extents that have become known.
Expr with_known_extents(const Expr& e, const std::vector<IndexVar>& vars);

class Ranges {
 public:
  explicit Ranges(const std::vector<IndexVar>& vars) : vars_(vars) {}

  Linear linear(const Expr& e);
  Interval interval(const Expr& e);
  /// The range of a linear form over all indices. Indices are eliminated from the innermost (largest number) outwards.
  Interval range(const Linear& form);
  /// An upper (or lower) end of the form that depends on `keep` alone; false if some term is unbounded or hides `keep`.
  bool end_in(const Linear& form, int keep, bool upper, Wide* coefficient, Wide* constant);
  /// True if every coefficient divides by `by`, so that form / by is exact.
  static bool divides(const Linear& form, Wide by);
  bool mentions(const Expr& e, int var);
  /// To be called when extents have become known.
  void forget() { memo_.clear(); }

 private:
  Linear eliminate(Linear form, bool upper, int keep);
  Interval compute(const Expr& e);
  bool may_be_nan(const Expr& root);
  const std::vector<IndexVar>& vars_;
  std::unordered_map<const void*, std::pair<Expr, Interval>> memo_;
};

}  // namespace frit::lang
