#pragma once
#include <optional>

#include "ir/analysis.h"

namespace frit {

// Sums of products behind index simplification. Everything gives nothing on overflow or above kManyTerms.
constexpr size_t kManyTerms = 48;

bool structure_less(const Expr& a, const Expr& b);  // a total order that does not depend on the order of creation
bool add_term(Polynomial& p, std::vector<Expr> product, int64_t coefficient);
bool add_scaled(Polynomial& p, const Polynomial& q, int64_t scale);
std::optional<Polynomial> multiplied(const Polynomial& a, const Polynomial& b);
/// Sums, differences, products and negations taken apart; other i64 expressions are opaque.
std::optional<Polynomial> to_polynomial(const Expr& e);
Expr from_polynomial(const Polynomial& p);
int64_t constant_part(const Polynomial& p);
int64_t gcd_of_terms(const Polynomial& p);  // without the constant; 0 if there is none
inline Polynomial constant_polynomial(int64_t c) { return c == 0 ? Polynomial{} : Polynomial{{{}, c}}; }

inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
inline int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }

}  // namespace frit
