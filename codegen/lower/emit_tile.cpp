// Loops of a nest: shares, tiles, rows, vectors, the reduction and its streams of pointers.
#include <algorithm>
#include <set>

#include "codegen/lower/emit.h"
#include "support/error.h"

namespace frit {

namespace {
constexpr int kRowsPerGroup = 3;  // a row pointer serves rows at 0, 1 and 2 strides: address forms that cost nothing
constexpr int kUnrolledEpilogue = 170;  // operations of an epilogue that is written out for every row and vector
// Registers beside the sums of a masked tile: operands, and masks of two widths. SSE2 takes masks apart lane by lane.
constexpr int kMaskedOthers = 8, kMaskedOthersSse2 = 14;
constexpr int kTailRows = 4;            // rows that do not fill a tile go in tiles of four, then one by one
}  // namespace

NestEmitter::NestEmitter(Target target, const Nest& nest, const Schedule& schedule)
    : target_(target),
      b_(target.b),
      nest_(nest),
      schedule_(schedule),
      dependences_(nest),
      index_(nest.axes.size()),
      depth_(nest.axes.size(), 0),
      is_long_(formula_size(nest) > kLongFormula) {}

int64_t NestEmitter::tile_size(int a) const {
  if (a == schedule_.vector_axis) return int64_t{schedule_.lanes} * schedule_.vectors;
  return a == schedule_.row_axis ? schedule_.rows : 1;
}

int64_t NestEmitter::tile_count(int a) const {
  const int64_t extent = std::max(axis(a).extent, axis(a).padded);
  return (extent + tile_size(a) - 1) / tile_size(a);
}

// A flat product is walked block of rows by block of rows, so that rows and vectors stay in the second level of cache;
// always, so that large and small ones share their text.
bool NestEmitter::has_row_blocks() const {
  return vector_is_free() && schedule_.order == std::vector<int>{schedule_.vector_axis, schedule_.row_axis};
}

int64_t NestEmitter::row_block() const {
  const int64_t rows = std::max<int64_t>(1, tile_count(schedule_.row_axis));
  return schedule_.row_block > 0 ? std::min<int64_t>(schedule_.row_block, rows) : rows;
}

std::vector<int64_t> NestEmitter::tile_counts() const {
  if (has_row_blocks()) {
    const int64_t rows = tile_count(schedule_.row_axis), block = row_block();
    return {(rows + block - 1) / block, tile_count(schedule_.vector_axis), block};
  }
  std::vector<int64_t> counts;
  for (const int a : schedule_.order) counts.push_back(tile_count(a));
  return counts;
}

void NestEmitter::bind_tile(const std::vector<Value>& tiles) {
  const auto at = [&](int a, Value tile) { bind(a, b_.mul(tile, b_.i64(tile_size(a)))); };
  if (has_row_blocks()) {
    at(schedule_.vector_axis, tiles[1]);
    // The last block may have tiles beyond the last row: there is nothing left for them.
    const Value first = b_.mul(tiles[0], target_.number(row_block(), "row_block"));
    return at(schedule_.row_axis, b_.add(first, tiles[2]));
  }
  for (size_t i = 0; i < tiles.size(); ++i) at(schedule_.order[i], tiles[i]);
}

void NestEmitter::serial_loops() { serial_loops(std::vector<bool>(nest_.axes.size(), false)); }

void NestEmitter::serial_loops(const std::vector<bool>& bound, int ranged, Value low, Value high) {
  size_t open = 0;
  for (const int a : schedule_.order) {
    if (bound[static_cast<size_t>(a)]) continue;
    const int64_t extent = std::max(axis(a).extent, axis(a).padded);
    const Value start = a == ranged ? low : b_.i64(0);
    const Value end = a == ranged ? high : target_.number(extent, axis(a).name);
    const auto loop = b_.begin_loop(start, end, b_.i64(tile_size(a)));
    bind(a, loop.i);
    ++open;
  }
  tile();
  while (open-- > 0) b_.end_loop();
}

void NestEmitter::tile() { split_rows(); }

kernel::Value NestEmitter::number(Number kind, const void* of, int a, int64_t value, const std::string& name) {
  Value& known = numbers_[{kind, of, a}];
  if (!known) known = target_.number(value, name);
  return known;
}

kernel::Value NestEmitter::extent_of(int a) { return number(Number::Extent, nullptr, a, axis(a).extent, axis(a).name); }

// Full tiles of rows, else what is left in small tiles. The text does not know whether rows come out even: one serves
// every extent.
void NestEmitter::split_rows() {
  if (schedule_.rows <= 1) return split_vectors(1);
  const size_t a = static_cast<size_t>(schedule_.row_axis);
  const Value base = index_[a];
  const Value extent = extent_of(schedule_.row_axis);
  const Value left = b_.sub(extent, base);
  b_.begin_if(b_.le(b_.i64(schedule_.rows), left));
  split_vectors(schedule_.rows);
  b_.begin_else();
  Value at = base;
  if (schedule_.rows > kTailRows) {
    const Value fours = b_.add(base, b_.mul(b_.trunc_div(left, b_.i64(kTailRows)), b_.i64(kTailRows)));
    const auto loop = b_.begin_loop(base, fours, b_.i64(kTailRows));
    index_[a] = loop.i;
    split_vectors(kTailRows);
    b_.end_loop();
    at = fours;
  }
  const auto loop = b_.begin_loop(at, extent, b_.i64(1));
  index_[a] = loop.i;
  split_vectors(1);
  b_.end_loop();
  index_[a] = base;
  b_.end_if();
}

// Full vectors, else single vectors under a mask. Where every access of the loops is padded to whole tiles only the
// epilogue needs the masks. Full tiles of a long formula share the text of the masked ones.
void NestEmitter::split_vectors(int rows) {
  if (!vector_is_free()) return emit_part({rows, 1, false, schedule_.vector_axis < 0});
  const size_t a = static_cast<size_t>(schedule_.vector_axis);
  const Value base = index_[a];
  const Value extent = extent_of(schedule_.vector_axis);
  const Value left = b_.sub(extent, base);
  if (axis(schedule_.vector_axis).padded > 0 || loops_need_no_mask() || is_long_) {
    remaining_ = left;
    return emit_part({rows, schedule_.vectors, true, false});
  }
  b_.begin_if(b_.le(b_.i64(tile_size(schedule_.vector_axis)), left));
  emit_part({rows, schedule_.vectors, false, false});
  b_.begin_else();
  const auto loop = b_.begin_loop(base, extent, b_.i64(schedule_.lanes));
  index_[a] = loop.i;
  remaining_ = b_.sub(extent, loop.i);
  masked_vector(rows);
  b_.end_loop();
  index_[a] = base;
  b_.end_if();
}

// One vector under a mask. Where masks are vectors they take registers from the rows: then fewer rows at a time.
void NestEmitter::masked_vector(int rows) {
  int height = rows;
  const bool has_mask_registers = target_.machine.vector_bytes == 64;
  const int others = target_.machine.vector_bytes == 16 ? kMaskedOthersSse2 : kMaskedOthers;
  const auto fits = [&](int h) { return rows % h == 0 && h + others <= target_.machine.vector_registers; };
  while (height > 1 && !has_mask_registers && !fits(height)) --height;
  if (height == rows) return emit_part({rows, 1, true, false});
  const auto row = static_cast<size_t>(schedule_.row_axis);
  const Value first = index_[row];
  const auto loop = b_.begin_loop(b_.i64(0), b_.i64(rows), b_.i64(height));
  index_[row] = b_.add(first, loop.i);
  emit_part({height, 1, true, false});
  b_.end_loop();
  index_[row] = first;
}

// Whether all that the reduction reads along the vector axis is stored in whole blocks, and it writes nothing.
bool NestEmitter::loops_need_no_mask() {
  if (nest_.reduced_count() == 0 || nest_.is_scan()) return false;
  bool padded = true;
  for (const Expr& step : nest_.reduction.step) {
    for_each_node(step, [&](const Expr& e) {
      if (e.op() != Op::Read) return;
      const Access& access = nest_.reads.at(e.id());
      if (depends_on(dependences_.of(e), schedule_.vector_axis))
        padded = padded && access.affine && access.blocked_axis == schedule_.vector_axis;
    });
  }
  return padded;
}

void NestEmitter::emit_part(Part part) {
  part_ = part;
  part_depth_ = b_.depth();
  known_.clear();
  streams_.clear();
  if (nest_.reduction.op == ReduceOp::None) {
    results(part.rows, part.vectors);
  } else {
    start_states();
    open_streams();
    reduce_level(0);
    if (vector_is_reduced()) merge_lanes();
    streams_.clear();
    known_.clear();
    if (nest_.update) return states_.clear();
    if (part_.masked && axis(schedule_.vector_axis).padded == 0 && loops_need_no_mask())
      masked_results();
    else
      epilogue();
  }
  known_.clear();
  states_.clear();
}

// The epilogue of a tile whose loops ran without masks.
void NestEmitter::masked_results() {
  const Part part = part_;
  b_.begin_if(b_.le(b_.i64(tile_size(schedule_.vector_axis)), remaining_));
  part_.masked = false;
  epilogue();
  b_.begin_else();
  part_.masked = true;
  epilogue();
  b_.end_if();
  part_ = part;
}

// Results from the final states. A long epilogue is a loop over the rows, with the states put down in scratch: the text
// of a gelu is needed once for each vector, not for each row too.
void NestEmitter::epilogue() {
  known_.clear();
  part_depth_ = b_.depth();
  if (std::all_of(nest_.kept.begin(), nest_.kept.end(), [](bool kept) { return kept; })) return;
  const bool in_memory = std::all_of(states_.begin(), states_.end(), [&](const Values& state) {
    return b_.type(state[0]).dtype != DType::Bool;  // a bool is no byte in registers
  });
  if (part_.rows == 1 || !in_memory || epilogue_operations() * part_.rows * part_.vectors <= kUnrolledEpilogue)
    return results(part_.rows, part_.vectors);
  const Part part = part_;
  const std::vector<Values> states = states_;
  const Value row = index_[static_cast<size_t>(schedule_.row_axis)];
  std::vector<Value> slots;
  for (const Values& state : states) {
    const kernel::Type type = b_.type(state[0]);
    const int64_t bytes = type.lanes * size_bytes(type.dtype);
    slots.push_back(b_.ptr_add(b_.scratch(), target_.take_scratch(bytes * static_cast<int64_t>(state.size()))));
    for (size_t i = 0; i < state.size(); ++i)
      b_.store(b_.ptr_add(slots.back(), bytes * static_cast<int64_t>(i)), state[i], static_cast<int>(bytes));
  }
  const auto loop = b_.begin_loop(b_.i64(0), b_.i64(part.rows), b_.i64(1), std::span<const Value>(), true);
  part_.rows = 1;
  part_depth_ = b_.depth();
  index_[static_cast<size_t>(schedule_.row_axis)] = b_.add(row, loop.i);
  for (size_t k = 0; k < states.size(); ++k) {
    const kernel::Type type = b_.type(states[k][0]);
    const int64_t bytes = type.lanes * size_bytes(type.dtype);
    const Value at = b_.ptr_add(slots[k], b_.mul(loop.i, b_.i64(bytes * part.vectors)));
    states_[k].clear();
    for (int v = 0; v < part.vectors; ++v)
      states_[k].push_back(b_.load(type, b_.ptr_add(at, bytes * v), static_cast<int>(bytes)));
  }
  results(1, part.vectors);
  b_.end_loop();
  index_[static_cast<size_t>(schedule_.row_axis)] = row;
  states_ = states;
  known_.clear();
  part_ = part;
}

int NestEmitter::epilogue_operations() const {
  std::set<const void*> nodes;
  for (size_t k = 0; k < nest_.values.size(); ++k) {
    if (nest_.kept[k]) continue;
    for_each_node(nest_.values[k], [&](const Expr& e) {
      if (!e.args().empty() || e.op() == Op::Read) nodes.insert(e.id());
    });
  }
  return static_cast<int>(nodes.size() + nest_.writes.size());
}

void NestEmitter::results(int rows, int vectors) {
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v)
      for (size_t k = 0; k < nest_.values.size(); ++k)
        if (!nest_.kept[k]) write(nest_.writes[k], eval(nest_.values[k], r, v), r, v);
}

