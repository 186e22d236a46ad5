// From a finished statement to nodes: provisional reads become reads of inputs, with guards and masks.
#include <fmt/format.h>

#include <algorithm>

#include "ir/lang/elaborate.h"

namespace frit::lang {
namespace {

Expr zero_of(DType dtype) { return is_float(dtype) ? constant(dtype, 0) : constant_int(dtype, 0); }

Expr both(const Expr& a, const Expr& b) {
  if (a.is_constant(1)) return b;
  if (b.is_constant(1)) return a;
  return binary(Op::And, a, b);
}

}  // namespace

/// Rewrites the expressions of one Compute: indices of the statement to its axes, records to its inputs.
class Builder {
 public:
  Builder(Elaborator& owner, std::vector<int> axes) : owner_(owner), axes_(std::move(axes)) {
    for (size_t i = 0; i < axes_.size(); ++i) axis_of_[axes_[i]] = static_cast<int>(i);
  }
  /// For a whole-tensor formula of this shape.
  Builder(Elaborator& owner, std::vector<int64_t> shape) : owner_(owner), shape_(std::move(shape)) {}

  /// `masked`: indices with bounds that are not static, inside whose range alone the reads below need be valid.
  Expr build(const Expr& e, const std::vector<int>& masked = {}) {
    return rewrite(e, [&](const Expr& x) -> Expr {
      if (x.op() == Op::Index) return axis(static_cast<int>(x.bits()));
      if (x.op() == Op::Symbol) {
        const Expr known = with_known_extents(x, owner_.vars_);
        return known == x ? Expr() : known;
      }
      if (x.op() == Op::Read) return read(x, masked);
      if (is_binary(x.op()) && x.dtype() == DType::I64 && is_integer(x.arg(0).dtype()))
        return binary(x.op(), x.arg(0), x.arg(1));
      if (x.op() == Op::Select && x.arg(0).is_constant()) return x.arg(0).int_value() ? x.arg(1) : x.arg(2);
      return {};
    });
  }

  Expr mask(int var) {
    const IndexVar& info = owner_.vars_[static_cast<size_t>(var)];
    return binary(Op::Lt, axis(var), build(info.bound));
  }

  /// A result keeps f16 and bf16 in storage where the value is exact in them: a cast, or an element that is only moved.
  /// `rounds`: it is rounded to them in any case.
  Expr result(const Expr& e, DType nominal, bool rounds) {
    Expr built = build(e);
    if (!is_half(nominal) || built.dtype() == nominal) return built;
    if (built.op() == Op::Cast && built.arg(0).dtype() == nominal) return built.arg(0);
    const bool moved = built.op() == Op::Read && !built.is_guarded() &&
                       owner_.graph_.type(inputs_[static_cast<size_t>(built.slot())]).dtype == nominal;
    return moved || rounds ? cast(built, nominal) : built;
  }

  std::vector<Value>& inputs() { return inputs_; }
  std::vector<Axis> axes() const {
    std::vector<Axis> axes;
    for (const int var : axes_) {
      const IndexVar& info = owner_.vars_[static_cast<size_t>(var)];
      axes.push_back({info.name, index_constant(info.extent)});
    }
    return axes;
  }

 private:
  Expr axis(int var) const {
    const auto at = axis_of_.find(var);
    if (at != axis_of_.end()) return index(at->second);
    FRIT_CHECK(owner_.vars_[static_cast<size_t>(var)].extent <= 1,
               "an index of no axis: " + owner_.vars_[static_cast<size_t>(var)].name);
    return index_constant(0);
  }

  int slot(Value value) {
    const auto at = std::find(inputs_.begin(), inputs_.end(), value);
    if (at != inputs_.end()) return static_cast<int>(at - inputs_.begin());
    inputs_.push_back(value);
    return static_cast<int>(inputs_.size()) - 1;
  }

