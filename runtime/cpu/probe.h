#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/buffer.h"
#include "runtime/kernel_cache.h"
#include "runtime/workers.h"

namespace frit::runtime {

/// Bytes of the data caches as the system reports them; 0 where it does not.
struct CacheSizes {
  int64_t l1 = 0, l2 = 0, l3 = 0;
};
CacheSizes cache_sizes();

/// The best rate of f32 multiply-adds (2 operations each) from registers. A machine in a cloud changes its speed within
/// a second, so a kernel's speed is a share of a peak probed between its own runs: call `run` there.
class FmaProbe {
 public:
  /// threads       0: all workers
  /// vector_bytes  16, 32 or 64, at most the target's; 0: the target's
  FmaProbe(KernelCache& cache, Workers& workers, int threads = 0, int vector_bytes = 0);

  /// GFLOP/s of one run of some 50 microseconds.
  double run();
  /// The best of all runs so far.
  double best() const { return best_; }
  int threads() const { return threads_; }
  const Kernel& kernel() const { return *kernel_; }

 private:
  Workers& workers_;
  int threads_;
  KernelRef kernel_;
  Buffer sums_;
  int64_t iterations_ = 2000;
  double flops_per_iteration_, best_ = 0;
};

/// The best rate of a[i] = b[i] + s * c[i] over arrays of `bytes` in all, shared by the threads; 3 accesses an element
/// are counted.
class TriadProbe {
 public:
  TriadProbe(KernelCache& cache, Workers& workers, size_t bytes, int threads = 0);

  double run();  // GB/s of one pass, or of several when the arrays are small
  double best() const { return best_; }
  int threads() const { return threads_; }

 private:
  Workers& workers_;
  int threads_;
  KernelRef kernel_;
  Buffer a_, b_, c_;
  int64_t tiles_, repeats_;
  double best_ = 0;
};

/// What this machine can do, best of short interleaved runs (under a second in all).
struct MachinePeaks {
  int threads = 1;
  double fma_gflops_one = 0, fma_gflops_all = 0;  // at the target's width
  double l1_gbs = 0, l2_gbs = 0;                  // one thread, half of the cache
  double memory_gbs_one = 0, memory_gbs_all = 0;
};
MachinePeaks measure_peaks(KernelCache& cache, Workers& workers);

}  // namespace frit::runtime
