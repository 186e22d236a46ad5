#include "compiler/plan/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/plan/views.h"
#include "support/error.h"

namespace frit {
namespace {

using runtime::StorageKind;

template <class T>
const T* payload(const Graph& graph, int node) {
  return std::get_if<T>(&graph.node(node).payload);
}

class Placer {
 public:
  Placer(const Graph& graph, const Grouping& grouping) : graph_(graph), grouping_(grouping) {}

  Places run() {
    find_stages();
    find_static();
    find_needed();
    place_outputs();
    for (int node = node_count() - 1; node >= 0; --node) place_backward(node);
    for (int node = 0; node < node_count(); ++node) place_forward(node);
    place_packings();
    order();
    return std::move(out_);
  }

 private:
  int node_count() const { return static_cast<int>(graph_.nodes().size()); }
  static size_t at(int i) { return static_cast<size_t>(i); }

  // Which nodes are computed in memory (roots), inside a kernel only, or are paddings.
  void find_stages() {
    group_of_.assign(at(node_count()), -1);
    in_kernel_.assign(at(node_count()), false);
    padding_.assign(at(node_count()), -1);
    for (size_t g = 0; g < grouping_.groups.size(); ++g) {
      for (const Stage& stage : grouping_.groups[g].stages) {
        if (stage.placement == Placement::Root)
          group_of_[at(stage.node)] = static_cast<int>(g);
        else
          in_kernel_[at(stage.node)] = true;
      }
    }
    for (size_t p = 0; p < grouping_.paddings.size(); ++p)
      padding_[at(grouping_.paddings[p].node)] = static_cast<int>(p);
  }

  void find_static() {
    static_.assign(at(node_count()), false);
    for (int node = 0; node < node_count(); ++node) {
      static_[at(node)] = !std::holds_alternative<Input>(graph_.node(node).payload) && has_static_inputs(node);
    }
    group_static_.assign(grouping_.groups.size(), true);
    for (size_t g = 0; g < grouping_.groups.size(); ++g) {
      for (const Stage& stage : grouping_.groups[g].stages) {
        if (!static_[at(stage.node)]) group_static_[g] = false;
      }
    }
    // A root of a group that runs each time is no constant, whatever it reads; nor is what is made of it.
    for (int node = 0; node < node_count(); ++node) {
      if (group_of_[at(node)] >= 0)
        static_[at(node)] = group_static_[at(group_of_[at(node)])];
      else if (!in_kernel_[at(node)])
        static_[at(node)] = static_[at(node)] && has_static_inputs(node);
    }
  }
  bool has_static_inputs(int node) const {
    const std::vector<Value>& inputs = graph_.node(node).inputs;
    return std::all_of(inputs.begin(), inputs.end(), [&](Value v) { return static_[at(v.node)]; });
  }
  bool is_static(Value v) const { return static_[at(v.node)]; }

  // Values that somebody reads from memory, and everything they are made of.
  void find_needed() {
    for (const Graph::Output& output : graph_.outputs()) needed_.insert(output.value), ++uses_[output.value];
    for (const Node& node : graph_.nodes())
      for (const Value& v : node.inputs) ++uses_[v];
    for (const Group& group : grouping_.groups) {
      std::set<int> inside;
      for (const Stage& stage : group.stages) inside.insert(stage.node);
      for (const Stage& stage : group.stages) {
        for (const Value& v : graph_.node(stage.node).inputs) {
          if (!inside.contains(v.node)) needed_.insert(v);
        }
        if (stage.placement != Placement::Root) continue;
        for (size_t r = 0; r < graph_.node(stage.node).results.size(); ++r) {
          needed_.insert({stage.node, static_cast<int>(r)});
        }
      }
    }
    for (int node = node_count() - 1; node >= 0; --node) {
      if (!needed_.contains({node, 0})) continue;
      if (padding_[at(node)] >= 0) {
        needed_.insert(grouping_.paddings[at(padding_[at(node)])].source);
      } else if (payload<View>(graph_, node) || payload<Assemble>(graph_, node)) {
        needed_.insert(graph_.node(node).inputs.begin(), graph_.node(node).inputs.end());
      }
    }
  }

