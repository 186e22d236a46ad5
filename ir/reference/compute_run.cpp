#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

#include "ir/reference/node_runs.h"

namespace frit::reference {
namespace {

// Runs `body(begin, end)` over [0, count) in pieces of `grain`, on several threads where there is work for them.
template <class Body>
void parallel_pieces(int64_t count, int64_t grain, double work, Body body) {
  const int64_t pieces = (count + grain - 1) / grain;
  const int64_t wanted = work < 1e6 ? 1 : std::min<int64_t>(pieces, std::thread::hardware_concurrency());
  std::atomic<int64_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto worker = [&] {
    try {
      body([&](int64_t& begin, int64_t& end) {
        begin = next.fetch_add(1) * grain;
        end = std::min(begin + grain, count);
        return begin < count;
      });
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (int64_t t = 1; t < wanted; ++t) threads.emplace_back(worker);
  worker();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

// Evaluates results of a Compute that share their axes.
class ComputeRun {
 public:
  ComputeRun(const Compute& compute, const std::vector<Source>& sources, const std::vector<int64_t>& extents,
             const Symbols& symbols, const std::vector<int>& results)
      : compute_(compute), sources_(sources), symbols_(symbols), results_(results) {
    domain_.extents = extents;
    domain_.free = compute.free;
    for (const int axis : compute.results[static_cast<size_t>(results_[0])].axes) {
      if (axis < compute.free)
        domain_.lane_axes.push_back(axis);
      else
        is_scan_ = true;
      // Elements that a step of the scanned axis moves on by, and the whole axis.
      const int64_t extent = extents[static_cast<size_t>(axis)];
      if (axis >= compute.free)
        scan_inner_ = 1, scan_extent_ = extent;
      else
        scan_inner_ *= extent;
    }
  }

  void run(std::vector<Stored>& out) {
    int64_t lanes = 1, reduced = 1;
    for (const int axis : domain_.lane_axes) lanes *= domain_.extents[static_cast<size_t>(axis)];
    for (size_t a = static_cast<size_t>(domain_.free); a < domain_.extents.size(); ++a) reduced *= domain_.extents[a];
    compile(reduced == 0);
    const double work = static_cast<double>(lanes) * static_cast<double>(std::max<int64_t>(1, reduced)) *
                        static_cast<double>(1 + body_.inner.size() + final_.outer.size());
    parallel_pieces(lanes, kLanes, work, [&](auto next) {
      Machine body(body_, domain_);
      Machine final(final_, domain_);
      int64_t begin = 0, end = 0;
      while (next(begin, end)) run_block(body, final, reduced, begin, static_cast<int>(end - begin), out);
    });
  }

 private:
  bool has_reduction() const { return compute_.reduction.op != ReduceOp::None; }

  // The accumulators that the results need, through the steps of others.
  std::set<int> needed() const {
    std::set<int> found;
    std::vector<Expr> work;
    const auto visit = [&](const Expr& root) {
      for_each_node(root, [&](const Expr& e) {
        if (e.op() == Op::Acc && found.insert(static_cast<int>(e.bits())).second)
          work.push_back(compute_.reduction.step[e.bits()]);
      });
    };
    for (const int r : results_) visit(compute_.results[static_cast<size_t>(r)].value);
    while (!work.empty()) {
      const Expr next = work.back();
      work.pop_back();
      visit(next);
    }
    return found;
  }

  // Over nothing there is no step: what it reads may not exist.
  void compile(bool is_empty) {
    if (has_reduction()) {
      Compiler body(domain_, sources_, symbols_, true);
      for (const int k : needed()) {
        State s;
        s.k = k;
        s.is_float = is_float(compute_.reduction.init[static_cast<size_t>(k)].dtype());
        s.init = body.add(compute_.reduction.init[static_cast<size_t>(k)]);
        const Expr& step = compute_.reduction.step[static_cast<size_t>(k)];
        s.is_sum = s.is_float && compute_.reduction.op == ReduceOp::Sum && step.op() == Op::Add &&
                   step.arg(0) == accumulator(step.dtype(), k);
        if (!is_empty) s.step = body.add(s.is_sum ? step.arg(1) : step);
        states_.push_back(s);
      }
      body_ = body.take();
      for (State& s : states_)
        if (static_cast<size_t>(s.k) < body_.accumulators.size())
          s.in_body = body_.accumulators[static_cast<size_t>(s.k)];
    }
    Compiler final(domain_, sources_, symbols_, is_scan_);
    for (const int r : results_) roots_.push_back(final.add(compute_.results[static_cast<size_t>(r)].value));
    final_ = final.take();
  }

  struct State {
    int k = 0;
    int init = -1, step = -1;
    int in_body = -1;  // register of Acc(k) in the body
    bool is_float = false, is_sum = false;
  };
  struct StateLanes {
    std::vector<double> values, magnitudes, squares;
    std::vector<int64_t> integers;
  };

  static void copy_in(Machine& m, int r, bool is_float, int n, StateLanes& to) {
    const int s = m.stride(r);
    for (int l = 0; l < n; ++l) {
      const auto at = static_cast<size_t>(l);
      if (is_float)
        to.values[at] = m.values(r)[l * s], to.magnitudes[at] = m.magnitudes(r)[l * s];
      else
        to.integers[at] = m.integers(r)[l * s];
    }
  }
  static void copy_out(Machine& m, int r, bool is_float, int n, const StateLanes& from) {
    if (r < 0) return;
    if (is_float) {
      std::copy_n(from.values.begin(), n, m.values(r));
      std::copy_n(from.magnitudes.begin(), n, m.magnitudes(r));
    } else {
      std::copy_n(from.integers.begin(), n, m.integers(r));
    }
  }

  // Own rounding grows with the sum of absolute values; errors that the terms bring are independent of each other.
  static void add_term(Machine& m, int r, int n, StateLanes& to) {
    const int s = m.stride(r);
    const double* v = m.values(r);
    const double* mag = m.magnitudes(r);
    for (int l = 0; l < n; ++l) {
      const auto at = static_cast<size_t>(l);
      const double a = std::fabs(v[l * s]);
      const double extra = mag[l * s] - a;
      to.values[at] += v[l * s];
      to.magnitudes[at] += a;
      to.squares[at] += extra * extra;
    }
  }

  void run_block(Machine& body, Machine& final, int64_t reduced, int64_t first, int n, std::vector<Stored>& out) {
    std::vector<StateLanes> lanes(states_.size());
    if (has_reduction()) {
      body.begin(first, n);
      for (size_t i = 0; i < states_.size(); ++i) {
        lanes[i].values.resize(kLanes);
        lanes[i].magnitudes.resize(kLanes);
        lanes[i].squares.resize(kLanes);
        lanes[i].integers.resize(kLanes);
        copy_in(body, states_[i].init, states_[i].is_float, n, lanes[i]);
      }
      if (reduced > 0) reduce(body, final, first, n, lanes, out);
    }
    if (is_scan_) return;
    final.set_lanes(first, n);
    hand_over(final, n, lanes);
    final.run_outer();
    store(final, first, n, 0, out);
  }

  // The accumulators as the final expressions see them.
  void hand_over(Machine& final, int n, const std::vector<StateLanes>& lanes) {
    for (size_t i = 0; i < states_.size(); ++i) {
      const auto k = static_cast<size_t>(states_[i].k);
      if (k >= final_.accumulators.size()) continue;
      StateLanes seen = lanes[i];
      if (states_[i].is_sum)
        for (size_t l = 0; l < static_cast<size_t>(n); ++l) seen.magnitudes[l] += std::sqrt(seen.squares[l]);
      copy_out(final, final_.accumulators[k], states_[i].is_float, n, seen);
    }
  }

  void store(Machine& final, int64_t first, int n, int64_t step, std::vector<Stored>& out) {
    for (size_t i = 0; i < roots_.size(); ++i) {
      Stored& to = out[static_cast<size_t>(results_[i])];
      const int s = final.stride(roots_[i]);
      for (int l = 0; l < n; ++l) {
        const int64_t lane = first + l;
        const auto at = static_cast<size_t>(
            is_scan_ ? (lane / scan_inner_ * scan_extent_ + step) * scan_inner_ + lane % scan_inner_ : lane);
        if (is_float(to.dtype)) {
          to.values[at] = final.values(roots_[i])[l * s];
          to.magnitudes[at] = final.magnitudes(roots_[i])[l * s];
        } else {
          to.integers[at] = final.integers(roots_[i])[l * s];
        }
      }
    }
  }

  void reduce(Machine& body, Machine& final, int64_t first, int n, std::vector<StateLanes>& lanes,
              std::vector<Stored>& out) {
    std::vector<int64_t> at(domain_.extents.size());
    if (is_scan_) final.begin(first, n);
    while (true) {
      for (size_t i = 0; i < states_.size(); ++i) copy_out(body, states_[i].in_body, states_[i].is_float, n, lanes[i]);
      body.step(at);
      for (size_t i = 0; i < states_.size(); ++i) {
        if (states_[i].is_sum)
          add_term(body, states_[i].step, n, lanes[i]);
        else
          copy_in(body, states_[i].step, states_[i].is_float, n, lanes[i]);
      }
      if (is_scan_) {
        hand_over(final, n, lanes);
        final.step(at);
        store(final, first, n, at.back(), out);
      }
      size_t a = domain_.extents.size();
      while (a > static_cast<size_t>(domain_.free) && ++at[a - 1] == domain_.extents[a - 1]) at[--a] = 0;
      if (a == static_cast<size_t>(domain_.free)) return;
    }
  }

  const Compute& compute_;
  const std::vector<Source>& sources_;
  const Symbols& symbols_;
  const std::vector<int>& results_;
  bool is_scan_ = false;
  int64_t scan_inner_ = 1, scan_extent_ = 1;
  Domain domain_;
  Program body_, final_;
  std::vector<State> states_;
  std::vector<int> roots_;
};

}  // namespace

void run_compute(const Compute& compute, const std::vector<Source>& sources, const std::vector<int64_t>& extents,
                 const Symbols& symbols, const std::vector<int>& results, std::vector<Stored>& out) {
  ComputeRun(compute, sources, extents, symbols, results).run(out);
}

}  // namespace frit::reference
