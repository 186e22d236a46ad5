#include "compiler/passes/gradient/derivative.h"

#include <cmath>
#include <numbers>
#include <unordered_map>

#include "support/error.h"

namespace frit::reverse {

Expr zero_of(DType dtype) { return is_float(dtype) ? constant(dtype, 0) : constant_int(dtype, 0); }

Expr both(const Expr& a, const Expr& b) {
  if (a.is_constant(1) || a == b) return b;
  return b.is_constant(1) ? a : binary(Op::And, a, b);
}

Expr either(const Expr& a, const Expr& b) {
  if (a.is_constant(1) || a == b) return a;
  return b.is_constant(1) ? b : binary(Op::Or, a, b);
}

Expr negation(const Expr& condition) {
  if (condition.is_constant()) return constant_int(DType::Bool, condition.is_constant(0));
  return condition.op() == Op::Not ? condition.arg(0) : unary(Op::Not, condition);
}

namespace {

bool is_number(const Expr& e, double value) {
  return e.is_constant() && is_float(e.dtype()) && e.float_value() == value;
}

}  // namespace

Expr plus(const Expr& a, const Expr& b) {
  if (!a || !b) return a ? a : b;
  return binary(Op::Add, a, b);
}

Expr times(const Expr& a, const Expr& b) {
  if (!a || !b) return {};
  if (is_number(a, 1)) return b;
  return is_number(b, 1) ? a : binary(Op::Mul, a, b);
}

Expr where(const Expr& condition, const Expr& value) {
  if (!value || condition.is_constant(0)) return {};
  return condition.is_constant(1) ? value : select(condition, value, zero_of(value.dtype()));
}

namespace {

// An adjoint under a condition: select(condition, value, 0), with the select still to come.
struct Partial {
  Expr condition, value;
};

// The sweep over one DAG.
class Sweep {
 public:
  explicit Sweep(const DerivativeOptions& options) : options_(options) {}

  std::vector<LeafAdjoint> run(std::span<const SeededRoot> roots) {
    for (const SeededRoot& r : roots) {
      for_each_node(r.root, [&](const Expr& e) {
        if (!active_.emplace(e, false).second) return;
        active_.at(e) = is_active(e);
        order_.push_back(e);
      });
    }
    for (const SeededRoot& r : roots) send(r.root, r.condition, r.seed);
    std::vector<LeafAdjoint> leaves;
    for (size_t k = order_.size(); k-- > 0;) {
      const Expr& e = order_[k];
      const auto found = adjoints_.find(e);
      if (found == adjoints_.end()) continue;
      const Partial p = found->second;
      const bool leaf = e.op() == Op::Read || e.op() == Op::Acc || e.op() == Op::AccRight;
      if (leaf && options_.is_active(e)) leaves.push_back({e, where(p.condition, p.value)});
      step(e, p.condition, p.value);
    }
    return leaves;
  }

 private:
  // Whether a derivative can flow through `e`; its operands are decided.
  bool is_active(const Expr& e) const {
    if (!is_float(e.dtype())) return false;
    if (e.op() == Op::Acc || e.op() == Op::AccRight) return options_.is_active(e);
    if (e.op() == Op::Read) return options_.is_active(e) || (e.is_guarded() && active_.at(e.fill()));
    if (e.op() == Op::StopGradient || e.op() == Op::BitCast) return false;
    for (const Expr& arg : e.args())
      if (active_.at(arg)) return true;
    return false;
  }

  void send(const Expr& to, const Expr& condition, const Expr& value) {
    if (!value || condition.is_constant(0) || !active_.at(to)) return;
    const auto [at, added] = adjoints_.try_emplace(to, Partial{condition, value});
    if (added) return;
    Partial& p = at->second;
    if (p.condition == condition) {
      p.value = plus(p.value, value);
    } else {
      p.value = plus(where(p.condition, p.value), where(condition, value));
      p.condition = either(p.condition, condition);
    }
  }

