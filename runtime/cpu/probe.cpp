#include "runtime/cpu/probe.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "support/error.h"

namespace frit::runtime {
namespace {

constexpr int64_t kTriadTile = 1024;  // elements

/// Sums that stay in registers: at least 2 ports x 4 cycles of them.
int sums_of(const CpuTarget& target) { return target.level == CpuLevel::Avx512 ? 24 : 12; }

/// dims[0] steps for each tile; a step is one multiply-add on every sum.
std::string fma_text(int lanes, int sums, bool has_fma) {
  const std::string type = fmt::format("<{} x float>", lanes);
  std::string text = has_fma ? fmt::format("declare {0} @llvm.fma.v{1}f32({0}, {0}, {0})\n", type, lanes) : "";
  text += fmt::format(
      "define void @frit_kernel(ptr noalias %buffers, ptr noalias %dims, i64 %begin, i64 %end, ptr noalias %scratch) "
      "{{\n"
      "entry:\n  %sums = load ptr, ptr %buffers\n  %steps = load i64, ptr %dims\n  %tiles = sub i64 %end, %begin\n"
      "  %count = mul i64 %steps, %tiles\n  %x = load {0}, ptr %sums, align 64\n"
      "  %y.at = getelementptr i8, ptr %sums, i64 64\n  %y = load {0}, ptr %y.at, align 64\n  br label %loop\n"
      "loop:\n  %i = phi i64 [%count, %entry], [%i2, %loop]\n",
      type);
  for (int k = 0; k < sums; ++k) text += fmt::format("  %s{0} = phi {1} [%x, %entry], [%t{0}, %loop]\n", k, type);
  for (int k = 0; k < sums; ++k) {
    if (has_fma) {
      text += fmt::format("  %t{0} = call {1} @llvm.fma.v{2}f32({1} %x, {1} %y, {1} %s{0})\n", k, type, lanes);
    } else {
      text += fmt::format("  %m{0} = fmul {1} %s{0}, %y\n  %t{0} = fadd {1} %m{0}, %x\n", k, type);
    }
  }
  text += "  %i2 = sub i64 %i, 1\n  %more = icmp sgt i64 %i2, 0\n  br i1 %more, label %loop, label %done\ndone:\n";
  std::string total = "%t0";
  for (int k = 1; k < sums; ++k) {
    text += fmt::format("  %u{0} = fadd {1} {2}, %t{0}\n", k, type, total);
    total = fmt::format("%u{}", k);
  }
  // Each tile's worker stores to a line of its own, so that the sums are not dead and no line is shared.
  return text +
         fmt::format(
             "  %line = add i64 %begin, 2\n  %at = shl i64 %line, 6\n  %out = getelementptr i8, ptr %sums, i64 %at\n"
             "  store {} {}, ptr %out, align 64\n  ret void\n}}\n",
             type, total);
}

/// a = b + s * c over tiles of kTriadTile elements, dims[0] times.
std::string triad_text(int lanes) {
  const std::string type = fmt::format("<{} x float>", lanes);
  return fmt::format(R"(
define void @frit_kernel(ptr noalias %buffers, ptr noalias %dims, i64 %begin, i64 %end, ptr noalias %scratch) {{
entry:
  %a = load ptr, ptr %buffers
  %b.at = getelementptr ptr, ptr %buffers, i64 1
  %b = load ptr, ptr %b.at
  %c.at = getelementptr ptr, ptr %buffers, i64 2
  %c = load ptr, ptr %c.at
  %repeats = load i64, ptr %dims
  %first = mul i64 %begin, {tile}
  %last = mul i64 %end, {tile}
  %s1 = insertelement {type} poison, float 3.0, i32 0
  %s = shufflevector {type} %s1, {type} poison, <{lanes} x i32> zeroinitializer
  br label %again
again:
  %r = phi i64 [0, %entry], [%r2, %next]
  br label %loop
loop:
  %i = phi i64 [%first, %again], [%i2, %loop]
  %bi = getelementptr float, ptr %b, i64 %i
  %ci = getelementptr float, ptr %c, i64 %i
  %ai = getelementptr float, ptr %a, i64 %i
  %bv = load {type}, ptr %bi, align 64
  %cv = load {type}, ptr %ci, align 64
  %m = fmul {type} %s, %cv
  %v = fadd {type} %m, %bv
  store {type} %v, ptr %ai, align 64
  %i2 = add i64 %i, {lanes}
  %more = icmp slt i64 %i2, %last
  br i1 %more, label %loop, label %next
next:
  %r2 = add i64 %r, 1
  %again.more = icmp slt i64 %r2, %repeats
  br i1 %again.more, label %again, label %done
done:
  ret void
}}
)",
                     fmt::arg("tile", kTriadTile), fmt::arg("type", type), fmt::arg("lanes", lanes));
}

struct Timed {
  KernelFn fn;
  void* const* buffers;
  const int64_t* dims;
  int64_t tiles;
};

/// Seconds of one launch on `threads` workers, from the moment when all are there.
double time_launch(Workers& workers, int threads, const Timed& launch) {
  struct Context {
    const Timed* launch;
    double seconds;
  } context{&launch, 0};
  workers.run(
      [](void* opaque, const Workers::Team& team) {
        auto& self = *static_cast<Context*>(opaque);
        int64_t begin = 0, end = 0;
        team.share(self.launch->tiles, begin, end);
        team.barrier->wait();
        const auto start = std::chrono::steady_clock::now();
        if (begin < end) self.launch->fn(self.launch->buffers, self.launch->dims, begin, end, nullptr);
        team.barrier->wait();
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        if (team.worker == 0) self.seconds = spent.count();
      },
      &context, threads);
  return std::max(context.seconds, 1e-9);
}

int threads_of(const Workers& workers, int threads) {
  return threads <= 0 ? workers.count() : std::min(threads, workers.count());
}

}  // namespace

