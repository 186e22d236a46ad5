#include "compiler/passes/gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/passes/gradient/adjoints.h"
#include "support/error.h"

namespace frit {
namespace {

using reverse::Adjoints;
using reverse::Space;

Space space_of(const TensorType& type, std::string label) {
  Space space;
  space.label = std::move(label);
  for (const Expr& extent : type.shape) space.axes.push_back({fmt::format("i{}", space.axes.size()), extent});
  return space;
}

// The value in `dtype`; the same one where it has it already.
Value converted(Graph& graph, Value v, DType dtype, const std::string& label) {
  const TensorType type = graph.type(v);
  if (type.dtype == dtype) return v;
  Space space = space_of(type, label);
  const Expr element = read(compute_dtype(type.dtype), space.slot_of(v), reverse::indices(type.shape.size()));
  return reverse::emit(graph, space, static_cast<int>(type.shape.size()), cast(element, dtype));
}

Value zeros(Graph& graph, const TensorType& type, const std::string& label) {
  const Space space = space_of(type, label);
  const Expr zero = cast(constant(compute_dtype(type.dtype), 0), type.dtype);
  return reverse::emit(graph, space, static_cast<int>(type.shape.size()), zero);
}

[[noreturn]] void refuse(std::string what, std::string got, std::string expected) {
  throw InputError(Finding{.where = "gradient",
                           .what = std::move(what),
                           .excerpt = {},
                           .got = std::move(got),
                           .expected = std::move(expected),
                           .fix = {},
                           .from = {}});
}

std::string free_name(std::string name, std::set<std::string>& taken) {
  while (!taken.insert(name).second) name += "_";
  return name;
}

}  // namespace

std::vector<Value> add_gradients(Graph& graph, std::span<const Seed> seeds, std::span<const Value> wrt) {
  for (const Value v : wrt)
    if (!is_float(graph.type(v).dtype))
      refuse(fmt::format("{} has no gradient", graph.node(v).label), to_string(graph.type(v)), "a float");
  const auto count = static_cast<int>(graph.nodes().size());
  Adjoints adjoints(graph, wrt, count);
  for (const Seed& seed : seeds) {
    FRIT_CHECK(graph.type(seed.output).shape == graph.type(seed.adjoint).shape, "a seed of another shape");
    if (!adjoints.is_active(seed.output)) continue;
    adjoints.add(seed.output, converted(graph, seed.adjoint, compute_dtype(graph.type(seed.output).dtype), "seed"));
  }
  reverse::sweep(adjoints, count);
  std::vector<Value> results;
  for (const Value v : wrt) {
    const std::string label = "d_" + graph.node(v).label;
    const auto total = adjoints.total(v);
    const TensorType type = graph.type(v);
    results.push_back(total ? converted(graph, *total, type.dtype, label) : zeros(graph, type, label));
    FRIT_CHECK(graph.type(results.back()) == graph.type(v), "an adjoint of another type than its primal");
  }
  return results;
}

Graph gradient(const Graph& graph, std::span<const std::string> wrt) {
  Graph result = graph;
  std::set<std::string> names;
  std::vector<Value> sources(wrt.size());
  std::string inputs;
  for (const int id : graph.input_nodes()) {
    const std::string& name = std::get<Input>(graph.node(id).payload).name;
    names.insert(name);
    inputs += (inputs.empty() ? "" : ", ") + name;
    for (size_t k = 0; k < wrt.size(); ++k)
      if (wrt[k] == name) sources[k] = {id, 0};
  }
  for (size_t k = 0; k < wrt.size(); ++k)
    if (sources[k].node < 0) refuse("there is no such input", wrt[k], inputs);
  std::vector<Seed> seeds;
  for (const Graph::Output& out : graph.outputs()) {
    const TensorType type = graph.type(out.value);
    if (is_float(type.dtype)) seeds.push_back({out.value, result.add_input(free_name("d_" + out.name, names), type)});
  }
  const std::vector<Value> adjoints = add_gradients(result, seeds, sources);
  std::vector<Graph::Output> outputs;
  std::set<std::string> taken;
  for (size_t k = 0; k < wrt.size(); ++k) outputs.push_back({free_name("d_" + wrt[k], taken), adjoints[k]});
  result.set_outputs(std::move(outputs));
  return result;
}

}  // namespace frit
