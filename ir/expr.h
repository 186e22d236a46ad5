#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/dtype.h"

namespace frit {

// The scalar operations: name in printed text, number of operands. One list, so that a forgotten case is a build error.
//
// Unary. Float functions take and give floats; `Not` is logical on bool, `BitNot` on integers; `IndexValue` gives an
// index (i64) as a value and is the identity (kept so that printers can tell the two worlds apart).
#define FRIT_UNARY_OPS(X)                                                                                         \
  X(Neg, "neg") X(Abs, "abs") X(Sign, "sign") X(Not, "not") X(BitNot, "bitnot") X(Floor, "floor") X(Ceil, "ceil") \
  X(Trunc, "trunc") X(Round, "round") /* half to even */                                                         \
  X(Sqrt, "sqrt") X(Rsqrt, "rsqrt") X(Reciprocal, "reciprocal") X(Exp, "exp") X(Exp2, "exp2") X(Expm1, "expm1")   \
  X(Log, "log") X(Log2, "log2") X(Log1p, "log1p") X(Erf, "erf") X(Sigmoid, "sigmoid") X(Softplus, "softplus")     \
  X(Sin, "sin") X(Cos, "cos") X(Tan, "tan") X(Asin, "asin") X(Acos, "acos") X(Atan, "atan") X(Sinh, "sinh")       \
  X(Cosh, "cosh") X(Tanh, "tanh") X(Asinh, "asinh") X(Acosh, "acosh") X(Atanh, "atanh")                           \
  X(IsNan, "isnan") X(IsInf, "isinf") X(IsFinite, "isfinite") X(StopGradient, "stop_gradient")                    \
  X(Cast, "cast")       /* to the node's dtype: to float nearest even; float to int truncates, saturates, NaN is 0; \
                           int to int wraps; to bool x != 0 */                                                    \
  X(BitCast, "bitcast") /* same width only */

// Binary. Integer operations are total: wrap on overflow; division by zero gives quotient 0 and remainder 0, MIN / -1
// wraps with remainder 0; shifts by n < 0 or n >= width give 0 (-1 for an arithmetic right shift of a negative).
// `Div` is true float division only. FloorDiv and Mod floor, TruncDiv and TruncMod go toward zero (floats too).
// Min and Max propagate NaN. And, Or, Xor are logical on bool and bitwise on integers. Comparisons give bool.
// Two integers of different dtypes never meet: the builder casts.
#define FRIT_BINARY_OPS(X)                                                                                        \
  X(Add, "add") X(Sub, "sub") X(Mul, "mul") X(Div, "div") X(FloorDiv, "floordiv") X(Mod, "mod")                   \
  X(TruncDiv, "truncdiv") X(TruncMod, "truncmod") X(CeilDiv, "ceildiv") X(Min, "min") X(Max, "max") X(Pow, "pow") \
  X(Atan2, "atan2") X(LogAddExp, "logaddexp") X(And, "and") X(Or, "or") X(Xor, "xor") X(Shl, "shl") X(Shr, "shr") \
  X(Eq, "eq") X(Ne, "ne") X(Lt, "lt") X(Le, "le")

// Ternary. Select(c, a, b); Fma(a, b, c) = a*b + c with one rounding.
#define FRIT_TERNARY_OPS(X) X(Select, "select") X(Fma, "fma")

enum class Op : uint8_t {
  Const,     // bits: the value (see Expr::constant)
  Index,     // i64; bits: the position of the axis in its Compute or View (free axes first, then reduced)
  Symbol,    // i64; an extent or bound value known at launch; bits: id of the interned name
  Acc,       // accumulator `bits` of the reduction; in merge: the left-hand state
  AccRight,  // in merge: accumulator `bits` of the right-hand state
  Read,      // element of input `slot` of the Compute at index positions, perhaps guarded
#define FRIT_OP(op, text) op,
  FRIT_UNARY_OPS(FRIT_OP) FRIT_BINARY_OPS(FRIT_OP) FRIT_TERNARY_OPS(FRIT_OP)
#undef FRIT_OP
};

std::string_view name(Op op);
int operand_count(Op op);  // -1 for Read, 0 for the other leaves
bool is_unary(Op op);
bool is_binary(Op op);
bool is_ternary(Op op);
bool is_comparison(Op op);

struct ExprNode;

/// A scalar expression: a cheap handle to an immutable, hash-consed node. Same structure, same node: equality is a
/// pointer compare. The structural hash does not depend on names or on the order of creation. Handles may be shared
/// between threads. An index is an Expr of dtype i64 without float parts, except inside data-dependent reads.
class Expr {
 public:
  Expr() = default;
  Expr(const Expr& other);
  Expr(Expr&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Expr& operator=(Expr other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Expr();

  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const Expr& other) const { return node_ == other.node_; }

  Op op() const;
  DType dtype() const;
  std::span<const Expr> args() const;
  const Expr& arg(int i) const { return args()[static_cast<size_t>(i)]; }
  uint64_t bits() const;
  uint64_t hash() const;  // structural, 64 bits
  const void* id() const { return node_; }

  /// The node with this operation and dtype, made or found. Checks the number of operands only.
  static Expr make(Op op, DType dtype, std::span<const Expr> args, uint64_t bits = 0);

  bool is_constant() const { return op() == Op::Const; }
  bool is_constant(int64_t value) const;  // an integer or bool constant of this value
  /// Value of an integer or bool constant (u64 reinterpreted); an error in our own code elsewhere.
  int64_t int_value() const;
  /// Value of any numeric constant as double.
  double float_value() const;

  // Read: positions, and when guarded a condition and the fill (`x[..] else fill`): the element where every position
  // is inside and the condition holds, else the fill, which has the Read's dtype.
  int slot() const;
  bool is_guarded() const;
  std::span<const Expr> positions() const;
  const Expr& guard_condition() const;
  const Expr& fill() const;

 private:
  explicit Expr(const ExprNode* node) : node_(node) {}
  const ExprNode* node_ = nullptr;
};

struct ExprHash {
  size_t operator()(const Expr& e) const { return reinterpret_cast<size_t>(e.id()) >> 4; }
};

// Builders. Integer forms fold constants and the plain identities (x + 0, x * 1, x * 0); float forms never fold.
Expr constant(DType dtype, double value);     // rounded to dtype; integers saturate
Expr constant_int(DType dtype, int64_t value);  // any integer dtype or bool, wrapped to it
Expr index_constant(int64_t value);           // i64
Expr index(int axis);                         // Op::Index
Expr symbol(std::string_view name);           // Op::Symbol
std::string symbol_name(const Expr& symbol);
Expr accumulator(DType dtype, int k, bool right = false);
Expr read(DType dtype, int slot, std::span<const Expr> positions);
Expr guarded_read(DType dtype, int slot, std::span<const Expr> positions, Expr condition, Expr fill);
Expr unary(Op op, const Expr& a);             // result dtype: a's, bool for isnan and the like
Expr binary(Op op, const Expr& a, const Expr& b);  // equal operand dtypes; bool for comparisons
Expr select(const Expr& c, const Expr& a, const Expr& b);
Expr fma(const Expr& a, const Expr& b, const Expr& c);
Expr cast(const Expr& a, DType dtype);        // the same node if the dtype is equal
Expr bitcast(const Expr& a, DType dtype);
inline Expr true_value() { return constant_int(DType::Bool, 1); }

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);

/// Rebuilds `root` bottom up: `rule(node with rewritten args)` gives a replacement or an empty Expr to keep. Iterative,
/// each shared node once, so depth and sharing cost nothing.
template <class Rule>
Expr rewrite(const Expr& root, Rule rule);
/// Calls `visit` on each distinct node below `root`, operands before users. Iterative.
template <class Visit>
void for_each_node(const Expr& root, Visit visit);

/// Replaces Index(k) by `values[k]`; an empty entry keeps the index.
Expr substitute_indices(const Expr& root, std::span<const Expr> values);

/// Text form, parsed back by parse_expr; indices print as `i0` or by `index_names` where given.
std::string to_string(const Expr& e, std::span<const std::string> index_names = {});

}  // namespace frit

#include "ir/expr_walk.h"
