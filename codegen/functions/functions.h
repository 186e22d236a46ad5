#pragma once
#include "ir/expr.h"

namespace frit {

/// What a target computes by itself; the rest is expanded into definitions.
struct TargetFacts {
  bool has_fma = true;          // fused multiply-add of f32 and f64
  bool has_rounding = true;     // floor, ceil, trunc, round to even
  bool has_f16_convert = true;  // f16 <-> f32
};

/// Rewrites every operation that is no primitive of the kernel IR (codegen/kernel/kernel.h) into primitives: functions
/// by range reduction and polynomial, total integer operations by guards, rounding and 16-bit casts by bits where the
/// target lacks them. Branch-free. What is left is defined for all its operands: divisors of integers are nonzero and
/// never -1 under the lowest dividend, shift amounts are in [0, width), casts of floats to integers saturate. f16 and
/// bf16 compute in f32. Errors are published in docs/functions.md and tested over f32 inputs.
/// errors  UnsupportedError: a float function of integers
Expr expand_functions(const Expr& root, const TargetFacts& facts);

}  // namespace frit
