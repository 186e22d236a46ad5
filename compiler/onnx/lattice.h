#pragma once
#include <optional>
#include <span>
#include <vector>

#include "compiler/onnx/model.h"
#include "compiler/onnx/shapes.h"
#include "ir/graph.h"

namespace frit::onnx {

/// A small integer or bool tensor whose elements are known while the model is imported: numbers, or index expressions
/// over the symbols of free dims. Shape arithmetic is done on these and leaves nothing in the graph.
struct Known {
  DType dtype = DType::I64;
  Dims shape;
  std::vector<Expr> values;  // row-major, each i64 whatever the dtype

  /// All elements as numbers, or nothing if one is symbolic.
  std::optional<Dims> numbers() const;
};
constexpr int64_t kMaxKnownElements = static_cast<int64_t>(kSmallConstantBytes / sizeof(int64_t));

/// Nothing for floats and for more than kMaxKnownElements.
std::optional<Known> known_from(const Array& array);
Known known_numbers(DType dtype, Dims shape, std::span<const int64_t> values);
/// The tensor as a constant; its elements must be numbers.
Array to_array(const Known& known);

/// The results of a node all of whose operands are known (null where absent), or nothing if the operator or these
/// values are not for the lattice. Integers wrap at their dtype; Div truncates.
/// errors  InputError without a place: shapes that do not fit, indices out of range
std::optional<std::vector<Known>> evaluate(const NodeDef& node, std::span<const Known* const> operands);
bool in_lattice(std::string_view op);

}  // namespace frit::onnx
