#include "ir/lang/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "ir/lang/lexer.h"

namespace frit::lang {
namespace {

using Kind = Token::Kind;
constexpr size_t kFindingsLimit = 20;

struct SyntaxError {
  Finding finding;
};

struct OperatorInfo {
  BinaryOp op;
  std::string_view text;
  int level;
};
constexpr OperatorInfo kOperators[] = {
#define FRIT_X(name, text, level) {BinaryOp::name, text, level},
    FRIT_LANG_BINARY(FRIT_X)
#undef FRIT_X
};
constexpr int kNotLevel = 3, kCompareLevel = 4, kBitsLevel = 5, kSumLevel = 7, kUnaryLevel = 9;

class Parser {
 public:
  explicit Parser(SourcePtr source) : source_(std::move(source)), tokens_(tokenize(*source_)) {}

  File file() {
    File result;
    result.source = source_;
    std::vector<Finding> findings;
    bool defined = false;
    while (peek().kind != Kind::End && findings.size() < kFindingsLimit) {
      try {
        if (is("import")) {
          if (defined) fail(peek().span, "imports come before definitions", "move this line to the start of the file");
          result.imports.push_back(import_line());
        } else if (is("def")) {
          defined = true;
          result.definitions.push_back(definition());
        } else {
          unexpected("def or import");
        }
      } catch (SyntaxError& error) {
        findings.push_back(std::move(error.finding));
        skip_to_definition();
      }
    }
    if (!findings.empty()) throw InputError(std::move(findings));
    return result;
  }

  ExPtr lone_expression() {
    try {
      ExPtr e = expr();
      if (peek().kind != Kind::End) unexpected("the end of the expression");
      return e;
    } catch (SyntaxError& error) {
      throw InputError(std::move(error.finding));
    }
  }

 private:
  // ------------------------------------------------------------------------------------------------ tokens

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& take() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool is(std::string_view text, size_t ahead = 0) const {
    const Token& token = peek(ahead);
    return (token.kind == Kind::Symbol || token.kind == Kind::Keyword || token.kind == Kind::Reducer) &&
           token.text == text;
  }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    take();
    return true;
  }
  void expect(std::string_view text, std::string_view role = {}) {
    if (!accept(text)) unexpected(role.empty() ? fmt::format("{}", text) : fmt::format("{} {}", text, role));
  }
  uint32_t last_end() const { return at_ == 0 ? 0 : tokens_[at_ - 1].span.end; }
  Span from(uint32_t begin) const { return {begin, std::max(begin, last_end())}; }

  [[noreturn]] void fail(Span span, std::string what, std::string fix = {}, std::string got = {},
                         std::string expected = {}) const {
    throw SyntaxError{finding_at(*source_, span, std::move(what), std::move(got), std::move(expected), std::move(fix))};
  }

  [[noreturn]] void unexpected(const std::string& expected) const {
    const Token& token = peek();
    if (token.kind == Kind::Bad) fail(token.span, token.string);
    std::string got;
    switch (token.kind) {
      case Kind::End:
        got = "the end of the text";
        break;
      case Kind::Keyword:
      case Kind::Reducer:
      case Kind::DType:
        got = fmt::format("{} (a reserved word)", token.text);
        break;
      case Kind::Name:
      case Kind::Int:
      case Kind::Float:
      case Kind::String:
      case Kind::Symbol:
      case Kind::Bad:
        got = std::string(token.text.substr(0, 40));
        break;
    }
    fail(token.span, "cannot read this", {}, std::move(got), expected);
  }

  void skip_to_definition() {
    if (peek().kind != Kind::End && peek().span.end == last_end()) take();
    while (peek().kind != Kind::End && !is("def")) take();
  }

  // Counts what is inside what, so that hostile text cannot exhaust the stack.
  class Nested {
   public:
    explicit Nested(Parser& parser) : parser_(parser) {
      if (++parser_.nesting_ > kNestingLimit) {
        --parser_.nesting_;
        parser_.fail(parser_.peek().span, fmt::format("more than {} levels are nested here", kNestingLimit),
                     "name parts of it in lets of their own");
      }
    }
    ~Nested() { --parser_.nesting_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Parser& parser_;
  };

  std::string name(std::string_view role) {
    if (peek().kind != Kind::Name) unexpected(std::string(role));
    return std::string(take().text);
  }

  // ------------------------------------------------------------------------------------------------ definitions

  File::Import import_line() {
    take();
    if (peek().kind != Kind::String) unexpected("the path of a file, as a string");
    const Token& token = take();
    return {token.string, token.span};
  }

