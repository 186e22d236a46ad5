// The rules of IndexAnalysis::simplify. Each gives an equal value for all indices in range; sums of indices, symbols
// and constants do not overflow, sums with data take part only where their range shows that they do not.
#include <algorithm>
#include <numeric>
#include <set>

#include "ir/analysis.h"
#include "ir/polynomial.h"
#include "ir/scalar.h"
#include "support/error.h"

namespace frit {

class IndexSimplifier {
 public:
  explicit IndexSimplifier(IndexAnalysis& analysis) : a_(analysis) {}

  Expr run(const Expr& root) {
    for_each_node(root, [&](const Expr& e) {
      if (a_.simplified_.contains(e)) return;
      Expr node = with_simplified_args(e);
      for (int round = 0; round < 8; ++round) {
        const Expr next = rule(node);
        if (!next || next == node) break;
        node = next;
      }
      a_.simplified_.insert_or_assign(e, node);
    });
    return a_.simplified_.at(root);
  }

 private:
  using Sum = Polynomial;
  using MaybeSum = std::optional<Polynomial>;

  Expr with_simplified_args(const Expr& e) {
    std::vector<Expr> args;
    bool changed = false;
    for (const Expr& arg : e.args()) {
      args.push_back(a_.simplified_.at(arg));
      changed |= !(args.back() == arg);
    }
    return changed ? Expr::make(e.op(), e.dtype(), args, e.bits()) : e;
  }

  Expr rule(const Expr& e) {
    if (e.op() == Op::Read) return e.is_guarded() && e.guard_condition().is_constant(0) ? e.fill() : Expr{};
    if (e.args().empty()) return {};
    if (const Expr folded = fold(e)) return folded;
    if (e.op() == Op::Select) return select_rule(e);
    if (e.dtype() == DType::Bool) return bool_rule(e);
    if (e.op() == Op::Cast) return cast_rule(e);
    if (e.dtype() != DType::I64) return {};
    if (const Range r = a_.range(e); r.is_constant()) return index_constant(r.low);
    switch (e.op()) {
      case Op::Add:
      case Op::Sub:
      case Op::Mul:
      case Op::Neg: {
        MaybeSum p = to_polynomial(e);
        return p ? from_polynomial(recombined(std::move(*p))) : Expr{};
      }
      case Op::FloorDiv:
        return divided(e.arg(0), e.arg(1), true);
      case Op::Mod:
        return divided(e.arg(0), e.arg(1), false);
      case Op::TruncDiv:
      case Op::TruncMod:
        if (a_.range(e.arg(0)).low < 0 || a_.range(e.arg(1)).low < 1) return {};
        return binary(e.op() == Op::TruncDiv ? Op::FloorDiv : Op::Mod, e.arg(0), e.arg(1));
      case Op::CeilDiv: {
        if (!e.arg(1).is_constant() || e.arg(1).int_value() < 1) return {};
        MaybeSum p = to_polynomial(e.arg(0));
        if (!p || !is_safe(*p) || !add_term(*p, {}, e.arg(1).int_value() - 1)) return {};
        return binary(Op::FloorDiv, from_polynomial(*p), e.arg(1));
      }
      case Op::Min:
      case Op::Max:
        return choice_rule(e);
      case Op::Abs:
        if (a_.range(e.arg(0)).low >= 0) return e.arg(0);
        return a_.range(e.arg(0)).high <= 0 ? negated(e.arg(0)) : Expr{};
      case Op::StopGradient:
        return {};
      default:
        return {};
    }
  }

  static Expr negated(const Expr& e) {
    const MaybeSum p = to_polynomial(unary(Op::Neg, e));
    return p ? from_polynomial(*p) : unary(Op::Neg, e);
  }

