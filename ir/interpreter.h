#pragma once
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace frit {

/// A tensor as the reference interpreter sees it: floats in float64, integers and bools exact.
struct ReferenceTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<double> values;      // float dtypes: float64, rounded only before and after casts
  std::vector<int64_t> integers;   // integer and bool dtypes
  std::vector<double> magnitudes;  // floats: the sum of the absolute values of the terms that were added, for tolerances
  std::vector<int64_t> terms;      // number of terms of the longest sum behind the element (1 for elementwise)
};

/// Evaluates the graph from the definition, slowly, in float64, in index order: the judge of every backend, schedule
/// and pass. Independent of lowering. f32 values are not rounded; f16 and bf16 results are.
/// inputs   by input name
/// errors   InputError for a missing input or a wrong dtype or shape
std::vector<ReferenceTensor> interpret(const Graph& graph, const std::map<std::string, Array>& inputs);

/// Also every intermediate value, by Value, for comparing layer by layer.
std::map<Value, ReferenceTensor> interpret_all(const Graph& graph, const std::map<std::string, Array>& inputs);

/// |got - want| <= c * eps(dtype) * (terms + 4) * magnitude for floats (NaN equals NaN, infinities equal), exact for
/// integers. Empty if all agree, else a message with the first differing position and the worst error.
std::string compare(const Array& got, const ReferenceTensor& want, double c = 2.0);

}  // namespace frit
