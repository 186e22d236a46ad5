#include <cstring>

#include "ir/graph.h"

namespace frit {
namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ULL + (h << 12) + (h >> 4);
  h *= 0xff51afd7ed558ccdULL;
  return h ^ (h >> 32);
}
uint64_t mix(uint64_t h, const std::vector<Expr>& exprs) {
  h = mix(h, exprs.size());
  for (const Expr& e : exprs) h = mix(h, e.hash());
  return h;
}
uint64_t mix(uint64_t h, const std::vector<int64_t>& numbers) {
  h = mix(h, numbers.size());
  for (const int64_t v : numbers) h = mix(h, static_cast<uint64_t>(v));
  return h;
}
uint64_t mix(uint64_t h, const TensorType& type) { return mix(mix(h, static_cast<uint64_t>(type.dtype)), type.shape); }
uint64_t mix(uint64_t h, const std::vector<Axis>& axes) {
  h = mix(h, axes.size());
  for (const Axis& axis : axes) h = mix(h, axis.extent.hash());
  return h;
}

uint64_t payload_hash(const Input&, uint64_t h) { return h; }

uint64_t payload_hash(const Constant& c, uint64_t h) {
  if (c.array.size_bytes() > kSmallConstantBytes) return mix(h, uint64_t{1});
  for (size_t at = 0; at < c.array.size_bytes(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, c.array.data() + at, std::min<size_t>(8, c.array.size_bytes() - at));
    h = mix(h, word);
  }
  return h;
}

uint64_t payload_hash(const Compute& c, uint64_t h) {
  h = mix(mix(h, c.axes), static_cast<uint64_t>(c.free));
  h = mix(h, static_cast<uint64_t>(c.reduction.op));
  h = mix(mix(mix(h, c.reduction.init), c.reduction.step), c.reduction.merge);
  for (const Compute::Result& r : c.results)
    h = mix(mix(h, r.value.hash()), std::vector<int64_t>(r.axes.begin(), r.axes.end()));
  return h;
}

uint64_t payload_hash(const View& v, uint64_t h) { return mix(mix(h, v.axes), v.positions); }

uint64_t payload_hash(const Assemble& a, uint64_t h) {
  h = mix(h, a.shape);
  for (const Assemble::Part& p : a.parts) h = mix(mix(h, p.offset), p.step);
  return h;
}

uint64_t payload_hash(const Scatter& s, uint64_t h) {
  h = mix(mix(h, s.axes), static_cast<uint64_t>(s.op));
  return mix(mix(h, s.positions), s.value.hash());
}

uint64_t payload_hash(const Sort& s, uint64_t h) {
  return mix(mix(h, static_cast<uint64_t>(s.axis)), static_cast<uint64_t>(s.descending));
}

uint64_t payload_hash(const CustomGradient& c, uint64_t h) {
  h = mix(mix(h, static_cast<uint64_t>(c.operands)), std::vector<int64_t>(c.overridden.begin(), c.overridden.end()));
  return mix(h, hash(*c.clause));
}

}  // namespace

uint64_t hash(const Graph& graph) {
  std::vector<uint64_t> hashes;
  uint64_t inputs = 0;
  for (const Node& node : graph.nodes()) {
    uint64_t h = mix(0x67726170, node.payload.index());
    for (const TensorType& type : node.results) h = mix(h, type);
    if (std::holds_alternative<Input>(node.payload)) h = mix(h, inputs++);
    for (const Value v : node.inputs)
      h = mix(mix(h, hashes[static_cast<size_t>(v.node)]), static_cast<uint64_t>(v.result));
    hashes.push_back(std::visit([&](const auto& payload) { return payload_hash(payload, h); }, node.payload));
  }
  // Only what the outputs need counts, and the types of all inputs.
  uint64_t h = mix(0x66726974, inputs);
  for (const int id : graph.input_nodes()) h = mix(h, graph.node(id).results[0]);
  for (const Graph::Output& out : graph.outputs())
    h = mix(mix(h, hashes[static_cast<size_t>(out.value.node)]), static_cast<uint64_t>(out.value.result));
  return h;
}

}  // namespace frit
