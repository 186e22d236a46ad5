#pragma once
#include <map>
#include <string>
#include <vector>

#include "codegen/group.h"
#include "codegen/schedule.h"
#include "codegen/storage.h"
#include "ir/graph.h"

namespace frit {
namespace kernel {
struct Kernel;
}

/// What the instruction set offers to schedules and lowering. Names: "sse2", "avx2", "avx512".
struct Machine {
  std::string name = "avx512";
  int vector_bytes = 64;
  int vector_registers = 32;
  bool has_fma = true;
  bool has_rounding = true;
  bool has_f16_convert = true;
};
Machine machine_named(std::string_view name);

/// Where a group reads or writes: a value of the graph and its storage (a packed copy has its own).
struct Operand {
  Value value;
  Storage storage;
  int packing = -1;  // index into Grouping::packings of the copy that is read; -1: the value itself
  bool written = false;
};

/// A lowered group: the kernel, the numbers it is called with, and its buffers in order of the kernel's parameters.
/// Numbers are arguments: equal kernels with different `dims` print to equal text.
struct Lowered {
  std::shared_ptr<const kernel::Kernel> kernel;
  std::vector<Operand> operands;
  std::vector<int64_t> dims;
  int64_t tiles = 0;          // shares are cut from [0, tiles)
  int64_t scratch_bytes = 0;  // per worker
  double flops = 0;           // multiply-adds count two; other operations one
  double bytes = 0;           // read and written once
  std::string schedule;       // one line per stage
};

/// Lowers one group. `operand_storage(node, slot)` and `result_storage(value)` give where things are.
struct StorageLookup {
  std::map<Value, Storage> values;                   // results and plain reads
  std::map<std::pair<int, int>, Storage> packed;     // (node, slot) -> storage of the packed copy
  std::map<std::pair<int, int>, int> packing_index;  // (node, slot) -> index into Grouping::packings
  bool in_place = false;                             // the base of the scatter is where its result goes
};
Lowered lower(const Graph& graph, const Group& group, const StorageLookup& storages, const Machine& machine);

/// A copy of `shape` elements from one storage to another, padding and margins of the target included: packing.
Lowered lower_copy(const std::vector<int64_t>& shape, const Storage& from, const Storage& to, const Layout& to_layout,
                   const Machine& machine);

/// Fills the margins of a stored tensor with its layout's fill; nothing to do gives zero tiles.
Lowered lower_margins(const std::vector<int64_t>& shape, const Storage& storage, const Layout& layout,
                      const Machine& machine);

}  // namespace frit
