#include "codegen/kernel/checked_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codegen/kernel/checked_memory.h"
#include "codegen/kernel/scalar_step.h"
#include "codegen/kernel/text.h"
#include "support/error.h"

namespace frit::kernel {
namespace {

using Lanes = std::vector<uint64_t>;

struct Cell {
  Lanes lanes;  // bits of each lane; of a pointer its offset
  int space = 0;
};

class Runner {
 public:
  Runner(const Kernel& kernel, std::span<const BufferBytes> buffers, std::span<const int64_t> dims,
         size_t scratch_bytes, int64_t step_limit)
      : k_(kernel), memory_(kernel, buffers, scratch_bytes), cells_(kernel.values.size()), steps_left_(step_limit) {
    FRIT_CHECK(dims.size() == kernel.dims.size(),
               fmt::format("kernel {} takes {} dims, not {}", kernel.name, kernel.dims.size(), dims.size()));
    for (const Instruction& i : kernel.instructions)
      if (is_leaf(i.code)) leaf(i, dims);
  }

  void tile(int64_t t) {
    tile_ = t;
    memory_.start_tile(t);
    for (const Instruction& i : k_.instructions) {
      if (i.code == Code::Begin) cells_[i.first_result].lanes = {static_cast<uint64_t>(t)};
      if (i.code == Code::End) cells_[i.first_result].lanes = {static_cast<uint64_t>(t + 1)};
    }
    region(k_.body());
  }

 private:
  void leaf(const Instruction& i, std::span<const int64_t> dims) {
    Cell& cell = cells_[i.first_result];
    cell.lanes.assign(static_cast<size_t>(i.type.lanes), i.bits);
    if (i.code == Code::Dim) cell.lanes = {static_cast<uint64_t>(dims[i.bits])};
    if (i.code == Code::Iota)
      for (size_t n = 0; n < cell.lanes.size(); ++n) cell.lanes[n] = n;
    if (i.code == Code::Buffer) cell = {{0}, static_cast<int>(i.bits)};
    if (i.code == Code::Scratch) cell = {{0}, kScratchSpace};
  }

  void fail(const Instruction& i, const std::string& fault) const {
    FRIT_CHECK(fault.empty(),
               fmt::format("kernel {}, tile {}: {}\n  {}", k_.name, tile_, fault, print_instruction(k_, i)));
  }

  const Cell& cell(Value v) const { return cells_[v.id]; }
  Lanes& result(const Instruction& i) { return cells_[i.first_result].lanes; }
  uint64_t number(Value v) const { return cells_[v.id].lanes[0]; }

  void region(const Region& r) {
    for (const uint32_t index : r.instructions) {
      const Instruction& i = k_.instructions[index];
      if (i.code == Code::Yield) return;
      FRIT_CHECK(--steps_left_ > 0, fmt::format("kernel {}, tile {}: too many steps", k_.name, tile_));
      instruction(i);
    }
  }

  // A yielded value may be an argument that is overwritten, so all are copied first.
  std::vector<Cell> yielded(const Region& r) const {
    std::vector<Cell> cells;
    for (const Value v : k_.operands(k_.instructions[r.instructions.back()])) cells.push_back(cell(v));
    return cells;
  }

  void loop(const Instruction& i) {
    const Region& r = k_.regions[i.regions[0]];
    const auto v = k_.operands(i);
    const auto begin = static_cast<int64_t>(number(v[0])), end = static_cast<int64_t>(number(v[1]));
    const auto step = static_cast<int64_t>(number(v[2]));
    if (step <= 0) fail(i, fmt::format("step {}", step));
    if (i.bits && begin >= end) fail(i, fmt::format("said to run at least once, from {} to {}", begin, end));
    std::vector<Cell> carried;
    for (const Value init : v.subspan(3)) carried.push_back(cell(init));
    for (int64_t at = begin; at < end;) {
      cells_[r.arguments[0].id].lanes = {static_cast<uint64_t>(at)};
      for (size_t n = 0; n < carried.size(); ++n) cells_[r.arguments[n + 1].id] = carried[n];
      region(r);
      carried = yielded(r);
      if (__builtin_add_overflow(at, step, &at)) fail(i, "the counter overflows");
    }
    for (size_t n = 0; n < carried.size(); ++n) cells_[i.first_result + n] = std::move(carried[n]);
  }

  void branch(const Instruction& i) {
    const Region& r = k_.regions[i.regions[number(k_.operands(i)[0]) ? 0 : 1]];
    region(r);
    std::vector<Cell> results = yielded(r);
    for (size_t n = 0; n < results.size(); ++n) cells_[i.first_result + n] = std::move(results[n]);
  }

