#include "ir/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/graph_text.h"
#include "support/error.h"

namespace frit {
namespace {

// Checks of one node against its operands. Each failure is a mistake of the code that built the node: what users write
// is checked before a graph is built.
void check_read(const Expr& e, const std::vector<TensorType>& inputs) {
  FRIT_CHECK(static_cast<size_t>(e.slot()) < inputs.size(), "read of a missing input: " + to_string(e));
  const TensorType& type = inputs[static_cast<size_t>(e.slot())];
  FRIT_CHECK(e.positions().size() == type.shape.size(), fmt::format("{} reads {}", to_string(e), to_string(type)));
  FRIT_CHECK(e.dtype() == type.dtype || e.dtype() == compute_dtype(type.dtype),
             fmt::format("{} as {} reads {}", to_string(e), name(e.dtype()), to_string(type)));
  for (const Expr& p : e.positions()) FRIT_CHECK(p.dtype() == DType::I64, "a position is an i64: " + to_string(e));
}

class ComputeChecker {
 public:
  ComputeChecker(const Compute& compute, const std::vector<TensorType>& inputs) : compute_(compute), inputs_(inputs) {}

  std::vector<TensorType> run() {
    const int count = static_cast<int>(compute_.axes.size());
    FRIT_CHECK(compute_.free >= 0 && compute_.free <= count, fmt::format("{} free of {} axes", compute_.free, count));
    FRIT_CHECK(!compute_.results.empty(), "a compute without results");
    for (const Axis& axis : compute_.axes)
      FRIT_CHECK(axis.extent && axis.extent.dtype() == DType::I64, "extent of axis " + axis.name);
    check_reduction();
    std::vector<TensorType> types;
    for (const Compute::Result& result : compute_.results) {
      const int kept = compute_.keeps(result) ? 1 : 0;
      FRIT_CHECK(kept == 0 || (has_reduction() && compute_.reduced() == 1), "a scan has one reduced axis");
      check_expr(result.value, compute_.free + kept, has_reduction(), false);
      types.push_back({result.value.dtype(), shape_of(result)});
    }
    return types;
  }

 private:
  bool has_reduction() const { return compute_.reduction.op != ReduceOp::None; }

  void check_reduction() {
    const Reduction& r = compute_.reduction;
    if (!has_reduction()) {
      FRIT_CHECK(compute_.reduced() == 0 && r.init.empty() && r.step.empty() && r.merge.empty(),
                 "reduced axes without a reduction");
      return;
    }
    FRIT_CHECK(!r.init.empty() && r.step.size() == r.init.size(), "each accumulator has an init and a step");
    FRIT_CHECK(r.merge.empty() || r.merge.size() == r.init.size(), "each accumulator has a merge, or none has");
    for (size_t k = 0; k < r.init.size(); ++k) {
      check_expr(r.init[k], compute_.free, false, false);
      check_expr(r.step[k], static_cast<int>(compute_.axes.size()), true, false);
      FRIT_CHECK(r.step[k].dtype() == r.init[k].dtype(), fmt::format("step {} has another dtype than init", k));
      if (r.merge.empty()) continue;
      check_expr(r.merge[k], compute_.free, true, true);
      FRIT_CHECK(r.merge[k].dtype() == r.init[k].dtype(), fmt::format("merge {} has another dtype than init", k));
    }
  }

  void check_expr(const Expr& root, int axes, bool accumulators, bool right) {
    FRIT_CHECK(root, "an empty expression in a compute");
    for_each_node(root, [&](const Expr& e) {
      if (e.op() == Op::Index)
        FRIT_CHECK(e.bits() < static_cast<uint64_t>(axes), "axis out of range here: " + to_string(root));
      if (e.op() == Op::Acc || e.op() == Op::AccRight) {
        FRIT_CHECK(accumulators && (right || e.op() == Op::Acc), "an accumulator out of place: " + to_string(root));
        FRIT_CHECK(e.bits() < compute_.reduction.init.size() && compute_.reduction.init[e.bits()].dtype() == e.dtype(),
                   "no such accumulator: " + to_string(root));
      }
      if (e.op() == Op::Read) check_read(e, inputs_);
    });
  }

