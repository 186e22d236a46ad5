#pragma once
#include <vector>

#include "codegen/group.h"
#include "ir/graph.h"

namespace frit {

/// Facts about a graph that grouping asks for again and again.
struct GraphFacts {
  explicit GraphFacts(const Graph& graph);

  const Graph& graph;
  std::vector<std::vector<int>> consumers;  // of each node, without repeats
  std::vector<bool> is_output;
  std::vector<double> cost;  // operations for each element of the innermost loop
  std::vector<int> size;     // distinct expression nodes

  const Compute* compute(int node) const { return std::get_if<Compute>(&graph.node(node).payload); }
  bool is_pointwise(int node) const { return compute(node) && compute(node)->reduced() == 0; }
  bool is_reduction(int node) const { return compute(node) && compute(node)->reduced() > 0; }
};

double element_count(const Shape& shape);
/// Iterations of all axes, and of the free axes.
double iterations(const Compute& compute);
double free_iterations(const Compute& compute);

/// A pointwise copy with a constant outside: node[i] = source[i - before] else fill.
struct PaddingMatch {
  Value source;
  std::vector<int64_t> before, after;
  double fill = 0;
};
std::optional<PaddingMatch> match_padding(const Graph& graph, int node);

/// Which computes are written into their readers: cheap or once-read pointwise producers into pointwise and reduce
/// readers, never into the inner loop of a product; a reduction into the pointwise chain that is its epilogue, one per
/// chain. Work repeated stays small. Paddings that become margins (`as_margins`) are not inlined.
std::vector<bool> choose_inlined(const GraphFacts& facts, const std::vector<bool>& as_margins);

/// Groups of the stages that remain, in order of execution; chains over the same rows share one group.
std::vector<Group> make_groups(const GraphFacts& facts, const std::vector<bool>& inlined,
                               const std::vector<bool>& as_margins);

/// Layouts, packings and paddings for these groups.
void choose_layouts(const GraphFacts& facts, Grouping& grouping, const std::vector<bool>& as_margins,
                    const struct Machine& machine);

}  // namespace frit