kernel::Value NestEmitter::lane_mask(int v) {
  Value& known = known_[{nullptr, 0, v}];
  if (known) return known;
  // Where it is first asked for may be deeper than where it is asked for next.
  known = b_.at_depth(b_.depth_of(remaining_), [&] {
    const kernel::Type lanes = kernel::vector_of(DType::I64, schedule_.lanes);
    const Value offset = b_.sub(remaining_, b_.i64(int64_t{v} * schedule_.lanes));
    return b_.lt(b_.iota(lanes), b_.splat(offset, schedule_.lanes));
  });
  return known;
}

// ------------------------------------------------------------------------------------------------ reduction

void NestEmitter::start_states() {
  states_.clear();
  const int lanes = part_.scalar ? 1 : schedule_.lanes;
  for (const Expr& init : nest_.reduction.init) {
    Values values;
    for (int r = 0; r < part_.rows; ++r) {
      for (int v = 0; v < (vector_is_reduced() ? schedule_.vectors : part_.vectors); ++v) {
        values.push_back(widen(eval(init, r, vector_is_reduced() ? 0 : v), lanes));
      }
    }
    states_.push_back(std::move(values));
  }
  if (vector_is_reduced()) part_.vectors = schedule_.vectors;
}

void NestEmitter::reduce_level(size_t level) {
  if (level == schedule_.reduced_order.size()) return step_states();
  const int a = schedule_.reduced_order[level];
  if (a == schedule_.vector_axis) return vector_reduction(level);

  const std::vector<Stream> before = streams_;
  const bool has_first = level + 1 == schedule_.reduced_order.size() && tests_for_first_step(a);
  if (has_first) first_step(a);
  const Value extent = extent_of(a);
  Values carried;
  for (const Values& state : states_) carried.insert(carried.end(), state.begin(), state.end());
  std::vector<size_t> moving;
  for (size_t s = 0; s < streams_.size(); ++s) {
    if (streams_[s].access->coefficients[static_cast<size_t>(a)] == 0) continue;
    moving.push_back(s);
    carried.push_back(streams_[s].pointer);
  }
  // A reduction over nothing is another text, so that all others need no test for it.
  const auto loop = b_.begin_loop(b_.i64(has_first ? 1 : 0), extent, b_.i64(1), std::span<const Value>(carried),
                                  axis(a).extent > (has_first ? 1 : 0));
  positive_axis_ = has_first ? a : -1;
  index_[static_cast<size_t>(a)] = loop.i;
  depth_[static_cast<size_t>(a)] = b_.depth();
  size_t next = 0;
  for (Values& state : states_)
    for (Value& value : state) value = loop.carried[next++];
  for (const size_t s : moving) streams_[s].pointer = loop.carried[next++];
  const std::vector<Stream> here = streams_;

  reduce_level(level + 1);

  Values yields;
  for (const Values& state : states_) yields.insert(yields.end(), state.begin(), state.end());
  for (const size_t s : moving) yields.push_back(b_.ptr_add(here[s].pointer, stride_bytes(*here[s].access, a)));
  const Values final = b_.end_loop(std::span<const Value>(yields));
  positive_axis_ = -1;
  known_.clear();
  next = 0;
  for (Values& state : states_)
    for (Value& value : state) value = final[next++];
  streams_ = before;
}

