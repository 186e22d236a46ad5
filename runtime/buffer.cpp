#include "runtime/buffer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/fork_guard.h"
#include "support/error.h"

namespace frit::runtime {
namespace {

constexpr size_t kPooledFrom = size_t{64} << 10;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kKeepBytes = size_t{512} << 20;
constexpr size_t kMaxBytes = size_t{1} << 46;

/// Four classes per power of two: at most a quarter is wasted, and that is never touched.
size_t class_size(size_t bytes) {
  if (bytes < kPooledFrom) return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  const size_t step = std::bit_floor(bytes) / 4;
  return (bytes + step - 1) / step * step;
}

[[noreturn]] void fail_to_allocate(size_t bytes) {
  throw InputError(Finding{.where = {},
                           .what = "not enough memory",
                           .excerpt = {},
                           .got = fmt::format("{} bytes asked for", bytes),
                           .expected = "a size that the machine can give",
                           .fix = "use smaller shapes or a smaller batch",
                           .from = {}});
}

/// Blocks that were freed, by class.
class BlockPool {
 public:
  static BlockPool& instance() {
    static BlockPool* pool = new BlockPool;  // never destroyed: buffers may outlive static objects
    return *pool;
  }

  void* take(size_t bytes) {
    const size_t size = class_size(bytes);
    {
      const std::scoped_lock lock(mutex_);
      counters_.live_bytes += size;
      counters_.peak_bytes = std::max(counters_.peak_bytes, counters_.live_bytes);
      if (const auto found = kept_.find(size); found != kept_.end() && !found->second.empty()) {
        void* block = found->second.back();
        found->second.pop_back();
        counters_.kept_bytes -= size;
        ++counters_.reuses;
        return block;
      }
      ++counters_.allocations;
    }
    void* block = fresh(size);
    if (block == nullptr && trim()) block = fresh(size);
    if (block != nullptr) return block;
    const std::scoped_lock lock(mutex_);
    counters_.live_bytes -= size;
    return nullptr;
  }

  void give(void* block, size_t bytes) noexcept {
    const size_t size = class_size(bytes);
    {
      const std::scoped_lock lock(mutex_);
      counters_.live_bytes -= size;
      if (size >= kPooledFrom && counters_.kept_bytes + size <= kKeepBytes && keep(block, size)) return;
    }
    std::free(block);
  }

  /// Whether anything was given back.
  bool trim() {
    std::map<size_t, std::vector<void*>> blocks;
    {
      const std::scoped_lock lock(mutex_);
      blocks.swap(kept_);
      counters_.kept_bytes = 0;
    }
    bool any = false;
    for (const auto& [size, list] : blocks) {
      for (void* block : list) std::free(block);
      any = any || !list.empty();
    }
    return any;
  }

  MemoryCounters counters() {
    const std::scoped_lock lock(mutex_);
    return counters_;
  }

 private:
  BlockPool() { ForkGuard::instance().add({.state = this, .mutex = &mutex_}); }

  static void* fresh(size_t size) {
    const size_t alignment = size >= kHugePage ? kHugePage : kBufferAlignment;
    void* block = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    // Fewer page faults and translation misses over large tensors; where it is refused nothing is lost.
    if (block != nullptr && size >= kHugePage) madvise(block, size, MADV_HUGEPAGE);
    return block;
  }

  bool keep(void* block, size_t size) noexcept {
    try {
      kept_[size].push_back(block);
    } catch (const std::bad_alloc&) {
      return false;
    }
    counters_.kept_bytes += size;
    return true;
  }

  std::mutex mutex_;
  std::map<size_t, std::vector<void*>> kept_;
  MemoryCounters counters_;
};

/// A field of /proc/self/status in bytes. The counter of getrusage is of no use: exec inherits it.
uint64_t status_field(std::string_view field) {
  const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[8192];
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return 0;
  text[got] = '\0';
  const char* at = std::strstr(text, field.data());
  return at == nullptr ? 0 : std::strtoull(at + field.size(), nullptr, 10) * 1024;
}

}  // namespace

Buffer::Buffer(size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  if (bytes > kMaxBytes) fail_to_allocate(bytes);
  data_ = BlockPool::instance().take(bytes);
  if (data_ == nullptr) fail_to_allocate(bytes);
}

void Buffer::release() noexcept {
  if (data_ != nullptr) BlockPool::instance().give(data_, size_);
}

MemoryCounters memory_counters() { return BlockPool::instance().counters(); }
void trim_memory() { BlockPool::instance().trim(); }
uint64_t resident_bytes() { return status_field("VmRSS:"); }
uint64_t peak_resident_bytes() { return status_field("VmHWM:"); }

}  // namespace frit::runtime
