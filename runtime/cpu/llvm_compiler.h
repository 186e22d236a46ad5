#pragma once
#include <string>

#include "runtime/cpu/features.h"
#include "runtime/kernel.h"

namespace frit::runtime {

/// Version and build of the LLVM library that would be used, found without opening it: "19.1.7+710741575f4d7ca9".
std::string llvm_identity();

/// What object code depends on besides text, processor and compiler.
std::string llvm_options();

struct LlvmObject {
  std::string object;  // relocatable ELF; empty when refused
  std::string error;
  CodeReport report;
};

/// Generates code for one text; opens LLVM at the first call. Thread safe.
/// errors  UnsupportedError: the library frit_llvm or LLVM itself cannot be opened
LlvmObject compile_llvm(const KernelSource& source, const CpuTarget& cpu);

}  // namespace frit::runtime
