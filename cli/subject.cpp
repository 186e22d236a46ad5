#include "cli/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/words.h"
#include "compiler/front/npy.h"
#include "compiler/onnx/decode.h"
#include "compiler/onnx/import.h"
#include "compiler/passes/gradient.h"
#include "compiler/standard_library.h"
#include "ir/lang/library.h"
#include "support/error.h"

namespace frit::cli {
namespace {

Finding finding(std::string where, std::string what, std::string got, std::string expected, std::string fix = {}) {
  return {.where = std::move(where),
          .what = std::move(what),
          .excerpt = {},
          .got = std::move(got),
          .expected = std::move(expected),
          .fix = std::move(fix),
          .from = {}};
}

std::string quoted_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

// What the command line says of inputs, by name, with a mark on what was used.
class Words {
 public:
  explicit Words(const SubjectOptions& options) : has_adjoints_(!options.gradients.empty()) {
    for (const std::string& text : options.inputs) {
      auto [name, path] = split_assignment("--input", text);
      if (!arrays_.emplace(name, read_npy(path)).second) refuse_twice("--input", name);
    }
    for (const std::string& text : options.shapes) {
      auto [name, shape] = split_assignment("--shape", text);
      if (!shapes_.emplace(name, parse_shape(shape, "--shape " + name)).second) refuse_twice("--shape", name);
    }
    for (const std::string& text : options.attributes) {
      auto [name, value] = split_assignment("--attr", text);
      if (!attributes_.emplace(name, parse_static(value, "--attr " + name)).second) refuse_twice("--attr", name);
    }
  }

  const Array* array(const std::string& name) { return find(arrays_, name); }
  const ShapeWord* shape(const std::string& name) { return find(shapes_, name); }
  const lang::StaticValue* attribute(const std::string& name) { return find(attributes_, name); }
  const std::map<std::string, lang::StaticValue>& attributes() const { return attributes_; }
  std::map<std::string, std::vector<int64_t>> all_shapes() const {
    std::map<std::string, std::vector<int64_t>> all;
    for (const std::string& name : names()) {
      const auto array = arrays_.find(name);
      all[name] = array != arrays_.end() ? array->second.shape() : shapes_.at(name).shape;
    }
    return all;
  }
  /// Without adjoints, which are no inputs of the subject itself.
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& [name, word] : shapes_) names.insert(name);
    for (const auto& [name, array] : arrays_) names.insert(name);
    if (has_adjoints_) std::erase_if(names, [](const std::string& name) { return name.starts_with("d_"); });
    return names;
  }
  /// From here on adjoints are inputs like others.
  void take_adjoints() { has_adjoints_ = false; }

  /// errors  InputError: names that no input has
  void check_all_used(const std::vector<std::string>& known) const {
    std::vector<Finding> findings;
    for (const std::string& name : names()) {
      if (!used_.contains(name))
        findings.push_back(
            finding(fmt::format("input \"{}\"", name), "there is no such input", name, quoted_list(known)));
    }
    if (!findings.empty()) throw InputError(std::move(findings));
  }

 private:
  template <class Map>
  const typename Map::mapped_type* find(const Map& map, const std::string& name) {
    const auto found = map.find(name);
    if (found == map.end()) return nullptr;
    used_.insert(name);
    return &found->second;
  }
  [[noreturn]] static void refuse_twice(const std::string& option, const std::string& name) {
    throw InputError(finding(option, "is given twice", name, "each name once"));
  }

  std::map<std::string, Array> arrays_;
  std::map<std::string, ShapeWord> shapes_;
  std::map<std::string, lang::StaticValue> attributes_;
  std::set<std::string> used_;
  bool has_adjoints_;
};

lang::StaticValue static_of(const Array& array) {
  const auto element = [&](int64_t i) -> lang::StaticValue {
    if (array.dtype() == DType::Bool) return array.int_at(i) != 0;
    if (is_float(array.dtype())) return array.float_at(i);
    return array.int_at(i);
  };
  if (array.rank() == 0) return element(0);
  lang::StaticValue::List list;
  for (int64_t i = 0; i < array.size(); ++i) list.push_back(element(i));
  return list;
}