bool NestEmitter::is_first_step_test(const Expr& e, int a) const {
  return e.op() == Op::Lt && e.arg(0).is_constant(0) && e.arg(1).op() == Op::Index &&
         nest_.axis_of[e.arg(1).bits()] == a;
}

// Whether what a scan does in a step depends on whether it is the first one along axis `a`, as exclusive prefixes do.
bool NestEmitter::tests_for_first_step(int a) const {
  if (!nest_.is_scan() || axis(a).extent == 0) return false;
  bool found = false;
  const auto look = [&](const Expr& root) {
    for_each_node(root, [&](const Expr& e) { found = found || is_first_step_test(e, a); });
  };
  for (const Expr& step : nest_.reduction.step) look(step);
  for (size_t k = 0; k < nest_.values.size(); ++k)
    if (nest_.kept[k]) look(nest_.values[k]);
  return found;
}

// The first step before the loop, so that the others need no test.
void NestEmitter::first_step(int a) {
  index_[static_cast<size_t>(a)] = b_.i64(0);
  depth_[static_cast<size_t>(a)] = b_.depth();
  step_states();
  known_.clear();
  for (Stream& s : streams_)
    if (s.access->coefficients[static_cast<size_t>(a)] != 0)
      s.pointer = b_.ptr_add(s.pointer, stride_bytes(*s.access, a));
}

