#pragma once
#include <string>

#include "codegen/kernel/kernel.h"

namespace frit::llvm_text {

std::string spell(kernel::Type type);                          // "float", "<16 x float>", "ptr"
std::string mangle(kernel::Type type);                         // "f32", "v16f32", as in the name of an intrinsic
std::string spell_constant(kernel::Type type, uint64_t bits);  // without the type; splat where the type is a vector
std::string spell_iota(kernel::Type type);

}  // namespace frit::llvm_text
