#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "codegen/kernel/kernel.h"

namespace frit::kernel {

/// Runs a kernel slowly by its definition and checks every promise that compiled code relies on. Each tile of [begin,
/// end) runs alone, since a launch may be cut anywhere, with scratch of its own that holds nothing. buffers  one per
/// parameter, their first byte aligned as the parameter says errors   InternalError with tile and instruction: an
/// access outside its buffer, of a buffer that is not written, or less
///          aligned than claimed; scratch read before it is written; a byte written by two tiles, or written by one and
///          read by another; a shift, division or conversion outside its promise; a step that is not positive; more
///          than `step_limit` instructions
void run_checked(const Kernel& kernel, std::span<const std::span<std::byte>> buffers, std::span<const int64_t> dims,
                 int64_t begin, int64_t end, size_t scratch_bytes = 0, int64_t step_limit = int64_t{1} << 32);

}  // namespace frit::kernel
