#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// An ONNX file as plain values, straight from the bytes: nothing is trusted yet and nothing is interpreted.
namespace frit::onnx {

/// `TensorProto`. Bulk data stays where it is in the file (`raw`); typed fields are decoded.
struct TensorDef {
  std::string name;
  int32_t data_type = 0;
  std::vector<int64_t> dims;
  std::optional<std::string_view> raw;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int32_t> int32s;
  std::vector<int64_t> int64s;
  std::vector<uint64_t> uint64s;
  size_t string_count = 0;
  bool is_external = false;
  std::vector<std::pair<std::string, std::string>> external;  // keys and values, as written
};

/// `ValueInfoProto` of a tensor. Each dim is a value, a name or nothing.
struct ValueDef {
  struct Dim {
    std::optional<int64_t> value;
    std::string name;
  };
  std::string name;
  bool is_tensor = false;
  int32_t element_type = 0;
  std::optional<std::vector<Dim>> shape;
};

class ExternalFiles;
struct GraphDef;

/// `AttributeProto`; `kind` is AttributeProto.AttributeType.
struct AttributeDef {
  enum Kind { kNone = 0, kFloat = 1, kInt, kString, kTensor, kGraph, kFloats, kInts, kStrings, kTensors, kGraphs };
  std::string name;
  int32_t kind = kNone;
  float f = 0;
  int64_t i = 0;
  std::string s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  std::vector<TensorDef> tensors;  // one for kTensor
  std::vector<GraphDef> graphs;    // one for kGraph
  bool is_reference = false;       // of a function's attribute
};

struct NodeDef {
  int index = 0;  // among the nodes of its graph
  std::string name, op, domain, overload;
  std::vector<std::string> inputs, outputs;  // "" is an absent one
  std::vector<AttributeDef> attributes;
  const AttributeDef* find(std::string_view attribute) const;
};

struct GraphDef {
  std::string name;
  std::vector<NodeDef> nodes;
  std::vector<TensorDef> initializers;
  std::vector<ValueDef> inputs, outputs;
  size_t sparse_initializer_count = 0;
};

struct ModelDef {
  std::string path;  // for messages
  int64_t ir_version = 0;
  std::string producer;
  std::map<std::string, int64_t> opsets;  // by domain; "ai.onnx" is ""
  std::map<std::string, std::string> metadata;
  GraphDef graph;
  size_t function_count = 0;
  std::shared_ptr<const void> owner;     // keeps the bytes alive that `raw` points into
  std::shared_ptr<ExternalFiles> files;  // beside the model; none for a model from memory
};

/// A name as it goes into a message: quoted, control characters escaped, shortened.
std::string quote_name(std::string_view name);
/// `m.onnx: node 12 "clip_1"`
std::string place(const ModelDef& model, const NodeDef& node);

}  // namespace frit::onnx
