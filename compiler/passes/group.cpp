#include "compiler/passes/group.h"

#include <algorithm>
#include <set>

#include "codegen/lower/choose_schedule.h"
#include "codegen/lower/flatten.h"
#include "codegen/lower/nest.h"
#include "compiler/passes/fusion.h"
#include "support/error.h"

namespace frit {
namespace {

// Limits of one kernel (INVARIANTS 24); inlining stops well before them.
constexpr int kMaxExpressionNodes = 400;
constexpr size_t kMaxInputs = 48;
constexpr double kRepeat = 1.2;                // work repeated by inlining, at most
constexpr double kMaxRowElements = 32 * 1024;  // of a stage inside a group of rows: it should stay in the first caches

double operation_cost(const Expr& e) {
  if (!is_float(e.dtype()) && !is_comparison(e.op())) return 0;
  switch (e.op()) {
    case Op::Const:
    case Op::Index:
    case Op::Symbol:
    case Op::Acc:
    case Op::AccRight:
    case Op::Read:
    case Op::Cast:
    case Op::Neg:
    case Op::Abs:
      return 0;
    case Op::Div:
    case Op::Sqrt:
      return 4;
    default:
      break;
  }
  const bool simple = is_binary(e.op()) ? e.op() != Op::Pow && e.op() != Op::Atan2 && e.op() != Op::LogAddExp
                                        : e.op() == Op::Select || e.op() == Op::Fma || e.op() == Op::Floor;
  return simple ? 1 : 12;
}

template <class Visit>
void for_each_root(const Compute& compute, Visit visit) {
  for (const Expr& e : compute.reduction.step) visit(e, true);
  for (const Compute::Result& r : compute.results) visit(r.value, compute.keeps(r));
}

// Of any stage; a scatter's expressions are not in the loop of a reduction.
template <class Visit>
void for_each_root(const Node& node, Visit visit) {
  if (const auto* compute = std::get_if<Compute>(&node.payload)) for_each_root(*compute, visit);
  const auto* scatter = std::get_if<Scatter>(&node.payload);
  if (!scatter) return;
  visit(scatter->value, false);
  for (const Expr& p : scatter->positions) visit(p, false);
}

}  // namespace

double element_count(const Shape& shape) {
  double n = 1;
  for (const Expr& e : shape) n *= static_cast<double>(static_extent(e));
  return n;
}

double iterations(const Compute& compute) {
  double n = 1;
  for (const Axis& axis : compute.axes) n *= static_cast<double>(static_extent(axis.extent));
  return n;
}

double free_iterations(const Compute& compute) {
  double n = 1;
  for (int a = 0; a < compute.free; ++a)
    n *= static_cast<double>(static_extent(compute.axes[static_cast<size_t>(a)].extent));
  return n;
}

GraphFacts::GraphFacts(const Graph& g) : graph(g) {
  const size_t n = g.nodes().size();
  consumers.resize(n);
  is_output.assign(n, false);
  cost.assign(n, 0);
  size.assign(n, 0);
  for (size_t i = 0; i < n; ++i) {
    for (const Value& v : g.nodes()[i].inputs) {
      auto& list = consumers[static_cast<size_t>(v.node)];
      if (std::find(list.begin(), list.end(), static_cast<int>(i)) == list.end()) list.push_back(static_cast<int>(i));
    }
    std::set<const void*> seen;
    for_each_root(g.nodes()[i], [&](const Expr& root, bool) {
      for_each_node(root, [&](const Expr& e) {
        if (seen.insert(e.id()).second) cost[i] += operation_cost(e);
      });
    });
    size[i] = static_cast<int>(seen.size());
  }
  for (const Graph::Output& o : g.outputs()) is_output[static_cast<size_t>(o.value.node)] = true;
}

std::optional<PaddingMatch> match_padding(const Graph& graph, int node) {
  const auto* compute = std::get_if<Compute>(&graph.node(node).payload);
  if (!compute || compute->reduced() != 0 || compute->results.size() != 1) return std::nullopt;
  const Expr& value = compute->results[0].value;
  if (value.op() != Op::Read || !value.is_guarded() || !value.guard_condition().is_constant(1)) return std::nullopt;
  if (!value.fill().is_constant()) return std::nullopt;
  const Value source = graph.node(node).inputs[static_cast<size_t>(value.slot())];
  const std::vector<int64_t> inner = static_shape(graph.type(source).shape);
  PaddingMatch match{source, {}, {}, value.fill().float_value()};
  for (size_t d = 0; d < inner.size(); ++d) {
    const auto walk = affine(value.positions()[d], compute->axes.size());
    if (!walk || d >= compute->results[0].axes.size()) return std::nullopt;
    const size_t axis = static_cast<size_t>(compute->results[0].axes[d]);
    const int64_t extent = static_extent(compute->axes[axis].extent);
    for (size_t a = 0; a < compute->axes.size(); ++a) {
      const bool single = static_extent(compute->axes[a].extent) == 1;
      if (walk->coefficients[a] != (a == axis ? 1 : 0) && !single) return std::nullopt;
    }
    const int64_t before = -walk->constant;
    const int64_t after = extent - before - inner[d];
    if (before < 0 || after < 0) return std::nullopt;
    match.before.push_back(before);
    match.after.push_back(after);
  }
  if (inner.size() != compute->results[0].axes.size()) return std::nullopt;
  return match;
}

namespace {

// Decides in one walk from operands to readers.
class Inliner {
 public:
  Inliner(const GraphFacts& facts, const std::vector<bool>& as_margins) : facts_(facts), as_margins_(as_margins) {
    const size_t n = facts.graph.nodes().size();
    inlined_.assign(n, false);
    anchored_.assign(n, false);
    parts_.resize(n);
    inputs_.resize(n);
    repeated_.assign(n, 0);
    for (size_t i = 0; i < n; ++i) {
      parts_[i].insert(static_cast<int>(i));
      inputs_[i].insert(facts.graph.nodes()[i].inputs.begin(), facts.graph.nodes()[i].inputs.end());
    }
  }

