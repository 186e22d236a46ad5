#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"

namespace frit {

/// How a tensor is stored, apart from what it is: levels from outermost to innermost, margins, and padded blocks.
///
/// A level {axis, block} counts the blocks of `block` elements of that axis; an axis that is split appears twice, with
/// its block and later with block 1: [n/32][k][n%32] is {{n, 32}, {k, 1}, {n, 1}}. Margins widen an axis on both sides:
/// the elements there exist, hold `fill`, and are written by whoever writes the tensor. A split axis is padded to whole
/// blocks, also with `fill`.
struct Layout {
  struct Level {
    int axis = 0;
    int64_t block = 1;
    bool operator==(const Level&) const = default;
  };
  struct Margin {
    int64_t before = 0, after = 0;
    bool operator==(const Margin&) const = default;
  };
  std::vector<Level> levels;
  std::vector<Margin> margins;  // one per logical axis, or empty
  double fill = 0;
  bool operator==(const Layout&) const = default;
};

Layout row_major(int rank);
Layout permuted(const std::vector<int>& order);  // axes from outermost to innermost
bool has_margins(const Layout& layout);
std::string to_string(const Layout& layout);  // "n h+1+1 w+1+1 c", "o/32 k o%32" with axes a0, a1, ..
Layout parse_layout(std::string_view text);

/// Where the elements are: element [i0, i1, ..] is at offset + sum over axes of step(i), in elements, where
/// step(i) = i * stride, or (i / block) * block_stride + (i % block) * stride on a split axis.
struct Storage {
  struct AxisStep {
    int64_t stride = 0;
    int64_t block = 0;  // 0: not split
    int64_t block_stride = 0;
    bool operator==(const AxisStep&) const = default;
  };
  DType dtype = DType::F32;
  int64_t offset = 0;          // of element [0, 0, ..] from the start of the buffer
  std::vector<AxisStep> axes;  // one per logical axis
  int64_t elements = 0;        // of the whole buffer, margins and padding included
  bool operator==(const Storage&) const = default;
};

/// The storage of a whole buffer of its own with this layout.
Storage make_storage(DType dtype, const std::vector<int64_t>& shape, const Layout& layout);
/// The storage of a part that sits at `offset` + `step` * index inside `whole` (a concat written in place).
Storage make_box(const Storage& whole, const std::vector<int64_t>& offset, const std::vector<int64_t>& step);
/// Row-major, no margins, no split, offset 0: what a caller's array looks like.
bool is_dense(const Storage& storage, const std::vector<int64_t>& shape);

}  // namespace frit
