#include "codegen/kernel/builder.h"

#include <bit>

#include "codegen/kernel/fold.h"
#include "support/error.h"

namespace frit::kernel {

Builder::Builder(std::string name, std::string origin) {
  kernel_.name = std::move(name);
  kernel_.origin = std::move(origin);
  open_.push_back({new_region(), 0, {}});
}

int Builder::add_buffer(BufferParam buffer) {
  kernel_.buffers.push_back(std::move(buffer));
  return static_cast<int>(kernel_.buffers.size()) - 1;
}

int Builder::add_dim(std::string name) {
  kernel_.dims.push_back(std::move(name));
  return static_cast<int>(kernel_.dims.size()) - 1;
}

// Leaves.

Value Builder::leaf(Code code, Type type, uint64_t bits) {
  const std::vector<uint64_t> key = {static_cast<uint64_t>(code), static_cast<uint64_t>(type.dtype),
                                     static_cast<uint64_t>(type.lanes), type.is_pointer, bits};
  const auto found = leaves_.find(key);
  if (found != leaves_.end()) return found->second;
  const uint32_t i = add_instruction(code, type, {}, bits);
  const Value v = new_value({type, i, 0, false}, 0);
  kernel_.instructions[i].first_result = v.id;
  kernel_.instructions[i].result_count = 1;
  return leaves_[key] = v;
}

Value Builder::constant_bits(Type type, uint64_t bits) { return leaf(Code::Const, type, mask_bits(type.dtype, bits)); }

Value Builder::constant(Type type, double value) {
  if (type.dtype == DType::F32) return constant_bits(type, std::bit_cast<uint32_t>(static_cast<float>(value)));
  FRIT_CHECK(type.dtype == DType::F64, "constant of " + to_string(type));
  return constant_bits(type, std::bit_cast<uint64_t>(value));
}

Value Builder::integer(Type type, int64_t value) {
  FRIT_CHECK(!is_float(type.dtype) && !type.is_pointer, "integer constant of " + to_string(type));
  return constant_bits(type, type.dtype == DType::Bool ? value != 0 : static_cast<uint64_t>(value));
}

Value Builder::buffer(int k) {
  FRIT_CHECK(k >= 0 && static_cast<size_t>(k) < kernel_.buffers.size(), "buffer " + std::to_string(k));
  return leaf(Code::Buffer, pointer(), static_cast<uint64_t>(k));
}

Value Builder::dim(int k) {
  FRIT_CHECK(k >= 0 && static_cast<size_t>(k) < kernel_.dims.size(), "dim " + std::to_string(k));
  return leaf(Code::Dim, scalar(DType::I64), static_cast<uint64_t>(k));
}

Value Builder::begin() { return leaf(Code::Begin, scalar(DType::I64), 0); }
Value Builder::end() { return leaf(Code::End, scalar(DType::I64), 0); }
Value Builder::scratch() { return leaf(Code::Scratch, pointer(), 0); }
Value Builder::iota(Type type) { return leaf(Code::Iota, type, 0); }

bool Builder::is_constant(Value v, int64_t* value) const {
  if (!kernel_.is_constant(v) || is_float(type(v).dtype)) return false;
  if (value) *value = signed_value(type(v).dtype, kernel_.constant_bits(v));
  return true;
}

// Emission.

uint32_t Builder::add_instruction(Code code, Type type, std::span<const Value> operands, uint64_t bits) {
  Instruction i;
  i.code = code;
  i.type = type;
  i.bits = bits;
  i.first_operand = static_cast<uint32_t>(kernel_.operand_pool.size());
  i.operand_count = static_cast<uint32_t>(operands.size());
  for (const Value v : operands) {
    FRIT_CHECK(v.id < kernel_.values.size(), "operand of " + std::string(name(code)) + " is no value");
    kernel_.operand_pool.push_back(v);
  }
  kernel_.instructions.push_back(i);
  return static_cast<uint32_t>(kernel_.instructions.size()) - 1;
}

Value Builder::new_value(Definition definition, int depth) {
  kernel_.values.push_back(definition);
  depth_of_.push_back(depth);
  return {static_cast<uint32_t>(kernel_.values.size()) - 1};
}

uint32_t Builder::new_region() {
  kernel_.regions.emplace_back();
  return static_cast<uint32_t>(kernel_.regions.size()) - 1;
}

Region& Builder::current() {
  return kernel_.regions[open_[at_ >= 0 ? static_cast<size_t>(at_) : open_.size() - 1].region];
}

Value Builder::emit(Code code, Type type, std::span<const Value> operands, uint64_t bits, Op op) {
  const uint32_t i = add_instruction(code, type, operands, bits);
  kernel_.instructions[i].op = op;
  current().instructions.push_back(i);
  const bool has_result = code != Code::Store && code != Code::MaskedStore && code != Code::Scatter &&
                          code != Code::Prefetch && code != Code::Barrier && code != Code::Yield;
  if (!has_result) return {};
  const Value v = new_value({type, i, 0, false}, at_ >= 0 ? at_ : depth());
  kernel_.instructions[i].first_result = v.id;
  kernel_.instructions[i].result_count = 1;
  return v;
}

// Scalar integers and pointers: an equal computation that dominates is taken again, and perhaps hoisted.
Value Builder::emit_shared(Code code, Type type, std::span<const Value> operands, Op op) {
  std::vector<uint64_t> key = {static_cast<uint64_t>(code), static_cast<uint64_t>(op),
                               static_cast<uint64_t>(type.dtype)};
  int lowest = 0;
  for (const Value v : operands) {
    key.push_back(v.id);
    lowest = std::max(lowest, depth_of_[v.id]);
  }
  const int here = at_ >= 0 ? at_ : depth();
  for (int d = lowest; d <= here; ++d) {
    const auto found = open_[static_cast<size_t>(d)].integers.find(key);
    if (found != open_[static_cast<size_t>(d)].integers.end()) return found->second;
  }
  const bool may_trap = op == Op::TruncDiv || op == Op::TruncMod;
  const At at(*this, hoist_integers_ && !may_trap ? std::min(lowest, here) : here);
  const Value v = emit(code, type, operands, 0, op);
  open_[static_cast<size_t>(at_)].integers.emplace(std::move(key), v);
  return v;
}

Builder::At::At(Builder& builder, int depth) : b(builder), saved(builder.at_) {
  FRIT_CHECK(depth >= 0 && depth <= b.depth(), "no open region at depth " + std::to_string(depth));
  b.at_ = depth;
}
Builder::At::~At() { b.at_ = saved; }

// Arithmetic.

Value Builder::fold(Op op, std::span<const Value> v) {
  if (op == Op::Select && v[1] == v[2]) return v[1];
  if (op == Op::Select && type(v[0]).lanes == 1 && is_constant(v[0])) return kernel_.constant_bits(v[0]) ? v[1] : v[2];
  const Type t = type(v[0]);
  if (v.size() != 2 || t.lanes != 1 || t.is_pointer || is_float(t.dtype)) return {};
  int64_t a = 0, b = 0;
  const bool has_a = is_constant(v[0], &a), has_b = is_constant(v[1], &b);
  if (has_a && has_b) {
    const auto bits = fold_binary(op, t.dtype, kernel_.constant_bits(v[0]), kernel_.constant_bits(v[1]));
    if (bits) return constant_bits(is_comparison(op) ? scalar(DType::Bool) : t, *bits);
  }
  const bool is_bool = t.dtype == DType::Bool;
  switch (op) {
    case Op::Add:
      return has_b && b == 0 ? v[0] : has_a && a == 0 ? v[1] : Value{};
    case Op::Sub:
      return has_b && b == 0 ? v[0] : Value{};
    case Op::Mul:
      if ((has_a && a == 0) || (has_b && b == 0)) return constant_bits(t, 0);
      return has_b && b == 1 ? v[0] : has_a && a == 1 ? v[1] : Value{};
    case Op::TruncDiv:
      return has_b && b == 1 ? v[0] : Value{};
    case Op::TruncMod:
      return has_b && b == 1 ? constant_bits(t, 0) : Value{};
    case Op::Shl:
    case Op::Shr:
      return has_b && b == 0 ? v[0] : Value{};
    case Op::And:
      if ((has_a && a == 0) || (has_b && b == 0)) return constant_bits(t, 0);
      return !is_bool ? Value{} : has_b ? v[0] : has_a ? v[1] : Value{};
    case Op::Or:
      if (is_bool && (has_a || has_b)) return (has_a ? a : b) ? boolean(true) : has_a ? v[1] : v[0];
      return has_b && b == 0 ? v[0] : has_a && a == 0 ? v[1] : Value{};
    default:
      return {};
  }
}

Value Builder::arith(Op op, std::initializer_list<Value> operands) {
  const std::span<const Value> v(operands.begin(), operands.size());
  FRIT_CHECK(is_primitive(op) && op != Op::Cast && op != Op::BitCast && static_cast<int>(v.size()) == operand_count(op),
             "arith: " + std::string(frit::name(op)) + " of " + std::to_string(v.size()) + " operands");
  if (const Value folded = fold(op, v)) return folded;
  const Type t = type(v[op == Op::Select ? 1 : 0]);
  const Type result = is_comparison(op) ? t.with_dtype(DType::Bool) : t;
  // Float minimum and maximum with a constant: the constant first, so that it needs no test for NaN. Here and not in a
  // printer, since the order decides the sign of a zero.
  if ((op == Op::Min || op == Op::Max) && kernel_.is_constant(v[1]) && !kernel_.is_constant(v[0]))
    return emit(Code::Arith, result, {v[1], v[0]}, 0, op);
  const bool shareable = t.lanes == 1 && (!is_float(t.dtype) || t.is_pointer);
  return shareable ? emit_shared(Code::Arith, result, v, op) : emit(Code::Arith, result, v, 0, op);
}

Value Builder::cast(Value v, DType to) {
  const Type t = type(v);
  if (t.dtype == to) return v;
  int64_t value = 0;
  if (is_constant(v, &value) && !is_float(to)) return integer(t.with_dtype(to), value);
  if (is_constant(v, &value) && is_float(to) && size_bytes(to) >= 4 && value < (int64_t{1} << 24) &&
      value > -(int64_t{1} << 24))
    return constant(t.with_dtype(to), static_cast<double>(value));
  const Type result = t.with_dtype(to);
  if (t.lanes == 1 && !is_float(t.dtype) && !is_float(to))
    return emit_shared(Code::Arith, result, std::span(&v, 1), Op::Cast);
  return emit(Code::Arith, result, {v}, 0, Op::Cast);
}

Value Builder::cast_in_range(Value v, DType to) {
  FRIT_CHECK(is_float(type(v).dtype) && is_integer(to), "cast_in_range of " + to_string(type(v)));
  return emit(Code::CastInRange, type(v).with_dtype(to), {v});
}

Value Builder::bitcast(Value v, DType to) {
  const Type t = type(v);
  if (t.dtype == to) return v;
  FRIT_CHECK(bit_width(t.dtype) == bit_width(to), "bitcast of " + to_string(t));
  if (kernel_.is_constant(v)) return constant_bits(t.with_dtype(to), kernel_.constant_bits(v));
  return emit(Code::Arith, t.with_dtype(to), {v}, 0, Op::BitCast);
}

// Vectors.

Value Builder::splat(Value v, int lanes) {
  const Type t = type(v);
  FRIT_CHECK(t.lanes == 1 && !t.is_pointer, "splat of " + to_string(t));
  if (lanes == 1) return v;
  if (kernel_.is_constant(v)) return constant_bits(t.with_lanes(lanes), kernel_.constant_bits(v));
  return emit(Code::Splat, t.with_lanes(lanes), {v});
}

Value Builder::extract(Value v, int lane) {
  const Type t = type(v);
  if (kernel_.is_constant(v)) return constant_bits(t.with_lanes(1), kernel_.constant_bits(v));
  return emit(Code::Extract, t.with_lanes(1), {v}, static_cast<uint64_t>(lane));
}

Value Builder::insert(Value v, Value element, int lane) {
  return emit(Code::Insert, type(v), {v, element}, static_cast<uint64_t>(lane));
}

Value Builder::shuffle(Value a, Value b, std::span<const int32_t> mask) {
  const uint64_t first = kernel_.mask_pool.size();
  kernel_.mask_pool.insert(kernel_.mask_pool.end(), mask.begin(), mask.end());
  return emit(Code::Shuffle, type(a).with_lanes(static_cast<int>(mask.size())), {a, b}, first);
}

// Memory.

int Builder::element_alignment(Type type, int alignment) const {
  return alignment ? alignment : size_bytes(type.dtype);
}

Value Builder::ptr_add(Value pointer_value, Value bytes) {
  int64_t value = 0;
  if (is_constant(bytes, &value) && value == 0) return pointer_value;
  const Value v[] = {pointer_value, bytes};
  return emit_shared(Code::PtrAdd, pointer(), v, Op::Add);
}

Value Builder::load(Type type, Value pointer, int alignment) {
  return emit(Code::Load, type, {pointer}, static_cast<uint64_t>(element_alignment(type, alignment)));
}

void Builder::store(Value pointer, Value value, int alignment) {
  emit(Code::Store, type(value), {pointer, value}, static_cast<uint64_t>(element_alignment(type(value), alignment)));
}

// One lane under a mask is a branch: vector instructions of one lane do not exist in the IR.
Value Builder::load_if(Value pointer, Value mask, Value otherwise, int alignment) {
  begin_if(mask);
  begin_else({load(type(otherwise), pointer, alignment)});
  return end_if({otherwise})[0];
}

void Builder::store_if(Value pointer, Value mask, Value value, int alignment) {
  begin_if(mask);
  store(pointer, value, alignment);
  end_if();
}

Value Builder::masked_load(Value pointer, Value mask, Value passthrough, int alignment) {
  const Type t = type(passthrough);
  if (!t.is_vector()) return load_if(pointer, mask, passthrough, alignment);
  return emit(Code::MaskedLoad, t, {pointer, mask, passthrough},
              static_cast<uint64_t>(element_alignment(t, alignment)));
}

void Builder::masked_store(Value pointer, Value mask, Value value, int alignment) {
  const Type t = type(value);
  if (!t.is_vector()) return store_if(pointer, mask, value, alignment);
  emit(Code::MaskedStore, t, {pointer, mask, value}, static_cast<uint64_t>(element_alignment(t, alignment)));
}

Value Builder::gather(Value base, Value byte_offsets, Value mask, Value passthrough, int alignment) {
  const Type t = type(passthrough);
  if (!t.is_vector()) return load_if(ptr_add(base, byte_offsets), mask, passthrough, alignment);
  return emit(Code::Gather, t, {base, byte_offsets, mask, passthrough},
              static_cast<uint64_t>(element_alignment(t, alignment)));
}

void Builder::scatter(Value base, Value byte_offsets, Value mask, Value value, int alignment) {
  const Type t = type(value);
  if (!t.is_vector()) return store_if(ptr_add(base, byte_offsets), mask, value, alignment);
  emit(Code::Scatter, t, {base, byte_offsets, mask, value}, static_cast<uint64_t>(element_alignment(t, alignment)));
}

void Builder::prefetch(Value pointer) { emit(Code::Prefetch, {}, {pointer}); }
void Builder::barrier() { emit(Code::Barrier, {}, {}); }

// Control flow. The loop or if is placed in its region only when it ends: what is meanwhile emitted at the depth of
// that region stands before it.

Builder::Loop Builder::begin_loop(Value begin, Value end, Value step, std::span<const Value> inits, bool runs_once) {
  FRIT_CHECK(at_ < 0, "a loop begins in the innermost region");
  std::vector<Value> operands = {begin, end, step};
  operands.insert(operands.end(), inits.begin(), inits.end());
  const uint32_t i = add_instruction(Code::Loop, {}, operands, runs_once);
  const uint32_t region = new_region();
  kernel_.instructions[i].regions[0] = region;
  open_.push_back({region, i, {}});
  Loop loop;
  loop.i = new_value({scalar(DType::I64), i, 0, true}, depth());
  kernel_.regions[region].arguments.push_back(loop.i);
  for (size_t k = 0; k < inits.size(); ++k) {
    const Value v = new_value({type(inits[k]), i, static_cast<uint32_t>(k + 1), true}, depth());
    loop.carried.push_back(v);
    kernel_.regions[region].arguments.push_back(v);
  }
  return loop;
}

void Builder::yield(std::span<const Value> values) {
  FRIT_CHECK(at_ < 0 && depth() > 0, "nothing is open");
  emit(Code::Yield, {}, values);
}

std::vector<Value> Builder::add_results(uint32_t instruction, std::span<const Value> like) {
  std::vector<Value> results;
  kernel_.instructions[instruction].first_result = static_cast<uint32_t>(kernel_.values.size());
  kernel_.instructions[instruction].result_count = static_cast<uint32_t>(like.size());
  for (size_t k = 0; k < like.size(); ++k)
    results.push_back(new_value({type(like[k]), instruction, static_cast<uint32_t>(k), false}, depth()));
  return results;
}

std::vector<Value> Builder::end_loop(std::span<const Value> yields) {
  yield(yields);
  const uint32_t i = open_.back().instruction;
  FRIT_CHECK(kernel_.instructions[i].code == Code::Loop && yields.size() + 3 == kernel_.instructions[i].operand_count,
             "end_loop: an if is open, or " + std::to_string(yields.size()) + " values yielded");
  open_.pop_back();
  current().instructions.push_back(i);
  return add_results(i, yields);
}

void Builder::begin_if(Value condition) {
  FRIT_CHECK(at_ < 0, "an if begins in the innermost region");
  const uint32_t i = add_instruction(Code::If, {}, std::span(&condition, 1));
  const uint32_t region = new_region();
  kernel_.instructions[i].regions[0] = region;
  open_.push_back({region, i, {}});
}

void Builder::begin_else(std::span<const Value> yields) {
  yield(yields);
  Open& open = open_.back();
  Instruction& i = kernel_.instructions[open.instruction];
  FRIT_CHECK(i.code == Code::If && i.regions[1] == UINT32_MAX, "begin_else: no if is open");
  const uint32_t region = new_region();
  kernel_.instructions[open.instruction].regions[1] = region;
  open.region = region;
  open.integers.clear();
}

std::vector<Value> Builder::end_if(std::span<const Value> yields) {
  const uint32_t i = open_.back().instruction;
  FRIT_CHECK(depth() > 0 && kernel_.instructions[i].code == Code::If, "end_if: no if is open");
  if (kernel_.instructions[i].regions[1] == UINT32_MAX) {
    FRIT_CHECK(yields.empty(), "end_if: values yielded without else");
    begin_else();
  }
  yield(yields);
  open_.pop_back();
  current().instructions.push_back(i);
  return add_results(i, yields);
}

Kernel Builder::finish() {
  FRIT_CHECK(depth() == 0, "finish: " + std::to_string(depth()) + " regions are open");
  check(kernel_);
  return std::move(kernel_);
}

}  // namespace frit::kernel