  // What an operand of `e` gets: the condition stays, the value is multiplied.
  void step(const Expr& e, const Expr& c, const Expr& v) {
    const auto number = [&](double x) { return constant(e.dtype(), x); };
    const auto neg = [](const Expr& x) { return unary(Op::Neg, x); };
    switch (e.op()) {
      case Op::Const:
      case Op::Index:
      case Op::Symbol:
      case Op::Acc:
      case Op::AccRight:
        return;
      case Op::Read:
        if (e.is_guarded() && active_.at(e.fill())) {
          FRIT_CHECK(options_.inside, "a fill with a derivative");
          send(e.fill(), both(c, negation(options_.inside(e))), v);
        }
        return;
      case Op::Select:
        send(e.arg(1), both(c, e.arg(0)), v);
        send(e.arg(2), both(c, negation(e.arg(0))), v);
        return;
      case Op::Fma:
        send(e.arg(0), c, times(v, e.arg(1)));
        send(e.arg(1), c, times(v, e.arg(0)));
        send(e.arg(2), c, v);
        return;
      case Op::Cast:
        send(e.arg(0), c, cast(v, compute_dtype(e.arg(0).dtype())));
        return;
      case Op::Neg:
        return send(e.arg(0), c, neg(v));
      case Op::Add:
        send(e.arg(0), c, v);
        send(e.arg(1), c, v);
        return;
      case Op::Sub:
        send(e.arg(0), c, v);
        send(e.arg(1), c, neg(v));
        return;
      case Op::Mul:
        send(e.arg(0), c, times(v, e.arg(1)));
        send(e.arg(1), c, times(v, e.arg(0)));
        return;
      case Op::Div:
        send(e.arg(0), c, binary(Op::Div, v, e.arg(1)));
        send(e.arg(1), c, neg(times(v, binary(Op::Div, e, e.arg(1)))));
        return;
      case Op::Mod:
        send(e.arg(0), c, v);
        send(e.arg(1), c, neg(times(v, binary(Op::FloorDiv, e.arg(0), e.arg(1)))));
        return;
      case Op::TruncMod:
        send(e.arg(0), c, v);
        send(e.arg(1), c, neg(times(v, binary(Op::TruncDiv, e.arg(0), e.arg(1)))));
        return;
      case Op::Min:
      case Op::Max:
        return step_choice(e, c, v);
      case Op::Pow:
        return step_pow(e, c, v);
      case Op::Atan2: {
        const Expr &y = e.arg(0), &x = e.arg(1), square = x * x + y * y;
        send(y, c, times(v, binary(Op::Div, x, square)));
        send(x, c, neg(times(v, binary(Op::Div, y, square))));
        return;
      }
      case Op::LogAddExp: {
        // exp(a - y), which is a half where both are equal, infinities included.
        const Expr equal = binary(Op::Eq, e.arg(0), e.arg(1));
        for (const int k : {0, 1})
          send(e.arg(k), c, times(v, select(equal, number(0.5), unary(Op::Exp, e.arg(k) - e))));
        return;
      }
      case Op::Sign:
      case Op::Not:
      case Op::BitNot:
      case Op::Floor:
      case Op::Ceil:
      case Op::Trunc:
      case Op::Round:
      case Op::IsNan:
      case Op::IsInf:
      case Op::IsFinite:
      case Op::StopGradient:
      case Op::BitCast:
      case Op::FloorDiv:
      case Op::TruncDiv:
      case Op::CeilDiv:
      case Op::And:
      case Op::Or:
      case Op::Xor:
      case Op::Shl:
      case Op::Shr:
      case Op::Eq:
      case Op::Ne:
      case Op::Lt:
      case Op::Le:
        return;  // 0 everywhere, or not a float
      case Op::Abs:
      case Op::Sqrt:
      case Op::Rsqrt:
      case Op::Reciprocal:
      case Op::Exp:
      case Op::Exp2:
      case Op::Expm1:
      case Op::Log:
      case Op::Log2:
      case Op::Log1p:
      case Op::Erf:
      case Op::Sigmoid:
      case Op::Softplus:
      case Op::Sin:
      case Op::Cos:
      case Op::Tan:
      case Op::Asin:
      case Op::Acos:
      case Op::Atan:
      case Op::Sinh:
      case Op::Cosh:
      case Op::Tanh:
      case Op::Asinh:
      case Op::Acosh:
      case Op::Atanh:
        return send(e.arg(0), c, step_function(e, v));
    }
  }

