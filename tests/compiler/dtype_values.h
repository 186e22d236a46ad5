#pragma once
// Inputs of every dtype, with the values at the ends of each, and the comparison that lets nothing pass.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ir/interpreter.h"
#include "lang/snippet.h"
#include "support/seeded.h"

namespace frit::testing {

using Set = std::vector<DType>;
using enum DType;

inline const Set kInts = {I8, I16, I32, I64, U8, U16, U32, U64};
inline const Set kSigned = {I8, I16, I32, I64};
inline const Set kFloats = {F16, BF16, F32, F64};
inline const Set kNumbers = {I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64};
inline const Set kAll = {Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64};
inline const Set kBool = {Bool};
inline const Set kOne = {F32};

enum class Values : uint8_t {
  Edges,  // what the dtype holds at its ends, and NaN
  Small,  // whole numbers whose sums and products are exact
  Signs,  // -1, 1 and 2: whose products are exact
  Unit,   // floats in [-1, 1)
  Shift,  // integers from -3 on, past the width
  Flags,  // mostly true
};

inline double edge_of(DType dtype, uint64_t bits) {
  const double smallest = dtype == F16 ? 0x1p-24 : dtype == F64 ? 0x1p-1074 : dtype == F32 ? 0x1p-149 : 0x1p-133;
  const double largest = dtype == F16   ? 65504
                         : dtype == F64 ? 0x1.fffffffffffffp1023
                         : dtype == F32 ? 0x1.fffffep127
                                        : 0x1.fep127;
  const double inf = std::numeric_limits<double>::infinity();
  const double edges[] = {std::nan(""), inf,  -inf,    0.0,      -0.0, smallest, -smallest, 3 * smallest, largest,
                          -largest,     0.5,  -0.5,    1.5,      2.5,  -1.5,     127.5,     128,          255.5,
                          -128.75,      256,  32767.5, -32769.0, 7,    -7,       1,         -1,           3e9,
                          -3e9,         1e19, -1e19,   2e10,     0.1};
  return edges[bits % std::size(edges)];
}

inline int64_t integer_edge_of(DType dtype, uint64_t bits) {
  const int width = 8 * size_bytes(dtype);
  const auto top = static_cast<int64_t>(uint64_t{1} << (width - 1));  // wraps to the lowest of a signed type
  const int64_t edges[] = {top, top - 1, top + 1, 0, 1, -1, 2, -2, 3, -7, 7, 5, -5, 127, 100, 64};
  return edges[bits % std::size(edges)];
}

inline void set_value(Array& array, int64_t i, Values values, uint64_t bits) {
  const DType dtype = array.dtype();
  if (dtype == Bool) return array.set_int(i, values == Values::Flags ? bits % 16 != 0 : bits % 2 == 0);
  const bool real = is_float(dtype);
  switch (values) {
    case Values::Edges:
      return real ? array.set_float(i, edge_of(dtype, bits)) : array.set_int(i, integer_edge_of(dtype, bits));
    case Values::Unit:
      if (real) return array.set_float(i, static_cast<double>(bits % 4001) / 2000 - 1);
      [[fallthrough]];
    case Values::Flags:
    case Values::Small: {
      const int64_t v = is_unsigned(dtype) ? static_cast<int64_t>(bits % 9) : static_cast<int64_t>(bits % 9) - 4;
      return real ? array.set_float(i, static_cast<double>(v)) : array.set_int(i, v);
    }
    case Values::Signs: {
      const int64_t v = bits % 3 == 0 ? 2 : bits % 3 == 1 || is_unsigned(dtype) ? 1 : -1;
      return real ? array.set_float(i, static_cast<double>(v)) : array.set_int(i, v);
    }
    case Values::Shift:
      return array.set_int(i, static_cast<int64_t>(bits % 72) - (is_unsigned(dtype) ? 0 : 3));
  }
}

inline Array input_of(const OperandSpec& operand, Values values, uint64_t seed) {
  Array array(operand.dtype, operand.shape);
  for (int64_t i = 0; i < array.size(); ++i)
    set_value(array, i, values, seeded::bits(seed, static_cast<uint64_t>(i)) >> 7);
  return array;
}

inline bool is_same(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::isnan(a) && std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

// The first element that is not the interpreter's, rounded once.
inline std::string not_exact(const Array& got, const ReferenceTensor& want) {
  if (!is_float(want.dtype) || got.dtype() != want.dtype || got.shape() != want.shape) return compare(got, want);
  Array rounded(want.dtype, want.shape);
  for (int64_t i = 0; i < got.size(); ++i) {
    rounded.set_float(i, want.values[static_cast<size_t>(i)]);
    if (!is_same(got.float_at(i), rounded.float_at(i)))
      return fmt::format("element {}: got {}, want {} ({})", i, got.float_at(i), rounded.float_at(i),
                         want.values[static_cast<size_t>(i)]);
  }
  return {};
}

}  // namespace frit::testing
