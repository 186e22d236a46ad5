// Types and values of operators (LANGUAGE.md section 3).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ir/lang/elaborate.h"
#include "ir/scalar.h"

namespace frit::lang {
namespace {

bool floating(const Val& v) {
  if (v.kind == Val::Kind::Choice) return floating(v.sides->first) || floating(v.sides->second);
  return v.kind == Val::Kind::Float;
}

bool infinite_only(const Val& v) {
  if (v.kind == Val::Kind::Choice) {
    const auto fits = [](const Val& s) { return s.is_int() || infinite_only(s); };
    return fits(v.sides->first) && fits(v.sides->second);
  }
  return v.kind == Val::Kind::Float && std::isinf(v.f);
}

// The dtype that a weak number takes beside `dtype`.
DType adapt(const Val& weak, DType dtype) {
  if (!floating(weak)) return dtype == DType::Bool ? DType::I64 : dtype;
  if (is_float(dtype)) return dtype;
  return is_integer(dtype) && infinite_only(weak) ? dtype : DType::F32;
}

Op op_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add:
      return Op::Add;
    case BinaryOp::Sub:
      return Op::Sub;
    case BinaryOp::Mul:
      return Op::Mul;
    case BinaryOp::Div:
      return Op::Div;
    case BinaryOp::FloorDiv:
      return Op::FloorDiv;
    case BinaryOp::Mod:
      return Op::Mod;
    case BinaryOp::BitAnd:
    case BinaryOp::And:
      return Op::And;
    case BinaryOp::BitOr:
    case BinaryOp::Or:
      return Op::Or;
    case BinaryOp::BitXor:
      return Op::Xor;
    case BinaryOp::Shl:
      return Op::Shl;
    case BinaryOp::Shr:
      return Op::Shr;
    case BinaryOp::Eq:
      return Op::Eq;
    case BinaryOp::Ne:
      return Op::Ne;
    case BinaryOp::Lt:
    case BinaryOp::Gt:
      return Op::Lt;
    case BinaryOp::Le:
    case BinaryOp::Ge:
      return Op::Le;
    case BinaryOp::In:
      break;
  }
  FRIT_UNREACHABLE();
}

bool fits(const Val& v, DType dtype) {
  if (dtype == DType::U64) return v.wide || v.i >= 0;
  if (v.wide) return false;
  if (dtype == DType::I64) return true;
  const int bits = 8 * size_bytes(dtype) - (is_signed(dtype) ? 1 : 0);
  const int64_t high = (int64_t{1} << bits) - 1;
  return v.i <= high && v.i >= (is_signed(dtype) ? -high - 1 : 0);
}

bool is_zero(const Val& v) {
  return (v.is_int() && v.i == 0) || (v.kind == Val::Kind::Float && v.f == 0 && !std::signbit(v.f));
}

}  // namespace

// ---------------------------------------------------------------------------------------------------- shapes and types

std::vector<int64_t> Elaborator::broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b, Span span) {
  const std::vector<int64_t>&longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
  std::vector<int64_t> shape = longer;
  const size_t shift = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& extent = shape[shift + i];
    if (extent == shorter[i] || shorter[i] == 1) continue;
    if (extent != 1) {
      const auto from_end = static_cast<int64_t>(i) - static_cast<int64_t>(shorter.size());
      fail(span, "these shapes do not broadcast", fmt::format("{} and {}", shape_text(a), shape_text(b)),
           fmt::format("equal extents, or 1, at axis {}", from_end));
    }
    extent = shorter[i];
  }
  return shape;
}

std::vector<int64_t> Elaborator::broadcast(const Val& a, const Val& b, const Ex& e) {
  for (size_t i = 1; i <= std::min(a.shape.size(), b.shape.size()); ++i) {
    const int64_t x = a.shape[a.shape.size() - i], y = b.shape[b.shape.size() - i];
    if (x == y || x == 1 || y == 1 || e.args.size() < 2) continue;
    fail(e.op_span, "these shapes do not broadcast",
         fmt::format("{}, {}", describe(a, *e.args[0]), describe(b, *e.args[1])),
         fmt::format("equal extents, or 1, at axis -{}", i));
  }
  return broadcast(a.shape, b.shape, e.op_span);
}

