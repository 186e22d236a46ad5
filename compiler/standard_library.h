#pragma once
#include "ir/lang/library.h"

namespace frit {

/// The definitions of `layers/*.frit`: standard layers and ONNX operators, compiled in as text. Read at first use; the
/// same object from then on, safe to read from many threads.
const lang::Library& standard_library();

}  // namespace frit
