#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace frit {

namespace lang {
class Library;
}

struct ImportOptions {
  /// Shapes by input name, for inputs with free dims. An input named here whose dims share names with others gives them
  /// too.
  std::map<std::string, std::vector<int64_t>> shapes = {};
  /// Inputs whose values are known now, by name: they become constants, and small integers among them may decide
  /// shapes and branches.
  std::map<std::string, Array> values = {};
  /// A free first dim is 1 where nothing else gives it.
  bool free_batch_is_one = false;
  /// Values inside the model to give as outputs too, after the model's own.
  std::vector<std::string> more_outputs = {};
  /// Initializers that are also graph inputs and that the caller will pass in (IR version 4 and up). The others are
  /// constants; names of plain inputs may stand here too.
  std::vector<std::string> fed_initializers = {};
  /// Every float ConstantOfShape of an initializer becomes a weight with seeded random values (docs/references.md),
  /// so that networks whose weights are one number can be told from wrong ones.
  std::optional<uint64_t> random_weights = {};
};

/// A model as a graph of computes.
struct Imported {
  struct Port {
    std::string name;
    TensorType type;
    std::vector<std::string> dims;  // as the file declares them: "3", "N", "?"
    bool has_default = false;       // an initializer of that name: a constant unless it is in `fed_initializers`
  };
  Graph graph;
  std::vector<Port> inputs;  // graph inputs first, then the ones with a default
  std::vector<Port> outputs;
  std::map<std::string, std::string> metadata;
  std::string producer;
  int64_t opset = 0;  // of the default domain
};

/// Imports an ONNX model: small integer tensors are folded away, every numeric operator becomes an instance of the
/// definition `onnx.OP.VERSION` of the library with the largest version the model allows, and what no output needs is
/// left out. Large weights are borrowed from the mapped file.
/// errors   InputError: damaged or hostile files (see onnx/decode.h), free dims without a size (all named at once),
///          shapes or dtypes that an operator does not take, with the node and its operands.
///          UnsupportedError: all operators that are not supported at once, each with node, version and reason
/// source   ONNX IR specification, operator sets 1 to 27
Imported import_onnx(const std::filesystem::path& path, const lang::Library& library,
                     const ImportOptions& options = {});
/// From memory that `owner` keeps alive; `name` is for messages.
Imported import_onnx(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const std::string& name,
                     const lang::Library& library, const ImportOptions& options = {});

}  // namespace frit
