#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ir/dtype.h"

namespace frit {

/// A host array: row-major, contiguous, aligned to 64 bytes, shared and immutable once it is inside a graph.
class Array {
 public:
  Array() = default;
  /// Zero-filled. Errors: InputError when an extent is negative or the size overflows.
  Array(DType dtype, std::vector<int64_t> shape);
  /// Borrows memory that `owner` keeps alive (a mapped model file, say). `data` needs the alignment of the element.
  Array(DType dtype, std::vector<int64_t> shape, const void* data, std::shared_ptr<const void> owner);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  int64_t size() const { return size_; }  // elements
  size_t size_bytes() const { return static_cast<size_t>(size_) * static_cast<size_t>(frit::size_bytes(dtype_)); }
  const std::byte* data() const { return data_; }
  std::byte* mutable_data();  // only for arrays that own their memory
  template <class T>
  const T* as() const { return reinterpret_cast<const T*>(data_); }
  template <class T>
  T* as_mutable() { return reinterpret_cast<T*>(mutable_data()); }

  /// Element `i` of the flat order, as double or as int64 (u64 reinterpreted). f16 and bf16 are widened.
  double float_at(int64_t i) const;
  int64_t int_at(int64_t i) const;
  /// Stores with the language's cast (one rounding to nearest even, saturating to integers).
  void set_float(int64_t i, double value);
  void set_int(int64_t i, int64_t value);

 private:
  DType dtype_ = DType::F32;
  std::vector<int64_t> shape_;
  int64_t size_ = 0;
  std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
  bool owned_ = false;
};

/// Product of extents; InputError on overflow or a negative extent.
int64_t element_count(std::span<const int64_t> shape);

/// f16 and bf16 conversions, nearest even, one rounding from double.
uint16_t f16_from(double value);
uint16_t bf16_from(double value);
double f16_to(uint16_t bits);
double bf16_to(uint16_t bits);

}  // namespace frit
