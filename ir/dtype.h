#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace frit {

/// Element types, named as in the snippet language. f16 and bf16 are storage types: arithmetic on them is f32.
enum class DType : uint8_t { Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64 };

std::string_view name(DType dtype);                          // "f32"
std::optional<DType> dtype_from_name(std::string_view name);
int size_bytes(DType dtype);                                 // 1 for bool
bool is_float(DType dtype);
bool is_integer(DType dtype);                                // signed and unsigned, not bool
bool is_signed(DType dtype);                                 // i8..i64
bool is_unsigned(DType dtype);                               // u8..u64

/// The dtype that arithmetic is done in: f32 for f16 and bf16, else the dtype itself.
DType compute_dtype(DType dtype);

/// Result of promoting two dtypes (LANGUAGE.md section 3); nothing for u64 with a signed integer.
std::optional<DType> promote(DType a, DType b);

}  // namespace frit
