#pragma once
#include <string>

namespace frit {

/// What tells this build of Frit from any other, as the linker wrote it; empty where it wrote none.
const std::string& build_id();

}  // namespace frit
