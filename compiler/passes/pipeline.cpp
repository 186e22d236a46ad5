#include "compiler/passes/pipeline.h"

#include "compiler/passes/pad_reads.h"
#include "compiler/passes/phases.h"
#include "compiler/passes/simplify.h"
#include "compiler/passes/split_formulas.h"
#include "compiler/passes/split_reductions.h"
#include "compiler/passes/split_scans.h"
#include "compiler/passes/widen_scatters.h"

namespace frit {

std::span<const Pass> graph_passes() {
  static const Pass passes[] = {{"simplify", simplify},
                                {"phases", split_phases},
                                {"pad_reads", pad_reads},
                                {"split_scans", split_scans},
                                {"split_reductions", split_reductions},
                                {"widen_scatters", widen_scatters},
                                {"split_formulas", split_formulas}};
  return passes;
}

Graph optimize(const Graph& graph, const PassOptions& options, std::vector<PassReport>* reports) {
  return run_passes(graph, graph_passes(), options, reports);
}

}  // namespace frit
