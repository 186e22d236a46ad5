#include "compiler/onnx/importer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>

#include "compiler/onnx/bind.h"
#include "compiler/onnx/decode.h"
#include "compiler/onnx/evaluate_constant.h"

namespace frit::onnx {
namespace {

// Operator sets whose definitions were read; a newer one may have changed any of them.
constexpr int64_t kNewestOpset = 27;

std::string describe(const Slot& slot) { return fmt::format("{}{}", name(slot.dtype), to_string(slot.shape)); }

// "Conv(x f32[1, 3, 8, 8], w f32[4, 3, 3, 3])"
std::string describe(const NodeDef& node, const Scope& scope) {
  std::vector<std::string> parts;
  for (const std::string& input : node.inputs) {
    const Slot* slot = scope.find(input);
    parts.push_back(slot ? quote_name(input) + " " + describe(*slot) : "none");
  }
  return fmt::format("{}({})", node.op, fmt::join(parts, ", "));
}

std::vector<Finding> placed(const Error& error, const std::string& where, const std::string& call) {
  std::vector<Finding> findings = error.findings();
  for (Finding& f : findings) {
    if (f.where.empty()) {
      f.where = where;
      f.from.push_back(call);
    } else {
      f.from.push_back(where + ": " + call);
    }
  }
  return findings;
}

// Names a sub-graph takes from outside, besides those it makes: all that it mentions is good enough.
void add_mentioned(const GraphDef& graph, std::unordered_set<std::string>& names) {
  for (const NodeDef& node : graph.nodes) {
    names.insert(node.inputs.begin(), node.inputs.end());
    for (const AttributeDef& a : node.attributes) {
      for (const GraphDef& g : a.graphs) add_mentioned(g, names);
    }
  }
  for (const ValueDef& output : graph.outputs) names.insert(output.name);
}

std::vector<bool> live_nodes(const GraphDef& graph, const std::vector<std::string>& wanted) {
  std::unordered_set<std::string> needed(wanted.begin(), wanted.end());
  std::vector<bool> live(graph.nodes.size());
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const NodeDef& node = graph.nodes[i];
    live[i] = std::ranges::any_of(node.outputs, [&](const auto& o) { return !o.empty() && needed.contains(o); });
    if (!live[i]) continue;
    needed.insert(node.inputs.begin(), node.inputs.end());
    for (const AttributeDef& a : node.attributes) {
      for (const GraphDef& g : a.graphs) add_mentioned(g, needed);
    }
  }
  return live;
}

// The graph without nodes that no output needs; inputs stay.
Graph without_dead_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes().size());
  for (const auto& output : graph.outputs()) live[static_cast<size_t>(output.value.node)] = true;
  for (size_t i = live.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (const Value v : graph.nodes()[i].inputs) live[static_cast<size_t>(v.node)] = true;
  }
  Graph out;
  std::vector<int> place(live.size(), -1);
  for (size_t i = 0; i < live.size(); ++i) {
    if (!live[i] && !std::holds_alternative<Input>(graph.nodes()[i].payload)) continue;
    Node node = graph.nodes()[i];
    for (Value& v : node.inputs) v.node = place[static_cast<size_t>(v.node)];
    place[i] = out.add(std::move(node)).node;
  }
  for (const auto& output : graph.outputs()) {
    out.add_output(output.name, Value{place[static_cast<size_t>(output.value.node)], output.value.result});
  }
  return out;
}

}  // namespace

Slot* Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope; scope = scope->outer) {
    if (const auto at = scope->names.find(name); at != scope->names.end()) return at->second.get();
  }
  return nullptr;
}

int64_t Importer::opset_for(const NodeDef& node) const {
  const auto at = model_.opsets.find(node.domain);
  if (at == model_.opsets.end()) {
    throw InputError(Finding{place(model_, node),
                             "the model declares no operator set for a domain",
                             {},
                             fmt::format("{} of domain {}", node.op, quote_name(node.domain)),
                             "a version for each domain in use",
                             {},
                             {}});
  }
  return at->second;
}

