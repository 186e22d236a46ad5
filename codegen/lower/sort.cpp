#include "codegen/lower/sort.h"

#include <fmt/format.h>

#include <optional>

#include "codegen/kernel/builder.h"
#include "codegen/lower/emit.h"
#include "codegen/lower/operands.h"
#include "support/error.h"

namespace frit {
namespace {

using Values = std::vector<kernel::Value>;

// What is sorted in place of an element: a key, an integer whose signed order is the order asked for, and the position.
// Keys of up to 32 bits share one i64 with their position below them, so that comparing is one instruction; wider keys
// and positions are two i64, each in an array of its own.
class KeyOrder {
 public:
  KeyOrder(kernel::Builder& b, DType dtype, bool descending, int64_t count)
      : b_(b),
        dtype_(dtype),
        descending_(descending),
        is_wide_(size_bytes(dtype) == 8),
        is_packed_(!is_wide_ && count < (int64_t{1} << 31)) {}

  /// The i64 that stand for one element.
  int parts() const { return is_packed_ ? 1 : 2; }

  Values make(kernel::Value element, kernel::Value position) {
    const kernel::Value key = b_.cast(in_order(element), DType::I64);
    if (!is_packed_) return {key, position};
    return {b_.arith(Op::Or, {b_.shl(key, b_.i64(32)), position})};
  }
  /// The left one comes first: of equals it had the smaller position.
  kernel::Value stays(const Values& left, const Values& right) { return b_.le(left[0], right[0]); }
  kernel::Value position(const Values& element) {
    return is_packed_ ? b_.arith(Op::And, {element[0], b_.i64(0xffffffff)}) : element[1];
  }

 private:
  DType integer() const { return is_wide_ ? DType::I64 : DType::I32; }
  kernel::Value number(int64_t value) { return b_.integer(kernel::scalar(integer()), value); }

  kernel::Value in_order(kernel::Value element) {
    kernel::Value key = is_float(dtype_) ? from_float(element) : from_integer(element);
    if (descending_) key = b_.arith(Op::BitNot, {key});
    if (!is_float(dtype_)) return key;
    return b_.select(is_nan(element), number(is_wide_ ? INT64_MAX : INT32_MAX), key);
  }

  kernel::Value from_integer(kernel::Value element) {
    if (dtype_ == DType::U32 || dtype_ == DType::U64)  // by sign, with the order moved
      return b_.arith(Op::Xor, {b_.bitcast(element, integer()), number(is_wide_ ? INT64_MIN : INT32_MIN)});
    return b_.cast(element, integer());
  }

  // The bits by sign and magnitude; -0 becomes 0.
  kernel::Value from_float(kernel::Value element) {
    const kernel::Value bits = bits_of(element), magnitude = magnitude_of(bits);
    return b_.select(b_.lt(bits, number(0)), b_.sub(number(0), magnitude), magnitude);
  }
  kernel::Value is_nan(kernel::Value element) {
    const int64_t infinity = dtype_ == DType::F64   ? 0x7ff0000000000000
                             : dtype_ == DType::F32 ? 0x7f800000
                             : dtype_ == DType::F16 ? 0x7c00
                                                    : 0x7f80;
    return b_.lt(number(infinity), magnitude_of(bits_of(element)));
  }
  kernel::Value bits_of(kernel::Value element) {
    if (size_bytes(dtype_) == 2) return b_.cast(b_.bitcast(element, DType::I16), integer());
    return b_.bitcast(element, integer());
  }
  kernel::Value magnitude_of(kernel::Value bits) {
    const int64_t most = size_bytes(dtype_) == 2 ? 0x7fff : is_wide_ ? INT64_MAX : INT32_MAX;
    return b_.arith(Op::And, {bits, number(most)});
  }

  kernel::Builder& b_;
  DType dtype_;
  bool descending_, is_wide_, is_packed_;
};

// Rows one after another: keys are made in scratch, merged bottom up between two halves of it, and what they stand for
// is written at the end.
class SortLowering {
 public:
  SortLowering(const Graph& graph, const Group& group, const StorageLookup& storages, const Machine& machine)
      : group_(group),
        storages_(storages),
        machine_(machine),
        node_(group.root()),
        sort_(std::get<Sort>(graph.node(node_).payload)),
        type_(graph.node(node_).results[0]),
        shape_(static_shape(type_.shape)),
        count_(shape_[static_cast<size_t>(sort_.axis)]),
        operands_(storages, graph),
        from_(operands_.read(graph.node(node_).inputs[0], node_, 0)) {
    for (const int r : {0, 1})
      if (storages.values.contains({node_, r})) to_[r] = operands_.write({node_, r});
  }

