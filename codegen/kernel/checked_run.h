#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "codegen/kernel/kernel.h"

namespace frit::kernel {

/// The bytes that a kernel may touch through one buffer, and where in them its pointer points: what lies before are the
/// margins.
struct BufferBytes {
  std::span<std::byte> bytes;
  size_t start = 0;
  BufferBytes(std::span<std::byte> all, size_t first = 0) : bytes(all), start(first) {}  // NOLINT: a span is one
  template <class Container>
    requires std::is_convertible_v<Container&, std::span<std::byte>>
  BufferBytes(Container& all) : bytes(all) {}  // NOLINT
  std::byte* data() const { return bytes.data() + start; }
  size_t size() const { return bytes.size() - start; }
};

/// Runs a kernel slowly by its definition and checks every promise that compiled code relies on. Each tile of [begin,
/// end) runs alone, since a launch may be cut anywhere, with scratch of its own that holds nothing. buffers  one per
/// parameter, their first byte aligned as the parameter says errors   InternalError with tile and instruction: an
/// access outside its buffer, of a buffer that is not written, or less
///          aligned than claimed; scratch read before it is written; a byte written by two tiles, or written by one and
///          read by another; a shift, division or conversion outside its promise; a step that is not positive; more
///          than `step_limit` instructions
void run_checked(const Kernel& kernel, std::span<const BufferBytes> buffers, std::span<const int64_t> dims,
                 int64_t begin, int64_t end, size_t scratch_bytes = 0, int64_t step_limit = int64_t{1} << 32);

}  // namespace frit::kernel
