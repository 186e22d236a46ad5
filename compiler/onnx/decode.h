#pragma once
#include <cstddef>
#include <filesystem>
#include <span>

#include "compiler/onnx/model.h"
#include "ir/array.h"

namespace frit::onnx {

// Limits on what a file may ask for. Real models stay far below.
constexpr uint64_t kMaxFileBytes = uint64_t{4} << 30;
constexpr int kMaxGraphDepth = 32;       // sub-graphs inside sub-graphs
constexpr size_t kMaxNameBytes = 16384;  // names of nodes, values, operators, attributes
constexpr size_t kMaxRank = 32;
constexpr int64_t kMaxElements = int64_t{1} << 30;     // of one tensor
constexpr uint64_t kMaxMadeBytes = uint64_t{4} << 30;  // of all constants that the file does not hold

/// Reads the protobuf bytes of a `ModelProto`. Nothing in them is trusted; unknown fields are skipped, nothing is
/// executed, and no allocation is larger than the bytes that ask for it.
/// owner   keeps `bytes` alive: large tensors are borrowed from it
/// path    for messages
/// errors  InputError with the offset of the damage; a graph nested too deeply; a name too long
/// source  onnx.proto (ONNX IR version 3 to 13)
ModelDef decode_model(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string path);

/// Maps the file and decodes it. Later writes to the file are the writer's fault: keep it unchanged while it is used.
/// errors  InputError: missing, unreadable, a folder or device, empty, or larger than kMaxFileBytes
ModelDef decode_file(const std::filesystem::path& path);

/// The element type of TensorProto.DataType; nothing for strings, complex numbers and types below 8 bits.
std::optional<DType> dtype_of(int32_t data_type);
std::string data_type_name(int32_t data_type);  // "FLOAT", "STRING", "data type 77"

/// The tensor's values. Borrows `raw` where it is large and aligned, else copies.
/// where   "m.onnx: initializer \"w\"", for messages
/// errors  InputError: dims negative, too many or too large; data shorter or longer than the dims say; two kinds of
///         data; external data that is not plainly inside the model's folder (external.h). UnsupportedError: strings
///         and other element types
Array to_array(const TensorDef& tensor, const ModelDef& model, const std::string& where);

/// The shape of the tensor, checked as in `to_array`.
std::vector<int64_t> checked_dims(const TensorDef& tensor, const std::string& where);

}  // namespace frit::onnx
