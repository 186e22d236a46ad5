#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace frit {

/// A pass over graphs: a function with a name. The runner, not the pass, verifies, times, prints and skips.
struct Pass {
  std::string_view name;
  std::function<Graph(const Graph&)> run;
};

struct PassOptions {
#ifdef NDEBUG
  bool verify = false;
#else
  bool verify = true;  // before the first pass and after each
#endif
  std::vector<std::string> print_after;  // names of passes, or "all"
  std::vector<std::string> skip;
  std::function<void(std::string_view text)> print;  // where printed graphs go; needed with print_after
};

struct PassReport {
  std::string name;
  double seconds = 0;
  bool changed = false;
  bool skipped = false;
};

/// Runs the passes in order.
/// errors  InputError for a name in the options that no pass has; InternalError when a graph does not verify
Graph run_passes(const Graph& graph, std::span<const Pass> passes, const PassOptions& options = {},
                 std::vector<PassReport>* reports = nullptr);

/// Whether two graphs are the same node by node: payloads, operands, outputs and their names; not labels.
bool equal(const Graph& a, const Graph& b);

}  // namespace frit