// The innermost loop when the vector axis is reduced: whole tiles of vectors, then single vectors under a mask.
void NestEmitter::vector_reduction(size_t level) {
  FRIT_CHECK(level + 1 == schedule_.reduced_order.size(), "a reduced vector axis is the innermost");
  const int a = schedule_.vector_axis;
  const Value extent = extent_of(a);
  const int64_t tile = tile_size(a);
  const Value whole = b_.mul(b_.trunc_div(extent, b_.i64(tile)), b_.i64(tile));
  const std::vector<Stream> start = streams_;
  const auto run = [&](Value from, Value to, int64_t step, bool masked) {
    Values carried;
    for (const Values& state : states_) carried.insert(carried.end(), state.begin(), state.end());
    std::vector<size_t> moving;
    for (size_t s = 0; s < streams_.size(); ++s) {
      if (streams_[s].access->coefficients[static_cast<size_t>(a)] == 0) continue;
      moving.push_back(s);
      carried.push_back(streams_[s].pointer);
    }
    const auto loop = b_.begin_loop(from, to, b_.i64(step), std::span<const Value>(carried));
    index_[static_cast<size_t>(a)] = loop.i;
    depth_[static_cast<size_t>(a)] = b_.depth();
    part_.masked = masked;
    part_.vectors = static_cast<int>(step / schedule_.lanes);
    if (masked) remaining_ = b_.sub(extent, loop.i);
    size_t next = 0;
    for (Values& state : states_)
      for (Value& value : state) value = loop.carried[next++];
    for (const size_t s : moving) streams_[s].pointer = loop.carried[next++];
    const std::vector<Stream> here = streams_;
    step_states();
    Values yields;
    for (const Values& state : states_) yields.insert(yields.end(), state.begin(), state.end());
    for (const size_t s : moving)
      yields.push_back(b_.ptr_add(here[s].pointer, b_.mul(stride_bytes(*here[s].access, a), b_.i64(step))));
    const Values final = b_.end_loop(std::span<const Value>(yields));
    known_.clear();
    next = 0;
    for (Values& state : states_)
      for (Value& value : state) value = final[next++];
    for (const size_t s : moving) streams_[s].pointer = final[next++];
  };
  if (!is_long_) run(b_.i64(0), whole, tile, false);
  run(is_long_ ? b_.i64(0) : whole, extent, schedule_.lanes, true);
  streams_ = start;
  part_.masked = false;
  part_.vectors = schedule_.vectors;
}

