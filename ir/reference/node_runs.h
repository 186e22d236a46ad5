#pragma once
#include <vector>

#include "ir/graph.h"
#include "ir/reference/stored.h"

namespace frit::reference {

/// Evaluates `results` of a Compute, which share their axes, into `out`.
/// extents   of the axes
void run_compute(const Compute& compute, const std::vector<Source>& sources, const std::vector<int64_t>& extents,
                 const Symbols& symbols, const std::vector<int>& results, std::vector<Stored>& out);

/// The base changed at the positions, in row-major order of the axes.
Stored run_scatter(const Scatter& scatter, const std::vector<Source>& sources, const Stored& base,
                   const std::vector<int64_t>& extents, const Symbols& symbols);

/// Values and positions.
std::vector<Stored> run_sort(const Sort& sort, const Stored& input);

}  // namespace frit::reference