  std::vector<int64_t> shape_of(Value v) const { return static_shape(graph_.type(v).shape); }
  std::string name_of(Value v) const {
    const std::string& label = graph_.node(v).label;
    if (const Input* input = payload<Input>(graph_, v.node)) return input->name;
    const std::string base = label.empty() ? fmt::format("v{}", v.node) : label;
    return v.result == 0 ? base : fmt::format("{}.{}", base, v.result);
  }
  Layout layout_of(Value v) const {
    const auto found = grouping_.layouts.find(v);
    return found != grouping_.layouts.end() ? found->second : row_major(static_cast<int>(graph_.type(v).shape.size()));
  }
  Storage dense_storage(Value v) const {
    const auto shape = shape_of(v);
    return make_storage(graph_.type(v).dtype, shape, row_major(static_cast<int>(shape.size())));
  }

  int add_block(StorageKind kind, int index, const Storage& storage, bool is_static, std::string name) {
    out_.blocks.push_back({kind, index, storage.elements * size_bytes(storage.dtype), is_static, std::move(name)});
    return static_cast<int>(out_.blocks.size()) - 1;
  }

  // A tensor may be produced at a given place when it is computed (not given), belongs to nobody yet and has no
  // margins or blocks that its readers count on.
  bool may_be_placed(Value v, bool in_static) const {
    if (out_.of.contains(v) || is_static(v) != in_static) return false;
    const bool is_computed = group_of_[at(v.node)] >= 0;
    if (!is_computed && !payload<Assemble>(graph_, v.node) && !payload<View>(graph_, v.node)) return false;
    const Layout layout = layout_of(v);
    return !has_margins(layout) && layout.levels.size() == graph_.type(v).shape.size() && !is_fed_padding(v);
  }
  bool is_fed_padding(Value v) const { return padding_[at(v.node)] >= 0; }

  void place_outputs() {
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Graph::Output& output = graph_.outputs()[i];
      const Storage dense = dense_storage(output.value);
      const int block = add_block(StorageKind::Output, static_cast<int>(i), dense, false, output.name);
      const Place place{block, dense};
      if (may_be_placed(output.value, false))
        out_.of[output.value] = place;
      else
        add_copy(output.value, place, output.name, node_count());
    }
  }

  void add_copy(Value v, const Place& to, const std::string& name, int owner) {
    pending_.push_back({v, identity_view(graph_.type(v).shape), to, name, owner});
  }

  // From users to operands: who owns a place hands parts of it out.
  void place_backward(int node) {
    const Node& n = graph_.node(node);
    if (group_of_[at(node)] >= 0) {
      for (size_t r = 0; r < n.results.size(); ++r) give_block({node, static_cast<int>(r)});
      if (may_write_base(node)) out_.of[n.inputs[0]] = out_.of.at({node, 0});
      return;
    }
    if (payload<Input>(graph_, node)) return give_given(node, StorageKind::Input);  // callers bind them all
    if (!needed_.contains({node, 0}) || padding_[at(node)] >= 0) return;
    if (const Assemble* assemble = payload<Assemble>(graph_, node)) {
      give_block({node, 0});
      place_parts(node, *assemble);
    } else if (const View* view = payload<View>(graph_, node)) {
      if (out_.of.contains({node, 0})) place_base(node, *view);
    } else if (payload<Constant>(graph_, node)) {
      give_given(node, StorageKind::Constant);
    } else {
      FRIT_CHECK(false, fmt::format("node {} \"{}\" is read, but no group computes it", node, n.label));
    }
  }

  // A scatter changes its base where it is if nobody else reads it, nor the scatter itself at other positions.
  bool may_write_base(int node) const {
    const Scatter* scatter = payload<Scatter>(graph_, node);
    if (!scatter) return false;
    const Value base = graph_.node(node).inputs[0];
    if (group_of_[at(base.node)] < 0 || uses_.at(base) != 1 || !may_be_placed(base, static_[at(node)])) return false;
    bool reads_base = false;
    const auto look = [&](const Expr& root) {
      for_each_node(root, [&](const Expr& e) { reads_base = reads_base || (e.op() == Op::Read && e.slot() == 0); });
    };
    look(scatter->value);
    for (const Expr& p : scatter->positions) look(p);
    return !reads_base;
  }

  void give_given(int node, StorageKind kind) {
    const Value v{node, 0};
    const Storage dense = dense_storage(v);
    int index = node;
    if (kind == StorageKind::Input) {
      const auto inputs = graph_.input_nodes();
      index = static_cast<int>(std::find(inputs.begin(), inputs.end(), node) - inputs.begin());
    }
    out_.of[v] = {add_block(kind, index, dense, kind == StorageKind::Constant, name_of(v)), dense};
  }

