#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cpu/features.h"
#include "runtime/disk_cache.h"
#include "runtime/kernel.h"

namespace frit::runtime {

struct KernelCacheOptions {
  DiskCacheOptions disk;
  CpuTarget cpu;
  uint64_t memory_limit_bytes = uint64_t{256} << 20;  // of machine code; a kernel in use outlives its eviction
  int compile_threads = 0;                            // 0: as many as this process has processors
  std::string compiler;                               // version and build; empty: of the LLVM at hand
  std::string loader_format;                          // empty: this build's

  /// FRIT_CPU, FRIT_CACHE_DIR, FRIT_CACHE_LIMIT; see DiskCacheOptions and CpuTarget.
  static KernelCacheOptions from_environment();
};

/// Compiled kernels by content: the key is all that can change the code (text, target, features, compiler version and
/// build, its options, loader format) and nothing else. Thread safe. However many threads ask, a key is compiled once;
/// a failed key is not remembered.
class KernelCache {
 public:
  explicit KernelCache(KernelCacheOptions options = KernelCacheOptions::from_environment());
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  /// The cache of this process, made from the environment at first use.
  static KernelCache& shared();

  /// errors  CompilerError: the text is refused (name, options, log, path of the saved text)
  ///         InternalError: the object is not closed, as an undefined symbol
  ///         UnsupportedError: an unknown target; no LLVM on this machine and no entry
  KernelRef get(const KernelSource& source);
  /// In the order of `sources`; misses are compiled in parallel. The first error is thrown after all have ended.
  std::vector<KernelRef> get_all(std::span<const KernelSource> sources);
  /// From memory or disk, without text and without LLVM; null when it is in neither.
  KernelRef get_by_key(const Digest& key, const std::string& name);
  Digest key_of(const KernelSource& source) const;

  const CpuTarget& cpu() const;
  DiskCache& disk();
  /// What the key of a text is made of, one "field value" line each.
  std::string key_fields(const KernelSource& source) const;
  /// Why a text is not on disk: the first field in which the most similar entry differs, "compiler: LLVM 19.1.6+..
  /// there, LLVM 19.1.7+.. here". Empty when it is there. Reads every entry: for people, not for programs.
  std::string explain_miss(const KernelSource& source);

  struct Counters {
    std::atomic<uint64_t> compiles = 0, memory_hits = 0, disk_hits = 0, failures = 0, evicted = 0;
    std::atomic<uint64_t> compile_ns = 0, load_ns = 0;  // summed over threads
  };
  const Counters& counters() const;
  uint64_t memory_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether this process has opened LLVM.
bool llvm_loaded();

/// Opens LLVM on a thread of its own (about 15 ms), for who knows that misses will come and has other work until then.
/// The end of its scope waits for that thread, since a process may not exit while LLVM is being opened.
class LlvmOpening {
 public:
  LlvmOpening();
  ~LlvmOpening();
  LlvmOpening(const LlvmOpening&) = delete;
  LlvmOpening& operator=(const LlvmOpening&) = delete;

 private:
  std::thread thread_;
};

}  // namespace frit::runtime
