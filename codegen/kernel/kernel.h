#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"
#include "ir/expr.h"

namespace frit::kernel {

/// Type of a value: a scalar, a vector of `lanes` scalars, or a pointer to bytes (dtype U8, one lane). A bool is one
/// bit in registers and never in memory: lowering stores it as U8. F16 and BF16 are only loaded, stored, moved and
/// cast.
struct Type {
  DType dtype = DType::I64;
  int16_t lanes = 1;
  bool is_pointer = false;

  bool operator==(const Type&) const = default;
  Type with_lanes(int n) const { return {dtype, static_cast<int16_t>(n), is_pointer}; }
  Type with_dtype(DType d) const { return {d, lanes, false}; }
  bool is_vector() const { return lanes > 1; }
};
inline Type scalar(DType dtype) { return {dtype, 1, false}; }
inline Type vector_of(DType dtype, int lanes) { return {dtype, static_cast<int16_t>(lanes), false}; }
inline Type pointer() { return {DType::U8, 1, true}; }
std::string to_string(Type type);  // "f32x16", "i64", "ptr"
constexpr int kMaxLanes = 64;

/// A value of a kernel by its number: an instruction's result, a loop's counter or a carried value inside its region.
struct Value {
  uint32_t id = UINT32_MAX;
  explicit operator bool() const { return id != UINT32_MAX; }
  bool operator==(const Value&) const = default;
};

// What instructions there are: name in text. The first group are leaves: they stand in no region, are the same wherever
// they are used, and are printed inline or once at the entry.
//
//   const                bits: the value, same in all lanes; for f32 the low 32 bits and so on
//   buffer, dim          bits: position; a pointer, an i64
//   begin, end           i64: the tiles of this launch
//   scratch              pointer to this thread's memory, aligned to 64 bytes
//   iota                 0, 1, 2, .. in an integer vector
//   arith                op: see kPrimitives
//   cast_in_range        float to integer whose truncated value is proven to fit (cheaper than Op::Cast, which
//   saturates) splat                scalar to all lanes extract, insert      bits: the lane; insert(vector, scalar)
//   shuffle              (a, b) of one type: lane i of the result is lane mask[i] of a followed by b
//   ptr_add              pointer plus a signed i64 of bytes
//   load, store          (pointer), (pointer, value); bits: alignment in bytes, at least that of one element
//   masked_load          (pointer, mask, passthrough): lanes outside the mask are not touched
//   masked_store         (pointer, mask, value)
//   gather               (base, i64 vector of byte offsets, mask, passthrough); bits: alignment of each element
//   scatter              (base, i64 vector of byte offsets, mask, value); lanes in increasing order, the last wins
//   prefetch             (pointer): a hint without effect
//   barrier              all lanes of a work-group meet; GPU targets only
//   loop                 (begin, end, step > 0, inits..): for (i = begin; i < end; i += step); region 0 has the
//   arguments
//                        i (i64) and the carried values; results are the last carried values. bits: 1 if it is known to
//                        run at least once. i + step never overflows (the caller proves it)
//   if                   (condition): region 0, region 1; results are what the regions yield
//   yield                ends every region of a loop or an if
#define FRIT_KERNEL_CODES(X)                                                                                        \
  X(Const, "const")                                                                                                 \
  X(Buffer, "buffer")                                                                                               \
  X(Dim, "dim") X(Begin, "begin") X(End, "end") X(Scratch, "scratch") X(Iota, "iota") X(Arith, "arith")             \
      X(CastInRange, "cast_in_range") X(Splat, "splat") X(Extract, "extract") X(Insert, "insert")                   \
          X(Shuffle, "shuffle") X(PtrAdd, "ptr_add") X(Load, "load") X(Store, "store") X(MaskedLoad, "masked_load") \
              X(MaskedStore, "masked_store") X(Gather, "gather") X(Scatter, "scatter") X(Prefetch, "prefetch")      \
                  X(Barrier, "barrier") X(Loop, "loop") X(If, "if") X(Yield, "yield")

enum class Code : uint8_t {
#define FRIT_CODE(code, text) code,
  FRIT_KERNEL_CODES(FRIT_CODE)
#undef FRIT_CODE
};
std::string_view name(Code code);
constexpr bool is_leaf(Code code) { return code <= Code::Iota; }

// The operations that printers know; everything else is a definition, expanded before. Operands have one type, lane by
// lane. Float forms are IEEE without contraction, f32 and f64.
//   Neg Abs Sqrt Floor Ceil Trunc Round(half to even)    float; Neg and Abs also integers, wrapping
//   Add Sub Mul                                          float; integers, wrapping
//   Div                                                  float
//   TruncDiv TruncMod                                    integers: the divisor is proven nonzero, no MIN / -1
//   Min Max                                              integers; float: a if a is NaN, else a < b ? a : b (a > b)
//   Fma                                                  float, one rounding
//   And Or Xor                                           bool, integers
//   Not; BitNot                                          bool; integers
//   Shl Shr                                              integers: the amount is proven in [0, width); Shr by sign
//   Eq Ne Lt Le                                          to bool; Ne is true where an operand is NaN, the others false
//   Select(c, a, b)                                      c a bool scalar or of as many lanes; a, b of any type, also
//   pointers Cast                                                 as Op::Cast: float to integer saturates, NaN is 0; to
//   bool x != 0 BitCast                                              same width, no bool
// Floor, Ceil, Trunc, Round, Fma and casts of f16 and bf16 need hardware: where the target lacks it lowering expands
// them.
bool is_primitive(Op op);

int bit_width(DType dtype);                        // 1 for bool
uint64_t mask_bits(DType dtype, uint64_t bits);    // the low bits that a value of this dtype has
int64_t signed_value(DType dtype, uint64_t bits);  // of an integer or bool: by sign, u64 reinterpreted

struct Instruction {
  Code code = Code::Const;
  Op op = Op::Add;                                // Arith only
  Type type;                                      // of the single result; of the element loaded or stored
  uint32_t first_operand = 0, operand_count = 0;  // in Kernel::operand_pool
  uint32_t first_result = 0, result_count = 0;    // value numbers
  uint64_t bits = 0;
  uint32_t regions[2] = {UINT32_MAX, UINT32_MAX};
};

struct Region {
  std::vector<Value> arguments;        // loop: counter, carried values
  std::vector<uint32_t> instructions;  // in the order of emission; the last is a Yield, but in the body
};

struct BufferParam {
  std::string name;  // for people
  DType dtype = DType::F32;
  bool written = false;
  int alignment = 1;       // of the first byte
  bool restricted = true;  // no other buffer of the launch overlaps it, unless both are only read
};

struct Definition {
  Type type;
  uint32_t instruction = 0;  // that gives it; for a region's argument the loop
  uint32_t index = 0;        // which result or argument
  bool is_argument = false;
};

/// One kernel: `void frit_kernel(buffers, dims, begin, end, scratch)` in SSA with structured control flow, flat
/// storage. Made by Builder or parse_kernel; printers take it verified.
struct Kernel {
  std::string name;    // for people
  std::string origin;  // for people: the definitions it comes from
  std::vector<BufferParam> buffers;
  std::vector<std::string> dims;  // names for people
  std::vector<Instruction> instructions;
  std::vector<Value> operand_pool;
  std::vector<int32_t> mask_pool;  // shuffles: `bits` is the first
  std::vector<Definition> values;
  std::vector<Region> regions;  // 0 is the body

