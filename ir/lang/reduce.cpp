// Binders, reductions and folds.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/lang/elaborate.h"

namespace frit::lang {
namespace {

constexpr int64_t kFar = int64_t{1} << 32;  // beyond any axis; sums with it do not overflow

}  // namespace

int Elaborator::add_var(std::string name, Span span, int64_t extent, bool reduced) {
  IndexVar var;
  var.name = std::move(name);
  var.span = span;
  var.extent = extent;
  var.reduced = reduced;
  if (active_.size() >= kIndexLimit)
    fail(span, "too many indices are bound here", {}, fmt::format("at most {}", kIndexLimit));
  vars_.push_back(std::move(var));
  bounds_.push_back(nullptr);
  active_.push_back(static_cast<int>(vars_.size()) - 1);
  return active_.back();
}

// One index: of a dim, with a bound, or to be inferred.
int Elaborator::bind_name(const Slot& slot, Frame* frame, bool left, int element) {
  int64_t extent = -1;
  const Dim* dim = find_dim(slot.name);
  Expr bound;
  if (dim) {
    if (slot.bound) {
      fail(slot.span, fmt::format("{} is a dim and takes no other bound", slot.name), {}, {},
           fmt::format("choose another name, as in i < {}", to_text(*slot.bound)));
    }
    if (dim->pack && element < 0)
      fail(slot.span, fmt::format("{} is a pack", slot.name), {}, {}, fmt::format("write {}..", slot.name));
    if (!dim->pack && element >= 0)
      fail(slot.span, fmt::format("{} is not a pack", slot.name), {}, {}, fmt::format("write {}", slot.name));
    try {
      extent = known_extent(slot.name, element);
    } catch (const NotYet&) {
      fail(slot.span, fmt::format("the extent of {} is not known", slot.name), "only operands that are absent name it");
    }
  } else if (slot.bound) {
    Ctx ctx;
    ctx.whole = false;
    ctx.place = Place::Extent;
    ctx.bracket = true;
    ctx.elem = element;
    const int64_t before = steps_;
    const size_t innermost = std::exchange(innermost_, active_.size());  // a bound is read for the outer indices
    if (!left) self_->frames.push_back(*frame);                          // the indices before this one are outside it
    Val v = eval(*slot.bound, ctx);
    innermost_ = innermost;
    if (steps_ - before > kPositionLimit)
      fail(slot.bound->span, fmt::format("this bound takes more than {} steps to work out", kPositionLimit));
    if (v.is_tensor()) v = to_scalar(v, ctx, slot.bound->span);
    if (!left) self_->frames.pop_back();
    if (!v.is_int() && !v.is_scalar() && v.kind != Val::Kind::Choice)
      fail(slot.bound->span, fmt::format("the bound of {} is no integer", slot.name), to_string(v), "an integer",
           v.kind == Val::Kind::Float ? "write // to round a quotient down" : "");
    Expr e = to_index(v, slot.bound->span);
    if (slot.inclusive) e = e + index_constant(1);
    if (e.is_constant()) {
      extent = e.int_value();
      if (extent < 0) {
        if (left)
          fail(slot.span, fmt::format("the extent of {} is {}", slot.name, extent), text(slot.span), "0 or more");
        extent = 0;
      }
    } else {
      if (left)
        fail(slot.bound->span, fmt::format("the bound of {} is not known when compiled", slot.name), {},
             "a bound left of = made of extents and attributes");
      bound = e;
    }
  }
  check_index_name(slot);
  const int var = add_var(slot.name, slot.span, extent, !left);
  IndexVar& info = vars_.back();
  info.bound = bound;
  if (slot.bound) info.bound_text = to_text(*slot.bound), bounds_.back() = slot.bound.get();
  Frame::Binding& binding = frame->names[slot.name];
  if (element < 0 && !binding.vars.empty()) fail(slot.span, fmt::format("{} is bound twice", slot.name));
  binding.pack = element >= 0;
  if (element >= 0) {
    binding.vars.resize(std::max(binding.vars.size(), static_cast<size_t>(element) + 1), -1);
    binding.vars[static_cast<size_t>(element)] = var;
  } else {
    binding.vars = {var};
  }
  return var;
}

// The factors of one axis.
LeftAxis Elaborator::bind_axis(const Slot& slot, Frame* frame, bool left, int element, std::vector<std::vector<int>>*) {
  LeftAxis axis;
  const auto length = [&](const Slot& s) {
    const auto at = self_->slot_lengths.find(&s);
    if (at == self_->slot_lengths.end() || at->second < 0)
      fail(s.span, fmt::format("cannot tell how many axes {} stands for", to_text(s)), {},
           "a pack or a list in its pattern, or in the items it occurs in");
    return at->second;
  };
  const auto declare = [&](auto& self, const Slot& s) -> void {
    if (s.kind == Slot::Kind::Name) frame->names[s.name].pack = true;
    for (const Slot& part : s.parts) self(self, part);
  };
  const auto add = [&](auto& self, const Slot& s, int k) -> void {
    if (s.pack && k < 0) {
      const int n = length(s);
      if (n == 0) declare(declare, s);
      for (int j = 0; j < n; ++j) {
        if (s.kind == Slot::Kind::Name)
          axis.vars.push_back(bind_name(s, frame, left, j));
        else
          for (const Slot& part : s.parts) self(self, part, j);
      }
    } else if (s.kind == Slot::Kind::Name) {
      axis.vars.push_back(bind_name(s, frame, left, k));
    } else if (s.kind == Slot::Kind::Group) {
      for (const Slot& part : s.parts) self(self, part, k);
    } else {
      fail(s.span, ".. belongs outside tuples");
    }
  };
  if (slot.kind == Slot::Kind::Name)
    axis.vars.push_back(bind_name(slot, frame, left, element));
  else
    for (const Slot& part : slot.parts) add(add, part, element);
  return axis;
}

std::vector<LeftAxis> Elaborator::bind(const std::vector<Slot>& slots, Frame* frame, Binder binder,
                                       const std::vector<const Ex*>& bodies) {
  const bool left = binder == Binder::Left;
  std::vector<LeftAxis> axes;
  std::vector<std::optional<int64_t>> fixed;
  struct Consecutive {
    size_t first;
    int64_t at;
    int count;
  };
  std::vector<Consecutive> runs;
  Span span{};
  for (const Slot& slot : slots) {
    span = slot.span;
    std::vector<LeftAxis> mine;
    if (slot.kind == Slot::Kind::Dots) {
      if (frame->has_dots) fail(slot.span, ".. twice");
      frame->has_dots = true;
      int k = 0;
      for (const int64_t extent : dots_shape(bodies)) {
        frame->dots.push_back(add_var(fmt::format("..{}", k++), slot.span, extent, !left));
        mine.push_back({{frame->dots.back()}, -1});
      }
    } else if (slot.pack) {
      const auto at = self_->slot_lengths.find(&slot);
      if (at == self_->slot_lengths.end() || at->second < 0)
        fail(slot.span, fmt::format("cannot tell how many axes {} stands for", to_text(slot)), {},
             "a pack or a list in its pattern, or in the items it occurs in");
      const auto declare = [&](auto& self, const Slot& s) -> void {
        if (s.kind == Slot::Kind::Name) frame->names[s.name].pack = true;
        for (const Slot& part : s.parts) self(self, part);
      };
      if (at->second == 0) declare(declare, slot);
      for (int k = 0; k < at->second; ++k) mine.push_back(bind_axis(slot, frame, left, k, nullptr));
    } else {
      mine.push_back(bind_axis(slot, frame, left, -1, nullptr));
    }
    if (slot.at) {
      if (binder == Binder::Reducer) fail(slot.at->span, "@ in a reducer has no meaning");
      const Val at = eval_static(*slot.at);
      if (at.is_int()) {
        runs.push_back({axes.size(), at.i, static_cast<int>(mine.size())});
        for (size_t k = 0; k < mine.size(); ++k) fixed.emplace_back(0);
      } else if (at.is_list()) {
        if (at.list->size() != mine.size())
          fail(slot.at->span, fmt::format("{} axes at {} places", mine.size(), at.list->size()), to_string(at));
        for (const Val& v : *at.list) {
          if (!v.is_int()) fail(slot.at->span, "an axis is an integer", to_string(at));
          fixed.emplace_back(v.i);
        }
      } else {
        fail(slot.at->span, "an axis is an integer or a list of them", to_string(at));
      }
    } else {
      for (size_t k = 0; k < mine.size(); ++k) fixed.emplace_back(std::nullopt);
    }
    for (LeftAxis& axis : mine) axes.push_back(std::move(axis));
  }
  if (binder == Binder::Reducer) return axes;
  check_rank(axes.size(), span);
  const auto rank = static_cast<int64_t>(axes.size());
  for (const Consecutive& run : runs)
    for (int k = 0; k < run.count; ++k)
      fixed[run.first + static_cast<size_t>(k)] = std::clamp(run.at, -kFar, kFar) + (run.at < 0 ? rank + k : k);
  const std::vector<int> real = place(fixed, span, left ? "the result" : "for");
  for (size_t i = 0; i < axes.size(); ++i) axes[i].real = real[i];
  return axes;
}

// ---------------------------------------------------------------------------------------------------- reductions

// The indices outside a reduction that it depends on.
std::vector<int> Elaborator::outer_of(const std::vector<Expr>& bodies, const std::vector<int>& inner) {
  std::set<int> found;
  std::vector<Expr> work = bodies;
  for (const int var : inner)
    if (vars_[static_cast<size_t>(var)].bound) work.push_back(vars_[static_cast<size_t>(var)].bound);
  std::set<const void*> seen;
  while (!work.empty()) {
    const Expr e = work.back();
    work.pop_back();
    if (!e || !seen.insert(e.id()).second) continue;
    for_each_node(e, [&](const Expr& x) {
      if (x.op() != Op::Index) return;
      const int var = static_cast<int>(x.bits());
      if (std::find(inner.begin(), inner.end(), var) == inner.end()) found.insert(var);
    });
  }
  return {found.begin(), found.end()};
}

Val Elaborator::pending_result(int pending, int result, DType nominal) {
  Record record;
  record.pending = pending;
  record.result = result;
  std::vector<Expr> positions;
  for (const int var : pendings_[static_cast<size_t>(pending)].outer) positions.push_back(index(var));
  const int id = add_record(std::move(record));
  return scalar_val(frit::read(compute_dtype(nominal), 2 * id, positions), nominal);
}

namespace {

bool mentions_accumulator(const Expr& e) {
  bool found = false;
  for_each_node(e, [&](const Expr& x) { found |= x.op() == Op::Acc || x.op() == Op::AccRight; });
  return found;
}

ReduceOp op_of(const std::string& name) {
  if (name == "sum" || name == "mean") return ReduceOp::Sum;
  if (name == "prod") return ReduceOp::Prod;
  if (name == "max") return ReduceOp::Max;
  if (name == "min") return ReduceOp::Min;
  if (name == "any") return ReduceOp::Any;
  if (name == "all") return ReduceOp::All;
  return name == "argmax" ? ReduceOp::ArgMax : ReduceOp::ArgMin;
}

}  // namespace

Val Elaborator::reduce(const Ex& e, const Ctx& ctx) {
  if (ctx.whole)
    fail(e.span, fmt::format("{} over indices in a let without brackets", e.text), {}, {},
         "give the target brackets, as in y[..] = ..");
  const bool arg = e.text == "argmax" || e.text == "argmin";
  if (e.args.size() == 2 && !arg) fail(e.args[1]->span, fmt::format("{} takes one formula", e.text));
  Frame frame;
  const size_t outer_active = active_.size();
  const size_t innermost = std::exchange(innermost_, outer_active);
  std::vector<const Ex*> bodies;
  for (const ExPtr& body : e.args) bodies.push_back(body.get());
  std::vector<int> inner;
  for (const LeftAxis& axis : bind(e.slots, &frame, Binder::Reducer, bodies))
    inner.insert(inner.end(), axis.vars.begin(), axis.vars.end());
  self_->frames.push_back(std::move(frame));
  reducers_.push_back(e.text);
  Ctx body_ctx = ctx.at(Place::Value);
  const auto evaluate = [&](const Ex& body) { return to_scalar(eval(body, body_ctx), body_ctx, body.span); };
  Val v = evaluate(*e.args[0]);
  std::optional<Val> payload;
  if (e.args.size() == 2) payload = evaluate(*e.args[1]);
  reducers_.pop_back();
  self_->frames.pop_back();
  active_.resize(outer_active);
  innermost_ = innermost;

  DType nominal = own_dtype(v, e.args[0]->span);
  const bool logical = e.text == "any" || e.text == "all";
  if (logical != (nominal == DType::Bool))
    fail(e.args[0]->span, fmt::format("{} reduces {}", e.text, logical ? "bools" : "numbers"), describe(v, *e.args[0]));
  if (e.text == "mean" && !is_float(nominal)) {
    if (v.is_scalar())
      fail(e.args[0]->span, "mean of integers", describe(v, *e.args[0]), "floats",
           "cast first, as in mean[n](f32(x[n]))");
    nominal = DType::F32;
  }
  const DType payload_dtype = payload ? own_dtype(*payload, e.args[1]->span) : DType::I64;
  if (inner.empty()) {
    // Over an empty pack there is one element.
    if (arg) return payload ? *payload : scalar_val(index_constant(0), DType::I64);
    return v;
  }
  Pending pending;
  pending.op = op_of(e.text);
  pending.mean = e.text == "mean";
  pending.inner = inner;
  pending.site = &e;
  pending.body = convert(v, nominal, e.args[0]->span);
  if (payload) pending.payload = convert(*payload, payload_dtype, e.args[1]->span);
  for (const Expr& x : {pending.body, pending.payload})
    if (x && mentions_accumulator(x))
      fail(e.span, "a step of a fold reduces over its accumulators", {}, {},
           "write the state as a graph loop around a cell");
  bool dynamic = false;
  for (const int var : inner) {
    const IndexVar& info = vars_[static_cast<size_t>(var)];
    dynamic |= static_cast<bool>(info.bound);
    if (arg && info.extent == 0)
      fail(e.span, fmt::format("{} of nothing", e.text), fmt::format("{} < 0", info.name), "at least one element");
  }
  if (arg && dynamic && inner.size() > 1 && !payload)
    fail(e.span, fmt::format("{} with a bound that is not static takes one index, or a second formula", e.text));
  pending.outer = outer_of({pending.body, pending.payload}, inner);
  pendings_.push_back(std::move(pending));
  return pending_result(static_cast<int>(pendings_.size()) - 1, 0, arg ? payload_dtype : nominal);
}

// ---------------------------------------------------------------------------------------------------- folds

// The dtype of each accumulator: that of its first value, widened by the step until it no longer changes. A weak first
// value adapts to what the step makes of it.
std::vector<DType> Elaborator::fold_types(const Ex& e, const Ctx& ctx, Frame* frame) {
  const size_t n = e.names.size();
  std::vector<Val> init;
  for (size_t k = 0; k < n; ++k) init.push_back(to_scalar(eval(*e.args[k], ctx), ctx, e.args[k]->span));
  const auto step = [&](size_t k) { return to_scalar(eval(*e.args[n + k], ctx), ctx, e.args[n + k]->span); };
  // Trial evaluations leave records and reductions behind; they are dropped.
  const size_t records = records_.size(), pendings = pendings_.size(), vars = vars_.size();
  const std::vector<int> active = active_;
  const auto drop = [&] {
    records_.resize(records);
    pendings_.resize(pendings);
    vars_.resize(vars);
    bounds_.resize(vars);
    active_ = active;
    ranges_.forget();
  };
  std::vector<DType> types(n);
  for (size_t k = 0; k < n; ++k) frame->accumulators[e.names[k]] = init[k];
  self_->frames.push_back(*frame);
  for (size_t k = 0; k < n; ++k)
    types[k] = init[k].is_weak() ? own_dtype(step(k), e.args[n + k]->span) : own_dtype(init[k], e.args[k]->span);
  self_->frames.pop_back();
  drop();
  for (int round = 0; round < 8; ++round) {
    for (size_t k = 0; k < n; ++k)
      frame->accumulators[e.names[k]] = scalar_val(accumulator(compute_dtype(types[k]), static_cast<int>(k)), types[k]);
    self_->frames.push_back(*frame);
    bool changed = false;
    for (size_t k = 0; k < n; ++k) {
      const DType made = own_dtype(step(k), e.args[n + k]->span);
      const auto wider = promote(types[k], made);
      if (!wider) fail(e.args[n + k]->span, fmt::format("{} and {} have no common type", name(types[k]), name(made)));
      if (*wider != types[k]) types[k] = *wider, changed = true;
    }
    self_->frames.pop_back();
    drop();
    if (!changed) break;
  }
  return types;
}

std::vector<Val> Elaborator::fold(const Ex& e, const Ctx& ctx) {
  if (ctx.whole)
    fail(e.span, "fold over indices in a let without brackets", {}, {}, "give the target brackets, as in y[..] = ..");
  const size_t n = e.names.size();
  const Ctx value = ctx.at(Place::Value);
  std::vector<Val> init;
  const size_t innermost = std::exchange(innermost_, active_.size());
  for (size_t k = 0; k < n; ++k) {
    check_accumulator_name(e.names[k], e.args[k]->span);
    init.push_back(to_scalar(eval(*e.args[k], value), value, e.args[k]->span));
  }

  Frame frame;
  const size_t outer_active = active_.size();
  std::vector<const Ex*> bodies;
  for (size_t k = n; k < e.args.size(); ++k) bodies.push_back(e.args[k].get());
  std::vector<int> inner;
  for (const LeftAxis& axis : bind(e.slots, &frame, Binder::Reducer, bodies))
    inner.insert(inner.end(), axis.vars.begin(), axis.vars.end());
  reducers_.push_back("fold");
  const std::vector<DType> types = fold_types(e, value, &frame);
  for (size_t k = 0; k < n; ++k) {
    const DType computed = compute_dtype(types[k]);
    frame.accumulators[e.names[k]] = inner.empty() ? scalar_val(convert(init[k], types[k], e.args[k]->span), types[k])
                                                   : scalar_val(accumulator(computed, static_cast<int>(k)), types[k]);
    frame.right[e.names[k]] = scalar_val(accumulator(computed, static_cast<int>(k), true), types[k]);
  }
  Pending pending;
  pending.op = ReduceOp::Fold;
  pending.inner = inner;
  pending.nominal = types;
  pending.site = &e;
  self_->frames.push_back(frame);
  const auto formula = [&](size_t at, size_t k) {
    const Ex& x = *e.args[at + k];
    return convert(to_scalar(eval(x, value), value, x.span), types[k], x.span);
  };
  for (size_t k = 0; k < n; ++k) {
    pending.init.push_back(convert(init[k], types[k], e.args[k]->span));
    pending.step.push_back(formula(n, k));
  }
  if (e.args.size() == 3 * n)
    for (size_t k = 0; k < n; ++k) pending.merge.push_back(formula(2 * n, k));
  self_->frames.pop_back();
  reducers_.pop_back();
  active_.resize(outer_active);
  innermost_ = innermost;

  std::vector<Val> results;
  if (inner.empty()) {
    for (size_t k = 0; k < n; ++k) results.push_back(scalar_val(pending.step[k], types[k]));
    return results;
  }
  // `s + e` and the like with e free of s are the built-in reductions.
  if (n == 1 && pending.init[0].is_constant()) {
    const Expr& step = pending.step[0];
    const Expr acc = accumulator(compute_dtype(types[0]), 0);
    const struct {
      Op op;
      ReduceOp reduce;
      double identity;
    } kForms[] = {{Op::Add, ReduceOp::Sum, 0}, {Op::Mul, ReduceOp::Prod, 1}};
    for (const auto& form : kForms) {
      if (step.op() != form.op || pending.init[0].float_value() != form.identity) continue;
      const bool first = step.arg(0) == acc, second = step.arg(1) == acc;
      const Expr other = first ? step.arg(1) : step.arg(0);
      if (first == second || mentions_accumulator(other)) continue;
      pending.op = form.reduce;
      pending.body = other;
      pending.init.clear();
      pending.step.clear();
      pending.merge.clear();
      break;
    }
  }
  std::vector<Expr> all = pending.step;
  all.insert(all.end(), pending.init.begin(), pending.init.end());
  all.insert(all.end(), pending.merge.begin(), pending.merge.end());
  if (pending.body) all.push_back(pending.body);
  pending.outer = outer_of(all, inner);
  pendings_.push_back(std::move(pending));
  for (size_t k = 0; k < n; ++k)
    results.push_back(pending_result(static_cast<int>(pendings_.size()) - 1, static_cast<int>(k), types[k]));
  return results;
}

}  // namespace frit::lang
