// Calls: built-in functions, inlined definitions, definitions on whole tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/lang/elaborate.h"
#include "ir/lang/lexer.h"
#include "ir/lang/random.h"

namespace frit::lang {
namespace {

struct FloatFunction {
  std::string_view name;
  Op op;
  double (*value)(double);
};
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
int64_t wrapping_negative(int64_t v) { return static_cast<int64_t>(-static_cast<uint64_t>(v)); }
double reciprocal(double x) { return 1 / x; }
double rsqrt(double x) { return 1 / std::sqrt(x); }
double round_even(double x) { return std::nearbyint(x); }

const FloatFunction kFloatFunctions[] = {
    {"floor", Op::Floor, std::floor},
    {"ceil", Op::Ceil, std::ceil},
    {"trunc", Op::Trunc, std::trunc},
    {"round", Op::Round, round_even},
    {"sqrt", Op::Sqrt, std::sqrt},
    {"rsqrt", Op::Rsqrt, rsqrt},
    {"reciprocal", Op::Reciprocal, reciprocal},
    {"exp", Op::Exp, std::exp},
    {"exp2", Op::Exp2, std::exp2},
    {"expm1", Op::Expm1, std::expm1},
    {"log", Op::Log, std::log},
    {"log2", Op::Log2, std::log2},
    {"log1p", Op::Log1p, std::log1p},
    {"erf", Op::Erf, std::erf},
    {"sigmoid", Op::Sigmoid, sigmoid},
    {"softplus", Op::Softplus, softplus},
    {"sin", Op::Sin, std::sin},
    {"cos", Op::Cos, std::cos},
    {"tan", Op::Tan, std::tan},
    {"asin", Op::Asin, std::asin},
    {"acos", Op::Acos, std::acos},
    {"atan", Op::Atan, std::atan},
    {"sinh", Op::Sinh, std::sinh},
    {"cosh", Op::Cosh, std::cosh},
    {"tanh", Op::Tanh, std::tanh},
    {"asinh", Op::Asinh, std::asinh},
    {"acosh", Op::Acosh, std::acosh},
    {"atanh", Op::Atanh, std::atanh},
};

struct PairFunction {
  std::string_view name;
  Op op;
};
constexpr PairFunction kPairFunctions[] = {{"pow", Op::Pow},      {"tdiv", Op::TruncDiv}, {"tmod", Op::TruncMod},
                                           {"cdiv", Op::CeilDiv}, {"atan2", Op::Atan2},   {"logaddexp", Op::LogAddExp}};

const std::vector<std::string> kOtherFunctions = {
    "abs",  "sign",    "clamp",         "select", "square",  "fma",    "isnan", "isinf",  "isfinite",
    "cast", "bitcast", "stop_gradient", "len",    "rank",    "shape",  "size",  "index",  "axis",
    "has",  "dtype",   "range",         "fill",   "uniform", "normal", "sort",  "concat", "reshape"};

}  // namespace

const std::vector<std::string>& builtin_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names = kOtherFunctions;
    for (const FloatFunction& f : kFloatFunctions) names.emplace_back(f.name);
    for (const PairFunction& f : kPairFunctions) names.emplace_back(f.name);
    return names;
  }();
  return all;
}

std::vector<Val> Elaborator::call(const Ex& e, const Ctx& ctx) {
  if (!is_reserved(e.text))
    if (const Definition* def = library_.find_from(*self_->def, e.text)) return call_definition(*def, e, ctx);
  if (auto results = call_whole(e, ctx)) return std::move(*results);
  if (auto v = call_builtin(e, ctx)) return {std::move(*v)};
  unknown_function(e);
}