// A definition of a file, applied to inputs that the command line describes.
class SnippetLoader {
 public:
  SnippetLoader(const SubjectOptions& options, Words& words)
      : options_(options), words_(words), named_(named_definition(options)) {}

  Subject run() {
    const lang::Definition& definition = *named_.definition;
    const lang::Interface interface = lang::interface_of(definition);
    for (const lang::Interface::Operand& operand : interface.operands) add_operand(operand);
    words_.check_all_used(names_);
    if (!missing_.empty()) throw InputError(std::move(missing_));
    lang::Attributes attributes = words_.attributes();
    for (const std::string& name : const_attributes_) attributes.erase(name);
    subject_.name = definition.name;
    subject_.text = lang::to_text(definition);
    const std::vector<Value> results =
        lang::instantiate(subject_.graph, *named_.library, definition, operands_, attributes, definition.name);
    for (size_t r = 0; r < results.size(); ++r)
      subject_.graph.add_output(results.size() == 1 ? "y" : fmt::format("y{}", r), results[r]);
    return std::move(subject_);
  }

 private:
  void add_operand(const lang::Interface::Operand& operand) {
    if (operand.is_const) return add_const(operand);
    if (operand.is_variadic) {
      std::vector<Value> list;
      for (int i = 0; is_given(operand.name + std::to_string(i)); ++i)
        list.push_back(add_input(operand.name + std::to_string(i)));
      names_.push_back(operand.name + "0, ..");
      operands_.push_back(std::move(list));
      return;
    }
    names_.push_back(operand.name);
    if (is_given(operand.name)) {
      operands_.push_back(add_input(operand.name));
    } else if (operand.is_optional) {
      operands_.push_back(std::monostate());
    } else {
      missing_.push_back(finding(fmt::format("input \"{}\"", operand.name), "has no shape", "nothing",
                                 "an array or a shape",
                                 fmt::format("--input {0}=FILE.npy or --shape {0}=2,3", operand.name)));
    }
  }

  bool is_given(const std::string& name) { return words_.array(name) || words_.shape(name); }

  Value add_input(const std::string& name) {
    const Array* array = words_.array(name);
    const ShapeWord* word = words_.shape(name);
    TensorType type;
    if (array) {
      type = {array->dtype(), make_shape(array->shape())};
      if (word && (word->shape != array->shape() || (word->dtype && *word->dtype != array->dtype())))
        throw InputError(finding("--shape " + name, "differs from the array",
                                 type_text(word->dtype.value_or(DType::F32), word->shape),
                                 type_text(array->dtype(), array->shape())));
    } else {
      type = {word->dtype.value_or(DType::F32), make_shape(word->shape)};
    }
    subject_.inputs.push_back({name, type, array ? std::optional(*array) : std::nullopt});
    return subject_.graph.add_input(name, type);
  }

  void add_const(const lang::Interface::Operand& operand) {
    names_.push_back(operand.name);
    if (const lang::StaticValue* value = words_.attribute(operand.name)) {
      const_attributes_.push_back(operand.name);
      operands_.push_back(*value);
    } else if (const Array* array = words_.array(operand.name)) {
      operands_.push_back(static_of(*array));
    } else if (operand.is_optional) {
      operands_.push_back(std::monostate());
    } else {
      missing_.push_back(finding(fmt::format("operand \"{}\"", operand.name), "must be known when compiled", "nothing",
                                 "a value", fmt::format("--attr {}=VALUE", operand.name)));
    }
  }

  const SubjectOptions& options_;
  Words& words_;
  NamedDefinition named_;
  Subject subject_;
  std::vector<lang::Operand> operands_;
  std::vector<std::string> names_, const_attributes_;
  std::vector<Finding> missing_;
};

