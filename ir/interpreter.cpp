#include "ir/interpreter.h"

#include <algorithm>
#include <cmath>

#include "ir/reference/node_runs.h"
#include "support/error.h"

namespace frit {
namespace {

using namespace reference;

class Interpreter {
 public:
  Interpreter(const Graph& graph, const std::map<std::string, Array>& inputs) : graph_(graph), inputs_(inputs) {}

  std::map<Value, Stored> run(bool keep_all) {
    bind_symbols();
    std::vector<int> last_use(graph_.nodes().size(), -1);
    const int count = static_cast<int>(graph_.nodes().size());
    for (int id = 0; id < count; ++id)
      for (const Value v : graph_.node(id).inputs) last_use[static_cast<size_t>(v.node)] = id;
    for (const Graph::Output& out : graph_.outputs()) last_use[static_cast<size_t>(out.value.node)] = count;
    for (int id = 0; id < count; ++id) {
      if (last_use[static_cast<size_t>(id)] < 0 && !keep_all) continue;
      run_node(id);
      if (keep_all) continue;
      for (const Value v : graph_.node(id).inputs)
        if (last_use[static_cast<size_t>(v.node)] == id) values_.erase(v);
    }
    return std::move(values_);
  }

 private:
  void bind_symbols() {
    for (const int id : graph_.input_nodes()) {
      const auto& name = std::get<Input>(graph_.node(id).payload).name;
      const TensorType& type = graph_.node(id).results[0];
      const auto found = inputs_.find(name);
      if (found == inputs_.end()) refuse(name, "an input is missing", "", to_string(type));
      const Array& array = found->second;
      const std::string got = to_string(TensorType{array.dtype(), make_shape(array.shape())});
      if (array.dtype() != type.dtype || array.shape().size() != type.shape.size())
        refuse(name, "an input has another type", got, to_string(type));
      for (size_t d = 0; d < type.shape.size(); ++d)
        if (type.shape[d].op() == Op::Symbol) symbols_.emplace(symbol_name(type.shape[d]), array.shape()[d]);
    }
    for (const int id : graph_.input_nodes()) {
      const auto& name = std::get<Input>(graph_.node(id).payload).name;
      const TensorType& type = graph_.node(id).results[0];
      const Array& array = inputs_.at(name);
      for (size_t d = 0; d < type.shape.size(); ++d)
        if (extent(type.shape[d]) != array.shape()[d])
          refuse(name, "an input has another shape", to_string(TensorType{array.dtype(), make_shape(array.shape())}),
                 to_string(type));
    }
  }

  [[noreturn]] static void refuse(const std::string& name, std::string what, std::string got, std::string expected) {
    throw InputError(Finding{.where = "input " + name,
                             .what = std::move(what),
                             .excerpt = {},
                             .got = std::move(got),
                             .expected = std::move(expected),
                             .fix = {},
                             .from = {}});
  }

  int64_t extent(const Expr& e) {
    if (e.is_constant()) return e.int_value();
    static const std::vector<Source> kNone;
    Domain domain;
    Compiler compiler(domain, kNone, symbols_, false);
    const int r = compiler.add(e);
    const Program program = compiler.take();
    Machine machine(program, domain);
    machine.begin(0, 1);
    return machine.integers(r)[0];
  }

  std::vector<int64_t> extents(const Shape& shape) {
    std::vector<int64_t> result;
    for (const Expr& e : shape) result.push_back(extent(e));
    return result;
  }

  void run_node(int id) {
    const Node& node = graph_.node(id);
    if (const auto* input = std::get_if<Input>(&node.payload)) {
      values_.emplace(Value{id, 0}, stored_array(inputs_.at(input->name)));
    } else if (const auto* c = std::get_if<Constant>(&node.payload)) {
      values_.emplace(Value{id, 0}, stored_array(c->array));
    } else if (const auto* compute = std::get_if<Compute>(&node.payload)) {
      run_compute(id, *compute);
    } else if (const auto* view = std::get_if<View>(&node.payload)) {
      // A view is the compute that reads at its positions.
      Compute c;
      c.axes = view->axes;
      c.free = static_cast<int>(view->axes.size());
      Compute::Result result{read(node.results[0].dtype, 0, view->positions), {}};
      for (int a = 0; a < c.free; ++a) result.axes.push_back(a);
      c.results.push_back(std::move(result));
      run_compute(id, c);
    } else if (const auto* assemble = std::get_if<Assemble>(&node.payload)) {
      run_assemble(id, *assemble);
    } else if (const auto* scatter = std::get_if<Scatter>(&node.payload)) {
      run_scatter(id, *scatter);
    } else if (const auto* sort = std::get_if<Sort>(&node.payload)) {
      keep(id, reference::run_sort(*sort, values_.at(node.inputs[0])));
    } else {
      const auto& custom = std::get<CustomGradient>(node.payload);
      for (size_t r = 0; r < node.results.size(); ++r)
        values_.insert_or_assign(Value{id, static_cast<int>(r)},
                                 values_.at(node.inputs[static_cast<size_t>(custom.operands) + r]));
    }
  }

