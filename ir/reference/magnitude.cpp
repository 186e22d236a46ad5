#include "ir/reference/magnitude.h"

#include <algorithm>
#include <cmath>

namespace frit::reference {
namespace {

// |df/dx| where it is bounded by something simple; 0 where f has steps.
double slope(Op op, double v, double a) {
  switch (op) {
    case Op::Neg:
    case Op::Abs:
    case Op::StopGradient:
    case Op::Sin:
    case Op::Cos:
      return 1;
    case Op::Sqrt:
      return v > 0 ? 0.5 / v : 0;
    case Op::Rsqrt:
      return 0.5 * std::fabs(v / a);
    case Op::Reciprocal:
      return v * v;
    case Op::Exp:
      return v;
    case Op::Exp2:
      return 0.6931471805599453 * v;
    case Op::Expm1:
      return v + 1;
    case Op::Log:
      return 1 / std::fabs(a);
    case Op::Log2:
      return 1.4426950408889634 / std::fabs(a);
    case Op::Log1p:
      return 1 / std::fabs(1 + a);
    case Op::Erf:
      return 1.1283791670955126 * std::exp(-a * a);
    case Op::Sigmoid:
      return v * (1 - v);
    case Op::Softplus:
      return 1 / (1 + std::exp(-a));
    case Op::Tan:
      return 1 + v * v;
    case Op::Asin:
    case Op::Acos:
      return 1 / std::sqrt(1 - a * a);
    case Op::Atan:
      return 1 / (1 + a * a);
    case Op::Sinh:
      return std::cosh(a);
    case Op::Cosh:
      return std::fabs(std::sinh(a));
    case Op::Tanh:
      return 1 - v * v;
    case Op::Asinh:
      return 1 / std::sqrt(1 + a * a);
    case Op::Acosh:
      return 1 / std::sqrt(a * a - 1);
    case Op::Atanh:
      return 1 / std::fabs(1 - a * a);
    default:
      return 0;
  }
}

double or_value(double magnitude, double v) {
  return std::isfinite(magnitude) ? std::max(magnitude, std::fabs(v)) : std::fabs(v);
}

// The loser counts only where an error of its size could have made it win.
double magnitude_choice(double v, double a, double ma, double b, double mb) {
  const double chosen = v == a ? ma : mb;
  const double other = v == a ? mb : ma;
  // An infinite loser, as the identity of a reduction, is not near.
  return other > chosen && std::isfinite(other) && std::fabs(a - b) <= 1e-3 * other ? or_value(other, v) : chosen;
}

}  // namespace

double magnitude_unary(Op op, double v, double a, double ma) {
  if (op == Op::Neg || op == Op::Abs || op == Op::StopGradient) return ma;
  return or_value(std::fabs(v) + slope(op, v, a) * ma, v);
}

double magnitude_binary(Op op, double v, double a, double ma, double b, double mb) {
  switch (op) {
    case Op::Add:
    case Op::Sub:
      return ma + mb;
    case Op::Mul:
      return ma * mb;
    case Op::Div:
      return or_value(ma / std::fabs(b) + std::fabs(v / b) * mb, v);
    case Op::Mod:
    case Op::TruncMod:
      return or_value(ma + std::fabs(b), v);
    case Op::Min:
    case Op::Max:
      return magnitude_choice(v, a, ma, b, mb);
    case Op::Pow:
      return or_value(std::fabs(v) * (1 + std::fabs(b / a) * ma + std::fabs(std::log(std::fabs(a))) * mb), v);
    case Op::Atan2:
      return or_value(std::fabs(v) + (std::fabs(a) * mb + std::fabs(b) * ma) / (a * a + b * b), v);
    case Op::LogAddExp:
      return or_value(std::fabs(v) + std::max(ma, mb), v);
    default:
      return std::fabs(v);
  }
}

}  // namespace frit::reference
