#pragma once
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "codegen/kernel/kernel.h"

namespace frit::kernel {

/// Makes a kernel call by call: instructions stand in the text exactly in the order of the calls. Constants, dims and
/// buffers are shared. Scalar integer and pointer arithmetic is folded (constants, x + 0, x * 1, x * 0) and an equal
/// one that dominates is reused; floats and vectors are never folded, shared or moved.
///
///     Builder b("scale");
///     const int x = b.add_buffer({"x", DType::F32}), y = b.add_buffer({"y", DType::F32, true});
///     auto loop = b.begin_loop(b.begin(), b.end(), b.i64(1));
///     const Value at = b.mul(loop.i, b.i64(4));
///     b.store(b.ptr_add(b.buffer(y), at), b.mul(b.load(...), b.f32(2)), 4);
///     b.end_loop();
///     Kernel k = b.finish();
class Builder {
 public:
  explicit Builder(std::string name, std::string origin = "");

  int add_buffer(BufferParam buffer);
  int add_dim(std::string name);
  Type type(Value v) const { return kernel_.type(v); }
  const Kernel& kernel() const { return kernel_; }

  // Leaves.
  Value constant_bits(Type type, uint64_t bits);
  Value constant(Type type, double value);  // f32 (rounded) and f64
  Value integer(Type type, int64_t value);  // integer or bool, wrapped
  Value i64(int64_t value) { return integer(scalar(DType::I64), value); }
  Value f32(double value) { return constant(scalar(DType::F32), value); }
  Value boolean(bool value, int lanes = 1) { return integer(vector_of(DType::Bool, lanes), value); }
  Value zero(Type type) { return constant_bits(type, 0); }
  Value buffer(int k);
  Value dim(int k);
  Value begin();
  Value end();
  Value scratch();
  Value iota(Type type);  // integer vector 0, 1, 2, ..
  /// The value of an integer or bool constant.
  bool is_constant(Value v, int64_t* value = nullptr) const;

  // Arithmetic. A scalar meeting a vector of its dtype is not splat: that is the caller's instruction.
  Value arith(Op op, std::initializer_list<Value> operands);
  Value add(Value a, Value b) { return arith(Op::Add, {a, b}); }
  Value sub(Value a, Value b) { return arith(Op::Sub, {a, b}); }
  Value mul(Value a, Value b) { return arith(Op::Mul, {a, b}); }
  Value div(Value a, Value b) { return arith(Op::Div, {a, b}); }
  Value trunc_div(Value a, Value b) { return arith(Op::TruncDiv, {a, b}); }
  Value trunc_mod(Value a, Value b) { return arith(Op::TruncMod, {a, b}); }
  Value min(Value a, Value b) { return arith(Op::Min, {a, b}); }
  Value max(Value a, Value b) { return arith(Op::Max, {a, b}); }
  Value eq(Value a, Value b) { return arith(Op::Eq, {a, b}); }
  Value ne(Value a, Value b) { return arith(Op::Ne, {a, b}); }
  Value lt(Value a, Value b) { return arith(Op::Lt, {a, b}); }
  Value le(Value a, Value b) { return arith(Op::Le, {a, b}); }
  Value logical_and(Value a, Value b) { return arith(Op::And, {a, b}); }
  Value logical_or(Value a, Value b) { return arith(Op::Or, {a, b}); }
  Value shl(Value a, Value b) { return arith(Op::Shl, {a, b}); }
  Value shr(Value a, Value b) { return arith(Op::Shr, {a, b}); }
  Value fma(Value a, Value b, Value c) { return arith(Op::Fma, {a, b, c}); }
  Value select(Value c, Value a, Value b) { return arith(Op::Select, {c, a, b}); }
  Value cast(Value v, DType to);           // the same value if the dtype is equal
  Value cast_in_range(Value v, DType to);  // float to integer, proven to fit
  Value bitcast(Value v, DType to);

  // Vectors.
  Value splat(Value v, int lanes);  // the same value if lanes is 1; a constant becomes a vector constant
  Value extract(Value v, int lane);
  Value insert(Value v, Value element, int lane);
  Value shuffle(Value a, Value b, std::span<const int32_t> mask);
  Value shuffle(Value a, Value b, std::initializer_list<int32_t> mask) {
    return shuffle(a, b, std::span(mask.begin(), mask.size()));
  }