  std::vector<bool> run() {
    for (int node = 0; node < static_cast<int>(facts_.graph.nodes().size()); ++node) {
      if (!is_candidate(node) || inlined_[at(node)]) continue;
      if (facts_.is_reduction(node)) anchored_[at(node)] = true;
      if (into_chain(node)) continue;
      if (!anchored_[at(node)] && into_readers(node)) accept(node);
    }
    return inlined_;
  }

 private:
  static size_t at(int node) { return static_cast<size_t>(node); }
  const std::vector<int>& readers(int node) const { return facts_.consumers[at(node)]; }
  bool is_candidate(int node) const {
    return facts_.compute(node) && !facts_.is_output[at(node)] && !as_margins_[at(node)] && !readers(node).empty() &&
           facts_.graph.node(node).results.size() == 1;
  }

  void accept(int node) {
    inlined_[at(node)] = true;
    for (const int reader : readers(node)) {
      parts_[at(reader)].insert(parts_[at(node)].begin(), parts_[at(node)].end());
      repeated_[at(reader)] += repeated_[at(node)] + size_of(node) * (different_reads(node, reader) - 1);
      inputs_[at(reader)].insert(inputs_[at(node)].begin(), inputs_[at(node)].end());
      if (anchored_[at(node)]) anchored_[at(reader)] = true;
    }
  }

  // Expression nodes of a compute with all that is inlined into it. Reads at equal positions share theirs.
  int size_of(int node) const {
    int size = repeated_[at(node)];
    for (const int part : parts_[at(node)]) size += facts_.size[at(part)];
    return size;
  }

  template <class Visit>
  void for_each_read(int node, int reader, Visit visit) const {
    const std::vector<Value>& inputs = facts_.graph.node(reader).inputs;
    for_each_root(facts_.graph.node(reader), [&](const Expr& root, bool in_loop) {
      for_each_node(root, [&](const Expr& e) {
        if (e.op() == Op::Read && inputs[static_cast<size_t>(e.slot())].node == node) visit(e, in_loop);
      });
    });
  }

