#include "compiler/passes/simplify.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>

#include "compiler/passes/node_equality.h"
#include "compiler/passes/pass.h"
#include "ir/interpreter.h"
#include "support/error.h"

namespace frit {
namespace {

constexpr size_t kSmallBody = 32;  // nodes of a compute of indices alone that is repeated in its readers

const Compute* as_compute(const Node& node) { return std::get_if<Compute>(&node.payload); }
const Constant* as_small_constant(const Node& node) {
  const auto* c = std::get_if<Constant>(&node.payload);
  return c && c->array.size_bytes() <= kSmallConstantBytes ? c : nullptr;
}

Expr both(const Expr& a, const Expr& b) { return a.is_constant(1) ? b : b.is_constant(1) ? a : binary(Op::And, a, b); }

size_t size_of(const Expr& e) {
  size_t count = 0;
  for_each_node(e, [&](const Expr&) { ++count; });
  return count;
}

bool has_reads(const Expr& e) {
  bool found = false;
  for_each_node(e, [&](const Expr& n) { found |= n.op() == Op::Read; });
  return found;
}

// What a read of a value at positions can be replaced with: the element of another value at other positions, or an
// expression of the indices alone. `axes` are the indices that positions stand for, in order.
struct Source {
  std::vector<int> axes;
  std::vector<Expr> extents;
  Expr value;  // over Index(axes[d]); either a plain Read of slot 0 or free of reads
  Value base;
  bool is_read = false;
};

// One round over the whole graph, operands first. Rounds are repeated until nothing changes.
class Round {
 public:
  explicit Round(const Graph& graph) : old_(graph) {}

  Graph run() {
    find_live();
    for (size_t id = 0; id < old_.nodes().size(); ++id) {
      const Node& node = old_.nodes()[id];
      const bool is_input = std::holds_alternative<Input>(node.payload);
      if (is_input || live_[id] > 0) add(static_cast<int>(id), node);
    }
    for (const Graph::Output& out : old_.outputs()) new_.add_output(out.name, moved(out.value));
    return std::move(new_);
  }

 private:
  // live_: number of uses by live nodes and outputs, per node; and which results are used.
  void find_live() {
    live_.resize(old_.nodes().size());
    const auto use = [&](Value v) {
      ++live_[static_cast<size_t>(v.node)];
      used_results_.insert(v);
    };
    for (const Graph::Output& out : old_.outputs()) use(out.value);
    for (size_t id = old_.nodes().size(); id-- > 0;) {
      if (live_[id] == 0) continue;
      const Node& node = old_.nodes()[id];
      const auto* custom = std::get_if<CustomGradient>(&node.payload);
      for (size_t k = custom ? static_cast<size_t>(custom->operands) : 0; k < node.inputs.size(); ++k)
        use(node.inputs[k]);
    }
  }

  Value moved(Value v) const { return moved_.at(v); }

  void add(int id, const Node& node) {
    if (const auto* c = as_compute(node)) return add_compute(id, node, *c);
    if (const auto* v = std::get_if<View>(&node.payload)) return add_view(id, node, *v);
    if (const auto* a = std::get_if<Assemble>(&node.payload)) return add_assemble(id, node, *a);
    if (const auto* s = std::get_if<Scatter>(&node.payload)) return add_scatter(id, node, *s);
    if (const auto* c = std::get_if<CustomGradient>(&node.payload)) return pass_through(id, node, c->operands);
    Node copy = node;
    for (Value& v : copy.inputs) v = moved(v);
    const Value first = insert(std::move(copy));
    for (size_t r = 0; r < node.results.size(); ++r) moved_[{id, static_cast<int>(r)}] = {first.node, static_cast<int>(r)};
  }

  // Derivatives are taken before: from here on, values with a gradient of their own are just their values.
  void pass_through(int id, const Node& node, int operands) {
    for (size_t r = 0; r < node.results.size(); ++r) {
      const Value value = node.inputs[static_cast<size_t>(operands) + r];
      if (const auto found = moved_.find(value); found != moved_.end()) moved_[{id, static_cast<int>(r)}] = found->second;
    }
  }

