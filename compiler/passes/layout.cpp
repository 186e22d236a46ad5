#include <algorithm>
#include <deque>
#include <set>

#include "codegen/lower/choose_schedule.h"
#include "codegen/lower/flatten.h"
#include "codegen/lower/lower.h"
#include "codegen/lower/nest.h"
#include "compiler/passes/fusion.h"
#include "support/error.h"

namespace frit {
namespace {

constexpr int64_t kRowsPerPacking = 64;  // rows that make up for packing filters in each run

// A sum of products with its operands told apart: `weights` is constant, or the right-hand operand.
struct Anchor {
  int group = 0;
  Flat flat;
  Expr map, weights;          // the Read expressions
  std::set<int> weight_axes;  // axes of the compute that the weights' positions depend on
};

std::set<int> axes_of(const Expr& e) {
  std::set<int> axes;
  for_each_node(e, [&](const Expr& x) {
    if (x.op() == Op::Index) axes.insert(static_cast<int>(x.bits()));
  });
  return axes;
}

std::set<int> axes_of_read(const Expr& read) {
  std::set<int> axes;
  for (const Expr& p : read.positions()) axes.merge(axes_of(p));
  return axes;
}

class LayoutChooser {
 public:
  LayoutChooser(const GraphFacts& facts, Grouping& grouping, const std::vector<bool>& as_margins,
                const Machine& machine)
      : facts_(facts), graph_(facts.graph), grouping_(grouping), as_margins_(as_margins), machine_(machine) {}

  void run() {
    for (size_t g = 0; g < grouping_.groups.size(); ++g) {
      if (!facts_.compute(grouping_.groups[g].root())) continue;
      for (Flat& flat : flatten(graph_, grouping_.groups[g])) flats_.push_back({static_cast<int>(g), std::move(flat)});
    }
    for (const auto& [g, flat] : flats_)
      if (auto anchor = match_anchor(g, flat)) anchors_.push_back(std::move(*anchor));
    for (Anchor& anchor : anchors_) seed(anchor);
    propagate();
    drop_where_flattened();
    write_layouts();
    write_margins();
    for (const Anchor& anchor : anchors_) pack(anchor);
  }

 private:
  static std::optional<Anchor> match_anchor(int group, const Flat& flat) {
    if (!is_sum_of_products(flat.compute.reduction) || flat.compute.is_scan()) return std::nullopt;
    const Expr& step = flat.compute.reduction.step[0];
    const Expr& product = step.op() == Op::Fma ? step : step.arg(1);
    Anchor anchor{group, flat, product.arg(0), product.arg(1), {}};
    if (anchor.map.op() != Op::Read || anchor.weights.op() != Op::Read) return std::nullopt;
    if (anchor.map == anchor.weights) return std::nullopt;  // a sum of squares
    return anchor;
  }

  bool is_constant(const Value& v) const { return std::holds_alternative<Constant>(graph_.node(v).payload); }
  const Value& source(const Flat& flat, const Expr& read) const {
    return flat.inputs[static_cast<size_t>(read.slot())];
  }

  // The tensor behind a padding that became a margin.
  Value stored(Value v) const {
    while (as_margins_[static_cast<size_t>(v.node)]) v = match_padding(graph_, v.node)->source;
    return v;
  }

  int rank(const Value& v) const { return static_cast<int>(graph_.type(v).shape.size()); }

  // May this value be stored as we like?
  bool is_free(const Value& v) const {
    if (facts_.is_output[static_cast<size_t>(v.node)]) return false;
    const Payload& payload = graph_.node(v).payload;
    return std::holds_alternative<Compute>(payload) || std::holds_alternative<Assemble>(payload);
  }

