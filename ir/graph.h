#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/array.h"
#include "ir/expr.h"

namespace frit {

/// Extents are expressions: constants, or symbols bound at launch. `static_shape` gives numbers or an UnsupportedError.
class Graph;
using Shape = std::vector<Expr>;
Shape make_shape(std::span<const int64_t> extents);
std::vector<int64_t> static_shape(const Shape& shape);
int64_t static_extent(const Expr& extent);
std::string to_string(const Shape& shape);  // "[1, 3, n]"

struct TensorType {
  DType dtype = DType::F32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};
std::string to_string(const TensorType& type);  // "f32[1, 3, n]"

/// Result `result` of node `node` of a graph.
struct Value {
  int node = -1;
  int result = 0;
  bool operator==(const Value&) const = default;
  auto operator<=>(const Value&) const = default;
};

/// An index variable of a Compute or a View. The name is for people; structure and hash use the position.
struct Axis {
  std::string name;
  Expr extent;
};

// ---------------------------------------------------------------------------------------------- node payloads

/// A tensor passed in at each run.
struct Input {
  std::string name;
};

/// A tensor known when the graph is built. Passes may read the values only of small ones (`kSmallConstantBytes`).
struct Constant {
  Array array;
};
constexpr size_t kSmallConstantBytes = 4096;

enum class ReduceOp : uint8_t { None, Sum, Prod, Max, Min, Any, All, ArgMax, ArgMin, Fold };
std::string_view name(ReduceOp op);

/// The combiner of a Compute with reduced axes. States are accumulators Acc(0..): `init` starts them, `step` replaces all
/// at once for each element in row-major order of the reduced axes, `merge` combines a left state (Acc) with a right
/// state (AccRight) and exists only where that is associative with `init` as identity; without it the axes are sequential.
/// The dtype of accumulator k is that of init[k]. Built-in reducers have the same form; `op` lets schedules know them.
///   Sum    init 0, step acc + e              Max  init -inf or lowest, step max(acc, e), NaN wins
///   ArgMax init (-inf or lowest, -1), step keeps the first of equals, the first NaN wins; payload in accumulator 1
struct Reduction {
  ReduceOp op = ReduceOp::None;
  std::vector<Expr> init, step, merge;
};

/// Everything elementwise, by reduction, by window or by convolution. Axes: the first `free` are free, the rest reduced.
/// Without reduced axes, `results[r].value` is over reads of the inputs at the free indices. With reduced axes it is over
/// Acc(k), and may read inputs at free indices only (an epilogue). Input slots number `Node::inputs`.
///
/// A *scan* (prefix reduction): where there is one reduced axis, a result may keep it. Its element at t is the value over
/// the accumulators after step t, and may read inputs at t too. An exclusive prefix is an accumulator that holds the state
/// before; a suffix is a scan of reads that run backwards, seen through a View that turns it round.
struct Compute {
  struct Result {
    Expr value;             // cast to the stored dtype already: value.dtype() is the result's dtype
    std::vector<int> axes;  // the free axes that shape this result, in storage order of the logical tensor
  };
  std::vector<Axis> axes;
  int free = 0;
  Reduction reduction;
  std::vector<Result> results;
  int reduced() const { return static_cast<int>(axes.size()) - free; }
  bool keeps(const Result& result) const;  // whether the result keeps the reduced axis
  bool is_scan() const;                    // whether any result does
};

/// An affine map onto an existing tensor (reshape, transpose, slice, broadcast): out[axes] = input0[positions]. Positions
/// are index expressions over the axes, proven inside. A reshape is written with // and %. It never computes.
struct View {
  std::vector<Axis> axes;
  std::vector<Expr> positions;
};

/// The disjoint union of lattices: input p fills out[offset + step * i] for all i in its shape.
struct Assemble {
  struct Part {
    std::vector<int64_t> offset, step;
  };
  Shape shape;
  std::vector<Part> parts;
};

enum class ScatterOp : uint8_t { Set, Add, Mul, Max, Min };
std::string_view name(ScatterOp op);

/// A tensor changed at computed positions: input 0, the base, with y[positions] op= value for all indices of `axes`, as if
/// in row-major order. Positions outside are skipped; with Set the last write stays, Max and Min let NaN win. `positions`
/// (i64) and `value` may read all inputs, input 0 as it was before. The value is of the base's compute dtype; a base of a
/// storage type is rounded once, at the end. The order is fixed, so sums of floats are the same in every run.
struct Scatter {
  std::vector<Axis> axes;
  ScatterOp op = ScatterOp::Set;
  std::vector<Expr> positions;
  Expr value;
};

/// Input 0 in order along one axis. Results: the values, and the i64 positions that they had. Stable; NaN comes last in
/// either order; -0 equals 0.
struct Sort {
  int axis = 0;
  bool descending = false;
};

/// Values with a gradient of their own. Inputs: `operands` tensors, then the values that were computed from them; results:
/// those values. `clause` is a graph whose inputs are the operands, the values, and one adjoint for each value, in this
/// order; its outputs are the adjoints of the operands in `overridden`. The other operands keep the derived adjoint.
struct CustomGradient {
  int operands = 0;
  std::vector<int> overridden;
  std::shared_ptr<const Graph> clause;
};

using Payload = std::variant<Input, Constant, Compute, View, Assemble, Scatter, Sort, CustomGradient>;

struct Node {
  std::string label;          // for people: where it comes from ("conv1", "softmax.e"); not part of the hash
  std::vector<Value> inputs;
  std::vector<TensorType> results;
  Payload payload;
};

/// What is computed: nodes in an order where operands come before users. Logical tensors only: no strides, layouts, devices.
class Graph {
 public:
  struct Output {
    std::string name;
    Value value;
  };

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(int id) const { return nodes_[static_cast<size_t>(id)]; }
  const Node& node(Value v) const { return node(v.node); }
  const TensorType& type(Value v) const { return node(v).results[static_cast<size_t>(v.result)]; }
  const std::vector<Output>& outputs() const { return outputs_; }
  std::vector<int> input_nodes() const;  // in order of creation