std::string Elaborator::describe(const Val& v, const Ex& e) {
  std::string what = to_text(e);
  if (e.kind == Ex::Kind::Read) {
    if (const auto operand = lookup(e.text); operand && operand->is_tensor()) {
      const Tensor& t = *operand->tensor;
      if (!t.absent) return fmt::format("{} {}", t.name, type_text(t));
    }
  }
  if (what.size() > 40) what = what.substr(0, 37) + "...";
  if (v.is_tensor()) return fmt::format("{} {}", what, type_text(*v.tensor));
  if (v.is_scalar() && !v.shape.empty()) return fmt::format("{} {}{}", what, name(v.dtype), shape_text(v.shape));
  if (v.is_scalar()) return fmt::format("{} of type {}", what, name(v.dtype));
  if (v.is_static()) return to_text(e) == to_string(v) ? what : fmt::format("{} = {}", what, to_string(v));
  return what;
}

// A value that operators can work on: tensors become reads, at the broadcast indices in a whole-tensor formula.
Val Elaborator::to_scalar(const Val& v, const Ctx& ctx, Span span) {
  if (v.is_tensor()) {
    const TensorPtr& tensor = v.tensor;
    if (tensor->absent) {
      if (tensor->fallback.kind == Val::Kind::None)
        fail(span, fmt::format("{} is absent and has no default", tensor->name), {}, {},
             fmt::format("ask has({}) first", tensor->name));
      return tensor->fallback;
    }
    if (ctx.whole) return whole_read(tensor);
    if (tensor->shape.empty()) return whole_read(tensor);
    std::string items;
    for (size_t i = 0; i < tensor->shape.size(); ++i) items += i ? ", .." : "..";
    fail(span, fmt::format("{} is a whole tensor in a formula with indices", tensor->name),
         fmt::format("{} {}", tensor->name, type_text(*tensor)), "one element",
         fmt::format("write {}[{}]", tensor->name, items));
  }
  if (v.is_number() || v.is_scalar() || v.kind == Val::Kind::Choice) return v;
  fail(span, "this is not a number", to_string(v));
}

DType Elaborator::own_dtype(const Val& v, Span span) {
  if (v.is_scalar()) return v.dtype;
  if (v.is_tensor()) return v.tensor->absent ? own_dtype(v.tensor->fallback, span) : v.tensor->nominal;
  if (v.kind == Val::Kind::Bool) return DType::Bool;
  if (v.is_int() && v.wide) return DType::U64;
  if (v.is_weak()) return floating(v) ? DType::F32 : DType::I64;
  fail(span, "this has no dtype", to_string(v));
}

// The value in the dtype that `dtype` is computed in.
Expr Elaborator::convert(const Val& v, DType dtype, Span span) {
  const DType computed = compute_dtype(dtype);
  switch (v.kind) {
    case Val::Kind::Scalar:
      return cast(v.e, computed);
    case Val::Kind::Bool:
      return is_float(computed) ? constant(computed, static_cast<double>(v.i)) : constant_int(computed, v.i);
    case Val::Kind::Int: {
      if (is_float(computed)) {
        const double value = v.wide ? static_cast<double>(static_cast<uint64_t>(v.i)) : static_cast<double>(v.i);
        const double once =
            computed == DType::F32
                ? static_cast<double>(v.wide ? static_cast<float>(static_cast<uint64_t>(v.i)) : static_cast<float>(v.i))
                : value;
        return constant(computed, once);
      }
      if (computed == DType::Bool) return constant_int(computed, v.i != 0);
      if (!fits(v, computed))
        fail(span, fmt::format("{} does not fit {}", to_string(v), name(computed)), {}, {},
             "cast the other side to a wider type");
      return constant_int(computed, v.i);
    }
    case Val::Kind::Float: {
      if (is_float(computed)) return constant(computed, v.f);
      if (std::isinf(v.f) && is_integer(computed)) {
        const int bits = 8 * size_bytes(computed) - (is_signed(computed) ? 1 : 0);
        const uint64_t high = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
        const int64_t low = is_signed(computed) ? static_cast<int64_t>(~high) : 0;
        return constant_int(computed, v.f > 0 ? static_cast<int64_t>(high) : low);
      }
      return constant(computed, v.f);
    }
    case Val::Kind::Choice:
      return select(v.e, convert(v.sides->first, dtype, span), convert(v.sides->second, dtype, span));
    case Val::Kind::None:
    case Val::Kind::String:
    case Val::Kind::DType:
    case Val::Kind::List:
    case Val::Kind::Tensor:
      break;
  }
  fail(span, "this is not a number", to_string(v));
}

