#include "compiler/onnx/evaluate_constant.h"

#include <map>
#include <set>

#include "ir/interpreter.h"

namespace frit::onnx {
namespace {

constexpr size_t kMaxNodes = 256;

bool is_small(const TensorType& type) {
  int64_t bytes = size_bytes(type.dtype);
  for (const Expr& extent : type.shape) {
    if (!extent.is_constant() || __builtin_mul_overflow(bytes, extent.int_value(), &bytes)) return false;
    if (bytes > static_cast<int64_t>(kSmallConstantBytes)) return false;
  }
  return true;
}

// The nodes behind `value`, operands first; nothing if one is an input, large, or if there are too many.
std::optional<std::set<int>> ancestors(const Graph& graph, Value value) {
  std::set<int> found;
  std::vector<int> open = {value.node};
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    if (!found.insert(id).second) continue;
    const Node& node = graph.node(id);
    if (std::holds_alternative<Input>(node.payload) || found.size() > kMaxNodes) return {};
    for (const TensorType& type : node.results) {
      if (!is_small(type)) return {};
    }
    for (const Value v : node.inputs) open.push_back(v.node);
  }
  return found;
}

Array rounded(const ReferenceTensor& t) {
  Array array(t.dtype, t.shape);
  for (int64_t i = 0; i < array.size(); ++i) {
    if (is_float(t.dtype)) {
      array.set_float(i, t.values[static_cast<size_t>(i)]);
    } else {
      array.set_int(i, t.integers[static_cast<size_t>(i)]);
    }
  }
  return array;
}

}  // namespace

std::optional<Array> evaluate_constant(const Graph& graph, Value value) {
  const auto nodes = ancestors(graph, value);
  if (!nodes) return {};
  std::map<Value, Array> known;
  for (const int id : *nodes) {
    const Node& node = graph.node(id);
    if (const auto* constant = std::get_if<Constant>(&node.payload)) {
      known.emplace(Value{id, 0}, constant->array);
      continue;
    }
    Graph one;
    Node copy = node;
    for (Value& v : copy.inputs) v = one.add_constant(known.at(v));
    const int made = one.add(std::move(copy)).node;
    for (int r = 0; r < static_cast<int>(node.results.size()); ++r) one.add_output(std::to_string(r), {made, r});
    const auto results = interpret(one, {});
    for (int r = 0; r < static_cast<int>(results.size()); ++r) {
      known.emplace(Value{id, r}, rounded(results[static_cast<size_t>(r)]));
    }
  }
  return known.at(value);
}

}  // namespace frit::onnx