std::vector<Val> Elaborator::call_definition(const Definition& def, const Ex& e, const Ctx& ctx) {
  if (!ctx.whole && !is_inlineable(def))
    fail(e.op_span, fmt::format("{} works on whole tensors", def.name), "a formula with indices",
         "an elementwise definition",
         fmt::format("call it in a let of its own, without brackets, and read the result"));
  Call call;
  call.def = &def;
  call.site = &e;
  call.whole = ctx.whole;
  call.bracket = ctx.bracket;
  call.is_outermost =
      self_->is_outermost && returned_ &&
      std::any_of(returned_->begin(), returned_->end(), [&](const ExPtr& part) { return part.get() == &e; });
  call.label = label_of(def.name);
  const Ctx value = ctx.at(ctx.place == Place::Position ? Place::Value : ctx.place);
  for (const Arg& arg : e.call_args) {
    if (arg.value->kind == Ex::Kind::Dots) fail(arg.value->span, ".. belongs in brackets");
    if (!arg.name.empty()) {
      check_attribute_name(def, arg.name, arg.name_span);
      Ctx inner = ctx.at(Place::Extent);
      inner.whole = true;
      Val v = arg.value->kind == Ex::Kind::Pack ? list_val(expand({arg.value}, inner)) : eval(*arg.value, inner);
      if (v.is_scalar() && v.e.is_constant() && v.dtype == DType::I64) v = int_val(v.e.int_value());
      if (!v.is_static())
        fail(arg.value->span, fmt::format("the attribute {} is not known when compiled", arg.name), to_string(v), {},
             "attributes are numbers, lists, strings and dtypes");
      if (!call.attributes.emplace(arg.name, std::move(v)).second)
        fail(arg.name_span, fmt::format("{} is given twice", arg.name));
      continue;
    }
    const size_t at = call.operands.size();
    const bool is_const = at < def.params.size() && def.params[at].is_const;
    for (Val& v : expand({arg.value}, is_const ? ctx.at(Place::Extent) : value)) call.operands.push_back(std::move(v));
  }
  return !ctx.whole && wants_clause(call) ? call_behind_clause(call, e) : run(call);
}

std::vector<Val> Elaborator::arguments(const Ex& e, const Ctx& ctx, size_t least, size_t most) {
  std::vector<ExPtr> parts;
  for (const Arg& arg : e.call_args) {
    if (!arg.name.empty())
      fail(arg.name_span, fmt::format("{} takes no attribute {}", e.text, arg.name), {}, {},
           is_reducer(e.text) ? fmt::format("name the index that it reduces, as in {}[n](x[n])", e.text) : "");
    parts.push_back(arg.value);
  }
  std::vector<Val> values = expand(parts, ctx.at(ctx.place == Place::Position ? Place::Value : ctx.place));
  if (values.size() < least || values.size() > most)
    fail(e.span,
         fmt::format("{} takes {} operands", e.text,
                     least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most)),
         fmt::format("{}", values.size()));
  return values;
}

std::optional<Val> Elaborator::call_builtin(const Ex& e, const Ctx& ctx) {
  if (auto v = call_static(e, ctx)) return v;
  return call_scalar(e, ctx);
}

// ---------------------------------------------------------------------------------------------------- on sizes and
// lists

// Whether an operand was passed.
bool Elaborator::has(const Ex& e) {
  const Ex* arg = e.call_args.size() == 1 ? e.call_args[0].value.get() : nullptr;
  if (!arg || arg->kind != Ex::Kind::Read || arg->bracketed) fail(e.span, "has takes the name of an operand");
  const auto& params = self_->def->params;
  if (std::none_of(params.begin(), params.end(), [&](const Param& p) { return p.name == arg->text; }))
    fail(arg->span, fmt::format("{} is not an operand", arg->text));
  // A `const` operand that is absent is known by its default only.
  const auto at = self_->params.find(arg->text);
  return at != self_->params.end() && !(at->second.is_tensor() && at->second.tensor->absent);
}