  // Constants of integer dtypes and bool.
  static Expr fold(const Expr& e) {
    for (const Expr& arg : e.args())
      if (!arg.is_constant() || is_float(arg.dtype())) return {};
    const auto value = [&](int k) { return e.arg(k).int_value(); };
    const DType from = e.arg(0).dtype();
    if (e.op() == Op::Select) return value(0) ? e.arg(1) : e.arg(2);
    if (e.op() == Op::StopGradient) return {};
    if (e.op() == Op::Cast) {
      if (!is_float(e.dtype())) return constant_int(e.dtype(), value(0));
      if (e.dtype() != DType::F32 && e.dtype() != DType::F64) return {};
      const double v = int_to_float(from, e.dtype(), value(0));
      const bool exact = std::abs(v) <= (e.dtype() == DType::F32 ? 16777216.0 : 9007199254740992.0);
      return exact ? constant(e.dtype(), v) : Expr{};
    }
    if (is_float(e.dtype()) || e.op() == Op::BitCast || is_ternary(e.op())) return {};
    if (is_comparison(e.op())) return constant_int(DType::Bool, eval_int_compare(e.op(), from, value(0), value(1)));
    if (is_unary(e.op())) return constant_int(e.dtype(), eval_int_unary(e.op(), from, value(0)));
    return constant_int(e.dtype(), eval_int_binary(e.op(), from, value(0), value(1)));
  }

  Expr select_rule(const Expr& e) {
    const Expr &c = e.arg(0), &a = e.arg(1), &b = e.arg(2);
    if (c.is_constant()) return c.int_value() ? a : b;
    if (a == b) return a;
    if (c.op() == Op::Not) return select(c.arg(0), b, a);
    if (e.dtype() == DType::Bool && a.is_constant() && b.is_constant()) return a.int_value() ? c : unary(Op::Not, c);
    return {};
  }

  Expr cast_rule(const Expr& e) {
    const Expr& inner = e.arg(0);
    if (inner.op() != Op::Cast || e.dtype() != inner.arg(0).dtype() || !is_integer(e.dtype()) ||
        !is_integer(inner.dtype()))
      return {};
    // There and back: the same where nothing was lost on the way.
    const Range kept = a_.range(inner), whole = a_.range(inner.arg(0));
    const bool same = inner.dtype() != DType::U64 && kept.low == whole.low && kept.high == whole.high &&
                      whole.low != -Range::kNone - 1;
    return same ? inner.arg(0) : Expr{};
  }

  Expr bool_rule(const Expr& e) {
    if (const Range r = a_.range(e); r.is_constant()) return constant_int(DType::Bool, r.low);
    switch (e.op()) {
      case Op::And:
      case Op::Or: {
        const Expr &a = e.arg(0), &b = e.arg(1);
        if (a == b) return a;
        const int64_t neutral = e.op() == Op::And;
        if (a.is_constant()) return a.int_value() == neutral ? b : a;
        if (b.is_constant()) return b.int_value() == neutral ? a : b;
        return {};
      }
      case Op::Not:
        return not_rule(e.arg(0));
      case Op::Lt:
      case Op::Le:
      case Op::Eq:
      case Op::Ne:
        return e.arg(0).dtype() == DType::I64 ? comparison(e) : Expr{};
      default:
        return {};
    }
  }

  static Expr not_rule(const Expr& c) {
    if (c.op() == Op::Not) return c.arg(0);
    if (!is_comparison(c.op()) || is_float(c.arg(0).dtype())) return {};
    if (c.op() == Op::Eq) return binary(Op::Ne, c.arg(0), c.arg(1));
    if (c.op() == Op::Ne) return binary(Op::Eq, c.arg(0), c.arg(1));
    return binary(c.op() == Op::Lt ? Op::Le : Op::Lt, c.arg(1), c.arg(0));
  }

  // Whether rearranging a sum cannot change what it means: no overflow on the way.
  bool is_safe(const Sum& p) {
    if (a_.is_pure(p)) return true;
    const Range r = a_.sum_range(p);
    return r.low != -Range::kNone - 1 && r.high != Range::kNone;
  }

  // e = left - right, where all three cannot overflow.
  MaybeSum difference(const Expr& left, const Expr& right) {
    MaybeSum a = to_polynomial(left);
    const MaybeSum b = to_polynomial(right);
    if (!a || !b || !is_safe(*a) || !is_safe(*b) || !add_scaled(*a, *b, -1) || !is_safe(*a)) return std::nullopt;
    return a;
  }

