#pragma once
// Derived gradients against central differences of the float64 interpreter, and compiled against the interpreter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/differential.h"
#include "compiler/passes/gradient.h"
#include "compiler/passes/simplify.h"
#include "lang/snippet_run.h"

namespace frit::testing {

/// An operand of a row: floats in [low, high), or integers in it.
struct GradientOperand {
  enum class Kind : uint8_t { Float, Int, Bool, Seed, Absent, Const } kind = Kind::Float;
  std::vector<int64_t> shape;
  double low = -1, high = 1;
  std::vector<int64_t> constant = {};
};
inline GradientOperand x(std::vector<int64_t> shape, double low = -1, double high = 1) {
  return {GradientOperand::Kind::Float, std::move(shape), low, high};
}
inline GradientOperand positive(std::vector<int64_t> shape) { return x(std::move(shape), 0.5, 1.5); }
inline GradientOperand ints(std::vector<int64_t> shape, double low, double high) {
  return {GradientOperand::Kind::Int, std::move(shape), low, high};
}
inline GradientOperand bools(std::vector<int64_t> shape) {
  return {GradientOperand::Kind::Bool, std::move(shape), 0, 2};
}
inline GradientOperand none() { return {GradientOperand::Kind::Absent, {}}; }
inline GradientOperand constant_list(std::vector<int64_t> values) {
  return {GradientOperand::Kind::Const, {}, 0, 0, std::move(values)};
}
inline GradientOperand random_seed() { return {GradientOperand::Kind::Seed, {}}; }

struct GradientRow {
  std::string name;  // the definition that is applied
  std::vector<GradientOperand> operands;
  lang::Attributes attributes = {};
  std::string text = {};  // definitions; empty where the library has `name`
};

inline DType dtype_of_operand(const GradientOperand& operand, DType floats) {
  switch (operand.kind) {
    case GradientOperand::Kind::Float:
      return floats;
    case GradientOperand::Kind::Bool:
      return DType::Bool;
    case GradientOperand::Kind::Seed:
      return DType::U64;
    default:
      return DType::I64;
  }
}

/// The definition applied to operands of float dtype `dtype`, inputs x0, x1, .. and outputs r0, r1, ..
inline Graph graph_of(const GradientRow& row, DType dtype) {
  Library library(&layers());
  if (!row.text.empty()) library.add(row.text, "row.frit");
  std::vector<OperandSpec> operands;
  for (const GradientOperand& o : row.operands) {
    OperandSpec spec;
    spec.dtype = dtype_of_operand(o, dtype);
    spec.shape = o.shape;
    spec.absent = o.kind == GradientOperand::Kind::Absent;
    spec.is_const = o.kind == GradientOperand::Kind::Const;
    spec.constant = o.constant;
    operands.push_back(std::move(spec));
  }
  return build(library, row.name, operands, row.attributes).graph;
}

using NamedArrays = std::map<std::string, Array>;

inline NamedArrays values_of(const GradientRow& row, DType dtype) {
  NamedArrays values;
  for (size_t k = 0; k < row.operands.size(); ++k) {
    const GradientOperand& o = row.operands[k];
    if (o.kind == GradientOperand::Kind::Absent || o.kind == GradientOperand::Kind::Const) continue;
    const bool is_real = o.kind == GradientOperand::Kind::Float;
    Array a(dtype_of_operand(o, dtype), o.shape);
    for (int64_t i = 0; i < a.size(); ++i) {
      const double v = o.low + (o.high - o.low) * seeded::uniform(17 * k + 5, static_cast<uint64_t>(i));
      if (is_real)
        a.set_float(i, v);
      else
        a.set_int(i, static_cast<int64_t>(std::floor(v)));
    }
    values.emplace("x" + std::to_string(k), std::move(a));
  }
  return values;
}

/// Names of the float inputs.
inline std::vector<std::string> float_inputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const int id : graph.input_nodes())
    if (is_float(graph.node(id).results[0].dtype)) names.push_back(std::get<Input>(graph.node(id).payload).name);
  return names;
}

/// Values for the inputs of `graph` that `values` lacks: the adjoints of outputs.
inline void add_adjoints(const Graph& graph, NamedArrays& values) {
  for (const int id : graph.input_nodes()) {
    const std::string& name = std::get<Input>(graph.node(id).payload).name;
    const TensorType& type = graph.node(id).results[0];
    if (values.contains(name)) continue;
    const uint64_t seed = 1000 + static_cast<uint64_t>(id);
    values.emplace(name, make_input(type.dtype, static_shape(type.shape), Fill::Plain, seed));
  }
}

/// sum over float outputs of <output, its adjoint>, in float64.
inline double inner_product(const Graph& graph, const NamedArrays& values) {
  const auto results = interpret(graph, values);
  double sum = 0;
  for (size_t r = 0; r < results.size(); ++r) {
    if (!is_float(results[r].dtype)) continue;
    const Array& adjoint = values.at("d_" + graph.outputs()[r].name);
    for (size_t i = 0; i < results[r].values.size(); ++i)
      sum += results[r].values[i] * adjoint.float_at(static_cast<int64_t>(i));
  }
  return sum;
}

/// Gradients of `graph` for its float inputs, against central differences of the float64 interpreter.
inline void check_differences(const Graph& graph, NamedArrays values) {
  const std::vector<std::string> wrt = float_inputs(graph);
  const Graph derived = gradient(graph, wrt);
  for (const std::string& finding : verify(derived)) ADD_FAILURE() << finding;
  add_adjoints(derived, values);
  const auto results = interpret(derived, values);
  NamedArrays moved = values;
  for (size_t k = 0; k < wrt.size(); ++k) {
    Array& a = moved.at(wrt[k]);
    ASSERT_EQ(results[k].shape, a.shape());
    for (int64_t i = 0; i < a.size(); ++i) {
      const double at = a.float_at(i), h = 1e-5 * std::max(1.0, std::fabs(at));
      a.set_float(i, at + h);
      const double above = inner_product(graph, moved);
      a.set_float(i, at - h);
      const double below = inner_product(graph, moved);
      a.set_float(i, at);
      const double want = (above - below) / (2 * h), got = results[k].values[static_cast<size_t>(i)];
      if (!(std::fabs(got - want) <= 1e-6 * (1 + std::fabs(want)))) {
        ADD_FAILURE() << "d_" << wrt[k] << ", element " << i << ": got " << got << ", difference " << want;
        return;
      }
    }
  }
}

/// The derived graph in f32, compiled for the best instruction set, against the interpreter; simplified the same.
inline void check_compiled(const Graph& graph, NamedArrays values) {
  const Graph derived = gradient(graph, float_inputs(graph));
  add_adjoints(derived, values);
  std::vector<Array> inputs;
  for (const int id : derived.input_nodes())
    inputs.push_back(values.at(std::get<Input>(derived.node(id).payload).name));
  const auto want = interpret(derived, values);
  const auto& cache = caches().rbegin()->second;
  static runtime::Workers workers(2);
  const auto results = Program::compile(derived, {cache.get(), &workers, false})->run(inputs);
  for (size_t r = 0; r < want.size(); ++r) EXPECT_EQ(compare(results[r], want[r]), "") << derived.outputs()[r].name;
}

inline void check_gradient_row(const GradientRow& row, bool compiled = true) {
  SCOPED_TRACE(row.name);
  try {
    check_differences(graph_of(row, DType::F64), values_of(row, DType::F64));
    if (compiled) check_compiled(graph_of(row, DType::F32), values_of(row, DType::F32));
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

}  // namespace frit::testing
