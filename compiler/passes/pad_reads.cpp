#include "compiler/passes/pad_reads.h"

#include <algorithm>
#include <map>
#include <optional>

#include "codegen/lower/choose_schedule.h"
#include "codegen/lower/flatten.h"
#include "ir/analysis.h"

namespace frit {
namespace {

constexpr int64_t kSmall = 16384;  // elements: a padded tensor of this size is always small enough

struct Widths {
  std::vector<int64_t> before, after;
};

// A tensor of the old graph with what stands around it.
struct Padding {
  Value source;
  Expr fill;
  bool operator<(const Padding& other) const {
    return source != other.source ? source < other.source : fill.hash() < other.fill.hash();
  }
};

class Padder {
 public:
  explicit Padder(const Graph& graph) : graph_(graph), moved_(graph.nodes().size()) {}

  Graph run() {
    for (const Node& node : graph_.nodes())
      for_each_padded(node, [&](const Expr& e, const Widths& widths) { widen(wanted_[padding_of(node, e)], widths); });
    std::erase_if(wanted_, [&](const auto& entry) { return !is_small_enough(entry.first.source, entry.second); });
    if (wanted_.empty()) return graph_;
    for (size_t n = 0; n < graph_.nodes().size(); ++n) moved_[n] = out_.add(rewritten(graph_.nodes()[n])).node;
    for (const Graph::Output& o : graph_.outputs()) out_.add_output(o.name, at(o.value));
    return std::move(out_);
  }

 private:
  Value at(const Value& v) const { return {moved_[static_cast<size_t>(v.node)], v.result}; }
  static Padding padding_of(const Node& node, const Expr& e) {
    return {node.inputs[static_cast<size_t>(e.slot())], e.fill()};
  }

  // The guarded reads in the loop of a sum of products that a padded tensor may serve.
  template <class Visit>
  void for_each_padded(const Node& node, Visit visit) const {
    const auto* compute = std::get_if<Compute>(&node.payload);
    if (!compute || !is_sum_of_products(compute->reduction)) return;
    IndexAnalysis analysis(compute->axes);
    for_each_node(compute->reduction.step[0], [&](const Expr& e) {
      if (e.op() != Op::Read) return;
      if (const auto widths = widths_of(node, *compute, e, analysis)) visit(e, *widths);
    });
  }

  // How far a read reaches beyond its tensor, where only its positions guard it.
  std::optional<Widths> widths_of(const Node& node, const Compute& compute, const Expr& e,
                                  IndexAnalysis& analysis) const {
    if (!e.is_guarded() || !e.guard_condition().is_constant(1) || !e.fill().is_constant()) return std::nullopt;
    const Shape& shape = graph_.type(node.inputs[static_cast<size_t>(e.slot())]).shape;
    Widths widths;
    for (size_t d = 0; d < shape.size(); ++d) {
      const Range range = analysis.range(e.positions()[d]);
      const bool bounded = range.low > -(int64_t{1} << 40) && range.high < int64_t{1} << 40;
      if (!shape[d].is_constant() || !bounded || !affine(e.positions()[d], compute.axes.size())) return std::nullopt;
      widths.before.push_back(std::max<int64_t>(0, -range.low));
      widths.after.push_back(std::max<int64_t>(0, range.high - (shape[d].int_value() - 1)));
    }
    return widths;
  }

  static void widen(Widths& to, const Widths& widths) {
    to.before.resize(widths.before.size());
    to.after.resize(widths.after.size());
    for (size_t d = 0; d < widths.before.size(); ++d) {
      to.before[d] = std::max(to.before[d], widths.before[d]);
      to.after[d] = std::max(to.after[d], widths.after[d]);
    }
  }

  bool is_small_enough(const Value& source, const Widths& widths) const {
    double elements = 1, padded = 1;
    const Shape& shape = graph_.type(source).shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      elements *= static_cast<double>(shape[d].int_value());
      padded *= static_cast<double>(shape[d].int_value() + widths.before[d] + widths.after[d]);
    }
    return padded <= std::max<double>(kSmall, kMaxPaddedGrowth * elements);
  }

  Node rewritten(const Node& node) {
    Node copy = node;
    for (Value& v : copy.inputs) v = at(v);
    auto* compute = std::get_if<Compute>(&copy.payload);
    std::map<const void*, Expr> replaced;
    for_each_padded(node, [&](const Expr& e, const Widths&) {
      const auto wanted = wanted_.find(padding_of(node, e));
      if (wanted == wanted_.end()) return;
      std::vector<Expr> positions;
      for (size_t d = 0; d < e.positions().size(); ++d)
        positions.push_back(e.positions()[d] + index_constant(wanted->second.before[d]));
      IndexAnalysis analysis(compute->axes);
      for (Expr& p : positions) p = analysis.simplify(p);
      replaced.emplace(e.id(), read(e.dtype(), static_cast<int>(copy.inputs.size()), positions));
      copy.inputs.push_back(padded(wanted->first, wanted->second));
    });
    if (replaced.empty()) return copy;
    rewrite_reads(*compute, [&](const Expr& e) {
      const auto found = replaced.find(e.id());
      return found != replaced.end() ? found->second : Expr();
    });
    drop_unused_inputs(*compute, copy.inputs);
    return copy;
  }

  // The padded tensor, made at its first use.
  Value padded(const Padding& padding, const Widths& widths) {
    const auto [made, added] = made_.try_emplace(padding);
    if (!added) return made->second;
    const TensorType& type = graph_.type(padding.source);
    Compute c;
    std::vector<Expr> positions;
    std::vector<int> axes;
    for (size_t d = 0; d < type.shape.size(); ++d) {
      axes.push_back(static_cast<int>(d));
      c.axes.push_back(
          {"i" + std::to_string(d), index_constant(type.shape[d].int_value() + widths.before[d] + widths.after[d])});
      positions.push_back(index(static_cast<int>(d)) - index_constant(widths.before[d]));
    }
    c.free = static_cast<int>(axes.size());
    c.results.push_back(
        {cast(guarded_read(padding.fill.dtype(), 0, positions, true_value(), padding.fill), type.dtype), axes});
    const std::string& label = graph_.node(padding.source).label;
    const auto* input = std::get_if<Input>(&graph_.node(padding.source).payload);
    return made->second =
               out_.add_compute(std::move(c), {at(padding.source)}, (input ? input->name : label) + ".padded");
  }

  const Graph& graph_;
  Graph out_;
  std::vector<int> moved_;
  std::map<Padding, Widths> wanted_;
  std::map<Padding, Value> made_;
};

}  // namespace

Graph pad_reads(const Graph& graph) { return Padder(graph).run(); }

}  // namespace frit
