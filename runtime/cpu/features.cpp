#include "runtime/cpu/features.h"

#include <cpuid.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>

#include "support/error.h"

namespace frit::runtime {
namespace {

struct Level {
  CpuLevel level;
  std::string_view name, llvm_cpu, llvm_features;
  int vector_bytes;
};

#define FRIT_SSE2 "+64bit,+cx8,+cmov,+fxsr,+mmx,+sse,+sse2"
#define FRIT_AVX2                                                                                     \
  FRIT_SSE2                                                                                           \
  ",+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+sahf,+crc32,+xsave,+avx,+avx2,+fma,+f16c,+bmi,+bmi2," \
  "+lzcnt,+movbe"
#define FRIT_AVX512 FRIT_AVX2 ",+avx512f,+avx512cd,+avx512dq,+avx512bw,+avx512vl,+evex512,-prefer-256-bit"

constexpr Level kLevels[] = {
    {CpuLevel::Sse2, "sse2", "x86-64", FRIT_SSE2, 16},
    {CpuLevel::Avx2, "avx2", "x86-64-v3", FRIT_AVX2, 32},
    {CpuLevel::Avx512, "avx512", "x86-64-v4", FRIT_AVX512, 64},
};

const Level& row_of(CpuLevel level) { return kLevels[static_cast<int>(level)]; }

struct Registers {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d) == 0) return {};
  return r;
}

uint64_t saved_state() {
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

bool has_bits(uint32_t value, std::initializer_list<int> bits) {
  for (const int bit : bits) {
    if ((value >> bit & 1) == 0) return false;
  }
  return true;
}

}  // namespace

std::string_view CpuTarget::name() const { return row_of(level).name; }
std::string_view CpuTarget::llvm_cpu() const { return row_of(level).llvm_cpu; }
std::string_view CpuTarget::llvm_features() const { return row_of(level).llvm_features; }
int CpuTarget::vector_bytes() const { return row_of(level).vector_bytes; }

CpuLevel detect_cpu_level() {
  const Registers one = cpuid(1), seven = cpuid(7), extended = cpuid(0x80000001u);
  // SSE3 SSSE3 FMA CX16 SSE4.1 SSE4.2 MOVBE POPCNT XSAVE OSXSAVE AVX F16C
  if (!has_bits(one.c, {0, 9, 12, 13, 19, 20, 22, 23, 26, 27, 28, 29})) return CpuLevel::Sse2;
  if (!has_bits(seven.b, {3, 5, 8}) || !has_bits(extended.c, {0, 5}))
    return CpuLevel::Sse2;  // BMI AVX2 BMI2; SAHF LZCNT
  const uint64_t state = saved_state();
  if ((state & 0x6) != 0x6) return CpuLevel::Sse2;                      // xmm and ymm
  if (!has_bits(seven.b, {16, 17, 28, 30, 31})) return CpuLevel::Avx2;  // F DQ CD BW VL
  return (state & 0xe6) == 0xe6 ? CpuLevel::Avx512 : CpuLevel::Avx2;    // masks and zmm
}

CpuTarget cpu_target_named(std::string_view name) {
  const CpuLevel best = detect_cpu_level();
  if (name == "native") return {best};
  for (const Level& level : kLevels) {
    if (level.name != name) continue;
    if (level.level <= best) return {level.level};
    throw InputError(Finding{.where = fmt::format("FRIT_CPU={}", name),
                             .what = "this machine lacks the instruction set",
                             .excerpt = {},
                             .got = fmt::format("a processor with {}", row_of(best).name),
                             .expected = fmt::format("sse2 to {}, or native", row_of(best).name),
                             .fix = "choose one of these, or unset FRIT_CPU",
                             .from = {}});
  }
  throw InputError(Finding{.where = fmt::format("FRIT_CPU={}", name),
                           .what = "unknown instruction set",
                           .excerpt = {},
                           .got = std::string(name),
                           .expected = "sse2, avx2, avx512 or native",
                           .fix = "choose one of these, or unset FRIT_CPU",
                           .from = {}});
}

CpuTarget cpu_target_from_environment() {
  const char* name = std::getenv("FRIT_CPU");
  return cpu_target_named(name == nullptr || *name == '\0' ? "native" : name);
}

}  // namespace frit::runtime
