#include "compiler/plan/views.h"

#include "codegen/lower/nest.h"
#include "ir/array.h"

namespace frit {
namespace {

std::vector<int64_t> extents_of(const View& view) {
  std::vector<int64_t> extents;
  for (const Axis& axis : view.axes) extents.push_back(static_extent(axis.extent));
  return extents;
}

// Equal but for the strides of axes that never step.
bool same_elements(const Storage& a, const Storage& b, const std::vector<int64_t>& shape) {
  if (a.offset != b.offset || a.axes.size() != b.axes.size()) return false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1 && !(a.axes[d] == b.axes[d])) return false;
  }
  return true;
}

// The axis that a position walks from end to end, and whether backwards.
std::optional<std::pair<size_t, bool>> whole_axis(const Expr& position, int64_t extent, size_t axes) {
  const auto walk = affine(position, axes);
  if (!walk) return std::nullopt;
  std::optional<std::pair<size_t, bool>> found;
  for (size_t a = 0; a < axes; ++a) {
    if (walk->coefficients[a] == 0) continue;
    const bool is_back = walk->coefficients[a] == -1 && walk->constant == extent - 1;
    const bool is_plain = walk->coefficients[a] == 1 && walk->constant == 0;
    if (found || (!is_back && !is_plain)) return std::nullopt;
    found = {a, is_back};
  }
  return found;
}

// Strides of the base where each position is an axis of the view, from either end, or the only index of its own axis.
std::optional<Storage> permuted_base(const View& view, const std::vector<int64_t>& base_shape, const Storage& storage) {
  Storage base = storage;
  base.axes.assign(base_shape.size(), {});
  for (size_t d = 0; d < base_shape.size(); ++d) {
    if (base_shape[d] == 1) continue;
    const auto axis = whole_axis(view.positions[d], base_shape[d], view.axes.size());
    if (!axis) return std::nullopt;
    base.axes[d] = storage.axes[axis->first];
    if (!axis->second) continue;
    if (base.axes[d].block != 0) return std::nullopt;
    base.offset += (base_shape[d] - 1) * base.axes[d].stride;
    base.axes[d].stride = -base.axes[d].stride;
  }
  return base;
}

std::optional<Storage> flat_base(const std::vector<int64_t>& base_shape, const Storage& storage) {
  for (const Storage::AxisStep& step : storage.axes) {
    if (step.block != 0) return std::nullopt;
  }
  Storage base = make_storage(storage.dtype, base_shape, row_major(static_cast<int>(base_shape.size())));
  base.offset = storage.offset;
  base.elements = storage.elements;
  return base;
}

}  // namespace

std::optional<Storage> view_storage(const View& view, const Storage& base) {
  Compute walk;
  walk.axes = view.axes;
  walk.free = static_cast<int>(view.axes.size());
  const Access access = make_access(0, base, view.positions, walk);
  if (!access.affine) return std::nullopt;
  Storage storage;
  storage.dtype = base.dtype;
  storage.offset = access.constant;
  storage.elements = base.elements;
  for (const int64_t stride : access.coefficients) storage.axes.push_back({stride, 0, 0});
  if (access.blocked_axis >= 0) {
    Storage::AxisStep& step = storage.axes[static_cast<size_t>(access.blocked_axis)];
    step.block = access.block;
    step.block_stride = access.block_stride;
  }
  return storage;
}

std::optional<Storage> base_storage(const View& view, const std::vector<int64_t>& base_shape, const Storage& storage) {
  const std::vector<int64_t> shape = extents_of(view);
  if (element_count(shape) != element_count(base_shape) || element_count(shape) == 0) return std::nullopt;
  for (const auto& base : {permuted_base(view, base_shape, storage), flat_base(base_shape, storage)}) {
    if (!base) continue;
    const auto seen = view_storage(view, *base);
    if (seen && same_elements(*seen, storage, shape)) return base;
  }
  return std::nullopt;
}

View identity_view(const Shape& shape) {
  View view;
  for (size_t d = 0; d < shape.size(); ++d) {
    view.axes.push_back({"i" + std::to_string(d), shape[d]});
    view.positions.push_back(index(static_cast<int>(d)));
  }
  return view;
}

}  // namespace frit
