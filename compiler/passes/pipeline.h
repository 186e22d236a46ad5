#pragma once
#include <span>

#include "compiler/passes/pass.h"

namespace frit {

/// The passes from an imported graph to the one that is grouped, in order.
std::span<const Pass> graph_passes();
Graph optimize(const Graph& graph, const PassOptions& options = {}, std::vector<PassReport>* reports = nullptr);

}  // namespace frit
