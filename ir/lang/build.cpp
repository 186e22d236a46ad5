// From a finished statement to nodes: provisional reads become reads of inputs, with guards and masks.
#include <fmt/format.h>

#include <algorithm>

#include "ir/analysis.h"
#include "ir/lang/elaborate.h"
#include "ir/lang/scan.h"
#include "ir/reduction.h"

namespace frit::lang {
namespace {

Expr zero_of(DType dtype) { return is_float(dtype) ? constant(dtype, 0) : constant_int(dtype, 0); }

Expr both(const Expr& a, const Expr& b) {
  if (a.is_constant(1)) return b;
  if (b.is_constant(1)) return a;
  return binary(Op::And, a, b);
}

bool is_arg(ReduceOp op) { return op == ReduceOp::ArgMax || op == ReduceOp::ArgMin; }

bool mentions_index(const Expr& root, const Expr& index) {
  bool found = false;
  for_each_node(root, [&](const Expr& e) { found = found || e == index; });
  return found;
}

std::vector<int> first_axes(int count) {
  std::vector<int> axes;
  for (int a = 0; a < count; ++a) axes.push_back(a);
  return axes;
}

// The final states that are results: all, or the payload alone.
std::vector<Compute::Result> states_as_results(const Reduction& reduction, bool payload, const std::vector<int>& axes) {
  std::vector<Compute::Result> results;
  for (size_t k = payload ? 1 : 0; k < (payload ? 2 : reduction.init.size()); ++k)
    results.push_back({accumulator(reduction.init[k].dtype(), static_cast<int>(k)), axes});
  return results;
}

// f16 and bf16, where the only result of a reduction is stored so.
void round_result(Pending& pending, Compute& compute) {
  if (compute.results.size() != 1) pending.rounded.reset();
  if (pending.rounded) compute.results[0].value = cast(compute.results[0].value, *pending.rounded);
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

  /// From here on index `var` is this expression over the axes.
  void replace(int var, const Expr& e) { replaced_[var] = e; }
  /// The steps of a scan along `axis` may take elements that no result needs: reads that `analysis` does not prove
  /// inside are guarded, with `fill` where it has their dtype, and what is built is simplified.
  void guard_along(int axis, IndexAnalysis* analysis, const Expr& fill) {
    scanned_ = index(axis);
    analysis_ = analysis;
    fill_ = fill;
  }

  /// These indices run beyond bounds that reads are proven for, where no result is needed: such reads are guarded.
  void loosen(std::vector<int> vars) { loose_ = std::move(vars); }

  /// `masked`: indices with bounds that are not static, inside whose range alone the reads below need be valid.
  Expr build(const Expr& e, const std::vector<int>& masked = {}) {
    const Expr built = rebuilt(e, masked);
    return analysis_ ? analysis_->simplify(built) : built;
  }

  Expr mask(int var) {
    const IndexVar& info = owner_.vars_[static_cast<size_t>(var)];
    return binary(Op::Lt, axis(var), build(info.bound));
  }
  Expr mask(const std::vector<int>& vars) {
    Expr all = true_value();
    for (const int var : vars) all = both(all, mask(var));
    return all;
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
  int slot(Value value) {
    const auto at = std::find(inputs_.begin(), inputs_.end(), value);
    if (at != inputs_.end()) return static_cast<int>(at - inputs_.begin());
    inputs_.push_back(value);
    return static_cast<int>(inputs_.size()) - 1;
  }

  /// Positions of a write in the order of storage; -1, which is outside, where a division leaves a remainder, a factor
  /// of a tuple is outside by itself, or an index is beyond a bound that is not static.
  std::vector<Expr> written(const Record& record, bool by_factor, const std::vector<int>& masked) {
    Expr condition = true_value();
    std::vector<Expr> positions;
    for (const Record::Part& part : record.parts) {
      positions.push_back(build(part.position, masked));
      if (part.factor > 0 && !by_factor)
        condition = both(condition, both(binary(Op::Le, index_constant(0), positions.back()),
                                         binary(Op::Lt, positions.back(), index_constant(part.extent))));
      for (const auto& [value, divisor] : part.exact)
        condition = both(condition, binary(Op::Eq, binary(Op::Mod, build(value, masked), index_constant(divisor)),
                                           index_constant(0)));
    }
    for (const int var : masked) condition = both(condition, mask(var));
    std::vector<Expr> stored = stored_positions(record, *record.tensor, positions, by_factor);
    if (condition.is_constant(1)) return stored;
    // In a position that is computed anyhow, so that plain ones stay plain.
    const auto plain = [](const Expr& p) { return p.op() == Op::Index; };
    const auto computed = std::find_if_not(stored.begin(), stored.end(), plain);
    Expr& chosen = computed != stored.end() ? *computed : stored.front();
    chosen = select(condition, chosen, index_constant(-1));
    return stored;
  }
  std::vector<Axis> axes() const {
    std::vector<Axis> axes;
    for (const int var : axes_) {
      const IndexVar& info = owner_.vars_[static_cast<size_t>(var)];
      axes.push_back({info.name, index_constant(info.extent)});
    }
    return axes;
  }

 private:
  Expr rebuilt(const Expr& e, const std::vector<int>& masked) {
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

  Expr axis(int var) const {
    if (const auto at = replaced_.find(var); at != replaced_.end()) return at->second;
    const auto at = axis_of_.find(var);
    if (at != axis_of_.end()) return index(at->second);
    FRIT_CHECK(owner_.vars_[static_cast<size_t>(var)].extent <= 1,
               "an index of no axis: " + owner_.vars_[static_cast<size_t>(var)].name);
    return index_constant(0);
  }

  Expr read(const Expr& x, const std::vector<int>& masked) {
    const Record& record = owner_.records_[static_cast<size_t>(x.slot()) / 2];
    if (record.whole) return whole(record);
    if (record.pending >= 0) {
      const Pending& pending = owner_.pendings_[static_cast<size_t>(record.pending)];
      FRIT_CHECK(pending.built, "a reduction is read before it is built");
      std::vector<Expr> positions;
      bool outside = false;
      for (const int var : pending.stored) {
        const auto at = std::find(pending.outer.begin(), pending.outer.end(), var);
        positions.push_back(x.positions()[static_cast<size_t>(at - pending.outer.begin())]);
        outside = outside || may_leave(positions.back(), owner_.vars_[static_cast<size_t>(var)].extent);
      }
      const int from = slot(pending.value(record.result));
      if (outside) return guarded_read(x.dtype(), from, positions, true_value(), outside_fill(x.dtype()));
      return frit::read(x.dtype(), from, positions);
    }
    const bool test = x.slot() % 2 == 1;
    // Where the record stands in a masked range it is valid only inside it.
    Expr condition = true_value();
    const bool is_loose = std::any_of(loose_.begin(), loose_.end(), [&](int var) { return mentions(record, var); }) &&
                          !rectangular(record);
    bool outside = false;
    for (size_t i = 0; i < record.parts.size(); ++i) {
      const Record::Part& part = record.parts[i];
      const Expr& p = x.positions()[i];
      const bool leaves = is_loose || may_leave(p, part.extent);
      outside = outside || leaves;
      if (part.proven && !leaves) continue;
      const Expr last = index_constant(part.extent);
      if ((record.guarded || leaves) && (test || part.factor >= 0))
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
    std::vector<Expr> moved(x.positions().begin(), x.positions().end());
    const DType dtype = compute_dtype(owner_.graph_.type(value).dtype);
    if (proven && !record.guarded) clamp_floats(record, &moved);
    const std::vector<Expr> positions = stored_positions(record, tensor, moved, by_factor);
    const bool is_plain = proven || (!record.guarded && condition.is_constant(1));
    if (is_plain && !outside) return frit::read(dtype, slot(value), positions);
    return guarded_read(dtype, slot(value), positions, condition, record.guarded ? x.fill() : outside_fill(dtype));
  }

  Expr outside_fill(DType dtype) const { return fill_ && fill_.dtype() == dtype ? fill_ : zero_of(dtype); }

  // Whether a step of a scan may take a position outside its axis.
  bool may_leave(const Expr& position, int64_t extent) {
    if (!analysis_ || !mentions_index(position, scanned_)) return false;
    return !analysis_->is_inside(analysis_->simplify(position), index_constant(extent));
  }

  // A position that comes from floats is proven here, where their ranges are known. Later proofs are of integers alone:
  // a clamp that changes nothing tells them.
  static void clamp_floats(const Record& record, std::vector<Expr>* positions) {
    for (size_t i = 0; i < positions->size(); ++i) {
      Expr& p = (*positions)[i];
      bool floats = false;
      for_each_node(p, [&](const Expr& e) { floats |= e.op() == Op::Cast && is_float(e.arg(0).dtype()); });
      if (!floats) continue;
      p = binary(Op::Min, binary(Op::Max, p, index_constant(0)), index_constant(record.parts[i].extent - 1));
    }
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
  std::map<int, Expr> replaced_;
  std::vector<int> loose_;
  Expr scanned_, fill_;
  IndexAnalysis* analysis_ = nullptr;
  std::vector<Value> inputs_;
};

void Elaborator::build_pending(Pending& pending, const std::string& label) {
  if (!build_scan(pending, label)) build_masked(pending, label);
  if (pending.clause) build_clause(pending, label);
  pending.built = true;
}

std::vector<int> Elaborator::bounded(const std::vector<int>& vars) const {
  std::vector<int> found;
  for (const int var : vars)
    if (vars_[static_cast<size_t>(var)].bound) found.push_back(var);
  return found;
}

// The combiner of a reduction, without masks. `position`: of an arg reducer without a second formula.
Reduction Elaborator::reduction_of(const Pending& pending, Builder& builder, const std::vector<int>& guards,
                                   const Expr& position) {
  if (pending.op != ReduceOp::Fold) {
    const Expr payload = !is_arg(pending.op) ? Expr()
                         : pending.payload   ? builder.build(pending.payload, guards)
                                             : position;
    return make_reduction(pending.op, builder.build(pending.body, guards), payload);
  }
  Reduction reduction{ReduceOp::Fold, {}, {}, {}};
  for (const Expr& e : pending.init) reduction.init.push_back(builder.build(e, guards));
  for (const Expr& e : pending.step) reduction.step.push_back(builder.build(e, guards));
  for (const Expr& e : pending.merge) reduction.merge.push_back(builder.build(e, guards));
  return reduction;
}

// One division by the count; masked elements are left out of it.
Expr Elaborator::mean_of(const Pending& pending, const Expr& sum, Builder& builder, const std::vector<int>& guards) {
  Expr count = index_constant(1);
  for (const int var : pending.inner) {
    const IndexVar& info = vars_[static_cast<size_t>(var)];
    if (!info.bound) {
      count = count * index_constant(info.extent);
      continue;
    }
    for (const int other : pending.inner)
      if (ranges_.mentions(info.bound, other))
        unsupported(pending.site->span, "a mean whose bounds depend on one another");
    count = count * binary(Op::Max, builder.build(info.bound, guards), index_constant(0));
  }
  const Expr divisor =
      count.is_constant() ? constant(sum.dtype(), static_cast<double>(count.int_value())) : cast(count, sum.dtype());
  return binary(Op::Div, sum, divisor);
}

// All indices in loops of their own; elements beyond a bound that is not static change nothing.
void Elaborator::build_masked(Pending& pending, const std::string& label) {
  std::vector<int> axes = pending.stored;
  axes.insert(axes.end(), pending.inner.begin(), pending.inner.end());
  Builder builder(*this, axes);
  Compute compute;
  compute.axes = builder.axes();
  compute.free = static_cast<int>(pending.stored.size());
  const std::vector<int> shape = first_axes(compute.free), guards = bounded(pending.inner);
  builder.loosen(bounded(pending.stored));
  if (pending.op == ReduceOp::None) {
    compute.results.push_back({builder.build(pending.body, guards), shape});
  } else {
    Expr position = index_constant(0);
    for (size_t k = 0; k < pending.inner.size(); ++k)
      position = position * index_constant(vars_[static_cast<size_t>(pending.inner[k])].extent) +
                 index(compute.free + static_cast<int>(k));
    compute.reduction = masked(reduction_of(pending, builder, guards, position), builder.mask(guards));
    compute.results = states_as_results(compute.reduction, is_arg(pending.op), shape);
  }
  if (pending.mean) compute.results[0].value = mean_of(pending, compute.results[0].value, builder, guards);
  round_result(pending, compute);
  pending.node = graph_.add_compute(std::move(compute), builder.inputs(), label);
}

// A prefix or suffix in one pass; false if this is none, and then nothing has happened.
bool Elaborator::build_scan(Pending& pending, const std::string& label) {
  const auto scan = find_scan(pending.stored, pending.inner, vars_, ranges_);
  if (!scan) return false;
  std::vector<int> axes, others;
  for (const int var : pending.stored)
    if (var != scan->outer) axes.push_back(var);
  for (const int var : pending.inner)
    if (var != scan->inner) others.push_back(var);
  const std::vector<int> loose = bounded(axes), guards = bounded(others);
  const int free = static_cast<int>(axes.size());
  axes.push_back(scan->inner);
  axes.insert(axes.end(), others.begin(), others.end());

  // The outer index is an axis too many: what still mentions it when like terms have cancelled makes this no scan.
  Builder builder(*this, axes);
  Compute compute;
  compute.free = free;
  compute.axes = builder.axes();
  compute.axes[static_cast<size_t>(free)].extent = index_constant(scan->steps);
  const Expr t = index(free), i = index(static_cast<int>(axes.size()));
  std::vector<Axis> all = compute.axes;
  all.push_back({"", index_constant(vars_[static_cast<size_t>(scan->outer)].extent)});
  IndexAnalysis analysis(all);
  builder.loosen(loose);
  builder.replace(scan->outer, i);
  builder.replace(scan->inner, scan->is_suffix ? scan->element(t) - i : scan->element(t));
  const bool has_identity = pending.op != ReduceOp::Fold && !is_arg(pending.op);
  builder.guard_along(free, &analysis, has_identity ? make_reduction(pending.op, pending.body).init[0] : Expr());
  Reduction reduction = masked(reduction_of(pending, builder, guards, scan->element(t)), builder.mask(guards));
  for (const auto* list : {&reduction.init, &reduction.step, &reduction.merge})
    for (const Expr& e : *list)
      if (mentions_index(e, i)) return false;
  const bool is_ordered = !is_free_of_order(reduction), is_merged = !reduction.merge.empty();
  if (!is_merged && (!others.empty() || (scan->is_suffix && is_ordered))) return false;
  if (!others.empty() && is_ordered && pending.inner[0] != scan->inner) return false;

  std::vector<Value> inputs = builder.inputs();
  if (!others.empty()) {
    // The other indices first: for each step one state.
    Compute elements = compute;
    ++elements.free;
    elements.reduction = reduction;
    elements.results = states_as_results(reduction, false, first_axes(free + 1));
    const Value made = graph_.add_compute(std::move(elements), inputs, label + ".elements");
    std::vector<Expr> states, positions;
    for (int a = 0; a <= free; ++a) positions.push_back(index(a));
    for (size_t k = 0; k < reduction.init.size(); ++k) {
      states.push_back(frit::read(reduction.init[k].dtype(), static_cast<int>(inputs.size()), positions));
      inputs.push_back({made.node, static_cast<int>(k)});
    }
    reduction = over_states(reduction, states);
  }
  if (scan->is_suffix) reduction = reversed(reduction);
  compute.axes.resize(static_cast<size_t>(free) + 1);
  compute.reduction = masked(std::move(reduction), scan->valid(t));
  std::vector<int> shape;
  for (const int var : pending.stored)
    shape.push_back(
        static_cast<int>(std::find(axes.begin(), axes.end(), var == scan->outer ? scan->inner : var) - axes.begin()));
  compute.results = states_as_results(compute.reduction, is_arg(pending.op), shape);
  builder.replace(scan->outer, scan->result(t));
  Expr& value = compute.results[0].value;
  // What an arg reducer finds in a suffix is the place among all elements.
  if (scan->is_suffix && is_arg(pending.op) && !pending.payload)
    value = select(binary(Op::Lt, value, index_constant(0)), value, value - scan->result(t));
  if (pending.mean) value = mean_of(pending, value, builder, guards);
  round_result(pending, compute);
  pending.node = graph_.add_compute(std::move(compute), std::move(inputs), label);
  if (!scan->is_plain()) add_views(*scan, pending, label);
  return true;
}

// The results of a scan in the order and extents of the statement.
void Elaborator::add_views(const Scan& scan, Pending& pending, const std::string& label) {
  View view;
  for (const int var : pending.stored) {
    const Expr at = index(static_cast<int>(view.axes.size()));
    view.positions.push_back(var == scan.outer ? scan.step_of(at) : at);
    view.axes.push_back({vars_[static_cast<size_t>(var)].name, index_constant(vars_[static_cast<size_t>(var)].extent)});
  }
  for (size_t k = 0; k < graph_.node(pending.node).results.size(); ++k)
    pending.views.push_back(graph_.add_view(view, {pending.node.node, static_cast<int>(k)}, label));
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
    node = pending->value(record->result);
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

namespace {

// Whether what is computed is an element of a 16-bit type, so that storing it so changes nothing.
bool is_exact(const Expr& e, DType half, const Graph& graph, const std::vector<Value>& inputs) {
  if (e.op() == Op::Cast) return e.arg(0).dtype() == half;
  if (e.op() != Op::Read || graph.type(inputs[static_cast<size_t>(e.slot())]).dtype != half) return false;
  return !e.is_guarded() || (e.fill().is_constant() && e.fill().float_value() == 0);
}

}  // namespace

// A value of the graph as another dtype.
Value Elaborator::stored_as(Value value, DType dtype, const std::string& label) {
  const TensorType type = graph_.type(value);
  if (type.dtype == dtype) return value;
  Compute compute;
  std::vector<Expr> positions;
  std::vector<int> axes;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    compute.axes.push_back({fmt::format("i{}", d), type.shape[d]});
    positions.push_back(index(static_cast<int>(d)));
    axes.push_back(static_cast<int>(d));
  }
  compute.free = static_cast<int>(axes.size());
  compute.results.push_back({cast(frit::read(compute_dtype(type.dtype), 0, positions), dtype), axes});
  return graph_.add_compute(std::move(compute), {value}, label);
}

// One element as a tensor of rank `rank`, 0 or 1.
Value Elaborator::element_of_rank(Value value, size_t rank, const std::string& label) {
  View view;
  if (rank == 1)
    view.axes.push_back({"one", index_constant(1)});
  else
    view.positions.push_back(index_constant(0));
  return graph_.add_view(std::move(view), value, label);
}

TensorPtr Elaborator::build_write(const Record& record, const std::vector<int>& vars, ScatterOp op, const Val& value,
                                  const std::string& label) {
  Tensor& before = *record.tensor;
  std::vector<int> masked;
  for (const int var : vars)
    if (vars_[static_cast<size_t>(var)].bound) masked.push_back(var);
  bool by_factor = before.has_split;
  for (const Record::Part& part : record.parts)
    by_factor &= part.factor >= 0 || before.axes[static_cast<size_t>(part.axis)].factors.size() == 1;
  const Value base = by_factor ? before.split : merged(before);
  const bool is_element = graph_.type(base).shape.empty();  // no position could say where it is not written

  Builder builder(*this, vars);
  builder.slot(is_element ? element_of_rank(base, 1, label) : base);  // the first input
  Scatter scatter;
  scatter.axes = builder.axes();
  scatter.op = op;
  scatter.value = builder.build(value.e, masked);
  if (is_element) {
    Expr written = true_value();
    for (const int var : masked) written = both(written, builder.mask(var));
    scatter.positions = {select(written, index_constant(0), index_constant(-1))};
  } else {
    scatter.positions = builder.written(record, by_factor, masked);
  }
  // f16 and bf16 stay what they are where they are only moved, else the new version is stored as it is computed.
  std::vector<Value> inputs = builder.inputs();
  const bool moves = op != ScatterOp::Add && op != ScatterOp::Mul && graph_.type(base).dtype == before.nominal &&
                     is_exact(scatter.value, before.nominal, graph_, inputs);
  const DType stored = moves ? before.nominal : compute_dtype(before.nominal);
  inputs[0] = stored_as(inputs[0], stored, label);
  Value node = graph_.add({label, inputs, {}, std::move(scatter)});
  if (is_element) node = element_of_rank(node, 0, label);

  auto tensor = std::make_shared<Tensor>(before);
  tensor->has_value = !by_factor;
  tensor->has_split = by_factor;
  (by_factor ? tensor->split : tensor->value) = node;
  return tensor;
}

}  // namespace frit::lang
