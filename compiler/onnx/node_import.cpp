#include <fmt/format.h>

#include <cmath>

#include "compiler/onnx/decode.h"
#include "compiler/onnx/importer.h"

namespace frit::onnx {

NodeImport::NodeImport(Importer& importer, Scope& scope, const NodeDef& node, int64_t opset)
    : importer_(importer), scope_(scope), node_(node), opset_(opset) {
  for (const std::string& input : node.inputs) {
    Slot* slot = input.empty() ? nullptr : scope.find(input);
    if (!slot && !input.empty()) {
      wrong("an operand that nothing before the node makes", quote_name(input), "nodes in the order of their use");
    }
    slots_.push_back(slot);
  }
  while (!slots_.empty() && !slots_.back()) slots_.pop_back();
}

Slot& NodeImport::slot(size_t i) const {
  if (!has(i)) wrong(fmt::format("{} needs operand {}", node_.op, i), fmt::format("{} operands", slots_.size()));
  return *slots_[i];
}

Value NodeImport::value(size_t i) const { return importer_.value_of(slot(i), node_.inputs[i]); }

Dims NodeImport::numbers(size_t i) const {
  const std::optional<Array> known = importer_.know(slot(i), node_.inputs[i]);
  if (!known) {
    unsupported(fmt::format("operand {} ({}) must be known when the model is imported, and depends on data", i,
                            quote_name(node_.inputs[i])));
  }
  Dims result;
  for (int64_t k = 0; k < known->size(); ++k) {
    if (is_float(known->dtype())) {
      const double value = known->float_at(k);
      if (value != std::floor(value) || std::abs(value) > 0x1p53) {
        wrong(fmt::format("operand {} must be whole numbers", i), fmt::format("{}", value));
      }
      result.push_back(static_cast<int64_t>(value));
    } else {
      result.push_back(known->int_at(k));
    }
  }
  return result;
}

int64_t NodeImport::number(size_t i) const {
  const Dims list = numbers(i);
  if (list.size() != 1) wrong(fmt::format("operand {} must be one number", i), to_string(list));
  return list[0];
}

std::optional<std::vector<double>> NodeImport::small_constant(size_t i) const {
  const std::optional<Array> known = importer_.know(slot(i), node_.inputs[i]);
  if (!known) return {};
  const Array& array = *known;
  std::vector<double> result;
  for (int64_t k = 0; k < array.size(); ++k) {
    result.push_back(is_float(array.dtype()) ? array.float_at(k) : static_cast<double>(array.int_at(k)));
  }
  return result;
}

std::vector<double> NodeImport::reals(size_t i) const {
  std::optional<std::vector<double>> values = small_constant(i);
  if (!values) unsupported(fmt::format("operand {} ({}) must be a small constant", i, quote_name(node_.inputs[i])));
  return std::move(*values);
}

int64_t NodeImport::integer(std::string_view name, int64_t otherwise) const {
  const AttributeDef* a = node_.find(name);
  if (a && a->kind != AttributeDef::kInt) wrong(fmt::format("attribute {} is no integer", name), {});
  return a ? a->i : otherwise;
}
double NodeImport::real(std::string_view name, double otherwise) const {
  const AttributeDef* a = node_.find(name);
  if (a && a->kind != AttributeDef::kFloat) wrong(fmt::format("attribute {} is no float", name), {});
  return a ? static_cast<double>(a->f) : otherwise;
}
std::string NodeImport::text(std::string_view name, std::string_view otherwise) const {
  const AttributeDef* a = node_.find(name);
  if (a && a->kind != AttributeDef::kString) wrong(fmt::format("attribute {} is no string", name), {});
  return a ? a->s : std::string(otherwise);
}
Dims NodeImport::integers(std::string_view name) const {
  const AttributeDef* a = node_.find(name);
  if (a && a->kind != AttributeDef::kInts) wrong(fmt::format("attribute {} is no list of integers", name), {});
  return a ? a->ints : Dims{};
}

std::optional<Dims> NodeImport::list(std::string_view name, size_t i) const {
  if (has_attribute(name)) return integers(name);
  if (has(i)) return numbers(i);
  return {};
}

void NodeImport::give(size_t output, Value value) {
  auto slot = std::make_shared<Slot>();
  slot->dtype = dtype_of(value);
  slot->shape = shape_of(value);
  slot->value = value;
  importer_.define(scope_, node_, output, std::move(slot));
}

void NodeImport::give(size_t output, Known known) {
  auto slot = std::make_shared<Slot>();
  slot->dtype = known.dtype;
  slot->shape = known.shape;
  slot->known = std::move(known);
  importer_.define(scope_, node_, output, std::move(slot));
}

void NodeImport::alias(size_t output, size_t operand) { alias(output, slot(operand), node_.inputs[operand]); }

void NodeImport::alias(size_t output, Slot& from, const std::string& name) {
  if (!from.known && !from.unsupported) importer_.value_of(from, name);  // one constant for all names
  importer_.define(scope_, node_, output, std::make_shared<Slot>(from));
}

std::vector<Value> NodeImport::call(std::string_view definition, const std::vector<lang::Operand>& operands,
                                    const Attributes& attributes) {
  const lang::Library& library = importer_.library();
  const std::string& label = node_.name.empty() ? node_.op : node_.name;
  return lang::instantiate(importer_.graph(), library, library.get(definition), operands, attributes, label);
}

Value NodeImport::reshape(Value x, const Dims& shape) {
  if (shape_of(x) == shape) return x;
  return call("onnx_reshape", {x}, {{"shape", shape}}).front();
}

Value NodeImport::constant(Array array) { return importer_.graph().add_constant(std::move(array), node_.name); }

Dims NodeImport::shape_of(Value v) const { return static_shape(importer_.graph().type(v).shape); }
DType NodeImport::dtype_of(Value v) const { return importer_.graph().type(v).dtype; }

void NodeImport::unsupported(std::string reason, std::string fix) const {
  throw UnsupportedError(Finding{{},
                                 fmt::format("{} is not supported in this form: {}", node_.op, reason),
                                 {},
                                 fmt::format("{} of opset {}", node_.op, opset_),
                                 {},
                                 std::move(fix),
                                 {}});
}

void NodeImport::wrong(std::string what, std::string got, std::string expected) const {
  throw InputError(Finding{{}, std::move(what), {}, std::move(got), std::move(expected), {}, {}});
}

}  // namespace frit::onnx
