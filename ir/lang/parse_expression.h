#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ir/lang/parse_tokens.h"

namespace frit::lang {

struct OperatorInfo;

/// Formulas and binders: from `binders` and `part` on in the grammar. Internal to the parser.
class ExpressionParser : protected TokenReader {
 public:
  explicit ExpressionParser(SourcePtr source) : TokenReader(std::move(source)) {}

  /// A text that is one formula and nothing else.
  ExPtr lone_expression();

 protected:
  std::string dotted(std::string_view role);
  Slot dots();
  std::vector<Slot> binders();
  void check_dots(const std::vector<Slot>& slots) const;
  Slot slot();
  std::shared_ptr<Ex> make(Ex::Kind kind, uint32_t begin);
  ExPtr finish(std::shared_ptr<Ex> e);
  ExPtr part();
  ExPtr expr();
  const OperatorInfo* next_operator(int lowest) const;
  ExPtr binary(int level);
  ExPtr sum();
  ExPtr negation();
  ExPtr unary();
  ExPtr atom();
  bool is_open(size_t ahead) const;
  ExPtr word(Ex::Kind kind);
  ExPtr tuple();
  ExPtr list();
  std::vector<ExPtr> items();
  ExPtr item();
  ExPtr read_or_call();
  ExPtr call(std::string text, Span name_span);
  Arg arg();
  ExPtr reducer();
  void fold(Ex& e);
  void exprs(Ex& e, std::string_view role);

  bool in_merge_ = false;  // in the third part of a fold
};

}  // namespace frit::lang