  Expr choice_rule(const Expr& e) {
    const Expr &a = e.arg(0), &b = e.arg(1);
    if (a == b) return a;
    if (const MaybeSum d = difference(a, b)) {
      if (a_.low(*d) >= 0) return e.op() == Op::Max ? a : b;
      if (a_.high(*d) <= 0) return e.op() == Op::Max ? b : a;
    }
    if (b.is_constant() && a.op() == e.op() && a.arg(1).is_constant())
      return binary(e.op(), a.arg(0),
                    index_constant(eval_int_binary(e.op(), DType::I64, a.arg(1).int_value(), b.int_value())));
    const bool swap = a.is_constant() || (!b.is_constant() && structure_less(b, a));
    return swap ? binary(e.op(), b, a) : Expr{};
  }

  Expr comparison(const Expr& e) {
    MaybeSum d = difference(e.arg(0), e.arg(1));
    if (!d) return {};
    if (e.op() == Op::Eq || e.op() == Op::Ne) return equality(std::move(*d), e.op());
    if (e.op() == Op::Le && !add_term(*d, {}, -1)) return {};
    return less_than_zero(std::move(*d));
  }

  static Expr truth(bool value) { return constant_int(DType::Bool, value); }

  // `d == 0` or `d != 0`: terms divided by their gcd, the first of them positive.
  Expr equality(Sum d, Op op) {
    const Range r = a_.sum_range(d);
    const int64_t g = gcd_of_terms(d);
    const bool never =
        a_.low(d) > 0 || a_.high(d) < 0 || (r.step > 1 && r.offset != 0) || (g > 1 && constant_part(d) % g != 0);
    if (never) return truth(op == Op::Ne);
    if (d.empty()) return truth(op == Op::Eq);
    const int64_t sign = d.begin()->second < 0 ? -1 : 1;
    Sum left, right;
    for (const auto& [atoms, c] : d) {
      const int64_t scaled = c / std::max<int64_t>(1, g) * sign;
      (scaled > 0 ? left : right)[atoms] = scaled > 0 ? scaled : -scaled;
    }
    return binary(op, from_polynomial(left), from_polynomial(right));
  }

  // `d < 0` with positive terms left and negative ones right, divided by their gcd.
  Expr less_than_zero(Sum d) {
    if (a_.high(d) < 0) return truth(true);
    if (a_.low(d) >= 0) return truth(false);
    if (const int64_t g = gcd_of_terms(d); g > 1) {
      // g*A + c < 0  <=>  A <= (-c - 1) // g
      const int64_t bound = floor_div(-constant_part(d) - 1, g);
      Sum divided;
      for (const auto& [atoms, c] : d)
        if (!atoms.empty()) divided[atoms] = c / g;
      add_term(divided, {}, -bound - 1);
      d = std::move(divided);
    }
    if (const MaybeSum shifted = without_division(d)) return less_than_zero(*shifted);
    Sum left, right;
    for (const auto& [atoms, c] : d) (c > 0 ? left : right)[atoms] = c > 0 ? c : -c;
    return binary(Op::Lt, from_polynomial(left), from_polynomial(right));
  }

  // (x // q) + c < 0  <=>  x + c*q < 0, and -(x // q) + c < 0  <=>  -x + (c + 1)*q - 1 < 0, for a constant q > 0.
  MaybeSum without_division(const Sum& d) {
    const size_t constants = d.contains({}) ? 1 : 0;
    if (d.size() != 1 + constants) return std::nullopt;
    const auto& [atoms, coefficient] = *d.begin();
    if (atoms.size() != 1 || std::abs(coefficient) != 1 || atoms[0].op() != Op::FloorDiv) return std::nullopt;
    const Expr& divisor = atoms[0].arg(1);
    if (!divisor.is_constant() || divisor.int_value() < 1) return std::nullopt;
    MaybeSum x = to_polynomial(atoms[0].arg(0));
    int64_t c = 0;
    const int64_t q = divisor.int_value();
    if (!x || !is_safe(*x) || __builtin_mul_overflow(constant_part(d) + (coefficient < 0), q, &c)) return std::nullopt;
    Sum result;
    if (!add_scaled(result, *x, coefficient) || !add_term(result, {}, coefficient < 0 ? c - 1 : c) || !is_safe(result))
      return std::nullopt;
    return result;
  }

