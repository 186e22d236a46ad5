#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "ir/expr.h"

namespace frit::kernel {

/// One lane of an arithmetic instruction (but Select) by its definition. `dtype` is that of the operands, `to` of the
/// result; values are bits. Sets `fault` where an operand breaks the operation's promise.
uint64_t scalar_step(Op op, DType dtype, DType to, std::span<const uint64_t> operands, std::string& fault);
uint64_t cast_in_range_step(DType from, DType to, uint64_t bits, std::string& fault);

}  // namespace frit::kernel
