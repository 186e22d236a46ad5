#include <cmath>

#include "compiler/passes/simplify.h"
#include "ir/scalar.h"

namespace frit {
namespace {

bool is_float_constant(const Expr& e, double value) {
  return e.is_constant() && is_float(e.dtype()) && e.float_value() == value &&
         std::signbit(e.float_value()) == std::signbit(value);
}

// The constant of `dtype` with exactly this value; empty if it would have to be rounded.
Expr exact_constant(DType dtype, double v) {
  if (dtype != DType::F32 && dtype != DType::F64) return {};
  const bool fits = dtype == DType::F64 || std::isnan(v) || static_cast<double>(static_cast<float>(v)) == v;
  return fits ? constant(dtype, v) : Expr{};
}

Expr fold_floats(const Expr& e) {
  if (e.args().empty() || e.op() == Op::Read || e.op() == Op::Select) return {};
  for (const Expr& arg : e.args())
    if (!arg.is_constant() || !is_float(arg.dtype())) return {};
  const auto value = [&](int k) { return e.arg(k).float_value(); };
  if (is_comparison(e.op())) return constant_int(DType::Bool, eval_float_compare(e.op(), value(0), value(1)));
  switch (e.op()) {
    case Op::IsNan:
    case Op::IsInf:
    case Op::IsFinite:
      return constant_int(DType::Bool, eval_float_test(e.op(), value(0)));
    case Op::Cast:
      return is_float(e.dtype()) ? exact_constant(e.dtype(), value(0))
                                 : constant_int(e.dtype(), saturate_to(e.dtype(), value(0)));
    case Op::BitCast:
      return {};
    case Op::StopGradient:
      return {};  // gradients look for it
    case Op::Fma:
      return exact_constant(e.dtype(), std::fma(value(0), value(1), value(2)));
    default:
      break;
  }
  if (is_unary(e.op())) return exact_constant(e.dtype(), eval_float_unary(e.op(), value(0)));
  if (is_binary(e.op())) return exact_constant(e.dtype(), eval_float_binary(e.op(), value(0), value(1)));
  return {};
}

// Exact for every float, NaN and the sign of zero included. Not here: x - x, x * 0, x + 0.0 (-0.0 becomes 0.0).
Expr float_rule(const Expr& e) {
  if (const Expr folded = fold_floats(e)) return folded;
  switch (e.op()) {
    case Op::Mul:
      if (is_float_constant(e.arg(1), 1)) return e.arg(0);
      if (is_float_constant(e.arg(0), 1)) return e.arg(1);
      return {};
    case Op::Div:
      return is_float_constant(e.arg(1), 1) ? e.arg(0) : Expr{};
    case Op::Add:
      if (is_float_constant(e.arg(1), -0.0)) return e.arg(0);
      if (is_float_constant(e.arg(0), -0.0)) return e.arg(1);
      return {};
    case Op::Sub:
      return is_float_constant(e.arg(1), 0.0) ? e.arg(0) : Expr{};
    case Op::Neg:
      return e.arg(0).op() == Op::Neg ? e.arg(0).arg(0) : Expr{};
    case Op::Abs:
      if (e.arg(0).op() == Op::Abs) return e.arg(0);
      return e.arg(0).op() == Op::Neg ? unary(Op::Abs, e.arg(0).arg(0)) : Expr{};
    case Op::Min:
    case Op::Max:
      return e.arg(0) == e.arg(1) ? e.arg(0) : Expr{};
    case Op::Fma:
      if (is_float_constant(e.arg(1), 1)) return binary(Op::Add, e.arg(0), e.arg(2));
      return is_float_constant(e.arg(0), 1) ? binary(Op::Add, e.arg(1), e.arg(2)) : Expr{};
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round: {
      const Op inner = e.arg(0).op();
      const bool whole = inner == Op::Floor || inner == Op::Ceil || inner == Op::Trunc || inner == Op::Round;
      return whole ? e.arg(0) : Expr{};
    }
    default:
      return {};
  }
}

}  // namespace

Expr simplify_scalar(const Expr& root, IndexAnalysis& analysis) {
  Expr e = root;
  for (int round = 0; round < 8; ++round) {
    Expr next = analysis.simplify(e);
    next = rewrite(next, [](const Expr& node) -> Expr {
      const bool floats = !node.args().empty() && is_float(node.arg(0).dtype());
      return floats ? float_rule(node) : Expr{};
    });
    if (next == e) break;
    e = next;
  }
  return e;
}

}  // namespace frit