  // Adds a node, or finds one that is the same.
  Value insert(Node node) {
    if (!std::holds_alternative<Input>(node.payload)) {
      std::vector<TensorType> types;
      for (const Value v : node.inputs) types.push_back(new_.type(v));
      node.results = infer(node.payload, types);
    }
    if (std::optional<Array> value = evaluated(node)) node = Node{node.label, {}, {}, Constant{std::move(*value)}};
    if (const auto* c = std::get_if<Constant>(&node.payload)) node.results = infer(node.payload, {}), (void)c;
    const uint64_t key = node_hash(node);
    const auto [first, last] = known_.equal_range(key);
    for (auto at = first; at != last; ++at)
      if (is_same_node(new_.node(at->second), node)) return {at->second, 0};
    const Value v = new_.add(std::move(node));
    known_.emplace(key, v.node);
    return v;
  }

  // Value of a node over small constants, where it fits its dtype exactly.
  std::optional<Array> evaluated(const Node& node) const {
    if (node.inputs.empty() || node.results.size() != 1) return std::nullopt;
    int64_t bytes = size_bytes(node.results[0].dtype);
    for (const Expr& extent : node.results[0].shape) {
      if (!extent.is_constant() || __builtin_mul_overflow(bytes, extent.int_value(), &bytes)) return std::nullopt;
      if (bytes > static_cast<int64_t>(kSmallConstantBytes)) return std::nullopt;
    }
    Graph small;
    std::map<Value, Value> copies;
    Node copy = node;
    for (Value& v : copy.inputs) {
      const Constant* c = as_small_constant(new_.node(v));
      if (!c) return std::nullopt;
      const auto [at, added] = copies.try_emplace(v);
      if (added) at->second = small.add_constant(c->array);
      v = at->second;
    }
    if (const auto* c = as_compute(copy); c && !is_static(*c)) return std::nullopt;
    if (const auto* s = std::get_if<Scatter>(&copy.payload); s && !is_static(compute_of(*s))) return std::nullopt;
    small.add_output("y", small.add(std::move(copy)));
    const ReferenceTensor result = interpret(small, {})[0];
    Array array(result.dtype, result.shape);
    for (int64_t i = 0; i < array.size(); ++i) {
      const auto at = static_cast<size_t>(i);
      if (!is_float(result.dtype)) {
        array.set_int(i, result.integers[at]);
        continue;
      }
      array.set_float(i, result.values[at]);
      const double stored = array.float_at(i), wanted = result.values[at];
      if (!(stored == wanted && std::signbit(stored) == std::signbit(wanted)) && !std::isnan(wanted))
        return std::nullopt;
    }
    return array;
  }

  static bool is_static(const Compute& c) {
    bool yes = true;
    double points = 1;
    const auto look = [&](const Expr& root) {
      for_each_node(root, [&](const Expr& e) { yes = yes && e.op() != Op::Symbol; });
    };
    for (const Axis& axis : c.axes) {
      if (!axis.extent.is_constant()) return false;
      points *= static_cast<double>(std::max<int64_t>(1, axis.extent.int_value()));
    }
    for (const Compute::Result& r : c.results) look(r.value);
    for (const auto* states : {&c.reduction.init, &c.reduction.step})
      for (const Expr& e : *states) look(e);
    return yes && points <= 1 << 20;
  }

  // ------------------------------------------------------------------------------------------------ views

  // What stands behind a value of the new graph, for its readers.
  std::optional<Source> source_of(Value v) const {
    const Node& node = new_.node(v);
    Source s;
    if (const auto* view = std::get_if<View>(&node.payload)) {
      s.axes.resize(view->axes.size());
      std::iota(s.axes.begin(), s.axes.end(), 0);
      for (const Axis& axis : view->axes) s.extents.push_back(axis.extent);
      s.base = node.inputs[0];
      s.value = read(node.results[0].dtype, 0, view->positions);
      s.is_read = true;
      return s;
    }
    const Compute* c = as_compute(node);
    if (!c || c->reduction.op != ReduceOp::None) return std::nullopt;
    const Compute::Result& result = c->results[static_cast<size_t>(v.result)];
    s.axes = result.axes;
    for (const int axis : s.axes) s.extents.push_back(c->axes[static_cast<size_t>(axis)].extent);
    s.value = result.value;
    if (!has_reads(result.value)) return size_of(result.value) <= kSmallBody ? std::optional(s) : std::nullopt;
    // A copy: one unguarded read at positions without data, stored as it was.
    if (result.value.op() != Op::Read || result.value.is_guarded()) return std::nullopt;
    for (const Expr& p : result.value.positions())
      if (has_reads(p)) return std::nullopt;
    s.base = node.inputs[static_cast<size_t>(result.value.slot())];
    if (new_.type(s.base).dtype != node.results[static_cast<size_t>(v.result)].dtype) return std::nullopt;
    s.is_read = true;
    return s;
  }

