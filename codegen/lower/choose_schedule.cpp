#include "codegen/lower/choose_schedule.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "support/error.h"

namespace frit {
namespace {

constexpr int kScanRows = 4;     // scans without vectors that run side by side
constexpr int kScanVectors = 8;  // of a scan across long rows: each step goes to other lines and pages

// Relative costs of touching one vector, measured roughly in load slots.
constexpr double kClearlyBetter = 0.9;
constexpr double kCachedElements = 64 * 1024;  // that stay in the second level of cache whatever is walked first
constexpr double kGuard = 1, kContiguous = 1, kBroadcast = 0.5, kPerLane = 1.5, kIrregular = 2.5;

class Chooser {
 public:
  Chooser(const Nest& nest, const Machine& machine) : nest_(nest), machine_(machine), dependences_(nest) { collect(); }

  Schedule run() {
    schedule_.vector_axis = best_vector_axis();
    if (schedule_.vector_axis >= 0) schedule_.lanes = lanes();
    choose_tile();
    choose_order();
    return schedule_;
  }

 private:
  struct Touch {
    uint64_t mask;
    const Access* access;
    bool in_loop;  // touched once for each reduced index
    bool write;
  };

  void collect() {
    const auto note = [&](const Expr& root, bool in_loop) {
      for_each_node(root, [&](const Expr& e) {
        if (e.op() == Op::Read) touches_.push_back({dependences_.of(e), &nest_.reads.at(e.id()), in_loop, false});
      });
    };
    for (const Expr& e : nest_.reduction.step) note(e, true);
    for (size_t k = 0; k < nest_.values.size(); ++k) {
      const Access& w = nest_.writes[k];
      const bool in_loop = nest_.reduced_count() == 0 || nest_.kept[k];
      note(nest_.values[k], in_loop);
      touches_.push_back({dependences_.of_access(w), &w, in_loop, true});
    }
    for (const NestAxis& axis : nest_.axes)
      if (axis.reduced) reduced_size_ *= static_cast<double>(axis.extent);
  }

  // Lanes of the common type: 32 bits, or 64 where everything touched is that wide.
  int lanes() const {
    const bool wide = !touches_.empty() && std::all_of(touches_.begin(), touches_.end(),
                                                       [](const Touch& t) { return size_bytes(t.access->dtype) == 8; });
    return machine_.vector_bytes / (wide ? 8 : 4);
  }

  static bool unit(const Access& access, int a) {
    return access.affine && access.coefficients[static_cast<size_t>(a)] == 1;
  }

  double cost_along(int a) const {
    const NestAxis& axis = nest_.axes[static_cast<size_t>(a)];
    double cost = 0;
    for (const Touch& t : touches_) {
      const double times = t.in_loop ? 1.0 : 1.0 / std::max(1.0, reduced_size_);
      const bool moves = (t.mask >> a & 1) != 0;
      double one = kBroadcast + (t.access->guarded ? kGuard : 0);
      if (moves && unit(*t.access, a))
        one = kContiguous + (t.access->guarded ? kGuard : 0);
      else if (moves && !t.access->affine)
        one = kIrregular * lanes();
      else if (moves)
        one = kPerLane * lanes();
      if (!t.in_loop && axis.reduced) one = kBroadcast;
      cost += one * times;
    }
    const int64_t extent = axis.padded > 0 ? axis.padded : axis.extent;
    const double vectors = std::ceil(static_cast<double>(extent) / lanes());
    const double used = static_cast<double>(axis.extent) / (vectors * lanes());
    double total = cost / used;
    if (axis.reduced) total += 8.0 * cost / vectors;  // merging the lanes, and the masked rest
    return total / lanes();
  }

