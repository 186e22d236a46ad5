#pragma once
#include <cstdint>

#include "ir/expr.h"

namespace frit {

// The meaning of every scalar operation on single values: integers and bools as int64 (u64 reinterpreted, narrow types
// sign- or zero-extended), floats as double. What the interpreter computes and constant folding folds to.

/// Wraps to the width of an integer dtype; bool is v != 0.
int64_t wrap_to(DType dtype, int64_t v);
/// Float to integer: toward zero, saturating, NaN to 0; to bool v != 0.
int64_t saturate_to(DType dtype, double v);
/// The nearest float of `dtype`, in one rounding.
double round_to_float(DType dtype, double v);
/// An integer of `from` as a float of `to`, in one rounding.
double int_to_float(DType from, DType to, int64_t v);

int64_t eval_int_unary(Op op, DType dtype, int64_t a);
int64_t eval_int_binary(Op op, DType dtype, int64_t a, int64_t b);  // arithmetic and logic; dtype may be bool
bool eval_int_compare(Op op, DType dtype, int64_t a, int64_t b);
double eval_float_unary(Op op, double a);             // gives a float
bool eval_float_test(Op op, double a);                // isnan, isinf, isfinite
double eval_float_binary(Op op, double a, double b);  // gives a float
bool eval_float_compare(Op op, double a, double b);
/// The bits of a float of `dtype`, as the integer of the same width; and back.
int64_t float_bits(DType dtype, double v);
double float_from_bits(DType dtype, int64_t bits);

}  // namespace frit
