#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/kernel/builder.h"
#include "codegen/lower/lower.h"
#include "codegen/lower/nest.h"
#include "codegen/schedule.h"

namespace frit {

/// The kernel that is being built and the numbers it will be called with: every number becomes an argument of its own,
/// so that the text does not depend on it.
struct Target {
  kernel::Builder& b;
  const Machine& machine;
  std::vector<int64_t>& dims;
  int64_t& scratch_bytes;  // of each worker; grows by what is taken

  /// Offset of `bytes` of the worker's scratch, aligned to 64.
  int64_t take_scratch(int64_t bytes) {
    const int64_t offset = scratch_bytes;
    scratch_bytes += (bytes + 63) / 64 * 64;
    return offset;
  }
  kernel::Value number(int64_t value, const std::string& name) {
    dims.push_back(value);
    return b.dim(b.add_dim(name));
  }
};

/// Emits the loops of one nest, under the loops that bind its outer axes.
class NestEmitter {
 public:
  NestEmitter(Target target, const Nest& nest, const Schedule& schedule);

  /// Number of tiles of each axis in `schedule.order`.
  /// Of a flat product three: blocks of rows, vectors, rows of a block.
  std::vector<int64_t> tile_counts() const;
  /// Binds the axes to the tile of these numbers.
  void bind_tile(const std::vector<kernel::Value>& tiles);
  int64_t tile_size(int axis) const;

  void bind(int axis, kernel::Value index) { index_[static_cast<size_t>(axis)] = index; }
  /// The tile at the bound indices: all rows and vectors, then the reduction, the epilogue and the stores.
  void tile();
  /// Loops over the tiles of the free axes, then `tile`.
  void serial_loops();
  /// Loops over the tiles of the free axes but `bound`, which are bound; `ranged` runs from `low` to `high`.
  void serial_loops(const std::vector<bool>& bound, int ranged = -1, kernel::Value low = {}, kernel::Value high = {});
  /// Of a scatter: writes only where the position number `k` of the update is in [low, high).
  void limit(int k, kernel::Value low, kernel::Value high) { limit_ = {k, low, high}; }

 private:
  using Value = kernel::Value;
  using Values = std::vector<Value>;

  // What part of a tile is being emitted.
  struct Part {
    int rows = 1;
    int vectors = 1;
    bool masked = false;  // lanes beyond `remaining_` are outside
    bool scalar = false;  // after the lanes of a reduced vector axis are merged
  };

  bool has_row_blocks() const;
  int64_t row_block() const;
  int64_t tile_count(int axis) const;
  bool vector_is_free() const { return schedule_.vector_axis >= 0 && !axis(schedule_.vector_axis).reduced; }
  bool vector_is_reduced() const { return schedule_.vector_axis >= 0 && axis(schedule_.vector_axis).reduced; }
  const NestAxis& axis(int a) const { return nest_.axes[static_cast<size_t>(a)]; }
  bool depends_on(uint64_t mask, int a) const { return a >= 0 && (mask >> a & 1) != 0; }
  bool on_vector(uint64_t mask) const { return !part_.scalar && depends_on(mask, schedule_.vector_axis); }
  bool on_row(uint64_t mask) const { return part_.rows > 1 && depends_on(mask, schedule_.row_axis); }

  void split_rows();
  void split_vectors(int rows);
  void masked_vector(int rows);
  void emit_part(Part part);
  bool loops_need_no_mask();
  Value lane_mask(int v);

  void start_states();
  void reduce_level(size_t level);
  void vector_reduction(size_t level);
  void step_states();
  void kept_results();
  bool is_first_step_test(const Expr& e, int a) const;
  bool tests_for_first_step(int a) const;
  void first_step(int a);
  void update_elements();
  void update_element(int v, Value inside, Value offset);
  void change(Value pointer, Value offsets, Value mask, int v);
  void load_shared_vectors();
  void merge_lanes();
  Values merge(const Values& left, const Values& right);
  void results(int rows, int vectors);
  void masked_results();
  void epilogue();
  int epilogue_operations() const;

  Value eval(const Expr& e, int r, int v);
  Value eval_new(const Expr& e, uint64_t mask, int r, int v);
  Value eval_leaf_index(const Expr& e, int r, int v);
  Value apply(const Expr& e, int r, int v);
  Value read_affine(const Access& access, uint64_t mask, int r, int v);
  Value read_guarded(const Expr& e, const Access& access, int r, int v);
  Value read_general(const Expr& e, const Access& access, int r, int v);
  Value load(kernel::Type memory, Value pointer, bool contiguous, Value offsets, Value mask, Value passthrough);
  Value from_memory(Value loaded, DType dtype);
  Value widen(Value value, int lanes);
  Value integers(Op op, Value x, Value y);
  Value choose(Value condition, Value a, Value b);
  void write(const Access& access, Value value, int r, int v);

  // Pointers: to row group `group` of an access at the current loop indices.
  struct Stream {
    const Access* access;
    int group;
    Value pointer;
  };
  Value row_pointer(const Access& access, uint64_t mask, int r);
  Value tile_pointer(const Access& access);
  Value stride_bytes(const Access& access, int a);
  enum class Number : uint8_t { Stride, Extent, Bound, Offset, BlockStride, Step, StepBlock };
  Value number(Number kind, const void* of, int a, int64_t value, const std::string& name);
  Value extent_of(int a);
  Value buffer_of(const Access& access);
  void open_streams();
  void open_stream(const Access& access);
  Stream* stream(const Access& access, int group);
  int rows_per_group(const Access& access) const;
  int depth_of(uint64_t mask) const;

  Target target_;
  kernel::Builder& b_;
  const Nest& nest_;
  const Schedule& schedule_;
  Dependences dependences_;
  std::vector<Value> index_;  // of each axis; the start of the tile on the row and vector axes
  std::vector<int> depth_;    // loop depth that defines the index of each reduced axis
  bool is_long_ = false;      // the text holds one copy of the formulas
  Part part_;
  int part_depth_ = 0;
  int positive_axis_ = -1;      // its index is not 0 here
  Value remaining_;             // elements left on the vector axis from the start of this part
  std::vector<Values> states_;  // [accumulator][row * vectors + vector]
  Values right_;                // right-hand states while merging
  const Values* left_ = nullptr;
  std::vector<Stream> streams_;
  struct Limit {
    int position = -1;
    Value low, high;
  };
  Limit limit_;
  std::map<std::tuple<Number, const void*, int>, Value> numbers_;
  std::map<std::tuple<const void*, int, int>, Value> known_;
  std::vector<std::tuple<const void*, int, int>> of_states_;  // those of known_ that a step makes old
  const char splats_ = 0;                                     // its address marks the broadcasts in known_
};

/// Cuts the share [begin, end) of the flat tile space `counts` into loops; `body` gets the tile numbers of each axis.
void emit_shares(Target target, const std::vector<int64_t>& counts,
                 const std::function<void(const std::vector<kernel::Value>&)>& body);

}  // namespace frit
