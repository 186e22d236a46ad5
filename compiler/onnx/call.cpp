#include <fmt/format.h>

#include <algorithm>

#include "compiler/onnx/decode.h"
#include "compiler/onnx/importer.h"

// Operators that are definitions of the library: operands by position, attributes by name.
namespace frit::onnx {
namespace {

const lang::Definition* definition_of(const lang::Library& library, const NodeDef& node, int64_t opset) {
  return library.find_onnx(node.domain, node.op, static_cast<int>(std::clamp<int64_t>(opset, 0, 1 << 20)));
}

// Names that the language reserves get a `_`.
std::string attribute_name(const std::string& name) {
  static constexpr std::string_view kReserved[] = {
      "def",  "grad", "return", "require", "if",     "else", "for",  "import", "const", "and", "or",
      "not",  "in",   "true",   "false",   "none",   "inf",  "nan",  "sum",    "prod",  "max", "min",
      "mean", "any",  "all",    "argmax",  "argmin", "fold", "bool", "i8",     "i16",   "i32", "i64",
      "u8",   "u16",  "u32",    "u64",     "f16",    "bf16", "f32",  "f64"};
  return std::ranges::find(kReserved, name) == std::end(kReserved) ? name : name + "_";
}

StaticValue static_value(const NodeImport& node, const AttributeDef& a) {
  if (a.is_reference) node.wrong("an attribute refers to a function's", quote_name(a.name));
  switch (a.kind) {
    case AttributeDef::kInt:
      if (a.name == "to" || a.name == "dtype") {
        const auto dtype = dtype_of(static_cast<int32_t>(a.i));
        if (!dtype) node.unsupported(fmt::format("element type {}", data_type_name(static_cast<int32_t>(a.i))));
        return *dtype;
      }
      return a.i;
    case AttributeDef::kFloat:
      return static_cast<double>(a.f);
    case AttributeDef::kString:
      return a.s;
    case AttributeDef::kInts:
      return a.ints;
    case AttributeDef::kFloats: {
      StaticValue::List list;
      for (const float v : a.floats) list.emplace_back(static_cast<double>(v));
      return list;
    }
    case AttributeDef::kStrings: {
      StaticValue::List list;
      for (const std::string& v : a.strings) list.emplace_back(v);
      return list;
    }
    default:
      node.unsupported(fmt::format("attribute {} of kind {}", quote_name(a.name), a.kind));
  }
}

// A list or, for rank 0, one number.
StaticValue static_operand(const NodeImport& node, size_t i) {
  const Dims numbers = node.numbers(i);
  if (node.shape(i).empty() && numbers.size() == 1) return numbers[0];
  return numbers;
}

std::vector<lang::Operand> operands_of(const NodeImport& node, const lang::Definition& definition,
                                       const lang::Interface& face) {
  std::vector<lang::Operand> operands;
  const bool variadic = !face.operands.empty() && face.operands.back().is_variadic;
  const size_t limit = face.operands.size();
  for (size_t i = 0; i < node.operand_count(); ++i) {
    if (i >= limit && !variadic) {
      node.wrong(fmt::format("{} takes fewer operands in opset {}", node.node().op, node.opset()),
                 fmt::format("{} operands", node.operand_count()), lang::signature_text(definition));
    }
    if (variadic && i + 1 >= limit) break;
    if (!node.has(i)) {
      operands.emplace_back(std::monostate{});
    } else if (face.operands[i].is_const) {
      operands.emplace_back(static_operand(node, i));
    } else {
      operands.emplace_back(node.value(i));
    }
  }
  if (variadic) {
    std::vector<Value> rest;
    for (size_t i = limit - 1; i < node.operand_count(); ++i) rest.push_back(node.value(i));
    operands.emplace_back(std::move(rest));
  }
  return operands;
}

}  // namespace

bool has_definition(const lang::Library& library, const NodeDef& node, int64_t opset) {
  return definition_of(library, node, opset) != nullptr;
}

void import_definition(NodeImport& node) {
  const lang::Library& library = node.importer().library();
  const lang::Definition* definition = definition_of(library, node.node(), node.opset());
  if (!definition) {
    node.unsupported(
        "its operands depend on data",
        fmt::format("only on sizes and small integer constants, {} is computed at import", node.node().op));
  }
  const lang::Interface face = lang::interface_of(*definition);
  Attributes attributes;
  for (const AttributeDef& a : node.node().attributes) {
    const std::string name = attribute_name(a.name);
    const auto same = [&](const auto& declared) { return declared.name == name; };
    if (std::ranges::none_of(face.attributes, same)) {
      node.wrong(fmt::format("{} has no attribute {} in opset {}", node.node().op, a.name, node.opset()),
                 "attribute " + quote_name(a.name), "operands and attributes: " + lang::signature_text(*definition));
    }
    attributes.emplace(name, static_value(node, a));
  }
  const std::string& label = node.node().name.empty() ? node.node().op : node.node().name;
  const std::vector<Value> results = lang::instantiate(node.importer().graph(), library, *definition,
                                                       operands_of(node, *definition, face), attributes, label);
  for (size_t i = 0; i < node.node().outputs.size(); ++i) {
    if (i < results.size()) {
      node.give(i, results[i]);
    } else if (node.wants(i)) {
      node.unsupported(fmt::format("result {} ({}) is not computed", i, quote_name(node.node().outputs[i])));
    }
  }
}

}  // namespace frit::onnx
