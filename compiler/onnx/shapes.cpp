#include "compiler/onnx/shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/array.h"
#include "support/error.h"

namespace frit::onnx {

void fail_shape(std::string what, std::string got, std::string expected) {
  throw InputError(Finding{{}, std::move(what), {}, std::move(got), std::move(expected), {}, {}});
}

std::string to_string(std::span<const int64_t> dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

int64_t checked_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    fail_shape("axis out of range", fmt::format("axis {} of an operand of rank {}", axis, rank),
               fmt::format("{} to {}", -rank, rank - 1));
  }
  return axis < 0 ? axis + rank : axis;
}

Dims checked_axes(std::span<const int64_t> axes, int64_t rank) {
  Dims result;
  for (const int64_t axis : axes) {
    const int64_t a = checked_axis(axis, rank);
    if (std::ranges::find(result, a) != result.end()) {
      fail_shape("an axis is named twice", "axes " + to_string(axes), "distinct axes");
    }
    result.push_back(a);
  }
  return result;
}

Dims reshape_dims(const Dims& from, const Dims& to, bool allow_zero) {
  const auto refuse = [&](const char* expected) {
    fail_shape("shapes do not fit", fmt::format("{} reshaped to {}", to_string(from), to_string(to)), expected);
  };
  Dims result = to;
  int64_t open = -1;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && !allow_zero) {
      if (i >= from.size()) refuse("a dim of the operand to keep");
      result[i] = from[i];
    } else if (to[i] == -1) {
      if (open >= 0) refuse("at most one -1");
      open = static_cast<int64_t>(i);
    } else if (to[i] < 0) {
      refuse("dims of 0 or more, and at most one -1");
    }
  }
  const int64_t total = element_count(from);
  if (open >= 0) {
    result[static_cast<size_t>(open)] = 1;
    const int64_t rest = element_count(result);
    if (rest == 0 || total % rest != 0) refuse("a size that the known dims divide");
    result[static_cast<size_t>(open)] = total / rest;
  }
  if (element_count(result) != total) refuse("the same number of elements");
  return result;
}

Dims squeeze_dims(const Dims& from, const Dims* axes) {
  const auto rank = static_cast<int64_t>(from.size());
  std::vector<bool> drop(from.size());
  if (axes) {
    for (const int64_t a : checked_axes(*axes, rank)) {
      if (from[static_cast<size_t>(a)] != 1) {
        fail_shape("only dims of extent 1 can be squeezed", fmt::format("axis {} of {}", a, to_string(from)));
      }
      drop[static_cast<size_t>(a)] = true;
    }
  } else {
    for (size_t i = 0; i < from.size(); ++i) drop[i] = from[i] == 1;
  }
  Dims result;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!drop[i]) result.push_back(from[i]);
  }
  return result;
}

Dims unsqueeze_dims(const Dims& from, const Dims& axes) {
  const auto rank = static_cast<int64_t>(from.size() + axes.size());
  Dims positions = checked_axes(axes, rank);
  std::ranges::sort(positions);
  Dims result = from;
  for (const int64_t a : positions) result.insert(result.begin() + a, 1);
  return result;
}

Dims flatten_dims(const Dims& from, int64_t axis) {
  const auto rank = static_cast<int64_t>(from.size());
  if (axis < -rank || axis > rank) {
    fail_shape("axis out of range", fmt::format("axis {} of an operand of rank {}", axis, rank),
               fmt::format("{} to {}", -rank, rank));
  }
  const auto at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  return {element_count(std::span(from).first(at)), element_count(std::span(from).subspan(at))};
}

Dims broadcast_dims(const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {  // from the right
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      fail_shape("shapes do not broadcast", fmt::format("{} and {}", to_string(a), to_string(b)),
                 "equal extents, or 1");
    }
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

SliceRange slice_range(int64_t start, int64_t stop, int64_t step, int64_t extent) {
  if (step == 0) fail_shape("slice with step 0", "step 0", "a step above or below 0");
  const auto inside = [&](int64_t position, int64_t low, int64_t high) {
    if (position < 0) position = position < -extent ? -1 : position + extent;
    return std::clamp(position, low, high);
  };
  SliceRange range{.start = 0, .step = step, .count = 0};
  if (extent == 0) return {};
  if (step > 0) {
    range.start = std::max<int64_t>(inside(start, -1, extent), 0);
    const int64_t end = std::max<int64_t>(inside(stop, -1, extent), 0);
    if (end > range.start) range.count = (end - range.start - 1) / step + 1;
  } else {
    range.start = inside(start, 0, extent - 1);
    const int64_t end = inside(stop, -1, extent - 1);
    if (range.start > end) {
      const uint64_t back = 0 - static_cast<uint64_t>(step);  // also right for the lowest int64
      range.count = static_cast<int64_t>(static_cast<uint64_t>(range.start - end - 1) / back) + 1;
    }
  }
  if (range.count <= 1) range.step = 1;  // keeps later arithmetic small
  if (range.count == 0) range.start = 0;
  return range;
}

Dims split_sizes(int64_t extent, const Dims* sizes, int64_t parts) {
  Dims result;
  if (sizes) {
    int64_t sum = 0;
    for (const int64_t s : *sizes) {
      if (s < 0 || __builtin_add_overflow(sum, s, &sum)) fail_shape("bad split", "split " + to_string(*sizes));
    }
    if (static_cast<int64_t>(sizes->size()) != parts || sum != extent) {
      fail_shape("split does not fit", fmt::format("sizes {}, {} outputs, extent {}", to_string(*sizes), parts, extent),
                 "one size for each output, with the extent as their sum");
    }
    return *sizes;
  }
  if (parts <= 0) fail_shape("split without parts", "0 outputs");
  const int64_t chunk = (extent + parts - 1) / parts;
  for (int64_t i = 0; i < parts; ++i) result.push_back(std::clamp<int64_t>(extent - i * chunk, 0, chunk));
  return result;
}

}  // namespace frit::onnx