  void give_block(Value v) {
    if (out_.of.contains(v)) return;
    const Layout layout = layout_of(v);
    const Storage storage = make_storage(graph_.type(v).dtype, shape_of(v), layout);
    out_.of[v] = {add_block(StorageKind::Arena, 0, storage, is_static(v), name_of(v)), storage};
    if (has_margins(layout)) {
      margins_of_[v] = static_cast<int>(out_.margins.size());
      out_.margins.push_back({name_of(v) + ".margins", v, layout});
    }
  }

  void place_parts(int node, const Assemble& assemble) {
    const Value whole{node, 0};
    const Place& place = out_.of.at(whole);
    const bool is_split = std::any_of(place.storage.axes.begin(), place.storage.axes.end(),
                                      [](const Storage::AxisStep& step) { return step.block != 0; });
    FRIT_CHECK(!is_split, "an assembled tensor is stored in blocks");
    const std::vector<Value> inputs = graph_.node(node).inputs;
    for (size_t p = 0; p < inputs.size(); ++p) {
      const Place box{place.block, make_box(place.storage, assemble.parts[p].offset, assemble.parts[p].step)};
      if (may_be_placed(inputs[p], is_static(whole)))
        out_.of[inputs[p]] = box;
      else
        add_copy(inputs[p], box, fmt::format("{}.part{}", name_of(whole), p), node);
    }
  }

  // A view that has a place: its base is produced there, or copied.
  void place_base(int node, const View& view) {
    const Value base = graph_.node(node).inputs[0];
    const Place& place = out_.of.at({node, 0});
    if (may_be_placed(base, is_static({node, 0}))) {
      if (const auto storage = base_storage(view, shape_of(base), place.storage)) {
        out_.of[base] = {place.block, *storage};
        return;
      }
    }
    pending_.push_back({base, view, place, name_of({node, 0}), node});
  }

  // From operands to users: views and paddings of what has a place.
  void place_forward(int node) {
    const Value v{node, 0};
    if (!needed_.contains(v) || out_.of.contains(v)) return;
    if (padding_[at(node)] >= 0) {
      const Grouping::Padding& padding = grouping_.paddings[at(padding_[at(node)])];
      const Place& source = out_.of.at(padding.source);
      out_.of[v] = {source.block, padded_storage(source.storage, padding)};
      return;
    }
    const View* view = payload<View>(graph_, node);
    FRIT_CHECK(view != nullptr, fmt::format("node {} has no place", node));
    const Value base = graph_.node(node).inputs[0];
    const Place& source = out_.of.at(base);
    const bool wants_own = has_margins(layout_of(v));
    if (const auto storage = view_storage(*view, source.storage); storage && !wants_own) {
      out_.of[v] = {source.block, *storage};
      return;
    }
    give_block(v);
    pending_.push_back({base, *view, out_.of.at(v), name_of(v), node});
  }

  void place_packings() {
    for (const Grouping::Packing& packing : grouping_.packings) {
      const Value v = graph_.node(packing.node).inputs[at(packing.slot)];
      const auto found = std::find_if(out_.packed.begin(), out_.packed.end(), [&](const Places::Packed& other) {
        return other.value == v && other.layout == packing.layout;
      });
      out_.packed_read[{packing.node, packing.slot}] = static_cast<int>(found - out_.packed.begin());
      if (found != out_.packed.end()) continue;
      const Storage storage = make_storage(graph_.type(v).dtype, shape_of(v), packing.layout);
      const std::string name = name_of(v) + ".packed";
      const int block = add_block(StorageKind::Arena, 0, storage, is_static(v), name);
      out_.packed.push_back({name, v, packing.layout, {block, storage}});
    }
  }

  // Steps in the order of the groups; everything else as soon as its source is there.
  void order() {
    ready_.clear();
    by_time_.assign(grouping_.groups.size() + 1, {});
    for (int node = 0; node < node_count(); ++node) find_ready(node);
    std::stable_sort(pending_.begin(), pending_.end(),
                     [](const Pending& a, const Pending& b) { return a.owner < b.owner; });
    for (const Pending& pending : pending_) copy_when_ready(pending);
    for (size_t p = 0; p < out_.packed.size(); ++p) {
      const Value v = out_.packed[p].value;
      by_time_[at(ready_.at(v))].push_back({Step::Kind::Pack, static_cast<int>(p), is_static(v)});
    }
    for (size_t g = 0; g <= grouping_.groups.size(); ++g) {
      if (g > 0) add_group(g - 1);
      out_.steps.insert(out_.steps.end(), by_time_[g].begin(), by_time_[g].end());
    }
  }