  static Sum atom(const Expr& e) {
    if (e.is_constant()) return constant_polynomial(e.int_value());
    return {{{e}, 1}};
  }

  Expr divided(const Expr& a, const Expr& q, bool quotient) {
    if (q.is_constant(0)) return index_constant(0);
    const MaybeSum p = to_polynomial(a);
    if (!p || !is_safe(*p)) return {};
    if (q.is_constant()) {
      if (q.int_value() < 1) return {};
      const MaybeSum r = quotient ? floor_quotient(*p, q.int_value()) : floor_remainder(*p, q.int_value());
      return r ? from_polynomial(recombined(*r)) : Expr{};
    }
    return by_symbols(*p, q, quotient);
  }

  // p // q and p % q where q is a product of positive symbols: terms that contain it are taken out.
  Expr by_symbols(const Sum& p, const Expr& q, bool quotient) {
    const MaybeSum divisor = to_polynomial(q);
    if (!divisor || divisor->size() != 1 || divisor->begin()->first.empty()) return {};
    const auto& [factors, scale] = *divisor->begin();
    if (scale < 1) return {};
    for (const Expr& f : factors)
      if (a_.range(f).low < 1) return {};
    Sum whole, rest;
    for (const auto& [atoms, c] : p) {
      std::vector<Expr> left;
      const bool contains = std::includes(atoms.begin(), atoms.end(), factors.begin(), factors.end(), structure_less);
      if (!contains || c % scale != 0) {
        rest[atoms] = c;
        continue;
      }
      std::set_difference(atoms.begin(), atoms.end(), factors.begin(), factors.end(), std::back_inserter(left),
                          structure_less);
      whole[left] = c / scale;
    }
    Sum beyond = *divisor;  // q - 1 - rest
    if (!add_scaled(beyond, rest, -1) || !add_term(beyond, {}, -1)) return {};
    const bool inside = rest.empty() || (a_.low(rest) >= 0 && a_.low(beyond) >= 0);
    if (!inside && whole.empty()) return {};
    if (!quotient) return inside ? from_polynomial(rest) : binary(Op::Mod, from_polynomial(rest), q);
    if (!inside && !add_scaled(whole, atom(binary(Op::FloorDiv, from_polynomial(rest), q)), 1)) return {};
    return from_polynomial(whole);
  }

  struct Split {
    Sum high, low;  // p = g*high + low, with low in [0, g)
    int64_t g = 0;
  };

  // A way to write p = g*high + low with g > 1 dividing q and low provably inside [0, g), g as large as possible.
  std::optional<Split> split(const Sum& p, int64_t q) {
    std::set<int64_t, std::greater<>> candidates;
    for (const auto& [atoms, c] : p)
      if (!atoms.empty() && c != INT64_MIN) candidates.insert(std::gcd(c, q));
    for (const int64_t g : candidates) {
      if (g <= 1) continue;
      Split s{{}, {}, g};
      for (const auto& [atoms, c] : p) {
        if (atoms.empty() || c % g != 0)
          s.low[atoms] = c;
        else
          s.high[atoms] = c / g;
      }
      const int64_t block = floor_div(a_.low(s.low), g);
      const int64_t last = floor_div(a_.high(s.low), g);
      if (block != last) continue;
      int64_t moved = 0;
      if (__builtin_mul_overflow(block, -g, &moved)) continue;
      if (!add_term(s.high, {}, block) || !add_term(s.low, {}, moved)) continue;
      return s;
    }
    return std::nullopt;
  }

