#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/storage.h"
#include "ir/graph.h"

namespace frit {

/// Where a stage of a group is computed.
///   Inline  in every read: no tensor exists
///   Root    in loops of its own; stored in a buffer, may be read by other groups
///   At      inside the group's shared row loops, once per row, into thread scratch; read only inside the group
enum class Placement : uint8_t { Inline, Root, At };

struct Stage {
  int node = -1;  // a Compute of the graph; or a Scatter or a Sort, which is the only stage that is not inline
  Placement placement = Placement::Root;
};

/// One kernel: stages in order of computation. With At stages, all At and Root stages share their first `shared_axes`
/// free axes (the rows), which are the outer, parallel loops. Otherwise there is one Root.
struct Group {
  std::string name;  // for people
  std::vector<Stage> stages;
  int shared_axes = 0;
  int root() const;  // node of the last Root stage
};

/// Whether a kernel computes the node: it is a stage of some group.
bool is_stage(const Node& node);

/// Which computes share a kernel and how each tensor that exists is stored. Every Compute is in one group, or inlined
/// into stated ones. Views, inputs, constants and assembles are no stages: they have a storage only.
struct Grouping {
  std::vector<Group> groups;        // in an order of execution
  std::map<Value, Layout> layouts;  // of every value that exists in memory; absent: row-major
  // Packed copies of values in another layout, made by the init plan when the value is constant, else by a group of its
  // own: read `slot` of `node` uses layout `layout` instead of the value's own.
  struct Packing {
    int node = -1;
    int slot = 0;
    Layout layout;
  };
  std::vector<Packing> packings;
  // A padding that costs nothing: `node` is `source` seen with its margins, so that element i of an axis is element
  // i - before of the source. The node is no stage; the source's layout has the margins.
  struct Padding {
    int node = -1;
    Value source;
    std::vector<int64_t> before;
  };
  std::vector<Padding> paddings;
};

/// The storage of a padding, given that of its source.
Storage padded_storage(const Storage& source, const Grouping::Padding& padding);

std::string to_string(const Grouping& grouping, const Graph& graph);
/// errors  InputError with the line; the result is verified against the graph
Grouping parse_grouping(std::string_view text, const Graph& graph);
std::vector<std::string> verify(const Grouping& grouping, const Graph& graph);  // INVARIANTS 12-16

}  // namespace frit