DType Elaborator::common(const Val& a, const Val& b, const Ex& e, Span span) {
  if (a.is_weak() && b.is_weak()) return floating(a) || floating(b) ? DType::F32 : DType::I64;
  if (a.is_weak()) return adapt(a, own_dtype(b, span));
  if (b.is_weak()) return adapt(b, own_dtype(a, span));
  const DType x = own_dtype(a, span), y = own_dtype(b, span);
  if (const auto dtype = promote(x, y)) return *dtype;
  const auto side = [&](size_t k) -> const Ex& {
    const size_t at = k + (e.text == "select" ? 1 : 0);
    if (e.kind == Ex::Kind::Call) return at < e.call_args.size() ? *e.call_args[at].value : e;
    return k < e.args.size() && e.args[k] ? *e.args[k] : e;
  };
  const Ex &left = side(0), &right = side(1);
  const bool is_left = x == DType::U64;
  std::string cast_text = is_left ? fmt::format("i64({})", to_text(left)) : to_text(left);
  std::string other = is_left ? to_text(right) : fmt::format("i64({})", to_text(right));
  if (e.kind != Ex::Kind::Binary)
    fail(span, fmt::format("{} and {} have no common type", name(x), name(y)),
         fmt::format("{}, {}", describe(a, left), describe(b, right)), "types that promote",
         fmt::format("write {} if the values allow it", is_left ? cast_text : other));
  const std::string sign(spelling(e.binary));
  fail(span, fmt::format("{} and {} have no common type", name(x), name(y)),
       fmt::format("{}, {}", describe(a, left), describe(b, right)), "types that promote",
       fmt::format("write {} {} {} if the values allow it", cast_text, sign, other));
}

// ---------------------------------------------------------------------------------------------------- choices

// A weak number chosen at run time: `f` is applied to either side, and the result is chosen again.
Val Elaborator::map_choice(const Val& choice, const std::function<Val(const Val&)>& f) {
  count_step(statement_ && statement_->value ? statement_->value->span : self_->def->name_span);
  const Val a = f(choice.sides->first), b = f(choice.sides->second);
  static const Ex kNoSite{};
  return select_value(scalar_val(choice.e, DType::Bool, choice.shape), a, b, kNoSite);
}

Val Elaborator::select_value(const Val& c, const Val& a, const Val& b, const Ex& e) {
  if (c.kind == Val::Kind::Bool) return c.i ? a : b;
  if (!c.is_scalar() || c.dtype != DType::Bool) fail(e.span, "select chooses by a bool", to_string(c));
  const auto shape_of = [](const Val& v) { return v.shape; };
  std::vector<int64_t> shape = broadcast(broadcast(c.shape, shape_of(a), e.span), shape_of(b), e.span);
  if (a.is_weak() && b.is_weak()) {
    Val v;
    v.kind = Val::Kind::Choice;
    v.e = c.e;
    v.shape = std::move(shape);
    v.sides = std::make_shared<const std::pair<Val, Val>>(a, b);
    return v;
  }
  const DType dtype = common(a, b, e, e.span);
  return scalar_val(select(c.e, convert(a, dtype, e.span), convert(b, dtype, e.span)), dtype, std::move(shape));
}