  // The value of `s` at `positions`, which stand for its axes; a read of its base becomes one of `slot`.
  static Expr value_at(const Source& s, std::span<const Expr> positions, int slot, DType dtype) {
    std::vector<Expr> values;
    for (size_t d = 0; d < s.axes.size(); ++d) {
      const auto axis = static_cast<size_t>(s.axes[d]);
      if (values.size() <= axis) values.resize(axis + 1);
      values[axis] = positions[d];
    }
    const Expr at = substitute_indices(s.value, values);
    return s.is_read ? read(dtype, slot, at.positions()) : cast(at, dtype);
  }

  void add_view(int id, const Node& node, const View& view) {
    View v = view;
    Value base = moved(node.inputs[0]);
    while (std::holds_alternative<View>(new_.node(base).payload)) {
      const Source s = *source_of(base);
      const Expr at = value_at(s, v.positions, 0, node.results[0].dtype);
      v.positions.assign(at.positions().begin(), at.positions().end());
      base = s.base;
    }
    IndexAnalysis analysis(v.axes);
    for (Expr& p : v.positions) p = analysis.simplify(p);
    if (is_identity(v, new_.type(base).shape)) {
      moved_[{id, 0}] = base;
      return;
    }
    moved_[{id, 0}] = insert(Node{node.label, {base}, {}, std::move(v)});
  }

  static bool is_identity(const View& v, const Shape& shape) {
    if (v.axes.size() != shape.size()) return false;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!(v.axes[d].extent == shape[d])) return false;
      const Expr& p = v.positions[d];
      const bool itself = p.op() == Op::Index && p.bits() == d;
      if (!itself && !(shape[d].is_constant(1) && p.is_constant(0))) return false;
    }
    return true;
  }

  // ------------------------------------------------------------------------------------------------ assembles

  void add_assemble(int id, const Node& node, const Assemble& assemble) {
    Assemble a{assemble.shape, {}};
    std::vector<Value> inputs;
    for (size_t p = 0; p < assemble.parts.size(); ++p) {
      const Value part = moved(node.inputs[p]);
      const Shape& shape = new_.type(part).shape;
      const bool empty = std::any_of(shape.begin(), shape.end(), [](const Expr& e) { return e.is_constant(0); });
      const bool last = p + 1 == assemble.parts.size() && inputs.empty();  // one part stays, for the dtype
      if (empty && !last) continue;
      add_part(assemble.parts[p], part, live_[static_cast<size_t>(node.inputs[p].node)] == 1, a, inputs);
    }
    if (inputs.size() == 1 && new_.type(inputs[0]).shape == a.shape) {
      moved_[{id, 0}] = inputs[0];
      return;
    }
    moved_[{id, 0}] = insert(Node{node.label, std::move(inputs), {}, std::move(a)});
  }

  // A part that is an assemble of its own and has no other reader is taken apart.
  void add_part(const Assemble::Part& part, Value value, bool only_use, Assemble& to, std::vector<Value>& inputs) {
    const auto* inner = std::get_if<Assemble>(&new_.node(value).payload);
    if (!inner || !only_use) {
      to.parts.push_back(part);
      inputs.push_back(value);
      return;
    }
    for (size_t q = 0; q < inner->parts.size(); ++q) {
      Assemble::Part joined = inner->parts[q];
      for (size_t d = 0; d < joined.offset.size(); ++d) {
        joined.offset[d] = part.offset[d] + part.step[d] * joined.offset[d];
        joined.step[d] *= part.step[d];
      }
      to.parts.push_back(std::move(joined));
      inputs.push_back(new_.node(value).inputs[q]);
    }
  }