  int different_reads(int node, int reader) const {
    std::set<const void*> reads;
    for_each_read(node, reader, [&](const Expr& e, bool) { reads.insert(e.id()); });
    return std::max<int>(1, static_cast<int>(reads.size()));
  }

  bool fits(int node, int reader) const {
    if (size_of(reader) + size_of(node) * different_reads(node, reader) > kMaxExpressionNodes) return false;
    return inputs_[at(reader)].size() + inputs_[at(node)].size() <= kMaxInputs;
  }

  // Whether a pointwise compute reads `node` only element by element, at its own indices in some order.
  bool reads_plainly(int node, int reader) const {
    if (!facts_.is_pointwise(reader) || as_margins_[at(reader)]) return false;
    const Compute& own = *facts_.compute(reader);
    if (own.results.size() != 1) return false;
    const Shape& shape = facts_.graph.node(node).results[0].shape;
    const double elements = element_count(shape);
    if (free_iterations(own) != elements || elements == 0) return false;
    bool plain = true;
    std::vector<Expr> first;
    for_each_read(node, reader, [&](const Expr& e, bool) {
      plain = plain && !e.is_guarded();
      std::set<uint64_t> used;
      for (size_t d = 0; d < e.positions().size(); ++d) {
        const Expr& p = e.positions()[d];
        if (shape[d].is_constant(1) && p.is_constant(0)) continue;
        // Along the whole axis: one element of a longer axis is not its own index.
        plain = plain && p.op() == Op::Index && own.axes[p.bits()].extent == shape[d] && used.insert(p.bits()).second;
      }
      const std::vector<Expr> positions(e.positions().begin(), e.positions().end());
      if (first.empty()) first = positions;
      plain = plain && first == positions;
    });
    return plain;
  }

  // The pointwise chain behind a node, up to the compute where all its uses have come together (x * sigmoid(x), a gelu
  // written out): that one becomes the stage, with the node as its anchor. One reduction per chain.
  bool into_chain(int node) {
    std::set<int> frontier(readers(node).begin(), readers(node).end());
    std::vector<int> chain{node};
    std::set<int> inside{node};
    while (frontier.size() > 1 && chain.size() < 64) {
      const int next = *frontier.begin();
      frontier.erase(frontier.begin());
      if (!joins(next, inside) || !is_candidate(next)) return false;
      chain.push_back(next);
      inside.insert(next);
      frontier.insert(readers(next).begin(), readers(next).end());
    }
    if (frontier.size() != 1) return false;
    const int last = *frontier.begin();
    if (!joins(last, inside)) return false;
    int size = size_of(last);
    std::set<Value> inputs = inputs_[at(last)];
    for (const int part : chain) {
      size += size_of(part);
      inputs.insert(inputs_[at(part)].begin(), inputs_[at(part)].end());
    }
    if (size > kMaxExpressionNodes || inputs.size() > kMaxInputs) return false;
    for (const int part : chain) accept(part);
    return true;
  }

  // Pointwise, without a reduction of its own, and reading what is inside plainly.
  bool joins(int reader, const std::set<int>& inside) const {
    if (!facts_.is_pointwise(reader) || anchored_[at(reader)]) return false;
    for (const Value& v : facts_.graph.node(reader).inputs)
      if (inside.contains(v.node) && !reads_plainly(v.node, reader)) return false;
    return true;
  }

  // A pointwise producer: into every reader, or it is stored.
  bool into_readers(int node) const {
    const double elements = element_count(facts_.graph.node(node).results[0].shape);
    const double cost = facts_.cost[at(node)];
    if (readers(node).size() > 1 && cost > 2) return false;
    for (const int reader : readers(node)) {
      if (const auto* scatter = std::get_if<Scatter>(&facts_.graph.node(reader).payload)) {
        if (!into_scatter(node, reader, *scatter)) return false;
        continue;
      }
      if (!facts_.compute(reader) || as_margins_[at(reader)] || !fits(node, reader)) return false;
      double repeated = 0;
      bool in_product = false, guarded = false;
      const Compute& own = *facts_.compute(reader);
      for_each_read(node, reader, [&](const Expr& e, bool in_loop) {
        repeated += in_loop ? iterations(own) : free_iterations(own);
        guarded = guarded || e.is_guarded();
        in_product =
            in_product || (in_loop && is_sum_of_products(own.reduction) && iterations(own) > kRepeat * elements);
      });
      if (in_product) return false;
      if (repeated > kRepeat * elements && cost > 1) return false;
      if (guarded && own.reduced() > 0 && iterations(own) > kRepeat * elements) return false;
      // A window reads each element several times: what is not a plain move is computed once.
      if (own.reduced() > 0 && repeated > kRepeat * elements && !is_move(node)) return false;
    }
    return true;
  }