CacheSizes cache_sizes() {
  const auto size = [](int name) { return std::max<int64_t>(sysconf(name), 0); };
  return {size(_SC_LEVEL1_DCACHE_SIZE), size(_SC_LEVEL2_CACHE_SIZE), size(_SC_LEVEL3_CACHE_SIZE)};
}

FmaProbe::FmaProbe(KernelCache& cache, Workers& workers, int threads, int vector_bytes)
    : workers_(workers), threads_(threads_of(workers, threads)), sums_(static_cast<size_t>(threads_ + 2) * 64) {
  const CpuTarget& cpu = cache.cpu();
  const int bytes = vector_bytes <= 0 ? cpu.vector_bytes() : std::min(vector_bytes, cpu.vector_bytes());
  const int lanes = bytes / 4, sums = sums_of(cpu);
  kernel_ = cache.get({.name = "fma_probe", .target = "cpu", .text = fma_text(lanes, sums, cpu.has_fma())});
  flops_per_iteration_ = 2.0 * lanes * sums;
  // x = 0 and y = 0.5: the sums neither grow nor become denormal.
  std::fill_n(sums_.as<float>(), sums_.size() / 4, 0.0f);
  std::fill_n(sums_.as<float>() + 16, 16, 0.5f);
}

double FmaProbe::run() {
  void* buffers[] = {sums_.data()};
  const Timed launch{kernel_->fn(), buffers, &iterations_, threads_};
  const double seconds = time_launch(workers_, threads_, launch);
  const double rate = flops_per_iteration_ * static_cast<double>(iterations_) * threads_ / seconds / 1e9;
  best_ = std::max(best_, rate);
  return rate;
}

TriadProbe::TriadProbe(KernelCache& cache, Workers& workers, size_t bytes, int threads)
    : workers_(workers), threads_(threads_of(workers, threads)) {
  const auto tile_bytes = static_cast<size_t>(kTriadTile) * 4;
  tiles_ = std::max<int64_t>(static_cast<int64_t>(bytes / 3 / tile_bytes), threads_);
  const size_t each = static_cast<size_t>(tiles_) * tile_bytes;
  repeats_ = std::max<int64_t>(1, static_cast<int64_t>((size_t{1} << 20) / (3 * each)));
  a_ = Buffer(each);
  b_ = Buffer(each);
  c_ = Buffer(each);
  for (Buffer* buffer : {&a_, &b_, &c_}) std::memset(buffer->data(), 0, each);
  const int lanes = cache.cpu().vector_bytes() / 4;
  kernel_ = cache.get({.name = "triad_probe", .target = "cpu", .text = triad_text(lanes)});
}

double TriadProbe::run() {
  void* buffers[] = {a_.data(), b_.data(), c_.data()};
  const double seconds = time_launch(workers_, threads_, {kernel_->fn(), buffers, &repeats_, tiles_});
  const double rate = 3.0 * static_cast<double>(a_.size()) * static_cast<double>(repeats_) / seconds / 1e9;
  best_ = std::max(best_, rate);
  return rate;
}

MachinePeaks measure_peaks(KernelCache& cache, Workers& workers) {
  const CacheSizes sizes = cache_sizes();
  const auto half = [](int64_t size, int64_t fallback) { return static_cast<size_t>(size > 0 ? size : fallback) / 2; };
  const size_t large = std::clamp<size_t>(static_cast<size_t>(sizes.l3) * 2, size_t{64} << 20, size_t{256} << 20);
  FmaProbe one(cache, workers, 1), all(cache, workers);
  TriadProbe l1(cache, workers, half(sizes.l1, 32 << 10), 1), l2(cache, workers, half(sizes.l2, 512 << 10), 1);
  for (int round = 0; round < 20; ++round) {
    one.run();
    all.run();
    l1.run();
    l2.run();
  }
  TriadProbe memory_one(cache, workers, large, 1), memory_all(cache, workers, large);
  for (int round = 0; round < 4; ++round) {
    memory_one.run();
    memory_all.run();
  }
  return {.threads = workers.count(),
          .fma_gflops_one = one.best(),
          .fma_gflops_all = all.best(),
          .l1_gbs = l1.best(),
          .l2_gbs = l2.best(),
          .memory_gbs_one = memory_one.best(),
          .memory_gbs_all = memory_all.best()};
}

}  // namespace frit::runtime