  void instruction(const Instruction& i) {
    const auto v = k_.operands(i);
    switch (i.code) {
      case Code::Arith:
        return arith(i);
      case Code::CastInRange:
        return cast_in_range(i);
      case Code::Splat:
        result(i).assign(static_cast<size_t>(i.type.lanes), number(v[0]));
        return;
      case Code::Extract:
        result(i) = {cell(v[0]).lanes[i.bits]};
        return;
      case Code::Insert: {
        Lanes lanes = cell(v[0]).lanes;
        lanes[i.bits] = number(v[1]);
        result(i) = std::move(lanes);
        return;
      }
      case Code::Shuffle: {
        Lanes both = cell(v[0]).lanes, lanes;
        both.insert(both.end(), cell(v[1]).lanes.begin(), cell(v[1]).lanes.end());
        for (const int32_t n : k_.mask(i)) lanes.push_back(both[static_cast<size_t>(n)]);
        result(i) = std::move(lanes);
        return;
      }
      case Code::PtrAdd:
        cells_[i.first_result] = {{number(v[0]) + number(v[1])}, cell(v[0]).space};
        return;
      case Code::Load:
      case Code::MaskedLoad:
      case Code::Gather:
        return load(i);
      case Code::Store:
      case Code::MaskedStore:
      case Code::Scatter:
        return store(i);
      case Code::Prefetch:
        return;
      case Code::Barrier:
        return fail(i, "a barrier outside of a work-group");
      case Code::Loop:
        return loop(i);
      case Code::If:
        return branch(i);
      case Code::Const:
      case Code::Buffer:
      case Code::Dim:
      case Code::Begin:
      case Code::End:
      case Code::Scratch:
      case Code::Iota:
      case Code::Yield:
        return;
    }
  }

  void arith(const Instruction& i) {
    const auto v = k_.operands(i);
    if (i.op == Op::Select && i.type.is_pointer) {
      cells_[i.first_result] = cell(v[number(v[0]) ? 1 : 2]);
      return;
    }
    Lanes lanes(static_cast<size_t>(i.type.lanes));
    std::string fault;
    for (size_t n = 0; n < lanes.size(); ++n) {
      if (i.op == Op::Select) {
        const Lanes& c = cell(v[0]).lanes;
        lanes[n] = cell(v[c[c.size() == 1 ? 0 : n] ? 1 : 2]).lanes[n];
        continue;
      }
      uint64_t operands[3] = {};
      for (size_t k = 0; k < v.size(); ++k) operands[k] = cell(v[k]).lanes[n];
      lanes[n] = scalar_step(i.op, k_.type(v[0]).dtype, i.type.dtype, std::span(operands, v.size()), fault);
    }
    fail(i, fault);
    result(i) = std::move(lanes);
  }

  void cast_in_range(const Instruction& i) {
    const Value a = k_.operands(i)[0];
    Lanes lanes;
    std::string fault;
    for (const uint64_t bits : cell(a).lanes)
      lanes.push_back(cast_in_range_step(k_.type(a).dtype, i.type.dtype, bits, fault));
    fail(i, fault);
    result(i) = std::move(lanes);
  }

  // Each lane is an access of its own; only that of a whole vector without mask is aligned as a whole.
  struct Access {
    Place place;
    uint64_t alignment;
  };
  Access access(const Instruction& i, size_t lane) const {
    const auto v = k_.operands(i);
    const Cell& base = cell(v[0]);
    const auto element = static_cast<uint64_t>(size_bytes(i.type.dtype));
    const bool indexed = i.code == Code::Gather || i.code == Code::Scatter;
    const uint64_t offset = indexed ? cell(v[1]).lanes[lane] : lane * element;
    const bool whole = !indexed && lane == 0;
    return {{base.space, static_cast<int64_t>(base.lanes[0] + offset)}, whole || indexed ? i.bits : element};
  }
  bool is_active(const Instruction& i, size_t lane) const {
    const auto v = k_.operands(i);
    const bool plain = i.code == Code::Load || i.code == Code::Store;
    return plain || cell(v[i.code == Code::Gather || i.code == Code::Scatter ? 2 : 1]).lanes[lane] != 0;
  }

  void load(const Instruction& i) {
    const auto v = k_.operands(i);
    const auto size = static_cast<size_t>(size_bytes(i.type.dtype));
    Lanes lanes = i.code == Code::Load ? Lanes(static_cast<size_t>(i.type.lanes)) : cell(v.back()).lanes;
    for (size_t n = 0; n < lanes.size(); ++n) {
      if (!is_active(i, n)) continue;
      const Access a = access(i, n);
      std::byte bytes[8] = {};
      fail(i, memory_.read(a.place, std::span(bytes, size), a.alignment));
      std::memcpy(&lanes[n], bytes, 8);
    }
    result(i) = std::move(lanes);
  }

  void store(const Instruction& i) {
    const Lanes& lanes = cell(k_.operands(i).back()).lanes;
    for (size_t n = 0; n < lanes.size(); ++n) {
      if (!is_active(i, n)) continue;
      const Access a = access(i, n);
      std::byte bytes[8];
      std::memcpy(bytes, &lanes[n], 8);
      fail(i, memory_.write(a.place, std::span(bytes, static_cast<size_t>(size_bytes(i.type.dtype))), a.alignment));
    }
  }

  const Kernel& k_;
  CheckedMemory memory_;
  std::vector<Cell> cells_;
  int64_t steps_left_, tile_ = 0;
};

}  // namespace

void run_checked(const Kernel& kernel, std::span<const BufferBytes> buffers, std::span<const int64_t> dims,
                 int64_t begin, int64_t end, size_t scratch_bytes, int64_t step_limit) {
  Runner runner(kernel, buffers, dims, scratch_bytes, step_limit);
  for (int64_t t = begin; t < end; ++t) runner.tile(t);
}

}  // namespace frit::kernel
