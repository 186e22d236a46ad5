// Values of a tile: expressions at row r and vector v, loads and stores.
#include <algorithm>

#include "codegen/lower/emit.h"
#include "support/error.h"

namespace frit {
namespace {

DType memory_dtype(DType dtype) { return dtype == DType::Bool ? DType::U8 : dtype; }

}  // namespace

int NestEmitter::depth_of(uint64_t mask) const {
  int depth = part_depth_;
  for (size_t a = 0; a < nest_.axes.size(); ++a)
    if (nest_.axes[a].reduced && (mask >> a & 1) != 0) depth = std::max(depth, depth_[a]);
  return std::min(depth, b_.depth());
}

// The value of `e`, made once for all rows and vectors that it does not depend on, outside the loops that it does not
// depend on.
kernel::Value NestEmitter::eval(const Expr& e, int r, int v) {
  if (e.op() == Op::Acc || e.op() == Op::AccRight) {
    const size_t k = e.bits();
    if (left_) return e.op() == Op::Acc ? (*left_)[k] : right_[k];
    const bool stored_by_vector = vector_is_reduced() && !part_.scalar;
    const int vectors = stored_by_vector ? schedule_.vectors : part_.vectors;
    return states_[k][static_cast<size_t>(r * vectors + v)];
  }
  const uint64_t mask = left_ ? ~uint64_t{0} : dependences_.of(e);
  const std::tuple key{e.id(), on_row(mask) ? r : 0, on_vector(mask) ? v : 0};
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const Value value = eval_new(e, mask, r, v);
  known_[key] = value;
  if ((mask & Dependences::kState) != 0) of_states_.push_back(key);
  return value;
}

kernel::Value NestEmitter::eval_new(const Expr& e, uint64_t mask, int r, int v) {
  if (e.op() == Op::Const) {
    const kernel::Type type = kernel::scalar(e.dtype());
    return is_float(e.dtype()) ? b_.constant(type, e.float_value()) : b_.integer(type, e.int_value());
  }
  if (positive_axis_ >= 0 && is_first_step_test(e, positive_axis_)) return b_.boolean(true);
  // Operands first: they find their own places.
  const bool is_read = e.op() == Op::Read;
  const Access* access = is_read ? &nest_.reads.at(e.id()) : nullptr;
  const auto operands = !(access && access->affine) ? e.args()
                        : access->guarded           ? e.args().subspan(e.positions().size())
                                                    : std::span<const Expr>();
  for (const Expr& arg : operands) eval(arg, r, v);
  return b_.at_depth(depth_of(mask), [&]() -> Value {
    if (e.op() == Op::Index) return eval_leaf_index(e, r, v);
    if (is_read && access->affine && access->guarded) return read_guarded(e, *access, r, v);
    if (is_read) return access->affine ? read_affine(*access, mask, r, v) : read_general(e, *access, r, v);
    return apply(e, r, v);
  });
}

kernel::Value NestEmitter::eval_leaf_index(const Expr& e, int r, int v) {
  const int a = nest_.axis_of[e.bits()];
  if (a < 0) return b_.i64(0);
  Value value = index_[static_cast<size_t>(a)];
  if (a == schedule_.row_axis && part_.rows > 1) return b_.add(value, b_.i64(r));
  if (a != schedule_.vector_axis || part_.scalar) return value;
  value = b_.add(value, b_.i64(int64_t{v} * schedule_.lanes));
  return b_.add(b_.splat(value, schedule_.lanes), b_.iota(kernel::vector_of(DType::I64, schedule_.lanes)));
}

kernel::Value NestEmitter::apply(const Expr& e, int r, int v) {
  Values args;
  int lanes = 1;
  for (const Expr& arg : e.args()) {
    // The bound of a guard is a size: an argument, as all sizes are.
    const bool is_bound = is_comparison(e.op()) && arg.op() == Op::Const && arg.dtype() == DType::I64 &&
                          (arg.int_value() > 1 || arg.int_value() < -1);
    args.push_back(is_bound ? number(Number::Bound, arg.id(), 0, arg.int_value(), "bound") : eval(arg, r, v));
    lanes = std::max<int>(lanes, b_.type(args.back()).lanes);
  }
  for (size_t i = 0; i < args.size(); ++i)
    if (!(e.op() == Op::Select && i == 0)) args[i] = widen(args[i], lanes);  // a scalar condition chooses whole vectors
  if (e.op() == Op::Cast) return b_.cast(args[0], e.dtype());
  if (e.op() == Op::BitCast) return b_.bitcast(args[0], e.dtype());
  if (args.size() == 1) return b_.arith(e.op(), {args[0]});
  if (args.size() == 2) return b_.arith(e.op(), {args[0], args[1]});
  return b_.arith(e.op(), {args[0], args[1], args[2]});
}

// A broadcast stands before its first use and serves all others that come after it in its region or below.
kernel::Value NestEmitter::widen(Value value, int lanes) {
  if (b_.type(value).lanes == lanes) return value;
  Value& known = known_[{&splats_, static_cast<int>(value.id), lanes}];
  if (!known || b_.depth_of(known) > b_.emission_depth()) known = b_.splat(value, lanes);
  return known;
}

kernel::Value NestEmitter::integers(Op op, Value x, Value y) {
  const int lanes = std::max(b_.type(x).lanes, b_.type(y).lanes);
  return b_.arith(op, {widen(x, lanes), widen(y, lanes)});
}

kernel::Value NestEmitter::from_memory(Value loaded, DType dtype) {
  if (dtype != DType::Bool) return loaded;
  return b_.ne(loaded, b_.zero(b_.type(loaded)));
}

// Loads one element, or a vector: contiguous from `pointer`, or at byte offsets; lanes outside `mask` give
// `passthrough`.
kernel::Value NestEmitter::load(kernel::Type memory, Value pointer, bool contiguous, Value offsets, Value mask,
                                Value passthrough) {
  if (!memory.is_vector()) return b_.load(memory, pointer);
  if (contiguous && !mask) return b_.load(memory, pointer);
  if (!mask) mask = b_.boolean(true, memory.lanes);
  if (!passthrough) passthrough = b_.zero(memory);
  if (contiguous) return b_.masked_load(pointer, mask, passthrough);
  return b_.gather(pointer, offsets, mask, passthrough);
}

kernel::Value NestEmitter::read_affine(const Access& access, uint64_t mask, int r, int v) {
  const DType memory = memory_dtype(access.dtype);
  Value pointer = row_pointer(access, mask, r);
  if (!on_vector(mask)) return from_memory(b_.load(kernel::scalar(memory), pointer), access.dtype);
  const size_t a = static_cast<size_t>(schedule_.vector_axis);
  const bool contiguous = access.coefficients[a] == 1;
  const kernel::Type type = kernel::vector_of(memory, schedule_.lanes);
  Value offsets;
  if (contiguous) {
    pointer = b_.ptr_add(pointer, int64_t{v} * schedule_.lanes * size_bytes(memory));
  } else {
    const Value stride = stride_bytes(access, schedule_.vector_axis);
    pointer = b_.ptr_add(pointer, b_.mul(stride, b_.i64(int64_t{v} * schedule_.lanes)));
    const kernel::Type lanes = kernel::vector_of(DType::I64, schedule_.lanes);
    offsets = b_.mul(b_.iota(lanes), b_.splat(stride, schedule_.lanes));
  }
  const bool padded = access.blocked_axis == schedule_.vector_axis;
  const Value inside = part_.masked && !padded ? lane_mask(v) : Value();
  return from_memory(load(type, pointer, contiguous, offsets, inside, Value()), access.dtype);
}

// An affine read under a guard: the address is only used where the condition holds.
kernel::Value NestEmitter::read_guarded(const Expr& e, const Access& access, int r, int v) {
  const DType memory = memory_dtype(access.dtype);
  const uint64_t mask = dependences_.of_access(access);
  const Value inside = eval(e.guard_condition(), r, v);
  if (int64_t always = 0; b_.is_constant(inside, &always) && always != 0) return read_affine(access, mask, r, v);
  const Value fill = eval(e.fill(), r, v);
  Value pointer = row_pointer(access, mask, r);
  if (!on_vector(mask) && !b_.type(inside).is_vector()) {
    pointer = b_.select(inside, pointer, buffer_of(access));
    return choose(inside, from_memory(b_.load(kernel::scalar(memory), pointer), access.dtype), fill);
  }
  const int lanes = schedule_.lanes;
  Value condition = widen(inside, lanes);
  if (part_.masked) condition = b_.logical_and(condition, lane_mask(v));
  const kernel::Type type = kernel::vector_of(memory, lanes);
  const bool contiguous = on_vector(mask) && access.coefficients[static_cast<size_t>(schedule_.vector_axis)] == 1;
  if (contiguous) {
    pointer = b_.ptr_add(pointer, int64_t{v} * lanes * size_bytes(memory));
    if (memory == access.dtype) return b_.masked_load(pointer, condition, widen(fill, lanes));
    return choose(inside, from_memory(load(type, pointer, true, Value(), condition, Value()), access.dtype), fill);
  }
  const kernel::Type indices = kernel::vector_of(DType::I64, lanes);
  Value offsets = b_.zero(indices);
  if (on_vector(mask)) {
    const Value stride = stride_bytes(access, schedule_.vector_axis);
    pointer = b_.ptr_add(pointer, b_.mul(stride, b_.i64(int64_t{v} * lanes)));
    offsets = b_.mul(b_.iota(indices), b_.splat(stride, lanes));
  }
  return choose(inside, from_memory(load(type, pointer, false, offsets, condition, Value()), access.dtype), fill);
}

// select with operands of different widths.
kernel::Value NestEmitter::choose(Value condition, Value a, Value b) {
  const int lanes = std::max({b_.type(condition).lanes, b_.type(a).lanes, b_.type(b).lanes});
  return b_.select(condition, widen(a, lanes), widen(b, lanes));
}

// A read with a guard, or at positions that are not affine: offsets from the positions, per lane where they differ.
kernel::Value NestEmitter::read_general(const Expr& e, const Access& access, int r, int v) {
  const DType memory = memory_dtype(access.dtype);
  const int64_t size = size_bytes(memory);
  const auto positions = e.positions();
  // Contiguous when only one position moves along the vector axis, by one, at unit stride.
  int moving = 0;
  bool unit = true;
  const Value scalar_offset = number(Number::Offset, &access, 0, access.storage.offset * size, "offset");
  Value offset = scalar_offset;
  Value inside;
  for (size_t d = 0; d < positions.size(); ++d) {
    const Value p = eval(positions[d], r, v);
    const Storage::AxisStep& step = access.storage.axes[d];
    const auto walk = affine(positions[d], nest_.axis_of.size());
    if (b_.type(p).is_vector()) {
      ++moving;
      int64_t along = 0;
      for (size_t k = 0; walk && k < nest_.axis_of.size(); ++k)
        if (nest_.axis_of[k] == schedule_.vector_axis) along += walk->coefficients[k];
      unit = unit && walk && along == 1 && step.stride == 1 && step.block == 0;
    }
    const int dim = static_cast<int>(d);
    Value at;
    if (step.block != 0) {
      const Value block = integers(Op::TruncDiv, p, b_.i64(step.block));
      const Value rest = integers(Op::Sub, p, integers(Op::Mul, block, b_.i64(step.block)));
      const Value by_block = number(Number::StepBlock, &access, dim, step.block_stride * size, "block_bytes");
      at = integers(Op::Add, integers(Op::Mul, block, by_block),
                    integers(Op::Mul, rest, number(Number::Step, &access, dim, step.stride * size, "bytes")));
    } else {
      const Value bytes =
          step.stride == 1 ? b_.i64(size) : number(Number::Step, &access, dim, step.stride * size, "bytes");
      at = integers(Op::Mul, p, bytes);
    }
    offset = integers(Op::Add, offset, at);
  }
  if (e.is_guarded()) inside = eval(e.guard_condition(), r, v);
  const bool is_vector = b_.type(offset).is_vector() || (inside && b_.type(inside).is_vector());
  const Value buffer = buffer_of(access);
  if (!is_vector) {
    if (inside) offset = b_.select(inside, offset, scalar_offset);
    const Value loaded = from_memory(b_.load(kernel::scalar(memory), b_.ptr_add(buffer, offset)), access.dtype);
    return inside ? b_.select(inside, loaded, eval(e.fill(), r, v)) : loaded;
  }
  const int lanes = schedule_.lanes;
  Value mask = inside ? widen(inside, lanes) : Value();
  if (part_.masked) mask = mask ? b_.logical_and(mask, lane_mask(v)) : lane_mask(v);
  Value loaded;
  const kernel::Type type = kernel::vector_of(memory, lanes);
  if (moving == 1 && unit) {
    loaded = load(type, b_.ptr_add(buffer, b_.extract(offset, 0)), true, Value(), mask, Value());
  } else {
    loaded = load(type, buffer, false, widen(offset, lanes), mask, Value());
  }
  loaded = from_memory(loaded, access.dtype);
  if (!inside) return loaded;
  return b_.select(widen(inside, lanes), loaded, widen(eval(e.fill(), r, v), lanes));
}

void NestEmitter::write(const Access& access, Value value, int r, int v) {
  if (access.dtype == DType::Bool)
    value = b_.select(value, b_.integer(b_.type(value).with_dtype(DType::U8), 1),
                      b_.integer(b_.type(value).with_dtype(DType::U8), 0));
  const uint64_t mask = dependences_.of_access(access);
  Value pointer = row_pointer(access, mask, r);
  if (!on_vector(mask)) return b_.store(pointer, b_.type(value).is_vector() ? b_.extract(value, 0) : value);
  const size_t a = static_cast<size_t>(schedule_.vector_axis);
  value = widen(value, schedule_.lanes);
  const bool padded = access.blocked_axis == schedule_.vector_axis;
  const int64_t size = size_bytes(memory_dtype(access.dtype));
  if (access.coefficients[a] == 1) {
    pointer = b_.ptr_add(pointer, int64_t{v} * schedule_.lanes * size);
    if (part_.masked && !padded) return b_.masked_store(pointer, lane_mask(v), value);
    return b_.store(pointer, value);
  }
  const Value stride = stride_bytes(access, schedule_.vector_axis);
  pointer = b_.ptr_add(pointer, b_.mul(stride, b_.i64(int64_t{v} * schedule_.lanes)));
  const Value offsets =
      b_.mul(b_.iota(kernel::vector_of(DType::I64, schedule_.lanes)), b_.splat(stride, schedule_.lanes));
  b_.scatter(pointer, offsets, part_.masked ? lane_mask(v) : b_.boolean(true, schedule_.lanes), value);
}

}  // namespace frit
