#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "ir/lang/ast.h"

namespace frit::lang {

/// A value known before a kernel runs: an attribute, a `const` operand.
struct StaticValue {
  using List = std::vector<StaticValue>;
  std::variant<std::monostate, int64_t, double, bool, std::string, DType, List> value;  // monostate: none

  StaticValue() = default;
  StaticValue(int v) : value(int64_t{v}) {}
  StaticValue(int64_t v) : value(v) {}
  StaticValue(double v) : value(v) {}
  StaticValue(bool v) : value(v) {}
  StaticValue(DType v) : value(v) {}
  StaticValue(const char* v) : value(std::string(v)) {}
  StaticValue(std::string v) : value(std::move(v)) {}
  StaticValue(List v) : value(std::move(v)) {}
  StaticValue(const std::vector<int64_t>& v) : value(List(v.begin(), v.end())) {}
};
std::string to_string(const StaticValue& value);

/// What is passed for one parameter: nothing (absent), a tensor, the tensors of a `*` parameter, or a static value.
using Operand = std::variant<std::monostate, Value, std::vector<Value>, StaticValue>;
using Attributes = std::map<std::string, StaticValue>;

/// What a definition takes and gives, for importers and tools.
struct Interface {
  struct Operand {
    std::string name;
    bool is_const = false, is_optional = false, is_variadic = false;
    std::vector<std::string> types;  // dtypes, float, int, num; empty: any
  };
  struct Attribute {
    std::string name;
    bool is_required = false;
    std::string default_text;
  };
  std::vector<Operand> operands;
  std::vector<Attribute> attributes;
  int results = 1;  // -1: depends on attributes
};
Interface interface_of(const Definition& definition);
/// "onnx.Clip.11(x, lo[] = -inf, hi[] = inf)"
std::string signature_text(const Definition& definition);

/// A set of definitions, found by name. Copies share the definitions. Reading is safe from many threads, adding is not.
class Library {
 public:
  Library() = default;
  /// A library of its own above `parent`, whose definitions it also finds; its own come first. `parent` must outlive
  /// it.
  explicit Library(const Library* parent) : parent_(parent) {}
  Library(const Library* parent, std::string text, std::string file) : parent_(parent) {
    add(std::move(text), std::move(file));
  }

  /// Adds the definitions of a text. Imports are read relative to the folder of `file`.
  /// errors   InputError: syntax, a name defined twice, an import that cannot be read
  void add(std::string text, std::string file);

  /// nullptr if there is none.
  const Definition* find(std::string_view name) const;
  /// InputError with the nearest spelling if there is none.
  const Definition& get(std::string_view name) const;
  /// The largest version <= opset of an ONNX operator; `domain` "" or "ai.onnx" means onnx. nullptr if there is none.
  const Definition* find_onnx(std::string_view domain, std::string_view op, int opset) const;
  /// All versions of an ONNX operator, smallest first.
  std::vector<const Definition*> versions_of(std::string_view domain, std::string_view op) const;
  /// As a definition sees a name: its file, its imports, this library.
  const Definition* find_from(const Definition& from, std::string_view name) const;
  /// All definitions, also of the parent, in order of their names.
  std::vector<const Definition*> definitions() const;

 private:
  struct Module {
    File file;
    std::map<std::string, DefinitionPtr, std::less<>> names;
    std::vector<std::shared_ptr<const Module>> imports;
  };
  using ModulePtr = std::shared_ptr<const Module>;
  struct Loading {
    std::vector<std::string> open;             // files that are being read, outermost first
    std::map<std::string, ModulePtr> modules;  // each file is read once
  };
  ModulePtr load(std::string text, std::string file, Loading* loading);
  ModulePtr import(const lang::File::Import& import, const Source& source, Loading* loading);
  void own(const ModulePtr& module);

  const Library* parent_ = nullptr;
  std::vector<ModulePtr> modules_;
  std::map<std::string, DefinitionPtr, std::less<>> names_;
  std::map<const Definition*, ModulePtr> module_of_;
};

/// Builds the nodes of a definition applied to operands: infers extents, proves reads, inlines calls.
/// operands     by position; missing trailing ones are absent; a `*` parameter takes all that remain
/// attributes   by name
/// label        what the nodes are called in dumps ("conv1")
/// returns      the results, in order
/// errors       InputError with the place in the snippet; UnsupportedError for what this version lacks. The graph may
/// then
///              hold nodes that nothing uses
std::vector<Value> instantiate(Graph& graph, const Library& library, const Definition& definition,
                               const std::vector<Operand>& operands, const Attributes& attributes = {},
                               const std::string& label = {});

}  // namespace frit::lang

namespace frit {
using lang::Library;
}
