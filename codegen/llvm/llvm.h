#pragma once
#include <string>

#include "codegen/kernel/kernel.h"

namespace frit {

/// LLVM 19 IR text of one module that defines `frit_kernel` and declares intrinsics only. Pure: equal kernels (names
/// apart) give equal bytes, since the text is the key of the compiled code. Instructions stand in the kernel's order;
/// an innermost loop is one block with one backward branch. No fast-math flag, no nsw, nuw or inbounds, `fma` only
/// where the kernel says so; only `origin` of the names enters, in a comment. errors  UnsupportedError: a barrier, a
/// text longer than kMaxTextBytes
std::string print_llvm(const kernel::Kernel& kernel);

}  // namespace frit