// ---------------------------------------------------------------------------------------------------- operators

void Elaborator::check_narrow(const Val& a, const Val& b, Span span) {
  if (a.wide || b.wide)
    fail(span, fmt::format("{} does not fit i64", to_string(a.wide ? a : b)), {}, {},
         "a hex literal of 64 bits belongs beside a u64");
}

Val Elaborator::static_arithmetic(BinaryOp op, const Val& a, const Val& b, const Ex& e) {
  const Span span = e.op_span;
  if (a.kind == Val::Kind::Bool && b.kind == Val::Kind::Bool) {
    if (op == BinaryOp::BitAnd) return bool_val(a.i && b.i);
    if (op == BinaryOp::BitOr) return bool_val(a.i || b.i);
    if (op == BinaryOp::BitXor) return bool_val(a.i != b.i);
    fail(span, fmt::format("{} of two bools", spelling(op)), {}, "numbers, or and, or, not");
  }
  if (a.kind == Val::Kind::Float || b.kind == Val::Kind::Float) {
    const double x = a.number(), y = b.number();
    if (op < BinaryOp::Add)
      fail(span, fmt::format("{} takes integers", spelling(op)), fmt::format("{}, {}", to_string(a), to_string(b)));
    return float_val(eval_float_binary(op_of(op), x, y));
  }
  check_narrow(a, b, span);
  int64_t r = 0;
  bool overflow = false;
  switch (op) {
    case BinaryOp::Add:
      overflow = __builtin_add_overflow(a.i, b.i, &r);
      break;
    case BinaryOp::Sub:
      overflow = __builtin_sub_overflow(a.i, b.i, &r);
      break;
    case BinaryOp::Mul:
      overflow = __builtin_mul_overflow(a.i, b.i, &r);
      break;
    case BinaryOp::Div:
      if (b.i == 0) fail(span, "division by zero", fmt::format("{} / {}", a.i, b.i));
      if (b.i == -1) return static_arithmetic(BinaryOp::Sub, int_val(0), a, e);
      if (a.i % b.i != 0)
        fail(span, fmt::format("{} / {} has a remainder", a.i, b.i), fmt::format("{}", to_text(e)),
             "an exact division of integers",
             fmt::format("write {} // {} to round down, or {}.0 for a float", a.i, b.i, a.i));
      r = a.i / b.i;
      break;
    default:
      r = eval_int_binary(op_of(op), DType::I64, a.i, b.i);
  }
  if (overflow) fail(span, "this does not fit i64", fmt::format("{} {} {}", a.i, spelling(op), b.i));
  return int_val(r);
}

bool Elaborator::is_sum(const Val& v, DType dtype) const {
  if (!v.is_scalar() || v.dtype != dtype || v.e.op() != Op::Read) return false;
  const Record& record = records_[static_cast<size_t>(v.e.slot()) / 2];
  if (record.pending < 0) return false;
  const Pending& pending = pendings_[static_cast<size_t>(record.pending)];
  return pending.op == ReduceOp::Sum && !pending.mean;
}

