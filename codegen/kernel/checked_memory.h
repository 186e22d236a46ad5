#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/kernel/checked_run.h"
#include "codegen/kernel/kernel.h"

namespace frit::kernel {

/// Where a pointer points: a buffer or the scratch, and how far from its start.
struct Place {
  int space = 0;
  int64_t offset = 0;
};
constexpr int kScratchSpace = -1;

/// The memory of one checked run: buffers with the tile that wrote each byte, scratch with what was written at all.
class CheckedMemory {
 public:
  CheckedMemory(const Kernel& kernel, std::span<const BufferBytes> buffers, size_t scratch_bytes);

  void start_tile(int64_t tile);
  /// The fault of an access, or empty; on success the bytes are moved.
  std::string read(Place place, std::span<std::byte> to, uint64_t alignment);
  std::string write(Place place, std::span<const std::byte> from, uint64_t alignment);

 private:
  static constexpr int64_t kNobody = INT64_MIN;
  std::string check_bounds(Place place, size_t size, uint64_t alignment) const;
  std::string describe(Place place) const;
  size_t index(Place place) const;  // into the bytes of its space

  const Kernel& kernel_;
  std::vector<BufferBytes> buffers_;
  std::vector<std::vector<int64_t>> writers_;  // of each byte of a written buffer
  std::vector<std::byte> scratch_;
  std::vector<bool> scratch_written_;
  int64_t tile_ = 0;
};

}  // namespace frit::kernel
