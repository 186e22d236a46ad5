#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace frit::runtime {

constexpr size_t kBufferAlignment = 64;

/// Memory aligned to 64 bytes, contents undefined. Freed blocks of 64 KiB and more are kept for the next allocation of
/// their size class, up to a bound, since fresh pages cost more than the kernels that fill them.
class Buffer {
 public:
  Buffer() = default;
  /// errors  InputError: more bytes than the machine can give
  explicit Buffer(size_t bytes);
  ~Buffer() { release(); }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  void* data() { return data_; }
  const void* data() const { return data_; }
  template <class T>
  T* as() {
    return static_cast<T*>(data_);
  }
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data_);
  }
  size_t size() const { return size_; }

 private:
  void release() noexcept;

  void* data_ = nullptr;
  size_t size_ = 0;
};

using BufferRef = std::shared_ptr<Buffer>;
inline BufferRef make_buffer(size_t bytes) { return std::make_shared<Buffer>(bytes); }

struct MemoryCounters {
  uint64_t live_bytes = 0;   // in buffers
  uint64_t peak_bytes = 0;   // most of live_bytes so far
  uint64_t kept_bytes = 0;   // freed and kept for reuse
  uint64_t allocations = 0;  // from the system
  uint64_t reuses = 0;
};
MemoryCounters memory_counters();

/// Gives kept blocks back to the system.
void trim_memory();

/// Resident memory of this process: now, and the most since it started. 0 where the system does not say.
uint64_t resident_bytes();
uint64_t peak_resident_bytes();

}  // namespace frit::runtime