  // Into the values and positions of a scatter, or its base, which is read once at its own indices.
  bool into_scatter(int node, int reader, const Scatter& scatter) const {
    if (!fits(node, reader)) return false;
    const double elements = element_count(facts_.graph.node(node).results[0].shape);
    double repeated = facts_.graph.node(reader).inputs[0].node == node ? elements : 0;
    for_each_read(node, reader, [&](const Expr&, bool) {
      double all = 1;
      for (const Axis& axis : scatter.axes) all *= static_cast<double>(static_extent(axis.extent));
      repeated += all;
    });
    return repeated <= kRepeat * elements || facts_.cost[at(node)] <= 1;
  }

  bool is_move(int node) const {
    const Compute& c = *facts_.compute(node);
    return c.results.size() == 1 && c.results[0].value.op() == Op::Read && !c.results[0].value.is_guarded();
  }

  const GraphFacts& facts_;
  const std::vector<bool>& as_margins_;
  std::vector<bool> inlined_, anchored_;
  std::vector<std::set<int>> parts_;
  std::vector<int> repeated_;
  std::vector<std::set<Value>> inputs_;
};

// Finds chains over the same rows.
class RowGrouper {
 public:
  RowGrouper(const GraphFacts& facts, const std::vector<bool>& inlined, const std::vector<bool>& as_margins)
      : facts_(facts), inlined_(inlined), as_margins_(as_margins) {
    for (int node = 0; node < static_cast<int>(facts.graph.nodes().size()); ++node) {
      if (!facts.compute(node) || inlined[static_cast<size_t>(node)] || as_margins[static_cast<size_t>(node)]) continue;
      roots_.push_back(node);
      flats_.emplace(node, flatten(facts.graph, single(node)).back());
      for (const Value& v : flats_.at(node).inputs) readers_[v.node].insert(node);
    }
    // What scatters and sorts read is in memory: they share no rows.
    for (int node = 0; node < static_cast<int>(facts.graph.nodes().size()); ++node) {
      if (!is_alone(node)) continue;
      for (const Stage& stage : single(node).stages)
        for (const Value& v : facts.graph.node(stage.node).inputs) readers_[v.node].insert(node);
    }
  }

  std::vector<Group> run() {
    std::map<int, std::vector<int>> chains;  // last stage -> earlier stages
    std::map<int, int> shared;
    std::set<int> taken;
    for (size_t i = roots_.size(); i-- > 0;) {
      const int last = roots_[i];
      if (taken.contains(last)) continue;
      const auto [stages, axes] = chain_of(last, taken);
      for (const int stage : stages) taken.insert(stage);
      chains[last] = stages;
      shared[last] = axes;
    }
    std::vector<Group> groups;
    for (int root = 0; root < static_cast<int>(facts_.graph.nodes().size()); ++root) {
      if (chains.contains(root))
        groups.push_back(make(chains.at(root), root, shared.at(root)));
      else if (is_alone(root))
        groups.push_back(make({}, root, 0));
    }
    return groups;
  }

 private:
  bool is_alone(int node) const { return is_stage(facts_.graph.node(node)) && !facts_.compute(node); }