// One step of every state. In a masked step of a reduced vector axis lanes outside keep their state.
void NestEmitter::step_states() {
  if (nest_.update) return update_elements();
  const int stored = vector_is_reduced() ? schedule_.vectors : part_.vectors;
  load_shared_vectors();
  for (int r = 0; r < part_.rows; ++r) {
    for (int v = 0; v < part_.vectors; ++v) {
      const size_t at = static_cast<size_t>(r * stored + v);
      Values next;
      for (const Expr& step : nest_.reduction.step) next.push_back(eval(step, r, v));
      for (size_t k = 0; k < next.size(); ++k) {
        const int lanes = b_.type(states_[k][at]).lanes;
        next[k] = widen(next[k], lanes);
        if (vector_is_reduced() && part_.masked) next[k] = b_.select(lane_mask(v), next[k], states_[k][at]);
      }
      for (size_t k = 0; k < next.size(); ++k) states_[k][at] = next[k];
    }
  }
  if (nest_.is_scan()) kept_results();
}

// What a scan keeps of a step: values over the new states. All of an element are there before one is written, for what
// one of them reads may be where another is stored.
void NestEmitter::kept_results() {
  for (const auto& key : of_states_) known_.erase(key);
  of_states_.clear();
  for (int r = 0; r < part_.rows; ++r) {
    for (int v = 0; v < part_.vectors; ++v) {
      Values values;
      for (size_t k = 0; k < nest_.values.size(); ++k)
        values.push_back(nest_.kept[k] ? eval(nest_.values[k], r, v) : Value());
      for (size_t k = 0; k < nest_.values.size(); ++k)
        if (nest_.kept[k]) write(nest_.writes[k], values[k], r, v);
    }
  }
}

