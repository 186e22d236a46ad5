// Nodes whose meaning is an order: writes one after another, and sorting.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/reference/node_runs.h"
#include "ir/scalar.h"
#include "support/error.h"

namespace frit::reference {
namespace {

Op combiner(ScatterOp op) {
  switch (op) {
    case ScatterOp::Set:
      return Op::Const;
    case ScatterOp::Add:
      return Op::Add;
    case ScatterOp::Mul:
      return Op::Mul;
    case ScatterOp::Max:
      return Op::Max;
    case ScatterOp::Min:
      return Op::Min;
  }
  FRIT_UNREACHABLE();
}

class ScatterRun {
 public:
  ScatterRun(const Scatter& scatter, const std::vector<Source>& sources, const Stored& base,
             const std::vector<int64_t>& extents, const Symbols& symbols)
      : scatter_(scatter), out_(make_stored(base.dtype, base.shape)) {
    domain_.extents = extents;
    domain_.free = static_cast<int>(extents.size());
    domain_.lane_axes.resize(extents.size());
    std::iota(domain_.lane_axes.begin(), domain_.lane_axes.end(), 0);
    Compiler compiler(domain_, sources, symbols, false);
    for (const Expr& p : scatter.positions) positions_.push_back(compiler.add(p));
    value_ = compiler.add(scatter.value);
    program_ = compiler.take();
    copy_base(base);
    writes_.resize(static_cast<size_t>(out_.size));
  }

  Stored run() {
    const int64_t count =
        std::accumulate(domain_.extents.begin(), domain_.extents.end(), int64_t{1}, std::multiplies<>());
    Machine machine(program_, domain_);
    for (int64_t first = 0; first < count; first += kLanes) {
      const int n = static_cast<int>(std::min<int64_t>(kLanes, count - first));
      machine.begin(first, n);
      for (int l = 0; l < n; ++l) write(machine, l);
    }
    finish();
    return std::move(out_);
  }

 private:
  void copy_base(const Stored& base) {
    if (!is_float(base.dtype)) {
      out_.integers = base.integers;
      return;
    }
    const ReferenceTensor values = to_reference(base);
    out_.values = values.values;
    out_.magnitudes = values.magnitudes;
    out_.terms = base.terms;
  }

  void write(Machine& m, int l) {
    int64_t offset = 0;
    for (size_t d = 0; d < positions_.size(); ++d) {
      const int64_t at = m.integers(positions_[d])[l * m.stride(positions_[d])];
      if (at < 0 || at >= out_.shape[d]) return;
      offset = offset * out_.shape[d] + at;
    }
    const auto at = static_cast<size_t>(offset);
    ++writes_[at];
    const Op op = combiner(scatter_.op);
    const int lane = l * m.stride(value_);
    if (!is_float(out_.dtype)) {
      const int64_t v = m.integers(value_)[lane];
      int64_t& to = out_.integers[at];
      to = scatter_.op == ScatterOp::Set ? v : eval_int_binary(op, out_.dtype, to, v);
      return;
    }
    const double v = m.values(value_)[lane], magnitude = m.magnitudes(value_)[lane];
    double &to = out_.values[at], &to_magnitude = out_.magnitudes[at];
    to = scatter_.op == ScatterOp::Set ? v : eval_float_binary(op, to, v);
    if (scatter_.op == ScatterOp::Add)
      to_magnitude += magnitude;
    else if (scatter_.op == ScatterOp::Mul)
      to_magnitude *= magnitude;
    else
      to_magnitude = scatter_.op == ScatterOp::Set ? magnitude : std::max(to_magnitude, magnitude);
  }

  // Rounds to storage, once.
  void finish() {
    const int64_t most = writes_.empty() ? 0 : *std::max_element(writes_.begin(), writes_.end());
    if (scatter_.op == ScatterOp::Add || scatter_.op == ScatterOp::Mul) out_.terms = std::max(out_.terms, most + 1);
    if (compute_dtype(out_.dtype) != out_.dtype)
      for (double& v : out_.values) v = round_to_float(out_.dtype, v);
  }

  const Scatter& scatter_;
  Stored out_;
  Domain domain_;
  Program program_;
  std::vector<int> positions_;
  int value_ = -1;
  std::vector<int64_t> writes_;
};

// Whether a comes before b. NaN is last in either order.
bool before(const Stored& s, bool descending, size_t a, size_t b, const std::vector<double>& values) {
  if (is_float(s.dtype)) {
    const double x = values[a], y = values[b];
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
    return descending ? x > y : x < y;
  }
  const int64_t x = s.integers[a], y = s.integers[b];
  return descending ? eval_int_compare(Op::Lt, s.dtype, y, x) : eval_int_compare(Op::Lt, s.dtype, x, y);
}

}  // namespace

Stored run_scatter(const Scatter& scatter, const std::vector<Source>& sources, const Stored& base,
                   const std::vector<int64_t>& extents, const Symbols& symbols) {
  return ScatterRun(scatter, sources, base, extents, symbols).run();
}

std::vector<Stored> run_sort(const Sort& sort, const Stored& input) {
  const ReferenceTensor from = to_reference(input);
  std::vector<Stored> results;
  results.push_back(make_stored(input.dtype, input.shape));
  results.push_back(make_stored(DType::I64, input.shape));
  results[0].terms = input.terms;
  if (input.size == 0) return results;
  const auto extent = static_cast<size_t>(input.shape[static_cast<size_t>(sort.axis)]);
  size_t inner = 1;
  for (size_t d = static_cast<size_t>(sort.axis) + 1; d < input.shape.size(); ++d)
    inner *= static_cast<size_t>(input.shape[d]);
  std::vector<size_t> order(extent);
  for (size_t row = 0; row < static_cast<size_t>(input.size) / extent; ++row) {
    const size_t first = row / inner * inner * extent + row % inner;
    for (size_t t = 0; t < extent; ++t) order[t] = first + t * inner;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return before(input, sort.descending, a, b, from.values); });
    for (size_t t = 0; t < extent; ++t) {
      const size_t to = first + t * inner, source = order[t];
      results[1].integers[to] = static_cast<int64_t>((source - first) / inner);
      if (is_float(input.dtype)) {
        results[0].values[to] = from.values[source];
        results[0].magnitudes[to] = from.magnitudes[source];
      } else {
        results[0].integers[to] = input.integers[source];
      }
    }
  }
  return results;
}

}  // namespace frit::reference
