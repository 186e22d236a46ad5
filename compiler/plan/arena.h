#pragma once
#include <cstdint>
#include <vector>

namespace frit {

/// A box of bytes that is alive from the first to the last of some launches.
struct Life {
  int64_t bytes = 0;
  int first = 0, last = -1;  // last < first: never used
};

/// Offsets of boxes, multiples of 64, such that boxes alive at once are disjoint. Large boxes choose first; each takes
/// the smallest gap that holds it.
struct ArenaPlan {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
};
ArenaPlan plan_arena(const std::vector<Life>& lives);

}  // namespace frit