  DefinitionPtr definition() {
    auto def = std::make_shared<Definition>();
    const uint32_t begin = peek().span.begin;
    def->source = source_;
    def->doc = documentation(begin);
    take();
    const uint32_t name_begin = peek().span.begin;
    def->name = dotted("the name of a definition");
    def->name_span = from(name_begin);
    expect("(");
    if (!is(")") && !is(";")) {
      do def->params.push_back(param());
      while (accept(","));
    }
    if (accept(";")) {
      do def->attrs.push_back(attr());
      while (accept(","));
    }
    expect(")", "after the operands, or `;` before the attributes");
    check_names(*def);
    def->body = body();
    if (is("grad")) def->gradient = gradient();
    def->span = from(begin);
    if (peek().kind != Kind::End && !is("def")) unexpected("the next def, or the end of the text");
    return def;
  }

  void check_names(const Definition& def) const {
    std::set<std::string_view> names;
    const auto add = [&](const std::string& name, Span span) {
      if (!names.insert(name).second)
        fail(span, fmt::format("{} is named twice", name), {}, {}, "one meaning for each name");
    };
    for (const Param& p : def.params) add(p.name, p.name_span);
    for (const Attr& a : def.attrs) add(a.name, a.span);
  }

  // The unbroken block of comment lines directly above.
  std::string documentation(uint32_t def_begin) const {
    std::vector<std::string_view> lines;
    for (int line = source_->line(def_begin) - 1; line >= 1; --line) {
      std::string_view text = source_->line_text(line);
      const size_t first = text.find_first_not_of(" \t");
      if (first == std::string_view::npos || text[first] != '#') break;
      text.remove_prefix(first + 1);
      if (!text.empty() && text[0] == ' ') text.remove_prefix(1);
      lines.push_back(text);
    }
    std::string doc;
    for (size_t i = lines.size(); i-- > 0;) doc += std::string(lines[i]) + "\n";
    return doc;
  }