// Vectors that all rows share are loaded before the first row, so that a row is its broadcasts and their FMAs and
// nothing else: a register for each then suffices.
void NestEmitter::load_shared_vectors() {
  if (part_.rows == 1) return;
  for (int v = 0; v < part_.vectors; ++v) {
    for (const Expr& step : nest_.reduction.step) {
      for_each_node(step, [&](const Expr& e) {
        if (e.op() != Op::Read) return;
        const uint64_t mask = dependences_.of(e);
        if (on_vector(mask) && !on_row(mask)) eval(e, 0, v);
      });
    }
  }
}

kernel::Value NestEmitter::buffer_of(const Access& access) {
  return access.operand < 0 ? b_.scratch() : b_.buffer(access.operand);
}

NestEmitter::Values NestEmitter::merge(const Values& left, const Values& right) {
  left_ = &left;
  right_ = right;
  known_.clear();
  Values merged;
  for (const Expr& e : nest_.reduction.merge) merged.push_back(eval(e, 0, 0));
  left_ = nullptr;
  right_.clear();
  known_.clear();
  return merged;
}

// Vectors of a row in pairs, then lanes by halves; the state becomes a scalar.
void NestEmitter::merge_lanes() {
  for (int r = 0; r < part_.rows; ++r) {
    std::vector<Values> parts;
    for (int v = 0; v < schedule_.vectors; ++v) {
      Values part;
      for (const Values& state : states_) part.push_back(state[static_cast<size_t>(r * schedule_.vectors + v)]);
      parts.push_back(std::move(part));
    }
    while (parts.size() > 1) {
      std::vector<Values> joined;
      for (size_t i = 0; i + 1 < parts.size(); i += 2) joined.push_back(merge(parts[i], parts[i + 1]));
      if (parts.size() % 2 != 0) joined.push_back(parts.back());
      parts = std::move(joined);
    }
    for (int half = schedule_.lanes / 2; half >= 1; half /= 2) {
      Values high;
      std::vector<int32_t> mask;
      for (int i = 0; i < schedule_.lanes; ++i) mask.push_back((i + half) % schedule_.lanes);
      for (const Value value : parts[0]) high.push_back(b_.shuffle(value, value, mask));
      parts[0] = merge(parts[0], high);
    }
    for (size_t k = 0; k < states_.size(); ++k) states_[k][static_cast<size_t>(r)] = b_.extract(parts[0][k], 0);
  }
  part_.scalar = true;
  part_.vectors = 1;
}

// ------------------------------------------------------------------------------------------------ pointers

int NestEmitter::rows_per_group(const Access& access) const {
  const int64_t stride = access.coefficients[static_cast<size_t>(schedule_.row_axis)];
  return stride == 1 ? schedule_.rows : kRowsPerGroup;  // at unit stride rows are constant offsets
}

kernel::Value NestEmitter::stride_bytes(const Access& access, int a) {
  const int64_t coefficient = access.coefficients[static_cast<size_t>(a)];
  const int64_t size = size_bytes(access.dtype);
  if (coefficient == 1) return b_.i64(size);
  if (coefficient == 0) return b_.i64(0);
  return number(Number::Stride, &access, a, coefficient * size, axis(a).name + "_bytes");
}

// The address at the indices of the free and outer axes (tile starts), reduced indices 0.
kernel::Value NestEmitter::tile_pointer(const Access& access) {
  const int64_t size = size_bytes(access.dtype);
  Value pointer = buffer_of(access);
  if (access.constant != 0)
    pointer = b_.ptr_add(pointer, number(Number::Offset, &access, 0, access.constant * size, "offset"));
  for (size_t a = 0; a < nest_.axes.size(); ++a) {
    if (nest_.axes[a].reduced) continue;
    if (static_cast<int>(a) == access.blocked_axis) {
      const Value block = b_.trunc_div(index_[a], b_.i64(access.block));
      pointer = b_.ptr_add(
          pointer, b_.mul(block, number(Number::BlockStride, &access, 0, access.block_stride * size, "block_bytes")));
      // Tiles start at blocks; single vectors of a tail need not.
      if (int64_t{part_.vectors} * schedule_.lanes != access.block) {
        const Value within = b_.sub(index_[a], b_.mul(block, b_.i64(access.block)));
        pointer = b_.ptr_add(pointer, b_.mul(within, stride_bytes(access, static_cast<int>(a))));
      }
    } else if (access.coefficients[a] != 0) {
      pointer = b_.ptr_add(pointer, b_.mul(index_[a], stride_bytes(access, static_cast<int>(a))));
    }
  }
  return pointer;
}

