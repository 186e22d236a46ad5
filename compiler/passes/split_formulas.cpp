#include "compiler/passes/split_formulas.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include "codegen/lower/flatten.h"
#include "compiler/passes/rewrite_nodes.h"

namespace frit {
namespace {

// One compute that reads too many tensors, rebuilt bottom up.
class Cutter {
 public:
  Cutter(Graph& out, const Node& node, const Compute& compute, std::vector<Value> inputs)
      : out_(out), node_(node), compute_(compute), inputs_(std::move(inputs)) {}

  Value run() {
    Compute result = compute_;
    for (Compute::Result& r : result.results) r.value = rebuilt(r.value);
    return add(std::move(result));
  }

 private:
  using Slots = std::set<int>;

  Expr rebuilt(const Expr& root) {
    for_each_node(root, [&](const Expr& e) {
      if (done_.contains(e)) return;
      std::vector<Expr> args;
      for (const Expr& arg : e.args()) args.push_back(done_.at(arg));
      while (slots_of(e, args).size() > kMostReads && cut_largest(args)) {
      }
      const bool same = std::equal(args.begin(), args.end(), e.args().begin());
      const Expr made = same ? e : Expr::make(e.op(), e.dtype(), args, e.bits());
      slots_[made] = slots_of(made, args);
      done_.emplace(e, made);
    });
    return done_.at(root);
  }

  Slots slots_of(const Expr& e, const std::vector<Expr>& args) const {
    Slots all;
    if (e.op() == Op::Read) all.insert(e.slot());
    for (const Expr& arg : args) {
      const Slots& of = slots_.at(arg);
      all.insert(of.begin(), of.end());
    }
    return all;
  }

  // Stores the argument that reads the most tensors, where that is more than one.
  bool cut_largest(std::vector<Expr>& args) {
    Expr* largest = nullptr;
    for (Expr& arg : args)
      if (arg.dtype() == compute_dtype(arg.dtype()) && slots_.at(arg).size() > 1 &&
          (!largest || slots_.at(arg).size() > slots_.at(*largest).size()))
        largest = &arg;
    if (!largest) return false;
    const Expr cut = *largest;
    if (const auto known = stored_.find(cut); known != stored_.end()) {
      *largest = known->second;
      return true;
    }
    Compute part;
    part.axes = compute_.axes;
    part.free = compute_.free;
    std::vector<int> axes(static_cast<size_t>(compute_.free));
    std::iota(axes.begin(), axes.end(), 0);
    part.results.push_back({cut, axes});
    inputs_.push_back(add(std::move(part)));
    std::vector<Expr> indices;
    for (const int a : axes) indices.push_back(index(a));
    const Expr whole = read(cut.dtype(), static_cast<int>(inputs_.size()) - 1, indices);
    for (const Expr& i : indices) slots_.emplace(i, Slots{});
    slots_[whole] = {static_cast<int>(inputs_.size()) - 1};
    stored_.emplace(cut, whole);
    *largest = whole;
    return true;
  }

  // The compute over those inputs alone that it reads.
  Value add(Compute compute) {
    std::vector<Value> used = inputs_;
    drop_unused_inputs(compute, used);
    return out_.add_compute(std::move(compute), std::move(used), node_.label);
  }

  Graph& out_;
  const Node& node_;
  const Compute& compute_;
  std::vector<Value> inputs_;  // of the old compute, then the parts
  std::unordered_map<Expr, Expr, ExprHash> done_, stored_;
  std::unordered_map<Expr, Slots, ExprHash> slots_;
};

}  // namespace

Graph split_formulas(const Graph& graph) {
  const NodeRule cut = [](Graph& out, const Node& node,
                          const std::vector<Value>& inputs) -> std::optional<std::vector<Value>> {
    const auto* compute = std::get_if<Compute>(&node.payload);
    const bool many = compute && compute->reduced() == 0 && compute->reduction.op == ReduceOp::None &&
                      inputs.size() > 2 * kMostReads;
    if (!many) return std::nullopt;
    return results_of(out, Cutter(out, node, *compute, inputs).run());
  };
  return rewrite_nodes(graph, cut);
}

}  // namespace frit