  // v * f'(x) of a unary function, by its value e = f(x) where that is shorter.
  static Expr step_function(const Expr& e, const Expr& v) {
    const Expr& x = e.arg(0);
    const auto number = [&](double k) { return constant(e.dtype(), k); };
    const auto over = [&](const Expr& d) { return binary(Op::Div, v, d); };
    const Expr one = number(1);
    switch (e.op()) {
      case Op::Abs:
        return times(v, unary(Op::Sign, x));
      case Op::Sqrt:
        return over(times(number(2), e));
      case Op::Rsqrt:
        return times(v, times(number(-0.5), e * e * e));
      case Op::Reciprocal:
        return unary(Op::Neg, times(v, e * e));
      case Op::Exp:
        return times(v, e);
      case Op::Exp2:
        return times(v, e * number(std::numbers::ln2));
      case Op::Expm1:
        return times(v, unary(Op::Exp, x));
      case Op::Log:
        return over(x);
      case Op::Log2:
        return over(x * number(std::numbers::ln2));
      case Op::Log1p:
        return over(x + one);
      case Op::Erf:
        return times(v, number(2 * std::numbers::inv_sqrtpi) * unary(Op::Exp, unary(Op::Neg, x * x)));
      case Op::Sigmoid:
        return times(v, e * (one - e));
      case Op::Softplus:
        return times(v, unary(Op::Sigmoid, x));
      case Op::Sin:
        return times(v, unary(Op::Cos, x));
      case Op::Cos:
        return unary(Op::Neg, times(v, unary(Op::Sin, x)));
      case Op::Tan:
        return times(v, one + e * e);
      case Op::Asin:
        return times(v, unary(Op::Rsqrt, one - x * x));
      case Op::Acos:
        return unary(Op::Neg, times(v, unary(Op::Rsqrt, one - x * x)));
      case Op::Atan:
        return over(one + x * x);
      case Op::Sinh:
        return times(v, unary(Op::Cosh, x));
      case Op::Cosh:
        return times(v, unary(Op::Sinh, x));
      case Op::Tanh:
        return times(v, one - e * e);
      case Op::Asinh:
        return times(v, unary(Op::Rsqrt, x * x + one));
      case Op::Acosh:
        return times(v, unary(Op::Rsqrt, x * x - one));
      case Op::Atanh:
        return over(one - x * x);
      default:
        FRIT_UNREACHABLE();
    }
  }

  // max and min: all to the larger (smaller) side, half to each where they are equal. min(max(x, lo), hi) is a clamp: 1
  // to x inside and at both ends, else to the limit.
  void step_choice(const Expr& e, const Expr& c, const Expr& v) {
    if (e.op() == Op::Min && e.arg(0).op() == Op::Max) {
      const Expr &x = e.arg(0).arg(0), &low = e.arg(0).arg(1), &high = e.arg(1);
      const Expr above = binary(Op::Lt, high, e.arg(0)), below = binary(Op::Lt, x, low);
      const Expr within = both(c, negation(above));
      send(x, both(within, negation(below)), v);
      send(low, both(within, below), v);
      send(high, both(c, above), v);
      return;
    }
    const Expr &a = e.arg(0), &b = e.arg(1);
    const bool max = e.op() == Op::Max;
    const Expr shared = select(binary(Op::Eq, a, b), times(constant(e.dtype(), 0.5), v), v);
    const auto loses = [&](const Expr& x, const Expr& y) { return max ? binary(Op::Lt, x, y) : binary(Op::Lt, y, x); };
    send(a, both(c, negation(loses(a, b))), shared);
    send(b, both(c, negation(loses(b, a))), shared);
  }

  // x: p * x^(p - 1), 0 if p is 0; p: y * log(x), 0 if x is 0 and p > 0.
  void step_pow(const Expr& e, const Expr& c, const Expr& v) {
    const Expr &x = e.arg(0), &p = e.arg(1);
    const Expr zero = zero_of(e.dtype());
    if (p.is_constant()) {
      const double n = p.float_value();
      if (n == 1) send(x, c, v);
      if (n == 2) send(x, c, times(v, p * x));
      if (n != 0 && n != 1 && n != 2) send(x, c, times(v, p * binary(Op::Pow, x, constant(e.dtype(), n - 1))));
    } else {
      const Expr power = binary(Op::Pow, x, p - constant(e.dtype(), 1));
      send(x, both(c, binary(Op::Ne, p, zero)), times(v, p * power));
    }
    const Expr flat = both(binary(Op::Eq, x, zero), binary(Op::Lt, zero, p));
    send(p, both(c, negation(flat)), times(v, e * unary(Op::Log, x)));
  }

  const DerivativeOptions& options_;
  std::unordered_map<Expr, bool, ExprHash> active_;
  std::vector<Expr> order_;  // operands before users
  std::unordered_map<Expr, Partial, ExprHash> adjoints_;
};

}  // namespace

std::vector<LeafAdjoint> leaf_adjoints(std::span<const SeededRoot> roots, const DerivativeOptions& options) {
  return Sweep(options).run(roots);
}

}  // namespace frit::reverse
