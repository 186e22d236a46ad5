#pragma once
#include <cstdint>

#include "ir/graph.h"

namespace frit {

/// Whether two nodes compute the same from the same operands: labels and names of axes do not count. Constants are
/// compared by value when small, else by where they lie. Inputs are the same only by name.
bool is_same_node(const Node& a, const Node& b);
/// Equal for nodes that are the same.
uint64_t node_hash(const Node& node);

}  // namespace frit
