#pragma once
#include <string>

#include "runtime/cpu/features.h"
#include "runtime/kernel.h"

namespace frit::runtime {

/// The machine code of a kernel as text, Intel syntax: one instruction a line, indented; branch targets are lines
/// `b0:`, `b1:`, .. in the order of the code. Opens LLVM at the first call. A native function gives an empty text.
/// errors  UnsupportedError: LLVM cannot be opened; InternalError: bytes that are no instruction
std::string disassemble(const Kernel& kernel, const CpuTarget& cpu);

}  // namespace frit::runtime
