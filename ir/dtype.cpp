#include "ir/dtype.h"

#include <algorithm>
#include <array>

#include "support/error.h"

namespace frit {
namespace {

constexpr std::array<std::string_view, 13> kNames = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                                                     "u32",  "u64", "f16", "bf16", "f32", "f64"};
constexpr std::array<int, 13> kSizes = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};

DType signed_of_size(int bytes) {
  return bytes == 1 ? DType::I8 : bytes == 2 ? DType::I16 : bytes == 4 ? DType::I32 : DType::I64;
}

std::optional<DType> promote_integers(DType a, DType b) {
  if (is_signed(a) == is_signed(b)) return size_bytes(a) >= size_bytes(b) ? a : b;
  const DType u = is_unsigned(a) ? a : b;
  const DType s = is_unsigned(a) ? b : a;
  if (u == DType::U64) return std::nullopt;
  return signed_of_size(std::max(size_bytes(s), 2 * size_bytes(u)));
}

DType promote_floats(DType a, DType b) {
  const bool halves = size_bytes(a) == 2 && size_bytes(b) == 2;
  if (halves) return DType::F32;  // f16 with bf16: neither holds the other
  return size_bytes(a) >= size_bytes(b) ? a : b;
}

}  // namespace

std::string_view name(DType dtype) { return kNames[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  const auto* found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<DType>(found - kNames.begin());
}

int size_bytes(DType dtype) { return kSizes[static_cast<size_t>(dtype)]; }
bool is_float(DType dtype) { return dtype >= DType::F16; }
bool is_signed(DType dtype) { return dtype >= DType::I8 && dtype <= DType::I64; }
bool is_unsigned(DType dtype) { return dtype >= DType::U8 && dtype <= DType::U64; }
bool is_integer(DType dtype) { return is_signed(dtype) || is_unsigned(dtype); }

DType compute_dtype(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16 ? DType::F32 : dtype; }

std::optional<DType> promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  if (is_float(a) && is_float(b)) return promote_floats(a, b);
  if (is_float(a)) return a;
  if (is_float(b)) return b;
  return promote_integers(a, b);
}

}  // namespace frit