Value Importer::value_of(Slot& slot, const std::string& name) {
  if (slot.value) return *slot.value;
  if (slot.known) {
    slot.value = graph_.add_constant(to_array(*slot.known), name);
  } else {
    FRIT_CHECK(slot.initializer, "a value without a source: " + name);
    const std::string where = fmt::format("{}: initializer {}", model_.path, quote_name(name));
    slot.value = graph_.add_constant(to_array(*slot.initializer, model_, where), name);
  }
  return *slot.value;
}

std::optional<Array> Importer::know(Slot& slot, const std::string& name) {
  if (slot.unsupported) return {};
  if (slot.known && slot.known->numbers()) return to_array(*slot.known);
  const uint64_t elements = static_cast<uint64_t>(element_count(slot.shape));
  if (elements * static_cast<uint64_t>(size_bytes(slot.dtype)) > kSmallConstantBytes) return {};
  std::optional<Array> array = evaluate_constant(graph_, value_of(slot, name));
  if (array) slot.known = known_from(*array);
  return array;
}

void Importer::define(Scope& scope, const NodeDef& node, size_t output, std::shared_ptr<Slot> slot) {
  if (output >= node.outputs.size() || node.outputs[output].empty()) return;
  if (!scope.names.emplace(node.outputs[output], std::move(slot)).second) {
    throw InputError(Finding{place(model_, node),
                             "a value is made twice",
                             {},
                             quote_name(node.outputs[output]),
                             "one node for each value",
                             {},
                             {}});
  }
}

void Importer::allow_bytes(uint64_t bytes) {
  made_bytes_ += bytes;
  if (made_bytes_ > kMaxMadeBytes) {
    throw InputError(Finding{{},
                             "constants too large",
                             {},
                             fmt::format("{} bytes so far", made_bytes_),
                             fmt::format("at most {} bytes of constants that the file does not hold", kMaxMadeBytes),
                             {},
                             {}});
  }
}

void Importer::add_initializers(const GraphDef& graph, Scope& scope) {
  for (const TensorDef& tensor : graph.initializers) {
    const std::string where = fmt::format("{}: initializer {}", model_.path, quote_name(tensor.name));
    auto slot = std::make_shared<Slot>();
    slot->shape = checked_dims(tensor, where);
    slot->initializer = &tensor;
    if (const auto dtype = dtype_of(tensor.data_type)) {
      slot->dtype = *dtype;
      const bool small = !is_float(*dtype) && element_count(slot->shape) <= kMaxKnownElements;
      if (small && !tensor.is_external && tensor.external.empty()) {
        slot->known = known_from(to_array(tensor, model_, where));
      }
    }
    if (!scope.names.emplace(tensor.name, std::move(slot)).second) {
      throw InputError(Finding{where, "given twice", {}, {}, "one initializer of a name", {}, {}});
    }
  }
}

void Importer::collect(const NodeDef& node, Scope& scope, const UnsupportedError& error) {
  for (Finding& f : placed(error, place(model_, node), describe(node, scope))) unsupported_.push_back(std::move(f));
  auto slot = std::make_shared<Slot>();
  slot->unsupported = true;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].empty()) scope.names.emplace(node.outputs[i], slot);
  }
}

void Importer::import_node(const NodeDef& node, Scope& scope) {
  const int64_t opset = opset_for(node);
  try {
    NodeImport context(*this, scope, node, opset);
    bool unsupported = false, all_known = true;
    std::vector<const Known*> known;
    for (size_t i = 0; i < context.operand_count(); ++i) {
      if (!context.has(i)) {
        known.push_back(nullptr);
        continue;
      }
      unsupported |= context.slot(i).unsupported;
      all_known &= context.slot(i).known.has_value();
      known.push_back(all_known ? &*context.slot(i).known : nullptr);
    }
    if (unsupported) {
      collect(node, scope, UnsupportedError(std::vector<Finding>{}));
      return;
    }
    if (all_known && node.domain.empty() && !known.empty()) {
      if (auto results = evaluate(node, known)) {
        for (size_t i = 0; i < results->size(); ++i) context.give(i, std::move((*results)[i]));
        return;
      }
    }
    const Rewrite* rewrite = node.domain.empty() ? find_rewrite(node.op, opset) : nullptr;
    if (!rewrite) return import_definition(context);
    for (const AttributeDef& a : node.attributes) {
      if (std::ranges::find(rewrite->attributes, a.name) == rewrite->attributes.end()) {
        context.wrong(fmt::format("{} has no attribute {} in opset {}", node.op, a.name, opset),
                      "attribute " + quote_name(a.name),
                      rewrite->attributes.empty() ? "none" : fmt::format("{}", fmt::join(rewrite->attributes, ", ")));
      }
    }
    rewrite->apply(context);
  } catch (const UnsupportedError& e) {
    collect(node, scope, e);
  } catch (const InputError& e) {
    throw InputError(placed(e, place(model_, node), describe(node, scope)));
  }
}

