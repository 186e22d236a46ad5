#pragma once
#include <string>

#include "codegen/kernel/kernel.h"

namespace frit::kernel {

/// One instruction as a line, with values by their own numbers: for messages.
std::string print_instruction(const Kernel& kernel, const Instruction& instruction);

}  // namespace frit::kernel
