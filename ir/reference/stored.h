#pragma once
#include <vector>

#include "ir/interpreter.h"
#include "ir/reference/program.h"

namespace frit::reference {

/// A value of the graph while it is needed. Floats that came from outside are read where they lie; the others are owned,
/// with magnitudes.
struct Stored {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  int64_t size = 0;
  int64_t terms = 1;
  Array array;  // keeps f32 and f64 inputs and constants alive
  std::vector<double> values, magnitudes;
  std::vector<int64_t> integers;

  Source source() const {
    Source s{dtype, shape, nullptr, nullptr, nullptr, nullptr};
    if (!is_float(dtype))
      s.ints = integers.data();
    else if (array.data() && dtype == DType::F32)
      s.f32 = array.as<float>();
    else if (array.data() && dtype == DType::F64)
      s.f64 = array.as<double>();
    else
      s.f64 = values.data();
    if (!magnitudes.empty()) s.magnitudes = magnitudes.data();
    return s;
  }
};

Stored make_stored(DType dtype, std::vector<int64_t> shape);
Stored stored_array(const Array& array);
ReferenceTensor to_reference(const Stored& stored);

}  // namespace frit::reference