  // Channels last for what a convolution reads and writes: the dim that only its weights index.
  void seed(Anchor& anchor) {
    if (is_constant(source(anchor.flat, anchor.map)) && !is_constant(source(anchor.flat, anchor.weights)))
      std::swap(anchor.map, anchor.weights);
    anchor.weight_axes = axes_of_read(anchor.weights);
    const auto only_weights = [&](const std::set<int>& axes) {
      return !axes.empty() &&
             std::includes(anchor.weight_axes.begin(), anchor.weight_axes.end(), axes.begin(), axes.end());
    };
    const Value map = source(anchor.flat, anchor.map);
    std::vector<int> channels;
    for (int d = 0; d < rank(map); ++d)
      if (only_weights(axes_of(anchor.map.positions()[static_cast<size_t>(d)])) && !is_grouped(anchor, d))
        channels.push_back(d);
    if (rank(map) >= 3 && channels.size() == 1) want(stored(map), channels[0]);
    const Value result{anchor.flat.node, 0};
    std::vector<int> outputs;
    const std::vector<int>& axes = anchor.flat.compute.results[0].axes;
    for (size_t d = 0; d < axes.size(); ++d)
      if (anchor.weight_axes.contains(axes[d])) outputs.push_back(static_cast<int>(d));
    // Groups of few channels fill no vector: their pixels do.
    const int lanes = machine_.vector_bytes / size_bytes(anchor.weights.dtype());
    const auto width = [&](int d) { return extent(anchor.flat, axes[static_cast<size_t>(d)]); };
    const bool few = outputs.size() > 1 && width(outputs.back()) > 1 && width(outputs.back()) < lanes;
    if (rank(result) >= 3 && !outputs.empty() && !few) want(result, outputs.back());
  }

  // Whether a dim of the map holds the channels of several groups: a free and a reduced axis walk it together.
  bool is_grouped(const Anchor& anchor, int d) const {
    bool free = false, reduced = false;
    for (const int a : axes_of(anchor.map.positions()[static_cast<size_t>(d)])) {
      if (extent(anchor.flat, a) > 1) (a < anchor.flat.compute.free ? free : reduced) = true;
    }
    return free && reduced;
  }

  void want(const Value& v, int channel) {
    if (!channel_.contains(v)) {
      channel_[v] = channel;
      work_.push_back(v);
    }
  }

  // Along pointwise chains, windows, paddings and concats that keep the channel where it is.
  void propagate() {
    std::map<Value, std::vector<std::pair<Value, std::map<int, int>>>> edges;
    const auto link = [&](const Value& a, const Value& b, const std::map<int, int>& dims) {
      edges[a].push_back({b, dims});
      std::map<int, int> back;
      for (const auto& [from, to] : dims) back[to] = from;
      edges[b].push_back({a, back});
    };
    for (const auto& [g, flat] : flats_) {
      const std::vector<int>& result_axes = flat.compute.results[0].axes;
      const auto note = [&](const Expr& root) {
        for_each_node(root, [&](const Expr& e) {
          if (e.op() != Op::Read || rank(source(flat, e)) < 3) return;
          std::map<int, int> dims;
          for (size_t d = 0; d < e.positions().size(); ++d) {
            const std::set<int> axes = axes_of(e.positions()[d]);
            for (size_t r = 0; r < result_axes.size(); ++r)
              if (axes.contains(result_axes[r])) dims[static_cast<int>(d)] = static_cast<int>(r);
          }
          link(stored(source(flat, e)), Value{flat.node, 0}, dims);
        });
      };
      for (const Expr& e : flat.compute.reduction.step) note(e);
      note(flat.compute.results[0].value);
    }
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      if (!std::holds_alternative<Assemble>(node.payload)) continue;
      std::map<int, int> same;
      for (int d = 0; d < static_cast<int>(node.results[0].shape.size()); ++d) same[d] = d;
      for (const Value& part : node.inputs) link(stored(part), Value{static_cast<int>(n), 0}, same);
    }
    while (!work_.empty()) {
      const Value v = work_.front();
      work_.pop_front();
      for (const auto& [other, dims] : edges[v]) {
        const auto to = dims.find(channel_.at(v));
        if (to != dims.end() && rank(other) >= 3 && !is_product_result(other)) want(other, to->second);
      }
    }
  }

  bool is_product_result(const Value& v) const {
    return std::any_of(anchors_.begin(), anchors_.end(), [&](const Anchor& a) { return a.flat.node == v.node; });
  }

  Layout channels_last(const Value& v, int channel) const {
    std::vector<int> order;
    for (int d = 0; d < rank(v); ++d)
      if (d != channel) order.push_back(d);
    order.push_back(channel);
    return permuted(order);
  }