  // The node with everything that is inlined into it.
  Group single(int node) const {
    std::vector<Stage> stages{{node, Placement::Root}};
    std::set<int> seen{node};
    for (size_t i = 0; i < stages.size(); ++i) {
      for (const Value& v : facts_.graph.node(stages[i].node).inputs)
        if (inlined_[static_cast<size_t>(v.node)] && seen.insert(v.node).second)
          stages.push_back({v.node, Placement::Inline});
    }
    std::sort(stages.begin(), stages.end(), [](const Stage& a, const Stage& b) { return a.node < b.node; });
    return Group{facts_.graph.node(node).label, std::move(stages), 0};
  }

  Group make(const std::vector<int>& earlier, int root, int shared_axes) const {
    Group group = single(root);
    group.shared_axes = shared_axes;
    for (const int node : earlier) {
      for (Stage stage : single(node).stages) {
        if (stage.placement == Placement::Root) stage.placement = Placement::At;
        const bool there =
            std::any_of(group.stages.begin(), group.stages.end(), [&](const Stage& s) { return s.node == stage.node; });
        if (!there) group.stages.push_back(stage);
      }
    }
    std::sort(group.stages.begin(), group.stages.end(), [](const Stage& a, const Stage& b) { return a.node < b.node; });
    group.name = facts_.graph.node(root).label.empty() ? "k" + std::to_string(root) : facts_.graph.node(root).label;
    return group;
  }

  bool is_anchor(int root) const {
    const Compute& compute = flats_.at(root).compute;
    return is_sum_of_products(compute.reduction) && !compute.is_scan();
  }

  // Stages before `last` that can live in its rows, and the number of shared axes.
  std::pair<std::vector<int>, int> chain_of(int last, const std::set<int>& taken) const {
    if (is_anchor(last) || flats_.at(last).compute.results.size() != 1) return {{}, 0};
    std::vector<int> stages;
    std::set<int> inside{last};
    int axes = -1;
    for (bool grown = true; grown;) {
      grown = false;
      for (size_t i = roots_.size(); i-- > 0;) {
        const int node = roots_[i];
        if (inside.contains(node) || taken.contains(node) || !readers_.contains(node) || is_anchor(node)) continue;
        if (facts_.is_output[static_cast<size_t>(node)] || !all_inside(node, inside)) continue;
        const int rows = axes >= 0 ? axes : rows_of(node, last);
        if (rows < 0 || !shares_rows(node, rows, inside, last)) continue;
        if (axes < 0 && flats_.at(node).compute.reduced() == 0) continue;  // a reduction starts a chain
        if (axes < 0 && is_long_row(last, rows)) continue;
        axes = rows;
        inside.insert(node);
        stages.push_back(node);
        grown = true;
      }
    }
    if (stages.empty()) return {{}, 0};
    return {stages, axes};
  }

  // Rows are what workers share. A long stage with a single one keeps tiles of its own.
  bool is_long_row(int last, int rows) const {
    const Compute& c = flats_.at(last).compute;
    double count = 1;
    for (int a = 0; a < std::min(rows, c.free); ++a) count *= static_cast<double>(extent(c, a));
    return count == 1 && iterations(c) > 2 * kMaxRowElements;
  }

  bool all_inside(int node, const std::set<int>& inside) const {
    const std::set<int>& readers = readers_.at(node);
    // Readers that are no computes (views, outputs), and margins around it, need the tensor in memory.
    for (const int reader : facts_.consumers[static_cast<size_t>(node)])
      if (!facts_.compute(reader) || as_margins_[static_cast<size_t>(reader)]) return false;
    return std::all_of(readers.begin(), readers.end(), [&](int r) { return inside.contains(r); });
  }

  static int64_t extent(const Compute& c, int a) { return static_extent(c.axes[static_cast<size_t>(a)].extent); }

  // The rows of a reduction: its free axes up to the trailing ones of extent 1.
  int rows_of(int node, int last) const {
    const Compute& c = flats_.at(node).compute;
    const Compute& l = flats_.at(last).compute;
    int rows = c.free;
    while (rows > 0 && (extent(c, rows - 1) == 1 && (rows > l.free || extent(l, rows - 1) != 1))) --rows;
    return rows;
  }

