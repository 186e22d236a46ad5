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

  std::string name(std::string_view role) {
    if (peek().kind != Kind::Name) unexpected(std::string(role));
    return std::string(take().text);
  }

  SourcePtr source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace frit::lang
