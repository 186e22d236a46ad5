#pragma once
#include <string>

#include "codegen/kernel/kernel.h"

namespace frit {

/// OpenCL C 1.2 text of one kernel:
///
///     __kernel void frit_kernel(__global uchar* b0, .., __global const long* dims, long first, long last,
///                               __global uchar* scratch, long scratch_bytes)
///
/// for work-groups of one item; item s of n computes the share s of n of the tiles [first, last), with its own
/// `scratch_bytes` of `scratch` (a multiple of 64). Pure: equal kernels (names apart) give equal bytes. No contraction
/// but where the kernel says Fma; integers wrap. Vectors have 2, 4, 8 or 16 lanes. errors  UnsupportedError: a barrier,
/// other widths, a text longer than kMaxTextBytes
std::string print_opencl(const kernel::Kernel& kernel);

}  // namespace frit