  // Whether `node` has the same first `rows` axes as the last stage, little beyond them, and is read row by row.
  bool shares_rows(int node, int rows, const std::set<int>& inside, int last) const {
    const Compute& c = flats_.at(node).compute;
    const Compute& l = flats_.at(last).compute;
    if (c.results.size() != 1 || rows > c.free || rows > l.free) return false;
    double beyond = 1, all = 1;
    for (size_t a = 0; a < c.axes.size(); ++a) {
      const double e = static_cast<double>(extent(c, static_cast<int>(a)));
      const bool is_stored = static_cast<int>(a) < c.free || c.is_scan();
      if (static_cast<int>(a) >= rows) all *= e, beyond *= is_stored ? e : 1;
    }
    if (beyond > kMaxRowElements || all > 8 * kMaxRowElements) return false;
    for (int a = 0; a < rows; ++a) {
      if (extent(c, a) != extent(l, a) || c.results[0].axes[static_cast<size_t>(a)] != a) return false;
      // Across the rows a scan runs in vectors; inside one row it would be alone.
      if (l.is_scan() && l.results[0].axes[static_cast<size_t>(a)] != a) return false;
    }
    for (const int reader : readers_.at(node))
      if (!reads_by_rows(node, reader, rows)) return false;
    return std::all_of(inside.begin(), inside.end(), [&](int stage) {
      const Compute& s = flats_.at(stage).compute;
      if (s.free < rows || s.results[0].axes.size() < static_cast<size_t>(rows)) return false;
      for (int a = 0; a < rows; ++a)
        if (extent(s, a) != extent(c, a)) return false;
      return true;
    });
  }

  bool reads_by_rows(int node, int reader, int rows) const {
    const Flat& flat = flats_.at(reader);
    bool fine = true;
    const auto check = [&](const Expr& root, bool) {
      for_each_node(root, [&](const Expr& e) {
        if (e.op() != Op::Read || flat.inputs[static_cast<size_t>(e.slot())].node != node) return;
        for (int d = 0; d < rows; ++d) {
          const Expr& p = e.positions()[static_cast<size_t>(d)];
          const bool single = p.is_constant(0) && extent(flat.compute, d) == 1;
          fine = fine && (single || (p.op() == Op::Index && p.bits() == static_cast<uint64_t>(d)));
        }
      });
    };
    for_each_root(flat.compute, check);
    for (const Expr& e : flat.compute.reduction.init) check(e, false);
    return fine;
  }

  const GraphFacts& facts_;
  const std::vector<bool>& inlined_;
  const std::vector<bool>& as_margins_;
  std::vector<int> roots_;
  std::map<int, Flat> flats_;
  std::map<int, std::set<int>> readers_;
};

}  // namespace

std::vector<bool> choose_inlined(const GraphFacts& facts, const std::vector<bool>& as_margins) {
  return Inliner(facts, as_margins).run();
}

std::vector<Group> make_groups(const GraphFacts& facts, const std::vector<bool>& inlined,
                               const std::vector<bool>& as_margins) {
  return RowGrouper(facts, inlined, as_margins).run();
}

Grouping group(const Graph& graph, const Machine& machine) {
  const GraphFacts facts(graph);
  std::vector<bool> as_margins(graph.nodes().size(), false);
  for (int node = 0; node < static_cast<int>(graph.nodes().size()); ++node) {
    const auto padding = match_padding(graph, node);
    if (!padding || facts.is_output[static_cast<size_t>(node)] ||
        facts.is_output[static_cast<size_t>(padding->source.node)])
      continue;
    const Payload& source = graph.node(padding->source).payload;
    const auto& readers = facts.consumers[static_cast<size_t>(node)];
    const bool computed = std::holds_alternative<Compute>(source);
    const bool read_by_computes = std::all_of(readers.begin(), readers.end(), [&](int r) { return facts.compute(r); });
    as_margins[static_cast<size_t>(node)] =
        computed && read_by_computes && padding->fill == 0 && !as_margins[static_cast<size_t>(padding->source.node)];
  }
  Grouping grouping;
  grouping.groups = make_groups(facts, choose_inlined(facts, as_margins), as_margins);
  choose_layouts(facts, grouping, as_margins, machine);
  return grouping;
}

}  // namespace frit
