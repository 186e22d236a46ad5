#include "compiler/passes/node_equality.h"

#include <cstring>
#include <functional>

namespace frit {
namespace {

bool same_axes(const std::vector<Axis>& a, const std::vector<Axis>& b) {
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k)
    if (!(a[k].extent == b[k].extent)) return false;
  return true;
}

bool same(const Input& a, const Input& b) { return a.name == b.name; }

bool same(const Constant& a, const Constant& b) {
  if (a.array.data() == b.array.data()) return true;
  if (a.array.size_bytes() != b.array.size_bytes() || a.array.size_bytes() > kSmallConstantBytes) return false;
  return std::memcmp(a.array.data(), b.array.data(), a.array.size_bytes()) == 0;
}

bool same(const Compute& a, const Compute& b) {
  if (!same_axes(a.axes, b.axes) || a.free != b.free || a.results.size() != b.results.size()) return false;
  if (a.reduction.op != b.reduction.op || a.reduction.init != b.reduction.init ||
      a.reduction.step != b.reduction.step || a.reduction.merge != b.reduction.merge)
    return false;
  for (size_t r = 0; r < a.results.size(); ++r)
    if (!(a.results[r].value == b.results[r].value) || a.results[r].axes != b.results[r].axes) return false;
  return true;
}

bool same(const View& a, const View& b) { return same_axes(a.axes, b.axes) && a.positions == b.positions; }

bool same(const Assemble& a, const Assemble& b) {
  if (a.shape != b.shape || a.parts.size() != b.parts.size()) return false;
  for (size_t p = 0; p < a.parts.size(); ++p)
    if (a.parts[p].offset != b.parts[p].offset || a.parts[p].step != b.parts[p].step) return false;
  return true;
}

bool same(const Scatter& a, const Scatter& b) {
  return same_axes(a.axes, b.axes) && a.op == b.op && a.positions == b.positions && a.value == b.value;
}

bool same(const Sort& a, const Sort& b) { return a.axis == b.axis && a.descending == b.descending; }

bool same(const CustomGradient& a, const CustomGradient& b) {
  return a.operands == b.operands && a.overridden == b.overridden && a.clause == b.clause;
}

uint64_t mix(uint64_t h, uint64_t v) { return (h ^ v) * 0x9e3779b97f4a7c15ULL + (h >> 29); }

}  // namespace

bool is_same_node(const Node& a, const Node& b) {
  if (a.payload.index() != b.payload.index() || a.inputs != b.inputs || a.results != b.results) return false;
  return std::visit([&](const auto& x) { return same(x, std::get<std::decay_t<decltype(x)>>(b.payload)); }, a.payload);
}

uint64_t node_hash(const Node& node) {
  uint64_t h = node.payload.index();
  for (const Value v : node.inputs) h = mix(mix(h, static_cast<uint64_t>(v.node)), static_cast<uint64_t>(v.result));
  for (const TensorType& type : node.results) {
    h = mix(h, static_cast<uint64_t>(type.dtype));
    for (const Expr& extent : type.shape) h = mix(h, extent.hash());
  }
  if (const auto* c = std::get_if<Compute>(&node.payload)) {
    for (const Expr& e : c->reduction.step) h = mix(h, e.hash());
    for (const Compute::Result& r : c->results) h = mix(h, r.value.hash());
  }
  if (const auto* v = std::get_if<View>(&node.payload))
    for (const Expr& e : v->positions) h = mix(h, e.hash());
  if (const auto* s = std::get_if<Scatter>(&node.payload)) h = mix(h, s->value.hash());
  if (const auto* i = std::get_if<Input>(&node.payload)) h = mix(h, std::hash<std::string>{}(i->name));
  return h;
}

}  // namespace frit