std::string model_definitions(const std::filesystem::path& path) {
  const onnx::ModelDef model = onnx::decode_file(path);
  std::set<std::string> done;
  std::string text;
  for (const onnx::NodeDef& node : model.graph.nodes) {
    const auto version = model.opsets.find(node.domain);
    if (version == model.opsets.end()) continue;
    const lang::Definition* definition =
        standard_library().find_onnx(node.domain, node.op, static_cast<int>(version->second));
    if (definition && done.insert(definition->name).second) text += lang::to_text(*definition) + "\n";
  }
  return text;
}

// Names on the command line that the model has no input for, with those that it has.
void check_names(const std::filesystem::path& path, const std::set<std::string>& named) {
  std::vector<std::string> known;
  for (const onnx::ValueDef& input : onnx::decode_file(path).graph.inputs) known.push_back(input.name);
  std::vector<Finding> findings;
  for (const std::string& name : named) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      findings.push_back(
          finding(fmt::format("input \"{}\"", name), "the model has no such input", name, quoted_list(known)));
  }
  if (!findings.empty()) throw InputError(std::move(findings));
}

Subject load_model(const SubjectOptions& options, Words& words) {
  if (!options.definition.empty() || !options.attributes.empty())
    throw InputError(
        finding(options.file, "a model takes no --def and no --attr", options.definition, "--input and --shape"));
  ImportOptions import;
  import.shapes = words.all_shapes();
  import.free_batch_is_one = true;
  import.more_outputs = options.more_outputs;
  const std::set<std::string> named = words.names();
  if (!named.empty()) check_names(options.file, named);
  import.fed_initializers.assign(named.begin(), named.end());
  Imported imported = import_onnx(options.file, standard_library(), import);
  Subject subject;
  subject.name = std::filesystem::path(options.file).stem().string();
  subject.graph = std::move(imported.graph);
  std::vector<std::string> known;
  for (const Imported::Port& port : imported.inputs) known.push_back(port.name);
  std::vector<Finding> findings;
  for (const int node : subject.graph.input_nodes()) {
    const std::string& name = std::get<Input>(subject.graph.node(node).payload).name;
    const TensorType& type = subject.graph.node(node).results[0];
    const ShapeWord* word = words.shape(name);
    const Array* array = words.array(name);
    const std::vector<int64_t> shape = static_shape(type.shape);
    if (array && (array->dtype() != type.dtype || array->shape() != shape))
      findings.push_back(finding(fmt::format("input \"{}\"", name), "dtype or shape differs",
                                 type_text(array->dtype(), array->shape()), type_text(type.dtype, shape)));
    if (word && word->dtype && *word->dtype != type.dtype)
      findings.push_back(finding("--shape " + name, "the model wants another dtype",
                                 std::string(frit::name(*word->dtype)), std::string(frit::name(type.dtype))));
    subject.inputs.push_back({name, type, array ? std::optional(*array) : std::nullopt});
  }
  // An input that nothing reads has no node, yet may be named.
  for (const std::string& name : known) words.array(name), words.shape(name);
  words.check_all_used(known);
  if (!findings.empty()) throw InputError(std::move(findings));
  return subject;
}

Array ones(const TensorType& type) {
  Array array(type.dtype, static_shape(type.shape));
  for (int64_t i = 0; i < array.size(); ++i) array.set_float(i, 1);
  return array;
}

// The graph of the adjoints of some inputs; those of the outputs are inputs of it, and ones where they are not given.
Subject with_gradient(Subject subject, const SubjectOptions& options, Words& words) {
  const size_t given = subject.graph.input_nodes().size();
  subject.graph = gradient(subject.graph, options.gradients);
  words.take_adjoints();
  const std::vector<int> nodes = subject.graph.input_nodes();
  std::vector<std::string> known;
  for (const Subject::Given& input : subject.inputs) {
    known.push_back(input.name);
    words.array(input.name), words.shape(input.name);
  }
  for (size_t k = given; k < nodes.size(); ++k) {
    const std::string& name = std::get<Input>(subject.graph.node(nodes[k]).payload).name;
    const TensorType& type = subject.graph.node(nodes[k]).results[0];
    const Array* array = words.array(name);
    const ShapeWord* word = words.shape(name);
    const std::vector<int64_t> shape = static_shape(type.shape);
    const auto check = [&](DType dtype, const std::vector<int64_t>& given) {
      if (dtype == type.dtype && given == shape) return;
      throw InputError(finding(fmt::format("input \"{}\"", name), "differs from the result that it is the adjoint of",
                               type_text(dtype, given), type_text(type.dtype, shape)));
    };
    if (array) check(array->dtype(), array->shape());
    if (word) check(word->dtype.value_or(type.dtype), word->shape);
    subject.inputs.push_back({name, type, array ? *array : ones(type)});
    known.push_back(name);
  }
  words.check_all_used(known);
  return subject;
}

