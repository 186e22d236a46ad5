#pragma once
#include "ir/graph.h"

namespace frit {

/// Sums and products that are scattered into f16 or bf16 accumulate in f32: base as f32, the Scatter, one rounding.
/// needs   a verified graph
/// gives   no Scatter that adds to or multiplies a 16-bit float
/// keeps   every value: a Scatter of 16 bits is defined as rounded once, at the end
/// order   after simplify; before group, which writes the widening into the Scatter
Graph widen_scatters(const Graph& graph);

}  // namespace frit
