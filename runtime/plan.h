#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/digest.h"
#include "support/error.h"

namespace frit::runtime {

/// Where a storage lives. Constants, inputs and outputs are the caller's; the arena belongs to an instance.
enum class StorageKind : uint8_t { Arena, Constant, Input, Output };

/// A block of bytes that kernels are handed. Tensors that share bytes on purpose (in place, parts of a concatenation)
/// share one storage; two storages that are alive at once never overlap.
struct Storage {
  std::string name;
  StorageKind kind = StorageKind::Arena;
  int64_t at = 0;  // arena: offset in bytes, a multiple of 64; else the index among its kind
  int64_t bytes = 0;
  bool is_donated = false;  // an input that launches may write

  bool operator==(const Storage&) const = default;
};

enum class Access : uint8_t { Read = 1, Write = 2, ReadWrite = 3 };
inline bool reads(Access access) { return (static_cast<int>(access) & 1) != 0; }
inline bool writes(Access access) { return (static_cast<int>(access) & 2) != 0; }

/// One buffer of a launch: a pointer `offset` bytes into a storage.
struct Argument {
  int32_t storage = 0;
  int64_t offset = 0;
  Access access = Access::Read;

  bool operator==(const Argument&) const = default;
};

/// One kernel over `tiles` tiles, of which each worker takes a fixed share.
struct Launch {
  std::string name;  // for people
  int32_t kernel = 0;
  std::vector<Argument> arguments;
  std::vector<int64_t> dims;
  int64_t tiles = 1;
  int64_t scratch_bytes = 0;  // per thread
  bool is_serial = false;     // worker 0 computes all tiles: cheaper than two barriers
  bool waits = true;          // a barrier before: all earlier launches have ended
  /// The planner has proved that this launch touches, of what launches since the last barrier touch, only what the same
  /// worker's share of tiles does: then it needs no barrier.
  bool keeps_shares = false;

  bool operator==(const Launch&) const = default;
};

struct PlanKernel {
  std::string name;
  Digest key;  // of the kernel cache

  bool operator==(const PlanKernel&) const = default;
};

/// A list of launches over boxes of bytes: plain numbers, all symbols bound.
struct Plan {
  std::vector<PlanKernel> kernels;
  std::vector<Storage> storages;
  std::vector<Launch> launches;
  int64_t arena_bytes = 0;

  bool operator==(const Plan&) const = default;
  int count_of(StorageKind kind) const;
};

/// The plan as text, one item a line; parse_plan reads it back. The text is also what the disk cache stores.
///
///     plan 1
///     arena 4096
///     kernel 0 "add" 5a0f...e1
///     storage 0 input 0 bytes 4096 "x"
///     storage 1 arena 0 bytes 4096 "t"
///     launch "add_1" kernel 0 tiles 16 scratch 0 waits
///       arguments r0+0 w1+0
///       dims 16 64
std::string print_plan(const Plan& plan);

/// errors  InputError with the line: not a plan
Plan parse_plan(std::string_view text);

/// All that plain numbers can tell of a plan: indices and sizes in range, the arena holds every box, what is read was
/// written, storages alive at once are disjoint, constants and inputs that are not donated stay as they are, every
/// output is written, dependent launches have a barrier between them. Empty when the plan is right.
std::vector<Finding> verify_plan(const Plan& plan);

class DiskCache;

/// Entries of kind "plan". What is read is parsed and verified like any text from outside; a plan with a finding is a
/// miss.
bool store_plan(DiskCache& disk, const Digest& key, const Plan& plan);
std::optional<Plan> load_plan(DiskCache& disk, const Digest& key);

}  // namespace frit::runtime
