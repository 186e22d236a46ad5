#include "compiler/passes/phase_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "compiler/passes/simplify.h"
#include "ir/polynomial.h"

namespace frit {
namespace {

template <class Visit>
void for_each_root(const Compute& compute, Visit visit) {
  for (const Expr& e : compute.reduction.init) visit(e);
  for (const Expr& e : compute.reduction.step) visit(e);
  for (const Compute::Result& r : compute.results) visit(r.value);
}

constexpr int64_t kMaxModulus = int64_t{1} << 40;  // sums of remainders stay far from the ends of int64

bool is_divisor(const Expr& e) { return e.is_constant() && e.int_value() > 1 && e.int_value() < kMaxModulus; }

std::set<int> axes_of(const Expr& e) {
  std::set<int> axes;
  for_each_node(e, [&](const Expr& x) {
    if (x.op() == Op::Index) axes.insert(static_cast<int>(x.bits()));
  });
  return axes;
}

bool is_zero(const Expr& e) { return e.is_constant() && is_float(e.dtype()) && e.float_value() == 0; }

// Not infinite and not NaN, whatever is read.
bool is_finite(const Expr& e) {
  if (e.is_constant()) return std::isfinite(e.float_value());
  return e.op() == Op::Cast && !is_float(e.arg(0).dtype());
}

// Zero, or NaN where another factor is not finite.
bool is_zero_or_nan(const Expr& e) {
  switch (e.op()) {
    case Op::Mul:
      return is_zero_or_nan(e.arg(0)) || is_zero_or_nan(e.arg(1));
    case Op::Add:
    case Op::Sub:
      return is_zero_or_nan(e.arg(0)) && is_zero_or_nan(e.arg(1));
    case Op::Neg:
      return is_zero_or_nan(e.arg(0));
    case Op::Cast:
      return is_float(e.dtype()) && is_float(e.arg(0).dtype()) && is_zero_or_nan(e.arg(0));
    default:
      return is_zero(e);
  }
}

bool is_zero_always(const Expr& e) {
  if (e.op() == Op::Mul)
    return (is_zero_always(e.arg(0)) && is_finite(e.arg(1))) || (is_zero_always(e.arg(1)) && is_finite(e.arg(0)));
  return is_zero(e);
}

Expr zero_of(DType dtype) { return is_float(dtype) ? constant(dtype, 0) : constant_int(dtype, 0); }

Expr both(const Expr& a, const Expr& b) {
  if (!a) return b;
  return b ? binary(Op::And, a, b) : a;
}

// Reads that may be beyond the end of their tensor give zero there.
Expr with_guards(const Expr& root) {
  return rewrite(root, [&](const Expr& e) -> Expr {
    if (e.op() != Op::Read || e.is_guarded()) return {};
    return guarded_read(e.dtype(), e.slot(), e.positions(), true_value(), zero_of(e.dtype()));
  });
}

int64_t count_of(int64_t extent, int64_t offset, int64_t period) {
  return offset >= extent ? 0 : (extent - offset + period - 1) / period;
}

std::vector<Expr> positions_on(const Lattice& lattice) {
  std::vector<Expr> positions;
  for (size_t a = 0; a < lattice.offset.size(); ++a)
    positions.push_back(index(static_cast<int>(a)) * index_constant(lattice.period[a]) +
                        index_constant(lattice.offset[a]));
  return positions;
}

}  // namespace

PhaseSplit::PhaseSplit(const Compute& compute) : compute_(compute) {
  const Reduction& r = compute.reduction;
  switch (r.op) {
    case ReduceOp::Sum:
    case ReduceOp::Prod:
    case ReduceOp::Max:
    case ReduceOp::Min:
    case ReduceOp::Any:
    case ReduceOp::All: {
      const bool shaped = r.step.size() == 1 && r.step[0].args().size() == 2 && r.step[0].arg(0).op() == Op::Acc;
      if (!shaped) break;
      const Reduction usual = make_reduction(r.op, r.step[0].arg(1));
      built_in_ = usual.step == r.step && usual.init == r.init;
      break;
    }
    case ReduceOp::None:
    case ReduceOp::ArgMax:
    case ReduceOp::ArgMin:
    case ReduceOp::Fold:
      break;
  }
}

int64_t PhaseSplit::extent(size_t axis) const { return compute_.axes[axis].extent.int_value(); }

bool PhaseSplit::plan() {
  if (compute_.is_scan()) return false;  // every step is a result: none can be left out
  for (const Axis& axis : compute_.axes)
    if (!axis.extent.is_constant()) return false;
  for (size_t a = 0; a < free(); ++a)
    if (extent(a) == 0) return false;
  collect_tests();
  find_periods();
  if (tests_.empty()) return false;
  int64_t phases = 1, taps = 1;
  for (size_t a = 0; a < compute_.axes.size(); ++a) {
    int64_t& count = a < free() ? phases : taps;
    if (__builtin_mul_overflow(count, std::min(period_[a], std::max<int64_t>(1, extent(a))), &count)) return false;
  }
  if (phases > kMaxPhases || taps > kMaxPhases) return false;
  for (const Compute::Result& r : compute_.results)
    for (size_t a = 0; a < free(); ++a)
      if (period_[a] > 1 && std::find(r.axes.begin(), r.axes.end(), static_cast<int>(a)) == r.axes.end()) return false;
  for (const std::vector<int64_t>& offset : residues(0, free())) {
    Lattice phase{offset, period_};
    phase.offset.resize(compute_.axes.size(), 0);
    std::fill(phase.period.begin() + compute_.free, phase.period.end(), 1);
    phases_.push_back(std::move(phase));
  }
  return decide_taps();
}

// ------------------------------------------------------------------------------------------------------ tests

void PhaseSplit::collect_tests() {
  bool divides = false;  // an element is at a quotient: a test alone is a choice between values, better left whole
  for_each_root(compute_, [&](const Expr& root) {
    for_each_node(root, [&](const Expr& e) {
      if (e.op() == Op::Read) {
        if (e.is_guarded()) collect_tests_below(e.guard_condition());
        for (const Expr& p : e.positions())
          for_each_node(p, [&](const Expr& x) { divides |= x.op() == Op::FloorDiv && is_divisor(x.arg(1)); });
      } else if (e.op() == Op::Select) {
        collect_tests_below(e.arg(0));
      }
    });
  });
  std::erase_if(tests_, [&](const Test& test) {
    const auto& c = test.sum.coefficients;
    return !divides && std::all_of(c.begin() + compute_.free, c.end(), [](int64_t x) { return x == 0; });
  });
}

// What a condition compares; not what it reads: positions such as channel % 2 choose an element, not whether there is
// one.
void PhaseSplit::collect_tests_below(const Expr& condition) {
  std::set<const void*> seen;
  std::vector<Expr> work{condition};
  while (!work.empty()) {
    const Expr e = work.back();
    work.pop_back();
    if (e.op() == Op::Read || !seen.insert(e.id()).second) continue;
    work.insert(work.end(), e.args().begin(), e.args().end());
    if (e.op() != Op::Mod || e.dtype() != DType::I64 || !is_divisor(e.arg(1))) continue;
    const auto known = std::find_if(tests_.begin(), tests_.end(), [&](const Test& t) { return t.remainder == e; });
    if (known != tests_.end()) continue;
    if (const auto sum = affine(e.arg(0), compute_.axes.size())) tests_.push_back({*sum, e.arg(1).int_value(), e});
  }
}

void PhaseSplit::find_periods() {
  period_.assign(compute_.axes.size(), 1);
  for (const Test& test : tests_) {
    for (size_t a = 0; a < period_.size(); ++a) {
      const int64_t period = test.modulus / std::gcd(floor_mod(test.sum.coefficients[a], test.modulus), test.modulus);
      int64_t joined = 0;
      if (__builtin_mul_overflow(period_[a] / std::gcd(period_[a], period), period, &joined)) joined = INT64_MAX;
      period_[a] = joined;
    }
  }
}

// Residues of the axes [first, last) that have an element, in order.
std::vector<std::vector<int64_t>> PhaseSplit::residues(size_t first, size_t last) const {
  std::vector<std::vector<int64_t>> all{{}};
  for (size_t a = first; a < last; ++a) {
    std::vector<std::vector<int64_t>> longer;
    for (const std::vector<int64_t>& head : all) {
      for (int64_t r = 0; r < std::min(period_[a], extent(a)); ++r) {
        longer.push_back(head);
        longer.back().push_back(r);
      }
    }
    all = std::move(longer);
  }
  return all;
}

// ------------------------------------------------------------------------------------------------------- taps

// What a step does where all axes stand at `offsets`, up to periods.
PhaseSplit::Fate PhaseSplit::fate(const std::vector<int64_t>& offsets) {
  std::vector<int64_t> remainders;
  for (const Test& test : tests_) {
    int64_t sum = floor_mod(test.sum.constant, test.modulus);
    for (size_t a = 0; a < offsets.size(); ++a)
      sum = (sum + floor_mod(test.sum.coefficients[a], test.modulus) * (offsets[a] % test.modulus)) % test.modulus;
    remainders.push_back(sum);
  }
  const auto [known, added] = fates_.try_emplace(remainders, Fate::Live);
  if (!added) return known->second;
  IndexAnalysis analysis(compute_.axes);
  const auto decided = [&](const Expr& root) {
    const Expr e = rewrite(root, [&](const Expr& x) -> Expr {
      for (size_t t = 0; t < tests_.size(); ++t)
        if (x == tests_[t].remainder) return index_constant(remainders[t]);
      return {};
    });
    return simplify_scalar(e, analysis);
  };
  const Reduction& r = compute_.reduction;
  if (!built_in_) {
    bool same = true;
    for (size_t k = 0; k < r.step.size(); ++k) {
      const Expr step = decided(r.step[k]);
      same = same && step.op() == Op::Acc && step.bits() == k;
    }
    return known->second = same ? Fate::Dead : Fate::Live;
  }
  const Expr e = decided(r.step[0].arg(1));
  const bool adds_floats = r.op == ReduceOp::Sum && is_float(e.dtype());
  // A float sum starts at +0 and is never -0: a zero of either sign changes nothing.
  if (e == r.init[0] || (adds_floats && is_zero_always(e))) return known->second = Fate::Dead;
  if (!adds_floats || !is_zero_or_nan(e) || (zero_ && !(zero_ == e))) return Fate::Live;
  for (const int axis : axes_of(e))
    if (axis < compute_.free && period_[static_cast<size_t>(axis)] > 1) return Fate::Live;
  zero_ = e;
  return known->second = Fate::Zero;
}

PhaseSplit::Taps PhaseSplit::taps_of(const Lattice& phase, bool with_zeros) {
  Taps taps;
  bool has_dead = false;
  for (const std::vector<int64_t>& tail : residues(free(), compute_.axes.size())) {
    std::vector<int64_t> offsets = phase.offset;
    std::copy(tail.begin(), tail.end(), offsets.begin() + compute_.free);
    const Fate f = fate(offsets);
    has_dead |= f == Fate::Dead;
    taps.adds_zeros |= f == Fate::Zero;
    if (f == Fate::Live || (f == Fate::Zero && !with_zeros)) taps.live.push_back(tail);
  }
  // The zeros are those of all classes but one: where that is not what this phase leaves out, it steps through them.
  if (taps.adds_zeros && with_zeros && (has_dead || taps.live.size() > 1)) return taps_of(phase, false);
  taps.adds_zeros = taps.adds_zeros && with_zeros;
  return taps;
}

// Whether several classes may be stepped through in one iteration: in the order of the definition, or in any.
bool PhaseSplit::unrolls(const Taps& taps) const {
  if (taps.live.size() > kMaxTaps) return false;
  if (built_in_) return true;
  size_t last = compute_.axes.size() - 1;
  while (last > free() && extent(last) == 1) --last;
  for (size_t a = free(); a < compute_.axes.size(); ++a)
    if (a != last && period_[a] > 1) return false;
  return true;
}

bool PhaseSplit::decide_taps() {
  bool adds_zeros = false;
  for (const Lattice& phase : phases_) {
    if (compute_.reduced() > 0)
      taps_.push_back(taps_of(phase, true));
    else
      taps_.emplace_back();
    if (taps_.back().live.size() > 1 && !unrolls(taps_.back())) return false;
    adds_zeros |= taps_.back().adds_zeros;
  }
  if (!adds_zeros) zero_ = Expr();
  return true;
}

// ------------------------------------------------------------------------------------------------------ parts

// The steps at `taps` one after the other; taps beyond the end of an axis step over nothing.
Reduction PhaseSplit::reduction(const std::vector<Lattice>& taps, const std::vector<Axis>& axes) const {
  const Reduction& r = compute_.reduction;
  IndexAnalysis analysis(axes);
  Reduction made = r;
  std::vector<Expr> states;
  for (size_t k = 0; k < r.init.size(); ++k) states.push_back(accumulator(r.init[k].dtype(), static_cast<int>(k)));
  Expr sum;
  for (const Lattice& tap : taps) {
    const std::vector<Expr> positions = positions_on(tap);
    Expr exists;
    for (size_t a = free(); a < axes.size(); ++a) {
      const int64_t count = count_of(extent(a), tap.offset[a], tap.period[a]);
      if (count < axes[a].extent.int_value())
        exists = both(exists, binary(Op::Lt, index(static_cast<int>(a)), index_constant(count)));
    }
    const auto at_tap = [&](const Expr& root, const Expr& otherwise) {
      const Expr e = substitute_indices(root, positions);
      return simplify_scalar(exists ? select(exists, with_guards(e), otherwise) : e, analysis);
    };
    if (built_in_) {
      const Expr e = at_tap(r.step[0].arg(1), r.init[0]);
      sum = sum ? binary(r.step[0].op(), sum, e) : e;
      continue;
    }
    std::vector<Expr> next;
    for (size_t k = 0; k < states.size(); ++k) {
      const Expr step = at_tap(r.step[k], accumulator(r.init[k].dtype(), static_cast<int>(k)));
      next.push_back(rewrite(step, [&](const Expr& e) { return e.op() == Op::Acc ? states[e.bits()] : Expr(); }));
    }
    states = std::move(next);
  }
  if (built_in_) return make_reduction(r.op, sum);
  made.step = states;
  if (taps.size() > 1) made.op = ReduceOp::Fold;  // no longer in the form that schedules know
  return made;
}

Compute PhaseSplit::part(const Lattice& phase, int zeros_slot) const {
  const auto number = static_cast<size_t>(
      std::find_if(phases_.begin(), phases_.end(), [&](const Lattice& other) { return other.offset == phase.offset; }) -
      phases_.begin());
  const Taps& taps = taps_[number];
  if (compute_.reduced() == 0) return on_lattice(compute_, phase);
  Compute c = compute_;
  c.reduction = {};
  c = on_lattice(c, phase);  // the axes, and results over the states
  Expr zeros;
  if (taps.adds_zeros) {
    std::vector<Expr> positions;
    for (size_t a = free(); a < compute_.axes.size(); ++a) {
      if (period_[a] == 1) continue;
      const int64_t none = std::min(period_[a], extent(a));
      positions.push_back(index_constant(taps.live.empty() ? none : taps.live[0][a - free()]));
    }
    for (const int axis : axes_of(zero_))
      if (axis < compute_.free) positions.push_back(index(axis));
    zeros = read(zero_.dtype(), zeros_slot, positions);
  }
  std::vector<Expr> init;
  for (const Expr& e : compute_.reduction.init) init.push_back(substitute_indices(e, positions_on(phase)));
  for (Compute::Result& r : c.results) {
    r.value = rewrite(r.value, [&](const Expr& e) -> Expr {
      if (e.op() != Op::Acc) return {};
      const Expr state = taps.live.empty() ? init[e.bits()] : e;
      return zeros ? state + zeros : state;
    });
  }
  if (taps.live.empty()) {
    c.axes.resize(free());
    return c;
  }
  std::vector<Lattice> lattices;
  for (size_t a = free(); a < c.axes.size(); ++a) c.axes[a].extent = index_constant(0);
  for (const std::vector<int64_t>& tail : taps.live) {
    Lattice tap{phase.offset, period_};
    std::copy(tail.begin(), tail.end(), tap.offset.begin() + compute_.free);
    for (size_t a = free(); a < c.axes.size(); ++a) {
      const int64_t count = count_of(extent(a), tap.offset[a], tap.period[a]);
      c.axes[a].extent = index_constant(std::max(count, c.axes[a].extent.int_value()));
    }
    lattices.push_back(std::move(tap));
  }
  c.reduction = reduction(lattices, c.axes);
  if (!built_in_ && lattices.size() == 1) c.reduction.op = compute_.reduction.op;
  c.reduction.init = init;
  c.reduction.merge = compute_.reduction.merge;
  return c;
}

PhaseSplit::Zeros PhaseSplit::zeros() const {
  Zeros made;
  Compute &classes = made.classes, &others = made.others;
  std::vector<Expr> positions(compute_.axes.size());
  const auto add_axis = [](Compute& c, const Axis& axis, int64_t extent) {
    c.axes.push_back({axis.name, index_constant(extent)});
    return index(static_cast<int>(c.axes.size()) - 1);
  };
  std::vector<Expr> class_of(compute_.axes.size()), left, same;
  for (size_t a = free(); a < compute_.axes.size(); ++a) {
    if (period_[a] == 1) continue;
    const int64_t count = std::min(period_[a], extent(a));
    class_of[a] = add_axis(classes, compute_.axes[a], count);
    left.push_back(add_axis(others, compute_.axes[a], count + 1));
  }
  std::vector<Expr> kept;
  for (const int axis : axes_of(zero_)) {
    if (axis >= compute_.free) continue;
    made.axes.push_back(axis);
    const Axis& from = compute_.axes[static_cast<size_t>(axis)];
    positions[static_cast<size_t>(axis)] = add_axis(classes, from, from.extent.int_value());
    kept.push_back(add_axis(others, from, from.extent.int_value()));
  }
  classes.free = others.free = static_cast<int>(classes.axes.size());
  Expr exists, is_same;
  std::vector<Expr> read_at;
  for (size_t a = free(); a < compute_.axes.size(); ++a) {
    const int64_t count = count_of(extent(a), 0, period_[a]);
    positions[a] = add_axis(classes, compute_.axes[a], count);
    if (period_[a] == 1) continue;
    positions[a] = positions[a] * index_constant(period_[a]) + class_of[a];
    if (extent(a) % period_[a] != 0 && count > 1)
      exists = both(exists, binary(Op::Lt, positions[a], index_constant(extent(a))));
    read_at.push_back(add_axis(others, compute_.axes[a], std::min(period_[a], extent(a))));
    is_same = both(is_same, binary(Op::Eq, left[read_at.size() - 1], read_at.back()));
  }
  const Expr zero = zero_of(zero_.dtype()), product = substitute_indices(zero_, positions);
  classes.reduction = make_reduction(ReduceOp::Sum, exists ? select(exists, with_guards(product), zero) : product);
  read_at.insert(read_at.end(), kept.begin(), kept.end());
  // Without classes all or nothing is left out: others is all.
  const Expr all = read(zero_.dtype(), 0, read_at);
  if (is_same)
    others.reduction = make_reduction(ReduceOp::Sum, select(is_same, zero, all));
  else
    others.results.push_back({all, {}});
  for (Compute* c : {&classes, &others}) {
    std::vector<int> axes(static_cast<size_t>(c->free));
    std::iota(axes.begin(), axes.end(), 0);
    if (c->results.empty()) c->results.push_back({accumulator(zero_.dtype(), 0), {}});
    c->results[0].axes = axes;
  }
  return made;
}

Compute on_lattice(const Compute& compute, const Lattice& lattice) {
  Compute c = compute;
  const std::vector<Expr> positions = positions_on(lattice);
  for (size_t a = 0; a < c.axes.size(); ++a)
    c.axes[a].extent = index_constant(count_of(c.axes[a].extent.int_value(), lattice.offset[a], lattice.period[a]));
  IndexAnalysis analysis(c.axes);
  const auto move = [&](Expr& e) { e = simplify_scalar(substitute_indices(e, positions), analysis); };
  for (auto* list : {&c.reduction.init, &c.reduction.step, &c.reduction.merge})
    for (Expr& e : *list) move(e);
  for (Compute::Result& r : c.results) move(r.value);
  return c;
}

}  // namespace frit
