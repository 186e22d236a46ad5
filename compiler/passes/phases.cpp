#include "compiler/passes/phases.h"

#include <algorithm>
#include <optional>
#include <set>

#include "codegen/lower/flatten.h"
#include "compiler/passes/phase_split.h"
#include "compiler/passes/simplify.h"

namespace frit {
namespace {

// A tensor that was put together from phases: value p fills the lattice of its axes.
struct Phased {
  std::vector<Lattice> lattices;
  std::vector<Value> parts;
};

class Splitter {
 public:
  explicit Splitter(const Graph& graph) : graph_(graph), moved_(graph.nodes().size()) {}

  Graph run() {
    for (size_t n = 0; n < graph_.nodes().size(); ++n) moved_[n] = add(graph_.nodes()[n]);
    for (const Graph::Output& o : graph_.outputs()) out_.add_output(o.name, at(o.value));
    return std::move(out_);
  }
  bool changed() const { return changed_; }

 private:
  Value at(const Value& v) const { return moved_[static_cast<size_t>(v.node)][static_cast<size_t>(v.result)]; }

  std::vector<Value> add(const Node& node) {
    Node copy = node;
    for (Value& v : copy.inputs) v = at(v);
    if (const auto* compute = std::get_if<Compute>(&node.payload)) {
      PhaseSplit split(*compute);
      if (split.plan()) return add_phases(copy, *compute, split);
      if (const auto lattices = lattices_of_reads(copy, *compute)) return add_readers(copy, *compute, *lattices);
    }
    const size_t results = node.results.size();
    return results_of(out_.add(std::move(copy)), results);
  }

  static std::vector<Value> results_of(const Value& first, size_t count) {
    std::vector<Value> values;
    for (size_t r = 0; r < count; ++r) values.push_back({first.node, static_cast<int>(r)});
    return values;
  }

  std::vector<Value> add_phases(const Node& node, const Compute& compute, const PhaseSplit& split) {
    changed_ = true;
    std::vector<Value> inputs = node.inputs;
    const int zeros_slot = static_cast<int>(inputs.size());
    if (split.has_zeros()) {
      PhaseSplit::Zeros zeros = split.zeros();
      const Value classes = add_compute(std::move(zeros.classes), node.inputs, node.label + ".zeros")[0];
      inputs.push_back(add_compute(std::move(zeros.others), {classes}, node.label + ".other_zeros")[0]);
    }
    std::vector<std::vector<Value>> parts;
    for (const Lattice& phase : split.phases())
      parts.push_back(add_compute(split.part(phase, zeros_slot), inputs, node.label + suffix(phase)));
    return assemble(node, compute, split.phases(), parts);
  }

  static std::string suffix(const Lattice& phase) {
    std::string text;
    for (size_t a = 0; a < phase.offset.size(); ++a)
      if (phase.period[a] > 1) text += "." + std::to_string(phase.offset[a]);
    return text;
  }

  std::vector<Value> add_compute(Compute compute, std::vector<Value> inputs, const std::string& label) {
    drop_unused_inputs(compute, inputs);
    const size_t results = compute.results.size();
    return results_of(out_.add_compute(std::move(compute), std::move(inputs), label), results);
  }

  // The results of a compute from those of its parts.
  std::vector<Value> assemble(const Node& node, const Compute& compute, const std::vector<Lattice>& lattices,
                              const std::vector<std::vector<Value>>& parts) {
    if (parts.size() == 1) return parts[0];
    std::vector<Value> values;
    for (size_t r = 0; r < compute.results.size(); ++r) {
      Assemble whole{node.results[r].shape, {}};
      Phased phased;
      for (size_t p = 0; p < parts.size(); ++p) {
        Lattice lattice;
        for (const int axis : compute.results[r].axes) {
          lattice.offset.push_back(lattices[p].offset[static_cast<size_t>(axis)]);
          lattice.period.push_back(lattices[p].period[static_cast<size_t>(axis)]);
        }
        whole.parts.push_back({lattice.offset, lattice.period});
        phased.lattices.push_back(std::move(lattice));
        phased.parts.push_back(parts[p][r]);
      }
      values.push_back(out_.add_assemble(std::move(whole), phased.parts, node.label));
      phased_.emplace(values.back(), std::move(phased));
    }
    return values;
  }

  // ---------------------------------------------------------------------------------------- pointwise readers

  // Where a pointwise compute reads phases at its own indices: lattices of its axes, one for each part.
  std::optional<std::vector<Lattice>> lattices_of_reads(const Node& node, const Compute& compute) const {
    if (compute.reduced() > 0) return std::nullopt;
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      const auto found = phased_.find(node.inputs[slot]);
      if (found == phased_.end()) continue;
      const auto axes =
          own_axes(compute, static_cast<int>(slot), found->second.lattices[0], out_.type(found->first).shape);
      if (!axes) continue;
      std::vector<Lattice> lattices;
      for (const Lattice& from : found->second.lattices) {
        Lattice lattice{std::vector<int64_t>(compute.axes.size(), 0), std::vector<int64_t>(compute.axes.size(), 1)};
        for (size_t d = 0; d < axes->size(); ++d) {
          if ((*axes)[d] < 0) continue;
          lattice.offset[static_cast<size_t>((*axes)[d])] = from.offset[d];
          lattice.period[static_cast<size_t>((*axes)[d])] = from.period[d];
        }
        lattices.push_back(std::move(lattice));
      }
      return lattices;
    }
    return std::nullopt;
  }