  // Margins are filled beside the launch before: then one barrier does for both.
  void add_group(size_t g) {
    std::vector<Step> margins;
    for (const Stage& stage : grouping_.groups[g].stages) {
      if (stage.placement != Placement::Root) continue;
      for (size_t r = 0; r < graph_.node(stage.node).results.size(); ++r) {
        const auto found = margins_of_.find({stage.node, static_cast<int>(r)});
        if (found != margins_of_.end()) margins.push_back({Step::Kind::Margins, found->second, group_static_[g]});
      }
    }
    const bool has_earlier = last_group_ < out_.steps.size() && !group_static_[g];
    const auto at = has_earlier ? out_.steps.begin() + static_cast<std::ptrdiff_t>(last_group_) : out_.steps.end();
    out_.steps.insert(at, margins.begin(), margins.end());
    if (!group_static_[g]) last_group_ = out_.steps.size();
    out_.steps.push_back({Step::Kind::Group, static_cast<int>(g), group_static_[g]});
  }

  // The number of groups that must have run before a value is there.
  void find_ready(int node) {
    const Node& n = graph_.node(node);
    int time = 0;
    if (group_of_[at(node)] >= 0) {
      time = group_of_[at(node)] + 1;
    } else if (padding_[at(node)] >= 0) {
      time = ready_.at(grouping_.paddings[at(padding_[at(node)])].source);
    } else {
      for (const Value& v : n.inputs) {
        if (const auto found = ready_.find(v); found != ready_.end()) time = std::max(time, found->second);
      }
    }
    for (size_t r = 0; r < n.results.size(); ++r) ready_[{node, static_cast<int>(r)}] = time;
  }

  struct Pending {
    Value from;
    View view;
    Place to;
    std::string name;
    int owner;  // the node that the copy is for: what it reads is made by earlier ones
  };
  void copy_when_ready(const Pending& pending) {
    const bool to_static = out_.blocks[at(pending.to.block)].is_static;
    out_.copies.push_back(
        {pending.name, pending.view, graph_.type(pending.from).shape, out_.of.at(pending.from), pending.to});
    by_time_[at(ready_.at(pending.from))].push_back(
        {Step::Kind::Copy, static_cast<int>(out_.copies.size()) - 1, to_static});
  }

  const Graph& graph_;
  const Grouping& grouping_;
  Places out_;
  std::vector<int> group_of_, padding_;
  std::vector<bool> in_kernel_, static_, group_static_;
  std::set<Value> needed_;
  std::map<Value, int> uses_;  // as operands and outputs
  std::map<Value, int> margins_of_, ready_;
  std::vector<Pending> pending_;
  std::vector<std::vector<Step>> by_time_;
  size_t last_group_ = SIZE_MAX;  // among the steps: of the latest group that runs each time
};

std::string storage_text(const Storage& storage) {
  std::string text = fmt::format("{} +{}", name(storage.dtype), storage.offset);
  for (const Storage::AxisStep& step : storage.axes) {
    text += step.block == 0 ? fmt::format(" {}", step.stride)
                            : fmt::format(" {}/{}:{}", step.stride, step.block, step.block_stride);
  }
  return text;
}

}  // namespace

Places place(const Graph& graph, const Grouping& grouping) { return Placer(graph, grouping).run(); }

std::string to_string(const Places& places, const Graph& graph) {
  constexpr const char* kKinds[] = {"arena", "constant", "input", "output"};
  std::string text;
  for (size_t i = 0; i < places.blocks.size(); ++i) {
    const Block& block = places.blocks[i];
    text += fmt::format("block {} {} bytes {}{} \"{}\"\n", i, kKinds[static_cast<int>(block.kind)], block.bytes,
                        block.is_static ? " static" : "", block.name);
  }
  for (const auto& [value, place] : places.of) {
    text += fmt::format("place v{}.{} block {} {} # {}\n", value.node, value.result, place.block,
                        storage_text(place.storage), to_string(graph.type(value)));
  }
  for (const Step& step : places.steps) {
    constexpr const char* kSteps[] = {"group", "copy", "pack", "margins"};
    text +=
        fmt::format("step {} {}{}\n", kSteps[static_cast<int>(step.kind)], step.index, step.is_static ? " static" : "");
  }
  return text;
}

}  // namespace frit