  void keep(int id, std::vector<Stored> results) {
    for (size_t r = 0; r < results.size(); ++r)
      values_.insert_or_assign(Value{id, static_cast<int>(r)}, std::move(results[r]));
  }

  void run_scatter(int id, const Scatter& scatter) {
    const Node& node = graph_.node(id);
    std::vector<Source> sources;
    for (const Value v : node.inputs) sources.push_back(values_.at(v).source());
    std::vector<int64_t> sizes;
    for (const Axis& axis : scatter.axes) sizes.push_back(extent(axis.extent));
    std::vector<Stored> results;
    results.push_back(reference::run_scatter(scatter, sources, values_.at(node.inputs[0]), sizes, symbols_));
    results[0].terms = std::max(results[0].terms, terms_of_inputs(node));
    keep(id, std::move(results));
  }

  int64_t terms_of_inputs(const Node& node) const {
    int64_t terms = 1;
    for (const Value v : node.inputs) terms = std::max(terms, values_.at(v).terms);
    return terms;
  }

  void run_compute(int id, const Compute& compute) {
    const Node& node = graph_.node(id);
    std::vector<Source> sources;
    for (const Value v : node.inputs) sources.push_back(values_.at(v).source());
    std::vector<int64_t> sizes;
    int64_t terms = terms_of_inputs(node);
    for (size_t a = 0; a < compute.axes.size(); ++a) sizes.push_back(extent(compute.axes[a].extent));
    const ReduceOp op = compute.reduction.op;
    if (op == ReduceOp::Sum || op == ReduceOp::Prod || op == ReduceOp::Fold) {
      int64_t count = 1;
      for (size_t a = static_cast<size_t>(compute.free); a < sizes.size(); ++a) count *= sizes[a];
      terms = std::max(terms, count);
    }
    std::vector<Stored> out;
    std::map<std::vector<int>, std::vector<int>> groups;
    for (size_t r = 0; r < compute.results.size(); ++r) {
      out.push_back(make_stored(node.results[r].dtype, extents(node.results[r].shape)));
      out.back().terms = terms;
      groups[compute.results[r].axes].push_back(static_cast<int>(r));
    }
    for (auto& [axes, results] : groups) reference::run_compute(compute, sources, sizes, symbols_, results, out);
    keep(id, std::move(out));
  }

  void run_assemble(int id, const Assemble& assemble) {
    const Node& node = graph_.node(id);
    Stored out = make_stored(node.results[0].dtype, extents(assemble.shape));
    out.terms = terms_of_inputs(node);
    for (size_t p = 0; p < assemble.parts.size(); ++p) copy_part(assemble.parts[p], values_.at(node.inputs[p]), out);
    values_.emplace(Value{id, 0}, std::move(out));
  }

  static void copy_part(const Assemble::Part& part, const Stored& from, Stored& to) {
    std::vector<int64_t> at(from.shape.size());
    for (int64_t i = 0; i < from.size; ++i) {
      int64_t offset = 0;
      for (size_t d = 0; d < at.size(); ++d) {
        const int64_t position = part.offset[d] + part.step[d] * at[d];
        FRIT_CHECK(position >= 0 && position < to.shape[d], "a part leaves its tensor");
        offset = offset * to.shape[d] + position;
      }
      const auto source = static_cast<size_t>(i), target = static_cast<size_t>(offset);
      if (is_float(from.dtype)) {
        to.values[target] = from.array.data() ? from.array.float_at(i) : from.values[source];
        to.magnitudes[target] = from.magnitudes.empty() ? std::fabs(to.values[target]) : from.magnitudes[source];
      } else {
        to.integers[target] = from.integers[source];
      }
      for (size_t d = at.size(); d-- > 0 && ++at[d] == from.shape[d];) at[d] = 0;
    }
  }

  const Graph& graph_;
  const std::map<std::string, Array>& inputs_;
  Symbols symbols_;
  std::map<Value, Stored> values_;
};

}  // namespace

std::vector<ReferenceTensor> interpret(const Graph& graph, const std::map<std::string, Array>& inputs) {
  const std::map<Value, Stored> values = Interpreter(graph, inputs).run(false);
  std::vector<ReferenceTensor> results;
  for (const Graph::Output& out : graph.outputs()) results.push_back(to_reference(values.at(out.value)));
  return results;
}

std::map<Value, ReferenceTensor> interpret_all(const Graph& graph, const std::map<std::string, Array>& inputs) {
  std::map<Value, ReferenceTensor> results;
  for (const auto& [value, stored] : Interpreter(graph, inputs).run(true))
    if (!std::holds_alternative<Constant>(graph.node(value).payload)) results.emplace(value, to_reference(stored));
  return results;
}

}  // namespace frit