  int best_vector_axis() const {
    int best = -1;
    double best_cost = 0;
    for (const Touch& t : touches_)
      best_cost += (t.in_loop ? 1.0 : 1.0 / std::max(1.0, reduced_size_)) * (t.access->guarded ? 2 : 1);
    best_cost = std::max(best_cost, 1e-9);
    const bool lanes_may_merge = is_commutative(nest_.reduction) && !nest_.is_scan();
    for (size_t a = 0; a < nest_.axes.size(); ++a) {
      const NestAxis& axis = nest_.axes[a];
      if (axis.outer || axis.extent < 2 || (axis.reduced && !lanes_may_merge)) continue;
      const bool blocked_elsewhere = std::any_of(touches_.begin(), touches_.end(), [&](const Touch& t) {
        return t.access->blocked_axis >= 0 && t.access->blocked_axis != static_cast<int>(a);
      });
      if (blocked_elsewhere) continue;
      const double cost = cost_along(static_cast<int>(a));
      if (cost < best_cost) best_cost = cost, best = static_cast<int>(a);
    }
    // A block can only be walked by vectors.
    for (const Touch& t : touches_)
      if (t.access->blocked_axis >= 0) best = t.access->blocked_axis;
    return best;
  }

  int64_t block_of_vector_axis() const {
    for (const Touch& t : touches_)
      if (t.access->blocked_axis >= 0 && t.access->blocked_axis == schedule_.vector_axis) return t.access->block;
    return 0;
  }

  const NestAxis& axis(int a) const { return nest_.axes[static_cast<size_t>(a)]; }

  void choose_tile() {
    if (schedule_.vector_axis < 0) return choose_scalar_rows();
    const bool reduced_vector = axis(schedule_.vector_axis).reduced;
    const int64_t extent = axis(schedule_.vector_axis).extent;
    const int needed = static_cast<int>((extent + schedule_.lanes - 1) / schedule_.lanes);
    if (nest_.reduced_count() > 0) schedule_.row_axis = best_row_axis();
    if (schedule_.row_axis >= 0 && !reduced_vector && is_sum_of_products(nest_.reduction) && reuses_along_rows()) {
      const Tile tile = choose_product_tile(axis(schedule_.row_axis).extent, extent, 1, schedule_.lanes, machine_);
      schedule_.rows = tile.rows;
      schedule_.vectors = tile.vectors;
    } else if (schedule_.row_axis >= 0) {
      const int64_t rows = axis(schedule_.row_axis).extent;
      schedule_.vectors = std::min(needed, 2);
      schedule_.rows = rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
    } else {
      schedule_.vectors = std::min(needed, nest_.reduced_count() > 0 || expression_size() < 24 ? 4 : 2);
      if (nest_.is_scan() && needed >= 4 * kScanVectors && step_size() < 12) schedule_.vectors = kScanVectors;
      if (schedule_.vectors == 3) schedule_.vectors = 2;
    }
    if (formula_size(nest_) > kLongFormula) schedule_.vectors = schedule_.rows = 1;
    if (const int64_t block = block_of_vector_axis()) {
      schedule_.vectors = static_cast<int>(block / schedule_.lanes);
      FRIT_CHECK(schedule_.vectors >= 1 && block % schedule_.lanes == 0, "blocks are whole vectors");
      if (schedule_.row_axis >= 0 && schedule_.rows > 1)
        schedule_.rows = rows_for(axis(schedule_.row_axis).extent, schedule_.vectors);
    }
    if (schedule_.rows <= 1) schedule_.row_axis = -1, schedule_.rows = 1;
  }

  // A scan waits for its last step: without vectors, rows of several scans fill the time.
  void choose_scalar_rows() {
    if (!nest_.is_scan()) return;
    schedule_.row_axis = best_row_axis();
    if (schedule_.row_axis < 0) return;
    schedule_.rows = static_cast<int>(std::min<int64_t>(axis(schedule_.row_axis).extent, kScanRows));
  }

  int rows_for(int64_t extent, int vectors) const {
    int best = 1;
    double best_cycles = 1e300;
    for (const int rows : row_counts(vectors, machine_)) {
      if (rows > extent) continue;
      const double cycles = row_cycles(extent, rows, vectors);
      if (cycles < best_cycles * kClearlyBetter) best_cycles = cycles, best = rows;
    }
    return best;
  }

  static double row_cycles(int64_t extent, int rows, int vectors) {
    const auto one = [&](int r) { return std::max({r * vectors * 0.5, (r + vectors) * 0.5, 4.0}) + 0.15; };
    const int64_t full = extent / rows;
    const int64_t rest = extent % rows;
    double cycles = static_cast<double>(full) * one(rows);
    if (rows > 4)
      cycles += static_cast<double>(rest / 4) * one(4) + static_cast<double>(rest % 4) * one(1);
    else
      cycles += static_cast<double>(rest) * one(1);
    return cycles;
  }