NestEmitter::Stream* NestEmitter::stream(const Access& access, int group) {
  for (Stream& s : streams_)
    if (s.access == &access && s.group == group) return &s;
  return nullptr;
}

// Running pointers for what the steps read and, in a scan, for what it keeps; the reduction's loops carry them.
void NestEmitter::open_streams() {
  const auto open_reads = [&](const Expr& root) {
    for_each_node(root, [&](const Expr& e) {
      if (e.op() == Op::Read) open_stream(nest_.reads.at(e.id()));
    });
  };
  for (const Expr& step : nest_.reduction.step) open_reads(step);
  for (size_t k = 0; k < nest_.values.size(); ++k) {
    if (!nest_.kept[k]) continue;
    open_reads(nest_.values[k]);
    open_stream(nest_.writes[k]);
  }
}

// One for each group of rows.
void NestEmitter::open_stream(const Access& access) {
  if (!access.affine || stream(access, 0)) return;
  const uint64_t mask = dependences_.of_access(access);
  Value pointer = tile_pointer(access);
  const int per_group = on_row(mask) ? rows_per_group(access) : part_.rows;
  for (int first = 0; first < part_.rows; first += per_group) {
    streams_.push_back({&access, first / per_group, pointer});
    if (first + per_group < part_.rows)
      pointer = b_.ptr_add(pointer, b_.mul(stride_bytes(access, schedule_.row_axis), b_.i64(per_group)));
  }
}

// The pointer of an access for row r, at the current indices.
kernel::Value NestEmitter::row_pointer(const Access& access, uint64_t mask, int r) {
  const bool rows = on_row(mask);
  const int per_group = rows ? rows_per_group(access) : std::max(1, part_.rows);
  const int group = rows ? r / per_group : 0;
  Value pointer;
  if (const Stream* s = stream(access, group)) {
    pointer = s->pointer;
  } else {
    pointer = tile_pointer(access);
    if (group > 0)
      pointer = b_.ptr_add(pointer, b_.mul(stride_bytes(access, schedule_.row_axis), b_.i64(group * per_group)));
  }
  const int within = rows ? r % per_group : 0;
  if (within == 0) return pointer;
  return b_.ptr_add(pointer, b_.mul(stride_bytes(access, schedule_.row_axis), b_.i64(within)));
}

// ------------------------------------------------------------------------------------------------ shares

void emit_shares(Target target, const std::vector<int64_t>& counts,
                 const std::function<void(const std::vector<kernel::Value>&)>& body) {
  kernel::Builder& b = target.b;
  using kernel::Value;
  if (counts.size() <= 1) {
    const auto loop = b.begin_loop(b.begin(), b.end(), b.i64(1));
    body(counts.empty() ? std::vector<Value>{} : std::vector<Value>{loop.i});
    b.end_loop();
    return;
  }
  // Lines of the last axis: its tiles are walked without dividing; the first and last line of a share may be partial.
  const Value inner = target.number(counts.back(), "tiles");
  const Value first = b.trunc_div(b.begin(), inner);
  const Value last = b.trunc_div(b.sub(b.end(), b.i64(1)), inner);
  const auto line = b.begin_loop(first, b.add(last, b.i64(1)), b.i64(1));
  const Value start = b.mul(line.i, inner);
  const Value low = b.select(b.lt(start, b.begin()), b.sub(b.begin(), start), b.i64(0));
  const Value stop = b.sub(b.end(), start);
  const Value high = b.select(b.lt(stop, inner), stop, inner);
  std::vector<Value> tiles(counts.size());
  Value rest = line.i;
  for (size_t i = counts.size() - 1; i-- > 0;) {
    if (i == 0) {
      tiles[0] = rest;
    } else {
      const Value count = target.number(counts[i], "tiles");
      const Value outer = b.trunc_div(rest, count);
      tiles[i] = b.sub(rest, b.mul(outer, count));
      rest = outer;
    }
  }
  const auto loop = b.begin_loop(low, high, b.i64(1));
  tiles.back() = loop.i;
  body(tiles);
  b.end_loop();
  b.end_loop();
}

}  // namespace frit
