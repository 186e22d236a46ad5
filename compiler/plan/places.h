#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codegen/group.h"
#include "codegen/storage.h"
#include "ir/graph.h"
#include "runtime/plan.h"

namespace frit {

/// A buffer of its own; several tensors may be boxes or views inside it.
struct Block {
  runtime::StorageKind kind = runtime::StorageKind::Arena;
  int index = 0;  // Constant: its node; Input: the input's number; Output: the output's number
  int64_t bytes = 0;
  bool is_static = false;  // computed from constants alone, by the init plan
  std::string name;        // for people
};

/// Where a tensor is: a storage counted from the start of a block.
struct Place {
  int block = -1;
  Storage storage;
  bool operator==(const Place&) const = default;
};

/// A launch that is no group: to[axes] = from[positions].
struct Copy {
  std::string name;
  View view;
  Shape from_shape;
  Place from, to;
};

/// One thing to do, in order. `index` counts groups, copies or packings; for margins it is the place in `margins`.
struct Step {
  enum class Kind : uint8_t { Group, Copy, Pack, Margins };
  Kind kind = Kind::Group;
  int index = 0;
  bool is_static = false;  // part of the init plan
};

/// Every tensor that exists in memory, and the steps that make them.
struct Places {
  struct Margins {
    std::string name;
    Value value;
    Layout layout;
  };
  struct Packed {
    std::string name;
    Value value;
    Layout layout;
    Place place;
  };
  std::vector<Block> blocks;
  std::map<Value, Place> of;
  std::vector<Copy> copies;
  std::vector<Packed> packed;
  std::map<std::pair<int, int>, int> packed_read;  // (node, slot) -> index into `packed`
  std::vector<Margins> margins;
  std::vector<Step> steps;
};

/// Gives every value that exists in memory a place.
///   outputs    dense row-major, in a block of their own; a value given out twice, an input or a constant is copied
///   assembles  parts are produced in their box of the whole where their producer may be placed there (one owner, no
///              margins, no input, constant or output), else copied into it
///   scatters   in place of their base where nobody else reads it and it is computed
///   views      the same bytes with other strides where the storage can say so, else a copy
///   static     what depends on constants alone is made once, by the init plan
Places place(const Graph& graph, const Grouping& grouping);

/// One line for each place and step.
std::string to_string(const Places& places, const Graph& graph);

}  // namespace frit