std::optional<Val> Elaborator::call_static(const Ex& e, const Ctx& ctx) {
  const std::string& f = e.text;
  if (f == "size") return size_of(e, ctx);
  if (f == "index") return index_of(e, ctx);
  if (f == "axis") {
    if (ctx.elem < 0) fail(e.span, "axis(..) is the position in a pattern, and this is none");
    return int_val(ctx.elem);
  }
  if (f == "has") return bool_val(has(e));
  Ctx inner = ctx.element(-1).at(Place::Extent);
  if (f == "len") {
    const std::vector<Val> args = arguments(e, inner, 1, 1);
    if (!args[0].is_list())
      fail(e.span, "len takes a list", to_string(args[0]), {},
           args[0].is_number() ? "a number given for a list has no length" : "");
    return int_val(static_cast<int64_t>(args[0].list->size()));
  }
  if (f == "rank" || f == "shape") {
    const std::vector<Val> args = arguments(e, inner, 1, 1);
    const std::vector<int64_t> shape = args[0].is_tensor() ? args[0].tensor->shape : args[0].shape;
    if (f == "rank") return int_val(static_cast<int64_t>(shape.size()));
    std::vector<Val> items;
    for (const int64_t extent : shape) items.push_back(int_val(extent));
    if (ctx.elem < 0) return list_val(std::move(items));
    if (static_cast<size_t>(ctx.elem) >= items.size())
      fail(e.span, fmt::format("this shape has only {} extents", items.size()));
    return items[static_cast<size_t>(ctx.elem)];
  }
  if (f == "dtype") {
    const std::vector<Val> args = arguments(e, ctx, 1, 1);
    return dtype_val(own_dtype(args[0], e.span));
  }
  if (f == "range" || f == "fill") {
    const std::vector<Val> args = arguments(e, inner, f == "fill" ? 2 : 1, f == "fill" ? 2 : 1);
    if (!args[0].is_int() || args[0].i < 0 || args[0].i > 4096)
      fail(e.span, fmt::format("{} takes a length from 0 to 4096", f), to_string(args[0]));
    std::vector<Val> items;
    for (int64_t k = 0; k < args[0].i; ++k) items.push_back(f == "fill" ? args[1] : int_val(k));
    if (ctx.elem < 0) return list_val(std::move(items));
    if (static_cast<size_t>(ctx.elem) >= items.size())
      fail(e.span, fmt::format("this list has only {} elements", items.size()));
    return items[static_cast<size_t>(ctx.elem)];
  }
  return std::nullopt;
}

Val Elaborator::size_of(const Ex& e, const Ctx& ctx) {
  Val result = int_val(1);
  const auto times = [&](const Val& v, const Ex& part) {
    if (v.is_scalar() && v.e.op() == Op::Index) {
      // An index that no dim names: its extent, perhaps not known yet.
      const Expr extent = extent_of(vars_, static_cast<int>(v.e.bits()));
      const Val factor = extent.is_constant() ? int_val(extent.int_value()) : scalar_val(extent, DType::I64);
      result = arithmetic(BinaryOp::Mul, result, factor, ctx, e);
    } else if (v.is_list()) {
      for (const Val& item : *v.list) result = static_arithmetic(BinaryOp::Mul, result, item, e);
    } else if (v.is_int()) {
      result = arithmetic(BinaryOp::Mul, result, v, ctx, e);
    } else {
      fail(part.span, "size takes dims and indices", to_string(v));
    }
  };
  for (const Arg& arg : e.call_args) {
    if (arg.value->kind == Ex::Kind::Dots) {
      for (size_t i = self_->frames.size(); i-- > 0;) {
        if (!self_->frames[i].has_dots) continue;
        for (const int var : self_->frames[i].dots) times(scalar_val(index(var), DType::I64), *arg.value);
        break;
      }
      continue;
    }
    for (const Val& v : expand({arg.value}, ctx.at(Place::Extent))) times(v, *arg.value);
  }
  return result;
}