  Lowered run() {
    Lowered lowered;
    kernel::Builder b(group_.name);
    b.set_hoist_integers(true);
    operands_.add_buffers(b);
    const Target target{b, machine_, lowered.dims, lowered.scratch_bytes};
    emit(target, lowered);
    lowered.kernel = std::make_shared<kernel::Kernel>(b.finish());
    lowered.operands = operands_.list;
    for (const Operand& o : operands_.list)
      lowered.bytes += static_cast<double>(o.storage.elements) * size_bytes(o.storage.dtype);
    lowered.flops = static_cast<double>(lowered.tiles) * static_cast<double>(count_) * static_cast<double>(passes());
    lowered.schedule = fmt::format("merge {} rows of {} in {} passes", lowered.tiles, count_, passes());
    return lowered;
  }

 private:
  using Value = kernel::Value;

  int64_t passes() const {
    int64_t n = 0;
    while ((int64_t{1} << n) < count_) ++n;
    return n;
  }

  void emit(Target target, Lowered& lowered) {
    kernel::Builder& b = target.b;
    KeyOrder order(b, type_.dtype, sort_.descending, count_);
    const int64_t half = (count_ * 8 * order.parts() + 63) / 64 * 64;
    target.take_scratch(2 * half);
    count_value_ = target.number(count_, "count");
    half_ = target.number(half, "half_bytes");
    std::vector<int64_t> rows;
    lowered.tiles = 1;
    for (size_t d = 0; d < shape_.size(); ++d) {
      if (static_cast<int>(d) == sort_.axis) continue;
      rows.push_back(shape_[d]);
      lowered.tiles *= shape_[d];
    }
    emit_shares(target, rows, [&](const Values& row) {
      make_keys(target, order, row);
      const Value sorted = merge_all(target, order);
      write(target, order, row, sorted);
    });
  }

  const Storage& storage(int operand) const { return operands_.list[static_cast<size_t>(operand)].storage; }

  // The first element of the row in an operand, and the bytes from one to the next.
  std::pair<Value, Value> row_of(Target target, int operand, const Values& row) {
    kernel::Builder& b = target.b;
    const Storage& s = storage(operand);
    const int64_t size = size_bytes(s.dtype);
    Value pointer = b.buffer(operand);
    if (s.offset != 0) pointer = b.ptr_add(pointer, target.number(s.offset * size, "offset"));
    size_t next = 0;
    for (size_t d = 0; d < shape_.size(); ++d) {
      FRIT_CHECK(s.axes[d].block == 0, "a sorted tensor is stored in blocks");
      if (static_cast<int>(d) == sort_.axis) continue;
      pointer = b.ptr_add(pointer, b.mul(row[next++], bytes(target, s.axes[d].stride, size)));
    }
    return {pointer, bytes(target, s.axes[static_cast<size_t>(sort_.axis)].stride, size)};
  }
  static Value bytes(Target target, int64_t stride, int64_t size) {
    return stride == 1 ? target.b.i64(size) : target.number(stride * size, "bytes");
  }

  static kernel::Type memory_type(DType dtype) { return kernel::scalar(dtype == DType::Bool ? DType::U8 : dtype); }

  // Elements of the scratch: the parts of one lie beside each other.
  static Values load(kernel::Builder& b, const KeyOrder& order, Value half, Value i) {
    Values parts;
    const Value at = address(b, order, half, i);
    for (int p = 0; p < order.parts(); ++p)
      parts.push_back(b.load(kernel::scalar(DType::I64), b.ptr_add(at, int64_t{8} * p)));
    return parts;
  }
  static void store(kernel::Builder& b, const KeyOrder& order, Value half, Value i, const Values& parts) {
    const Value at = address(b, order, half, i);
    for (int p = 0; p < order.parts(); ++p) b.store(b.ptr_add(at, int64_t{8} * p), parts[static_cast<size_t>(p)]);
  }
  static Value address(kernel::Builder& b, const KeyOrder& order, Value half, Value i) {
    return b.ptr_add(b.ptr_add(b.scratch(), half), b.mul(i, b.i64(int64_t{8} * order.parts())));
  }

