#pragma once
#include "codegen/lower/flatten.h"
#include "codegen/lower/lower.h"
#include "codegen/lower/nest.h"

namespace frit {

/// Contracts a * b + c where the machine can, and expands functions into what it has.
void prepare(Compute& compute, const Machine& machine);

/// Reads that flatten a tensor (positions with // and %) whose strides compose become reads of the same buffer as one
/// long axis. Before `prepare`: a division that is written out is no longer seen.
void straighten(Flat& flat, NestOperands& operands);

/// Before anything walks the expressions by recursion: what no text could hold is refused.
/// errors  UnsupportedError: more operations than one kernel takes
void check_size(const Flat& flat, const std::string& name);

}  // namespace frit
