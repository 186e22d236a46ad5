#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// Shape rules of ONNX operators, as functions of numbers. Errors are InputError without a place; the importer adds it.
namespace frit::onnx {

using Dims = std::vector<int64_t>;

[[noreturn]] void fail_shape(std::string what, std::string got, std::string expected = {});
std::string to_string(std::span<const int64_t> dims);  // "[2, 3]"

/// Axis in [-rank, rank) made non-negative.
int64_t checked_axis(int64_t axis, int64_t rank);
/// All of them, distinct, in the given order.
Dims checked_axes(std::span<const int64_t> axes, int64_t rank);

/// Reshape: 0 keeps the input's dim unless `allow_zero`; one -1 takes what is left.
Dims reshape_dims(const Dims& from, const Dims& to, bool allow_zero);
/// Without axes every dim of extent 1 goes.
Dims squeeze_dims(const Dims& from, const Dims* axes);
/// `axes` are positions in the result.
Dims unsqueeze_dims(const Dims& from, const Dims& axes);
/// Two axes: everything before `axis`, everything from it.
Dims flatten_dims(const Dims& from, int64_t axis);
/// numpy broadcasting.
Dims broadcast_dims(const Dims& a, const Dims& b);

/// A slice of one axis: `count` elements from `start`, `step` apart, all inside.
struct SliceRange {
  int64_t start = 0, step = 1, count = 0;
};
/// ONNX Slice: negative positions count from the end, then both ends are clamped.
SliceRange slice_range(int64_t start, int64_t stop, int64_t step, int64_t extent);
/// Sizes of the parts: given, or `parts` equal ones of which only the last may be smaller.
Dims split_sizes(int64_t extent, const Dims* sizes, int64_t parts);

}  // namespace frit::onnx
