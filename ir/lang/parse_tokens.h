#pragma once
// What the parsers share: the tokens of a text, one after the other, and errors at their places. Internal to the
// parser.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ir/lang/ast.h"
#include "ir/lang/lexer.h"
#include "ir/lang/parser.h"

namespace frit::lang {

/// Ends the reading of one definition.
struct SyntaxError {
  Finding finding;
};

class TokenReader {
 protected:
  using Kind = Token::Kind;

  explicit TokenReader(SourcePtr source) : source_(std::move(source)), tokens_(tokenize(*source_)) {}

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& take() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    if (token.kind == Kind::Symbol) {
      if (token.text == "(" || token.text == "[" || token.text == "{") open_.push_back(&token);
      if (!open_.empty() && (token.text == ")" || token.text == "]" || token.text == "}")) open_.pop_back();
    }
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
    if (accept(text)) return;
    std::string expected = role.empty() ? fmt::format("{}", text) : fmt::format("{} {}", text, role);
    if (role.empty() && (text == ")" || text == "]")) expected += opened();
    unexpected(expected);
  }
  uint32_t last_end() const { return at_ == 0 ? 0 : tokens_[at_ - 1].span.end; }
  Span from(uint32_t begin) const { return {begin, std::max(begin, last_end())}; }

  [[noreturn]] void fail(Span span, std::string what, std::string fix = {}, std::string got = {},
                         std::string expected = {}) const {
    throw SyntaxError{finding_at(*source_, span, std::move(what), std::move(got), std::move(expected), std::move(fix))};
  }

  // " for the ( at 2:13", where the bracket that is open stands on another line.
  std::string opened() const {
    if (open_.empty()) return {};
    const uint32_t begin = open_.back()->span.begin;
    if (source_->line(begin) == source_->line(peek().span.begin)) return {};
    return fmt::format(" for the {} at {}:{}", open_.back()->text, source_->line(begin), source_->column(begin));
  }

  [[noreturn]] void unexpected(const std::string& expected, std::string fix = {}) const {
    const Token& token = peek();
    if (fix.empty()) fix = foreign_fix();
    if (token.kind == Kind::Bad) fail(token.span, token.string, std::move(fix));
    // What is missing at the end of a definition is missing there, not at the next.
    const bool at_end = token.kind == Kind::End || is("def") || is("import");
    if (at_end && at_ > 0 && source_->line(token.span.begin) != source_->line(last_end() - 1)) {
      fail({last_end(), last_end()}, "cannot read this", std::move(fix),
           token.kind == Kind::End ? "the end of the text" : fmt::format("the next {}", token.text), expected);
    }
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
    fail(token.span, "cannot read this", std::move(fix), std::move(got), expected);
  }

  // What is written so elsewhere, in this language.
  std::string foreign_fix() const {
    static constexpr std::pair<std::string_view, std::string_view> kForeign[] = {
        {"**", "write pow(a, b)"},
        {"&&", "write and"},
        {"||", "write or"},
        {"->", "name the result in the body, as in y[m, n] = .."},
        {"!", "write not"},
        {"?", "write select(condition, a, b)"},
        {"'", "write a string in double quotes"},
        {"\xe2\x80\x93", "write -"},
        {"\xe2\x80\x94", "write -"},
        {"\xe2\x88\x92", "write -"},
        {"\xc3\x97", "write *"},
        {"\xc3\xb7", "write /"},
        {"\xe2\x89\xa4", "write <="},
        {"\xe2\x89\xa5", "write >="},
        {"\xe2\x89\xa0", "write !="},
        {"\xe2\x80\x9c", "write a string in \"straight\" quotes"},
        {"\xe2\x80\xa6", "write .."}};
    const Token& token = peek();
    const std::string_view text = source_->text();
    for (const auto& [written, fix] : kForeign)
      for (const size_t back : {size_t{0}, size_t{1}})
        if (token.span.begin >= back && written.size() > back &&
            text.substr(token.span.begin - back, written.size()) == written &&
            (written.size() == 1 || written[0] != '-' || back == 0))
          return std::string(fix);
    if (token.text == ".") return "write digits on both sides of a point, as in 1.0 or 0.5";
    return {};
  }

  void skip_to_definition() {
    open_.clear();
    if (peek().kind != Kind::End && peek().span.end == last_end()) take();
    while (peek().kind != Kind::End && !is("def")) take();
  }

  // Counts what is inside what, so that hostile text cannot exhaust the stack.
  class Nested {
   public:
    explicit Nested(TokenReader& parser) : parser_(parser) {
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
    TokenReader& parser_;
  };

  // Where a reserved word stands for a name.
  std::string another_name() const {
    const Kind kind = peek().kind;
    const bool reserved = kind == Kind::Reducer || kind == Kind::DType || kind == Kind::Keyword;
    if (!reserved || is("def") || is("import")) return {};
    return fmt::format("choose another name, as in {}_", peek().text);
  }

  std::string name(std::string_view role) {
    if (peek().kind != Kind::Name) unexpected(std::string(role), another_name());
    return std::string(take().text);
  }

  SourcePtr source_;
  std::vector<Token> tokens_;
  std::vector<const Token*> open_;  // brackets that are not closed yet
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace frit::lang
