#pragma once
#include <random>
#include <vector>

#include "ir/expr.h"
#include "ir/scalar.h"

namespace frit::testing {

/// Value of an integer expression without reads, for index and symbol values.
inline int64_t evaluate(const Expr& root, const std::vector<int64_t>& indices, int64_t symbol_value = 0) {
  std::unordered_map<const void*, int64_t> values;
  for_each_node(root, [&](const Expr& e) {
    const auto arg = [&](int k) { return values.at(e.arg(k).id()); };
    int64_t v = 0;
    if (e.op() == Op::Const)
      v = e.int_value();
    else if (e.op() == Op::Index)
      v = indices[e.bits()];
    else if (e.op() == Op::Symbol)
      v = symbol_value;
    else if (e.op() == Op::Select)
      v = arg(0) ? arg(1) : arg(2);
    else if (e.op() == Op::Cast)
      v = wrap_to(e.dtype(), arg(0));
    else if (is_comparison(e.op()))
      v = eval_int_compare(e.op(), e.arg(0).dtype(), arg(0), arg(1));
    else if (is_unary(e.op()))
      v = eval_int_unary(e.op(), e.dtype(), arg(0));
    else
      v = eval_int_binary(e.op(), e.dtype(), arg(0), arg(1));
    values[e.id()] = v;
  });
  return values.at(root.id());
}

/// Random index expressions, rich in what simplification looks for.
class RandomIndex {
 public:
  RandomIndex(uint64_t seed, int axes, bool with_symbol) : random_(seed), axes_(axes), with_symbol_(with_symbol) {}

  int64_t number(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

  Expr integer(int depth) {
    if (depth == 0) {
      const int64_t kind = number(0, 9);
      if (kind < 6) return index(static_cast<int>(number(0, axes_ - 1)));
      if (kind < 7 && with_symbol_) return symbol("n");
      return index_constant(number(-6, 12));
    }
    const Expr a = integer(depth - 1);
    const Expr q = index_constant(number(0, 20) == 0 ? number(-3, 0) : number(1, 12));
    switch (number(0, 14)) {
      case 0:
      case 1:
      case 2:
        return a + integer(depth - 1);
      case 3:
        return a - integer(depth - 1);
      case 4:
      case 5:
        return a * index_constant(number(-3, 8));
      case 6:
      case 7:
        return binary(Op::FloorDiv, a, q);
      case 8:
      case 9:
        return binary(Op::Mod, a, q);
      case 10:
        return binary(number(0, 1) ? Op::Min : Op::Max, a, integer(depth - 1));
      case 11:
        return binary(number(0, 1) ? Op::TruncDiv : Op::CeilDiv, a, q);
      case 12:
        return unary(number(0, 1) ? Op::Abs : Op::Neg, a);
      case 13:
        return select(condition(depth - 1), a, integer(depth - 1));
      default:
        return binary(Op::FloorDiv, a, q) * q + binary(Op::Mod, a, q);
    }
  }

  Expr condition(int depth) {
    static constexpr Op kOps[] = {Op::Lt, Op::Le, Op::Eq, Op::Ne};
    if (depth > 0 && number(0, 3) == 0)
      return number(0, 2) == 0 ? unary(Op::Not, condition(depth - 1))
                               : binary(number(0, 1) ? Op::And : Op::Or, condition(depth - 1), condition(depth - 1));
    const Expr left = integer(std::max(0, depth - 1));
    const Expr right = number(0, 1) ? integer(std::max(0, depth - 1)) : index_constant(number(-5, 20));
    return binary(kOps[number(0, 3)], left, right);
  }

 private:
  std::mt19937_64 random_;
  int axes_;
  bool with_symbol_;
};

}  // namespace frit::testing
