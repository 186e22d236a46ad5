#include "codegen/group.h"

#include <fmt/format.h>

#include "support/error.h"

namespace frit {
namespace {

std::string_view spell(Placement placement) {
  switch (placement) {
    case Placement::Inline:
      return "inline";
    case Placement::Root:
      return "root";
    case Placement::At:
      return "at";
  }
  FRIT_UNREACHABLE();
}

}  // namespace

int Group::root() const {
  for (size_t i = stages.size(); i-- > 0;)
    if (stages[i].placement == Placement::Root) return stages[i].node;
  FRIT_UNREACHABLE();
}

Storage padded_storage(const Storage& source, const Grouping::Padding& padding) {
  Storage storage = source;
  for (size_t d = 0; d < padding.before.size(); ++d) storage.offset -= padding.before[d] * source.axes[d].stride;
  return storage;
}

std::string to_string(const Grouping& grouping, const Graph& graph) {
  std::string text;
  for (const Group& group : grouping.groups) {
    text += fmt::format("group \"{}\"", group.name);
    if (group.shared_axes > 0) text += fmt::format(" rows over {} axes", group.shared_axes);
    text += "\n";
    for (const Stage& stage : group.stages) {
      const Node& node = graph.node(stage.node);
      text += fmt::format("  %{} {} {}", stage.node, spell(stage.placement), to_string(node.results[0]));
      if (const auto layout = grouping.layouts.find(Value{stage.node, 0});
          layout != grouping.layouts.end() && stage.placement == Placement::Root)
        text += fmt::format(" stored {}", to_string(layout->second));
      text += node.label.empty() ? "\n" : fmt::format("  # {}\n", node.label);
    }
  }
  for (const Grouping::Packing& packing : grouping.packings) {
    const Value source = graph.node(packing.node).inputs[static_cast<size_t>(packing.slot)];
    text += fmt::format("packed %{} for %{} stored {}\n", source.node, packing.node, to_string(packing.layout));
  }
  for (const Grouping::Padding& padding : grouping.paddings)
    text += fmt::format("padding %{} is %{} from -[{}]\n", padding.node, padding.source.node,
                        fmt::join(padding.before, ", "));
  return text;
}

std::vector<std::string> verify(const Grouping& grouping, const Graph& graph) {
  std::vector<std::string> findings;
  std::vector<int> roots(graph.nodes().size(), 0), inlined(graph.nodes().size(), 0);
  for (const Group& group : grouping.groups) {
    int last = -1;
    bool has_root = false;
    for (const Stage& stage : group.stages) {
      if (stage.node <= last)
        findings.push_back(fmt::format("group \"{}\": %{} is out of order", group.name, stage.node));
      last = stage.node;
      if (!std::holds_alternative<Compute>(graph.node(stage.node).payload))
        findings.push_back(fmt::format("group \"{}\": %{} is no compute", group.name, stage.node));
      (stage.placement == Placement::Inline ? inlined : roots)[static_cast<size_t>(stage.node)]++;
      has_root = has_root || stage.placement == Placement::Root;
    }
    if (!has_root) findings.push_back(fmt::format("group \"{}\" has no root", group.name));
  }
  std::vector<bool> padding(graph.nodes().size(), false);
  for (const Grouping::Padding& p : grouping.paddings) padding[static_cast<size_t>(p.node)] = true;
  for (size_t node = 0; node < graph.nodes().size(); ++node) {
    const bool compute = std::holds_alternative<Compute>(graph.nodes()[node].payload);
    if (compute && !padding[node] && roots[node] != 1 && inlined[node] == 0)
      findings.push_back(fmt::format("%{} is in {} groups: {}", node, roots[node], graph.nodes()[node].label));
    if (roots[node] == 1 && inlined[node] > 0) findings.push_back(fmt::format("%{} is stored and inlined", node));
  }
  for (const auto& [value, layout] : grouping.layouts) {
    const size_t rank = graph.type(value).shape.size();
    std::vector<int> levels(rank, 0);
    for (const Layout::Level& level : layout.levels)
      if (static_cast<size_t>(level.axis) < rank) levels[static_cast<size_t>(level.axis)] += level.block == 1;
    for (size_t a = 0; a < rank; ++a)
      if (levels[a] != 1) findings.push_back(fmt::format("layout of %{} is no bijection on axis {}", value.node, a));
  }
  return findings;
}

}  // namespace frit
