#include "ir/polynomial.h"

#include <algorithm>
#include <numeric>

#include "support/error.h"

namespace frit {
namespace {

int kind_order(const Expr& e) { return e.op() == Op::Index ? 0 : e.op() == Op::Symbol ? 1 : 2; }

}  // namespace

bool structure_less(const Expr& a, const Expr& b) {
  if (a == b) return false;
  if (kind_order(a) != kind_order(b)) return kind_order(a) < kind_order(b);
  if (a.op() == Op::Index) return a.bits() < b.bits();
  if (a.op() == Op::Symbol) return symbol_name(a) < symbol_name(b);
  if (a.hash() != b.hash()) return a.hash() < b.hash();
  if (a.op() != b.op()) return a.op() < b.op();
  if (a.bits() != b.bits()) return a.bits() < b.bits();
  return std::lexicographical_compare(a.args().begin(), a.args().end(), b.args().begin(), b.args().end(),
                                      structure_less);
}

bool ProductLess::operator()(const std::vector<Expr>& a, const std::vector<Expr>& b) const {
  if (a.empty() || b.empty()) return !a.empty() && b.empty();  // the constant comes last
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), structure_less);
}

bool add_term(Polynomial& p, std::vector<Expr> product, int64_t coefficient) {
  if (coefficient == 0) return true;
  auto [at, added] = p.try_emplace(std::move(product), coefficient);
  if (added) return p.size() <= kManyTerms;
  if (__builtin_add_overflow(at->second, coefficient, &at->second)) return false;
  if (at->second == 0) p.erase(at);
  return true;
}

bool add_scaled(Polynomial& p, const Polynomial& q, int64_t scale) {
  for (const auto& [product, coefficient] : q) {
    int64_t scaled = 0;
    if (__builtin_mul_overflow(coefficient, scale, &scaled) || !add_term(p, product, scaled)) return false;
  }
  return true;
}

std::optional<Polynomial> multiplied(const Polynomial& a, const Polynomial& b) {
  if (a.size() * b.size() > kManyTerms) return std::nullopt;
  Polynomial result;
  for (const auto& [x, cx] : a) {
    for (const auto& [y, cy] : b) {
      std::vector<Expr> product = x;
      product.insert(product.end(), y.begin(), y.end());
      std::sort(product.begin(), product.end(), structure_less);
      int64_t coefficient = 0;
      if (__builtin_mul_overflow(cx, cy, &coefficient)) return std::nullopt;
      if (!add_term(result, std::move(product), coefficient)) return std::nullopt;
    }
  }
  return result;
}

namespace {

constexpr int kDeepestProduct = 16;  // a product nested deeper is opaque

std::optional<Polynomial> to_polynomial(const Expr& e, int depth) {
  Polynomial result;
  std::vector<std::pair<Expr, int64_t>> work{{e, 1}};
  while (!work.empty()) {
    const auto [next, scale] = work.back();
    work.pop_back();
    bool fits = true;
    switch (next.op()) {
      case Op::Const: {
        int64_t value = 0;
        fits = !__builtin_mul_overflow(next.int_value(), scale, &value) && add_term(result, {}, value);
        break;
      }
      case Op::Add:
        work.insert(work.end(), {{next.arg(0), scale}, {next.arg(1), scale}});
        break;
      case Op::Sub:
        fits = scale != INT64_MIN;
        if (fits) work.insert(work.end(), {{next.arg(0), scale}, {next.arg(1), -scale}});
        break;
      case Op::Neg:
        fits = scale != INT64_MIN;
        if (fits) work.emplace_back(next.arg(0), -scale);
        break;
      case Op::Mul: {
        const int constant = next.arg(1).is_constant() ? 1 : next.arg(0).is_constant() ? 0 : -1;
        int64_t value = 0;
        if (constant >= 0) {
          fits = !__builtin_mul_overflow(next.arg(constant).int_value(), scale, &value);
          work.emplace_back(next.arg(1 - constant), value);
          break;
        }
        if (depth == kDeepestProduct) {
          fits = add_term(result, {next}, scale);
          break;
        }
        const auto a = to_polynomial(next.arg(0), depth + 1);
        const auto b = to_polynomial(next.arg(1), depth + 1);
        const auto both = a && b ? multiplied(*a, *b) : std::nullopt;
        fits = both && add_scaled(result, *both, scale);
        break;
      }
      default:
        fits = add_term(result, {next}, scale);
    }
    if (!fits || work.size() > 4 * kManyTerms) return std::nullopt;
  }
  return result;
}

}  // namespace

std::optional<Polynomial> to_polynomial(const Expr& e) { return to_polynomial(e, 0); }

Expr from_polynomial(const Polynomial& p) {
  Expr sum;
  const auto product_of = [](const std::vector<Expr>& atoms, int64_t coefficient) {
    Expr product = atoms[0];
    for (size_t k = 1; k < atoms.size(); ++k) product = product * atoms[k];
    return product * index_constant(coefficient);
  };
  for (const auto& [atoms, c] : p)
    if (!atoms.empty() && c > 0) sum = sum ? sum + product_of(atoms, c) : product_of(atoms, c);
  const int64_t constant = constant_part(p);
  bool constant_used = false;
  for (const auto& [atoms, c] : p) {
    if (atoms.empty() || c > 0) continue;
    if (!sum && constant != 0) {
      sum = index_constant(constant);
      constant_used = true;
    }
    if (!sum)
      sum = c == -1 ? unary(Op::Neg, product_of(atoms, 1)) : product_of(atoms, c);
    else
      sum = c == INT64_MIN ? sum + product_of(atoms, c) : sum - product_of(atoms, -c);
  }
  if (!sum) return index_constant(constant);
  if (constant_used || constant == 0) return sum;
  return constant > 0 || constant == INT64_MIN ? sum + index_constant(constant) : sum - index_constant(-constant);
}

int64_t constant_part(const Polynomial& p) {
  const auto at = p.find({});
  return at == p.end() ? 0 : at->second;
}

int64_t gcd_of_terms(const Polynomial& p) {
  int64_t g = 0;
  for (const auto& [atoms, c] : p)
    if (!atoms.empty() && c != INT64_MIN) g = std::gcd(g, c);
  return g;
}

}  // namespace frit
