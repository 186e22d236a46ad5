// Text of expressions, read back by parse_expr. Nodes that are used more than once, and pieces of very long chains, are
// bound first, so that the text is as small as the DAG and shallow: `t0 = exp(x0[i0]); t0/(1.0 + t0)`.
#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

#include "ir/expr.h"
#include "ir/graph_text.h"
#include "support/error.h"

namespace frit {
namespace {

constexpr size_t kLongPiece = 600;  // longer text of one node is bound to a name
constexpr size_t kShortPiece = 16;  // a shared node of at most this length is repeated

// Binding strength, weakest first; the parser has the same table.
enum Strength { kOr = 1, kAnd, kCompare, kSum, kProduct, kPrefix, kAtom };

struct Infix {
  std::string_view text;
  Strength strength;
};
Infix infix_of(Op op) {
  switch (op) {
    case Op::Or:
      return {" or ", kOr};
    case Op::And:
      return {" and ", kAnd};
    case Op::Eq:
      return {" == ", kCompare};
    case Op::Ne:
      return {" != ", kCompare};
    case Op::Lt:
      return {" < ", kCompare};
    case Op::Le:
      return {" <= ", kCompare};
    case Op::Add:
      return {" + ", kSum};
    case Op::Sub:
      return {" - ", kSum};
    case Op::Mul:
      return {"*", kProduct};
    case Op::Div:
      return {"/", kProduct};
    case Op::FloorDiv:
      return {"//", kProduct};
    case Op::Mod:
      return {"%", kProduct};
    default:
      return {{}, kAtom};  // printed as a call
  }
}

struct Piece {
  std::string text;
  Strength strength = kAtom;
};

std::string constant_text(const Expr& e) {
  const DType dtype = e.dtype();
  if (dtype == DType::Bool) return e.bits() ? "true" : "false";
  std::string text;
  if (is_float(dtype)) {
    const double value = e.float_value();
    if (std::isnan(value))
      text = "nan";
    else if (std::isinf(value))
      text = value < 0 ? "-inf" : "inf";
    else {
      text = dtype == DType::F32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
      if (text.find_first_of(".e") == std::string::npos) text += ".0";
    }
  } else {
    text = dtype == DType::U64 ? fmt::format("{}", e.bits()) : fmt::format("{}", e.int_value());
  }
  if (dtype != DType::I64 && dtype != DType::F32) text += "_" + std::string(name(dtype));
  return text;
}

// A symbol whose name means something else or is no word, as dimensions of files may be: `${batch size}`.
std::string quoted_symbol(std::string_view name) {
  std::string text = "${";
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 32 || c == 127)
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else if (c == '}' || c == '\\')
      text += std::string("\\") + c;
    else
      text += c;
  }
  return text + "}";
}

class Printer {
 public:
  explicit Printer(const ExprNames& names) : names_(names) {}

  std::vector<std::string> run(std::span<const Expr> roots, std::vector<std::string>& lets) {
    for (const Expr& root : roots) count_uses(root);
    std::vector<std::string> texts;
    for (const Expr& root : roots) {
      for_each_node(root, [&](const Expr& e) {
        if (!pieces_.contains(e.id())) add(e, lets);
      });
      texts.push_back(pieces_.at(root.id()).text);
    }
    return texts;
  }

 private:
  void count_uses(const Expr& root) {
    ++uses_[root.id()];
    for_each_node(root, [&](const Expr& e) {
      if (!counted_.insert(e.id()).second) return;
      for (const Expr& arg : e.args()) ++uses_[arg.id()];
    });
  }

  void add(const Expr& e, std::vector<std::string>& lets) {
    Piece piece = piece_of(e);
    const size_t length = piece.text.size();
    if (names_.with_lets && ((uses_[e.id()] > 1 && length > kShortPiece) || length > kLongPiece)) {
      const std::string name = fmt::format("t{}", lets.size());
      lets.push_back(name + " = " + piece.text);
      piece = {name, kAtom};
    }
    pieces_.emplace(e.id(), std::move(piece));
  }

  std::string operand(const Expr& e, Strength at_least) const {
    const Piece& piece = pieces_.at(e.id());
    return piece.strength >= at_least ? piece.text : "(" + piece.text + ")";
  }

  std::string list(std::span<const Expr> args) const {
    std::string text;
    for (const Expr& arg : args) text += (text.empty() ? "" : ", ") + pieces_.at(arg.id()).text;
    return text;
  }