  void make_keys(Target target, KeyOrder& order, const Values& row) {
    kernel::Builder& b = target.b;
    const auto [pointer, step] = row_of(target, from_, row);
    const auto loop = b.begin_loop(b.i64(0), count_value_, b.i64(1));
    const Value element = b.load(memory_type(type_.dtype), b.ptr_add(pointer, b.mul(loop.i, step)));
    store(b, order, b.i64(0), loop.i, order.make(element, loop.i));
    b.end_loop();
  }

  // Runs of 1, 2, 4, .. are merged in pairs from one half of the scratch to the other; gives the half of the result.
  Value merge_all(Target target, KeyOrder& order) {
    kernel::Builder& b = target.b;
    const auto pass = b.begin_loop(b.i64(0), target.number(passes(), "passes"), b.i64(1), {b.i64(0), half_, b.i64(1)});
    const Value from = pass.carried[0], to = pass.carried[1], width = pass.carried[2];
    const Value both = b.add(width, width);
    const auto pair = b.begin_loop(b.i64(0), count_value_, both);
    const Value middle = b.min(b.add(pair.i, width), count_value_), end = b.min(b.add(pair.i, both), count_value_);
    merge(b, order, from, to, pair.i, middle, end);
    b.end_loop();
    return b.end_loop({to, from, both})[0];
  }

  // [start, middle) and [middle, end), without a branch: which run gives the next element is data. A run that is used
  // up is read at its last element, which is not taken; the right run may be empty.
  static void merge(kernel::Builder& b, KeyOrder& order, Value from, Value to, Value start, Value middle, Value end) {
    const Value last_left = b.sub(middle, b.i64(1)), last_right = b.sub(end, b.i64(1));
    const auto loop = b.begin_loop(start, end, b.i64(1), {start, middle});
    const Value i = loop.carried[0], j = loop.carried[1];
    const Values left = load(b, order, from, b.min(i, last_left)), right = load(b, order, from, b.min(j, last_right));
    const Value is_left = b.logical_and(b.lt(i, middle), b.logical_or(b.le(end, j), order.stays(left, right)));
    Values next;
    for (size_t p = 0; p < left.size(); ++p) next.push_back(b.select(is_left, left[p], right[p]));
    store(b, order, to, loop.i, next);
    b.end_loop({b.select(is_left, b.add(i, b.i64(1)), i), b.select(is_left, j, b.add(j, b.i64(1)))});
  }

  void write(Target target, KeyOrder& order, const Values& row, Value sorted) {
    kernel::Builder& b = target.b;
    std::pair<Value, Value> source, to[2];
    if (to_[0]) source = row_of(target, from_, row);
    for (const int r : {0, 1})
      if (to_[r]) to[r] = row_of(target, *to_[r], row);
    const auto loop = b.begin_loop(b.i64(0), count_value_, b.i64(1));
    const Value position = order.position(load(b, order, sorted, loop.i));
    const auto target_of = [&](int r) { return b.ptr_add(to[r].first, b.mul(loop.i, to[r].second)); };
    if (to_[0]) {
      const Value at = b.ptr_add(source.first, b.mul(position, source.second));
      b.store(target_of(0), b.load(memory_type(type_.dtype), at));
    }
    if (to_[1]) b.store(target_of(1), position);
    b.end_loop();
  }

  const Group& group_;
  const StorageLookup& storages_;
  const Machine& machine_;
  int node_;
  const Sort& sort_;
  const TensorType& type_;
  std::vector<int64_t> shape_;
  int64_t count_;
  Operands operands_;
  int from_;
  std::optional<int> to_[2];
  Value count_value_, half_;
};

}  // namespace

Lowered lower_sort(const Graph& graph, const Group& group, const StorageLookup& storages, const Machine& machine) {
  return SortLowering(graph, group, storages, machine).run();
}

}  // namespace frit
