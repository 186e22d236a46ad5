#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/kernel/checked_run.h"
#include "codegen/kernel/kernel.h"
#include "codegen/llvm/llvm.h"
#include "runtime/kernel_cache.h"

namespace frit::testing {

/// Memory of one buffer of a launch, read and written in place.
using Bytes = kernel::BufferBytes;
template <class T>
Bytes bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

/// Prints, compiles and calls a kernel on one target.
class KernelRunner {
 public:
  virtual ~KernelRunner() = default;
  virtual bool has_fma() const = 0;
  virtual bool has_rounding() const = 0;
  virtual bool has_half_casts() const = 0;
  virtual bool is_slow() const { return false; }  // a compile takes long: fewer rows
  /// Calls the kernel for [begin, end) cut into `shares` parts.
  virtual void run(const kernel::Kernel& kernel, const std::vector<Bytes>& buffers, const std::vector<int64_t>& dims,
                   int64_t begin, int64_t end, size_t scratch_bytes = 0, int shares = 1) = 0;
};

class CpuRunner final : public KernelRunner {
 public:
  explicit CpuRunner(std::string_view level) : cache_(options(level)) {}
  bool has_fma() const override { return cache_.cpu().has_fma(); }
  bool has_rounding() const override { return cache_.cpu().has_fma(); }
  bool has_half_casts() const override { return cache_.cpu().has_fma(); }

  runtime::KernelRef compile(const kernel::Kernel& kernel) {
    return cache_.get({.name = kernel.name, .target = "cpu", .text = print_llvm(kernel)});
  }
  void run(const kernel::Kernel& kernel, const std::vector<Bytes>& buffers, const std::vector<int64_t>& dims,
           int64_t begin, int64_t end, size_t scratch_bytes, int shares) override {
    const runtime::KernelRef compiled = compile(kernel);
    std::vector<void*> pointers;
    for (const Bytes& b : buffers) pointers.push_back(b.data());
    struct alignas(64) Line {
      std::byte bytes[64];
    };
    std::vector<Line> scratch(scratch_bytes / 64 + 1);
    for (int share = 0; share < shares; ++share) {
      const int64_t from = begin + (end - begin) * share / shares, to = begin + (end - begin) * (share + 1) / shares;
      compiled->fn()(pointers.data(), dims.data(), from, to, scratch.data());
    }
  }

 private:
  static runtime::KernelCacheOptions options(std::string_view level) {
    runtime::KernelCacheOptions o;
    o.cpu = runtime::cpu_target_named(level);
    return o;
  }
  runtime::KernelCache cache_;
};

/// The kernel's definition, with every access checked.
class CheckedRunner final : public KernelRunner {
 public:
  bool has_fma() const override { return true; }
  bool has_rounding() const override { return true; }
  bool has_half_casts() const override { return true; }
  void run(const kernel::Kernel& kernel, const std::vector<Bytes>& buffers, const std::vector<int64_t>& dims,
           int64_t begin, int64_t end, size_t scratch_bytes, int) override {
    kernel::run_checked(kernel, buffers, dims, begin, end, scratch_bytes);
  }
};

/// Whether this machine runs a level: "sse2", "avx2", "avx512".
inline bool can_run(std::string_view level) {
  const auto best = runtime::detect_cpu_level();
  if (level == "avx512") return best == runtime::CpuLevel::Avx512;
  return level == "sse2" || (level == "avx2" && best != runtime::CpuLevel::Sse2);
}

}  // namespace frit::testing