// The row-major flat position of the items.
Val Elaborator::index_of(const Ex& e, const Ctx& ctx) {
  struct Item {
    Expr position, radix;
    const Ex* site;
  };
  std::vector<Item> items;
  std::vector<std::pair<Expr, int64_t>> exact;
  auto* const outer = std::exchange(exact_, &exact);
  const auto add = [&](const Ex& whole, const Ctx& c) {
    const Ex* x = &whole;
    while (x->kind == Ex::Kind::Tuple && x->args.size() == 1 && x->args[0]->kind != Ex::Kind::Pack)
      x = x->args[0].get();
    Ctx position = c.at(Place::Position);
    position.bracket = true;
    Expr radix;
    if (x->kind == Ex::Kind::Binary && (x->binary == BinaryOp::Lt || x->binary == BinaryOp::Le)) {
      Ctx bound = c.at(Place::Extent);
      bound.bracket = true;
      radix = to_index(eval(*x->args[1], bound), x->args[1]->span);
      if (x->binary == BinaryOp::Le) radix = radix + index_constant(1);
      x = x->args[0].get();
    }
    const Expr p = to_index(eval(*x, position), x->span);
    if (!radix && p.op() == Op::Index) radix = extent_of(vars_, static_cast<int>(p.bits()));
    items.push_back({p, radix, x});
  };
  for (const Arg& arg : e.call_args) {
    const Ex& x = *arg.value;
    if (x.kind == Ex::Kind::Dots) {
      const Frame* bound = nullptr;
      for (const Frame& frame : self_->frames)
        if (frame.has_dots) bound = &frame;
      if (!bound) fail(x.span, ".. is not bound here");
      for (const int var : bound->dots) items.push_back({index(var), extent_of(vars_, var), &x});
    } else if (x.kind == Ex::Kind::Pack) {
      const auto found = self_->pack_lengths.find(&x);
      int n = found != self_->pack_lengths.end() ? found->second : pattern_length(*x.args[0], ctx);
      if (n < 0) n = 1;
      for (int k = 0; k < n; ++k) add(*x.args[0], ctx.element(k));
    } else {
      add(x, ctx);
    }
  }
  exact_ = outer;
  if (!exact.empty()) {
    if (exact_)
      exact_->insert(exact_->end(), exact.begin(), exact.end());
    else
      fail(e.span, "an exact division in index(..) outside a read");
  }
  Expr flat = index_constant(0);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i == 0) {
      flat = items[i].position;
      continue;
    }
    if (!items[i].radix)
      fail(items[i].site->span, "the radix of this item is not known", to_text(*items[i].site),
           "a plain index, or a radix", fmt::format("write index(.., {} < n)", to_text(*items[i].site)));
    flat = flat * items[i].radix + items[i].position;
  }
  return scalar_val(flat, DType::I64);
}

Val Elaborator::list_reducer(const std::string& name, const std::vector<Val>& items, const Ctx& ctx, const Ex& e) {
  if (name == "any" || name == "all") {
    Val result = bool_val(name == "all");
    for (const Val& item : items) {
      if (result.kind == Val::Kind::Bool && (result.i != 0) != (name == "all")) break;
      if (item.kind != Val::Kind::Bool && !(item.is_scalar() && item.dtype == DType::Bool))
        fail(e.span, fmt::format("{} takes bools", name), to_string(item));
      if (result.kind == Val::Kind::Bool)
        result = item;
      else if (item.kind == Val::Kind::Bool)
        result = (item.i != 0) == (name == "all") ? result : item;
      else
        result = scalar_val(binary(name == "all" ? Op::And : Op::Or, result.e, item.e), DType::Bool,
                            broadcast(result.shape, item.shape, e.span));
    }
    return result;
  }
  if (items.empty()) {
    if (name == "sum") return int_val(0);
    if (name == "prod") return int_val(1);
    fail(e.span, fmt::format("{} of an empty list", name));
  }
  Val result = items[0];
  for (size_t i = 1; i < items.size(); ++i) {
    if (name == "sum" || name == "mean")
      result = arithmetic(BinaryOp::Add, result, items[i], ctx.at(Place::Value), e);
    else if (name == "prod")
      result = arithmetic(BinaryOp::Mul, result, items[i], ctx.at(Place::Value), e);
    else
      result = combine(name == "max" ? Op::Max : Op::Min, result, items[i], ctx, e);
  }
  if (name == "mean")
    return arithmetic(BinaryOp::Div, result, float_val(static_cast<double>(items.size())), ctx.at(Place::Value), e);
  return result;
}

// ---------------------------------------------------------------------------------------------------- on scalars

Val Elaborator::float_function(Op op, const Val& v, const Ctx& ctx, const Ex& e) {
  if (v.kind == Val::Kind::Choice)
    return map_choice(v, [&](const Val& side) { return float_function(op, side, ctx, e); });
  const auto* f = std::find_if(std::begin(kFloatFunctions), std::end(kFloatFunctions),
                               [&](const FloatFunction& g) { return g.op == op; });
  if (v.is_number()) return float_val(f->value(v.number()));
  if (!is_float(v.dtype))
    fail(e.span, fmt::format("{} of an integer", f->name),
         e.call_args.empty() ? "" : describe(v, *e.call_args[0].value), "a float",
         fmt::format("cast first, as in {}(f32(..))", f->name));
  return scalar_val(unary(op, v.e), v.dtype, v.shape);
}

