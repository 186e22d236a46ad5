#pragma once
#include <optional>
#include <vector>

#include "codegen/storage.h"
#include "ir/graph.h"

namespace frit {

/// The storage of a view of a tensor that is stored as `base`, where strides can say it.
std::optional<Storage> view_storage(const View& view, const Storage& base);

/// The storage that the viewed tensor needs so that its view is stored as `storage`; only for views that keep every
/// element once (reshape, transpose).
std::optional<Storage> base_storage(const View& view, const std::vector<int64_t>& base_shape, const Storage& storage);

/// The view that changes nothing.
View identity_view(const Shape& shape);

}  // namespace frit
