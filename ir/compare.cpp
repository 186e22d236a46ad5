// How near a result must come to the reference.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ir/interpreter.h"
#include "ir/scalar.h"

namespace frit {
namespace {

double epsilon(DType dtype) {
  switch (dtype) {
    case DType::F16:
      return std::ldexp(1.0, -10);
    case DType::BF16:
      return std::ldexp(1.0, -7);
    case DType::F32:
      return std::numeric_limits<float>::epsilon();
    default:
      return std::numeric_limits<double>::epsilon();
  }
}

double largest(DType dtype) {
  switch (dtype) {
    case DType::F16:
      return 65504;
    case DType::BF16:
      return bf16_to(0x7f7f);
    case DType::F32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

struct Tolerance {
  double c;
  DType dtype;
  double operator()(const ReferenceTensor& want, size_t i) const {
    const DType computed = compute_dtype(dtype);
    const double scale = c * static_cast<double>(want.terms[i] + 4);
    double allowed = scale * epsilon(computed) * want.magnitudes[i];
    if (computed != dtype) allowed += c * epsilon(dtype) * std::fabs(want.values[i]);  // rounding to storage
    const double smallest = dtype == DType::F16   ? std::ldexp(1.0, -24)
                            : dtype == DType::F64 ? 0
                                                  : std::ldexp(1.0, -133);
    return allowed + scale * (dtype == DType::F32 ? std::ldexp(1.0, -149) : smallest);
  }
};

bool agrees(double got, double want, double allowed, double magnitude, double limit) {
  if (std::isnan(want)) return std::isnan(got);
  if (got == want || std::fabs(got - want) <= allowed) return !std::isinf(want) || got == want;
  // The result, or a sum on the way to it, is beyond the range of the dtype.
  if (std::fabs(want) + allowed >= limit && std::isinf(got) && (got < 0) == (want < 0)) return true;
  return std::isfinite(want) && magnitude > limit && !std::isfinite(got);
}

std::string position_text(const std::vector<int64_t>& shape, size_t i) {
  std::vector<size_t> at(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    at[d] = i % static_cast<size_t>(shape[d]);
    i /= static_cast<size_t>(shape[d]);
  }
  return fmt::format("[{}]", fmt::join(at, ", "));
}

}  // namespace

std::string compare(const Array& got, const ReferenceTensor& want, double c) {
  if (got.dtype() != want.dtype || got.shape() != want.shape)
    return fmt::format("got {}, want {}", to_string(TensorType{got.dtype(), make_shape(got.shape())}),
                       to_string(TensorType{want.dtype, make_shape(want.shape)}));
  const bool floats = is_float(want.dtype);
  const Tolerance tolerance{c, want.dtype};
  const auto n = static_cast<size_t>(got.size());
  size_t wrong = 0, first = 0, worst = 0;
  double worst_ratio = 0;
  for (size_t i = 0; i < n; ++i) {
    const auto at = static_cast<int64_t>(i);
    if (!floats) {
      if (got.int_at(at) != want.integers[i] && wrong++ == 0) first = i;
      continue;
    }
    const double allowed = tolerance(want, i);
    const double value = got.float_at(at);
    if (agrees(value, want.values[i], allowed, want.magnitudes[i], largest(want.dtype))) continue;
    if (wrong++ == 0) first = worst = i;
    const double ratio = std::fabs(value - want.values[i]) / allowed;
    if (ratio > worst_ratio) worst_ratio = ratio, worst = i;
  }
  if (wrong == 0) return {};
  const auto show = [&](size_t i) {
    const auto at = static_cast<int64_t>(i);
    if (!floats)
      return fmt::format("{}: got {}, want {}", position_text(want.shape, i), got.int_at(at), want.integers[i]);
    return fmt::format("{}: got {}, want {}, allowed error {:.3g}", position_text(want.shape, i), got.float_at(at),
                       want.values[i], tolerance(want, i));
  };
  std::string text = fmt::format("{} of {} elements differ; first at {}", wrong, n, show(first));
  if (worst != first && floats)
    text += fmt::format("; worst at {} ({:.3g} times the allowed error)", show(worst), worst_ratio);
  return text;
}

}  // namespace frit
