#pragma once
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/lower/flatten.h"
#include "codegen/storage.h"
#include "ir/analysis.h"

namespace frit {

/// Where one read or write goes: element offset = constant + sum of coefficients[a] * index of nest axis a, when
/// affine. On `blocked_axis` the offset steps by `coefficients` inside a block and by `block_stride` from block to
/// block; such a nest must walk that axis in whole blocks.
struct Access {
  int operand = -1;  // buffer of the kernel, or -1 for scratch
  DType dtype = DType::F32;
  bool affine = false;
  bool guarded = false;
  int64_t constant = 0;
  std::vector<int64_t> coefficients;
  int blocked_axis = -1;
  int64_t block = 0, block_stride = 0;
  Storage storage;  // for accesses that are not affine
};

struct NestAxis {
  std::string name;
  int64_t extent = 1;
  bool reduced = false;
  bool outer = false;  // bound by the group's row loops
  int64_t padded = 0;  // > extent: the write has whole blocks up to here (padding is written too)
};

/// What the innermost loop of a scatter does: where `condition` holds, the element of `writes[0]` moved by `positions`
/// along its dims becomes `changed`, over Acc(0), the element before, and Acc(1), the value.
struct NestUpdate {
  enum Step : uint8_t { kValue, kCondition, kChanged, kPositions };  // where they are in the steps of the reduction
  std::vector<int> dims;                                             // of the position kPositions + k
  bool reads_before = true;
};

/// One stage as loops: axes of extent 1 are gone, neighbours that every access walks alike are one axis.
struct Nest {
  std::vector<NestAxis> axes;           // outer, then free, then reduced
  std::vector<int> axis_of;             // axis of the compute -> axis of the nest; -1: its only index is 0
  std::map<const void*, Access> reads;  // by the id of the Read expression
  std::vector<Access> writes;           // one per result
  Reduction reduction;
  std::vector<Expr> values;             // of the results, over Acc when there are reduced axes
  std::vector<bool> kept;               // which results a scan writes in every step, those of its reduced axis
  int outer_count = 0, free_count = 0;  // free without outer
  std::optional<NestUpdate> update;     // of a scatter
  int reduced_count() const { return static_cast<int>(axes.size()) - outer_count - free_count; }
  bool is_scan() const { return std::find(kept.begin(), kept.end(), true) != kept.end(); }
};

/// The access of `positions` over the axes of `compute` into `storage`. A flattening walk (positions with // and %) is
/// affine where the strides compose, as they do in a row-major tensor.
Access make_access(int operand, const Storage& storage, std::span<const Expr> positions, const Compute& compute,
                   bool guarded = false);

/// Operand of the kernel and storage for input `slot` of the flat stage, and for result `r`.
struct NestOperands {
  struct Entry {
    int operand;
    Storage storage;
  };
  std::vector<Entry> inputs, results;
};

/// Operations of the formulas of a nest, each counted once.
int formula_size(const Nest& nest);
constexpr int kLongFormula = 500;  // operations above which a text has room for one copy of a formula

/// Builds the nest. The first `outer` free axes of the compute stay as they are (rows of a group).
Nest make_nest(const Flat& flat, const NestOperands& operands, int outer);

/// The axes (nest positions) an expression depends on, as a bit mask; accumulators depend on every axis, and on kState.
class Dependences {
 public:
  static constexpr uint64_t kState = uint64_t{1} << 63;
  explicit Dependences(const Nest& nest) : nest_(nest) {}
  uint64_t of(const Expr& e);
  uint64_t of_access(const Access& access);

 private:
  const Nest& nest_;
  std::map<const void*, uint64_t> known_;
};

}  // namespace frit
