#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/onnx/import.h"
#include "compiler/onnx/lattice.h"
#include "compiler/onnx/model.h"
#include "ir/lang/library.h"
#include "support/error.h"

// Inside of the importer: what a name of the file stands for, and what a rewrite may ask and do.
namespace frit::onnx {

/// What a value name stands for while the file is walked. A tensor enters the graph when something first reads it.
struct Slot {
  DType dtype = DType::F32;
  Dims shape;
  std::optional<Value> value;
  std::optional<Known> known;
  const TensorDef* initializer = nullptr;
  bool unsupported = false;  // made by a node that could not be imported
};

/// Names of one graph of the file; a sub-graph sees the names around it.
struct Scope {
  const Scope* outer = nullptr;
  std::unordered_map<std::string, std::shared_ptr<Slot>> names;
  Slot* find(const std::string& name) const;
};

using lang::Attributes;
using lang::StaticValue;

class NodeImport;
class Importer;

/// An operator that is not a definition: shapes, control flow, aliases, recurrent networks.
struct Rewrite {
  std::string_view op;
  int64_t since;  // operator set version
  void (*apply)(NodeImport&);
  std::vector<std::string_view> attributes;
};
/// The rewrite with the largest version not above `opset`, or null.
const Rewrite* find_rewrite(std::string_view op, int64_t opset);

/// One node while it is imported: its operands and attributes, checked, and where its results go.
class NodeImport {
 public:
  NodeImport(Importer& importer, Scope& scope, const NodeDef& node, int64_t opset);

  const NodeDef& node() const { return node_; }
  int64_t opset() const { return opset_; }

  // Operands.
  bool has(size_t i) const { return i < slots_.size() && slots_[i] != nullptr; }
  size_t operand_count() const { return slots_.size(); }
  Slot& slot(size_t i) const;  // InputError if it is absent
  const Dims& shape(size_t i) const { return slot(i).shape; }
  Value value(size_t i) const;
  /// The numbers of an operand; UnsupportedError where they depend on data.
  Dims numbers(size_t i) const;
  int64_t number(size_t i) const;
  /// The elements of a small constant; nothing for others.
  std::optional<std::vector<double>> small_constant(size_t i) const;
  /// The same, and UnsupportedError for others.
  std::vector<double> reals(size_t i) const;

  // Attributes.
  bool has_attribute(std::string_view name) const { return node_.find(name) != nullptr; }
  int64_t integer(std::string_view name, int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  Dims integers(std::string_view name) const;
  /// A list that is an attribute up to some version and operand `i` afterwards; nothing if absent.
  std::optional<Dims> list(std::string_view name, size_t i) const;

  // Results.
  bool wants(size_t output) const { return output < node_.outputs.size() && !node_.outputs[output].empty(); }
  void give(size_t output, Value value);
  void give(size_t output, Known known);
  void alias(size_t output, size_t operand);  // the same tensor
  void alias(size_t output, Slot& from, const std::string& name);

  // Building.
  /// The results of a definition of the library on operands.
  std::vector<Value> call(std::string_view definition, const std::vector<lang::Operand>& operands,
                          const Attributes& attributes = {});
  Value reshape(Value x, const Dims& shape);  // x itself where the shape is the same
  Value constant(Array array);
  Dims shape_of(Value v) const;
  DType dtype_of(Value v) const;

  [[noreturn]] void unsupported(std::string reason, std::string fix = {}) const;
  [[noreturn]] void wrong(std::string what, std::string got, std::string expected = {}) const;

  Importer& importer() const { return importer_; }
  Scope& scope() const { return scope_; }

 private:
  Importer& importer_;
  Scope& scope_;
  const NodeDef& node_;
  int64_t opset_;
  std::vector<Slot*> slots_;
};

/// Walks a decoded model and builds the graph.
class Importer {
 public:
  Importer(const ModelDef& model, const lang::Library& library, const ImportOptions& options)
      : model_(model), library_(library), options_(options) {}
  Imported run();

  Graph& graph() { return graph_; }
  const lang::Library& library() const { return library_; }
  const ModelDef& model() const { return model_; }
  const ImportOptions& options() const { return options_; }

  /// Imports the nodes that `wanted` needs; `scope` holds the graph's inputs and gets its values.
  void import_nodes(const GraphDef& graph, Scope& scope, const std::vector<std::string>& wanted);
  void add_initializers(const GraphDef& graph, Scope& scope);
  Value value_of(Slot& slot, const std::string& name);
  /// The elements of a small value made of constants; where they are integers the slot knows them from then on.
  std::optional<Array> know(Slot& slot, const std::string& name);
  size_t unsupported_count() const { return unsupported_.size(); }
  /// Counts memory for constants that a few bytes of the file ask for; InputError above kMaxMadeBytes.
  void allow_bytes(uint64_t bytes);
  void define(Scope& scope, const NodeDef& node, size_t output, std::shared_ptr<Slot> slot);

 private:
  void import_node(const NodeDef& node, Scope& scope);
  void check_supported(const GraphDef& graph, const std::vector<bool>& live);
  void collect(const NodeDef& node, Scope& scope, const UnsupportedError& error);
  int64_t opset_for(const NodeDef& node) const;
  void add_inputs(Scope& scope, Imported& result);

  const ModelDef& model_;
  const lang::Library& library_;
  const ImportOptions& options_;
  Graph graph_;
  std::vector<Finding> unsupported_;
  uint64_t made_bytes_ = 0;
};

/// Instantiates the definition of an operator from the library (call.cpp). False if the library has none for it.
bool has_definition(const lang::Library& library, const NodeDef& node, int64_t opset);
void import_definition(NodeImport& node);

}  // namespace frit::onnx