  Expr read(const Expr& x, const std::vector<int>& masked) {
    const Record& record = owner_.records_[static_cast<size_t>(x.slot()) / 2];
    if (record.whole) return whole(record);
    if (record.pending >= 0) {
      const Pending& pending = owner_.pendings_[static_cast<size_t>(record.pending)];
      FRIT_CHECK(pending.built, "a reduction is read before it is built");
      std::vector<Expr> positions;
      for (const int var : pending.stored) {
        const auto at = std::find(pending.outer.begin(), pending.outer.end(), var);
        positions.push_back(x.positions()[static_cast<size_t>(at - pending.outer.begin())]);
      }
      return frit::read(x.dtype(), slot({pending.node.node, record.result}), positions);
    }
    const bool test = x.slot() % 2 == 1;
    // Where the record stands in a masked range it is valid only inside it.
    Expr condition = true_value();
    for (size_t i = 0; i < record.parts.size(); ++i) {
      const Record::Part& part = record.parts[i];
      const Expr& p = x.positions()[i];
      if (part.proven) continue;
      const Expr last = index_constant(part.extent);
      if (record.guarded && (test || part.factor >= 0))
        condition = both(condition, both(binary(Op::Le, index_constant(0), p), binary(Op::Lt, p, last)));
      for (const auto& [value, divisor] : part.exact)
        condition = both(condition, binary(Op::Eq, binary(Op::Mod, build(value, masked), index_constant(divisor)),
                                           index_constant(0)));
    }
    if (test) return condition;
    bool proven =
        std::all_of(record.parts.begin(), record.parts.end(), [](const Record::Part& part) { return part.proven; });
    for (const int var : masked) {
      if (!mentions(record, var) || rectangular(record)) continue;
      condition = both(condition, mask(var));
      proven = false;
    }
    Tensor& tensor = *record.tensor;
    bool by_factor = tensor.has_split;
    for (const Record::Part& part : record.parts)
      by_factor &= part.factor >= 0 || tensor.axes[static_cast<size_t>(part.axis)].factors.size() == 1;
    const Value value = by_factor ? tensor.split : owner_.merged(tensor);
    const std::vector<Expr> positions = stored_positions(record, tensor, x.positions(), by_factor);
    const DType dtype = compute_dtype(owner_.graph_.type(value).dtype);
    if (proven || (!record.guarded && condition.is_constant(1))) return frit::read(dtype, slot(value), positions);
    return guarded_read(dtype, slot(value), positions, condition, record.guarded ? x.fill() : zero_of(dtype));
  }

  // Positions in the order of storage, factors joined where the axis is stored whole.
  static std::vector<Expr> stored_positions(const Record& record, const Tensor& tensor, std::span<const Expr> positions,
                                            bool by_factor) {
    std::vector<std::vector<Expr>> by_axis(tensor.axes.size());
    for (size_t i = 0; i < record.parts.size(); ++i) {
      const Record::Part& part = record.parts[i];
      const Tensor::Axis& axis = tensor.axes[static_cast<size_t>(part.axis)];
      std::vector<Expr>& out = by_axis[static_cast<size_t>(axis.real)];
      if (by_factor || part.factor <= 0 || out.empty()) {
        out.push_back(positions[i]);
      } else {
        const int64_t radix = axis.factors[static_cast<size_t>(part.factor)];
        out.back() = out.back() * index_constant(radix) + positions[i];
      }
    }
    std::vector<Expr> result;
    for (const auto& axis : by_axis) result.insert(result.end(), axis.begin(), axis.end());
    return result;
  }

  bool mentions(const Record& record, int var) const {
    return std::any_of(record.parts.begin(), record.parts.end(),
                       [&](const Record::Part& part) { return owner_.ranges_.mentions(part.position, var); });
  }

  // Inside for all values of the masked indices, also beyond their bounds.
  bool rectangular(const Record& record) {
    std::vector<IndexVar> plain = owner_.vars_;
    for (IndexVar& info : plain) info.bound = Expr();
    Ranges ranges(plain);
    return std::all_of(record.parts.begin(), record.parts.end(), [&](const Record::Part& part) {
      const Interval range = ranges.range(ranges.linear(part.position));
      return range.lo >= 0 && range.hi < part.extent;
    });
  }

