#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/plan/build.h"
#include "ir/array.h"
#include "runtime/plan.h"
#include "support/digest.h"

namespace frit {

/// What fills a constant of a plan.
struct ConstantSource {
  enum class Kind : uint8_t {
    Weight,  // the `index`-th large constant of the graph, in order of its nodes
    Small,   // these bytes
    Init,    // output `index` of the init plan
  };
  Kind kind = Kind::Small;
  int index = 0;
  std::string bytes;
  bool operator==(const ConstantSource&) const = default;
};

/// A graph as plans of plain numbers, without weights: what a process needs to run it when the kernels are at hand.
struct PlanTemplate {
  struct Cost {
    double flops = 0, bytes = 0;
    bool operator==(const Cost&) const = default;
  };
  runtime::Plan init, main;
  std::vector<ConstantSource> init_constants, main_constants;
  std::vector<Cost> costs;  // of the launches of `main`
  int weights = 0;          // large constants of the graph
  bool operator==(const PlanTemplate&) const = default;
};

/// Orders, memory and barriers of what was built.
/// original  the graph before simplification, whose large constants the weights are
/// key_of    the key of a kernel's text
PlanTemplate make_template(const Build& build, const Graph& original,
                           const std::function<Digest(const runtime::KernelSource&)>& key_of);

/// Large constants of a graph, in order of its nodes.
std::vector<Array> weights_of(const Graph& graph);

/// Names everything a plan depends on in the graph, in order of its nodes; weights by dtype and shape only.
Digest structure_of(const Graph& graph);

std::string print_template(const PlanTemplate& plan);
/// errors  InputError: no template; the plans are verified
PlanTemplate parse_template(std::string_view text);

}  // namespace frit
