#include "ir/reduction.h"

namespace frit {
namespace {

bool mentions_state(const Expr& e) {
  bool found = false;
  for_each_node(e, [&](const Expr& x) { found = found || x.op() == Op::Acc || x.op() == Op::AccRight; });
  return found;
}

bool is_commutative(Op op) {
  switch (op) {
    case Op::Add:
    case Op::Mul:
    case Op::Min:
    case Op::Max:
    case Op::And:
    case Op::Or:
    case Op::Xor:
      return true;
    default:
      return false;
  }
}

/// Acc(k) becomes `left[k]`, AccRight(k) `right[k]`.
Expr with_states(const Expr& e, const std::vector<Expr>& left, const std::vector<Expr>& right) {
  return rewrite(e, [&](const Expr& x) -> Expr {
    if (x.op() == Op::Acc) return left[x.bits()];
    return x.op() == Op::AccRight ? right[x.bits()] : Expr();
  });
}

std::vector<Expr> states_of(const Reduction& reduction, bool right) {
  std::vector<Expr> states;
  for (size_t k = 0; k < reduction.init.size(); ++k)
    states.push_back(accumulator(reduction.init[k].dtype(), static_cast<int>(k), right));
  return states;
}

// The merge of two states.
std::vector<Expr> merged(const Reduction& reduction, const std::vector<Expr>& left, const std::vector<Expr>& right) {
  std::vector<Expr> list;
  for (const Expr& e : reduction.merge) list.push_back(with_states(e, left, right));
  return list;
}

}  // namespace

bool is_free_of_order(const Reduction& reduction) {
  if (reduction.op == ReduceOp::ArgMax || reduction.op == ReduceOp::ArgMin) return false;
  for (size_t k = 0; k < reduction.step.size(); ++k) {
    const Expr& step = reduction.step[k];
    if (!is_commutative(step.op())) return false;
    const Expr state = accumulator(reduction.init[k].dtype(), static_cast<int>(k));
    const bool first = step.arg(0) == state, second = step.arg(1) == state;
    if (first == second || mentions_state(first ? step.arg(1) : step.arg(0))) return false;
  }
  return true;
}

Reduction reversed(const Reduction& reduction) {
  if (is_free_of_order(reduction)) return reduction;
  // The state of one element goes before what is there.
  std::vector<Expr> one;
  for (const Expr& step : reduction.step) one.push_back(with_states(step, reduction.init, {}));
  Reduction back{ReduceOp::Fold, reduction.init, {}, {}};
  back.step = merged(reduction, one, states_of(reduction, false));
  back.merge = merged(reduction, states_of(reduction, true), states_of(reduction, false));
  return back;
}

Reduction over_states(const Reduction& reduction, const std::vector<Expr>& states) {
  if (is_free_of_order(reduction) && reduction.op != ReduceOp::Fold) return make_reduction(reduction.op, states[0]);
  Reduction over{ReduceOp::Fold, reduction.init, {}, reduction.merge};
  over.step = merged(reduction, states_of(reduction, false), states);
  return over;
}

Reduction masked(Reduction reduction, const Expr& valid) {
  if (valid.is_constant(1)) return reduction;
  // A masked element is the identity, so that the reducer keeps its form. An arg reduction has no such element.
  if (is_free_of_order(reduction) && reduction.op != ReduceOp::Fold) {
    const Expr &element = reduction.step[0].arg(1), &identity = reduction.init[0];
    if (element.op() != Op::Read || !element.is_guarded() || !(element.fill() == identity))
      return make_reduction(reduction.op, select(valid, element, identity));
    const Expr& guard = element.guard_condition();
    const Expr condition = guard.is_constant(1) ? valid : binary(Op::And, guard, valid);
    return make_reduction(reduction.op,
                          guarded_read(element.dtype(), element.slot(), element.positions(), condition, identity));
  }
  reduction.op = ReduceOp::Fold;
  for (size_t k = 0; k < reduction.step.size(); ++k)
    reduction.step[k] = select(valid, reduction.step[k], accumulator(reduction.init[k].dtype(), static_cast<int>(k)));
  return reduction;
}

}  // namespace frit