  // Adding infers and checks the result types (dtype, shape, free indices, combiner); errors are ours (InternalError):
  // what users write is checked before.
  Value add_input(std::string name, TensorType type);
  Value add_constant(Array array, std::string label = {});
  /// Result 0; further results are Value{node, r}.
  Value add_compute(Compute compute, std::vector<Value> inputs, std::string label = {});
  Value add_view(View view, Value input, std::string label = {});
  Value add_assemble(Assemble assemble, std::vector<Value> parts, std::string label = {});
  Value add(Node node);  // any payload; results are inferred anew
  void add_output(std::string name, Value value) { outputs_.push_back({std::move(name), value}); }
  void set_outputs(std::vector<Output> outputs) { outputs_ = std::move(outputs); }

 private:
  std::vector<Node> nodes_;
  std::vector<Output> outputs_;
};

/// Result types of a node from its payload and operand types.
std::vector<TensorType> infer(const Payload& payload, const std::vector<TensorType>& inputs);

/// The step, init and merge of a built-in reducer over element `e` (for ArgMax and ArgMin with payload `position`).
Reduction make_reduction(ReduceOp op, const Expr& e, const Expr& position = {});

/// Structural hash of the graph: independent of names, labels and order of creation of unrelated nodes; large constants
/// by dtype and shape only.
uint64_t hash(const Graph& graph);

std::string to_string(const Graph& graph);
Graph parse_graph(std::string_view text);      // reads back what to_string prints (large constants by shape: zero-filled)
std::vector<std::string> verify(const Graph& graph);  // all findings, each with the printed node; INVARIANTS 1-11

}  // namespace frit
