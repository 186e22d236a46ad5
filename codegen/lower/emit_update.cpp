// The innermost loop of a scatter: elements at computed positions are read, changed and written, one after another.
#include <algorithm>

#include "codegen/lower/emit.h"
#include "support/error.h"

namespace frit {

// The vectors of a tile are at different positions of an axis that the write names by itself: they never meet.
void NestEmitter::update_elements() {
  const Access& to = nest_.writes[0];
  const std::vector<Expr>& step = nest_.reduction.step;
  for (int v = 0; v < part_.vectors; ++v) {
    Value inside = step[NestUpdate::kCondition].is_constant(1) ? Value() : eval(step[NestUpdate::kCondition], 0, v);
    const auto require = [&](Value condition) { inside = inside ? integers(Op::And, inside, condition) : condition; };
    Value offset;
    for (size_t k = 0; k < nest_.update->dims.size(); ++k) {
      const int d = nest_.update->dims[k];
      const Value p = eval(step[NestUpdate::kPositions + k], 0, v);
      if (static_cast<int>(k) == limit_.position) {
        require(integers(Op::Le, limit_.low, p));
        require(integers(Op::Lt, p, limit_.high));
      }
      const int64_t bytes = to.storage.axes[static_cast<size_t>(d)].stride * size_bytes(to.dtype);
      const Value at = integers(Op::Mul, p, number(Number::Step, &to, d, bytes, "bytes"));
      offset = offset ? integers(Op::Add, offset, at) : at;
    }
    update_element(v, inside, offset);
  }
  states_.clear();  // no loop carries them: they are in memory
}

// One element, or one vector of them.
void NestEmitter::update_element(int v, Value inside, Value offset) {
  const Access& to = nest_.writes[0];
  const uint64_t mask = dependences_.of_access(to);
  const int64_t size = size_bytes(to.dtype);
  Value pointer = row_pointer(to, mask, 0);
  const bool is_vector = schedule_.vector_axis >= 0;
  Value offsets, lanes;
  if (is_vector) {
    FRIT_CHECK(to.coefficients[static_cast<size_t>(schedule_.vector_axis)] == 1, "vectors of a scatter are contiguous");
    pointer = b_.ptr_add(pointer, int64_t{v} * schedule_.lanes * size);
    if (part_.masked) lanes = lane_mask(v);
    if (inside && b_.type(inside).is_vector()) {
      lanes = lanes ? b_.logical_and(lanes, inside) : inside;
      inside = Value();
    }
  }
  if (offset && b_.type(offset).is_vector()) {
    const kernel::Type type = kernel::vector_of(DType::I64, schedule_.lanes);
    const Value along = b_.mul(b_.iota(type), b_.splat(b_.i64(size), schedule_.lanes));
    offsets = b_.add(offset, along);
  } else if (offset) {
    pointer = b_.ptr_add(pointer, offset);
  }
  const auto at = static_cast<size_t>(v);
  states_.assign(2, Values(static_cast<size_t>(part_.vectors)));
  states_[1][at] = eval(nest_.reduction.step[NestUpdate::kValue], 0, v);  // outside the condition it may leave loops
  if (is_vector) states_[1][at] = widen(states_[1][at], schedule_.lanes);
  if (!inside) return change(pointer, offsets, lanes, v);
  const auto known = known_;
  const int depth = part_depth_;
  b_.begin_if(inside);
  part_depth_ = b_.depth();
  change(pointer, offsets, lanes, v);
  b_.end_if();
  part_depth_ = depth;
  known_ = known;
}

// Reads, changes and writes: at a pointer, or at offsets from it, where `mask` holds.
void NestEmitter::change(Value pointer, Value offsets, Value mask, int v) {
  const Access& to = nest_.writes[0];
  const auto at = static_cast<size_t>(v);
  const DType memory = to.dtype == DType::Bool ? DType::U8 : to.dtype;
  const kernel::Type type = b_.type(states_[1][at]).with_dtype(memory);
  if (nest_.update->reads_before)
    states_[0][at] = from_memory(load(type, pointer, !offsets, offsets, mask, Value()), to.dtype);
  Value changed = eval(nest_.reduction.step[NestUpdate::kChanged], 0, v);
  if (to.dtype == DType::Bool) changed = b_.select(changed, b_.integer(type, 1), b_.integer(type, 0));
  if (offsets) return b_.scatter(pointer, offsets, mask ? mask : b_.boolean(true, type.lanes), changed);
  if (mask) return b_.masked_store(pointer, mask, changed);
  b_.store(pointer, changed);
}

}  // namespace frit