 public:
  static Tile product_tile(int64_t rows, int64_t columns, int64_t depth, int lanes, const Machine& machine) {
    Tile best;
    best.cycles = 1e300;
    const int64_t needed = (columns + lanes - 1) / lanes;
    // Two vectors as a rule; one where that leaves fewer rows over, four for flat products where the registers allow it.
    // The usual tile comes first: another must be clearly better, or each extent has a text of its own.
    const int usual = row_counts(2, machine).front();
    for (const int vectors : {2, 1, 4}) {
      if (vectors > needed) continue;
      if (vectors == 4 && (rows > usual / 2 || machine.vector_registers < 32)) continue;
      for (const int count : row_counts(vectors, machine)) {
        const bool low = vectors == 1 && needed > 1 && count < row_counts(1, machine).front();
        if (count > rows || low) continue;
        const double panels = std::ceil(static_cast<double>(needed) / vectors);
        const double cycles = panels * row_cycles(rows, count, vectors) * static_cast<double>(depth);
        if (cycles < best.cycles * kClearlyBetter) best = {count, vectors, cycles};
      }
    }
    return best;
  }

  // The heights of tiles of so many vectors: few, so that few texts serve all extents. The highest that fits the
  // registers, half of it, and single rows.
  static std::vector<int> row_counts(int vectors, const Machine& machine) {
    // Accumulators, the vectors of B, one broadcast; a multiply of its own where there is no fma.
    const int others = vectors + (machine.has_fma ? 1 : 2) + (machine.vector_registers == 32 ? 1 : 0);
    const int most = std::min(16, (machine.vector_registers - others) / vectors);
    return {std::max(1, most), std::max(1, most / 2), 1};
  }

 private:
  int step_size() const {
    std::set<const void*> nodes;
    for (const Expr& e : nest_.reduction.step) for_each_node(e, [&](const Expr& x) { nodes.insert(x.id()); });
    return static_cast<int>(nodes.size()) + expression_size();
  }

  int expression_size() const {
    std::set<const void*> nodes;
    for (const Expr& e : nest_.values) for_each_node(e, [&](const Expr& x) { nodes.insert(x.id()); });
    return static_cast<int>(nodes.size());
  }

  // The free axis along which most of the loop's reads stay where they are, so that rows share them; among equals the
  // one that is walked last, and long enough to fill a tile.
  int best_row_axis() const {
    int best = -1;
    double best_score = 0;
    for (size_t a = 0; a < nest_.axes.size(); ++a) {
      const NestAxis& axis = nest_.axes[a];
      if (axis.outer || axis.reduced || static_cast<int>(a) == schedule_.vector_axis || axis.extent < 2) continue;
      int still = 0, moving = 0;
      for (const Touch& t : touches_) {
        if (!t.in_loop) continue;
        if (!t.access->affine) return -1;
        ((t.mask >> a & 1) != 0 ? moving : still) += 1;
      }
      if (moving == 0) continue;
      const double score = 1.0 + 4.0 * still + std::min(1.0, static_cast<double>(axis.extent) / 14.0);
      if (score >= best_score) best_score = score, best = static_cast<int>(a);
    }
    return best;
  }

  bool reuses_along_rows() const {
    return std::any_of(touches_.begin(), touches_.end(),
                       [&](const Touch& t) { return t.in_loop && (t.mask >> schedule_.row_axis & 1) == 0; });
  }

  // Free axes by the stride of the writes, widest first. Products put the panels outermost where the weights are larger
  // than the map, so that workers split them.
  void choose_order() {
    for (size_t a = 0; a < nest_.axes.size(); ++a) {
      if (nest_.axes[a].outer) continue;
      (nest_.axes[a].reduced ? schedule_.reduced_order : schedule_.order).push_back(static_cast<int>(a));
    }
    const Access& first = nest_.writes.front();
    const auto stride = [&](int a) {
      if (a == first.blocked_axis) return first.block_stride;
      return std::abs(first.coefficients[static_cast<size_t>(a)]);
    };
    std::stable_sort(schedule_.order.begin(), schedule_.order.end(),
                     [&](int a, int b) { return stride(a) > stride(b); });
    if (nest_.reduced_count() == 0) order_copy();
    if (schedule_.row_axis >= 0 && schedule_.vector_axis >= 0 && !axis(schedule_.vector_axis).reduced) order_product();
    order_reduced();
  }

