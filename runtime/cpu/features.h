#pragma once
#include <string>
#include <string_view>

namespace frit::runtime {

/// The instruction sets that code is generated for. A level fixes processor name and features exactly, so that an
/// object made on one machine runs on every machine of the level.
enum class CpuLevel { Sse2, Avx2, Avx512 };

/// sse2    baseline x86-64
/// avx2    with fma, f16c, bmi, bmi2, lzcnt, popcnt, movbe
/// avx512  F, DQ, BW, VL, CD on top; 512-bit vectors stay 512 bits wide
struct CpuTarget {
  CpuLevel level = CpuLevel::Sse2;

  std::string_view name() const;           // "sse2", "avx2", "avx512"
  std::string_view llvm_cpu() const;       // a processor name of LLVM
  std::string_view llvm_features() const;  // "+sse2,...", complete
  int vector_bytes() const;                // 16, 32, 64
  bool has_fma() const { return level != CpuLevel::Sse2; }
};

/// The best level of this machine, by cpuid and the state that the system saves.
CpuLevel detect_cpu_level();

/// A level by its name, "native" for the best.
/// errors  InputError: unknown name; a level that this machine lacks
CpuTarget cpu_target_named(std::string_view name);

/// The level that FRIT_CPU names, else the best of this machine.
CpuTarget cpu_target_from_environment();

}  // namespace frit::runtime
