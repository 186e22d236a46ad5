#include "codegen/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "support/error.h"

namespace frit {
namespace {

bool is_compute(const Node& node) { return std::holds_alternative<Compute>(node.payload); }

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

std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  }
  return text + '"';
}

[[noreturn]] void refuse(std::string_view what, std::string_view got, std::string_view expected) {
  throw InputError(Finding{.where = {},
                           .what = std::string(what),
                           .excerpt = {},
                           .got = std::string(got),
                           .expected = std::string(expected),
                           .fix = {},
                           .from = {}});
}

// Reads what to_string prints, line by line; all after # is for people.
class GroupingReader {
 public:
  GroupingReader(std::string_view text, const Graph& graph) : text_(text), graph_(graph) {}

  Grouping run() {
    while (!text_.empty()) {
      const size_t end = std::min(text_.find('\n'), text_.size());
      line_ = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      rest_ = line_;
      read_line();
    }
    return std::move(grouping_);
  }

 private:
  void read_line() {
    skip_spaces();
    if (rest_.empty() || rest_[0] == '#') return;
    if (rest_[0] == '%') return stage();
    const std::string_view kind = word();
    if (kind == "group") return group();
    if (kind == "layout") {
      const Value v = value();
      grouping_.layouts[v] = layout(v);
    } else if (kind == "packing") {
      const int node = this->node();
      const int64_t slot = number();
      const auto& inputs = graph_.node(node).inputs;
      if (slot < 0 || slot >= static_cast<int64_t>(inputs.size())) bad();
      grouping_.packings.push_back({node, static_cast<int>(slot), layout(inputs[static_cast<size_t>(slot)])});
    } else if (kind == "padding") {
      Grouping::Padding padding{node(), value(), {}};
      for (size_t d = 0; d < graph_.type(padding.source).shape.size(); ++d) padding.before.push_back(number());
      grouping_.paddings.push_back(std::move(padding));
    } else {
      bad();
    }
  }

  void group() {
    Group group;
    group.shared_axes = static_cast<int>(number());
    skip_spaces();
    if (rest_.empty() || rest_[0] != '"') bad();
    for (size_t i = 1;; ++i) {
      if (i >= rest_.size()) bad();
      if (rest_[i] == '"') break;
      if (rest_[i] == '\\' && ++i >= rest_.size()) bad();
      group.name += rest_[i];
    }
    grouping_.groups.push_back(std::move(group));
  }

  void stage() {
    if (grouping_.groups.empty()) bad();
    const int node = this->node();
    const std::string_view text = word();
    for (const Placement placement : {Placement::Inline, Placement::Root, Placement::At}) {
      if (spell(placement) != text) continue;
      grouping_.groups.back().stages.push_back({node, placement});
      return;
    }
    bad();
  }

  Layout layout(const Value& v) {
    const size_t end = std::min(rest_.find('#'), rest_.size());
    Layout layout = parse_layout(rest_.substr(0, end));
    for (const Layout::Level& level : layout.levels)
      if (static_cast<size_t>(level.axis) >= graph_.type(v).shape.size()) bad();
    return layout;
  }

  int node() {
    skip_spaces();
    if (rest_.empty() || rest_[0] != '%') bad();
    rest_.remove_prefix(1);
    const int64_t n = number();
    if (n < 0 || n >= static_cast<int64_t>(graph_.nodes().size())) bad();
    return static_cast<int>(n);
  }

  Value value() {
    const int n = node();
    if (rest_.empty() || rest_[0] != '.') bad();
    rest_.remove_prefix(1);
    const int64_t result = number();
    if (result < 0 || result >= static_cast<int64_t>(graph_.node(n).results.size())) bad();
    return {n, static_cast<int>(result)};
  }

  int64_t number() {
    skip_spaces();
    int64_t n = 0;
    const auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
    if (code != std::errc()) bad();
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return n;
  }

  std::string_view word() {
    skip_spaces();
    const size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return found;
  }

  void skip_spaces() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }

  [[noreturn]] void bad() const {
    refuse("groups cannot be read", line_,
           "group AXES \"name\", %NODE inline|root|at, layout %V.R LEVELS, packing %N SLOT LEVELS, padding %N %V.R "
           "NUMBERS");
  }

  std::string_view text_, line_, rest_;
  const Graph& graph_;
  Grouping grouping_;
};

}  // namespace

bool is_stage(const Node& node) {
  return is_compute(node) || std::holds_alternative<Scatter>(node.payload) ||
         std::holds_alternative<Sort>(node.payload);
}

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
    text += fmt::format("group {} {}\n", group.shared_axes, quoted(group.name));
    for (const Stage& stage : group.stages) {
      const Node& node = graph.node(stage.node);
      text += fmt::format("  %{} {}  # {} {}\n", stage.node, spell(stage.placement), to_string(node.results[0]),
                          node.label);
    }
  }
  for (const auto& [value, layout] : grouping.layouts)
    text += fmt::format("layout %{}.{} {}\n", value.node, value.result, to_string(layout));
  for (const Grouping::Packing& packing : grouping.packings)
    text += fmt::format("packing %{} {} {}  # reads %{}\n", packing.node, packing.slot, to_string(packing.layout),
                        graph.node(packing.node).inputs[static_cast<size_t>(packing.slot)].node);
  for (const Grouping::Padding& padding : grouping.paddings)
    text += fmt::format("padding %{} %{}.{} {}\n", padding.node, padding.source.node, padding.source.result,
                        fmt::join(padding.before, " "));
  return text;
}

Grouping parse_grouping(std::string_view text, const Graph& graph) {
  Grouping grouping = GroupingReader(text, graph).run();
  const std::vector<std::string> findings = verify(grouping, graph);
  if (!findings.empty()) refuse("the groups do not fit the graph", findings.front(), "what the graph has");
  return grouping;
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
      if (!is_stage(graph.node(stage.node)))
        findings.push_back(fmt::format("group \"{}\": %{} is no compute", group.name, stage.node));
      else if (!is_compute(graph.node(stage.node)) && (stage.placement != Placement::Root || group.shared_axes != 0))
        findings.push_back(fmt::format("group \"{}\": %{} is no root by itself", group.name, stage.node));
      (stage.placement == Placement::Inline ? inlined : roots)[static_cast<size_t>(stage.node)]++;
      has_root = has_root || stage.placement == Placement::Root;
    }
    const bool is_single = std::all_of(group.stages.begin(), group.stages.end(), [&](const Stage& stage) {
      return stage.placement == Placement::Inline || stage.node == group.stages.back().node;
    });
    if (has_root && !is_compute(graph.node(group.root())) && !is_single)
      findings.push_back(fmt::format("group \"{}\": %{} shares its kernel", group.name, group.root()));
    if (!has_root) findings.push_back(fmt::format("group \"{}\" has no root", group.name));
  }
  std::vector<bool> padding(graph.nodes().size(), false);
  for (const Grouping::Padding& p : grouping.paddings) padding[static_cast<size_t>(p.node)] = true;
  for (size_t node = 0; node < graph.nodes().size(); ++node) {
    const bool compute = is_stage(graph.nodes()[node]);
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
