#include "codegen/lower/nest.h"

#include <algorithm>
#include <functional>
#include <set>

#include "codegen/lower/choose_schedule.h"
#include "support/error.h"

namespace frit {
namespace {

// Every distinct read below the stage's expressions.
template <class Visit>
void for_each_expr(const Compute& compute, Visit visit) {
  for (const Expr& e : compute.reduction.init) visit(e);
  for (const Expr& e : compute.reduction.step) visit(e);
  for (const Expr& e : compute.reduction.merge) visit(e);
  for (const Compute::Result& r : compute.results) visit(r.value);
}

std::span<const Expr> guard_of_read(const Expr& read) {
  return read.is_guarded() ? read.args().subspan(read.positions().size()) : std::span<const Expr>();
}

// The nest while it is made: axes still numbered as in the compute, then dropped and merged.
class Maker {
 public:
  Maker(const Flat& flat, const NestOperands& operands, int outer) : flat_(flat), operands_(operands), outer_(outer) {}

  Nest run() {
    const Compute& compute = flat_.compute;
    for (size_t a = 0; a < compute.axes.size(); ++a) {
      const bool reduced = static_cast<int>(a) >= compute.free;
      const bool outer = static_cast<int>(a) < outer_;
      axes_.push_back({compute.axes[a].name, static_extent(compute.axes[a].extent), reduced, outer, 0});
      into_.push_back(static_cast<int>(a));
    }
    fixed_.assign(axes_.size(), false);
    is_ordered_ = !is_commutative(compute.reduction);
    collect_accesses();
    find_fixed_axes();
    while (merge_one()) {
    }
    return finish();
  }

 private:
  void collect_accesses() {
    for_each_expr(flat_.compute, [&](const Expr& root) {
      for_each_node(root, [&](const Expr& e) {
        if (e.op() != Op::Read || nest_.reads.contains(e.id())) return;
        const NestOperands::Entry& entry = operands_.inputs[static_cast<size_t>(e.slot())];
        nest_.reads.emplace(e.id(),
                            make_access(entry.operand, entry.storage, e.positions(), flat_.compute, e.is_guarded()));
      });
    });
    for (size_t r = 0; r < flat_.compute.results.size(); ++r) {
      const NestOperands::Entry& entry = operands_.results[r];
      std::vector<Expr> positions;
      for (const int axis : flat_.compute.results[r].axes) positions.push_back(index(axis));
      if (r < flat_.write_positions.size()) positions = flat_.write_positions[r];
      nest_.writes.push_back(make_access(entry.operand, entry.storage, positions, flat_.compute));
      FRIT_CHECK(nest_.writes.back().affine, "a write is at plain indices");
    }
  }

  std::vector<Access*> accesses() {
    std::vector<Access*> all;
    for (auto& [id, access] : nest_.reads)
      if (access.affine) all.push_back(&access);
    for (Access& access : nest_.writes) all.push_back(&access);
    return all;
  }

  // Axes whose own index is needed: used as a value, in a guard, in a position that is not affine, or blocked.
  void find_fixed_axes() {
    for (int a = 0; a < outer_; ++a) fixed_[static_cast<size_t>(a)] = true;
    for (const Access* access : accesses())
      if (access->blocked_axis >= 0) fixed_[static_cast<size_t>(access->blocked_axis)] = true;
    std::map<const void*, bool> seen;
    const std::function<void(const Expr&)> mark = [&](const Expr& e) {
      if (!seen.emplace(e.id(), true).second) return;
      if (e.op() == Op::Index) fixed_[e.bits()] = true;
      const bool affine_read = e.op() == Op::Read && nest_.reads.at(e.id()).affine;
      for (const Expr& arg : affine_read ? guard_of_read(e) : e.args()) mark(arg);
    };
    for_each_expr(flat_.compute, mark);
  }

  bool mergeable(size_t a, size_t b) {
    if (a == b || fixed_[a] || fixed_[b] || axes_[a].reduced != axes_[b].reduced) return false;
    if (axes_[a].reduced && is_ordered_ && !follows(a, b)) return false;
    const auto list = accesses();
    return std::all_of(list.begin(), list.end(), [&](const Access* access) {
      return access->coefficients[a] == access->coefficients[b] * axes_[b].extent;
    });
  }

  // Whether b is the axis after a: where order is part of the meaning only those may become one.
  bool follows(size_t a, size_t b) const {
    if (a > b) return false;
    for (size_t between = a + 1; between < b; ++between)
      if (!gone(between)) return false;
    return true;
  }

  // Joins axis a (outer) and b (inner) where every access walks them as one.
  bool merge_one() {
    for (size_t a = 0; a < axes_.size(); ++a) {
      if (axes_[a].extent == 1 && !axes_[a].outer && !gone(a)) {
        into_[a] = -1;
        return true;
      }
      for (size_t b = 0; b < axes_.size(); ++b) {
        if (gone(a) || gone(b) || axes_[b].extent == 1 || !mergeable(a, b)) continue;
        axes_[b].extent *= axes_[a].extent;
        axes_[b].name = axes_[a].name + axes_[b].name;
        into_[a] = -1;
        return true;
      }
    }
    return false;
  }
  bool gone(size_t a) const { return into_[a] < 0; }