  std::string dotted(std::string_view role) {
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

  Param param() {
    Param p;
    const uint32_t begin = peek().span.begin;
    if (accept("const")) {
      p.is_const = true;
      p.name_span = peek().span;
      p.name = name("the name of an operand");
      if (accept("=")) p.default_value = part();
      p.span = from(begin);
      return p;
    }
    p.is_variadic = accept("*");
    p.name_span = peek().span;
    p.name = name("an operand");
    const uint32_t dims_begin = peek().span.begin;
    if (accept("[")) {
      p.bracketed = true;
      if (!is("]")) {
        do p.dims.push_back(dim());
        while (accept(","));
      }
      expect("]");
      p.dims_span = from(dims_begin);
    }
    if (accept(":")) {
      do {
        if (peek().kind != Kind::Name && peek().kind != Kind::DType) unexpected("a dtype, or float, int, num");
        if (peek().kind == Kind::Name && peek().text != "float" && peek().text != "int" && peek().text != "num")
          fail(peek().span, fmt::format("{} is not a type", peek().text), {}, {}, "a dtype, or float, int, num");
        p.types.emplace_back(take().text);
      } while (accept("|"));
    }
    if (accept("=")) p.default_value = expr();
    p.span = from(begin);
    return p;
  }

  Attr attr() {
    Attr a;
    a.span = peek().span;
    a.name = name("the name of an attribute");
    if (accept("=")) a.default_value = part();
    return a;
  }

  Slot dim() {
    if (is("..")) return dots();
    Slot slot = extent();
    slot.pack = accept("..");
    if (accept("@")) slot.at = sum();
    slot.span = from(slot.span.begin);
    return slot;
  }

  Slot dots() {
    Slot slot;
    slot.kind = Slot::Kind::Dots;
    slot.span = take().span;
    return slot;
  }

  Slot extent() {
    const Nested nested(*this);
    Slot slot;
    slot.span = peek().span;
    if (accept("(")) {
      slot.kind = Slot::Kind::Group;
      do {
        slot.parts.push_back(extent());
        slot.parts.back().pack = accept("..");
        slot.parts.back().span = from(slot.parts.back().span.begin);
      } while (accept(","));
      expect(")");
      slot.span = from(slot.span.begin);
    } else if (peek().kind == Kind::Int) {
      slot.kind = Slot::Kind::Int;
      slot.integer = small_integer();
    } else {
      slot.name = name("a dim: a name, a number, a tuple or ..");
    }
    return slot;
  }

  int64_t small_integer() {
    const Token& token = take();
    if (token.integer > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      fail(token.span, "this extent does not fit 63 bits");
    return static_cast<int64_t>(token.integer);
  }

  std::shared_ptr<const Gradient> gradient() {
    auto g = std::make_shared<Gradient>();
    const uint32_t begin = take().span.begin;
    expect("(");
    do g->adjoints.push_back(name("the adjoint of a result"));
    while (accept(","));
    expect(")");
    g->body = body();
    g->span = from(begin);
    return g;
  }

  Body body() {
    Body result;
    if (is("=")) {
      result.form = BodyForm::Expr;
      Stmt s;
      s.kind = Stmt::Kind::Return;
      take();
      s.parts.push_back(expr());
      s.span = s.parts.front()->span;
      result.statements.push_back(std::move(s));
    } else if (is("{")) {
      result.statements = block();
    } else {
      if (peek().kind != Kind::Name) unexpected("a body: = formula, a let or { }");
      result.form = BodyForm::Let;
      result.statements.push_back(let());
    }
    return result;
  }

  // ------------------------------------------------------------------------------------------------ statements

  std::vector<Stmt> block() {
    const Nested nested(*this);
    expect("{");
    std::vector<Stmt> statements;
    while (!is("}")) statements.push_back(statement());
    take();
    return statements;
  }

  Stmt statement() {
    if (is("if")) return if_statement();
    if (is("for")) return write();
    if (is("require")) return require();
    if (is("return")) return return_statement();
    if (peek().kind == Kind::Name) return let();
    unexpected("a statement: a let, if, for, require, return, or }");
  }

  Stmt let() {
    Stmt s;
    const uint32_t begin = peek().span.begin;
    do s.targets.push_back(target());
    while (accept(","));
    if (!accept("=")) unexpected("= and a formula");
    s.value = part();
    s.span = from(begin);
    return s;
  }

  Target target() {
    Target t;
    t.span = t.name_span = peek().span;
    t.name = name("the name of a let");
    if (accept("[")) {
      t.bracketed = true;
      if (!is("]")) t.slots = binders();
      expect("]");
    }
    t.span = from(t.span.begin);
    return t;
  }

  Stmt write() {
    Stmt s;
    s.kind = Stmt::Kind::Write;
    const uint32_t begin = take().span.begin;
    expect("[");
    s.slots = binders();
    expect("]");
    s.name = name("the tensor to write");
    expect("[");
    if (!is("]")) s.parts = items();
    expect("]");
    if (is("max") || is("min")) {
      s.op = std::string(take().text) + "=";
      expect("=");
    } else if (is("=") || is("+=") || is("*=")) {
      s.op = std::string(take().text);
    } else {
      unexpected("= += *= max = or min =");
    }
    s.value = expr();
    s.span = from(begin);
    return s;
  }

  Stmt if_statement() {
    const Nested nested(*this);
    Stmt s;
    s.kind = Stmt::Kind::If;
    const uint32_t begin = take().span.begin;
    s.value = binary(1);
    s.span = from(begin);
    s.then_block = block();
    if (accept("else")) {
      s.has_else = true;
      if (is("if"))
        s.else_block.push_back(if_statement());
      else
        s.else_block = block();
    }
    return s;
  }

  Stmt require() {
    Stmt s;
    s.kind = Stmt::Kind::Require;
    const uint32_t begin = take().span.begin;
    s.value = binary(1);
    expect(",", "and a message");
    if (peek().kind != Kind::String) unexpected("a message, as a string");
    s.message_span = peek().span;
    s.message = take().string;
    s.span = from(begin);
    return s;
  }

  Stmt return_statement() {
    Stmt s;
    s.kind = Stmt::Kind::Return;
    const uint32_t begin = take().span.begin;
    do s.parts.push_back(part());
    while (accept(","));
    s.span = from(begin);
    return s;
  }

  std::vector<Slot> binders() {
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
    return result;
  }

  Slot slot() {
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
          fail(peek().span, "a bound before .. needs a parenthesis", fmt::format("write ({} < ..)..", s.name));
      } else {
        s.pack = accept("..");
      }
    }
    s.span = from(s.span.begin);
    return s;
  }

  // ------------------------------------------------------------------------------------------------ expressions

  std::shared_ptr<Ex> make(Ex::Kind kind, uint32_t begin) {
    auto e = std::make_shared<Ex>();
    e->kind = kind;
    e->span = {begin, begin};
    return e;
  }

  ExPtr finish(std::shared_ptr<Ex> e) {
    e->span = from(e->span.begin);
    for (const ExPtr& arg : e->args)
      if (arg) e->depth = std::max(e->depth, arg->depth + 1);
    for (const Arg& arg : e->call_args) e->depth = std::max(e->depth, arg.value->depth + 1);
    if (e->depth > kDepthLimit)
      fail(e->span, fmt::format("this formula is more than {} operators deep", kDepthLimit),
           "name parts of it in lets of their own");
    return e;
  }

