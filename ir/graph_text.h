#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/expr.h"

namespace frit {

/// What names stand for in the text of expressions. Indices print by name or as `i0`; reads as `x0[..]` by slot, with
/// `:dtype` where it is not the compute dtype of `slot_dtypes[slot]` (f32 where no slots are given); accumulators as
/// `acc0` and `acc0'`, with `:dtype` where it is not `acc_dtypes[k]` (f32 where none are given); lets as `t0`.
struct ExprNames {
  std::vector<std::string> indices;
  std::vector<DType> slot_dtypes;
  std::vector<DType> acc_dtypes;
  int first_let = 0;
};

/// The text of several expressions separated by commas; shared parts are bound in `lets` ("t0 = exp(x0[i0])").
std::string print_exprs(std::span<const Expr> roots, const ExprNames& names, std::vector<std::string>& lets);

/// Reads what to_string of an expression prints. Errors: InputError with the place; the text is not trusted.
Expr parse_expr(std::string_view text, const ExprNames& names = {});

/// Whether a name can be printed as it is: a word that means nothing else in the text of expressions.
bool is_plain_name(std::string_view text);
bool is_plain_symbol(std::string_view text, std::span<const std::string> index_names);

}  // namespace frit
