#pragma once
#include <vector>

#include "codegen/kernel/kernel.h"

namespace frit::kernel {

constexpr int kFromScratch = -1;  // points into the thread's scratch
constexpr int kFromUnknown = -2;  // no pointer, or from more than one place

/// For every value the buffer that it points into, through ptr_add, select, loops and branches.
std::vector<int> pointer_sources(const Kernel& kernel);

}  // namespace frit::kernel
