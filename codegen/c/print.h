#pragma once
#include <string>

#include "codegen/c/dialect.h"

namespace frit::c_text {

std::string print(const kernel::Kernel& kernel, const Dialect& dialect);

}  // namespace frit::c_text