  Shape shape_of(const Compute::Result& result) {
    Shape shape;
    std::vector<bool> seen(compute_.axes.size());
    for (const int axis : result.axes) {
      FRIT_CHECK(axis >= 0 && static_cast<size_t>(axis) < seen.size() && !seen[static_cast<size_t>(axis)],
                 fmt::format("axes [{}] of a result with {} free axes", fmt::join(result.axes, ", "), compute_.free));
      seen[static_cast<size_t>(axis)] = true;
      shape.push_back(compute_.axes[static_cast<size_t>(axis)].extent);
    }
    for_each_node(result.value, [&](const Expr& e) {
      if (e.op() == Op::Index)
        FRIT_CHECK(seen[e.bits()], "a result mentions an axis it has not: " + to_string(result.value));
    });
    return shape;
  }

  const Compute& compute_;
  const std::vector<TensorType>& inputs_;
};

std::vector<TensorType> infer_view(const View& view, const std::vector<TensorType>& inputs) {
  FRIT_CHECK(inputs.size() == 1, "a view has one input");
  FRIT_CHECK(view.positions.size() == inputs[0].shape.size(),
             fmt::format("{} positions into {}", view.positions.size(), to_string(inputs[0])));
  Shape shape;
  for (const Axis& axis : view.axes) {
    FRIT_CHECK(axis.extent && axis.extent.dtype() == DType::I64, "extent of axis " + axis.name);
    shape.push_back(axis.extent);
  }
  for (const Expr& p : view.positions) {
    FRIT_CHECK(p && p.dtype() == DType::I64, "a position is an i64");
    for_each_node(p, [&](const Expr& e) {
      FRIT_CHECK(e.op() != Op::Read && e.op() != Op::Acc && e.op() != Op::AccRight,
                 "a view maps indices: " + to_string(p));
      if (e.op() == Op::Index) FRIT_CHECK(e.bits() < view.axes.size(), "axis out of range here: " + to_string(p));
    });
  }
  return {{inputs[0].dtype, std::move(shape)}};
}

std::vector<TensorType> infer_assemble(const Assemble& assemble, const std::vector<TensorType>& inputs) {
  FRIT_CHECK(!inputs.empty() && inputs.size() == assemble.parts.size(), "an assemble has one input per part");
  for (size_t p = 0; p < inputs.size(); ++p) {
    const Assemble::Part& part = assemble.parts[p];
    FRIT_CHECK(inputs[p].dtype == inputs[0].dtype, "parts of several dtypes");
    FRIT_CHECK(inputs[p].shape.size() == assemble.shape.size() && part.offset.size() == assemble.shape.size() &&
                   part.step.size() == assemble.shape.size(),
               fmt::format("part {} is {} of {}", p, to_string(inputs[p]), to_string(assemble.shape)));
  }
  return {{inputs[0].dtype, assemble.shape}};
}

std::vector<TensorType> infer_scatter(const Scatter& scatter, const std::vector<TensorType>& inputs) {
  FRIT_CHECK(!inputs.empty(), "a scatter has a base");
  FRIT_CHECK(scatter.positions.size() == inputs[0].shape.size(),
             fmt::format("{} positions into {}", scatter.positions.size(), to_string(inputs[0])));
  for (const Axis& axis : scatter.axes)
    FRIT_CHECK(axis.extent && axis.extent.dtype() == DType::I64, "extent of axis " + axis.name);
  const auto check = [&](const Expr& root, DType dtype) {
    FRIT_CHECK(root && root.dtype() == dtype, fmt::format("a scatter takes a {} here", name(dtype)));
    for_each_node(root, [&](const Expr& e) {
      FRIT_CHECK(e.op() != Op::Acc && e.op() != Op::AccRight, "an accumulator out of place: " + to_string(root));
      if (e.op() == Op::Index) FRIT_CHECK(e.bits() < scatter.axes.size(), "axis out of range: " + to_string(root));
      if (e.op() == Op::Read) check_read(e, inputs);
    });
  };
  for (const Expr& p : scatter.positions) check(p, DType::I64);
  check(scatter.value, compute_dtype(inputs[0].dtype));
  FRIT_CHECK(inputs[0].dtype != DType::Bool || scatter.op == ScatterOp::Set, "bools are only set");
  return {inputs[0]};
}

std::vector<TensorType> infer_sort(const Sort& sort, const std::vector<TensorType>& inputs) {
  FRIT_CHECK(inputs.size() == 1, "a sort has one input");
  FRIT_CHECK(sort.axis >= 0 && static_cast<size_t>(sort.axis) < inputs[0].shape.size(), "axis of a sort");
  return {inputs[0], {DType::I64, inputs[0].shape}};
}

std::vector<TensorType> infer_custom_gradient(const CustomGradient& custom, const std::vector<TensorType>& inputs) {
  const auto operands = static_cast<size_t>(custom.operands);
  FRIT_CHECK(custom.operands >= 0 && operands < inputs.size(), "a custom gradient has values");
  FRIT_CHECK(custom.clause, "a custom gradient has a clause");
  const Graph& clause = *custom.clause;
  std::vector<TensorType> results(inputs.begin() + custom.operands, inputs.end());
  std::vector<TensorType> expected = inputs;
  expected.insert(expected.end(), results.begin(), results.end());
  const std::vector<int> ids = clause.input_nodes();
  FRIT_CHECK(ids.size() == expected.size(), "a clause takes operands, values and adjoints");
  for (size_t k = 0; k < ids.size(); ++k)
    FRIT_CHECK(clause.node(ids[k]).results[0] == expected[k], fmt::format("input {} of a clause", k));
  FRIT_CHECK(clause.outputs().size() == custom.overridden.size(), "a clause gives one adjoint for each operand named");
  for (size_t k = 0; k < custom.overridden.size(); ++k) {
    const int operand = custom.overridden[k];
    FRIT_CHECK(operand >= 0 && operand < custom.operands, "operand of a clause");
    FRIT_CHECK(clause.type(clause.outputs()[k].value) == inputs[static_cast<size_t>(operand)],
               fmt::format("adjoint {} of a clause has another type than its operand", k));
  }
  return results;
}

Expr lowest(DType dtype) { return constant(dtype, -std::numeric_limits<double>::infinity()); }
Expr highest(DType dtype) { return constant(dtype, std::numeric_limits<double>::infinity()); }

Expr test(Op op, const Expr& a) { return is_float(a.dtype()) ? unary(op, a) : constant_int(DType::Bool, 0); }
Expr both(const Expr& a, const Expr& b) { return a.is_constant(1) ? b : b.is_constant(1) ? a : binary(Op::And, a, b); }
Expr either(const Expr& a, const Expr& b) { return a.is_constant(0) ? b : b.is_constant(0) ? a : binary(Op::Or, a, b); }
Expr negation(const Expr& a) {
  return a.is_constant() ? constant_int(DType::Bool, a.is_constant(0)) : unary(Op::Not, a);
}

// Whether value `b` takes the place of the earlier `a`: strictly better, or the first NaN.
Expr beats(bool largest, const Expr& b, const Expr& a) {
  const Expr better = largest ? binary(Op::Lt, a, b) : binary(Op::Lt, b, a);
  return both(negation(test(Op::IsNan, a)), either(test(Op::IsNan, b), better));
}

bool is_obviously_non_negative(const Expr& e) {
  bool yes = true;
  for_each_node(e, [&](const Expr& n) {
    yes = yes && n.dtype() == DType::I64;
    if (!yes) return;
    const bool leaf = n.op() == Op::Index || n.op() == Op::Symbol || (n.is_constant() && n.int_value() >= 0);
    yes = yes && (leaf || n.op() == Op::Add || n.op() == Op::Mul);
  });
  return yes;
}

// "Nothing seen yet" is the payload -1 where payloads cannot be negative, else a third accumulator.
Reduction make_arg_reduction(ReduceOp op, const Expr& e, const Expr& position) {
  FRIT_CHECK(position, "an arg reduction has a payload");
  const bool largest = op == ReduceOp::ArgMax;
  const bool flagged = !is_obviously_non_negative(position);
  const Expr value = accumulator(e.dtype(), 0);
  const Expr payload = accumulator(position.dtype(), 1);
  const Expr flag = accumulator(DType::Bool, 2);
  const Expr right_value = accumulator(e.dtype(), 0, true);
  const Expr right_payload = accumulator(position.dtype(), 1, true);
  const Expr right_flag = accumulator(DType::Bool, 2, true);
  const auto is_empty = [&](const Expr& p, const Expr& f) {
    return flagged ? unary(Op::Not, f) : binary(Op::Lt, p, constant_int(p.dtype(), 0));
  };
  const Expr take = either(is_empty(payload, flag), beats(largest, e, value));
  const Expr take_right = both(negation(is_empty(right_payload, right_flag)),
                               either(is_empty(payload, flag), beats(largest, right_value, value)));
  Reduction r{op, {}, {}, {}};
  r.init = {largest ? lowest(e.dtype()) : highest(e.dtype()),
            is_float(position.dtype()) ? constant(position.dtype(), -1) : constant_int(position.dtype(), -1)};
  r.step = {select(take, e, value), select(take, position, payload)};
  r.merge = {select(take_right, right_value, value), select(take_right, right_payload, payload)};
  if (flagged) {
    r.init.push_back(constant_int(DType::Bool, 0));
    r.step.push_back(true_value());
    r.merge.push_back(binary(Op::Or, flag, right_flag));
  }
  return r;
}

}  // namespace

Shape make_shape(std::span<const int64_t> extents) {
  Shape shape;
  shape.reserve(extents.size());
  for (const int64_t extent : extents) shape.push_back(index_constant(extent));
  return shape;
}

int64_t static_extent(const Expr& extent) {
  if (extent.is_constant()) return extent.int_value();
  throw UnsupportedError(Finding{.where = {},
                                 .what = "an extent is not known before launch",
                                 .excerpt = {},
                                 .got = to_string(extent),
                                 .expected = "a number",
                                 .fix = "bind the symbols of the shape",
                                 .from = {}});
}

std::vector<int64_t> static_shape(const Shape& shape) {
  std::vector<int64_t> extents;
  extents.reserve(shape.size());
  for (const Expr& extent : shape) extents.push_back(static_extent(extent));
  return extents;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  ExprNames names;
  names.with_lets = false;
  std::vector<std::string> lets;
  for (const std::string& extent : print_exprs(shape, names, lets)) text += (text.size() > 1 ? ", " : "") + extent;
  return text + "]";
}

std::string to_string(const TensorType& type) { return std::string(name(type.dtype)) + to_string(type.shape); }

std::string_view name(ReduceOp op) {
  switch (op) {
    case ReduceOp::None:
      return "none";
    case ReduceOp::Sum:
      return "sum";
    case ReduceOp::Prod:
      return "prod";
    case ReduceOp::Max:
      return "max";
    case ReduceOp::Min:
      return "min";
    case ReduceOp::Any:
      return "any";
    case ReduceOp::All:
      return "all";
    case ReduceOp::ArgMax:
      return "argmax";
    case ReduceOp::ArgMin:
      return "argmin";
    case ReduceOp::Fold:
      return "fold";
  }
  FRIT_UNREACHABLE();
}

std::string_view name(ScatterOp op) {
  switch (op) {
    case ScatterOp::Set:
      return "set";
    case ScatterOp::Add:
      return "add";
    case ScatterOp::Mul:
      return "mul";
    case ScatterOp::Max:
      return "max";
    case ScatterOp::Min:
      return "min";
  }
  FRIT_UNREACHABLE();
}

bool Compute::keeps(const Result& result) const {
  return std::any_of(result.axes.begin(), result.axes.end(), [&](int axis) { return axis >= free; });
}

bool Compute::is_scan() const {
  return std::any_of(results.begin(), results.end(), [&](const Result& result) { return keeps(result); });
}

std::vector<int> Graph::input_nodes() const {
  std::vector<int> ids;
  for (size_t id = 0; id < nodes_.size(); ++id)
    if (std::holds_alternative<Input>(nodes_[id].payload)) ids.push_back(static_cast<int>(id));
  return ids;
}

Value Graph::add(Node node) {
  std::vector<TensorType> types;
  types.reserve(node.inputs.size());
  for (const Value v : node.inputs) {
    FRIT_CHECK(v.node >= 0 && static_cast<size_t>(v.node) < nodes_.size(), "an operand comes before its user");
    FRIT_CHECK(v.result >= 0 && static_cast<size_t>(v.result) < this->node(v).results.size(), "no such result");
    types.push_back(type(v));
  }
  if (std::holds_alternative<Input>(node.payload)) {
    FRIT_CHECK(node.results.size() == 1 && node.inputs.empty(), "an input states its type");
  } else {
    node.results = infer(node.payload, types);
  }
  nodes_.push_back(std::move(node));
  return {static_cast<int>(nodes_.size()) - 1, 0};
}

Value Graph::add_input(std::string name, TensorType type) {
  return add(Node{name, {}, {std::move(type)}, Input{name}});
}
Value Graph::add_constant(Array array, std::string label) {
  return add(Node{std::move(label), {}, {}, Constant{std::move(array)}});
}
Value Graph::add_compute(Compute compute, std::vector<Value> inputs, std::string label) {
  return add(Node{std::move(label), std::move(inputs), {}, std::move(compute)});
}
Value Graph::add_view(View view, Value input, std::string label) {
  return add(Node{std::move(label), {input}, {}, std::move(view)});
}
Value Graph::add_assemble(Assemble assemble, std::vector<Value> parts, std::string label) {
  return add(Node{std::move(label), std::move(parts), {}, std::move(assemble)});
}

std::vector<TensorType> infer(const Payload& payload, const std::vector<TensorType>& inputs) {
  if (const auto* c = std::get_if<Constant>(&payload)) {
    FRIT_CHECK(inputs.empty(), "a constant has no inputs");
    return {{c->array.dtype(), make_shape(c->array.shape())}};
  }
  if (const auto* c = std::get_if<Compute>(&payload)) return ComputeChecker(*c, inputs).run();
  if (const auto* v = std::get_if<View>(&payload)) return infer_view(*v, inputs);
  if (const auto* a = std::get_if<Assemble>(&payload)) return infer_assemble(*a, inputs);
  if (const auto* s = std::get_if<Scatter>(&payload)) return infer_scatter(*s, inputs);
  if (const auto* s = std::get_if<Sort>(&payload)) return infer_sort(*s, inputs);
  if (const auto* c = std::get_if<CustomGradient>(&payload)) return infer_custom_gradient(*c, inputs);
  fail_internal("infer", "an input states its own type", __FILE__, __LINE__);
}

Reduction make_reduction(ReduceOp op, const Expr& e, const Expr& position) {
  const Expr acc = accumulator(e.dtype(), 0);
  const Expr right = accumulator(e.dtype(), 0, true);
  const auto number = [&](int value) {
    return is_float(e.dtype()) ? constant(e.dtype(), value) : constant_int(e.dtype(), value);
  };
  const auto built_in = [&](const Expr& init, Op combine) {
    // As it is, also where e is the identity: readers of the step find e in it.
    const Expr step = Expr::make(combine, e.dtype(), std::vector<Expr>{acc, e});
    return Reduction{op, {init}, {step}, {binary(combine, acc, right)}};
  };
  switch (op) {
    case ReduceOp::Sum:
      return built_in(number(0), Op::Add);
    case ReduceOp::Prod:
      return built_in(number(1), Op::Mul);
    case ReduceOp::Max:
      return built_in(lowest(e.dtype()), Op::Max);
    case ReduceOp::Min:
      return built_in(highest(e.dtype()), Op::Min);
    case ReduceOp::Any:
      return built_in(constant_int(DType::Bool, 0), Op::Or);
    case ReduceOp::All:
      return built_in(constant_int(DType::Bool, 1), Op::And);
    case ReduceOp::ArgMax:
    case ReduceOp::ArgMin:
      return make_arg_reduction(op, e, position);
    case ReduceOp::None:
    case ReduceOp::Fold:
      break;
  }
  fail_internal("make_reduction", "not a built-in reducer: " + std::string(name(op)), __FILE__, __LINE__);
}

}  // namespace frit