  // p // q for a constant q > 0, as a sum.
  MaybeSum floor_quotient(const Sum& p, int64_t q) {
    if (q == 1) return p;
    Sum whole, rest;
    for (const auto& [atoms, c] : p) {
      if (atoms.empty() || c % q != 0)
        rest[atoms] = c;
      else
        whole[atoms] = c / q;
    }
    const int64_t constant = constant_part(rest);
    rest.erase(std::vector<Expr>{});
    if (!add_term(whole, {}, floor_div(constant, q)) || !add_term(rest, {}, floor_mod(constant, q)))
      return std::nullopt;
    const int64_t first = floor_div(a_.low(rest), q), last = floor_div(a_.high(rest), q);
    if (first == last) {
      if (!add_term(whole, {}, first)) return std::nullopt;
      return whole;
    }
    MaybeSum tail;
    if (const auto s = split(rest, q)) {
      tail = floor_quotient(s->high, q / s->g);
    } else if (const auto nested = nested_quotient(rest, q)) {
      tail = nested;
    } else {
      tail = atom(binary(Op::FloorDiv, from_polynomial(rest), index_constant(q)));
    }
    if (!tail || !add_scaled(whole, *tail, 1)) return std::nullopt;
    return whole;
  }

  // ((x // a) + c) // q = (x + c*a) // (a*q)
  MaybeSum nested_quotient(const Sum& p, int64_t q) {
    const size_t constants = p.contains({}) ? 1 : 0;
    if (p.size() != 1 + constants) return std::nullopt;
    const auto& [atoms, coefficient] = *p.begin();
    if (atoms.size() != 1 || coefficient != 1 || atoms[0].op() != Op::FloorDiv) return std::nullopt;
    const Expr& a = atoms[0].arg(1);
    if (!a.is_constant() || a.int_value() < 1) return std::nullopt;
    MaybeSum x = to_polynomial(atoms[0].arg(0));
    int64_t both = 0, moved = 0;
    if (!x || __builtin_mul_overflow(a.int_value(), q, &both) ||
        __builtin_mul_overflow(a.int_value(), constant_part(p), &moved) || !add_term(*x, {}, moved) || !is_safe(*x))
      return std::nullopt;
    return floor_quotient(*x, both);
  }

  // p % q for a constant q > 0, as a sum.
  MaybeSum floor_remainder(const Sum& p, int64_t q) {
    if (q == 1) return Sum{};
    Sum rest;
    for (const auto& [atoms, c] : p) {
      if (atoms.empty() || c % q == 0) continue;
      const bool inner = atoms.size() == 1 && atoms[0].op() == Op::Mod && atoms[0].arg(1).is_constant() &&
                         atoms[0].arg(1).int_value() > 0 && atoms[0].arg(1).int_value() % q == 0 &&
                         a_.is_pure(atoms[0]);
      const MaybeSum x = inner ? to_polynomial(atoms[0].arg(0)) : std::nullopt;
      if (x ? !add_scaled(rest, *x, c) : !add_term(rest, atoms, c)) return std::nullopt;
      if (x) return add_rest_and_reduce(rest, p, atoms, q);
    }
    if (!add_term(rest, {}, floor_mod(constant_part(p), q))) return std::nullopt;
    const int64_t block = floor_div(a_.low(rest), q);
    int64_t moved = 0;
    if (block == floor_div(a_.high(rest), q) && !__builtin_mul_overflow(block, -q, &moved)) {
      if (!add_term(rest, {}, moved)) return std::nullopt;
      return rest;
    }
    if (const auto s = split(rest, q)) {
      const MaybeSum high = floor_remainder(s->high, q / s->g);
      Sum result = s->low;
      if (!high || !add_scaled(result, *high, s->g)) return std::nullopt;
      return result;
    }
    return atom(binary(Op::Mod, from_polynomial(rest), index_constant(q)));
  }

  // After (x % a) was replaced by x: the terms that follow it, and once more.
  MaybeSum add_rest_and_reduce(Sum rest, const Sum& p, const std::vector<Expr>& after, int64_t q) {
    for (auto at = std::next(p.find(after)); at != p.end(); ++at)
      if (!add_term(rest, at->first, at->second)) return std::nullopt;
    return floor_remainder(rest, q);
  }

