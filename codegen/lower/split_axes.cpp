#include <algorithm>
#include <optional>

#include "codegen/lower/flatten.h"
#include "ir/analysis.h"

namespace frit {
namespace {

struct Split {
  int axis = 0;
  int64_t factor = 1;
};

// The first axis that a read which is not affine takes apart by a divisor of its extent.
std::optional<Split> find_split(const Compute& compute, int outer) {
  std::optional<Split> found;
  const size_t axes = compute.axes.size();
  const auto look = [&](const Expr& root) {
    for_each_node(root, [&](const Expr& e) {
      if (found || e.op() != Op::Read) return;
      for (const Expr& position : e.positions()) {
        if (affine(position, axes)) continue;
        for_each_node(position, [&](const Expr& x) {
          if (found || (x.op() != Op::FloorDiv && x.op() != Op::Mod)) return;
          if (x.arg(0).op() != Op::Index || !x.arg(1).is_constant()) return;
          const int axis = static_cast<int>(x.arg(0).bits());
          const int64_t extent = static_extent(compute.axes[static_cast<size_t>(axis)].extent);
          const int64_t factor = x.arg(1).int_value();
          if (axis >= outer && factor > 1 && factor < extent && extent % factor == 0) found = Split{axis, factor};
        });
      }
    });
  };
  for (const Expr& e : compute.reduction.step) look(e);
  for (const Compute::Result& r : compute.results) look(r.value);
  return found;
}

void apply_split(Flat& flat, const Split& split) {
  Compute& compute = flat.compute;
  const size_t at = static_cast<size_t>(split.axis);
  std::vector<Expr> moved;
  for (size_t k = 0; k < compute.axes.size(); ++k) moved.push_back(index(static_cast<int>(k + (k > at))));
  moved[at] = index(split.axis) * index_constant(split.factor) + index(split.axis + 1);

  if (flat.write_positions.empty())
    for (const Compute::Result& r : compute.results) {
      std::vector<Expr> positions;
      for (const int axis : r.axes) positions.push_back(index(axis));
      flat.write_positions.push_back(std::move(positions));
    }
  Axis low{compute.axes[at].name + "'", index_constant(split.factor)};
  const int64_t extent = static_extent(compute.axes[at].extent);
  compute.axes[at].extent = index_constant(extent / split.factor);
  compute.axes.insert(compute.axes.begin() + split.axis + 1, std::move(low));
  if (split.axis < compute.free) ++compute.free;

  IndexAnalysis analysis(compute.axes);
  const auto apply = [&](std::vector<Expr>& list) {
    for (Expr& e : list) e = analysis.simplify(substitute_indices(e, moved));
  };
  apply(compute.reduction.init);
  apply(compute.reduction.step);
  for (Compute::Result& r : compute.results) {
    r.value = analysis.simplify(substitute_indices(r.value, moved));
    for (int& axis : r.axes) axis += axis > split.axis;
  }
  for (std::vector<Expr>& positions : flat.write_positions) apply(positions);
}

}  // namespace

void split_axes(Flat& flat, int outer) {
  while (const auto split = find_split(flat.compute, outer)) apply_split(flat, *split);
}

}  // namespace frit
