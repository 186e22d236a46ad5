#pragma once
#include "ir/graph.h"

namespace frit {

/// Moves the guards of products and convolutions out of their loops: a guarded read at affine positions becomes a plain
/// read of a padded tensor.
///     sum[k]((x[i + k - 1] else 0) * f[k])   becomes   xp[i] = x[i - 1] else 0, and sum[k](xp[i + k] * f[k])
/// All readers of x with one fill share one padded tensor, as wide as the widest of them needs; where x is computed its
/// padding is then stored as margins and costs nothing.
/// needs   a simplified graph; static extents (others stay as they are)
/// gives   no guard in a sum of products, but for conditions of their own, positions that are not affine, and paddings
///         that would make a tensor more than kMaxPaddedGrowth times as large
/// keeps   every value
Graph pad_reads(const Graph& graph);

constexpr int64_t kMaxPaddedGrowth = 4;

}  // namespace frit
