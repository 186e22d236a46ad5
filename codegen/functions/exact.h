#pragma once
// Sums and products of f64 without an error: the rounded result and what it lacks. Private to codegen/functions.
#include "codegen/functions/definitions.h"

namespace frit::functions {

struct Sum {
  Expr high, low;  // high + low is exact
};

// To the nearest of 26 bits, so that the rest has 26 bits too, with its sign, and products of parts are exact.
inline Expr high_half(const Expr& a) {
  const Expr bits = bitcast(a, DType::I64);
  return bitcast(bits_and(bits + integer(bits, 0x4000000), ~int64_t{0x7ffffff}), DType::F64);
}

inline Sum exact_sum(const Expr& a, const Expr& b) {
  const Expr s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}

/// The same for |a| >= |b| or a == 0.
inline Sum exact_sum_ordered(const Expr& a, const Expr& b) {
  const Expr s = a + b;
  return {s, b - (s - a)};
}

/// Of factors whose product and its parts neither overflow nor become denormal.
inline Sum exact_product_without_fma(const Expr& a, const Expr& b) {
  const Expr ah = high_half(a), al = a - ah, bh = high_half(b), bl = b - bh, p = a * b;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

inline Sum exact_product(const TargetFacts& facts, const Expr& a, const Expr& b) {
  if (!facts.has_fma) return exact_product_without_fma(a, b);
  const Expr p = a * b;
  return {p, fma(a, b, -p)};
}

}  // namespace frit::functions
