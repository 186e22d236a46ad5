#pragma once
#include "ir/expr.h"

namespace frit::reference {

/// How large the terms behind a value are: an error of the operands of c*eps*magnitude becomes one of c*eps times this,
/// own rounding included (first order). `v` is the value, `a`, `b` the operands, `ma`, `mb` their magnitudes.
double magnitude_unary(Op op, double v, double a, double ma);
double magnitude_binary(Op op, double v, double a, double ma, double b, double mb);

}  // namespace frit::reference
