#pragma once
#include <string>

#include "codegen/kernel/kernel.h"

namespace frit::kernel {

/// One instruction as a line, with values by their own numbers: for messages.
std::string print_instruction(const Kernel& kernel, const Instruction& instruction);

/// A name for people as the text of a comment to the end of its line: nothing in it ends or continues that line, in
/// LLVM IR or in any dialect of C (no control characters, backslashes, question marks of trigraphs). At most 200 bytes.
std::string comment_text(const std::string& name);

/// Refuses a text that is longer than kMaxTextBytes: UnsupportedError with the kernel's name.
void check_text_size(const Kernel& kernel, size_t bytes);

}  // namespace frit::kernel