  // A read that flattens a tensor (a reshape) walks it straight only as it is stored: such tensors stay row-major.
  void drop_where_flattened() {
    std::set<Value> fixed;
    for (const Node& node : graph_.nodes()) {
      if (!std::holds_alternative<View>(node.payload)) continue;
      fixed.insert(stored(node.inputs[0]));
    }
    for (const auto& [g, flat] : flats_) {
      const auto note = [&](const Expr& root) {
        for_each_node(root, [&](const Expr& e) {
          if (e.op() != Op::Read || e.is_guarded()) return;
          const Value v = source(flat, e);
          const auto wanted = channel_.find(stored(v));
          if (wanted == channel_.end() || as_margins_[static_cast<size_t>(v.node)]) return;
          const std::vector<int64_t> shape = static_shape(graph_.type(v).shape);
          const DType dtype = graph_.type(v).dtype;
          const auto walks = [&](const Layout& layout) {
            return make_access(0, make_storage(dtype, shape, layout), e.positions(), flat.compute).affine;
          };
          if (!walks(channels_last(v, wanted->second)) && walks(row_major(rank(v)))) fixed.insert(stored(v));
        });
      };
      for (const Expr& e : flat.compute.reduction.step) note(e);
      for (const Compute::Result& r : flat.compute.results) note(r.value);
    }
    for (const Value& v : fixed) channel_.erase(v);
  }

  void write_layouts() {
    for (const auto& [v, channel] : channel_)
      if (is_free(v) && channel != rank(v) - 1) grouping_.layouts[v] = channels_last(v, channel);
  }

  void write_margins() {
    for (int node = 0; node < static_cast<int>(as_margins_.size()); ++node) {
      if (!as_margins_[static_cast<size_t>(node)]) continue;
      const PaddingMatch match = *match_padding(graph_, node);
      auto [at, added] = grouping_.layouts.try_emplace(match.source, row_major(rank(match.source)));
      Layout& layout = at->second;
      layout.margins.resize(match.before.size());
      for (size_t d = 0; d < match.before.size(); ++d) {
        layout.margins[d].before = std::max(layout.margins[d].before, match.before[d]);
        layout.margins[d].after = std::max(layout.margins[d].after, match.after[d]);
      }
      layout.fill = match.fill;
      grouping_.paddings.push_back({node, match.source, match.before});
    }
  }

  int64_t extent(const Flat& flat, int axis) const {
    return static_extent(flat.compute.axes[static_cast<size_t>(axis)].extent);
  }

  // The node and slot of the group through which a flat stage reads a value.
  std::optional<std::pair<int, int>> slot_of(int group, const Value& value) const {
    for (const Stage& stage : grouping_.groups[static_cast<size_t>(group)].stages) {
      const std::vector<Value>& inputs = graph_.node(stage.node).inputs;
      for (size_t slot = 0; slot < inputs.size(); ++slot)
        if (inputs[slot] == value) return std::pair(stage.node, static_cast<int>(slot));
    }
    return std::nullopt;
  }

  void pack(const Anchor& anchor) {
    const Value weights = source(anchor.flat, anchor.weights);
    if (element_count(graph_.type(weights).shape) == 0) return;  // sums of nothing
    pack_map(anchor);
    const int lanes = machine_.vector_bytes / size_bytes(anchor.weights.dtype());
    // Dims of the weights: those of output channels (or groups) against reduced ones.
    std::vector<int> outputs, reduced;
    bool plain = true;
    for (int d = 0; d < rank(weights); ++d) {
      const Expr& p = anchor.weights.positions()[static_cast<size_t>(d)];
      const std::set<int> axes = axes_of(p);
      const bool free = std::any_of(axes.begin(), axes.end(), [&](int a) { return a < anchor.flat.compute.free; });
      (free ? outputs : reduced).push_back(d);
      if (free) plain = plain && p.op() == Op::Index;
    }
    if (outputs.empty()) return;
    const auto [rows, total_rows] = row_extents(anchor);
    if (total_rows < 4) return;  // a vector times a matrix: weights are read once, as they are stored
    const bool one_output = outputs.size() == 1 && plain && !shared_axis(anchor, outputs[0]);
    // Filters that change each time are packed each time, where enough rows read them and lanes would be gathered.
    const bool gathers = one_output && reduced.size() > 1 && outputs[0] + 1 != rank(weights);
    if (!is_constant(weights) && (!gathers || total_rows < kRowsPerPacking || is_padding(weights))) return;
    order_as_map(anchor, reduced);
    Layout layout;
    if (one_output) {
      const int64_t columns = static_extent(graph_.type(weights).shape[static_cast<size_t>(outputs[0])]);
      const Tile tile = choose_product_tile(rows, columns, 1, lanes, machine_);
      layout.levels.push_back({outputs[0], int64_t{tile.vectors} * lanes});
    }
    for (const int d : reduced) layout.levels.push_back({d, 1});
    for (const int d : outputs) layout.levels.push_back({d, 1});
    if (const auto at = slot_of(anchor.group, weights))
      grouping_.packings.push_back({at->first, at->second, std::move(layout)});
  }

