#include "ir/lang/parser.h"

#include <limits>
#include <set>

#include "ir/lang/parse_expression.h"

namespace frit::lang {
namespace {

constexpr size_t kFindingsLimit = 20;

/// Files, definitions and statements.
class Parser : private ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;
  using ExpressionParser::lone_expression;

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
          const std::string_view word = peek().text;
          const bool meant = word.starts_with("def") || word == "function" || word == "func" || word == "fn";
          unexpected("def or import", meant ? "write def" : "");
        }
      } catch (SyntaxError& error) {
        findings.push_back(std::move(error.finding));
        skip_to_definition();
      }
    }
    if (!findings.empty()) throw InputError(std::move(findings));
    return result;
  }

 private:
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
    check_returns(def->body.statements, true);
    if (is("grad")) def->gradient = gradient();
    def->span = from(begin);
    if (peek().kind != Kind::End && !is("def")) unexpected("the next def, or the end of the text");
    open_.clear();
    return def;
  }

  // A return is the last statement of the definition, or of a branch of an `if` that is last.
  void check_returns(const std::vector<Stmt>& block, bool is_last) const {
    for (size_t i = 0; i < block.size(); ++i) {
      const Stmt& s = block[i];
      const bool last = is_last && i + 1 == block.size();
      if (s.kind == Stmt::Kind::Return && !last)
        fail(s.span, "return is not the last statement here", "name the result in a let, and return it at the end", {},
             "a return at the end of the definition, or of a branch of an if that ends it");
      check_returns(s.then_block, last);
      check_returns(s.else_block, last);
    }
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
      check_dots(p.dims);
    }
    if (accept(":")) {
      do {
        if (peek().kind != Kind::Name && peek().kind != Kind::DType) unexpected("a dtype, or float, int, num");
        if (peek().kind == Kind::Name && peek().text != "float" && peek().text != "int" && peek().text != "num")
          fail(peek().span, fmt::format("{} is not a type", peek().text), familiar_dtype(peek().text), {},
               "a dtype, or float, int, num");
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
      if (peek().kind != Kind::Name)
        unexpected("a body: = formula, a let or { }", is(":") ? "leave the : out" : another_name());
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
    unexpected(fmt::format("a statement: a let, if, for, require, return, or }}{}", opened()),
               is(";") ? "leave it out: white space separates statements" : another_name());
  }

  // Words that a let without = may have been meant for.
  std::string meant_for(const Stmt& s) const {
    const std::string& word = s.targets[0].name;
    if (is("==")) return "write =";
    if (is("+=") || is("*=")) return "a local has one value: give the new one another name";
    if (word == "elif" || word == "elseif") return "write else if";
    const std::string near = nearest_spelling(word, {"return", "require", "if", "for", "else"});
    return near.empty() ? "" : fmt::format("did you mean {}", near);
  }

  Stmt let() {
    Stmt s;
    const uint32_t begin = peek().span.begin;
    do s.targets.push_back(target());
    while (accept(","));
    if (!accept("=")) unexpected("= and a formula", meant_for(s));
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
    s.name_span = peek().span;
    s.name = name("the tensor to write");
    expect("[");
    if (!is("]")) s.parts = items();
    expect("]");
    s.target_span = from(s.name_span.begin);
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
    check_message(s.message, s.message_span);
    s.span = from(begin);
    return s;
  }

  // What is between { and } is a formula.
  void check_message(const std::string& message, Span span) const {
    for (size_t at = message.find('{'); at != std::string::npos; at = message.find('{', at)) {
      const size_t close = message.find('}', at);
      if (close == std::string::npos) fail(span, "this { has no }");
      const std::string formula = message.substr(at + 1, close - at - 1);
      try {
        Parser(std::make_shared<Source>("message", formula)).lone_expression();
      } catch (const InputError& error) {
        fail(span, fmt::format("cannot read {{{}}} in this message", formula), {}, error.findings().front().got,
             error.findings().front().expected);
      }
      at = close;
    }
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
