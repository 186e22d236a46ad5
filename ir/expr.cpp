#include "ir/expr.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <new>

#include "ir/scalar.h"
#include "support/error.h"

namespace frit {

struct ExprNode {
  mutable std::atomic<int64_t> references;
  uint64_t hash;
  uint64_t bits;
  uint32_t arg_count;
  Op op;
  DType dtype;
  const Expr* args() const { return reinterpret_cast<const Expr*>(this + 1); }
  Expr* args() { return reinterpret_cast<Expr*>(this + 1); }
};

namespace {

constexpr uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ULL + (h << 12) + (h >> 4);
  h *= 0xff51afd7ed558ccdULL;
  return h ^ (h >> 32);
}

uint64_t text_hash(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

struct Key {
  Op op;
  DType dtype;
  uint64_t bits;
  std::span<const Expr> args;
  uint64_t hash;
};

// The table of all live nodes, in shards. A node whose count reached zero may be found again before its releaser takes
// the lock, so the releaser looks whether the node is still there and still unused; it never touches a node that
// another releaser may have deleted.
class Table {
 public:
  const ExprNode* find_or_add(const Key& key) {
    Shard& shard = shard_of(key.hash);
    const std::lock_guard lock(shard.mutex);
    auto [first, last] = shard.nodes.equal_range(key.hash);
    for (; first != last; ++first) {
      if (equal(*first->second, key)) {
        first->second->references.fetch_add(1, std::memory_order_relaxed);
        return first->second;
      }
    }
    ExprNode* node = create(key);
    shard.nodes.emplace(key.hash, node);
    return node;
  }

  // Takes the node out and hands it over if nobody uses it.
  ExprNode* take_unused(const ExprNode* node, uint64_t hash) {
    Shard& shard = shard_of(hash);
    const std::lock_guard lock(shard.mutex);
    auto [first, last] = shard.nodes.equal_range(hash);
    for (; first != last; ++first) {
      if (first->second != node) continue;
      if (node->references.load(std::memory_order_acquire) != 0) return nullptr;
      ExprNode* taken = first->second;
      shard.nodes.erase(first);
      return taken;
    }
    return nullptr;
  }

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_multimap<uint64_t, ExprNode*> nodes;
  };

  static bool equal(const ExprNode& node, const Key& key) {
    return node.op == key.op && node.dtype == key.dtype && node.bits == key.bits && node.arg_count == key.args.size() &&
           std::equal(key.args.begin(), key.args.end(), node.args());
  }

  static ExprNode* create(const Key& key) {
    void* memory = ::operator new(sizeof(ExprNode) + key.args.size() * sizeof(Expr));
    auto* node =
        new (memory) ExprNode{{1}, key.hash, key.bits, static_cast<uint32_t>(key.args.size()), key.op, key.dtype};
    for (size_t i = 0; i < key.args.size(); ++i) new (node->args() + i) Expr(key.args[i]);
    return node;
  }

  Shard& shard_of(uint64_t hash) { return shards_[hash >> 58]; }
  Shard shards_[64];
};

Table& table() {
  static Table* instance = new Table;  // never destroyed: handles may live in other static objects
  return *instance;
}

void release(const ExprNode* node) {
  const uint64_t hash = node->hash;
  if (node->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  ExprNode* unused = table().take_unused(node, hash);
  if (!unused) return;
  // Operands are released by a loop, not by recursion: a chain of a million nodes must not overflow the stack.
  thread_local std::vector<ExprNode*>* pending = nullptr;
  if (pending) {
    pending->push_back(unused);
    return;
  }
  std::vector<ExprNode*> work{unused};
  pending = &work;
  while (!work.empty()) {
    ExprNode* next = work.back();
    work.pop_back();
    std::destroy_n(next->args(), next->arg_count);
    next->~ExprNode();
    ::operator delete(next);
  }
  pending = nullptr;
}

struct OpInfo {
  std::string_view name;
  int operands;
};
constexpr OpInfo kOps[] = {{"const", 0},
                           {"index", 0},
                           {"symbol", 0},
                           {"acc", 0},
                           {"accright", 0},
                           {"read", -1},
#define FRIT_OP(op, text) {text, 1},
                           FRIT_UNARY_OPS(FRIT_OP)
#undef FRIT_OP
#define FRIT_OP(op, text) {text, 2},
                               FRIT_BINARY_OPS(FRIT_OP)
#undef FRIT_OP
#define FRIT_OP(op, text) {text, 3},
                                   FRIT_TERNARY_OPS(FRIT_OP)
#undef FRIT_OP
};

class SymbolNames {
 public:
  uint64_t id(std::string_view name) {
    const std::lock_guard lock(mutex_);
    auto [at, added] = ids_.try_emplace(std::string(name), names_.size());
    if (added) names_.emplace_back(name);
    return at->second;
  }
  std::string name(uint64_t id) {
    const std::lock_guard lock(mutex_);
    return names_.at(id);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, uint64_t> ids_;
  std::vector<std::string> names_;
};

SymbolNames& symbol_names() {
  static auto* instance = new SymbolNames;
  return *instance;
}

}  // namespace

std::string_view name(Op op) { return kOps[static_cast<size_t>(op)].name; }
int operand_count(Op op) { return kOps[static_cast<size_t>(op)].operands; }
bool is_unary(Op op) { return operand_count(op) == 1; }
bool is_binary(Op op) { return operand_count(op) == 2; }
bool is_ternary(Op op) { return operand_count(op) == 3; }
bool is_comparison(Op op) { return op == Op::Eq || op == Op::Ne || op == Op::Lt || op == Op::Le; }

Expr::Expr(const Expr& other) : node_(other.node_) {
  if (node_) node_->references.fetch_add(1, std::memory_order_relaxed);
}
Expr::~Expr() {
  if (node_) release(node_);
}

Op Expr::op() const { return node_->op; }
DType Expr::dtype() const { return node_->dtype; }
std::span<const Expr> Expr::args() const { return {node_->args(), node_->arg_count}; }
uint64_t Expr::bits() const { return node_->bits; }
uint64_t Expr::hash() const { return node_->hash; }

Expr Expr::make(Op op, DType dtype, std::span<const Expr> args, uint64_t bits) {
  const int operands = operand_count(op);
  FRIT_CHECK(operands < 0 || static_cast<size_t>(operands) == args.size(), std::string(name(op)));
  // A symbol's id depends on the order of creation; its name does not.
  const uint64_t content = op == Op::Symbol ? text_hash(symbol_names().name(bits)) : bits;
  uint64_t hash = mix(mix(mix(0x66726974, static_cast<uint64_t>(op)), static_cast<uint64_t>(dtype)), content);
  for (const Expr& arg : args) hash = mix(hash, arg.hash());
  return Expr(table().find_or_add({op, dtype, bits, args, hash}));
}

bool Expr::is_constant(int64_t value) const {
  return op() == Op::Const && !is_float(dtype()) && static_cast<int64_t>(bits()) == value;
}

int64_t Expr::int_value() const {
  FRIT_CHECK(op() == Op::Const && !is_float(dtype()), "not an integer constant: " + to_string(*this));
  return static_cast<int64_t>(bits());
}

double Expr::float_value() const {
  FRIT_CHECK(op() == Op::Const, "not a constant");
  if (is_float(dtype())) return std::bit_cast<double>(bits());
  if (dtype() == DType::U64) return static_cast<double>(bits());
  return static_cast<double>(static_cast<int64_t>(bits()));
}

// Read: bits = slot * 2 + guarded; args = positions, then condition and fill when guarded.
int Expr::slot() const { return static_cast<int>(bits() >> 1); }
bool Expr::is_guarded() const { return bits() & 1; }
std::span<const Expr> Expr::positions() const { return is_guarded() ? args().subspan(0, args().size() - 2) : args(); }
const Expr& Expr::guard_condition() const { return args()[args().size() - 2]; }
const Expr& Expr::fill() const { return args()[args().size() - 1]; }

Expr constant(DType dtype, double value) {
  if (!is_float(dtype)) return Expr::make(Op::Const, dtype, {}, static_cast<uint64_t>(saturate_to(dtype, value)));
  if (dtype == DType::F32) value = static_cast<float>(value);
  FRIT_CHECK(dtype == DType::F32 || dtype == DType::F64, "16-bit floats are storage; constants are f32");
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  return Expr::make(Op::Const, dtype, {}, std::bit_cast<uint64_t>(value));
}

Expr constant_int(DType dtype, int64_t value) {
  return Expr::make(Op::Const, dtype, {}, static_cast<uint64_t>(wrap_to(dtype, value)));
}
Expr index_constant(int64_t value) { return constant_int(DType::I64, value); }
Expr index(int axis) { return Expr::make(Op::Index, DType::I64, {}, static_cast<uint64_t>(axis)); }
Expr symbol(std::string_view name) { return Expr::make(Op::Symbol, DType::I64, {}, symbol_names().id(name)); }
std::string symbol_name(const Expr& symbol) { return symbol_names().name(symbol.bits()); }
Expr accumulator(DType dtype, int k, bool right) {
  return Expr::make(right ? Op::AccRight : Op::Acc, dtype, {}, static_cast<uint64_t>(k));
}

Expr read(DType dtype, int slot, std::span<const Expr> positions) {
  return Expr::make(Op::Read, dtype, positions, static_cast<uint64_t>(slot) * 2);
}

Expr guarded_read(DType dtype, int slot, std::span<const Expr> positions, Expr condition, Expr fill) {
  FRIT_CHECK(fill.dtype() == dtype && condition.dtype() == DType::Bool, "guarded read");
  std::vector<Expr> args(positions.begin(), positions.end());
  args.push_back(std::move(condition));
  args.push_back(std::move(fill));
  return Expr::make(Op::Read, dtype, args, static_cast<uint64_t>(slot) * 2 + 1);
}

Expr unary(Op op, const Expr& a) {
  FRIT_CHECK(is_unary(op) && op != Op::Cast && op != Op::BitCast, std::string(name(op)));
  const bool test = op == Op::IsNan || op == Op::IsInf || op == Op::IsFinite;
  if (op == Op::Neg && a.is_constant() && is_integer(a.dtype()))
    return constant_int(a.dtype(), static_cast<int64_t>(-a.bits()));
  return Expr::make(op, test ? DType::Bool : a.dtype(), std::span(&a, 1));
}

Expr binary(Op op, const Expr& a, const Expr& b) {
  FRIT_CHECK(is_binary(op) && a.dtype() == b.dtype(),
             std::string(name(op)) + " of " + std::string(name(a.dtype())) + " and " + std::string(name(b.dtype())));
  if (is_integer(a.dtype())) {
    if (op == Op::Add) return a + b;
    if (op == Op::Sub) return a - b;
    if (op == Op::Mul) return a * b;
  }
  const Expr args[] = {a, b};
  return Expr::make(op, is_comparison(op) ? DType::Bool : a.dtype(), args);
}

Expr select(const Expr& c, const Expr& a, const Expr& b) {
  FRIT_CHECK(c.dtype() == DType::Bool && a.dtype() == b.dtype(), "select");
  if (c.is_constant()) return c.int_value() ? a : b;
  if (a == b) return a;
  const Expr args[] = {c, a, b};
  return Expr::make(Op::Select, a.dtype(), args);
}

Expr fma(const Expr& a, const Expr& b, const Expr& c) {
  const Expr args[] = {a, b, c};
  return Expr::make(Op::Fma, a.dtype(), args);
}

Expr cast(const Expr& a, DType dtype) {
  if (a.dtype() == dtype) return a;
  if (a.is_constant() && !is_float(a.dtype()) && !is_float(dtype)) return constant_int(dtype, a.int_value());
  return Expr::make(Op::Cast, dtype, std::span(&a, 1));
}

Expr bitcast(const Expr& a, DType dtype) {
  FRIT_CHECK(size_bytes(a.dtype()) == size_bytes(dtype), "bitcast keeps the width");
  if (a.dtype() == dtype) return a;
  return Expr::make(Op::BitCast, dtype, std::span(&a, 1));
}

namespace {
// Wrapping arithmetic on the bits; exact for every integer dtype after wrap_to.
Expr folded(const Expr& a, uint64_t bits) { return constant_int(a.dtype(), static_cast<int64_t>(bits)); }
Expr plain(Op op, const Expr& a, const Expr& b) {
  FRIT_CHECK(a.dtype() == b.dtype(), std::string(name(op)));
  const Expr args[] = {a, b};
  return Expr::make(op, a.dtype(), args);
}
bool foldable(const Expr& a) { return a.is_constant() && is_integer(a.dtype()); }
}  // namespace

Expr operator+(const Expr& a, const Expr& b) {
  if (foldable(a) && foldable(b)) return folded(a, a.bits() + b.bits());
  if (foldable(b) && b.bits() == 0) return a;
  if (foldable(a) && a.bits() == 0) return b;
  return plain(Op::Add, a, b);
}

Expr operator-(const Expr& a, const Expr& b) {
  if (foldable(a) && foldable(b)) return folded(a, a.bits() - b.bits());
  if (foldable(b) && b.bits() == 0) return a;
  if (a == b && is_integer(a.dtype())) return constant_int(a.dtype(), 0);
  return plain(Op::Sub, a, b);
}

Expr operator*(const Expr& a, const Expr& b) {
  if (foldable(a) && foldable(b)) return folded(a, a.bits() * b.bits());
  if (foldable(b) && b.bits() == 1) return a;
  if (foldable(a) && a.bits() == 1) return b;
  if ((foldable(a) && a.bits() == 0) || (foldable(b) && b.bits() == 0)) return constant_int(a.dtype(), 0);
  return plain(Op::Mul, a, b);
}

Expr substitute_indices(const Expr& root, std::span<const Expr> values) {
  return rewrite(root, [&](const Expr& e) -> Expr {
    if (e.op() == Op::Index && e.bits() < values.size() && values[e.bits()]) return values[e.bits()];
    if (is_binary(e.op()) && is_integer(e.dtype()) && !is_comparison(e.op())) return binary(e.op(), e.arg(0), e.arg(1));
    return {};
  });
}

}  // namespace frit
