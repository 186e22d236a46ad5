#include "ir/lang/parse_expression.h"

#include <limits>
#include <utility>

namespace frit::lang {

struct OperatorInfo {
  BinaryOp op;
  std::string_view text;
  int level;
};
namespace {

constexpr OperatorInfo kOperators[] = {
#define FRIT_X(name, text, level) {BinaryOp::name, text, level},
    FRIT_LANG_BINARY(FRIT_X)
#undef FRIT_X
};
constexpr int kNotLevel = 3, kCompareLevel = 4, kBitsLevel = 5, kSumLevel = 7, kUnaryLevel = 9;

}  // namespace

ExPtr ExpressionParser::lone_expression() {
  try {
    ExPtr e = expr();
    if (peek().kind != Kind::End) unexpected("the end of the expression");
    return e;
  } catch (SyntaxError& error) {
    throw InputError(std::move(error.finding));
  }
}

std::string ExpressionParser::dotted(std::string_view role) {
  std::string text = name(role);
  while (is(".")) {
    take();
    const Token& part = peek();
    if (part.kind == Kind::End || part.kind == Kind::Symbol || part.kind == Kind::String || part.kind == Kind::Bad ||
        part.kind == Kind::Float)
      unexpected("a name or a number after the point");
    text += "." + std::string(take().text);
  }
  return text;
}

Slot ExpressionParser::dots() {
  Slot slot;
  slot.kind = Slot::Kind::Dots;
  slot.span = take().span;
  return slot;
}

std::vector<Slot> ExpressionParser::binders() {
  std::vector<Slot> result;
  do {
    if (is("..")) {
      result.push_back(dots());
      continue;
    }
    result.push_back(slot());
    if (accept("@")) {
      result.back().at = sum();
      result.back().span = from(result.back().span.begin);
    }
  } while (accept(","));
  check_dots(result);
  return result;
}

void ExpressionParser::check_dots(const std::vector<Slot>& slots) const {
  int count = 0;
  for (const Slot& s : slots)
    if (s.kind == Slot::Kind::Dots && ++count == 2)
      fail(s.span, ".. stands twice in these brackets", "name one of them, as in h..", {}, ".. once");
}

Slot ExpressionParser::slot() {
  const Nested nested(*this);
  Slot s;
  s.span = peek().span;
  if (accept("(")) {
    s.kind = Slot::Kind::Group;
    do s.parts.push_back(slot());
    while (accept(","));
    expect(")");
    s.pack = accept("..");
  } else {
    s.name = name("an index: a name, a bound i < e, a tuple or ..");
    if (is("<") || is("<=")) {
      s.inclusive = take().text == "<=";
      s.bound = sum();
      if (is(".."))
        fail(peek().span, "a bound before .. needs a parenthesis",
             fmt::format("write ({} {} {})..", s.name, s.inclusive ? "<=" : "<", to_text(*s.bound)));
    } else if (is(">") || is(">=") || is("==")) {
      fail(peek().span, "an index runs from 0 up to its bound", fmt::format("bound it by <, as in {} < 3", s.name),
           std::string(peek().text), "< or <=");
    } else {
      s.pack = accept("..");
    }
  }
  s.span = from(s.span.begin);
  return s;
}

std::shared_ptr<Ex> ExpressionParser::make(Ex::Kind kind, uint32_t begin) {
  auto e = std::make_shared<Ex>();
  e->kind = kind;
  e->span = {begin, begin};
  return e;
}

ExPtr ExpressionParser::finish(std::shared_ptr<Ex> e) {
  e->span = from(e->span.begin);
  for (const ExPtr& arg : e->args)
    if (arg) e->depth = std::max(e->depth, arg->depth + 1);
  for (const Arg& arg : e->call_args) e->depth = std::max(e->depth, arg.value->depth + 1);
  if (e->depth > kDepthLimit)
    fail(e->span, fmt::format("this formula is more than {} operators deep", kDepthLimit),
         "name parts of it in lets of their own");
  return e;
}

ExPtr ExpressionParser::part() {
  ExPtr e = expr();
  if (!is("..")) return e;
  const bool allowed =
      e->kind == Ex::Kind::Read || e->kind == Ex::Kind::Call || e->kind == Ex::Kind::Tuple || e->kind == Ex::Kind::Pick;
  if (!allowed) fail(e->span, "a formula before .. needs a parenthesis", fmt::format("write ({})..", to_text(*e)));
  auto pack = make(Ex::Kind::Pack, e->span.begin);
  take();
  pack->args.push_back(std::move(e));
  return finish(std::move(pack));
}

ExPtr ExpressionParser::expr() {
  ExPtr e = binary(1);
  if (!is("else")) return e;
  if (e->kind != Ex::Kind::Read || !e->bracketed) {
    fail(peek().span, "else guards one read, and this is a larger formula",
         "put the guarded read into a parenthesis, as in (x[i - 1] else 0) * w[i]");
  }
  auto guard = make(Ex::Kind::Else, e->span.begin);
  guard->args.push_back(std::move(e));
  take();
  guard->args.push_back(unary());
  ExPtr result = finish(std::move(guard));
  if (next_operator(1) || is("else"))
    fail(peek().span, "no operator follows the value after else",
         fmt::format("write ({}) {} ..", to_text(*result), peek().text));
  return result;
}

const OperatorInfo* ExpressionParser::next_operator(int lowest) const {
  const Token& token = peek();
  if (token.kind != Kind::Symbol && token.kind != Kind::Keyword) return nullptr;
  for (const OperatorInfo& info : kOperators)
    if (info.level >= lowest && info.text == token.text) return &info;
  return nullptr;
}

// Operators of `level` and tighter. Left associative by a loop; each level nests at most once.
ExPtr ExpressionParser::binary(int level) {
  if (level == kUnaryLevel) return unary();
  if (level == kNotLevel) return is("not") ? negation() : binary(kCompareLevel);
  ExPtr left = binary(level + 1);
  const OperatorInfo* first = nullptr;
  while (const OperatorInfo* info = next_operator(level)) {
    if (info->level != level) break;
    if (first && level == kCompareLevel) fail(peek().span, "comparisons do not chain", "write a < b and b < c");
    if (first && level == kBitsLevel && info->op != first->op)
      fail(peek().span, fmt::format("{} and {} in a row have no order", first->text, info->text),
           "put a parenthesis around one of them");
    first = info;
    auto e = make(Ex::Kind::Binary, left->span.begin);
    e->binary = info->op;
    e->op_span = take().span;
    e->args.push_back(std::move(left));
    e->args.push_back(binary(level + 1));
    left = finish(std::move(e));
  }
  return left;
}

ExPtr ExpressionParser::sum() { return binary(kSumLevel); }

ExPtr ExpressionParser::negation() {
  const Nested nested(*this);
  auto e = make(Ex::Kind::Unary, peek().span.begin);
  e->unary = UnaryOp::Not;
  e->op_span = take().span;
  e->args.push_back(binary(kNotLevel));
  return finish(std::move(e));
}

ExPtr ExpressionParser::unary() {
  if (!is("-") && !is("~")) return atom();
  const Nested nested(*this);
  auto e = make(Ex::Kind::Unary, peek().span.begin);
  e->unary = is("-") ? UnaryOp::Neg : UnaryOp::BitNot;
  e->op_span = take().span;
  e->args.push_back(unary());
  return finish(std::move(e));
}

ExPtr ExpressionParser::atom() {
  const Nested nested(*this);
  const Token& token = peek();
  switch (token.kind) {
    case Kind::Int: {
      auto e = make(Ex::Kind::Int, token.span.begin);
      e->integer = static_cast<int64_t>(token.integer);
      e->wide = token.integer > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
      e->text = std::string(token.text);
      take();
      return finish(std::move(e));
    }
    case Kind::Float: {
      auto e = make(Ex::Kind::Float, token.span.begin);
      e->number = token.number;
      e->text = std::string(token.text);
      take();
      return finish(std::move(e));
    }
    case Kind::String: {
      auto e = make(Ex::Kind::String, token.span.begin);
      e->text = take().string;
      return finish(std::move(e));
    }
    case Kind::DType:
      if (is_open(1)) return call(std::string(take().text), token.span);
      return word(Ex::Kind::DType);
    case Kind::Reducer:
      return reducer();
    case Kind::Name:
      return read_or_call();
    case Kind::Keyword:
      if (token.text == "true") return word(Ex::Kind::True);
      if (token.text == "false") return word(Ex::Kind::False);
      if (token.text == "none") return word(Ex::Kind::None);
      if (token.text == "inf") return word(Ex::Kind::Inf);
      if (token.text == "nan") return word(Ex::Kind::Nan);
      break;
    case Kind::Symbol:
      if (token.text == "(") return tuple();
      if (token.text == "[") return list();
      break;
    case Kind::End:
    case Kind::Bad:
      break;
  }
  unexpected("a formula");
}

bool ExpressionParser::is_open(size_t ahead) const { return is("(", ahead); }

ExPtr ExpressionParser::word(Ex::Kind kind) {
  auto e = make(kind, peek().span.begin);
  e->text = std::string(take().text);
  return finish(std::move(e));
}

ExPtr ExpressionParser::tuple() {
  auto e = make(Ex::Kind::Tuple, take().span.begin);
  do e->args.push_back(part());
  while (accept(","));
  expect(")");
  return finish(std::move(e));
}

ExPtr ExpressionParser::list() {
  auto e = make(Ex::Kind::List, take().span.begin);
  if (!is("]")) e->args = items();
  expect("]");
  return finish(std::move(e));
}

std::vector<ExPtr> ExpressionParser::items() {
  std::vector<ExPtr> result;
  do result.push_back(item());
  while (accept(","));
  return result;
}

ExPtr ExpressionParser::item() {
  if (is("..")) return word(Ex::Kind::Dots);
  const uint32_t begin = peek().span.begin;
  ExPtr first;
  if (!is(":")) {
    first = part();
    if (!is(":")) return first;
  }
  auto slice = make(Ex::Kind::Slice, begin);
  take();
  slice->args.push_back(std::move(first));
  slice->args.push_back(is(",") || is("]") ? nullptr : expr());
  return finish(std::move(slice));
}

ExPtr ExpressionParser::read_or_call() {
  const Token& first = peek();
  const uint32_t begin = first.span.begin;
  if (is(".", 1) || is_open(1)) {
    std::string text = dotted("a name");
    if (!is("("))
      fail(from(begin), "a point belongs in the names of definitions",
           fmt::format("write {}({})", text.substr(text.rfind('.') + 1), text.substr(0, text.rfind('.'))));
    return call(std::move(text), from(begin));
  }
  auto e = make(Ex::Kind::Read, begin);
  e->op_span = first.span;
  e->text = std::string(take().text);
  if (is("'") && peek().span.begin == last_end()) {
    if (!in_merge_) fail(peek().span, "a ' belongs in the third part of a fold");
    take();
    e->primed = true;
  }
  if (accept("[")) {
    e->bracketed = true;
    if (!is("]")) e->args = items();
    expect("]");
    if (is("(") && peek().span.begin == last_end()) {
      const std::string near =
          nearest_spelling(e->text, {"sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin", "fold"});
      fail(e->op_span, fmt::format("{} is no reducer", e->text),
           near.empty() ? "" : fmt::format("did you mean {}", near), {},
           "sum, prod, max, min, mean, any, all, argmax, argmin or fold");
    }
  }
  return finish(std::move(e));
}

ExPtr ExpressionParser::call(std::string text, Span name_span) {
  auto e = make(Ex::Kind::Call, name_span.begin);
  e->op_span = name_span;
  e->text = std::move(text);
  expect("(");
  if (!is(")")) {
    do e->call_args.push_back(arg());
    while (accept(","));
  }
  expect(")");
  ExPtr result = finish(std::move(e));
  if (!is("[")) return result;
  auto pick = make(Ex::Kind::Pick, name_span.begin);
  pick->args.push_back(std::move(result));
  take();
  for (ExPtr& i : items()) pick->args.push_back(std::move(i));
  expect("]");
  return finish(std::move(pick));
}

Arg ExpressionParser::arg() {
  Arg a;
  a.name_span = peek().span;
  if (is("..")) {
    a.value = word(Ex::Kind::Dots);
    return a;
  }
  if (is("=", 1) && peek().kind == Kind::Name) {
    a.name = std::string(take().text);
    take();
  } else if (is("=", 1) && is_reserved(peek().text)) {
    fail(peek().span, fmt::format("{} is reserved and cannot name an attribute", peek().text),
         fmt::format("the definition spells it {}_", peek().text));
  }
  a.value = part();
  return a;
}

ExPtr ExpressionParser::reducer() {
  const Token& token = peek();
  const bool is_fold = token.text == "fold";
  if (!is_fold && is_open(1)) {
    std::string text(take().text);
    return call(std::move(text), token.span);
  }
  auto e = make(is_fold ? Ex::Kind::Fold : Ex::Kind::Reduce, token.span.begin);
  e->op_span = token.span;
  e->text = std::string(take().text);
  if (!is("[")) unexpected(is_fold ? "[ and the indices to fold over" : "[ and the indices to reduce, or ( and a list");
  take();
  e->slots = binders();
  expect("]");
  expect("(");
  if (is_fold) {
    fold(*e);
  } else {
    e->args.push_back(expr());
    if (accept(",")) e->args.push_back(expr());
  }
  expect(")");
  return finish(std::move(e));
}

void ExpressionParser::fold(Ex& e) {
  do {
    const Span span = peek().span;
    e.names.push_back(name("an accumulator"));
    if (std::find(e.names.begin(), e.names.end() - 1, e.names.back()) != e.names.end() - 1)
      fail(span, fmt::format("{} is named twice", e.names.back()), {}, {}, "one meaning for each name");
    expect("=", "and its first value");
    e.args.push_back(expr());
  } while (accept(","));
  expect(":", "and the step");
  exprs(e, "step");
  if (!is(":")) return;
  take();
  const bool outer = std::exchange(in_merge_, true);
  exprs(e, "merge");
  in_merge_ = outer;
}

void ExpressionParser::exprs(Ex& e, std::string_view role) {
  const uint32_t begin = peek().span.begin;
  size_t count = 0;
  do e.args.push_back(expr()), ++count;
  while (accept(","));
  if (count != e.names.size())
    fail(from(begin), fmt::format("the {} of this fold has {} formula{} for {} accumulator{}", role, count,
                                  count == 1 ? "" : "s", e.names.size(), e.names.size() == 1 ? "" : "s"));
}

}  // namespace frit::lang
