#include "ir/reference/stored.h"

#include <cmath>

namespace frit::reference {

Stored make_stored(DType dtype, std::vector<int64_t> shape) {
  Stored s;
  s.dtype = dtype;
  s.size = element_count(shape);
  s.shape = std::move(shape);
  const auto n = static_cast<size_t>(s.size);
  if (is_float(dtype)) {
    s.values.resize(n);
    s.magnitudes.resize(n);
  } else {
    s.integers.resize(n);
  }
  return s;
}

Stored stored_array(const Array& array) {
  Stored s;
  s.dtype = array.dtype();
  s.shape = array.shape();
  s.size = array.size();
  if (array.dtype() == DType::F32 || array.dtype() == DType::F64) {
    s.array = array;
  } else if (is_float(array.dtype())) {
    s.values.resize(static_cast<size_t>(s.size));
    for (int64_t i = 0; i < s.size; ++i) s.values[static_cast<size_t>(i)] = array.float_at(i);
  } else {
    s.integers.resize(static_cast<size_t>(s.size));
    for (int64_t i = 0; i < s.size; ++i) s.integers[static_cast<size_t>(i)] = array.int_at(i);
  }
  return s;
}

ReferenceTensor to_reference(const Stored& s) {
  ReferenceTensor t{s.dtype, s.shape, s.values, s.integers, s.magnitudes, {}};
  const auto n = static_cast<size_t>(s.size);
  if (is_float(s.dtype)) {
    if (t.values.size() != n) {
      t.values.resize(n);
      for (size_t i = 0; i < n; ++i) t.values[i] = s.array.float_at(static_cast<int64_t>(i));
    }
    if (t.magnitudes.size() != n) {
      t.magnitudes.resize(n);
      for (size_t i = 0; i < n; ++i) t.magnitudes[i] = std::fabs(t.values[i]);
    }
  }
  t.terms.assign(n, s.terms);
  return t;
}

}  // namespace frit::reference