  // ------------------------------------------------------------------------------------------------ computes

  // A compute being rewritten: its operands grow while reads move to what stands behind them.
  struct Work {
    Compute compute;
    std::vector<Value> inputs;
    int slot_of(Value v) {
      const auto at = std::find(inputs.begin(), inputs.end(), v);
      if (at != inputs.end()) return static_cast<int>(at - inputs.begin());
      inputs.push_back(v);
      return static_cast<int>(inputs.size()) - 1;
    }
  };

  void add_compute(int id, const Node& node, const Compute& compute) {
    Work work{compute, {}};
    for (const Value v : node.inputs) work.inputs.push_back(moved(v));
    std::vector<int> kept;  // results of the old node that are used
    work.compute.results.clear();
    for (size_t r = 0; r < compute.results.size(); ++r) {
      if (!used_results_.contains({id, static_cast<int>(r)})) continue;
      kept.push_back(static_cast<int>(r));
      work.compute.results.push_back(compute.results[r]);
    }
    Compute& c = work.compute;
    IndexAnalysis all(c.axes);
    std::vector<Expr> extents;
    for (int a = 0; a < c.free; ++a) extents.push_back(c.axes[static_cast<size_t>(a)].extent);
    IndexAnalysis free(extents);
    drop_accumulators(c);
    for (Compute::Result& r : c.results) r.value = rewritten(r.value, work, c.keeps(r) ? all : free);
    rewrite_reduction(work, free, all);
    compact_inputs(work);
    const Value v = insert(Node{node.label, std::move(work.inputs), {}, std::move(c)});
    for (size_t k = 0; k < kept.size(); ++k) moved_[{id, kept[k]}] = {v.node, static_cast<int>(k)};
  }

  // Value and positions of a scatter as the results of a compute over its axes.
  static Compute compute_of(const Scatter& s) {
    Compute c;
    c.axes = s.axes;
    c.free = static_cast<int>(s.axes.size());
    c.results.push_back({s.value, {}});
    for (const Expr& p : s.positions) c.results.push_back({p, {}});
    return c;
  }

  void add_scatter(int id, const Node& node, const Scatter& scatter) {
    Work work{compute_of(scatter), {}};
    for (const Value v : node.inputs) work.inputs.push_back(moved(v));
    work.inputs[0] = behind_copies(work.inputs[0]);
    for (const Axis& axis : scatter.axes) {
      if (!axis.extent.is_constant(0)) continue;
      moved_[{id, 0}] = work.inputs[0];  // nothing is written
      return;
    }
    Compute& c = work.compute;
    IndexAnalysis analysis(c.axes);
    for (Compute::Result& r : c.results) r.value = rewritten(r.value, work, analysis);
    // The base stays the first operand: it is as if it were read first.
    const TensorType& type = new_.type(work.inputs[0]);
    const std::vector<Expr> first(type.shape.size(), index_constant(0));
    c.results.insert(c.results.begin(), Compute::Result{read(type.dtype, 0, first), {}});
    compact_inputs(work);
    Scatter s{scatter.axes, scatter.op, {}, c.results[1].value};
    for (size_t d = 2; d < c.results.size(); ++d) s.positions.push_back(c.results[d].value);
    moved_[{id, 0}] = insert(Node{node.label, std::move(work.inputs), {}, std::move(s)});
  }

  // The value that this one is a plain copy of.
  Value behind_copies(Value v) const {
    while (const std::optional<Source> s = source_of(v)) {
      if (!s->is_read || !(new_.type(s->base) == new_.type(v))) return v;
      for (size_t d = 0; d < s->axes.size(); ++d) {
        const Expr& p = s->value.positions()[d];
        const bool itself = p.op() == Op::Index && p.bits() == static_cast<uint64_t>(s->axes[d]);
        if (!itself && !(s->extents[d].is_constant(1) && p.is_constant(0))) return v;
      }
      v = s->base;
    }
    return v;
  }