void Importer::check_supported(const GraphDef& graph, const std::vector<bool>& live) {
  for (size_t i = 0; i < live.size(); ++i) {
    const NodeDef& node = graph.nodes[i];
    if (!live[i]) continue;
    const int64_t opset = opset_for(node);
    const bool standard = node.domain.empty();
    if (has_definition(library_, node, opset)) continue;
    if (standard && (find_rewrite(node.op, opset) || in_lattice(node.op))) continue;
    const std::string op = standard ? node.op : node.domain + "." + node.op;
    std::string nearest = "another operator, or a definition onnx." + op + " in a .frit file";
    for (int64_t v = opset + 1; standard && v <= kNewestOpset; ++v) {
      if (has_definition(library_, node, v) || find_rewrite(node.op, v)) {
        nearest = fmt::format("{} of opset {}", op, v);
        break;
      }
    }
    unsupported_.push_back(Finding{place(model_, node),
                                   fmt::format("operator {} is not supported", quote_name(op)),
                                   {},
                                   fmt::format("{} of opset {}", op, opset),
                                   std::move(nearest),
                                   {},
                                   {}});
  }
}

void Importer::import_nodes(const GraphDef& graph, Scope& scope, const std::vector<std::string>& wanted) {
  if (graph.sparse_initializer_count > 0) {
    throw UnsupportedError(Finding{model_.path,
                                   "sparse initializers are not read",
                                   {},
                                   fmt::format("{} of them", graph.sparse_initializer_count),
                                   "dense ones",
                                   {},
                                   {}});
  }
  const std::vector<bool> live = live_nodes(graph, wanted);
  const size_t before = unsupported_.size();
  check_supported(graph, live);
  if (unsupported_.size() != before) return;  // what follows would only repeat it
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (live[i]) import_node(graph.nodes[i], scope);
  }
}

