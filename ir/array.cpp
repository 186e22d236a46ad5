#include "ir/array.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "ir/scalar.h"
#include "support/error.h"

namespace frit {
namespace {

constexpr std::align_val_t kAlignment{64};

std::shared_ptr<std::byte> allocate(size_t bytes) {
  const size_t rounded = std::max<size_t>(64, (bytes + 63) / 64 * 64);
  auto* memory = static_cast<std::byte*>(::operator new(rounded, kAlignment));
  std::memset(memory, 0, rounded);
  return {memory, [](std::byte* p) { ::operator delete(p, kAlignment); }};
}

// A float of `mantissa` stored bits and exponent bias `bias`, from a double in one rounding to nearest even.
uint16_t narrow(double value, int mantissa, int bias) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const int exponent_bits = 15 - mantissa;
  const auto infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | infinity | (1 << (mantissa - 1)));
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | infinity;
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  // In units of the last place; nearbyint rounds half to even in the default mode. Carries run into the exponent.
  const double units = std::nearbyint(std::scalbn(magnitude, mantissa - exponent));
  const int64_t bits = (static_cast<int64_t>(exponent + bias - 1) << mantissa) + static_cast<int64_t>(units);
  return static_cast<uint16_t>(sign | std::min<int64_t>(bits, infinity));
}

double widen(uint16_t bits, int mantissa, int bias) {
  const int exponent_bits = 15 - mantissa;
  const int exponent = (bits >> mantissa) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << mantissa) - 1);
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - mantissa);
  return sign * std::ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
}

template <class T>
T load(const std::byte* data, int64_t i) {
  T value;
  std::memcpy(&value, data + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}
template <class T>
void store(std::byte* data, int64_t i, T value) {
  std::memcpy(data + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

}  // namespace

uint16_t f16_from(double value) { return narrow(value, 10, 15); }
uint16_t bf16_from(double value) { return narrow(value, 7, 127); }
double f16_to(uint16_t bits) { return widen(bits, 10, 15); }
double bf16_to(uint16_t bits) { return widen(bits, 7, 127); }

int64_t element_count(std::span<const int64_t> shape) {
  // Checked without the zero extents first, so that [2^40, 2^40, 0] is refused too: its strides would wrap.
  int64_t nonzero = 1;
  bool empty = false;
  for (const int64_t extent : shape) {
    const auto refuse = [&](const char* what) {
      throw InputError(Finding{.where = {},
                               .what = what,
                               .excerpt = {},
                               .got = fmt::format("[{}]", fmt::join(shape, ", ")),
                               .expected = "extents from 0 whose product fits 63 bits",
                               .fix = {},
                               .from = {}});
    };
    if (extent < 0) refuse("a shape has a negative extent");
    if (extent == 0) {
      empty = true;
      continue;
    }
    if (__builtin_mul_overflow(nonzero, extent, &nonzero)) refuse("a shape is too large");
  }
  return empty ? 0 : nonzero;
}

Array::Array(DType dtype, std::vector<int64_t> shape)
    : dtype_(dtype), shape_(std::move(shape)), size_(element_count(shape_)), owned_(true) {
  if (size_ > std::numeric_limits<int64_t>::max() / 16)
    throw InputError(Finding{.where = {},
                             .what = "an array is too large",
                             .excerpt = {},
                             .got = fmt::format("{} elements", size_),
                             .expected = {},
                             .fix = {},
                             .from = {}});
  auto memory = allocate(size_bytes());
  data_ = memory.get();
  owner_ = std::move(memory);
}

Array::Array(DType dtype, std::vector<int64_t> shape, const void* data, std::shared_ptr<const void> owner)
    : dtype_(dtype),
      shape_(std::move(shape)),
      size_(element_count(shape_)),
      data_(const_cast<std::byte*>(static_cast<const std::byte*>(data))),
      owner_(std::move(owner)) {}

std::byte* Array::mutable_data() {
  FRIT_CHECK(owned_, "the array borrows its memory");
  return data_;
}

int64_t Array::int_at(int64_t i) const {
  switch (dtype_) {
    case DType::Bool:
      return load<uint8_t>(data_, i) != 0;
    case DType::I8:
      return load<int8_t>(data_, i);
    case DType::I16:
      return load<int16_t>(data_, i);
    case DType::I32:
      return load<int32_t>(data_, i);
    case DType::I64:
      return load<int64_t>(data_, i);
    case DType::U8:
      return load<uint8_t>(data_, i);
    case DType::U16:
      return load<uint16_t>(data_, i);
    case DType::U32:
      return load<uint32_t>(data_, i);
    case DType::U64:
      return static_cast<int64_t>(load<uint64_t>(data_, i));
    case DType::F16:
    case DType::BF16:
    case DType::F32:
    case DType::F64:
      return saturate_to(DType::I64, float_at(i));
  }
  FRIT_UNREACHABLE();
}

double Array::float_at(int64_t i) const {
  switch (dtype_) {
    case DType::F16:
      return f16_to(load<uint16_t>(data_, i));
    case DType::BF16:
      return bf16_to(load<uint16_t>(data_, i));
    case DType::F32:
      return load<float>(data_, i);
    case DType::F64:
      return load<double>(data_, i);
    case DType::U64:
      return static_cast<double>(load<uint64_t>(data_, i));
    case DType::Bool:
    case DType::I8:
    case DType::I16:
    case DType::I32:
    case DType::I64:
    case DType::U8:
    case DType::U16:
    case DType::U32:
      return static_cast<double>(int_at(i));
  }
  FRIT_UNREACHABLE();
}

void Array::set_int(int64_t i, int64_t value) {
  std::byte* data = mutable_data();
  switch (dtype_) {
    case DType::Bool:
      return store<uint8_t>(data, i, value != 0);
    case DType::I8:
    case DType::U8:
      return store(data, i, static_cast<uint8_t>(value));
    case DType::I16:
    case DType::U16:
      return store(data, i, static_cast<uint16_t>(value));
    case DType::I32:
    case DType::U32:
      return store(data, i, static_cast<uint32_t>(value));
    case DType::I64:
    case DType::U64:
      return store(data, i, value);
    case DType::F16:
    case DType::BF16:
    case DType::F32:
    case DType::F64:
      return set_float(i, static_cast<double>(value));
  }
}

void Array::set_float(int64_t i, double value) {
  std::byte* data = mutable_data();
  switch (dtype_) {
    case DType::F16:
      return store(data, i, f16_from(value));
    case DType::BF16:
      return store(data, i, bf16_from(value));
    case DType::F32:
      return store(data, i, static_cast<float>(value));
    case DType::F64:
      return store(data, i, value);
    case DType::Bool:
      return set_int(i, value != 0);
    case DType::I8:
    case DType::I16:
    case DType::I32:
    case DType::I64:
    case DType::U8:
    case DType::U16:
    case DType::U32:
    case DType::U64:
      return set_int(i, saturate_to(dtype_, value));
  }
}

}  // namespace frit
