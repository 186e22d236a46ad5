#pragma once
// The syntax tree of the snippet language: immutable, with the place of every part. Names as in the grammar.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/lang/source.h"

namespace frit::lang {

struct Ex;
using ExPtr = std::shared_ptr<const Ex>;

/// Operators, from loosest to tightest; the text is what is written.
#define FRIT_LANG_BINARY(X)                                                                                          \
  X(Or, "or", 1)                                                                                                     \
  X(And, "and", 2)                                                                                                   \
  X(Eq, "==", 4)                                                                                                     \
  X(Ne, "!=", 4)                                                                                                     \
  X(Lt, "<", 4)                                                                                                      \
  X(Le, "<=", 4)                                                                                                     \
  X(Gt, ">", 4)                                                                                                      \
  X(Ge, ">=", 4)                                                                                                     \
  X(In, "in", 4)                                                                                                     \
  X(BitAnd, "&", 5) X(BitOr, "|", 5) X(BitXor, "^", 5) X(Shl, "<<", 6) X(Shr, ">>", 6) X(Add, "+", 7) X(Sub, "-", 7) \
      X(Mul, "*", 8) X(Div, "/", 8) X(FloorDiv, "//", 8) X(Mod, "%", 8)
enum class BinaryOp : uint8_t {
#define FRIT_X(name, text, level) name,
  FRIT_LANG_BINARY(FRIT_X)
#undef FRIT_X
};
enum class UnaryOp : uint8_t { Neg, BitNot, Not };
std::string_view spelling(BinaryOp op);
std::string_view spelling(UnaryOp op);

/// A slot of a signature's dims or of binders: `..`, a name, an extent, or a group (tuple); perhaps a pack, with a
/// bound
/// (`i < e`), at a place (`@ k`).
struct Slot {
  enum class Kind : uint8_t { Dots, Name, Int, Group };
  Kind kind = Kind::Name;
  Span span;
  std::string name;
  int64_t integer = 0;
  std::vector<Slot> parts;
  bool pack = false;
  ExPtr bound;
  bool inclusive = false;  // `<=`
  ExPtr at;
};

struct Arg {
  std::string name;  // empty for a positional argument
  ExPtr value;
  Span name_span;
};

struct Ex {
  enum class Kind : uint8_t {
    Int,     // integer; `wide` if it needs 64 bits without sign
    Float,   // number
    String,  // text
    True,
    False,
    None,
    Inf,
    Nan,
    DType,   // text: a dtype's name
    Tuple,   // args: parts; one part without `..` is a parenthesis
    List,    // args: items
    Read,    // text: name; `primed`; `bracketed` with args: items
    Call,    // text: dotted name, dtype or reducer; call_args
    Pick,    // args[0][args 1..]
    Reduce,  // text: reducer; slots: binders; args: body, perhaps payload
    Fold,    // slots; names and args: inits, then steps, then merges (may be absent)
    Unary,   // args[0]
    Binary,  // args[0], args[1]
    Else,    // args[0] (a read) else args[1]
    Pack,    // args[0] followed by `..`
    Slice,   // args[0]:args[1], either may be null
    Dots,    // `..` alone
  };
  Kind kind = Kind::None;
  Span span;
  std::string text;
  int64_t integer = 0;
  double number = 0;
  bool wide = false, primed = false, bracketed = false;
  UnaryOp unary = UnaryOp::Neg;
  BinaryOp binary = BinaryOp::Add;
  std::vector<ExPtr> args;
  std::vector<Arg> call_args;
  std::vector<Slot> slots;
  std::vector<std::string> names;
  int depth = 1;
  Span op_span;  // of a binary operator; of the name of a call or read
};

struct Target {
  std::string name;
  bool bracketed = false;
  std::vector<Slot> slots;
  Span span, name_span;
};

struct Stmt {
  enum class Kind : uint8_t { Let, Write, If, Require, Return };
  Kind kind = Kind::Let;
  Span span;
  std::vector<Target> targets;  // Let
  ExPtr value;                  // Let, Write; If and Require: the condition
  std::vector<Slot> slots;      // Write: binders
  std::string name, op;         // Write: target; "=", "+=", "*=", "max=", "min="
  Span name_span, target_span;  // Write: of the target's name, and with its brackets
  std::vector<ExPtr> parts;     // Write: items; Return: parts
  std::string message;          // Require
  Span message_span;
  std::vector<Stmt> then_block, else_block;
  bool has_else = false;
};

enum class BodyForm : uint8_t { Expr, Let, Block };
struct Body {
  BodyForm form = BodyForm::Block;
  std::vector<Stmt> statements;  // Expr: one Return
};

struct Param {
  std::string name;
  Span span, name_span;
  bool is_const = false, is_variadic = false, bracketed = false;
  std::vector<Slot> dims;
  Span dims_span;
  std::vector<std::string> types;  // empty: any
  ExPtr default_value;
};

struct Attr {
  std::string name;
  Span span;
  ExPtr default_value;
};

struct Gradient {
  std::vector<std::string> adjoints;
  Body body;
  Span span;
};

struct Definition {
  std::string name;
  std::string doc;  // lines of the comment above, without `#`
  Span span, name_span;
  std::vector<Param> params;
  std::vector<Attr> attrs;
  Body body;
  std::shared_ptr<const Gradient> gradient;
  SourcePtr source;
};
using DefinitionPtr = std::shared_ptr<const Definition>;

struct File {
  struct Import {
    std::string path;
    Span span;
  };
  SourcePtr source;
  std::vector<Import> imports;
  std::vector<DefinitionPtr> definitions;
};

/// The text of a definition or an expression, which parses back to the same tree.
std::string to_text(const Definition& definition);
std::string to_text(const File& file);
std::string to_text(const Ex& e);
std::string to_text(const Slot& slot);

/// Equal but for places.
bool same(const Definition& a, const Definition& b);

}  // namespace frit::lang