uint64_t mix64(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

Array random_array(const std::string& name, const TensorType& type, uint64_t seed) {
  Array array(type.dtype, static_shape(type.shape));
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  hash += mix64(seed);
  for (int64_t i = 0; i < array.size(); ++i) {
    const uint64_t bits = mix64(hash + (static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u) >> 40;
    if (type.dtype == DType::Bool)
      array.set_int(i, static_cast<int64_t>(bits & 1));
    else if (is_float(type.dtype))
      array.set_float(i, static_cast<double>(bits) * 0x1p-23 - 1);
    else
      array.set_int(i, static_cast<int64_t>(bits % 10));
  }
  return array;
}

const lang::Definition& choose(const lang::Library& library, const SubjectOptions& options) {
  if (!options.definition.empty()) return library.get(options.definition);
  const std::vector<const lang::Definition*> own = own_definitions(library, options.file);
  if (own.size() == 1) return *own[0];
  std::vector<std::string> names;
  for (const lang::Definition* definition : own) names.push_back(definition->name);
  throw InputError(
      finding(options.file, "needs --def NAME", fmt::format("{} definitions", own.size()), quoted_list(names)));
}

bool is_snippet(const std::string& file) { return std::filesystem::path(file).extension() == ".frit"; }

}  // namespace

std::vector<const lang::Definition*> own_definitions(const lang::Library& library, const std::string& file) {
  std::vector<const lang::Definition*> own;
  for (const lang::Definition* definition : library.definitions())
    if (definition->source->file() == file) own.push_back(definition);
  return own;
}

std::unique_ptr<lang::Library> library_of(const SubjectOptions& options) {
  auto library = std::make_unique<lang::Library>(&standard_library());
  if (is_snippet(options.file)) library->add(read_file(options.file), options.file);
  return library;
}

NamedDefinition named_definition(const SubjectOptions& options) {
  NamedDefinition named{library_of(options), nullptr};
  named.definition = is_snippet(options.file) ? &choose(*named.library, options) : &named.library->get(options.file);
  return named;
}

Subject load_subject(const SubjectOptions& options) {
  Words words(options);
  const std::string extension = std::filesystem::path(options.file).extension().string();
  if (extension == ".onnx" || is_snippet(options.file) || standard_library().find(options.file)) {
    Subject subject = extension == ".onnx" ? load_model(options, words) : SnippetLoader(options, words).run();
    return options.gradients.empty() ? subject : with_gradient(std::move(subject), options, words);
  }
  throw InputError(finding(options.file, "neither a model nor a snippet", extension.empty() ? "no ending" : extension,
                           "a file that ends in .onnx or .frit, or the name of a layer"));
}

std::string definitions_text(const SubjectOptions& options, const Subject& subject) {
  return std::filesystem::path(options.file).extension() == ".onnx" ? model_definitions(options.file) : subject.text;
}

std::vector<Array> input_values(const Subject& subject, uint64_t seed) {
  std::vector<Array> values;
  for (const Subject::Given& input : subject.inputs)
    values.push_back(input.array ? *input.array : random_array(input.name, input.type, seed));
  return values;
}

std::vector<std::string> random_inputs(const Subject& subject) {
  std::vector<std::string> names;
  for (const Subject::Given& input : subject.inputs) {
    if (!input.array) names.push_back(input.name);
  }
  return names;
}

std::string type_text(DType dtype, const std::vector<int64_t>& shape) {
  return fmt::format("{}[{}]", name(dtype), fmt::join(shape, ", "));
}

}  // namespace frit::cli
