#include "compiler/passes/split_scans.h"

#include <algorithm>

#include "compiler/passes/rewrite_nodes.h"
#include "codegen/lower/flatten.h"
#include "ir/reduction.h"

namespace frit {
namespace {

// One scan cut along its axis.
class Cut {
 public:
  Cut(Graph& out, const Node& node, const Compute& compute, std::vector<Value> inputs)
      : out_(out), node_(node), compute_(compute), inputs_(std::move(inputs)), free_(compute.free) {}

  // Finds the chunks, and whether it is worth it.
  bool plan() {
    if (compute_.reduced() != 1 || compute_.reduction.merge.empty()) return false;
    if (!std::all_of(compute_.results.begin(), compute_.results.end(),
                     [&](const Compute::Result& r) { return compute_.keeps(r); }))
      return false;
    int64_t scans = 1;
    for (int a = 0; a < free_; ++a) scans *= static_extent(compute_.axes[static_cast<size_t>(a)].extent);
    const int64_t extent = static_extent(compute_.axes.back().extent);
    if (scans == 0 || scans >= kFewScans || extent < kLongScan) return false;
    for (chunk_ = kScanChunk; chunk_ > kScanChunk / 2 && extent % chunk_ != 0;) --chunk_;
    if (extent % chunk_ != 0) chunk_ = kScanChunk;
    chunks_ = extent / chunk_;
    rest_ = extent % chunk_;
    return true;
  }

  std::vector<Value> build() {
    carry(states());
    const std::vector<Value> whole = scan(0, chunks_, chunk_);
    if (rest_ == 0) return whole;
    const std::vector<Value> rest = scan(chunks_, 1, rest_);
    std::vector<Value> values;
    for (size_t r = 0; r < compute_.results.size(); ++r) values.push_back(joined(r, whole[r], rest[r]));
    return values;
  }

 private:
  // The compute over chunks [first, first + count) of `length` elements: axes (chunk, free.., element).
  Compute part(int64_t first, int64_t count, int64_t length) const {
    Compute c;
    c.free = free_ + 1;
    c.axes.push_back({"chunk", index_constant(count)});
    c.axes.insert(c.axes.end(), compute_.axes.begin(), compute_.axes.end());
    c.axes.back().extent = index_constant(length);
    c.reduction = compute_.reduction;
    for (auto* list : {&c.reduction.init, &c.reduction.step, &c.reduction.merge})
      for (Expr& e : *list) e = moved(e, first);
    return c;
  }

  Expr moved(const Expr& e, int64_t first) const {
    std::vector<Expr> indices;
    for (int a = 0; a < free_; ++a) indices.push_back(index(a + 1));
    indices.push_back((index(0) + index_constant(first)) * index_constant(chunk_) + index(free_ + 1));
    return substitute_indices(e, indices);
  }

  // The final states of the whole chunks, over (chunk, free..).
  std::vector<Value> states() {
    Compute c = part(0, chunks_, chunk_);
    std::vector<int> axes;
    for (int a = 0; a < c.free; ++a) axes.push_back(a);
    c.results = states_of(c.reduction, axes);
    return added(std::move(c), inputs_, ".chunks");
  }

  // The states before each chunk, over (chunk, free..).
  void carry(const std::vector<Value>& states) {
    Compute c;
    c.free = free_;
    c.axes.assign(compute_.axes.begin(), compute_.axes.end() - 1);
    c.axes.push_back({"chunk", index_constant(chunks_ + (rest_ > 0 ? 1 : 0))});
    const Expr before = index(free_) - index_constant(1);
    std::vector<Expr> positions{before}, right;
    std::vector<int> axes{free_};
    for (int a = 0; a < free_; ++a) positions.push_back(index(a)), axes.push_back(a);
    std::vector<Value> inputs = inputs_;
    for (size_t k = 0; k < states.size(); ++k) {
      const Expr& init = compute_.reduction.init[k];
      const Expr fill = init.is_constant()       ? init
                        : is_float(init.dtype()) ? constant(init.dtype(), 0)
                                                 : constant_int(init.dtype(), 0);
      right.push_back(guarded_read(init.dtype(), static_cast<int>(inputs.size()), positions, true_value(), fill));
      inputs.push_back(states[k]);
    }
    c.reduction = masked(over_states(compute_.reduction, right), binary(Op::Lt, index_constant(0), index(free_)));
    c.results = states_of(c.reduction, axes);
    drop_unused_inputs(c, inputs);
    carried_ = added(std::move(c), std::move(inputs), ".carried");
  }

