#include <fmt/format.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands.h"
#include "cli/doc.h"
#include "cli/print.h"
#include "codegen/kernel/kernel.h"
#include "compiler/plan/build.h"
#include "compiler/plan/program.h"
#include "ir/lang/source.h"
#include "runtime/cpu/disassemble.h"
#include "support/error.h"

namespace frit::cli {
namespace {

class Shower {
 public:
  explicit Shower(const ShowOptions& options) : options_(options) {}

  std::string text() {
    using Print = std::string (Shower::*)();
    struct Stage {
      Print print;
      BuildStage until;
    };
    const std::map<std::string, Stage> stages = {
        {"snippet", {&Shower::snippet, BuildStage::Places}}, {"graph", {&Shower::graph, BuildStage::Places}},
        {"groups", {&Shower::groups, BuildStage::Places}},   {"schedule", {&Shower::schedule, BuildStage::Kernels}},
        {"kernel", {&Shower::kernel, BuildStage::Kernels}},  {"source", {&Shower::source, BuildStage::Sources}},
        {"asm", {&Shower::assembly, BuildStage::Sources}},   {"plan", {&Shower::plan, BuildStage::Sources}}};
    if (options_.stage == "doc") return documentation(options_.subject);
    const auto stage = stages.find(options_.stage);
    if (stage == stages.end())
      throw InputError(finding("--stage", "there is no such stage", options_.stage,
                               "doc, snippet, graph, groups, schedule, kernel, source, asm or plan"));
    subject_ = load_subject(options_.subject);
    if (options_.stage != "snippet") build_ = build(subject_.graph, machine_of(cache_), stage->second.until);
    if (!options_.kernel.empty() && stage->second.until != BuildStage::Places) check_kernel();
    return (this->*stage->second.print)();
  }

 private:
  static Finding finding(std::string where, std::string what, std::string got, std::string expected) {
    return {.where = std::move(where),
            .what = std::move(what),
            .excerpt = {},
            .got = std::move(got),
            .expected = std::move(expected),
            .fix = {},
            .from = {}};
  }

  void check_kernel() const {
    std::string names;
    for (const BuiltLaunch& launch : build_.launches) {
      if (is_wanted(launch)) return;
      names += (names.empty() ? "" : ", ") + printable(launch.name);
    }
    throw InputError(finding("--kernel", "there is no such kernel", options_.kernel, names.empty() ? "none" : names));
  }
  bool is_wanted(const BuiltLaunch& launch) const { return options_.kernel.empty() || launch.name == options_.kernel; }

  // Each wanted text once, under the names of the launches that share it.
  std::string for_each_text(const char* comment, const std::function<std::string(const BuiltLaunch&)>& text_of) const {
    std::map<std::string, std::string> names;
    std::vector<std::string> order;
    for (const BuiltLaunch& launch : build_.launches) {
      if (!is_wanted(launch)) continue;
      std::string text = text_of(launch);
      std::string& list = names[text];
      if (list.empty()) order.push_back(std::move(text));
      list += (list.empty() ? "" : ", ") + printable(launch.name);
    }
    std::string all;
    for (const std::string& text : order)
      all += fmt::format("{}{} {}\n{}", all.empty() ? "" : "\n", comment, names.at(text), text);
    return all;
  }

  std::string snippet() { return definitions_text(options_.subject, subject_); }
  std::string graph() { return to_string(build_.graph); }
  std::string groups() { return to_string(build_.grouping, build_.graph) + to_string(build_.places, build_.graph); }

  std::string schedule() {
    std::string text;
    for (const BuiltLaunch& launch : build_.launches) {
      if (!is_wanted(launch)) continue;
      text += fmt::format("{}{}: {}  # {} tiles, {:.3g} operations, {:.3g} bytes\n", launch.is_static ? "init " : "",
                          printable(launch.name), launch.lowered.schedule, launch.lowered.tiles, launch.lowered.flops,
                          launch.lowered.bytes);
    }
    return text;
  }

  std::string kernel() {
    return for_each_text("#", [](const BuiltLaunch& launch) { return to_string(*launch.lowered.kernel); });
  }
  std::string source() {
    return for_each_text(";", [&](const BuiltLaunch& launch) { return build_.sources[source_of(launch)].text; });
  }
  std::string assembly() {
    return for_each_text("#", [&](const BuiltLaunch& launch) {
      return runtime::disassemble(*cache_.get(build_.sources[source_of(launch)]), cache_.cpu());
    });
  }
  static size_t source_of(const BuiltLaunch& launch) { return static_cast<size_t>(launch.source); }

  std::string plan() {
    const PlanTemplate plan = make_template(build_, subject_.graph,
                                            [&](const runtime::KernelSource& source) { return cache_.key_of(source); });
    std::string text;
    if (!plan.init.launches.empty()) text += "# init\n" + print_plan(plan.init) + "# main\n";
    return text + print_plan(plan.main);
  }

  const ShowOptions& options_;
  runtime::KernelCache& cache_ = runtime::KernelCache::shared();
  Subject subject_;
  Build build_;
};

}  // namespace

void show(const ShowOptions& options) {
  const std::string text = Shower(options).text();
  if (!options.json) return print(text);
  const nlohmann::ordered_json json{{"stage", options.stage}, {"kernel", options.kernel}, {"text", text}};
  print(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace frit::cli
