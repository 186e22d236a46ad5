#include "compiler/passes/split_reductions.h"

#include <algorithm>

#include "compiler/passes/rewrite_nodes.h"
#include "codegen/lower/flatten.h"

namespace frit {
namespace {

constexpr int64_t kMaxResults = 256;  // with more results than this workers have enough to share, and K stays whole

Expr move_slots(const Expr& e, std::span<const Expr> indices) {
  return rewrite(e, [&](const Expr& x) -> Expr {
    if (x.op() == Op::Index) return indices[x.bits()];
    if (is_binary(x.op()) && is_integer(x.dtype()) && !is_comparison(x.op())) return binary(x.op(), x.arg(0), x.arg(1));
    return {};
  });
}

// One reduction cut along its outermost reduced axis that is longer than one.
class Cut {
 public:
  Cut(Graph& out, const Node& node, const Compute& compute, std::vector<Value> inputs)
      : out_(out), node_(node), compute_(compute), inputs_(std::move(inputs)) {}

  // Finds the axis, its chunk, and whether it is worth it.
  bool plan() {
    if (compute_.reduced() == 0 || compute_.reduction.merge.empty() || compute_.is_scan()) return false;
    int64_t results = 1, total = 1;
    for (size_t a = 0; a < compute_.axes.size(); ++a) {
      const int64_t extent = static_extent(compute_.axes[a].extent);
      if (extent == 0) return false;
      (static_cast<int>(a) < compute_.free ? results : total) *= extent;
      if (static_cast<int>(a) >= compute_.free && axis_ < 0 && extent > 1) axis_ = static_cast<int>(a);
    }
    if (axis_ < 0 || total < kLongReduction || results > kMaxResults) return false;
    const int64_t extent = static_extent(compute_.axes[static_cast<size_t>(axis_)].extent);
    const int64_t inner = total / extent;
    chunk_ = std::max<int64_t>(1, kReductionChunk / inner);
    if (chunk_ >= extent) return false;
    chunk_ = best_divisor(extent, chunk_);
    chunks_ = extent / chunk_;
    rest_ = extent % chunk_;
    return chunks_ > 1;
  }

  std::vector<Value> build() {
    std::vector<std::vector<Value>> partials{part(0, chunks_, chunk_)};
    if (rest_ > 0) partials.push_back(part(chunks_ * chunk_, 1, rest_));
    std::vector<Value> states;
    for (size_t k = 0; k < compute_.reduction.init.size(); ++k) states.push_back(join(partials, k));
    return merge(states);
  }

 private:
  // A chunk length near `wanted` that divides, or `wanted` itself.
  static int64_t best_divisor(int64_t extent, int64_t wanted) {
    for (int64_t q = wanted; q >= std::max<int64_t>(1, wanted / 2); --q)
      if (extent % q == 0) return q;
    return wanted;
  }

  // States of `count` chunks of `length` from `start`: axes (chunk, free.., reduced..), one result per accumulator.
  std::vector<Value> part(int64_t start, int64_t count, int64_t length) {
    Compute c;
    c.free = compute_.free + 1;
    c.axes.push_back({"chunk", index_constant(count)});
    for (const Axis& axis : compute_.axes) c.axes.push_back(axis);
    c.axes[static_cast<size_t>(axis_) + 1].extent = index_constant(length);
    std::vector<Expr> indices;
    for (size_t a = 0; a < compute_.axes.size(); ++a) indices.push_back(index(static_cast<int>(a) + 1));
    indices[static_cast<size_t>(axis_)] = index(0) * index_constant(length) + index(axis_ + 1) + index_constant(start);
    c.reduction = compute_.reduction;
    for (auto* list : {&c.reduction.init, &c.reduction.step, &c.reduction.merge})
      for (Expr& e : *list) e = move_slots(e, indices);
    std::vector<int> axes;
    for (int a = 0; a < c.free; ++a) axes.push_back(a);
    for (size_t k = 0; k < c.reduction.init.size(); ++k)
      c.results.push_back({accumulator(c.reduction.init[k].dtype(), static_cast<int>(k)), axes});
    const Value first = out_.add_compute(std::move(c), inputs_, node_.label + ".chunks");
    std::vector<Value> values;
    for (size_t k = 0; k < compute_.reduction.init.size(); ++k) values.push_back({first.node, static_cast<int>(k)});
    return values;
  }

  Value join(const std::vector<std::vector<Value>>& partials, size_t k) {
    if (partials.size() == 1) return partials[0][k];
    Assemble assemble;
    assemble.shape = out_.type(partials[0][k]).shape;
    assemble.shape[0] = index_constant(chunks_ + 1);
    const size_t rank = assemble.shape.size();
    for (const int64_t start : {int64_t{0}, chunks_}) {
      Assemble::Part part{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 1)};
      part.offset[0] = start;
      assemble.parts.push_back(std::move(part));
    }
    return out_.add_assemble(std::move(assemble), {partials[0][k], partials[1][k]}, node_.label + ".partials");
  }

  std::vector<Value> merge(const std::vector<Value>& states) {
    Compute c = compute_;
    c.axes.resize(static_cast<size_t>(compute_.free));
    c.axes.push_back({"chunk", index_constant(chunks_ + (rest_ > 0 ? 1 : 0))});
    std::vector<Value> inputs = inputs_;
    std::vector<Expr> right;
    for (size_t k = 0; k < states.size(); ++k) {
      std::vector<Expr> positions{index(compute_.free)};
      for (int a = 0; a < compute_.free; ++a) positions.push_back(index(a));
      right.push_back(read(compute_.reduction.init[k].dtype(), static_cast<int>(inputs.size()), positions));
      inputs.push_back(states[k]);
    }
    for (size_t k = 0; k < states.size(); ++k)
      c.reduction.step[k] = rewrite(compute_.reduction.merge[k], [&](const Expr& e) -> Expr {
        return e.op() == Op::AccRight ? right[e.bits()] : Expr();
      });
    drop_unused_inputs(c, inputs);
    return results_of(out_, out_.add_compute(std::move(c), std::move(inputs), node_.label));
  }

  Graph& out_;
  const Node& node_;
  const Compute& compute_;
  std::vector<Value> inputs_;
  int axis_ = -1;
  int64_t chunk_ = 0, chunks_ = 0, rest_ = 0;
};

// Cuts every reduction once, along one axis.
Graph cut_once(const Graph& graph) {
  const NodeRule cut = [](Graph& out, const Node& node,
                          const std::vector<Value>& inputs) -> std::optional<std::vector<Value>> {
    const auto* compute = std::get_if<Compute>(&node.payload);
    if (!compute) return std::nullopt;
    Cut reduction(out, node, *compute, inputs);
    if (!reduction.plan()) return std::nullopt;
    return reduction.build();
  };
  return rewrite_nodes(graph, cut);
}

}  // namespace

Graph split_reductions(const Graph& graph) {
  Graph before = graph;
  while (true) {
    Graph after = cut_once(before);
    if (after.nodes().size() == before.nodes().size()) return before;
    before = std::move(after);
  }
}

}  // namespace frit
