#pragma once
#include <string>
#include <vector>

#include "codegen/group.h"
#include "codegen/lower/lower.h"
#include "compiler/plan/places.h"
#include "ir/graph.h"
#include "runtime/kernel.h"

namespace frit {

/// A launch before it is bytes: its kernel, and the place of each buffer.
struct BuiltLaunch {
  struct Buffer {
    int block = -1;
    int64_t offset = 0;  // bytes
    bool is_written = false;
    bool is_changed = false;  // written, and read before
  };
  std::string name;
  int source = -1;  // index into Build::sources
  bool is_static = false;
  std::vector<Buffer> buffers;
  Lowered lowered;
};

/// Everything between a graph and its machine code, kept for people to look at.
struct Build {
  Graph graph;  // simplified
  Grouping grouping;
  Places places;
  std::vector<BuiltLaunch> launches;           // of the init plan and of the plan, in order
  std::vector<runtime::KernelSource> sources;  // distinct texts
};

/// How far to go. A later stage includes the earlier ones.
enum class BuildStage : uint8_t { Places, Kernels, Sources };

/// Runs the passes on a verified graph: simplify, group, place, lower, print. Compiles nothing. Pure: the same graph
/// and machine give the same texts.
/// errors  UnsupportedError: what no schedule or printer can do on this target
Build build(const Graph& graph, const Machine& machine, BuildStage until = BuildStage::Sources);

/// The same from decisions that are already made.
Build build(Graph simplified, Grouping grouping, const Machine& machine, BuildStage until = BuildStage::Sources);

}  // namespace frit
