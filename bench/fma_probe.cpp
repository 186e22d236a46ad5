// fma_probe [THREADS] [avx512|avx2|sse2] [SECONDS]: f32 multiply-adds a second right now, as one line of JSON.
// It stands beside every measured row, because a shared host changes its speed under our hands.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

volatile float g_factor = 1.0000001f;

// Twelve independent chains hide the latency of every core so far; registers are named so that nothing spills.
void fma_avx512(long steps) {
  const float x = g_factor, y = g_factor * 1e-9f;
  asm volatile(
      "vbroadcastss %1, %%zmm30\n vbroadcastss %2, %%zmm31\n"
      ".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n vmovaps %%zmm30, %%zmm\\r\n .endr\n"
      "1:\n .irp r,0,1,2,3,4,5,6,7,8,9,10,11\n vfmadd213ps %%zmm31, %%zmm30, %%zmm\\r\n .endr\n dec %0\n jnz 1b\n"
      "vzeroupper\n"
      : "+r"(steps)
      : "m"(x), "m"(y)
      : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm14",
        "xmm15");
}

void fma_avx2(long steps) {
  const float x = g_factor, y = g_factor * 1e-9f;
  asm volatile(
      "vbroadcastss %1, %%ymm14\n vbroadcastss %2, %%ymm15\n"
      ".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n vmovaps %%ymm14, %%ymm\\r\n .endr\n"
      "1:\n .irp r,0,1,2,3,4,5,6,7,8,9,10,11\n vfmadd213ps %%ymm15, %%ymm14, %%ymm\\r\n .endr\n dec %0\n jnz 1b\n"
      "vzeroupper\n"
      : "+r"(steps)
      : "m"(x), "m"(y)
      : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm14",
        "xmm15");
}

// Without FMA a step is a product and a sum.
void fma_sse2(long steps) {
  const float x = g_factor, y = g_factor * 1e-9f;
  asm volatile(
      "movss %1, %%xmm14\n shufps $0, %%xmm14, %%xmm14\n movss %2, %%xmm15\n shufps $0, %%xmm15, %%xmm15\n"
      ".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n movaps %%xmm14, %%xmm\\r\n .endr\n"
      "1:\n .irp r,0,1,2,3,4,5,6,7,8,9,10,11\n mulps %%xmm14, %%xmm\\r\n addps %%xmm15, %%xmm\\r\n .endr\n dec %0\n "
      "jnz 1b\n"
      : "+r"(steps)
      : "m"(x), "m"(y)
      : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm14",
        "xmm15");
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  const bool has_avx512 = __builtin_cpu_supports("avx512f"), has_avx2 = __builtin_cpu_supports("fma");
  const std::string isa = argc > 2 ? argv[2] : has_avx512 ? "avx512" : has_avx2 ? "avx2" : "sse2";
  const double seconds = argc > 3 ? std::atof(argv[3]) : 0.1;
  if ((isa == "avx512" && !has_avx512) || (isa == "avx2" && !has_avx2)) {
    std::fprintf(stderr, "fma_probe: this processor has no %s\n", isa.c_str());
    return 3;
  }
  void (*const loop)(long) = isa == "avx512" ? fma_avx512 : isa == "avx2" ? fma_avx2 : fma_sse2;
  const int lanes = isa == "avx512" ? 16 : isa == "avx2" ? 8 : 4;

  constexpr long kSteps = 500'000;
  double best = 1e9;
  for (const double end = now() + seconds; now() < end;) {
    const double start = now();
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(loop, kSteps);
    loop(kSteps);
    for (std::thread& t : others) t.join();
    best = std::min(best, now() - start);
  }
  std::printf("{\"isa\": \"%s\", \"threads\": %d, \"gflops\": %.1f}\n", isa.c_str(), threads,
              threads * double(kSteps) * 12 * lanes * 2 / best / 1e9);
}
