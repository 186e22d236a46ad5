#pragma once
#include <cstdint>
#include <optional>

#include "ir/expr.h"

namespace frit::kernel {

/// Value of a binary integer or bool operation on constants, in bits of the result; nothing where it has none (division
/// by zero, a shift out of range) or where the operation is no integer one. Comparisons give 0 or 1.
std::optional<uint64_t> fold_binary(Op op, DType dtype, uint64_t a, uint64_t b);

}  // namespace frit::kernel
