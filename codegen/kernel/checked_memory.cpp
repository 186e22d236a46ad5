#include "codegen/kernel/checked_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "support/error.h"

namespace frit::kernel {

CheckedMemory::CheckedMemory(const Kernel& kernel, std::span<const BufferBytes> buffers, size_t scratch_bytes)
    : kernel_(kernel), buffers_(buffers.begin(), buffers.end()), scratch_(scratch_bytes) {
  FRIT_CHECK(buffers.size() == kernel.buffers.size(),
             fmt::format("kernel {} takes {} buffers, not {}", kernel.name, kernel.buffers.size(), buffers.size()));
  for (size_t k = 0; k < buffers.size(); ++k)
    writers_.emplace_back(kernel.buffers[k].written ? buffers[k].bytes.size() : 0, kNobody);
}

void CheckedMemory::start_tile(int64_t tile) {
  tile_ = tile;
  scratch_written_.assign(scratch_.size(), false);
}

std::string CheckedMemory::describe(Place place) const {
  if (place.space == kScratchSpace) return fmt::format("byte {} of scratch", place.offset);
  return fmt::format("byte {} of buffer {} \"{}\"", place.offset, place.space,
                     kernel_.buffers[static_cast<size_t>(place.space)].name);
}

size_t CheckedMemory::index(Place place) const {
  const size_t start = place.space == kScratchSpace ? 0 : buffers_[static_cast<size_t>(place.space)].start;
  return start +
         static_cast<size_t>(place.offset);  // wraps to what no extent reaches where it is before the first byte
}

std::string CheckedMemory::check_bounds(Place place, size_t size, uint64_t alignment) const {
  const bool is_scratch = place.space == kScratchSpace;
  const size_t extent = is_scratch ? scratch_.size() : buffers_[static_cast<size_t>(place.space)].bytes.size();
  const size_t at = index(place);
  if (at > extent || extent - at < size)
    return fmt::format("{} bytes at {} leave its {} bytes", size, describe(place), extent);
  const int base = is_scratch ? 64 : kernel_.buffers[static_cast<size_t>(place.space)].alignment;
  if (alignment > static_cast<uint64_t>(base) || place.offset % static_cast<int64_t>(alignment) != 0)
    return fmt::format("{} is not aligned to {} (its first byte is to {})", describe(place), alignment, base);
  return {};
}

std::string CheckedMemory::read(Place place, std::span<std::byte> to, uint64_t alignment) {
  if (std::string fault = check_bounds(place, to.size(), alignment); !fault.empty()) return fault;
  const size_t at = index(place);
  if (place.space == kScratchSpace) {
    for (size_t n = 0; n < to.size(); ++n)
      if (!scratch_written_[at + n]) return describe(place) + " is read before it is written";
    std::memcpy(to.data(), scratch_.data() + at, to.size());
    return {};
  }
  const auto& writers = writers_[static_cast<size_t>(place.space)];
  for (size_t n = 0; n < to.size() && !writers.empty(); ++n)
    if (writers[at + n] != kNobody && writers[at + n] != tile_)
      return fmt::format("{} is written by tile {} and read by another", describe(place), writers[at + n]);
  std::memcpy(to.data(), buffers_[static_cast<size_t>(place.space)].bytes.data() + at, to.size());
  return {};
}

std::string CheckedMemory::write(Place place, std::span<const std::byte> from, uint64_t alignment) {
  if (std::string fault = check_bounds(place, from.size(), alignment); !fault.empty()) return fault;
  const size_t at = index(place);
  if (place.space == kScratchSpace) {
    std::fill_n(scratch_written_.begin() + static_cast<std::ptrdiff_t>(at), from.size(), true);
    std::memcpy(scratch_.data() + at, from.data(), from.size());
    return {};
  }
  const auto buffer = static_cast<size_t>(place.space);
  if (!kernel_.buffers[buffer].written) return describe(place) + " is written, but the buffer is an input";
  for (size_t n = 0; n < from.size(); ++n) {
    int64_t& writer = writers_[buffer][at + n];
    if (writer != kNobody && writer != tile_)
      return fmt::format("{} is written by tile {} as well", describe(place), writer);
    writer = tile_;
  }
  std::memcpy(buffers_[buffer].bytes.data() + at, from.data(), from.size());
  return {};
}

}  // namespace frit::kernel
