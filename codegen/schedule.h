#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace frit {

/// How one nest of loops (a stage of a group) runs. Axes are positions in the nest after collapsing (see lower/nest.h).
/// A tile is `rows` unrolled steps of `row_axis` times `vectors` vectors of `lanes` elements of `vector_axis`. The
/// tiles of the free axes are walked in `order`, outermost first; their flat number is what workers share. With a
/// reduced vector axis each accumulator is a vector whose lanes are merged at the end, in a fixed tree.
struct Schedule {
  int vector_axis = -1;  // -1: scalar
  int lanes = 1;
  int vectors = 1;
  int row_axis = -1;  // -1: no rows
  int rows = 1;
  int row_block = 0;               // of an order (vectors, rows): tiles of rows before the next vectors; 0: all
  std::vector<int> order;          // free axes, outermost first; the last is walked without dividing
  std::vector<int> reduced_order;  // reduced axes, outermost first
  bool operator==(const Schedule&) const = default;
};

std::string to_string(const Schedule& schedule);  // one line: "vector a1 16x2 rows a0 14 order a1 a0 reduce a2"
Schedule parse_schedule(std::string_view text);   // InputError with what was expected

}  // namespace frit