  bool is_padding(const Value& v) const { return as_margins_[static_cast<size_t>(v.node)]; }

  // Whether the output dim of the weights is also an axis of the map (depthwise, groups).
  bool shared_axis(const Anchor& anchor, int d) const {
    const std::set<int> map_axes = axes_of_read(anchor.map);
    for (const int a : axes_of(anchor.weights.positions()[static_cast<size_t>(d)]))
      if (map_axes.contains(a) && extent(anchor.flat, a) > 1) return true;
    return false;
  }

  // Rows of the product: the axis that is walked in tiles, and all of them together.
  std::pair<int64_t, int64_t> row_extents(const Anchor& anchor) const {
    const auto has_window = [&](const Expr& p) {
      int moving = 0;
      for (const int a : axes_of(p)) moving += extent(anchor.flat, a) > 1;
      return moving > 1;
    };
    const auto& positions = anchor.map.positions();
    const bool window = std::any_of(positions.begin(), positions.end(), has_window);
    int64_t last = 1, total = 1;
    for (int a = 0; a < anchor.flat.compute.free; ++a) {
      if (anchor.weight_axes.contains(a)) continue;
      total *= extent(anchor.flat, a);
      if (extent(anchor.flat, a) > 1) last = extent(anchor.flat, a);
    }
    return {window ? last : total, total};
  }

  // Reduced dims of the weights in the order in which the map stores what they walk, so that runs join.
  void order_as_map(const Anchor& anchor, std::vector<int>& dims) const {
    const Value map = source(anchor.flat, anchor.map);
    const auto found = grouping_.layouts.find(stored(map));
    Layout layout = found != grouping_.layouts.end() ? found->second : row_major(rank(map));
    if (const auto packed = packed_maps_.find({anchor.group, map}); packed != packed_maps_.end())
      layout = packed->second;
    const auto place = [&](int d) {
      const std::set<int> axes = axes_of(anchor.weights.positions()[static_cast<size_t>(d)]);
      for (size_t level = 0; level < layout.levels.size(); ++level) {
        const std::set<int> there = axes_of(anchor.map.positions()[static_cast<size_t>(layout.levels[level].axis)]);
        if (std::any_of(axes.begin(), axes.end(), [&](int a) { return there.contains(a); }))
          return static_cast<int>(level);
      }
      return -1;
    };
    std::stable_sort(dims.begin(), dims.end(), [&](int a, int b) { return place(a) < place(b); });
  }

  // A convolution that reads a caller's array, not channels last, reads a copy that is.
  void pack_map(const Anchor& anchor) {
    const Value map = source(anchor.flat, anchor.map);
    const auto wanted = channel_.find(map);
    if (wanted == channel_.end() || is_free(map) || wanted->second == rank(map) - 1 ||
        as_margins_[static_cast<size_t>(map.node)])
      return;
    if (is_constant(map)) return;
    const Layout layout = channels_last(map, wanted->second);
    if (const auto at = slot_of(anchor.group, map)) {
      grouping_.packings.push_back({at->first, at->second, layout});
      packed_maps_[{anchor.group, map}] = layout;
    }
  }

  const GraphFacts& facts_;
  const Graph& graph_;
  Grouping& grouping_;
  const std::vector<bool>& as_margins_;
  const Machine& machine_;
  std::vector<std::pair<int, Flat>> flats_;
  std::vector<Anchor> anchors_;
  std::map<Value, int> channel_;  // values that want this dim innermost
  std::deque<Value> work_;
  std::map<std::pair<int, Value>, Layout> packed_maps_;
};

}  // namespace

void choose_layouts(const GraphFacts& facts, Grouping& grouping, const std::vector<bool>& as_margins,
                    const Machine& machine) {
  LayoutChooser(facts, grouping, as_margins, machine).run();
}

}  // namespace frit
