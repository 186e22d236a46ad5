// Formulas: names, lists, operators.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "ir/lang/elaborate.h"

namespace frit::lang {
const Frame::Binding* Elaborator::find_binding(const std::string& name) const {
  for (size_t i = self_->frames.size(); i-- > 0;) {
    const auto at = self_->frames[i].names.find(name);
    if (at != self_->frames[i].names.end()) return &at->second;
  }
  return nullptr;
}

bool Elaborator::has_index(const Ex& e) const {
  if (e.kind == Ex::Kind::Read && !e.bracketed && find_binding(e.text)) return true;
  for (const ExPtr& arg : e.args)
    if (arg && has_index(*arg)) return true;
  return std::any_of(e.call_args.begin(), e.call_args.end(), [&](const Arg& a) { return has_index(*a.value); });
}

// Locals, operands, attributes.
std::optional<Val> Elaborator::lookup(const std::string& name) {
  if (const auto at = self_->locals.find(name); at != self_->locals.end()) return at->second;
  if (const auto at = self_->params.find(name); at != self_->params.end()) return at->second;
  return attribute(name);
}

// The index that a name means in this place, if it means one.
std::optional<Val> Elaborator::lookup_index(const Ex& e, const Ctx& ctx) {
  const Frame::Binding* binding = find_binding(e.text);
  if (!binding) return std::nullopt;
  const bool is_dim = find_dim(e.text) || self_->attrs.contains(e.text);
  if (is_dim && ctx.place == Place::Extent) return std::nullopt;
  if (is_dim && ctx.place == Place::Value) {
    const int64_t extent = binding->vars.empty() ? 0 : vars_[static_cast<size_t>(binding->vars[0])].extent;
    std::string target;
    if (statement_ && !statement_->targets.empty()) target = text(statement_->targets[0].span);
    std::string dim_of;
    for (const Param& p : self_->def->params) {
      const auto names = [&](auto& self, const Slot& s) -> bool {
        return (s.kind == Slot::Kind::Name && s.name == e.text) ||
               std::any_of(s.parts.begin(), s.parts.end(), [&](const Slot& part) { return self(self, part); });
      };
      if (dim_of.empty() && std::any_of(p.dims.begin(), p.dims.end(), [&](const Slot& s) { return names(names, s); }))
        dim_of = p.name;
    }
    const bool left = !vars_[static_cast<size_t>(binding->vars.empty() ? 0 : binding->vars[0])].reduced;
    fail(e.span, fmt::format("{} is an index and an extent here", e.text),
         fmt::format("the name {} as a value, bound by {}, and a dim of {}", e.text, left ? target : "a reducer",
                     dim_of),
         "one meaning", fmt::format("write size({}) for {}, or index({}) for the position", e.text, extent, e.text));
  }
  if (binding->pack && ctx.elem < 0)
    fail(e.span, fmt::format("{} is a pack", e.text),
         binding->vars.size() == 1 ? "1 index" : fmt::format("{} indices", binding->vars.size()),
         "an index for each of its axes", fmt::format("write {}.., or a pattern such as ({} + 1)..", e.text, e.text));
  if (binding->pack && static_cast<size_t>(ctx.elem) >= binding->vars.size())
    fail(e.span, fmt::format("{}.. has only {} elements", e.text, binding->vars.size()));
  return scalar_val(index(binding->vars[binding->pack ? static_cast<size_t>(ctx.elem) : 0]), DType::I64);
}

Val Elaborator::eval_name(const Ex& e, const Ctx& ctx) {
  for (size_t i = self_->frames.size(); i-- > 0;) {
    const Frame& frame = self_->frames[i];
    if (!e.primed && frame.names.contains(e.text)) break;
    const auto& map = e.primed ? frame.right : frame.accumulators;
    if (const auto at = map.find(e.text); at != map.end()) return at->second;
  }
  if (e.primed) fail(e.span, fmt::format("{} is not an accumulator of this fold", e.text));
  if (auto v = lookup_index(e, ctx)) return *v;
  if (auto v = lookup(e.text)) {
    // A whole-tensor formula is a tensor where indices are bound.
    if (!ctx.whole && !v->shape.empty()) {
      for (auto* names : {&self_->locals, &self_->params})
        if (const auto at = names->find(e.text); at != names->end()) return tensor_val(tensor_of(at->second, e.text));
    }
    if (!v->is_list() || ctx.elem < 0) return *v;
    if (static_cast<size_t>(ctx.elem) >= v->list->size())
      fail(e.span, fmt::format("{} has only {} elements", e.text, v->list->size()), to_string(*v),
           fmt::format("one for each of the axes, element {} here", ctx.elem));
    return (*v->list)[static_cast<size_t>(ctx.elem)];
  }
  if (const Dim* dim = find_dim(e.text)) {
    try {
      if (!dim->pack) return int_val(known_extent(e.text, 0));
      if (dim->length < 0) throw NotYet{e.text};
      if (ctx.elem >= 0) return int_val(known_extent(e.text, ctx.elem));
      std::vector<Val> items;
      for (int k = 0; k < dim->length; ++k) items.push_back(int_val(known_extent(e.text, k)));
      return list_val(std::move(items));
    } catch (const NotYet&) {
      if (!self_->matched) throw;
      fail(e.span, fmt::format("the extent of {} is not known", e.text), "only operands that are absent name it", {},
           "pass the operand, or guard this by has(..)");
    }
  }
  if (e.text == "pi") return float_val(std::numbers::pi);
  unknown_name(e);
}

// ---------------------------------------------------------------------------------------------------- literals

Val Elaborator::eval_number(const Ex& e) {
  Val v = int_val(e.integer);
  v.wide = e.wide;
  return v;
}

Val Elaborator::eval_list(const std::vector<ExPtr>& items, const Ctx& ctx) { return list_val(expand(items, ctx)); }

Val Elaborator::eval_static(const Ex& e, Place place) {
  Ctx ctx;
  ctx.place = place;
  Val v = eval(e, ctx);
  if (v.is_scalar() && v.e.is_constant() && v.dtype == DType::Bool) return bool_val(v.e.int_value() != 0);
  if (v.is_scalar() && v.e.is_constant() && is_integer(v.dtype)) return int_val(v.e.int_value());
  return v;
}

int64_t Elaborator::eval_int(const Ex& e, std::string_view role) {
  const Val v = eval_static(e);
  if (!v.is_int() || v.wide) fail(e.span, fmt::format("{} is an integer known when compiled", role), to_string(v));
  return v.i;
}

Val Elaborator::pick(const Val& list, const std::vector<ExPtr>& items, size_t first, const Ctx& ctx, Span span) {
  if (items.size() != first + 1) fail(span, "a list has one position");
  const Ex& item = *items[first];
  const auto n = static_cast<int64_t>(list.list->size());
  Ctx inner = ctx.at(Place::Extent);
  const auto integer = [&](const Ex& e) {
    Val v = eval(e, inner);
    if (v.is_scalar() && v.e.is_constant() && is_integer(v.dtype)) v = int_val(v.e.int_value());
    if (!v.is_int()) fail(e.span, "a position in a list is known when compiled", to_string(v));
    return v.i;
  };
  if (item.kind == Ex::Kind::Slice) {
    const auto bound = [&](const ExPtr& e, int64_t absent) {
      if (!e) return absent;
      int64_t at = integer(*e);
      if (at < 0) at = std::max(at, -n - 1) + n;
      return std::clamp<int64_t>(at, 0, n);
    };
    const int64_t from = bound(item.args[0], 0), to = std::max(from, bound(item.args[1], n));
    return list_val({list.list->begin() + from, list.list->begin() + to});
  }
  const int64_t at = integer(item);
  const int64_t wrapped = at < 0 ? std::max(at, -n - 1) + n : at;
  if (wrapped < 0 || wrapped >= n)
    fail(item.span, fmt::format("position {} is outside the list", at), fmt::format("{} elements", n));
  return (*list.list)[static_cast<size_t>(wrapped)];
}

// ---------------------------------------------------------------------------------------------------- dispatch

std::vector<Val> Elaborator::eval_multi(const Ex& e, const Ctx& ctx) {
  if (e.kind == Ex::Kind::Call) return call(e, ctx);
  if (e.kind == Ex::Kind::Fold) return fold(e, ctx);
  if (e.kind == Ex::Kind::Tuple && e.args.size() == 1 && e.args[0]->kind != Ex::Kind::Pack)
    return eval_multi(*e.args[0], ctx);
  return {eval(e, ctx)};
}

Val Elaborator::eval(const Ex& e, const Ctx& ctx) {
  count_step(e.span);
  struct Nested {
    int& depth;
    explicit Nested(int& d) : depth(d) { ++depth; }
    ~Nested() { --depth; }
  } nested(nesting_);
  check_nesting(e.span);
  switch (e.kind) {
    case Ex::Kind::Int:
      return eval_number(e);
    case Ex::Kind::Float:
      return float_val(e.number);
    case Ex::Kind::String:
      return string_val(e.text);
    case Ex::Kind::True:
      return bool_val(true);
    case Ex::Kind::False:
      return bool_val(false);
    case Ex::Kind::None:
      return none_val();
    case Ex::Kind::Inf:
      return float_val(HUGE_VAL);
    case Ex::Kind::Nan:
      return float_val(std::nan(""));
    case Ex::Kind::DType:
      return dtype_val(*dtype_from_name(e.text));
    case Ex::Kind::Tuple:
      if (e.args.size() == 1 && e.args[0]->kind != Ex::Kind::Pack) return eval(*e.args[0], ctx);
      fail(e.span, "a tuple is an axis, not a value", {}, {},
           fmt::format("write [..] for a list, or index(..) for a flat position"));
    case Ex::Kind::List: {
      Val list = eval_list(e.args, ctx.element(-1));
      if (ctx.elem < 0) return list;
      if (static_cast<size_t>(ctx.elem) >= list.list->size())
        fail(e.span, fmt::format("this list has only {} elements", list.list->size()));
      return (*list.list)[static_cast<size_t>(ctx.elem)];
    }
    case Ex::Kind::Read: {
      if (!e.bracketed) return eval_name(e, ctx);
      const auto operand = lookup(e.text);
      if (!operand) unknown_name(e);
      if (operand->is_list()) return pick(*operand, e.args, 0, ctx, e.span);
      return read(*operand, e, ctx, nullptr);
    }
    case Ex::Kind::Else: {
      const Ex& r = *e.args[0];
      const auto operand = lookup(r.text);
      if (!operand) unknown_name(r);
      return read(*operand, r, ctx, e.args[1].get());
    }
    case Ex::Kind::Call: {
      std::vector<Val> results = call(e, ctx);
      return std::move(results.front());
    }
    case Ex::Kind::Pick: {
      const std::vector<Val> results = call(*e.args[0], ctx);
      Val list = results.size() == 1 && results[0].is_list() ? results[0] : list_val(results);
      return pick(list, e.args, 1, ctx, e.span);
    }
    case Ex::Kind::Reduce:
      return reduce(e, ctx);
    case Ex::Kind::Fold:
      return fold(e, ctx).front();
    case Ex::Kind::Unary:
      return eval_unary(e, ctx);
    case Ex::Kind::Binary:
      return eval_binary(e, ctx);
    case Ex::Kind::Pack:
      fail(e.span, "a pattern stands for several values here", {}, "one value");
    case Ex::Kind::Slice:
      fail(e.span, "a slice a:b belongs in the brackets of a list");
    case Ex::Kind::Dots:
      fail(e.span, ".. belongs in brackets");
  }
  FRIT_UNREACHABLE();
}

Val Elaborator::eval_unary(const Ex& e, const Ctx& ctx) {
  const Ex& operand = *e.args[0];
  if (e.unary == UnaryOp::Neg) {
    if (operand.kind == Ex::Kind::Int && operand.wide && static_cast<uint64_t>(operand.integer) == uint64_t{1} << 63)
      return int_val(operand.integer);
    Val v = eval(operand, ctx);
    if (v.is_tensor()) v = to_scalar(v, ctx, operand.span);
    return negate(v, e);
  }
  Val v = eval(operand, ctx.at(Place::Value));
  if (v.is_tensor()) v = to_scalar(v, ctx, operand.span);
  if (e.unary == UnaryOp::Not) {
    if (v.kind == Val::Kind::Bool) return bool_val(!v.i);
    if (v.is_scalar() && v.dtype == DType::Bool) return scalar_val(unary(Op::Not, v.e), DType::Bool, v.shape);
    fail(e.span, "not takes a bool", describe(v, operand));
  }
  if (v.is_int()) return int_val(~v.i);
  if (v.is_scalar() && v.dtype == DType::Bool) return scalar_val(unary(Op::Not, v.e), DType::Bool, v.shape);
  if (v.is_scalar() && is_integer(v.dtype)) return scalar_val(unary(Op::BitNot, v.e), v.dtype, v.shape);
  fail(e.span, "~ takes an integer or a bool", describe(v, operand));
}

Val Elaborator::eval_binary(const Ex& e, const Ctx& ctx) {
  const Ex &a = *e.args[0], &b = *e.args[1];
  const Ctx value = ctx.at(ctx.place == Place::Position ? Place::Value : ctx.place);
  const auto operand = [&](const Ex& x, const Ctx& c) {
    Val v = eval(x, c);
    return v.is_tensor() ? to_scalar(v, c, x.span) : v;
  };
  // Left before right, so that findings come in reading order.
  const auto operands = [&](const Ctx& left, const Ctx& right) {
    Val x = operand(a, left);
    return std::pair(std::move(x), operand(b, right));
  };
  const auto calculate = [&](const Ctx& left, const Ctx& right) {
    const auto [x, y] = operands(left, right);
    return arithmetic(e.binary, x, y, ctx, e);
  };
  switch (e.binary) {
    case BinaryOp::Or:
    case BinaryOp::And: {
      const Val left = operand(a, value);
      // A static side that decides the result is all that is evaluated.
      if (left.kind == Val::Kind::Bool && (left.i != 0) == (e.binary == BinaryOp::Or)) {
        check_untaken(b);
        return left;
      }
      return logical(e.binary, left, operand(b, value), e);
    }
    case BinaryOp::In: {
      const Val item = operand(a, value);
      const Val list = eval(b, value.element(-1));
      if (!list.is_list()) fail(b.span, "in takes a list on its right", to_string(list));
      const bool found = std::any_of(list.list->begin(), list.list->end(), [&](const Val& v) {
        const Val equal = compare(BinaryOp::Eq, item, v, e);
        return equal.kind == Val::Kind::Bool && equal.i;
      });
      return bool_val(found);
    }
    case BinaryOp::Eq:
    case BinaryOp::Ne:
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Gt:
    case BinaryOp::Ge: {
      const auto [x, y] = operands(value, value);
      return compare(e.binary, x, y, e);
    }
    case BinaryOp::Add:
    case BinaryOp::Sub:
      return calculate(ctx, ctx);
    case BinaryOp::Mul: {
      const bool both = ctx.place == Place::Position && has_index(a) && has_index(b);
      const Ctx side = both ? value : ctx;
      return calculate(side, side);
    }
    case BinaryOp::Div:
    case BinaryOp::FloorDiv:
    case BinaryOp::Mod: {
      const Ctx left = ctx.place == Place::Position && has_index(b) ? value : ctx;
      return calculate(left, value);
    }
    case BinaryOp::BitAnd:
    case BinaryOp::BitOr:
    case BinaryOp::BitXor:
    case BinaryOp::Shl:
    case BinaryOp::Shr:
      return calculate(value, value);
  }
  FRIT_UNREACHABLE();
}

}  // namespace frit::lang