  // The axis that each split dim is read along, where that is the whole of an axis and every result has it; -1 for dims
  // that are whole in each part.
  static std::optional<std::vector<int>> own_axes(const Compute& compute, int slot, const Lattice& lattice,
                                                  const Shape& shape) {
    std::optional<std::vector<int>> axes;
    bool fine = true;
    const auto check = [&](const Expr& e) {
      if (e.op() != Op::Read || e.slot() != slot) return;
      std::vector<int> own(shape.size(), -1);
      std::set<uint64_t> split;
      for (size_t d = 0; d < shape.size(); ++d) {
        const Expr& p = e.positions()[d];
        if (lattice.period[d] == 1) continue;
        fine =
            fine && p.op() == Op::Index && compute.axes[p.bits()].extent == shape[d] && split.insert(p.bits()).second;
        if (!fine) return;
        own[d] = static_cast<int>(p.bits());
      }
      for (size_t d = 0; d < shape.size(); ++d) {
        if (own[d] >= 0) continue;
        for_each_node(e.positions()[d],
                      [&](const Expr& x) { fine = fine && (x.op() != Op::Index || !split.contains(x.bits())); });
      }
      fine = fine && !e.is_guarded() && (!axes || *axes == own);
      axes = own;
    };
    for (const Compute::Result& r : compute.results) for_each_node(r.value, check);
    if (!fine || !axes) return std::nullopt;
    for (const int axis : *axes)
      for (const Compute::Result& r : compute.results)
        if (axis >= 0 && std::find(r.axes.begin(), r.axes.end(), axis) == r.axes.end()) return std::nullopt;
    return axes;
  }

  // A pointwise compute, phase by phase.
  std::vector<Value> add_readers(const Node& node, const Compute& compute, const std::vector<Lattice>& lattices) {
    changed_ = true;
    std::vector<std::vector<Value>> parts;
    for (size_t p = 0; p < lattices.size(); ++p) {
      std::vector<Value> inputs = node.inputs;
      std::vector<bool> plain(inputs.size(), false);
      for (size_t slot = 0; slot < inputs.size(); ++slot) plain[slot] = reads_part(node, compute, slot, lattices);
      Compute part = on_lattice(compute, lattices[p]);
      // What is read at its own indices is read from the part of the same phase: there the index is what it was.
      rewrite_reads(part, [&](const Expr& e) -> Expr {
        const auto slot = static_cast<size_t>(e.slot());
        if (!plain[slot]) return {};
        const Phased& from = phased_.at(node.inputs[slot]);
        std::vector<Expr> positions(e.positions().begin(), e.positions().end());
        const std::vector<int> axes =
            *own_axes(compute, e.slot(), from.lattices[0], out_.type(node.inputs[slot]).shape);
        for (size_t d = 0; d < positions.size(); ++d)
          if (axes[d] >= 0) positions[d] = index(axes[d]);
        return read(e.dtype(), e.slot(), positions);
      });
      for (size_t slot = 0; slot < inputs.size(); ++slot)
        if (plain[slot]) inputs[slot] = phased_.at(node.inputs[slot]).parts[p];
      parts.push_back(add_compute(std::move(part), std::move(inputs), node.label + suffix(lattices[p])));
    }
    return assemble(node, compute, lattices, parts);
  }

  // Whether `slot` is read phase by phase, with the phases of this compute.
  bool reads_part(const Node& node, const Compute& compute, size_t slot, const std::vector<Lattice>& lattices) const {
    const auto found = phased_.find(node.inputs[slot]);
    if (found == phased_.end() || found->second.lattices.size() != lattices.size()) return false;
    const auto axes =
        own_axes(compute, static_cast<int>(slot), found->second.lattices[0], out_.type(found->first).shape);
    if (!axes) return false;
    for (size_t p = 0; p < lattices.size(); ++p) {
      std::set<int> split;
      for (size_t d = 0; d < axes->size(); ++d) {
        const int axis = (*axes)[d];
        if (axis < 0) continue;
        split.insert(axis);
        const auto a = static_cast<size_t>(axis);
        if (found->second.lattices[p].offset[d] != lattices[p].offset[a] ||
            found->second.lattices[p].period[d] != lattices[p].period[a])
          return false;
      }
      for (size_t a = 0; a < compute.axes.size(); ++a)
        if (lattices[p].period[a] > 1 && !split.contains(static_cast<int>(a))) return false;
    }
    return true;
  }

  const Graph& graph_;
  Graph out_;
  std::vector<std::vector<Value>> moved_;
  std::map<Value, Phased> phased_;
  bool changed_ = false;
};

}  // namespace

Graph split_phases(const Graph& graph) {
  Splitter splitter(graph);
  Graph split = splitter.run();
  return splitter.changed() ? simplify(split) : graph;
}

}  // namespace frit