  Expr whole(const Record& record) {
    const Tensor& tensor = *record.tensor;
    const Value value = owner_.merged(*record.tensor);
    std::vector<Expr> positions;
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      const size_t axis = shape_.size() - tensor.shape.size() + i;
      positions.push_back(tensor.shape[i] == 1 && shape_[axis] != 1 ? index_constant(0)
                                                                    : index(static_cast<int>(axis)));
    }
    return frit::read(compute_dtype(owner_.graph_.type(value).dtype), slot(value), positions);
  }

  Elaborator& owner_;
  std::vector<int> axes_;
  std::vector<int64_t> shape_;
  std::map<int, int> axis_of_;
  std::vector<Value> inputs_;
};

void Elaborator::build_pending(Pending& pending, const std::string& label) {
  const std::vector<int>& order = pending.stored;
  std::vector<int> axes = order;
  axes.insert(axes.end(), pending.inner.begin(), pending.inner.end());
  Builder builder(*this, axes);
  std::vector<int> masked;
  for (const int var : axes)
    if (vars_[static_cast<size_t>(var)].bound) masked.push_back(var);
  Expr mask = true_value();
  bool inner_masked = false;
  for (const int var : pending.inner) {
    if (!vars_[static_cast<size_t>(var)].bound) continue;
    mask = both(mask, builder.mask(var));
    inner_masked = true;
  }
  Compute compute;
  compute.axes = builder.axes();
  compute.free = static_cast<int>(order.size());
  Reduction& reduction = compute.reduction;
  if (pending.op == ReduceOp::None) {
    compute.results.push_back({builder.build(pending.body, masked), {}});
  } else if (pending.op == ReduceOp::Fold) {
    reduction.op = ReduceOp::Fold;
    for (const Expr& e : pending.init) reduction.init.push_back(builder.build(e, masked));
    for (const Expr& e : pending.step) reduction.step.push_back(builder.build(e, masked));
    for (const Expr& e : pending.merge) reduction.merge.push_back(builder.build(e, masked));
  } else {
    Expr position;
    if (pending.op == ReduceOp::ArgMax || pending.op == ReduceOp::ArgMin) {
      if (pending.payload) {
        position = builder.build(pending.payload, masked);
      } else {
        position = index_constant(0);
        for (size_t k = 0; k < pending.inner.size(); ++k)
          position = position * index_constant(vars_[static_cast<size_t>(pending.inner[k])].extent) +
                     index(static_cast<int>(order.size() + k));
      }
    }
    // A masked element is the identity, so that the reducer keeps its form. An arg reduction has no such element.
    Expr body = builder.build(pending.body, masked);
    if (inner_masked && !position) body = select(mask, body, make_reduction(pending.op, body).init[0]);
    reduction = make_reduction(pending.op, body, position);
    if (inner_masked && position) reduction.op = ReduceOp::Fold;
  }
  if (inner_masked && reduction.op == ReduceOp::Fold)
    for (size_t k = 0; k < reduction.step.size(); ++k)
      reduction.step[k] = select(mask, reduction.step[k], accumulator(reduction.init[k].dtype(), static_cast<int>(k)));
  std::vector<int> shape;
  for (int i = 0; i < compute.free; ++i) shape.push_back(i);
  if (pending.op == ReduceOp::None) {
    compute.results[0].axes = shape;
  } else if (pending.op == ReduceOp::ArgMax || pending.op == ReduceOp::ArgMin) {
    compute.results.push_back({accumulator(reduction.init[1].dtype(), 1), shape});
  } else {
    for (size_t k = 0; k < reduction.init.size(); ++k)
      compute.results.push_back({accumulator(reduction.init[k].dtype(), static_cast<int>(k)), shape});
  }
  if (pending.mean) {
    // One division by the count; masked elements are left out of it.
    Expr count;
    const DType dtype = reduction.init[0].dtype();
    if (!inner_masked) {
      int64_t n = 1;
      for (const int var : pending.inner) n *= vars_[static_cast<size_t>(var)].extent;
      count = constant(dtype, static_cast<double>(n));
    } else {
      Expr n = index_constant(1);
      for (const int var : pending.inner) {
        const IndexVar& info = vars_[static_cast<size_t>(var)];
        if (!info.bound) {
          n = n * index_constant(info.extent);
          continue;
        }
        for (const int other : pending.inner)
          if (ranges_.mentions(info.bound, other))
            unsupported(pending.site->span, "a mean whose bounds depend on one another");
        n = n * binary(Op::Max, builder.build(info.bound, masked), index_constant(0));
      }
      count = cast(n, dtype);
    }
    compute.results[0].value = binary(Op::Div, compute.results[0].value, count);
  }
  if (pending.rounded && compute.results.size() == 1)
    compute.results[0].value = cast(compute.results[0].value, *pending.rounded);
  else
    pending.rounded.reset();
  pending.node = graph_.add_compute(std::move(compute), builder.inputs(), label);
  if (pending.clause) build_clause(pending, label);
  pending.built = true;
}

