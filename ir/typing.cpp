#include <fmt/format.h>

#include "ir/graph_text.h"

namespace frit {
namespace {

bool is_number(DType t) { return is_integer(t) || t == DType::F32 || t == DType::F64; }
bool is_computed_float(DType t) { return t == DType::F32 || t == DType::F64; }

bool takes(Op op, DType t) {
  switch (op) {
    case Op::Neg:
    case Op::Abs:
    case Op::Sign:
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::FloorDiv:
    case Op::Mod:
    case Op::TruncDiv:
    case Op::TruncMod:
    case Op::CeilDiv:
    case Op::Min:
    case Op::Max:
    case Op::Pow:
    case Op::Fma:
      return is_number(t);
    case Op::Not:
      return t == DType::Bool;
    case Op::BitNot:
    case Op::Shl:
    case Op::Shr:
      return is_integer(t);
    case Op::And:
    case Op::Or:
    case Op::Xor:
      return is_integer(t) || t == DType::Bool;
    case Op::Eq:
    case Op::Ne:
    case Op::Lt:
    case Op::Le:
    case Op::StopGradient:
    case Op::Cast:
      return true;
    case Op::BitCast:
      return t != DType::Bool;
    default:
      return is_computed_float(t);
  }
}

}  // namespace

std::string type_error(Op op, DType dtype, std::span<const Expr> args) {
  if (args.empty() || op == Op::Read) return {};
  const DType t = args[0].dtype();
  const auto refuse = [&] {
    std::string text = std::string(name(op)) + " of";
    for (const Expr& arg : args) text += " " + std::string(name(arg.dtype()));
    return text + " to " + std::string(name(dtype));
  };
  if (op == Op::Select)
    return t == DType::Bool && args[1].dtype() == dtype && args[2].dtype() == dtype ? std::string() : refuse();
  for (const Expr& arg : args)
    if (arg.dtype() != t) return refuse();
  if (!takes(op, t)) return refuse();
  if (op == Op::Cast) return {};
  if (op == Op::BitCast) return size_bytes(t) == size_bytes(dtype) && dtype != DType::Bool ? std::string() : refuse();
  const bool test = is_comparison(op) || op == Op::IsNan || op == Op::IsInf || op == Op::IsFinite;
  return dtype == (test ? DType::Bool : t) ? std::string() : refuse();
}

}  // namespace frit