std::optional<Val> Elaborator::call_scalar(const Ex& e, const Ctx& ctx) {
  const std::string& f = e.text;
  const auto scalars = [&](size_t least, size_t most) {
    std::vector<Val> args = arguments(e, ctx, least, most);
    for (size_t i = 0; i < args.size(); ++i) {
      const Span span = i < e.call_args.size() ? e.call_args[i].value->span : e.span;
      args[i] = to_scalar(args[i], ctx, span);
    }
    return args;
  };
  if (is_reducer(f) && f != "fold" && f != "argmax" && f != "argmin") {
    std::vector<Val> args = arguments(e, ctx, 0, 4096);
    if (args.size() == 1 && args[0].is_list()) args = std::vector<Val>(*args[0].list);
    for (Val& v : args) v = to_scalar(v, ctx, e.span);
    return list_reducer(f, args, ctx, e);
  }
  if (const auto dtype = dtype_from_name(f)) return cast_value(scalars(1, 1)[0], *dtype, e.span);
  for (const FloatFunction& function : kFloatFunctions)
    if (function.name == f) return float_function(function.op, scalars(1, 1)[0], ctx, e);
  for (const PairFunction& function : kPairFunctions) {
    if (function.name != f) continue;
    const std::vector<Val> args = scalars(2, 2);
    return combine(function.op, args[0], args[1], ctx, e);
  }
  if (f == "select") {
    // Only the side that a static condition takes is evaluated.
    if (e.call_args.size() != 3) fail(e.span, "select takes three operands", fmt::format("{}", e.call_args.size()));
    const Ctx value = ctx.at(ctx.place == Place::Position ? Place::Value : ctx.place);
    Val c = eval(*e.call_args[0].value, value);
    if (c.is_tensor()) c = to_scalar(c, ctx, e.call_args[0].value->span);
    if (c.kind == Val::Kind::Bool) {
      check_untaken(*e.call_args[c.i ? 2 : 1].value);
      return eval(*e.call_args[c.i ? 1 : 2].value, value);
    }
    const std::vector<Val> args = scalars(3, 3);
    if (!c.is_scalar() || c.dtype != DType::Bool)
      fail(e.call_args[0].value->span, "select chooses by a bool", describe(c, *e.call_args[0].value));
    return select_value(c, args[1], args[2], e);
  }
  if (f == "cast" || f == "bitcast") {
    const std::vector<Val> args = arguments(e, ctx, 2, 2);
    if (args[1].kind != Val::Kind::DType)
      fail(e.call_args[1].value->span, fmt::format("{} takes a value and a dtype", f), to_string(args[1]), "a dtype",
           args[1].kind == Val::Kind::String && dtype_from_name(args[1].s) ? fmt::format("write {}", args[1].s) : "");
    Val v = to_scalar(args[0], ctx, e.call_args[0].value->span);
    if (f == "cast") return cast_value(v, args[1].dtype, e.span);
    if (!v.is_scalar()) v = cast_value(v, own_dtype(v, e.span), e.span);
    if (size_bytes(v.dtype) != size_bytes(args[1].dtype))
      fail(e.span, "bitcast keeps the width", fmt::format("{} to {}", name(v.dtype), name(args[1].dtype)),
           "types of equal width");
    // 16-bit floats are computed in f32; their bits are those of the stored value.
    Expr bits = bitcast(is_half(v.dtype) ? cast(v.e, v.dtype) : v.e, args[1].dtype);
    return scalar_val(is_half(args[1].dtype) ? cast(bits, DType::F32) : bits, args[1].dtype, v.shape);
  }
  if (f == "abs" || f == "sign") {
    const Val v = scalars(1, 1)[0];
    if (v.kind == Val::Kind::Choice)
      return map_choice(v, [&](const Val& s) {
        return f == "abs" ? (s.is_int() ? int_val(s.i < 0 ? wrapping_negative(s.i) : s.i) : float_val(std::fabs(s.f)))
                          : float_val(s.number() > 0   ? 1
                                      : s.number() < 0 ? -1
                                                       : 0);
      });
    if (v.is_int()) return int_val(f == "abs" ? (v.i < 0 ? wrapping_negative(v.i) : v.i) : (v.i > 0) - (v.i < 0));
    if (v.kind == Val::Kind::Float) return float_val(f == "abs" ? std::fabs(v.f) : v.f > 0 ? 1 : v.f < 0 ? -1 : v.f);
    if (!v.is_scalar() || v.dtype == DType::Bool) fail(e.span, fmt::format("{} takes a number", f), to_string(v));
    return scalar_val(unary(f == "abs" ? Op::Abs : Op::Sign, v.e), v.dtype, v.shape);
  }
  if (f == "square") {
    const Val v = scalars(1, 1)[0];
    return arithmetic(BinaryOp::Mul, v, v, ctx.at(Place::Value), e);
  }
  if (f == "clamp") {
    const std::vector<Val> args = scalars(3, 3);
    return combine(Op::Min, combine(Op::Max, args[0], args[1], ctx, e), args[2], ctx, e);
  }
  if (f == "fma") {
    const std::vector<Val> args = scalars(3, 3);
    if (args[0].is_number() && args[1].is_number() && args[2].is_number())
      return float_val(std::fma(args[0].number(), args[1].number(), args[2].number()));
    // Types as of a*b + c.
    const Val ab = arithmetic(BinaryOp::Mul, args[0], args[1], ctx.at(Place::Value), e);
    const DType dtype = common(ab, args[2], e, e.span);
    if (!is_float(dtype)) fail(e.span, "fma of integers", {}, "floats");
    std::vector<int64_t> shape = broadcast(ab.shape, args[2].shape, e.span);
    return scalar_val(
        fma(convert(args[0], dtype, e.span), convert(args[1], dtype, e.span), convert(args[2], dtype, e.span)), dtype,
        std::move(shape));
  }
  if (f == "isnan" || f == "isinf" || f == "isfinite") {
    const Val v = scalars(1, 1)[0];
    if (v.is_number())
      return bool_val(f == "isnan"   ? std::isnan(v.number())
                      : f == "isinf" ? std::isinf(v.number())
                                     : std::isfinite(v.number()));
    if (!v.is_scalar() || !is_float(v.dtype)) fail(e.span, fmt::format("{} of an integer", f), to_string(v), "a float");
    return scalar_val(unary(f == "isnan"   ? Op::IsNan
                            : f == "isinf" ? Op::IsInf
                                           : Op::IsFinite,
                            v.e),
                      DType::Bool, v.shape);
  }
  if (f == "stop_gradient") {
    const Val v = scalars(1, 1)[0];
    return v.is_scalar() ? scalar_val(unary(Op::StopGradient, v.e), v.dtype, v.shape) : v;
  }
  if (f == "uniform" || f == "normal") {
    const std::vector<Val> args = scalars(2, 2);
    const DType seed = own_dtype(args[0], e.span);
    if (seed != DType::U64 && !args[0].is_int())
      fail(e.span, fmt::format("the seed of {} is a u64", f), describe(args[0], *e.call_args[0].value));
    const Expr key = convert(args[0], DType::U64, e.span), counter = to_index(args[1], e.call_args[1].value->span);
    return scalar_val(f == "uniform" ? uniform(key, counter) : normal(key, counter), DType::F32,
                      broadcast(args[0].shape, args[1].shape, e.span));
  }
  return std::nullopt;
}