  // Those of a fold that no result needs.
  static void drop_accumulators(Compute& c) {
    Reduction& r = c.reduction;
    if (r.op != ReduceOp::Fold) return;
    std::set<size_t> needed;
    std::vector<Expr> work;
    const auto visit = [&](const Expr& root) {
      for_each_node(root, [&](const Expr& e) {
        if ((e.op() != Op::Acc && e.op() != Op::AccRight) || !needed.insert(e.bits()).second) return;
        work.push_back(r.step[e.bits()]);
        if (!r.merge.empty()) work.push_back(r.merge[e.bits()]);
      });
    };
    for (const Compute::Result& result : c.results) visit(result.value);
    while (!work.empty()) {
      const Expr next = work.back();
      work.pop_back();
      visit(next);
    }
    if (needed.empty()) needed.insert(0);
    if (needed.size() == r.init.size()) return;
    std::map<size_t, int> place;
    for (const size_t k : needed) place.emplace(k, static_cast<int>(place.size()));
    const auto renumber = [&](const Expr& root) {
      return rewrite(root, [&](const Expr& e) -> Expr {
        if (e.op() != Op::Acc && e.op() != Op::AccRight) return {};
        return accumulator(e.dtype(), place.at(e.bits()), e.op() == Op::AccRight);
      });
    };
    Reduction kept{r.op, {}, {}, {}};
    for (const size_t k : needed) {
      kept.init.push_back(r.init[k]);
      kept.step.push_back(renumber(r.step[k]));
      if (!r.merge.empty()) kept.merge.push_back(renumber(r.merge[k]));
    }
    for (Compute::Result& result : c.results) result.value = renumber(result.value);
    r = std::move(kept);
  }

  void rewrite_reduction(Work& work, IndexAnalysis& free, IndexAnalysis& all) {
    Reduction& r = work.compute.reduction;
    if (r.op == ReduceOp::None) return;
    if (r.op == ReduceOp::Fold) {
      for (Expr& e : r.init) e = rewritten(e, work, free);
      for (Expr& e : r.step) e = rewritten(e, work, all);
      for (Expr& e : r.merge) e = rewritten(e, work, free);
      return;
    }
    // Built-in reducers keep their form: only what they reduce is rewritten.
    const bool arg = r.op == ReduceOp::ArgMax || r.op == ReduceOp::ArgMin;
    const Expr e = rewritten(r.step[0].arg(1), work, all);
    const Expr position = arg ? rewritten(r.step[1].arg(1), work, all) : Expr();
    Reduction next = make_reduction(r.op, e, position);
    if (next.init.size() == r.init.size()) r = std::move(next);
  }

  // Reads moved behind views, guards and index arithmetic simplified, float algebra.
  Expr rewritten(const Expr& root, Work& work, IndexAnalysis& analysis) {
    Expr e = root;
    for (int round = 0; round < 8; ++round) {
      const Expr next = simplify_scalar(
          rewrite(e, [&](const Expr& n) { return n.op() == Op::Read ? read_rule(n, work, analysis) : Expr{}; }),
          analysis);
      if (next == e) break;
      e = next;
    }
    return e;
  }

  Expr read_rule(const Expr& e, Work& work, IndexAnalysis& analysis) {
    const Value from = work.inputs[static_cast<size_t>(e.slot())];
    if (const Expr constant_value = constant_read(e, new_.node(from))) return constant_value;
    if (e.is_guarded())
      if (const Expr plain = without_guard(e, new_.type(from).shape, analysis)) return plain;
    const std::optional<Source> s = source_of(from);
    if (!s) return {};
    const int slot = s->is_read ? work.slot_of(s->base) : -1;
    const Expr plain = value_at(*s, e.positions(), slot, e.dtype());
    if (!e.is_guarded()) return plain;
    // Behind a guard the positions may be anything: the guard now says so itself, where the new read does not.
    Expr guard = e.guard_condition();
    for (size_t d = 0; d < s->extents.size(); ++d) {
      const Expr& p = e.positions()[d];
      if (!s->is_read || !is_checked_by(plain, p, s->extents[d], new_.type(s->base).shape))
        guard = both(guard, inside(p, s->extents[d]));
    }
    if (s->is_read) return guarded_read(e.dtype(), slot, plain.positions(), guard, e.fill());
    return select(guard, plain, e.fill());
  }