Val Elaborator::arithmetic(BinaryOp op, const Val& a, const Val& b, const Ctx& ctx, const Ex& e) {
  const Span span = e.op_span;
  for (const Val* v : {&a, &b})
    if (!v->is_number() && !v->is_scalar() && v->kind != Val::Kind::Choice)
      fail(span, fmt::format("{} takes numbers", spelling(op)), fmt::format("{}, {}", to_string(a), to_string(b)), {},
           v->is_list() ? "a list needs a pattern: write (..).." : "");
  if (a.is_number() && b.is_number()) return static_arithmetic(op, a, b, e);
  if (a.kind == Val::Kind::Choice && !b.is_scalar())
    return map_choice(a, [&](const Val& side) { return arithmetic(op, side, b, ctx, e); });
  if (b.kind == Val::Kind::Choice && !a.is_scalar())
    return map_choice(b, [&](const Val& side) { return arithmetic(op, a, side, ctx, e); });
  const auto constant_i64 = [](const Val& v) {
    return (v.is_int() && !v.wide) || (v.is_scalar() && v.dtype == DType::I64 && v.e.is_constant());
  };
  if (constant_i64(a) && constant_i64(b) && op != BinaryOp::Div) {
    // Typed integers that are known wrap, as at run time.
    const auto value = [](const Val& v) { return v.is_int() ? v.i : v.e.int_value(); };
    return scalar_val(index_constant(eval_int_binary(op_of(op), DType::I64, value(a), value(b))), DType::I64);
  }
  const DType dtype = common(a, b, e, span);
  const bool bits = op >= BinaryOp::BitAnd && op <= BinaryOp::BitXor;
  const bool shift = op == BinaryOp::Shl || op == BinaryOp::Shr;
  if (dtype == DType::Bool && !bits)
    fail(span, fmt::format("{} of two bools", spelling(op)), {}, "numbers, or and, or, not");
  if ((bits || shift) && is_float(dtype))
    fail(span, fmt::format("{} takes integers", spelling(op)),
         fmt::format("{}, {}", describe(a, *e.args[0]), describe(b, *e.args[1])));
  const Expr x = convert(a, dtype, span), y = convert(b, dtype, span);
  std::vector<int64_t> shape = broadcast(a, b, e);
  if (op == BinaryOp::Div && !is_float(dtype)) {
    if (ctx.place != Place::Position)
      fail(span, "/ of integers at run time", fmt::format("{}, {}", describe(a, *e.args[0]), describe(b, *e.args[1])),
           "a float on either side, or // to round down", "cast one side to f32, or write //");
    if (!y.is_constant() || y.int_value() <= 0)
      fail(span, "an index is divided exactly by a positive number known when compiled", to_text(*e.args[1]), {},
           "write // to round down");
    if (y.int_value() == 1) return scalar_val(x, dtype);
    FRIT_CHECK(exact_ != nullptr, "an exact division outside a position");
    exact_->emplace_back(x, y.int_value());
    return scalar_val(binary(Op::FloorDiv, x, y), dtype);
  }
  // A float sum is never -0.0, so that adding nothing (an operand that is absent) changes nothing.
  if (op == BinaryOp::Add && is_float(dtype)) {
    if (is_sum(a, dtype) && is_zero(b)) return a;
    if (is_sum(b, dtype) && is_zero(a)) return b;
  }
  if (op == BinaryOp::FloorDiv && y.is_constant(1)) return scalar_val(x, dtype, std::move(shape));
  return scalar_val(binary(op_of(op), x, y), dtype, std::move(shape));
}

Val Elaborator::logical(BinaryOp op, const Val& a, const Val& b, const Ex& e) {
  for (const Val* v : {&a, &b}) {
    if (v->kind == Val::Kind::Bool || (v->is_scalar() && v->dtype == DType::Bool)) continue;
    fail(e.op_span, fmt::format("{} takes bools", spelling(op)), describe(*v, *e.args[v == &b]));
  }
  if (a.kind == Val::Kind::Bool) return b;  // true and b, false or b
  if (b.kind == Val::Kind::Bool) {
    const bool decides = (b.i != 0) == (op == BinaryOp::Or);
    return decides ? b : a;
  }
  return scalar_val(binary(op_of(op), a.e, b.e), DType::Bool, broadcast(a.shape, b.shape, e.op_span));
}