// ---------------------------------------------------------------------------------------------------- on whole tensors

std::optional<std::vector<Val>> Elaborator::call_whole(const Ex& e, const Ctx& ctx) {
  if (e.text != "reshape" && e.text != "concat" && e.text != "sort") return std::nullopt;
  if (!ctx.whole)
    fail(e.op_span, fmt::format("{} works on whole tensors", e.text), "a formula with indices", {},
         "call it in a let of its own, without brackets");
  if (e.text == "sort") return sort(e, ctx);
  return std::vector<Val>{e.text == "reshape" ? reshape(e, ctx) : concat(e, ctx)};
}

Val Elaborator::reshape(const Ex& e, const Ctx& ctx) {
  std::vector<Val> args = arguments(e, ctx, 2, 2);
  const TensorPtr x = tensor_of(args[0], "x");
  if (!args[1].is_list() || !args[1].list_is_static())
    fail(e.span, "reshape takes a tensor and a list of extents", to_string(args[1]));
  std::vector<int64_t> shape;
  int64_t known = 1, open = -1;
  check_rank(args[1].list->size(), e.span);
  for (const Val& v : *args[1].list) {
    if (!v.is_int() || v.i < -1) fail(e.span, "an extent of reshape is a number, or one -1", to_string(args[1]));
    if (v.i == -1) {
      if (open >= 0) fail(e.span, "reshape takes one -1 at most", to_string(args[1]));
      open = static_cast<int64_t>(shape.size());
    } else {
      if (__builtin_mul_overflow(known, v.i, &known)) fail(e.span, "this shape is too large", to_string(args[1]));
    }
    shape.push_back(v.i);
  }
  const int64_t total = product(x->shape);
  if (open >= 0) shape[static_cast<size_t>(open)] = known == 0 ? 0 : total / known;
  if (product(shape) != total)
    fail(e.span, "reshape keeps the number of elements", fmt::format("{} to {}", type_text(*x), to_string(args[1])),
         fmt::format("{} elements", total));
  const Value stored = merged(*x);
  View view;
  Expr flat = index_constant(0);
  for (size_t i = 0; i < shape.size(); ++i) {
    view.axes.push_back({fmt::format("i{}", i), index_constant(shape[i])});
    flat = flat * index_constant(shape[i]) + index(static_cast<int>(i));
  }
  view.positions.resize(x->shape.size());
  for (size_t i = x->shape.size(); i-- > 0;) {
    const Expr extent = index_constant(std::max<int64_t>(x->shape[i], 1));
    view.positions[i] = i == 0 ? flat : binary(Op::Mod, flat, extent);
    flat = binary(Op::FloorDiv, flat, extent);
  }
  auto result = std::make_shared<Tensor>();
  result->name = x->name;
  result->nominal = x->nominal;
  result->shape = shape;
  for (size_t i = 0; i < shape.size(); ++i) result->axes.push_back({{shape[i]}, static_cast<int>(i)});
  result->has_value = true;
  result->value = graph_.add_view(std::move(view), stored, label_of("reshape"));
  return tensor_val(std::move(result));
}

