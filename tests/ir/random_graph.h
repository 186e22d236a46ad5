#pragma once
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace frit::testing {

/// Random small graphs of float and integer computes, reductions, views and assembles, with every read inside or
/// guarded.
class RandomGraph {
 public:
  /// with_steps: also casts of computed floats to integers, where an error in the last bit shows as a whole step.
  explicit RandomGraph(uint64_t seed, bool with_steps = true) : random_(seed), with_steps_(with_steps) {}

  Graph make(int nodes) {
    for (int k = 0; k < 2; ++k) {
      const std::vector<int64_t> shape = random_shape();
      const DType dtype = k == 0 ? DType::F32 : pick({DType::F32, DType::I32, DType::I64, DType::F16, DType::BF16});
      values_.push_back(graph_.add_input("in" + std::to_string(k), {dtype, make_shape(shape)}));
    }
    for (int k = 0; k < nodes; ++k) add_node();
    const int outputs = static_cast<int>(number(1, 3));
    for (int k = 0; k < outputs; ++k) graph_.add_output("out" + std::to_string(k), k == 0 ? values_.back() : any());
    return graph_;
  }

  std::map<std::string, Array> inputs() {
    std::map<std::string, Array> all;
    for (const int id : graph_.input_nodes()) {
      const TensorType& type = graph_.node(id).results[0];
      Array a(type.dtype, static_shape(type.shape));
      for (int64_t i = 0; i < a.size(); ++i) {
        if (is_float(type.dtype))
          a.set_float(i, special(static_cast<double>(number(-40, 40)) / 8));
        else
          a.set_int(i, number(-20, 20));
      }
      all.emplace(std::get<Input>(graph_.node(id).payload).name, std::move(a));
    }
    return all;
  }

 private:
  int64_t number(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  template <class T>
  T pick(std::initializer_list<T> all) {
    return *(all.begin() + number(0, static_cast<int64_t>(all.size()) - 1));
  }
  double special(double v) {
    const int64_t kind = number(0, 60);
    return kind == 0 ? NAN : kind == 1 ? INFINITY : kind == 2 ? -INFINITY : kind == 3 ? -0.0 : v;
  }
  std::vector<int64_t> random_shape() {
    std::vector<int64_t> shape;
    for (int64_t d = number(0, 3); d > 0; --d) shape.push_back(number(0, 30) == 0 ? 0 : number(1, 5));
    return shape;
  }
  Value any() { return values_[static_cast<size_t>(number(0, static_cast<int64_t>(values_.size()) - 1))]; }
  std::vector<int64_t> shape_of(Value v) { return static_shape(graph_.type(v).shape); }

  void add_node() {
    switch (number(0, 9)) {
      case 0:
        return add_constant();
      case 1:
      case 2:
        return add_view();
      case 3:
        return add_assemble();
      case 4:
      case 5:
        return add_reduction();
      default:
        return add_elementwise();
    }
  }

  void add_constant() {
    Array a(pick({DType::F32, DType::I32, DType::Bool}), random_shape());
    for (int64_t i = 0; i < a.size(); ++i)
      a.set_float(
          i, is_float(a.dtype()) ? special(static_cast<double>(number(-9, 9)) / 4) : static_cast<double>(number(0, 7)));
    values_.push_back(graph_.add_constant(std::move(a), "constant"));
  }

  // A position into an axis of `extent`, over `axes`; unguarded ones stay inside.
  Expr position(const std::vector<Axis>& axes, int64_t extent, bool guarded) {
    std::vector<Expr> fitting;
    for (size_t k = 0; k < axes.size(); ++k) {
      const int64_t e = axes[k].extent.int_value();
      const Expr i = index(static_cast<int>(k));
      if (guarded) {
        fitting.push_back(i * index_constant(number(1, 2)) + index_constant(number(-2, 2)));
        continue;
      }
      if (e <= extent) fitting.push_back(i), fitting.push_back(index_constant(extent - 1) - i);
      if (e < extent) fitting.push_back(i + index_constant(extent - e));
      if (e > 0 && 2 * e - 1 <= extent) fitting.push_back(i * index_constant(2));
      if (extent > 0) fitting.push_back(binary(Op::Mod, i, index_constant(extent)));
      if (extent > 0 && (e + 1) / 2 <= extent) fitting.push_back(binary(Op::FloorDiv, i, index_constant(2)));
    }
    if (extent > 0) fitting.push_back(index_constant(number(0, extent - 1)));
    if (fitting.empty()) return {};
    return fitting[static_cast<size_t>(number(0, static_cast<int64_t>(fitting.size()) - 1))];
  }

  // A read of `v` as f32 over `axes`; empty if none fits.
  Expr read_of(Value v, int slot, const std::vector<Axis>& axes) {
    const TensorType& type = graph_.type(v);
    const DType dtype = compute_dtype(type.dtype);
    const bool guarded = number(0, 3) == 0 || element_count(shape_of(v)) == 0;
    std::vector<Expr> positions;
    for (const int64_t extent : shape_of(v)) {
      const Expr p = position(axes, extent, guarded);
      if (!p) return {};
      positions.push_back(p);
    }
    Expr e;
    if (!guarded) {
      e = read(dtype, slot, positions);
    } else {
      const Expr condition =
          axes.empty() || number(0, 1) ? true_value() : binary(Op::Lt, index(0), index_constant(number(0, 4)));
      e = guarded_read(dtype, slot, positions, condition,
                       is_float(dtype) ? constant(dtype, 0.5) : constant_int(dtype, 1));
    }
    return cast(e, DType::F32);
  }

  std::vector<Axis> random_axes(size_t at_least = 0) {
    std::vector<Axis> axes;
    std::vector<int64_t> shape = random_shape();
    while (shape.size() < at_least) shape.push_back(number(1, 4));
    for (size_t k = 0; k < shape.size(); ++k)
      axes.push_back({std::string(1, static_cast<char>('p' + k)), index_constant(shape[k])});
    return axes;
  }

  Expr body(const std::vector<Axis>& axes, std::vector<Value>& inputs) {
    Expr e;
    for (int64_t reads = number(1, 3); reads > 0; --reads) {
      const Value v = any();
      const Expr x = read_of(v, static_cast<int>(inputs.size()), axes);
      if (!x) continue;
      inputs.push_back(v);
      e = e ? combine(e, x) : x;
    }
    if (!e) e = constant(DType::F32, 2);
    if (!axes.empty() && number(0, 4) == 0) e = e * cast(index(0), DType::F32);
    return e;
  }

  Expr combine(const Expr& a, const Expr& b) {
    switch (number(0, 8)) {
      case 0:
        return a + b;
      case 1:
        return a - b;
      case 2:
        return a * b;
      case 3:
        return binary(Op::Max, a, b);
      case 4:
        return select(binary(Op::Lt, a, b), a, b);
      case 5:
        return unary(Op::Neg, unary(Op::Neg, a)) * constant(DType::F32, 1) + b;
      case 6:
        return unary(Op::Tanh, a) + a * b;
      case 7:
        return select(binary(Op::Lt, index_constant(1), index_constant(number(0, 2))), a, b);
      default:
        return fma(a, b, a);
    }
  }

  void add_elementwise() {
    Compute c;
    c.axes = random_axes();
    c.free = static_cast<int>(c.axes.size());
    std::vector<Value> inputs;
    const Expr e = body(c.axes, inputs);
    const DType to = with_steps_ ? pick({DType::F32, DType::F32, DType::F32, DType::F16, DType::I32})
                                 : pick({DType::F32, DType::F32, DType::F32, DType::F16, DType::BF16});
    std::vector<int> order;
    for (int a = 0; a < c.free; ++a) order.push_back(a);
    std::shuffle(order.begin(), order.end(), random_);
    c.results = {{cast(e, to), order}};
    if (number(0, 4) == 0) c.results.push_back({unary(Op::Abs, e), order});
    const int results = static_cast<int>(c.results.size());
    const Value v = graph_.add_compute(std::move(c), inputs, "elementwise");
    for (int r = 0; r < results; ++r) values_.push_back({v.node, r});
  }

  void add_reduction() {
    Compute c;
    c.axes = random_axes(1);
    c.free = static_cast<int>(number(0, static_cast<int64_t>(c.axes.size()) - 1));
    std::vector<Value> inputs;
    const Expr e = body(c.axes, inputs);
    const ReduceOp op =
        pick({ReduceOp::Sum, ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min, ReduceOp::Prod, ReduceOp::ArgMax});
    const bool arg = op == ReduceOp::ArgMax;
    c.reduction = make_reduction(op, e, arg ? index(static_cast<int>(c.axes.size()) - 1) : Expr());
    std::vector<int> order;
    for (int a = 0; a < c.free; ++a) order.push_back(a);
    const Expr acc = arg ? accumulator(DType::I64, 1) : accumulator(DType::F32, 0);
    c.results = {{number(0, 1) && !arg ? acc + constant(DType::F32, 1) : acc, order}};
    values_.push_back(graph_.add_compute(std::move(c), inputs, "reduction"));
  }

  void add_view() {
    const Value v = any();
    const std::vector<int64_t> shape = shape_of(v);
    View view;
    if (number(0, 1) == 0 || element_count(shape) == 0) {  // a permutation
      std::vector<int> order;
      for (size_t k = 0; k < shape.size(); ++k) order.push_back(static_cast<int>(k));
      std::shuffle(order.begin(), order.end(), random_);
      view.positions.resize(shape.size());
      for (size_t k = 0; k < order.size(); ++k) {
        view.axes.push_back({"a" + std::to_string(k), index_constant(shape[static_cast<size_t>(order[k])])});
        view.positions[static_cast<size_t>(order[k])] = index(static_cast<int>(k));
      }
    } else if (number(0, 1) == 0) {  // a reshape to two axes
      const int64_t size = element_count(shape);
      int64_t inner = number(1, size);
      while (size % inner != 0) --inner;
      view.axes = {{"a", index_constant(size / inner)}, {"b", index_constant(inner)}};
      const Expr flat = index(0) * index_constant(inner) + index(1);
      int64_t below = size;
      for (const int64_t extent : shape) {
        below /= extent;
        view.positions.push_back(
            binary(Op::Mod, binary(Op::FloorDiv, flat, index_constant(below)), index_constant(extent)));
      }
    } else {  // slices, broadcasts
      view.axes = random_axes();
      for (const int64_t extent : shape) view.positions.push_back(position(view.axes, extent, false));
    }
    values_.push_back(graph_.add_view(std::move(view), v, "view"));
  }

  void add_assemble() {
    const Value v = any();
    std::vector<int64_t> shape = shape_of(v);
    if (shape.empty()) return;
    const auto d = static_cast<size_t>(number(0, static_cast<int64_t>(shape.size()) - 1));
    const int64_t parts = number(1, 3);
    const bool interleaved = number(0, 1) == 0;
    Assemble a;
    for (int64_t p = 0; p < parts; ++p) {
      Assemble::Part part{std::vector<int64_t>(shape.size(), 0), std::vector<int64_t>(shape.size(), 1)};
      part.offset[d] = interleaved ? p : p * shape[d];
      part.step[d] = interleaved ? parts : 1;
      a.parts.push_back(std::move(part));
    }
    shape[d] *= parts;
    a.shape = make_shape(shape);
    values_.push_back(graph_.add_assemble(std::move(a), std::vector<Value>(static_cast<size_t>(parts), v), "assemble"));
  }

  std::mt19937_64 random_;
  bool with_steps_;
  Graph graph_;
  std::vector<Value> values_;
};

}  // namespace frit::testing