  // The results over chunks [first, first + count), seen as one axis.
  std::vector<Value> scan(int64_t first, int64_t count, int64_t length) {
    Compute c = part(first, count, length);
    std::vector<Value> inputs = inputs_;
    std::vector<Expr> positions{index(0) + index_constant(first)};
    for (int a = 0; a < free_; ++a) positions.push_back(index(a + 1));
    for (size_t k = 0; k < carried_.size(); ++k) {
      c.reduction.init[k] = read(c.reduction.init[k].dtype(), static_cast<int>(inputs.size()), positions);
      inputs.push_back(carried_[k]);
    }
    c.reduction.op = ReduceOp::Fold;  // it does not start at the identity
    c.reduction.merge.clear();
    for (const Compute::Result& r : compute_.results) {
      c.results.push_back({moved(r.value, first), {}});
      for (const int axis : r.axes) {
        if (axis >= free_) c.results.back().axes.push_back(0);
        c.results.back().axes.push_back(axis + 1);
      }
    }
    drop_unused_inputs(c, inputs);
    std::vector<Value> values = added(std::move(c), std::move(inputs), "");
    for (size_t r = 0; r < values.size(); ++r) values[r] = unchunked(compute_.results[r], values[r], count, length);
    return values;
  }

  Value unchunked(const Compute::Result& result, Value value, int64_t count, int64_t length) {
    View view;
    for (const int axis : result.axes) {
      const Expr at = index(static_cast<int>(view.axes.size()));
      view.axes.push_back(compute_.axes[static_cast<size_t>(axis)]);
      if (axis >= free_) {
        view.axes.back().extent = index_constant(count * length);
        view.positions.push_back(count == 1 ? index_constant(0) : binary(Op::FloorDiv, at, index_constant(length)));
      }
      view.positions.push_back(axis < free_ || count == 1 ? at : binary(Op::Mod, at, index_constant(length)));
    }
    return out_.add_view(std::move(view), value, node_.label);
  }

  Value joined(size_t r, Value whole, Value rest) {
    Assemble assemble;
    assemble.shape = node_.results[r].shape;
    const std::vector<int>& axes = compute_.results[r].axes;
    const auto kept = static_cast<size_t>(std::find(axes.begin(), axes.end(), free_) - axes.begin());
    for (const int64_t start : {int64_t{0}, chunks_ * chunk_}) {
      Assemble::Part part{std::vector<int64_t>(axes.size(), 0), std::vector<int64_t>(axes.size(), 1)};
      part.offset[kept] = start;
      assemble.parts.push_back(std::move(part));
    }
    return out_.add_assemble(std::move(assemble), {whole, rest}, node_.label);
  }

  static std::vector<Compute::Result> states_of(const Reduction& reduction, const std::vector<int>& axes) {
    std::vector<Compute::Result> results;
    for (size_t k = 0; k < reduction.init.size(); ++k)
      results.push_back({accumulator(reduction.init[k].dtype(), static_cast<int>(k)), axes});
    return results;
  }

  std::vector<Value> added(Compute c, std::vector<Value> inputs, const char* suffix) {
    return results_of(out_, out_.add_compute(std::move(c), std::move(inputs), node_.label + suffix));
  }

  Graph& out_;
  const Node& node_;
  const Compute& compute_;
  std::vector<Value> inputs_;
  const int free_;
  int64_t chunk_ = 0, chunks_ = 0, rest_ = 0;
  std::vector<Value> carried_;
};

}  // namespace

Graph split_scans(const Graph& graph) {
  bool has_cut = false;
  const NodeRule cut = [&](Graph& out, const Node& node,
                           const std::vector<Value>& inputs) -> std::optional<std::vector<Value>> {
    const auto* compute = std::get_if<Compute>(&node.payload);
    if (!compute) return std::nullopt;
    Cut scan(out, node, *compute, inputs);
    if (!scan.plan()) return std::nullopt;
    has_cut = true;
    return scan.build();
  };
  Graph out = rewrite_nodes(graph, cut);
  return has_cut ? out : graph;
}

}  // namespace frit