  const Region& body() const { return regions[0]; }
  std::span<const Value> operands(const Instruction& i) const {
    return std::span(operand_pool).subspan(i.first_operand, i.operand_count);
  }
  std::span<const int32_t> mask(const Instruction& i) const {
    return std::span(mask_pool).subspan(i.bits, static_cast<size_t>(i.type.lanes));
  }
  Type type(Value v) const { return values[v.id].type; }
  const Instruction& definition(Value v) const { return instructions[values[v.id].instruction]; }
  bool is_constant(Value v) const { return !values[v.id].is_argument && definition(v).code == Code::Const; }
  uint64_t constant_bits(Value v) const { return definition(v).bits; }
};

/// Text form, read back by parse_kernel; values are numbered in the order of the text.
std::string to_string(const Kernel& kernel);
/// errors  InputError with line and column; the result is verified
Kernel parse_kernel(std::string_view text);

/// All that is wrong with a kernel, one line each with the printed instruction; empty when it is right. Checks
/// dominance, types, widths, operations, alignments and that text stays within its limits.
std::vector<std::string> verify(const Kernel& kernel);
/// errors  InternalError with all findings
void check(const Kernel& kernel);

constexpr size_t kMaxTextBytes = 100'000;
constexpr size_t kMaxBuffers = 64;

}  // namespace frit::kernel
