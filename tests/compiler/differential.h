#pragma once
// Compiled against the definition: a snippet on every instruction set of this machine, on one and on two threads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/kernel/kernel.h"
#include "compiler/plan/build.h"
#include "compiler/plan/program.h"
#include "ir/interpreter.h"
#include "lang/snippet.h"
#include "support/error.h"
#include "support/seeded.h"

namespace frit::testing {

/// What the elements of an input are.
enum class Fill : uint8_t {
  Plain,      // floats in [-1, 1), integers in [-50, 50), or [0, 100) without a sign
  NonFinite,  // floats also NaN, infinities, zeros of both signs, so that only they make infinities
  Special,    // also NaN, infinities, zeros of both signs, denormals; integers also at the ends of their range
  Index,      // integers in [-3, 9)
  Positive    // floats in [0.5, 1.5), integers in [1, 20)
};

inline Array make_input(DType dtype, const std::vector<int64_t>& shape, Fill fill, uint64_t seed) {
  static const std::vector<double> odd = {std::nan(""),
                                          std::numeric_limits<double>::infinity(),
                                          -std::numeric_limits<double>::infinity(),
                                          0.0,
                                          -0.0,
                                          1e-40,
                                          3e38,
                                          -1.5};
  Array array(dtype, shape);
  for (int64_t i = 0; i < array.size(); ++i) {
    const auto at = static_cast<uint64_t>(i);
    const uint64_t bits = seeded::bits(seed, at);
    const double u = seeded::uniform(seed, at);
    const bool is_odd = (fill == Fill::Special || fill == Fill::NonFinite) && bits % 5 == 0;
    if (is_float(dtype)) {
      array.set_float(i, is_odd                   ? odd[bits / 5 % (fill == Fill::Special ? odd.size() : 5)]
                         : fill == Fill::Positive ? u + 0.5
                                                  : u * 2 - 1);
    } else if (dtype == DType::Bool) {
      array.set_int(i, static_cast<int64_t>(bits & 1));
    } else if (is_odd && fill == Fill::Special) {
      array.set_float(i, bits & 32 ? 1e30 : -1e30);
    } else {
      const auto n = static_cast<int64_t>(bits >> 8);
      const int64_t low = fill == Fill::Positive ? 1 : is_signed(dtype) ? (fill == Fill::Index ? -3 : -50) : 0;
      array.set_int(i, low + n % (fill == Fill::Positive ? 19 : fill == Fill::Index ? 12 : 100));
    }
  }
  return array;
}

struct DifferentialRow {
  std::string id;
  std::string text;  // definitions; empty where the library has `name`
  std::string name;
  std::vector<OperandSpec> operands;
  lang::Attributes attributes;
  Fill fill = Fill::Plain;
  int first_weight = 100;  // operands from here on are constants of the graph, known when it is compiled
};

/// The instruction sets of this machine, each with a kernel cache of its own in memory.
inline std::map<std::string, std::unique_ptr<runtime::KernelCache>>& caches() {
  static auto* all = [] {
    auto* made = new std::map<std::string, std::unique_ptr<runtime::KernelCache>>;
    for (const char* name : {"sse2", "avx2", "avx512"}) {
      try {
        runtime::KernelCacheOptions options;
        options.cpu = runtime::cpu_target_named(name);
        made->emplace(name, std::make_unique<runtime::KernelCache>(options));
      } catch (const InputError&) {  // this machine lacks it
      }
    }
    return made;
  }();
  return *all;
}

/// Compiles `graph` for each instruction set and runs it on one and on two threads; what differs from `want`, or empty.
inline std::string disagreement(const Graph& graph, const std::vector<Array>& inputs,
                                const std::vector<ReferenceTensor>& want) {
  for (const auto& [isa, cache] : caches()) {
    for (const int threads : {1, 2}) {
      const std::string where = isa + ", " + std::to_string(threads) + " threads: ";
      try {
        runtime::Workers workers(threads);
        const auto program = Program::compile(graph, {cache.get(), &workers, false});
        const std::vector<Array> results = program->run(inputs);
        if (results.size() != want.size()) return where + "number of results";
        for (size_t r = 0; r < want.size(); ++r)
          if (const std::string text = compare(results[r], want[r]); !text.empty())
            return where + "result " + std::to_string(r) + ": " + text;
      } catch (const Error& error) {
        return where + error.what();
      }
    }
  }
  return {};
}

inline std::vector<Array> make_inputs(const Graph& graph, Fill fill, uint64_t seed = 1) {
  std::vector<Array> inputs;
  for (const int node : graph.input_nodes()) {
    const TensorType& type = graph.node(node).results[0];
    inputs.push_back(make_input(type.dtype, static_shape(type.shape), fill, seed + static_cast<uint64_t>(node)));
  }
  return inputs;
}

inline std::string disagreement(const Graph& graph, const std::vector<Array>& inputs) {
  std::map<std::string, Array> named;
  for (size_t i = 0; i < inputs.size(); ++i)
    named[std::get<Input>(graph.node(graph.input_nodes()[i]).payload).name] = inputs[i];
  return disagreement(graph, inputs, interpret(graph, named));
}

inline Graph graph_of(const DifferentialRow& row) {
  Library library(&layers());
  if (!row.text.empty()) library.add(row.text, "row.frit");
  Graph graph;
  std::vector<lang::Operand> values;
  for (size_t i = 0; i < row.operands.size(); ++i) {
    const OperandSpec& operand = row.operands[i];
    const std::string name = "x" + std::to_string(i);
    if (operand.absent)
      values.emplace_back(std::monostate{});
    else if (static_cast<int>(i) >= row.first_weight)
      values.emplace_back(graph.add_constant(make_input(operand.dtype, operand.shape, row.fill, i + 100), name));
    else
      values.emplace_back(graph.add_input(name, {operand.dtype, make_shape(operand.shape)}));
  }
  const std::vector<Value> results =
      lang::instantiate(graph, library, library.get(row.name), values, row.attributes, row.name);
  for (size_t i = 0; i < results.size(); ++i) graph.add_output("r" + std::to_string(i), results[i]);
  return graph;
}

inline void check_row(const DifferentialRow& row) {
  SCOPED_TRACE(row.id);
  try {
    const Graph graph = graph_of(row);
    EXPECT_EQ(disagreement(graph, make_inputs(graph, row.fill)), "");
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

}  // namespace frit::testing