  static Expr inside(const Expr& p, const Expr& extent) {
    return binary(Op::And, binary(Op::Le, index_constant(0), p), binary(Op::Lt, p, extent));
  }

  // Whether the new read checks position `p` against `extent` anyhow.
  static bool is_checked_by(const Expr& read, const Expr& p, const Expr& extent, const Shape& shape) {
    for (size_t d = 0; d < shape.size(); ++d)
      if (read.positions()[d] == p && shape[d] == extent) return true;
    return false;
  }

  // A guarded read that is always inside, or never.
  static Expr without_guard(const Expr& e, const Shape& shape, IndexAnalysis& analysis) {
    bool always = e.guard_condition().is_constant(1);
    for (size_t d = 0; d < shape.size(); ++d) {
      const Range r = analysis.range(e.positions()[d]);
      const bool beyond = shape[d].is_constant() && r.low >= shape[d].int_value();
      if (r.high < 0 || beyond) return e.fill();
      always = always && analysis.is_inside(e.positions()[d], shape[d]);
    }
    return always ? read(e.dtype(), e.slot(), e.positions()) : Expr{};
  }

  // The element of a small constant where it does not depend on the indices.
  static Expr constant_read(const Expr& e, const Node& from) {
    const Constant* c = as_small_constant(from);
    if (!c || e.is_guarded() || (is_float(e.dtype()) && e.dtype() != compute_dtype(e.dtype()))) return {};
    const Array& a = c->array;
    if (a.size() == 0) return {};
    int64_t at = 0;
    bool fixed = true;
    for (size_t d = 0; d < a.shape().size(); ++d) {
      const Expr& p = e.positions()[d];
      fixed = fixed && p.is_constant() && p.int_value() >= 0 && p.int_value() < a.shape()[d];
      if (fixed) at = at * a.shape()[d] + p.int_value();
    }
    if (!fixed && !is_uniform(a)) return {};
    if (!fixed) at = 0;
    return is_float(a.dtype()) ? constant(e.dtype(), a.float_at(at)) : constant_int(e.dtype(), a.int_at(at));
  }

  static bool is_uniform(const Array& a) {
    for (int64_t i = 1; i < a.size(); ++i) {
      if (!is_float(a.dtype())
              ? a.int_at(i) != a.int_at(0)
              : !(a.float_at(i) == a.float_at(0) && std::signbit(a.float_at(i)) == std::signbit(a.float_at(0))))
        return false;
    }
    return true;
  }

  // Operands in order of first use, each once, without those that are not read.
  static void compact_inputs(Work& work) {
    std::vector<int> place(work.inputs.size(), -1);
    std::vector<Value> kept;
    const auto renumber = [&](const Expr& root) {
      return rewrite(root, [&](const Expr& e) -> Expr {
        if (e.op() != Op::Read) return {};
        int& slot = place[static_cast<size_t>(e.slot())];
        if (slot < 0) {
          const Value v = work.inputs[static_cast<size_t>(e.slot())];
          const auto at = std::find(kept.begin(), kept.end(), v);
          slot = static_cast<int>(at - kept.begin());
          if (at == kept.end()) kept.push_back(v);
        }
        if (slot == e.slot()) return {};
        return e.is_guarded() ? guarded_read(e.dtype(), slot, e.positions(), e.guard_condition(), e.fill())
                              : read(e.dtype(), slot, e.positions());
      });
    };
    Compute& c = work.compute;
    for (auto* states : {&c.reduction.init, &c.reduction.step, &c.reduction.merge})
      for (Expr& e : *states) e = renumber(e);
    for (Compute::Result& r : c.results) r.value = renumber(r.value);
    work.inputs = std::move(kept);
  }

  const Graph& old_;
  Graph new_;
  std::vector<int> live_;
  std::set<Value> used_results_;
  std::map<Value, Value> moved_;
  std::unordered_multimap<uint64_t, int> known_;
};

}  // namespace

Graph simplify(const Graph& graph) {
  Graph current = graph;
  for (int round = 0; round < 32; ++round) {
    Graph next = Round(current).run();
    if (equal(current, next)) return next;
    current = std::move(next);
  }
  return current;
}

}  // namespace frit