  ExPtr part() {
    ExPtr e = expr();
    if (!is("..")) return e;
    const bool allowed = e->kind == Ex::Kind::Read || e->kind == Ex::Kind::Call || e->kind == Ex::Kind::Tuple ||
                         e->kind == Ex::Kind::Pick;
    if (!allowed) fail(e->span, "a formula before .. needs a parenthesis", fmt::format("write ({})..", to_text(*e)));
    auto pack = make(Ex::Kind::Pack, e->span.begin);
    take();
    pack->args.push_back(std::move(e));
    return finish(std::move(pack));
  }

  ExPtr expr() {
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

  const OperatorInfo* next_operator(int lowest) const {
    const Token& token = peek();
    if (token.kind != Kind::Symbol && token.kind != Kind::Keyword) return nullptr;
    for (const OperatorInfo& info : kOperators)
      if (info.level >= lowest && info.text == token.text) return &info;
    return nullptr;
  }

  // Operators of `level` and tighter. Left associative by a loop; each level nests at most once.
  ExPtr binary(int level) {
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

  ExPtr sum() { return binary(kSumLevel); }

  ExPtr negation() {
    const Nested nested(*this);
    auto e = make(Ex::Kind::Unary, peek().span.begin);
    e->unary = UnaryOp::Not;
    e->op_span = take().span;
    e->args.push_back(binary(kNotLevel));
    return finish(std::move(e));
  }

  ExPtr unary() {
    if (!is("-") && !is("~")) return atom();
    const Nested nested(*this);
    auto e = make(Ex::Kind::Unary, peek().span.begin);
    e->unary = is("-") ? UnaryOp::Neg : UnaryOp::BitNot;
    e->op_span = take().span;
    e->args.push_back(unary());
    return finish(std::move(e));
  }

  ExPtr atom() {
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

  bool is_open(size_t ahead) const { return is("(", ahead); }

  ExPtr word(Ex::Kind kind) {
    auto e = make(kind, peek().span.begin);
    e->text = std::string(take().text);
    return finish(std::move(e));
  }

  ExPtr tuple() {
    auto e = make(Ex::Kind::Tuple, take().span.begin);
    do e->args.push_back(part());
    while (accept(","));
    expect(")");
    return finish(std::move(e));
  }

  ExPtr list() {
    auto e = make(Ex::Kind::List, take().span.begin);
    if (!is("]")) e->args = items();
    expect("]");
    return finish(std::move(e));
  }

  std::vector<ExPtr> items() {
    std::vector<ExPtr> result;
    do result.push_back(item());
    while (accept(","));
    return result;
  }

  ExPtr item() {
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

  ExPtr read_or_call() {
    const Token& first = peek();
    const uint32_t begin = first.span.begin;
    if (is(".", 1) || is_open(1)) {
      std::string text = dotted("a name");
      if (!is("(")) unexpected("( after the name of a definition");
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
    }
    return finish(std::move(e));
  }

  ExPtr call(std::string text, Span name_span) {
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

  Arg arg() {
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

  ExPtr reducer() {
    const Token& token = peek();
    const bool is_fold = token.text == "fold";
    if (!is_fold && is_open(1)) {
      std::string text(take().text);
      return call(std::move(text), token.span);
    }
    auto e = make(is_fold ? Ex::Kind::Fold : Ex::Kind::Reduce, token.span.begin);
    e->op_span = token.span;
    e->text = std::string(take().text);
    if (!is("["))
      unexpected(is_fold ? "[ and the indices to fold over" : "[ and the indices to reduce, or ( and a list");
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

  void fold(Ex& e) {
    do {
      e.names.push_back(name("an accumulator"));
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

  void exprs(Ex& e, std::string_view role) {
    const uint32_t begin = peek().span.begin;
    size_t count = 0;
    do e.args.push_back(expr()), ++count;
    while (accept(","));
    if (count != e.names.size())
      fail(from(begin),
           fmt::format("the {} of this fold has {} formulas for {} accumulators", role, count, e.names.size()));
  }

  SourcePtr source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
  bool in_merge_ = false;
};

}  // namespace

File parse(std::string text, std::string file) {
  if (text.size() > kTextLimit) {
    throw InputError(Finding{.where = file,
                             .what = "the text is too long",
                             .excerpt = {},
                             .got = fmt::format("{} bytes", text.size()),
                             .expected = fmt::format("at most {}", kTextLimit),
                             .fix = "split it and import the parts",
                             .from = {}});
  }
  return Parser(std::make_shared<Source>(std::move(file), std::move(text))).file();
}

ExPtr parse_expression(const SourcePtr& source) {
  if (source->text().size() > kTextLimit) return parse(std::string(source->text()), source->file()), nullptr;
  return Parser(source).lone_expression();
}

}  // namespace frit::lang
