#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "compiler/onnx/decode.h"
#include "compiler/onnx/rewrites.h"
#include "support/seeded.h"

// Constants, aliases and branches that are decided at import.
namespace frit::onnx {
namespace {

void give_array(NodeImport& n, size_t output, Array array) {
  if (auto known = known_from(array)) {
    n.give(output, std::move(*known));
  } else {
    n.give(output, n.constant(std::move(array)));
  }
}

std::string attribute_place(const NodeImport& n) { return place(n.importer().model(), n.node()) + ": value"; }

// Memory for a constant that the node only describes.
void allow(NodeImport& n, DType dtype, const Dims& shape) {
  n.importer().allow_bytes(static_cast<uint64_t>(element_count(shape)) * static_cast<uint64_t>(size_bytes(dtype)));
}

Array filled(const Array& value, const Dims& shape) {
  Array array(value.dtype(), shape);
  const auto width = static_cast<size_t>(size_bytes(value.dtype()));
  std::byte* out = array.size() > 0 ? array.mutable_data() : nullptr;
  for (int64_t i = 0; i < array.size(); ++i) std::memcpy(out + static_cast<size_t>(i) * width, value.data(), width);
  return array;
}

// The stand-in for a trained weight (docs/references.md).
Array random_weight(const std::string& name, const Dims& shape, uint64_t seed) {
  Array array(DType::F32, shape);
  const double fan = shape.size() > 1 ? static_cast<double>(element_count(std::span(shape).subspan(1))) : 1;
  const uint64_t key = seeded::fnv1a64(name) + seed;
  float* out = array.size() > 0 ? array.as_mutable<float>() : nullptr;
  for (int64_t i = 0; i < array.size(); ++i) {
    out[i] = seeded::weight_value(key, static_cast<uint64_t>(i), shape.size(), std::max(fan, 1.0));
  }
  return array;
}

}  // namespace

void rewrite_constant(NodeImport& n) {
  const auto only = [&](const AttributeDef& a) -> Array {
    if (a.name == "value") {
      if (a.kind != AttributeDef::kTensor) n.wrong("attribute value is no tensor", {});
      return to_array(a.tensors.front(), n.importer().model(), attribute_place(n));
    }
    if (a.name == "value_float" || a.name == "value_int") {
      const bool is_float = a.name == "value_float";
      Array array(is_float ? DType::F32 : DType::I64, {});
      is_float ? array.set_float(0, a.f) : array.set_int(0, a.i);
      return array;
    }
    if (a.name == "value_floats") {
      Array array(DType::F32, {static_cast<int64_t>(a.floats.size())});
      for (size_t i = 0; i < a.floats.size(); ++i) array.set_float(static_cast<int64_t>(i), a.floats[i]);
      return array;
    }
    if (a.name == "value_ints") {
      Array array(DType::I64, {static_cast<int64_t>(a.ints.size())});
      for (size_t i = 0; i < a.ints.size(); ++i) array.set_int(static_cast<int64_t>(i), a.ints[i]);
      return array;
    }
    n.unsupported("attribute " + quote_name(a.name));
  };
  if (n.node().attributes.size() != 1) {
    n.wrong("Constant takes one value", fmt::format("{} attributes", n.node().attributes.size()));
  }
  give_array(n, 0, only(n.node().attributes.front()));
}

void rewrite_constant_of_shape(NodeImport& n) {
  TensorDef wanted;
  wanted.dims = n.numbers(0);
  const Dims shape = checked_dims(wanted, {});
  Array value(DType::F32, {1});
  if (const AttributeDef* a = n.node().find("value")) {
    if (a->kind != AttributeDef::kTensor) n.wrong("attribute value is no tensor", {});
    value = to_array(a->tensors.front(), n.importer().model(), attribute_place(n));
    if (value.size() != 1) n.wrong("attribute value must be one number", to_string(value.shape()));
  }
  allow(n, value.dtype(), shape);
  const std::optional<uint64_t>& seed = n.importer().options().random_weights;
  if (seed && value.dtype() == DType::F32 && n.slot(0).initializer) {
    return n.give(0, n.constant(random_weight(n.node().outputs.front(), shape, *seed)));
  }
  give_array(n, 0, filled(value, shape));
}

void rewrite_identity(NodeImport& n) { n.alias(0, 0); }

void rewrite_dropout(NodeImport& n) {
  if (n.has(2) && n.number(2) != 0) n.unsupported("training mode", "export the model for inference");
  n.alias(0, 0);
  if (n.wants(1)) {
    allow(n, DType::F64, n.shape(0));
    Array kept(n.opset() >= 10 ? DType::Bool : n.slot(0).dtype, n.shape(0));
    for (int64_t i = 0; i < kept.size(); ++i) kept.set_int(i, 1);
    give_array(n, 1, std::move(kept));
  }
}

void rewrite_cast(NodeImport& n) {
  const auto code = static_cast<int32_t>(n.integer("to", 0));
  const auto to = dtype_of(code);
  if (!to) n.unsupported("cast to " + data_type_name(code));
  if (*to == n.slot(0).dtype) return n.alias(0, 0);
  n.give(0, n.call("onnx_cast", {n.value(0)}, {{"to", *to}}).front());
}

// A small whole exponent is a product: exact to one rounding each, and much cheaper than a power.
void rewrite_pow(NodeImport& n) {
  const bool plain =
      n.has(1) && n.shape(1).size() <= n.shape(0).size() && element_count(n.shape(1)) == 1 && is_float(n.slot(0).dtype);
  const std::optional<std::vector<double>> e = plain ? n.small_constant(1) : std::nullopt;
  if (!e) return import_definition(n);
  const double exponent = e->front();
  if (exponent == 1) return n.alias(0, 0);
  if (exponent != 2 && exponent != 3 && exponent != -1) return import_definition(n);
  n.give(0, n.call("onnx_power", {n.value(0)}, {{"e", static_cast<int64_t>(exponent)}}).front());
}

void rewrite_if(NodeImport& n) {
  if (!n.small_constant(0)) {
    n.unsupported("its condition depends on data",
                  "bind the inputs that decide it; a branch is chosen when the model is imported");
  }
  const char* branch = n.number(0) != 0 ? "then_branch" : "else_branch";
  const AttributeDef* a = n.node().find(branch);
  if (!a || a->kind != AttributeDef::kGraph) n.wrong(fmt::format("If has no {}", branch), {});
  const GraphDef& graph = a->graphs.front();
  if (graph.outputs.size() < n.node().outputs.size()) {
    n.wrong("a branch of If gives too few values",
            fmt::format("{} of {}", graph.outputs.size(), n.node().outputs.size()));
  }
  Scope inner{&n.scope(), {}};
  n.importer().add_initializers(graph, inner);
  std::vector<std::string> wanted;
  for (size_t i = 0; i < n.node().outputs.size(); ++i) {
    if (n.wants(i)) wanted.push_back(graph.outputs[i].name);
  }
  n.importer().import_nodes(graph, inner, wanted);
  for (size_t i = 0; i < n.node().outputs.size(); ++i) {
    if (!n.wants(i)) continue;
    Slot* slot = inner.find(graph.outputs[i].name);
    if (!slot) {  // a node of the branch was not supported, which is already noted
      auto unknown = std::make_shared<Slot>();
      unknown->unsupported = true;
      n.importer().define(n.scope(), n.node(), i, std::move(unknown));
    } else {
      n.alias(i, *slot, graph.outputs[i].name);
    }
  }
}

}  // namespace frit::onnx