  // Memory. An alignment of 0 is that of one element. Under a mask of one lane an access becomes an if.
  Value ptr_add(Value pointer, Value bytes);
  Value ptr_add(Value pointer, int64_t bytes) { return ptr_add(pointer, i64(bytes)); }
  Value load(Type type, Value pointer, int alignment = 0);
  void store(Value pointer, Value value, int alignment = 0);
  Value masked_load(Value pointer, Value mask, Value passthrough, int alignment = 0);
  void masked_store(Value pointer, Value mask, Value value, int alignment = 0);
  Value gather(Value base, Value byte_offsets, Value mask, Value passthrough, int alignment = 0);
  void scatter(Value base, Value byte_offsets, Value mask, Value value, int alignment = 0);
  void prefetch(Value pointer);
  void barrier();

  // Control flow.
  struct Loop {
    Value i;
    std::vector<Value> carried;
  };
  Loop begin_loop(Value begin, Value end, Value step, std::span<const Value> inits = {}, bool runs_once = false);
  Loop begin_loop(Value begin, Value end, Value step, std::initializer_list<Value> inits, bool runs_once = false) {
    return begin_loop(begin, end, step, std::span(inits.begin(), inits.size()), runs_once);
  }
  std::vector<Value> end_loop(std::span<const Value> yields = {});
  std::vector<Value> end_loop(std::initializer_list<Value> yields) {
    return end_loop(std::span(yields.begin(), yields.size()));
  }
  void begin_if(Value condition);
  void begin_else(std::span<const Value> yields = {});
  void begin_else(std::initializer_list<Value> yields) { begin_else(std::span(yields.begin(), yields.size())); }
  /// Without begin_else the else region is empty, and nothing may be yielded.
  std::vector<Value> end_if(std::span<const Value> yields = {});
  std::vector<Value> end_if(std::initializer_list<Value> yields) {
    return end_if(std::span(yields.begin(), yields.size()));
  }

  /// Open regions: 0 in the body, one more in every loop or if.
  int depth() const { return static_cast<int>(open_.size()) - 1; }
  /// Puts what `emit` builds before the open loop or if that is at depth `depth + 1`: hoisting by hand. Operands must
  /// be defined there.
  template <class Emit>
  auto at_depth(int depth, Emit emit) {
    const At at(*this, depth);
    return emit();
  }
  /// Where instructions go now.
  int emission_depth() const { return at_ >= 0 ? at_ : depth(); }
  /// The depth at which a value is defined; leaves are at 0.
  int depth_of(Value v) const { return depth_of_[v.id]; }
  /// From here on scalar integer and pointer arithmetic without division goes to the outermost region that has its
  /// operands. Off at first.
  void set_hoist_integers(bool on) { hoist_integers_ = on; }

  /// errors  InternalError: a region is still open, or the verifier finds something
  Kernel finish();

 private:
  friend class KernelParser;  // emits what is written, without folding
  struct Open {
    uint32_t region;
    uint32_t instruction;                             // the loop or if; placed when it ends
    std::map<std::vector<uint64_t>, Value> integers;  // what was computed in this region
  };
  struct At {
    At(Builder& b, int depth);
    ~At();
    Builder& b;
    int saved;
  };

  Value leaf(Code code, Type type, uint64_t bits);
  uint32_t add_instruction(Code code, Type type, std::span<const Value> operands, uint64_t bits = 0);
  Value emit(Code code, Type type, std::span<const Value> operands, uint64_t bits = 0, Op op = Op::Add);
  Value emit(Code code, Type type, std::initializer_list<Value> operands, uint64_t bits = 0, Op op = Op::Add) {
    return emit(code, type, std::span(operands.begin(), operands.size()), bits, op);
  }
  Value emit_shared(Code code, Type type, std::span<const Value> operands, Op op);
  Value fold(Op op, std::span<const Value> operands);
  Value new_value(Definition definition, int depth);
  std::vector<Value> add_results(uint32_t instruction, std::span<const Value> like);
  uint32_t new_region();
  void yield(std::span<const Value> values);
  Value load_if(Value pointer, Value mask, Value otherwise, int alignment);
  void store_if(Value pointer, Value mask, Value value, int alignment);
  Region& current();
  int element_alignment(Type type, int alignment) const;

  Kernel kernel_;
  std::map<std::vector<uint64_t>, Value> leaves_;
  std::vector<Open> open_;
  std::vector<int> depth_of_;
  int at_ = -1;  // depth where instructions go; -1: the innermost open region
  bool hoist_integers_ = false;
};

}  // namespace frit::kernel