  // A copy that gathers: the innermost loop follows the source, so that gathered lines are used up.
  void order_copy() {
    if (schedule_.vector_axis < 0 || nest_.reads.size() != 1 || schedule_.order.size() < 2) return;
    const Access& source = nest_.reads.begin()->second;
    if (!source.affine || unit(source, schedule_.vector_axis)) return;
    const auto source_stride = [&](int a) {
      const int64_t s = std::abs(source.coefficients[static_cast<size_t>(a)]);
      return a == schedule_.vector_axis ? int64_t{1} << 62 : s;
    };
    std::stable_sort(schedule_.order.begin(), schedule_.order.end(),
                     [&](int a, int b) { return source_stride(a) > source_stride(b); });
  }

  void order_product() {
    double map = 1, weights = 1;
    for (const NestAxis& axis : nest_.axes)
      if (!axis.reduced) map *= static_cast<double>(axis.extent);
    weights = reduced_size_ * static_cast<double>(axis(schedule_.vector_axis).extent);
    const int rows = schedule_.row_axis, vectors = schedule_.vector_axis;
    std::erase(schedule_.order, rows);
    std::erase(schedule_.order, vectors);
    const bool streams_weights = weights > std::max(map, kCachedElements);
    if (streams_weights || schedule_.order.empty()) {
      schedule_.order.insert(schedule_.order.begin(), vectors);
      if (!streams_weights) std::swap(schedule_.order.front(), schedule_.order.back());
    } else {
      schedule_.order.push_back(vectors);
    }
    schedule_.order.push_back(rows);
    // Rows and weights both larger than the cache: a block of rows that stays there meets all the weights.
    const double row = reduced_size_ * schedule_.rows;
    const bool large = row * static_cast<double>(axis(rows).extent) / schedule_.rows > kCachedElements;
    if (schedule_.order.size() == 2 && large && weights > kCachedElements)
      schedule_.row_block = std::max(1, static_cast<int>(kCachedElements / row));
  }

  // Reduced axes: the reduced vector axis innermost, else by the stride of the first read, widest first.
  void order_reduced() {
    const auto stride = [&](int a) {
      if (a == schedule_.vector_axis) return int64_t{-1};
      int64_t least = INT64_MAX;
      for (const Touch& t : touches_)
        if (t.in_loop && t.access->affine && t.access->coefficients[static_cast<size_t>(a)] != 0)
          least = std::min(least, std::abs(t.access->coefficients[static_cast<size_t>(a)]));
      return least;
    };
    if (!is_commutative(nest_.reduction) || nest_.is_scan()) return;  // row-major order is part of the meaning
    std::stable_sort(schedule_.reduced_order.begin(), schedule_.reduced_order.end(),
                     [&](int a, int b) { return stride(a) > stride(b); });
  }

  const Nest& nest_;
  const Machine& machine_;
  Dependences dependences_;
  std::vector<Touch> touches_;
  double reduced_size_ = 1;
  Schedule schedule_;
};

}  // namespace

Schedule choose_schedule(const Nest& nest, const Machine& machine) { return Chooser(nest, machine).run(); }

Tile choose_product_tile(int64_t rows, int64_t columns, int64_t depth, int lanes, const Machine& machine) {
  return Chooser::product_tile(rows, columns, depth, lanes, machine);
}

bool is_commutative(const Reduction& reduction) {
  switch (reduction.op) {
    case ReduceOp::None:
    case ReduceOp::Sum:
    case ReduceOp::Prod:
    case ReduceOp::Max:
    case ReduceOp::Min:
    case ReduceOp::Any:
    case ReduceOp::All:
      return true;
    case ReduceOp::ArgMax:
    case ReduceOp::ArgMin:
    case ReduceOp::Fold:
      return false;
  }
  FRIT_UNREACHABLE();
}

bool is_sum_of_products(const Reduction& reduction) {
  if (reduction.step.size() != 1) return false;
  const Expr& step = reduction.step[0];
  if (step.op() == Op::Fma) return step.arg(2).op() == Op::Acc;
  if (step.op() != Op::Add || step.arg(0).op() != Op::Acc) return false;
  return step.arg(1).op() == Op::Mul;
}

}  // namespace frit
