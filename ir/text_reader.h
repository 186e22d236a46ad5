#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "ir/graph_text.h"

namespace frit {

/// Reads the text of expressions and what surrounds them. Not trusting: everything wrong is an InputError with its
/// place.
class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  // Blanks are skipped before everything; lines matter only to errors and labels.
  bool at_end();
  bool peek(std::string_view token);
  bool accept(std::string_view token);  // punctuation
  void expect(std::string_view token);
  std::string_view word();  // an identifier, or empty
  bool accept_word(std::string_view word);
  void expect_word(std::string_view word);
  int64_t integer();
  std::string string();        // in quotes
  std::string rest_of_line();  // with escapes read, blanks at the end dropped
  DType dtype();
  bool on_same_line();  // whether the next token is on the line of the one before
  [[noreturn]] void fail(std::string what, std::string got = {}, std::string expected = {}) const;

  Expr expression(const ExprNames& names);
  bool at_binding();
  /// `name = expression` bindings, to be used by the expressions that follow.
  void bind(const ExprNames& names);
  void clear_bindings() { lets_.clear(); }
  /// A number as it appears in a list of elements: digits, sign, inf, nan, true, false.
  std::string_view element();

 private:
  static constexpr int kDeepest = 1000;
  struct Depth;
  void skip_blanks();
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  std::string escaped(char end);
  Expr binary_level(int level);
  bool accept_operator(std::string_view token);
  Expr prefix();
  Expr atom();
  Expr named(std::string_view word, size_t start);
  Expr literal(bool negative);
  Expr make(Op op, DType dtype, std::span<const Expr> args, uint64_t bits = 0);
  Expr call(Op op);
  Expr read(int slot);
  Expr guarded(const Expr& plain, bool with_condition);
  Expr accumulator(int k);
  std::vector<Expr> arguments(char end);

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  const ExprNames* names_ = nullptr;
  std::map<std::string, Expr, std::less<>> lets_;
};

}  // namespace frit
