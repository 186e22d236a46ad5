#pragma once
#include "codegen/lower/lower.h"

namespace frit {

/// Lowers a group whose root is a Sort: a stable merge sort of each row in the worker's scratch, rows in parallel.
Lowered lower_sort(const Graph& graph, const Group& group, const StorageLookup& storages, const Machine& machine);

}  // namespace frit
