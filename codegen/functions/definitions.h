#pragma once
// Building blocks and the definitions by topic; private to codegen/functions. Definitions may use any operation: what
// they give is expanded again.
#include <initializer_list>

#include "codegen/functions/functions.h"
#include "ir/expr.h"

namespace frit::functions {

inline Expr number(const Expr& like, double value) { return constant(like.dtype(), value); }
inline Expr f32(double value) { return constant(DType::F32, value); }
inline Expr f64(double value) { return constant(DType::F64, value); }
inline Expr i32(int64_t value) { return constant_int(DType::I32, value); }
inline Expr integer(const Expr& like, int64_t value) { return constant_int(like.dtype(), value); }

inline Expr operator/(const Expr& a, const Expr& b) { return binary(Op::Div, a, b); }
inline Expr operator-(const Expr& a) { return unary(Op::Neg, a); }
inline Expr absolute(const Expr& a) { return unary(Op::Abs, a); }
inline Expr less(const Expr& a, const Expr& b) { return binary(Op::Lt, a, b); }
inline Expr less_equal(const Expr& a, const Expr& b) { return binary(Op::Le, a, b); }
inline Expr equal(const Expr& a, const Expr& b) { return binary(Op::Eq, a, b); }
inline Expr not_equal(const Expr& a, const Expr& b) { return binary(Op::Ne, a, b); }
inline Expr both(const Expr& a, const Expr& b) { return binary(Op::And, a, b); }
inline Expr either(const Expr& a, const Expr& b) { return binary(Op::Or, a, b); }
inline Expr negation(const Expr& a) { return unary(Op::Not, a); }
inline Expr minimum(const Expr& a, const Expr& b) { return binary(Op::Min, a, b); }
inline Expr maximum(const Expr& a, const Expr& b) { return binary(Op::Max, a, b); }
inline Expr bits_and(const Expr& a, int64_t mask) { return binary(Op::And, a, integer(a, mask)); }
inline Expr bits_or(const Expr& a, const Expr& b) { return binary(Op::Or, a, b); }
inline Expr shift_left(const Expr& a, int n) { return Expr(binary(Op::Shl, a, integer(a, n))); }
inline Expr shift_right(const Expr& a, int n) { return Expr(binary(Op::Shr, a, integer(a, n))); }

/// a*b + c: one rounding where the target has it, else two.
inline Expr multiply_add(const TargetFacts& facts, const Expr& a, const Expr& b, const Expr& c) {
  return facts.has_fma ? fma(a, b, c) : a * b + c;
}
/// c[0] + c[1]*x + c[2]*x^2 + .., by Horner's rule.
Expr polynomial(const TargetFacts& facts, const Expr& x, std::initializer_list<double> coefficients);
/// |magnitude| with the sign bit of `sign`.
Expr copy_sign(const Expr& magnitude, const Expr& sign);

Expr exp_of(const TargetFacts& facts, const Expr& x);
/// 2^n e^r, |r| <= 0.35, n an integer as wide as r between the exponents of the smallest and the largest float.
Expr exp_of_reduced(const TargetFacts& facts, const Expr& r, const Expr& n);
Expr expm1_of(const TargetFacts& facts, const Expr& x);
Expr log_of(const TargetFacts& facts, const Expr& x);
Expr log1p_of(const TargetFacts& facts, const Expr& x);

/// x = q * pi/2 + r for x >= 0; q modulo 4 in the low bits of a u32, |r| <= pi/4.
struct Quadrant {
  Expr q, r;
};
Quadrant reduce_by_half_pi(const TargetFacts& facts, const Expr& x);

/// 1 + erf(x), 1 + tanh(x) by what does not cancel near -1; an empty result: `e` is no such sum. `e` as written: its
/// operands are not expanded.
Expr define_complement(const Expr& e, const TargetFacts& facts);

// By topic; each gives an expression for the operation of `e`, whose operands are expanded already. An empty result:
// not of this topic.
Expr define_integer(const Expr& e);
Expr define_rounding(const Expr& e, const TargetFacts& facts);
Expr define_exponential(const Expr& e, const TargetFacts& facts);
Expr define_hyperbolic(const Expr& e, const TargetFacts& facts);
Expr define_trigonometric(const Expr& e, const TargetFacts& facts);
Expr define_power(const Expr& e, const TargetFacts& facts);
Expr define_cast(const Expr& e, const TargetFacts& facts);

}  // namespace frit::functions