  Nest finish() {
    std::vector<int> number(axes_.size(), -1);
    for (size_t a = 0; a < axes_.size(); ++a) {
      if (gone(a)) continue;
      number[a] = static_cast<int>(nest_.axes.size());
      nest_.axes.push_back(axes_[a]);
      if (axes_[a].outer)
        ++nest_.outer_count;
      else if (!axes_[a].reduced)
        ++nest_.free_count;
    }
    for (auto& [id, access] : nest_.reads) renumber(access, number);
    for (Access& access : nest_.writes) {
      renumber(access, number);
      if (access.blocked_axis >= 0) pad(access);
    }
    nest_.axis_of = number;
    nest_.reduction = flat_.compute.reduction;
    for (const Compute::Result& r : flat_.compute.results) {
      nest_.values.push_back(r.value);
      nest_.kept.push_back(flat_.compute.keeps(r) && nest_.reduced_count() > 0);
    }
    return std::move(nest_);
  }

  void pad(const Access& access) {
    NestAxis& axis = nest_.axes[static_cast<size_t>(access.blocked_axis)];
    axis.padded = (axis.extent + access.block - 1) / access.block * access.block;
  }

  static void renumber(Access& access, const std::vector<int>& number) {
    std::vector<int64_t> coefficients;
    for (size_t a = 0; a < number.size(); ++a)
      if (number[a] >= 0) coefficients.push_back(access.coefficients[a]);
    access.coefficients = std::move(coefficients);
    if (access.blocked_axis >= 0) access.blocked_axis = number[static_cast<size_t>(access.blocked_axis)];
  }

  const Flat& flat_;
  const NestOperands& operands_;
  int outer_;
  bool is_ordered_ = false;
  Nest nest_;
  std::vector<NestAxis> axes_;
  std::vector<int> into_;
  std::vector<bool> fixed_;
};

}  // namespace

Access make_access(int operand, const Storage& storage, std::span<const Expr> positions, const Compute& compute,
                   bool guarded) {
  const size_t axes = compute.axes.size();
  Access access{operand, storage.dtype, true, false, storage.offset, std::vector<int64_t>(axes, 0), -1, 0, 0, storage};
  access.guarded = guarded;
  const auto give_up = [&] {
    access.affine = false;
    access.blocked_axis = -1;
    return access;
  };
  Expr flat = index_constant(0);  // offset of the positions that are not affine by themselves
  for (size_t d = 0; d < positions.size(); ++d) {
    const Storage::AxisStep& step = storage.axes[d];
    const auto walk = affine(positions[d], axes);
    if (step.block != 0 && !positions[d].is_constant(0)) {
      const bool plain = positions[d].op() == Op::Index && access.blocked_axis < 0;
      if (!plain) return give_up();
      access.blocked_axis = static_cast<int>(positions[d].bits());
      access.block = step.block;
      access.block_stride = step.block_stride;
    }
    if (walk) {
      access.constant += walk->constant * step.stride;
      for (size_t a = 0; a < axes; ++a) access.coefficients[a] += walk->coefficients[a] * step.stride;
    } else {
      flat = flat + positions[d] * index_constant(step.stride);
    }
  }
  if (flat.is_constant(0)) return access;
  const auto walk = affine(IndexAnalysis(compute.axes).simplify(flat), axes);
  if (!walk) return give_up();
  access.constant += walk->constant;
  for (size_t a = 0; a < axes; ++a) access.coefficients[a] += walk->coefficients[a];
  return access;
}

Nest make_nest(const Flat& flat, const NestOperands& operands, int outer) { return Maker(flat, operands, outer).run(); }

uint64_t Dependences::of(const Expr& e) {
  if (const auto found = known_.find(e.id()); found != known_.end()) return found->second;
  uint64_t mask = 0;
  for_each_node(e, [&](const Expr& x) {
    if (known_.contains(x.id())) return;
    uint64_t bits = 0;
    const bool affine_read = x.op() == Op::Read && nest_.reads.at(x.id()).affine;
    for (const Expr& arg : affine_read ? guard_of_read(x) : x.args()) bits |= known_.at(arg.id());
    if (x.op() == Op::Index) {
      const int axis = nest_.axis_of[x.bits()];
      if (axis >= 0) bits |= uint64_t{1} << axis;
    }
    if (affine_read) bits |= of_access(nest_.reads.at(x.id()));
    // A state changes in every step of every reduced loop: nothing that reads it may leave one.
    if (x.op() == Op::Acc || x.op() == Op::AccRight) {
      for (size_t a = 0; a < nest_.axes.size(); ++a) bits |= uint64_t{1} << a;
      bits |= kState;
    }
    known_.emplace(x.id(), bits);
  });
  return mask | known_.at(e.id());
}

uint64_t Dependences::of_access(const Access& access) {
  uint64_t bits = 0;
  for (size_t a = 0; a < access.coefficients.size(); ++a)
    if (access.coefficients[a] != 0 || access.blocked_axis == static_cast<int>(a)) bits |= uint64_t{1} << a;
  return bits;
}

int formula_size(const Nest& nest) {
  std::set<const void*> nodes;
  const auto count = [&](const Expr& root) {
    for_each_node(root, [&](const Expr& e) {
      if (!e.args().empty()) nodes.insert(e.id());
    });
  };
  for (const Expr& e : nest.reduction.step) count(e);
  for (const Expr& e : nest.values) count(e);
  return static_cast<int>(nodes.size());
}

}  // namespace frit