  Piece read_piece(const Expr& e) const {
    std::string text = fmt::format("x{}", e.slot());
    if (names_.slot_dtypes.size() <= static_cast<size_t>(e.slot()) ||
        compute_dtype(names_.slot_dtypes[static_cast<size_t>(e.slot())]) != e.dtype())
      if (e.dtype() != DType::F32 || !names_.slot_dtypes.empty()) text += ":" + std::string(name(e.dtype()));
    text += "[" + list(e.positions()) + "]";
    if (!e.is_guarded()) return {std::move(text), kAtom};
    if (!e.guard_condition().is_constant(1)) text += " if " + operand(e.guard_condition(), kOr);
    return {"(" + text + " else " + operand(e.fill(), kOr) + ")", kAtom};
  }

  std::string accumulator_text(const Expr& e) const {
    std::string text = fmt::format("acc{}{}", e.bits(), e.op() == Op::AccRight ? "'" : "");
    const bool known = names_.acc_dtypes.size() > e.bits() && names_.acc_dtypes[e.bits()] == e.dtype();
    if (!known && (e.dtype() != DType::F32 || !names_.acc_dtypes.empty())) text += ":" + std::string(name(e.dtype()));
    return text;
  }

  Piece piece_of(const Expr& e) const {
    switch (e.op()) {
      case Op::Const:
        return {constant_text(e), kAtom};
      case Op::Index:
        return {e.bits() < names_.indices.size() ? names_.indices[e.bits()] : fmt::format("i{}", e.bits()), kAtom};
      case Op::Symbol: {
        const std::string name = symbol_name(e);
        return {is_plain_symbol(name, names_.indices) ? name : quoted_symbol(name), kAtom};
      }
      case Op::Acc:
      case Op::AccRight:
        return {accumulator_text(e), kAtom};
      case Op::Read:
        return read_piece(e);
      case Op::Neg: {
        const bool literal = e.arg(0).op() == Op::Const;
        return {literal ? "-(" + pieces_.at(e.arg(0).id()).text + ")" : "-" + operand(e.arg(0), kPrefix), kPrefix};
      }
      case Op::Cast:
        return {std::string(name(e.dtype())) + "(" + list(e.args()) + ")", kAtom};
      case Op::BitCast:
        return {"bitcast_" + std::string(name(e.dtype())) + "(" + list(e.args()) + ")", kAtom};
      default:
        break;
    }
    if (const Infix infix = infix_of(e.op()); !infix.text.empty()) {
      const auto one_more = static_cast<Strength>(infix.strength + 1);
      const Strength left = infix.strength == kCompare ? one_more : infix.strength;
      return {operand(e.arg(0), left) + std::string(infix.text) + operand(e.arg(1), one_more), infix.strength};
    }
    return {std::string(name(e.op())) + "(" + list(e.args()) + ")", kAtom};
  }

  const ExprNames& names_;
  std::unordered_map<const void*, int> uses_;
  std::unordered_set<const void*> counted_;
  std::unordered_map<const void*, Piece> pieces_;
};

bool is_numbered(std::string_view text, std::string_view prefix) {
  return text.size() > prefix.size() && text.starts_with(prefix) &&
         text.substr(prefix.size()).find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_word(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (const char c : text)
    if (!(c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
  return true;
}

}  // namespace

bool is_plain_name(std::string_view text) {
  if (!is_word(text)) return false;
  for (const std::string_view word : {"true", "false", "inf", "nan", "if", "else", "and", "or", "reads"})
    if (text == word) return false;
  for (const std::string_view prefix : {"inf_", "nan_", "bitcast_"})
    if (text.starts_with(prefix)) return false;
  for (const std::string_view prefix : {"x", "t", "i", "acc"})
    if (is_numbered(text, prefix)) return false;
  return true;
}

bool is_plain_symbol(std::string_view text, std::span<const std::string> index_names) {
  for (const std::string& index : index_names)
    if (index == text) return false;
  return is_plain_name(text);
}

std::vector<std::string> print_exprs(std::span<const Expr> roots, const ExprNames& names,
                                     std::vector<std::string>& lets) {
  return Printer(names).run(roots, lets);
}

std::string to_string(const Expr& e, std::span<const std::string> index_names) {
  if (!e) return "<empty>";
  ExprNames names;
  names.indices.assign(index_names.begin(), index_names.end());
  std::vector<std::string> lets;
  const std::string body = print_exprs(std::span(&e, 1), names, lets)[0];
  std::string text;
  for (const std::string& let : lets) text += let + "; ";
  return text + body;
}

}  // namespace frit
