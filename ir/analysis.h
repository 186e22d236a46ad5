#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/expr.h"
#include "ir/graph.h"

namespace frit {

/// What an integer expression can be: low <= value <= high, and value = step*k + offset. The ends of int64 mean "no
/// bound"; step 0 is a constant; step 1 says nothing.
struct Range {
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  int64_t low = -kNone - 1, high = kNone;
  int64_t step = 1, offset = 0;
  bool is_constant() const { return low == high; }
  bool contains(const Range& other) const { return low <= other.low && other.high <= high; }
};

/// constant + sum of coefficients[k] * Index(k).
struct Affine {
  int64_t constant = 0;
  std::vector<int64_t> coefficients;
};

/// The affine form of an i64 expression over `axes` axes; nothing when it has symbols or other parts.
std::optional<Affine> affine(const Expr& e, size_t axes);

/// A sum of products of opaque parts; the empty product is the constant. Like terms are collected and ordered by
/// structure, so that equal sums are equal polynomials.
struct ProductLess {
  bool operator()(const std::vector<Expr>& a, const std::vector<Expr>& b) const;
};
using Polynomial = std::map<std::vector<Expr>, int64_t, ProductLess>;

/// Facts about index expressions whose axes run from 0 to their extents. Symbols are extents: at least 0, and products
/// of extents and indices do not overflow; data may be anything of its dtype. Inside the ranges no extent is 0, else
/// nothing would be evaluated. One object may be used for many expressions over the same axes; not thread-safe.
class IndexAnalysis {
 public:
  explicit IndexAnalysis(std::vector<Expr> extents);
  explicit IndexAnalysis(const std::vector<Axis>& axes);

  /// Of an integer or bool expression.
  Range range(const Expr& e);
  /// An equal expression: like terms collected, divisions split and cancelled, what ranges decide decided. Works on
  /// every i64 and bool part of `e`, inside reads too. Deterministic; applied twice it changes nothing more.
  Expr simplify(const Expr& e);
  /// Value of a bool expression where it is the same for all indices.
  std::optional<bool> decide(const Expr& condition);
  bool is_empty() const;  // an extent is 0: nothing is evaluated
  bool is_non_negative(const Expr& e);
  /// 0 <= e < extent for all indices.
  bool is_inside(const Expr& e, const Expr& extent);

 private:
  friend class IndexSimplifier;
  Range range_of_node(const Expr& e);
  Range fitted(const Expr& e, const Range& r, bool overflow);
  bool is_pure(const Expr& e);  // indices, symbols and constants only: overflow is excluded
  bool is_pure(const Polynomial& p);
  int64_t low(const Polynomial& p);
  int64_t high(const Polynomial& p);
  Range sum_range(const Polynomial& p);
  std::optional<Polynomial> eliminated(Polynomial p, bool smallest);
  bool is_positive_symbol(const Expr& e) const;

  std::vector<Expr> extents_;
  std::unordered_map<Expr, Range, ExprHash> ranges_;
  std::unordered_map<Expr, bool, ExprHash> pure_;
  std::unordered_map<Expr, Expr, ExprHash> simplified_;
};

}  // namespace frit
