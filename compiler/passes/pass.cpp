#include "compiler/passes/pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "compiler/passes/node_equality.h"
#include "support/error.h"

namespace frit {
namespace {

void check_names(const std::vector<std::string>& names, std::span<const Pass> passes, std::string_view option) {
  for (const std::string& name : names) {
    const bool known =
        name == "all" || std::any_of(passes.begin(), passes.end(), [&](const Pass& p) { return p.name == name; });
    if (known) continue;
    std::string all;
    for (const Pass& p : passes) all += (all.empty() ? "" : ", ") + std::string(p.name);
    throw InputError(Finding{.where = std::string(option),
                             .what = "no such pass",
                             .excerpt = {},
                             .got = name,
                             .expected = all,
                             .fix = {},
                             .from = {}});
  }
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_verified(const Graph& graph, std::string_view after) {
  const std::vector<std::string> findings = verify(graph);
  if (findings.empty()) return;
  fail_internal("verify(graph)", fmt::format("{} findings {}: {}", findings.size(), after, fmt::join(findings, "\n")),
                __FILE__, __LINE__);
}

}  // namespace

Graph run_passes(const Graph& graph, std::span<const Pass> passes, const PassOptions& options,
                 std::vector<PassReport>* reports) {
  check_names(options.print_after, passes, "print-after");
  check_names(options.skip, passes, "skip");
  if (options.verify) check_verified(graph, "before the first pass");
  Graph current = graph;
  for (const Pass& pass : passes) {
    PassReport report{std::string(pass.name), 0, false, contains(options.skip, pass.name)};
    if (!report.skipped) {
      const auto start = std::chrono::steady_clock::now();
      Graph next = pass.run(current);
      report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      report.changed = !equal(current, next);
      current = std::move(next);
      if (options.verify) check_verified(current, "after " + report.name);
    }
    const bool wanted = contains(options.print_after, pass.name) || contains(options.print_after, "all");
    if (wanted && options.print) {
      const std::string state = report.skipped ? " (skipped)" : report.changed ? "" : " (unchanged)";
      options.print(fmt::format("# after {}{}\n{}", report.name, state, report.changed ? to_string(current) : ""));
    }
    if (reports) reports->push_back(std::move(report));
  }
  return current;
}

bool equal(const Graph& a, const Graph& b) {
  if (a.nodes().size() != b.nodes().size() || a.outputs().size() != b.outputs().size()) return false;
  for (size_t id = 0; id < a.nodes().size(); ++id)
    if (!is_same_node(a.nodes()[id], b.nodes()[id])) return false;
  for (size_t k = 0; k < a.outputs().size(); ++k)
    if (a.outputs()[k].name != b.outputs()[k].name || a.outputs()[k].value != b.outputs()[k].value) return false;
  return true;
}

}  // namespace frit
