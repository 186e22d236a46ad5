#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cstring>

#include "compiler/onnx/decode.h"
#include "compiler/onnx/external.h"
#include "support/error.h"

namespace frit::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "raw tensor data is little-endian");

// Below this a copy costs nothing and frees the file's pages from being pinned by a few bytes.
constexpr size_t kBorrowBytes = 4096;

struct DataType {
  const char* name;
  std::optional<DType> dtype;
};
constexpr DataType kDataTypes[] = {
    {"UNDEFINED", {}},
    {"FLOAT", DType::F32},
    {"UINT8", DType::U8},
    {"INT8", DType::I8},
    {"UINT16", DType::U16},
    {"INT16", DType::I16},
    {"INT32", DType::I32},
    {"INT64", DType::I64},
    {"STRING", {}},
    {"BOOL", DType::Bool},
    {"FLOAT16", DType::F16},
    {"DOUBLE", DType::F64},
    {"UINT32", DType::U32},
    {"UINT64", DType::U64},
    {"COMPLEX64", {}},
    {"COMPLEX128", {}},
    {"BFLOAT16", DType::BF16},
    {"FLOAT8E4M3FN", {}},
    {"FLOAT8E4M3FNUZ", {}},
    {"FLOAT8E5M2", {}},
    {"FLOAT8E5M2FNUZ", {}},
    {"UINT4", {}},
    {"INT4", {}},
    {"FLOAT4E2M1", {}},
};

[[noreturn]] void fail(const std::string& where, std::string what, std::string got, std::string expected) {
  throw InputError(Finding{where, std::move(what), {}, std::move(got), std::move(expected), {}, {}});
}

// How many elements the typed fields hold, and in which field they must be for `dtype`.
struct TypedData {
  size_t count = 0;
  const char* field = nullptr;
};
TypedData typed_data(const TensorDef& t, DType dtype) {
  switch (dtype) {
    case DType::F32:
      return {t.floats.size(), "float_data"};
    case DType::F64:
      return {t.doubles.size(), "double_data"};
    case DType::I64:
      return {t.int64s.size(), "int64_data"};
    case DType::U32:
    case DType::U64:
      return {t.uint64s.size(), "uint64_data"};
    case DType::Bool:
    case DType::I8:
    case DType::I16:
    case DType::I32:
    case DType::U8:
    case DType::U16:
    case DType::F16:
    case DType::BF16:
      return {t.int32s.size(), "int32_data"};
  }
  FRIT_UNREACHABLE();
}

template <class To, class From>
void copy_as(const std::vector<From>& from, std::byte* to) {
  for (size_t i = 0; i < from.size(); ++i) {
    const To value = static_cast<To>(from[i]);
    std::memcpy(to + i * sizeof(To), &value, sizeof(To));
  }
}

void copy_typed(const TensorDef& t, DType dtype, std::byte* to) {
  switch (dtype) {
    case DType::F32:
      return copy_as<float>(t.floats, to);
    case DType::F64:
      return copy_as<double>(t.doubles, to);
    case DType::I64:
      return copy_as<int64_t>(t.int64s, to);
    case DType::U32:
      return copy_as<uint32_t>(t.uint64s, to);
    case DType::U64:
      return copy_as<uint64_t>(t.uint64s, to);
    case DType::Bool:
    case DType::I8:
    case DType::U8:
      return copy_as<uint8_t>(t.int32s, to);
    case DType::I16:
    case DType::U16:
    case DType::F16:  // half types are stored as their bits
    case DType::BF16:
      return copy_as<uint16_t>(t.int32s, to);
    case DType::I32:
      return copy_as<int32_t>(t.int32s, to);
  }
}

Array from_raw(std::string_view raw, const std::shared_ptr<const void>& owner, DType dtype,
               const std::vector<int64_t>& dims) {
  const bool aligned = reinterpret_cast<uintptr_t>(raw.data()) % static_cast<size_t>(size_bytes(dtype)) == 0;
  if (aligned && raw.size() >= kBorrowBytes && dtype != DType::Bool) return Array(dtype, dims, raw.data(), owner);
  Array array(dtype, dims);
  if (!raw.empty()) std::memcpy(array.mutable_data(), raw.data(), raw.size());
  if (dtype == DType::Bool) {  // any byte but 0 is true
    for (int64_t i = 0; i < array.size(); ++i) array.set_int(i, array.as<uint8_t>()[i] != 0);
  }
  return array;
}

}  // namespace

