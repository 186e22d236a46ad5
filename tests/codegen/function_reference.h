#pragma once
#include <cmath>
#include <cstddef>

#include "ir/expr.h"

namespace frit::testing {

// The functions of one operand by the C library in R, wider than what is tested: batches, y[i] = f(x[i]).
template <class R, class T>
using Reference = void (*)(const T* x, R* y, size_t n);

template <class R, class T, auto f>
void each(const T* x, R* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = f(static_cast<R>(x[i]));
}

template <class R, class T>
Reference<R, T> reference_of(Op op) {
#define FRIT_REFERENCE(op, value) \
  case Op::op:                    \
    return each<R, T, [](R x) -> R { return value; }>
  switch (op) {
    FRIT_REFERENCE(Exp, std::exp(x));
    FRIT_REFERENCE(Exp2, std::exp2(x));
    FRIT_REFERENCE(Expm1, std::expm1(x));
    FRIT_REFERENCE(Log, std::log(x));
    FRIT_REFERENCE(Log2, std::log2(x));
    FRIT_REFERENCE(Log1p, std::log1p(x));
    FRIT_REFERENCE(Erf, std::erf(x));
    FRIT_REFERENCE(Sigmoid, 1 / (1 + std::exp(-x)));
    FRIT_REFERENCE(Softplus, (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x))));
    FRIT_REFERENCE(Sin, std::sin(x));
    FRIT_REFERENCE(Cos, std::cos(x));
    FRIT_REFERENCE(Tan, std::tan(x));
    FRIT_REFERENCE(Asin, std::asin(x));
    FRIT_REFERENCE(Acos, std::acos(x));
    FRIT_REFERENCE(Atan, std::atan(x));
    FRIT_REFERENCE(Sinh, std::sinh(x));
    FRIT_REFERENCE(Cosh, std::cosh(x));
    FRIT_REFERENCE(Tanh, std::tanh(x));
    FRIT_REFERENCE(Asinh, std::asinh(x));
    FRIT_REFERENCE(Acosh, std::acosh(x));
    FRIT_REFERENCE(Atanh, std::atanh(x));
    FRIT_REFERENCE(Rsqrt, 1 / std::sqrt(x));
    FRIT_REFERENCE(Reciprocal, 1 / x);
    default:
      return nullptr;
  }
#undef FRIT_REFERENCE
}

}  // namespace frit::testing