  // c*q*(x // q) + c*(x % q) -> c*x, and c*x - c*q*(x // q) -> c*(x % q), with any common factors.
  Sum recombined(Sum p) {
    // An index with one value adds nothing; alone it stays, so that its axis can be told.
    if (p.size() > 1)
      std::erase_if(p, [&](const auto& term) {
        return std::any_of(term.first.begin(), term.first.end(),
                           [&](const Expr& e) { return e.op() == Op::Index && a_.range(e).is_constant(); });
      });
    for (int round = 0; round < 64; ++round) {
      MaybeSum next;
      for (const auto& [atoms, c] : p) {
        for (size_t k = 0; k < atoms.size() && !next; ++k) next = recombine_at(p, atoms, c, k);
        if (next) break;
      }
      if (!next) return p;
      p = std::move(*next);
    }
    return p;
  }

  MaybeSum recombine_at(const Sum& p, const std::vector<Expr>& atoms, int64_t c, size_t k) {
    const Expr& e = atoms[k];
    if (e.op() != Op::Mod && e.op() != Op::FloorDiv) return std::nullopt;
    if (a_.range(e.arg(1)).low < 1) return std::nullopt;
    MaybeSum x = to_polynomial(e.arg(0)), q = to_polynomial(e.arg(1));
    if (!x || !q || q->size() != 1) return std::nullopt;
    std::vector<Expr> others = atoms;
    others.erase(others.begin() + static_cast<int64_t>(k));
    const Sum factor{{others, c}};
    Sum result = p;
    result.erase(atoms);
    if (e.op() == Op::Mod) {
      // Find c*q*(x // q) beside c*(x % q).
      const Expr d = quotient_of(*x, e.arg(0), e.arg(1));
      const MaybeSum scaled = multiplied(factor, *q);
      const MaybeSum partner = scaled ? multiplied(*scaled, atom(d)) : std::nullopt;
      if (!partner || partner->size() != 1 || !takes_out(result, *partner)) return std::nullopt;
      const MaybeSum product = multiplied(factor, *x);
      if (!product || !add_scaled(result, *product, 1)) return std::nullopt;
      return result;
    }
    // c here is -(c of x)*q: find the terms of x.
    const auto& [q_atoms, q_scale] = *q->begin();
    if (!q_atoms.empty() || c % q_scale != 0) return std::nullopt;
    const Sum scale{{others, -(c / q_scale)}};
    Sum terms = *x;
    terms.erase(std::vector<Expr>{});
    const MaybeSum wanted = multiplied(scale, terms);
    if (!wanted || wanted->empty() || !takes_out(result, *wanted)) return std::nullopt;
    const MaybeSum remainder = floor_remainder(*x, q_scale);
    const MaybeSum product = remainder ? multiplied(scale, *remainder) : std::nullopt;
    const MaybeSum constants = multiplied(scale, constant_polynomial(constant_part(*x)));
    if (!product || !constants || !add_scaled(result, *product, 1) || !add_scaled(result, *constants, -1))
      return std::nullopt;
    return result;
  }

  Expr quotient_of(const Sum& x, const Expr& dividend, const Expr& q) {
    if (q.is_constant() && is_safe(x))
      if (const MaybeSum d = floor_quotient(x, q.int_value())) return from_polynomial(*d);
    return binary(Op::FloorDiv, dividend, q);
  }

  // Removes `terms` from `p` if each is there with exactly that coefficient.
  static bool takes_out(Sum& p, const Sum& terms) {
    for (const auto& [atoms, c] : terms) {
      const auto at = p.find(atoms);
      if (at == p.end() || at->second != c) return false;
      p.erase(at);
    }
    return true;
  }

  IndexAnalysis& a_;
};

Expr IndexAnalysis::simplify(const Expr& e) {
  if (const auto known = simplified_.find(e); known != simplified_.end()) return known->second;
  // A rule may build parts that other rules improve; a few rounds reach the form that no rule changes.
  Expr result = e;
  for (int round = 0; round < 6; ++round) {
    const Expr next = IndexSimplifier(*this).run(result);
    if (next == result) break;
    result = next;
  }
  simplified_.insert_or_assign(e, result);
  simplified_.insert_or_assign(result, result);
  return result;
}

}  // namespace frit