void Importer::add_inputs(Scope& scope, Imported& result) {
  std::vector<const ValueDef*> inputs;
  const auto is_fed = [&](const std::string& name) {
    return std::ranges::find(options_.fed_initializers, name) != options_.fed_initializers.end();
  };
  for (const ValueDef& input : model_.graph.inputs) {
    if (!scope.names.contains(input.name) || is_fed(input.name)) inputs.push_back(&input);
  }
  for (const std::string& name : options_.fed_initializers) {
    const auto same = [&](const ValueDef* v) { return v->name == name; };
    if (!scope.names.contains(name) && std::ranges::any_of(inputs, same)) continue;  // an input like any other
    if (scope.names.contains(name) && std::ranges::any_of(inputs, same)) {
      if (model_.ir_version >= 4) continue;
      throw InputError(Finding{model_.path,
                               "initializers of this model are constants",
                               {},
                               fmt::format("{}, IR version {}", quote_name(name), model_.ir_version),
                               "IR version 4 or newer, where an initializer is a default",
                               {},
                               {}});
    }
    throw InputError(Finding{model_.path, "no such initializer among the inputs", {}, quote_name(name), {}, {}, {}});
  }
  ImportOptions bound = options_;
  for (const auto& [name, value] : options_.values) bound.shapes[name] = value.shape();
  const std::vector<Dims> shapes = bind_input_shapes(model_, inputs, bound);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueDef& input = *inputs[i];
    const auto dtype = dtype_of(input.element_type);
    if (!dtype) {
      throw UnsupportedError(Finding{fmt::format("{}: input {}", model_.path, quote_name(input.name)),
                                     "unsupported element type",
                                     {},
                                     data_type_name(input.element_type),
                                     "a number type",
                                     {},
                                     {}});
    }
    auto slot = std::make_shared<Slot>();
    const bool has_default = scope.names.contains(input.name);
    slot->dtype = *dtype;
    slot->shape = shapes[i];
    const TensorType type{*dtype, make_shape(shapes[i])};
    if (const auto value = options_.values.find(input.name); value != options_.values.end()) {
      if (value->second.dtype() != *dtype) {
        throw InputError(Finding{model_.path,
                                 "wrong dtype for an input",
                                 {},
                                 fmt::format("{} {}", quote_name(input.name), name(value->second.dtype())),
                                 std::string(name(*dtype)),
                                 {},
                                 {}});
      }
      slot->known = known_from(value->second);
      slot->value = graph_.add_constant(value->second, input.name);
    } else {
      slot->value = graph_.add_input(input.name, type);
    }
    if (!has_default && scope.names.contains(input.name)) {
      throw InputError(Finding{model_.path, "an input is declared twice", {}, quote_name(input.name), {}, {}, {}});
    }
    scope.names.insert_or_assign(input.name, slot);
    if (!options_.values.contains(input.name)) {
      result.inputs.push_back({input.name, type, declared_dims(input), has_default});
    }
  }
  for (const ValueDef& input : model_.graph.inputs) {
    const Slot* slot = scope.find(input.name);
    if (!slot->initializer || slot->value) continue;
    result.inputs.push_back({input.name, {slot->dtype, make_shape(slot->shape)}, declared_dims(input), true});
  }
}

Imported Importer::run() {
  Imported result;
  result.metadata = model_.metadata;
  result.producer = model_.producer;
  if (const auto at = model_.opsets.find(""); at != model_.opsets.end()) result.opset = at->second;
  if (result.opset > kNewestOpset) {
    throw UnsupportedError(Finding{model_.path,
                                   "operator set too new",
                                   {},
                                   fmt::format("opset {}", result.opset),
                                   fmt::format("at most {}", kNewestOpset),
                                   {},
                                   {}});
  }
  Scope scope;
  add_initializers(model_.graph, scope);
  add_inputs(scope, result);

  std::vector<std::string> wanted;
  for (const ValueDef& output : model_.graph.outputs) wanted.push_back(output.name);
  for (const std::string& name : options_.more_outputs) {
    if (std::ranges::find(wanted, name) == wanted.end()) wanted.push_back(name);
  }
  import_nodes(model_.graph, scope, wanted);
  if (!unsupported_.empty()) throw UnsupportedError(std::move(unsupported_));
  for (const std::string& name : wanted) {
    Slot* slot = scope.find(name);
    if (!slot) {
      throw InputError(Finding{model_.path, "an output that nothing makes", {}, quote_name(name), {}, {}, {}});
    }
    const Value value = value_of(*slot, name);
    graph_.add_output(name, value);
    result.outputs.push_back({name, graph_.type(value), {}, false});
  }
  for (const ValueDef& output : model_.graph.outputs) {
    for (auto& port : result.outputs) {
      if (port.name == output.name) port.dims = declared_dims(output);
    }
  }
  result.graph = without_dead_nodes(graph_);
  return result;
}

}  // namespace frit::onnx

namespace frit {

Imported import_onnx(const std::filesystem::path& path, const lang::Library& library, const ImportOptions& options) {
  const onnx::ModelDef model = onnx::decode_file(path);
  return onnx::Importer(model, library, options).run();
}

Imported import_onnx(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const std::string& name,
                     const lang::Library& library, const ImportOptions& options) {
  const onnx::ModelDef model = onnx::decode_model(bytes, std::move(owner), name);
  return onnx::Importer(model, library, options).run();
}

}  // namespace frit