Val Elaborator::compare(BinaryOp op, const Val& a, const Val& b, const Ex& e) {
  const Span span = e.op_span;
  const auto numeric = [](const Val& v) { return v.is_number() || v.is_scalar() || v.kind == Val::Kind::Choice; };
  if (!numeric(a) || !numeric(b)) {
    // Strings, dtypes, lists and none are only equal or not.
    if (op != BinaryOp::Eq && op != BinaryOp::Ne)
      fail(span, fmt::format("{} takes numbers", spelling(op)), fmt::format("{}, {}", to_string(a), to_string(b)));
    const bool equal = a.kind == b.kind && to_string(a) == to_string(b);
    return bool_val(equal == (op == BinaryOp::Eq));
  }
  if (a.is_number() && b.is_number()) {
    const bool swapped = op == BinaryOp::Gt || op == BinaryOp::Ge;
    const Val &x = swapped ? b : a, &y = swapped ? a : b;
    if (a.kind == Val::Kind::Float || b.kind == Val::Kind::Float)
      return bool_val(eval_float_compare(op_of(op), x.number(), y.number()));
    // A literal above the largest i64 is above every other integer.
    if (x.wide != y.wide) return bool_val(op == BinaryOp::Ne || (op != BinaryOp::Eq && y.wide));
    return bool_val(eval_int_compare(op_of(op), x.wide ? DType::U64 : DType::I64, x.i, y.i));
  }
  if (a.kind == Val::Kind::Choice && !b.is_scalar())
    return map_choice(a, [&](const Val& side) { return compare(op, side, b, e); });
  if (b.kind == Val::Kind::Choice && !a.is_scalar())
    return map_choice(b, [&](const Val& side) { return compare(op, a, side, e); });
  std::vector<int64_t> shape = broadcast(a, b, e);
  const bool swapped = op == BinaryOp::Gt || op == BinaryOp::Ge;
  const Val &x = swapped ? b : a, &y = swapped ? a : b;
  if (x.is_scalar() && y.is_scalar() && is_integer(x.dtype) && is_integer(y.dtype) && !promote(x.dtype, y.dtype)) {
    // u64 with a signed type, by value: a negative number is below every u64.
    const bool x_signed = is_signed(x.dtype);
    const Expr s = cast(x_signed ? x.e : y.e, DType::I64), zero = index_constant(0);
    const Expr negative = binary(Op::Lt, s, zero), wide = cast(s, DType::U64);
    const Expr plain = binary(op_of(op), x_signed ? wide : x.e, x_signed ? y.e : wide);
    const bool when_negative = op == BinaryOp::Ne || (op != BinaryOp::Eq && x_signed);
    return scalar_val(select(negative, constant_int(DType::Bool, when_negative), plain), DType::Bool, std::move(shape));
  }
  const DType dtype = common(x, y, e, span);
  return scalar_val(binary(op_of(op), convert(x, dtype, span), convert(y, dtype, span)), DType::Bool, std::move(shape));
}

Val Elaborator::combine(Op op, const Val& a, const Val& b, const Ctx& ctx, const Ex& e) {
  if (a.kind == Val::Kind::Choice && !b.is_scalar())
    return map_choice(a, [&](const Val& side) { return combine(op, side, b, ctx, e); });
  if (b.kind == Val::Kind::Choice && !a.is_scalar())
    return map_choice(b, [&](const Val& side) { return combine(op, a, side, ctx, e); });
  const bool floats_only = op == Op::Atan2 || op == Op::LogAddExp;
  if (a.is_number() && b.is_number()) {
    if (a.kind == Val::Kind::Float || b.kind == Val::Kind::Float || floats_only)
      return float_val(eval_float_binary(op, a.number(), b.number()));
    check_narrow(a, b, e.span);
    if (op != Op::Pow || b.i < 0 || (a.i >= -1 && a.i <= 1)) return int_val(eval_int_binary(op, DType::I64, a.i, b.i));
    Val r = int_val(1);
    for (int64_t k = 0; k < b.i; ++k) r = static_arithmetic(BinaryOp::Mul, r, a, e);  // refuses what does not fit
    return r;
  }
  const DType dtype = common(a, b, e, e.span);
  if (dtype == DType::Bool) fail(e.span, fmt::format("{} of bools", e.text), {}, "numbers");
  if (floats_only && !is_float(dtype))
    fail(e.span, fmt::format("{} of integers", e.text), {}, "floats", "cast first, as in f32(..)");
  const Expr x = convert(a, dtype, e.span), y = convert(b, dtype, e.span);
  std::vector<int64_t> shape = broadcast(a.shape, b.shape, e.span);
  if (x.is_constant() && y.is_constant() && dtype == DType::I64)
    return scalar_val(index_constant(eval_int_binary(op, dtype, x.int_value(), y.int_value())), dtype,
                      std::move(shape));
  return scalar_val(binary(op, x, y), dtype, std::move(shape));
}

