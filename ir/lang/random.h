#pragma once
#include <array>

#include "ir/expr.h"

namespace frit::lang {

/// The four words (u32) of block `block` (i64) of the stream of `seed` (u64).
///     Philox4x32-10, key (seed low, high), counter (block low, high, 0, 0)
/// source   Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3 (2011)
std::array<Expr, 4> philox(const Expr& seed, const Expr& block);

/// f32 in [0, 1): (word >> 8) * 2^-24 of word `counter % 4` of block `counter // 4`.
Expr uniform(const Expr& seed, const Expr& counter);

/// f32, standard normal: sqrt(-2 log(1 - u)) cos(2 pi v) of the uniforms u, v at 2*counter and 2*counter + 1.
Expr normal(const Expr& seed, const Expr& counter);

}  // namespace frit::lang