Val Elaborator::concat(const Ex& e, const Ctx& ctx) {
  int64_t axis = 0;
  bool axis_named = false;
  std::vector<ExPtr> parts;
  for (const Arg& arg : e.call_args) {
    if (arg.name == "axis")
      axis = eval_int(*arg.value, "axis"), axis_named = true;
    else if (!arg.name.empty())
      fail(arg.name_span, fmt::format("concat takes no attribute {}", arg.name));
    else
      parts.push_back(arg.value);
  }
  const Val list = parts.empty() || parts[0]->kind == Ex::Kind::Pack ? none_val() : eval(*parts[0], ctx);
  if (!list.is_list() || parts.size() > (axis_named ? 1 : 2))
    fail(e.span, "concat takes a list of tensors", {}, "concat(xs, axis = 0)", "write concat([a, b], axis = 0)");
  if (parts.size() == 2) axis = eval_int(*parts[1], "axis");
  std::vector<Val> args(*list.list);
  if (args.empty()) fail(e.span, "concat of nothing");
  std::vector<TensorPtr> xs;
  for (Val& v : args) xs.push_back(tensor_of(v, "concat"));
  const auto rank = static_cast<int64_t>(xs[0]->shape.size());
  if (axis < -rank || axis >= rank) fail(e.span, fmt::format("concat has no axis {}", axis), type_text(*xs[0]));
  const auto at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  std::vector<int64_t> shape = xs[0]->shape;
  shape[at] = 0;
  DType dtype = xs[0]->nominal;
  for (const TensorPtr& x : xs) {
    std::vector<int64_t> mine = x->shape;
    if (mine.size() == shape.size()) mine[at] = shape[at];
    if (mine != shape)
      fail(e.span, "the parts of concat differ beside the axis",
           fmt::format("{} and {}", type_text(*xs[0]), type_text(*x)),
           fmt::format("equal extents but for axis {}", at));
    shape[at] += x->shape[at];
    const auto common_dtype = promote(dtype, x->nominal);
    if (!common_dtype) fail(e.span, fmt::format("{} and {} have no common type", name(dtype), name(x->nominal)));
    dtype = *common_dtype;
  }
  Assemble assemble;
  std::vector<Value> values;
  int64_t offset = 0;
  // Parts of one stored type; f16 parts that are computed in f32 are not narrowed here.
  DType stored = graph_.type(merged(*xs[0])).dtype;
  for (const TensorPtr& x : xs) stored = graph_.type(merged(*x)).dtype == stored ? stored : compute_dtype(dtype);
  if (stored != dtype) stored = compute_dtype(dtype);
  for (const TensorPtr& x : xs) {
    Value v = merged(*x);
    if (graph_.type(v).dtype != stored) {
      const Val read = whole_read(x);
      v = merged(*materialise(scalar_val(cast(read.e, stored), stored, read.shape), x->name));
    }
    Assemble::Part part;
    part.offset.assign(shape.size(), 0);
    part.step.assign(shape.size(), 1);
    part.offset[at] = offset;
    offset += x->shape[at];
    assemble.parts.push_back(std::move(part));
    values.push_back(v);
  }
  std::vector<int64_t> extents = shape;
  assemble.shape = make_shape(extents);
  auto result = std::make_shared<Tensor>();
  result->name = "concat";
  result->nominal = dtype;
  result->shape = shape;
  for (size_t i = 0; i < shape.size(); ++i) result->axes.push_back({{shape[i]}, static_cast<int>(i)});
  result->has_value = true;
  result->value =
      xs.size() == 1 ? values[0] : graph_.add_assemble(std::move(assemble), std::move(values), label_of("concat"));
  return tensor_val(std::move(result));
}