bool Elaborator::storage_order(std::vector<LeftAxis>& axes, Span span, std::vector<int>* order) {
  bool split = false;
  for (LeftAxis& axis : axes) {
    // An axis of no factors, `(k..)` over an empty pack, has extent 1.
    if (axis.vars.empty()) {
      axis.vars.push_back(add_var("one", span, 1, false));
      active_.clear();
    }
    const auto large = [&](int var) { return vars_[static_cast<size_t>(var)].extent != 1; };
    split |= std::count_if(axis.vars.begin(), axis.vars.end(), large) > 1;
  }
  for (int real = 0; real < static_cast<int>(axes.size()); ++real) {
    for (const LeftAxis& axis : axes) {
      if (axis.real != real) continue;
      if (split) {
        order->insert(order->end(), axis.vars.begin(), axis.vars.end());
        continue;
      }
      int chosen = axis.vars[0];
      for (const int var : axis.vars)
        if (vars_[static_cast<size_t>(var)].extent != 1) chosen = var;
      order->push_back(chosen);
    }
  }
  return split;
}

// The tensor that a formula only repeats, element for element; pads of nothing and the like are no copies.
std::optional<Value> Elaborator::alias_of(const std::vector<LeftAxis>& axes, const std::vector<int>& order,
                                          const Expr& built, const std::vector<Value>& inputs, const Tensor& tensor) {
  const Expr& read = built.op() == Op::Cast ? built.arg(0) : built;
  if (read.op() != Op::Read || read.is_guarded() || read.positions().size() != axes.size()) return std::nullopt;
  const Value source = inputs[static_cast<size_t>(read.slot())];
  const TensorType& type = graph_.type(source);
  if (type.dtype != built.dtype() || type.shape != make_shape(tensor.shape)) return std::nullopt;
  for (const LeftAxis& axis : axes) {
    Expr flat = index_constant(0);
    for (const int var : axis.vars) {
      const auto at = std::find(order.begin(), order.end(), var);
      const Expr position = at == order.end() ? index_constant(0) : index(static_cast<int>(at - order.begin()));
      flat = flat * index_constant(vars_[static_cast<size_t>(var)].extent) + position;
    }
    if (!(read.positions()[static_cast<size_t>(axis.real)] == flat)) return std::nullopt;
  }
  return source;
}