Val Elaborator::negate(const Val& v, const Ex& e) {
  if (v.kind == Val::Kind::Choice) return map_choice(v, [&](const Val& side) { return negate(side, e); });
  if (v.is_int()) return static_arithmetic(BinaryOp::Sub, int_val(0), v, e);
  if (v.kind == Val::Kind::Float) return float_val(-v.f);
  if (v.is_scalar() && v.dtype != DType::Bool) {
    if (v.e.is_constant() && is_float(v.e.dtype()))
      return scalar_val(constant(v.e.dtype(), -v.e.float_value()), v.dtype, v.shape);
    return scalar_val(unary(Op::Neg, v.e), v.dtype, v.shape);
  }
  fail(e.span, "- takes a number", to_string(v));
}

// A cast rounds to f16 or bf16 even where values are computed in f32.
Val Elaborator::cast_value(const Val& v, DType dtype, Span span) {
  if (v.kind == Val::Kind::Choice)
    return scalar_val(
        select(v.e, cast_value(v.sides->first, dtype, span).e, cast_value(v.sides->second, dtype, span).e), dtype,
        v.shape);
  const DType computed = compute_dtype(dtype);
  if (v.is_number()) {
    if (v.kind == Val::Kind::Float || is_float(dtype)) {
      const double value = v.kind == Val::Kind::Float ? round_to_float(dtype, v.f)
                                                      : int_to_float(v.wide ? DType::U64 : DType::I64, dtype, v.i);
      return scalar_val(constant(computed, value), dtype);
    }
    return scalar_val(constant_int(computed, dtype == DType::Bool ? v.i != 0 : v.i), dtype);
  }
  if (!v.is_scalar()) fail(span, "a cast takes a number", to_string(v));
  if (!is_half(dtype)) return scalar_val(cast(v.e, computed), dtype, v.shape);
  const bool exact = v.e.op() == Op::Cast && v.e.arg(0).dtype() == dtype;
  return scalar_val(exact ? v.e : cast(cast(v.e, dtype), computed), dtype, v.shape);
}

// A position or bound: i64.
Expr Elaborator::to_index(const Val& v, Span span) {
  if (v.is_int()) {
    if (v.wide) fail(span, fmt::format("{} does not fit i64", to_string(v)));
    return index_constant(v.i);
  }
  if (v.kind == Val::Kind::Choice) return select(v.e, to_index(v.sides->first, span), to_index(v.sides->second, span));
  if (v.is_scalar() && is_integer(v.dtype)) {
    if (v.dtype != DType::U64) return cast(v.e, DType::I64);
    const Expr most = constant_int(DType::U64, std::numeric_limits<int64_t>::max());
    return cast(binary(Op::Min, v.e, most), DType::I64);
  }
  const std::string shown = text(span);
  const bool compares = v.is_scalar() && v.dtype == DType::Bool && shown.find_first_of("<>") != std::string::npos;
  fail(span, "a position is an integer",
       v.is_scalar() ? fmt::format("{} of type {}", shown, name(v.dtype)) : to_string(v), {},
       v.is_scalar() && is_float(v.dtype) ? fmt::format("write i64({})", shown)
       : compares                         ? "bound an index left of =, or in a reducer's brackets"
                                          : "");
}

}  // namespace frit::lang
