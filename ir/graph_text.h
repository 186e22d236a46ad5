#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/expr.h"
#include "ir/graph.h"

namespace frit {

/// What names stand for in the text of expressions. Indices print by name or as `i0`; reads as `x0[..]` by slot, with
/// `:dtype` where it is not the compute dtype of `slot_dtypes[slot]` (f32 where no slots are given); accumulators as
/// `acc0` and `acc0'`, with `:dtype` where it is not `acc_dtypes[k]` (f32 where none are given); lets as `t0`.
struct ExprNames {
  std::vector<std::string> indices;
  std::vector<DType> slot_dtypes;
  std::vector<DType> acc_dtypes;
  bool with_lets = true;  // else shared parts are repeated
};

/// The texts of several expressions; shared parts are bound in `lets` ("t0 = exp(x0[i0])").
std::vector<std::string> print_exprs(std::span<const Expr> roots, const ExprNames& names,
                                     std::vector<std::string>& lets);

/// Reads what to_string of an expression prints. Errors: InputError with the place; the text is not trusted.
Expr parse_expr(std::string_view text, const ExprNames& names = {});

/// Text in quotes with escapes.
std::string quoted(std::string_view text);
/// One line of the text of a graph, without its end.
std::string node_text(const Graph& graph, int node);
/// Why an operation does not take these operands, or empty.
std::string type_error(Op op, DType dtype, std::span<const Expr> args);

/// Whether a name can be printed as it is: a word that means nothing else in the text of expressions.
bool is_plain_name(std::string_view text);
bool is_plain_symbol(std::string_view text, std::span<const std::string> index_names);

}  // namespace frit