TensorPtr Elaborator::build_target(const Target& target, std::vector<LeftAxis> axes, const Val& value,
                                   const std::string& label) {
  auto tensor = std::make_shared<Tensor>();
  tensor->name = target.name;
  tensor->nominal = value.dtype;
  tensor->shape.resize(axes.size());
  std::vector<int> order;
  const bool split = storage_order(axes, target.span, &order);
  for (const LeftAxis& axis : axes) {
    Tensor::Axis written{{}, axis.real};
    for (const int var : axis.vars) written.factors.push_back(vars_[static_cast<size_t>(var)].extent);
    const int64_t extent = written.extent();
    tensor->shape[static_cast<size_t>(axis.real)] = extent;
    tensor->axes.push_back(std::move(written));
  }
  if (product(tensor->shape) < 0) fail(target.span, "this tensor is too large", type_text(*tensor));
  Value node;
  const Expr& e = value.e;
  const Record* record = e.op() == Op::Read ? &records_[static_cast<size_t>(e.slot()) / 2] : nullptr;
  Pending* pending = record && record->pending >= 0 ? &pendings_[static_cast<size_t>(record->pending)] : nullptr;
  const bool rounds = is_half(value.dtype) && is_only_result(target.name);
  if (pending && !pending->built && pending->stored == order) {
    pending->rounded = rounds ? std::optional(value.dtype) : std::nullopt;
    build_pending(*pending, label);
  }
  if (pending && pending->stored == order && (pending->rounded.has_value() == rounds || !is_half(value.dtype))) {
    node = {pending->node.node, record->result};
  } else {
    Builder builder(*this, order);
    Compute compute;
    compute.axes = builder.axes();
    compute.free = static_cast<int>(order.size());
    std::vector<int> shape;
    for (int i = 0; i < compute.free; ++i) shape.push_back(i);
    compute.results.push_back({builder.result(e, value.dtype, rounds), shape});
    if (const auto alias = alias_of(axes, order, compute.results[0].value, builder.inputs(), *tensor)) {
      tensor->has_value = true;
      tensor->value = *alias;
      return tensor;
    }
    node = graph_.add_compute(std::move(compute), builder.inputs(), label);
  }
  tensor->has_split = split;
  (split ? tensor->split : tensor->value) = node;
  tensor->has_value = !split;
  return tensor;
}

// The tensor with one stored axis for each real axis.
Value Elaborator::merged(Tensor& tensor) {
  if (tensor.has_value) return tensor.value;
  View view;
  std::vector<const Tensor::Axis*> by_real(tensor.axes.size());
  for (const Tensor::Axis& axis : tensor.axes) by_real[static_cast<size_t>(axis.real)] = &axis;
  for (size_t i = 0; i < by_real.size(); ++i) {
    const std::vector<int64_t>& factors = by_real[i]->factors;
    view.axes.push_back({fmt::format("i{}", i), index_constant(by_real[i]->extent())});
    Expr rest = index(static_cast<int>(i));
    std::vector<Expr> positions(factors.size());
    for (size_t k = factors.size(); k-- > 0;) {
      const Expr factor = index_constant(std::max<int64_t>(factors[k], 1));
      positions[k] = k == 0 ? rest : factors[k] == 1 ? index_constant(0) : binary(Op::Mod, rest, factor);
      if (factors[k] != 1) rest = binary(Op::FloorDiv, rest, factor);
    }
    view.positions.insert(view.positions.end(), positions.begin(), positions.end());
  }
  tensor.value = graph_.add_view(std::move(view), tensor.split, label_of(tensor.name));
  tensor.has_value = true;
  return tensor.value;
}

// A whole-tensor formula becomes a tensor.
TensorPtr Elaborator::materialise(const Val& value, const std::string& name, bool rounds) {
  Val v = value;
  if (!v.is_scalar()) {
    const DType dtype = own_dtype(v, self_->def->name_span);
    v = scalar_val(convert(v, dtype, self_->def->name_span), dtype, v.shape);
  }
  Builder builder(*this, v.shape);
  Compute compute;
  std::vector<int> axes;
  for (size_t i = 0; i < v.shape.size(); ++i) {
    compute.axes.push_back({fmt::format("i{}", i), index_constant(v.shape[i])});
    axes.push_back(static_cast<int>(i));
  }
  compute.free = static_cast<int>(axes.size());
  compute.results.push_back({builder.result(v.e, v.dtype, rounds), axes});
  auto tensor = std::make_shared<Tensor>();
  tensor->name = name;
  tensor->nominal = v.dtype;
  tensor->shape = v.shape;
  for (size_t i = 0; i < v.shape.size(); ++i) tensor->axes.push_back({{v.shape[i]}, static_cast<int>(i)});
  tensor->has_value = true;
  tensor->value = graph_.add_compute(std::move(compute), builder.inputs(), label_of(name));
  return tensor;
}

TensorPtr Elaborator::tensor_of(Val& value, const std::string& name) {
  if (!value.is_tensor()) value = tensor_val(materialise(value, name));
  return value.tensor;
}

}  // namespace frit::lang