std::vector<Val> Elaborator::sort(const Ex& e, const Ctx& ctx) {
  int64_t axis = -1;
  Sort payload;
  std::vector<ExPtr> parts;
  for (const Arg& arg : e.call_args) {
    if (arg.name == "axis") {
      axis = eval_int(*arg.value, "axis");
    } else if (arg.name == "descending") {
      payload.descending = decide(*arg.value);
    } else if (!arg.name.empty()) {
      fail(arg.name_span, fmt::format("sort takes no attribute {}", arg.name), {}, "axis and descending");
    } else {
      parts.push_back(arg.value);
    }
  }
  std::vector<Val> args = expand(parts, ctx);
  if (args.size() != 1 || args[0].is_list())
    fail(e.span, "sort takes one tensor", args.size() == 1 ? "a list" : counted(args.size(), "operand"),
         "sort(x, axis = -1, descending = false)");
  const TensorPtr x = tensor_of(args[0], "sort");
  const auto rank = static_cast<int64_t>(x->shape.size());
  if (axis < -rank || axis >= rank)
    fail(e.span, fmt::format("sort has no axis {}", axis), fmt::format("{} {}", x->name, type_text(*x)),
         rank == 0 ? "a tensor with an axis" : fmt::format("{} to {}", -rank, rank - 1));
  payload.axis = static_cast<int>(axis < 0 ? axis + rank : axis);
  const Value first = graph_.add({label_of("sort"), {merged(*x)}, {}, payload});
  std::vector<Val> results;
  for (const int r : {0, 1}) {
    auto result = std::make_shared<Tensor>();
    result->name = x->name;
    result->nominal = r == 0 ? x->nominal : DType::I64;
    result->shape = x->shape;
    for (size_t i = 0; i < x->shape.size(); ++i) result->axes.push_back({{x->shape[i]}, static_cast<int>(i)});
    result->has_value = true;
    result->value = {first.node, r};
    results.push_back(tensor_val(std::move(result)));
  }
  return results;
}

}  // namespace frit::lang
