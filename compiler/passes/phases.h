#pragma once
#include "ir/graph.h"

namespace frit {

/// Takes reads at exact divisions apart by residue, so that no test of divisibility and no division is left in a loop.
///     y[i] = sum[k]((x[(i + p - k) / s] else 0) * f[k])   becomes s convolutions with stride 1:
///     y[s*i + r] = sum[k]((x[i - k + c] else 0) * f[s*k + k0])   with k0 = (r + p) mod s, c = (r + p - k0)/s
/// Each is a part of an Assemble with step s; pointwise readers of the whole become readers of its parts, so that
/// biases and activations stay epilogues. A test of reduced axes alone keeps the axis on its lattice; where no tap is
/// left the part is what the reduction starts from. At most kMaxPhases parts; tests beyond that stay.
/// needs   a simplified graph; static extents (computes with symbols stay as they are)
/// gives   a simplified graph
/// keeps   every value, NaN from zero times infinity too: a tap that is left out of a float sum of products still adds
///         its zeros, once for each output channel, not for each element (PhaseSplit::Zeros); the order of every sum
///         where one class of taps is left, as in all convolutions
/// again   splitting twice changes nothing more
Graph split_phases(const Graph& graph);

}  // namespace frit
