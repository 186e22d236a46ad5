#pragma once
#include "codegen/lower/lower.h"
#include "codegen/lower/nest.h"
#include "codegen/schedule.h"

namespace frit {

/// The schedule of a nest without search: the vector axis by what its loads and stores cost, then the register tile by
/// a closed-form count of cycles. Every nest gets a correct one.
Schedule choose_schedule(const Nest& nest, const Machine& machine);

/// A register tile for a product of `rows` x `columns` (columns along vectors) over `depth` steps.
struct Tile {
  int rows = 1;
  int vectors = 1;
  double cycles = 0;  // for the whole product, estimated
};
Tile choose_product_tile(int64_t rows, int64_t columns, int64_t depth, int lanes, const Machine& machine);

/// Whether the only step of the reduction is Acc + a * b (as sum of products, or already an Fma).
bool is_sum_of_products(const Reduction& reduction);
/// Whether states may be merged in any order, so that lanes of a reduced axis can hold partial states.
bool is_commutative(const Reduction& reduction);

}  // namespace frit