std::optional<DType> dtype_of(int32_t data_type) {
  if (data_type < 0 || data_type >= static_cast<int32_t>(std::size(kDataTypes))) return {};
  return kDataTypes[data_type].dtype;
}

std::string data_type_name(int32_t data_type) {
  if (data_type < 0 || data_type >= static_cast<int32_t>(std::size(kDataTypes))) {
    return fmt::format("data type {}", data_type);
  }
  return kDataTypes[data_type].name;
}

std::vector<int64_t> checked_dims(const TensorDef& t, const std::string& where) {
  if (t.dims.size() > kMaxRank) {
    fail(where, "too many dims", fmt::format("{} dims", t.dims.size()), fmt::format("at most {}", kMaxRank));
  }
  // Checked dim by dim, so that a zero cannot hide a product that wraps.
  int64_t elements = 1;
  for (const int64_t dim : t.dims) {
    if (dim < 0) fail(where, "negative dim", fmt::format("dims [{}]", fmt::join(t.dims, ", ")), "dims of 0 or more");
    if (dim != 0 && (__builtin_mul_overflow(elements, dim, &elements) || elements > kMaxElements)) {
      fail(where, "tensor too large", fmt::format("dims [{}]", fmt::join(t.dims, ", ")),
           fmt::format("at most {} elements", kMaxElements));
    }
  }
  return t.dims;
}

Array to_array(const TensorDef& t, const ModelDef& model, const std::string& where) {
  const std::vector<int64_t> dims = checked_dims(t, where);
  const std::optional<DType> dtype = dtype_of(t.data_type);
  if (!dtype) {
    throw UnsupportedError(Finding{where,
                                   "unsupported element type",
                                   {},
                                   data_type_name(t.data_type),
                                   "bool, integers of 8 to 64 bits, FLOAT16, BFLOAT16, FLOAT, DOUBLE",
                                   {},
                                   {}});
  }
  const auto count = static_cast<size_t>(element_count(dims));
  const size_t width = static_cast<size_t>(size_bytes(*dtype));
  const size_t typed_total =
      t.floats.size() + t.doubles.size() + t.int32s.size() + t.int64s.size() + t.uint64s.size() + t.string_count;
  if (t.is_external || !t.external.empty()) {
    if (t.raw || typed_total > 0)
      fail(where, "tensor given twice", "external data and data in the file", "one of them");
    if (!model.files) {
      throw UnsupportedError(Finding{
          where, "a model from memory has no data files", {}, "external data", "data inside the model", {}, {}});
    }
    const SharedBytes data = model.files->read(t.external, count * width, where);
    return from_raw({reinterpret_cast<const char*>(data.bytes.data()), data.bytes.size()}, data.owner, *dtype, dims);
  }
  if (t.raw && typed_total > 0) fail(where, "tensor given twice", "raw_data and typed data", "one of them");
  if (t.raw) {
    if (t.raw->size() != count * width) {
      fail(where, "raw data does not fit the dims", fmt::format("{} bytes", t.raw->size()),
           fmt::format("{} bytes for {}[{}]", count * width, name(*dtype), fmt::join(dims, ", ")));
    }
    return from_raw(*t.raw, model.owner, *dtype, dims);
  }
  const TypedData typed = typed_data(t, *dtype);
  if (typed.count != count || typed_total != count) {
    fail(where, "data does not fit the dims",
         fmt::format("{} values, {} of them in {}", typed_total, typed.count, typed.field),
         fmt::format("{} in {} for {}[{}]", count, typed.field, name(*dtype), fmt::join(dims, ", ")));
  }
  Array array(*dtype, dims);
  if (count > 0) copy_typed(t, *dtype, array.mutable_data());
  if (*dtype == DType::Bool) {
    for (int64_t i = 0; i < array.size(); ++i) array.set_int(i, t.int32s[static_cast<size_t>(i)] != 0);
  }
  return array;
}

}  // namespace frit::onnx
