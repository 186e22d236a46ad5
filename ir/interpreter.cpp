#include "ir/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "ir/reference/program.h"
#include "support/error.h"

namespace frit {
namespace {

using namespace reference;

// A value of the graph while it is needed. Floats that came from outside are read where they lie; the others are
// owned, with magnitudes.
struct Stored {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  int64_t size = 0;
  int64_t terms = 1;
  Array array;  // keeps f32 and f64 inputs and constants alive
  std::vector<double> values, magnitudes;
  std::vector<int64_t> integers;

  Source source() const {
    Source s{dtype, shape, nullptr, nullptr, nullptr, nullptr};
    if (!is_float(dtype))
      s.ints = integers.data();
    else if (array.data() && dtype == DType::F32)
      s.f32 = array.as<float>();
    else if (array.data() && dtype == DType::F64)
      s.f64 = array.as<double>();
    else
      s.f64 = values.data();
    if (!magnitudes.empty()) s.magnitudes = magnitudes.data();
    return s;
  }
};

Stored make_stored(DType dtype, std::vector<int64_t> shape) {
  Stored s;
  s.dtype = dtype;
  s.size = element_count(shape);
  s.shape = std::move(shape);
  const auto n = static_cast<size_t>(s.size);
  if (is_float(dtype)) {
    s.values.resize(n);
    s.magnitudes.resize(n);
  } else {
    s.integers.resize(n);
  }
  return s;
}

Stored stored_array(const Array& array) {
  Stored s;
  s.dtype = array.dtype();
  s.shape = array.shape();
  s.size = array.size();
  if (array.dtype() == DType::F32 || array.dtype() == DType::F64) {
    s.array = array;
  } else if (is_float(array.dtype())) {
    s.values.resize(static_cast<size_t>(s.size));
    for (int64_t i = 0; i < s.size; ++i) s.values[static_cast<size_t>(i)] = array.float_at(i);
  } else {
    s.integers.resize(static_cast<size_t>(s.size));
    for (int64_t i = 0; i < s.size; ++i) s.integers[static_cast<size_t>(i)] = array.int_at(i);
  }
  return s;
}

ReferenceTensor to_reference(const Stored& s) {
  ReferenceTensor t{s.dtype, s.shape, s.values, s.integers, s.magnitudes, {}};
  const auto n = static_cast<size_t>(s.size);
  if (is_float(s.dtype)) {
    if (t.values.size() != n) {
      t.values.resize(n);
      for (size_t i = 0; i < n; ++i) t.values[i] = s.array.float_at(static_cast<int64_t>(i));
    }
    if (t.magnitudes.size() != n) {
      t.magnitudes.resize(n);
      for (size_t i = 0; i < n; ++i) t.magnitudes[i] = std::fabs(t.values[i]);
    }
  }
  t.terms.assign(n, s.terms);
  return t;
}

// Runs `body(begin, end)` over [0, count) in pieces of `grain`, on several threads where there is work for them.
template <class Body>
void parallel_pieces(int64_t count, int64_t grain, double work, Body body) {
  const int64_t pieces = (count + grain - 1) / grain;
  const int64_t wanted = work < 1e6 ? 1 : std::min<int64_t>(pieces, std::thread::hardware_concurrency());
  std::atomic<int64_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto worker = [&] {
    try {
      body([&](int64_t& begin, int64_t& end) {
        begin = next.fetch_add(1) * grain;
        end = std::min(begin + grain, count);
        return begin < count;
      });
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (int64_t t = 1; t < wanted; ++t) threads.emplace_back(worker);
  worker();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

// Evaluates results of a Compute that share their axes.
class ComputeRun {
 public:
  ComputeRun(const Compute& compute, const std::vector<Source>& sources, const std::vector<int64_t>& extents,
             const Symbols& symbols, std::vector<int> results)
      : compute_(compute), sources_(sources), symbols_(symbols), results_(std::move(results)) {
    domain_.extents = extents;
    domain_.free = compute.free;
    domain_.lane_axes = compute.results[static_cast<size_t>(results_[0])].axes;
  }

  void run(std::vector<Stored>& out) {
    int64_t lanes = 1, reduced = 1;
    for (const int axis : domain_.lane_axes) lanes *= domain_.extents[static_cast<size_t>(axis)];
    for (size_t a = static_cast<size_t>(domain_.free); a < domain_.extents.size(); ++a) reduced *= domain_.extents[a];
    compile(reduced == 0);
    const double work = static_cast<double>(lanes) * static_cast<double>(std::max<int64_t>(1, reduced)) *
                        static_cast<double>(1 + body_.inner.size() + final_.outer.size());
    parallel_pieces(lanes, kLanes, work, [&](auto next) {
      Machine body(body_, domain_);
      Machine final(final_, domain_);
      int64_t begin = 0, end = 0;
      while (next(begin, end)) run_block(body, final, reduced, begin, static_cast<int>(end - begin), out);
    });
  }

 private:
  bool has_reduction() const { return compute_.reduction.op != ReduceOp::None; }

  // The accumulators that the results need, through the steps of others.
  std::set<int> needed() const {
    std::set<int> found;
    std::vector<Expr> work;
    const auto visit = [&](const Expr& root) {
      for_each_node(root, [&](const Expr& e) {
        if (e.op() == Op::Acc && found.insert(static_cast<int>(e.bits())).second)
          work.push_back(compute_.reduction.step[e.bits()]);
      });
    };
    for (const int r : results_) visit(compute_.results[static_cast<size_t>(r)].value);
    while (!work.empty()) {
      const Expr next = work.back();
      work.pop_back();
      visit(next);
    }
    return found;
  }

  // Over nothing there is no step: what it reads may not exist.
  void compile(bool is_empty) {
    if (has_reduction()) {
      Compiler body(domain_, sources_, symbols_, true);
      for (const int k : needed()) {
        State s;
        s.k = k;
        s.is_float = is_float(compute_.reduction.init[static_cast<size_t>(k)].dtype());
        s.init = body.add(compute_.reduction.init[static_cast<size_t>(k)]);
        const Expr& step = compute_.reduction.step[static_cast<size_t>(k)];
        s.is_sum = s.is_float && compute_.reduction.op == ReduceOp::Sum && step.op() == Op::Add &&
                   step.arg(0) == accumulator(step.dtype(), k);
        if (!is_empty) s.step = body.add(s.is_sum ? step.arg(1) : step);
        states_.push_back(s);
      }
      body_ = body.take();
      for (State& s : states_)
        if (static_cast<size_t>(s.k) < body_.accumulators.size())
          s.in_body = body_.accumulators[static_cast<size_t>(s.k)];
    }
    Compiler final(domain_, sources_, symbols_, false);
    for (const int r : results_) roots_.push_back(final.add(compute_.results[static_cast<size_t>(r)].value));
    final_ = final.take();
  }

  struct State {
    int k = 0;
    int init = -1, step = -1;
    int in_body = -1;  // register of Acc(k) in the body
    bool is_float = false, is_sum = false;
  };
  struct StateLanes {
    std::vector<double> values, magnitudes, squares;
    std::vector<int64_t> integers;
  };

  static void copy_in(Machine& m, int r, bool is_float, int n, StateLanes& to) {
    const int s = m.stride(r);
    for (int l = 0; l < n; ++l) {
      const auto at = static_cast<size_t>(l);
      if (is_float)
        to.values[at] = m.values(r)[l * s], to.magnitudes[at] = m.magnitudes(r)[l * s];
      else
        to.integers[at] = m.integers(r)[l * s];
    }
  }
  static void copy_out(Machine& m, int r, bool is_float, int n, const StateLanes& from) {
    if (r < 0) return;
    if (is_float) {
      std::copy_n(from.values.begin(), n, m.values(r));
      std::copy_n(from.magnitudes.begin(), n, m.magnitudes(r));
    } else {
      std::copy_n(from.integers.begin(), n, m.integers(r));
    }
  }

  // Own rounding grows with the sum of absolute values; errors that the terms bring are independent of each other.
  static void add_term(Machine& m, int r, int n, StateLanes& to) {
    const int s = m.stride(r);
    const double* v = m.values(r);
    const double* mag = m.magnitudes(r);
    for (int l = 0; l < n; ++l) {
      const auto at = static_cast<size_t>(l);
      const double a = std::fabs(v[l * s]);
      const double extra = mag[l * s] - a;
      to.values[at] += v[l * s];
      to.magnitudes[at] += a;
      to.squares[at] += extra * extra;
    }
  }

  void run_block(Machine& body, Machine& final, int64_t reduced, int64_t first, int n, std::vector<Stored>& out) {
    std::vector<StateLanes> lanes(states_.size());
    if (has_reduction()) {
      body.begin(first, n);
      for (size_t i = 0; i < states_.size(); ++i) {
        lanes[i].values.resize(kLanes);
        lanes[i].magnitudes.resize(kLanes);
        lanes[i].squares.resize(kLanes);
        lanes[i].integers.resize(kLanes);
        copy_in(body, states_[i].init, states_[i].is_float, n, lanes[i]);
      }
      if (reduced > 0) reduce(body, n, lanes);
    }
    final.set_lanes(first, n);
    for (size_t i = 0; i < states_.size(); ++i) {
      const auto k = static_cast<size_t>(states_[i].k);
      if (states_[i].is_sum)
        for (int l = 0; l < n; ++l)
          lanes[i].magnitudes[static_cast<size_t>(l)] += std::sqrt(lanes[i].squares[static_cast<size_t>(l)]);
      if (k < final_.accumulators.size()) copy_out(final, final_.accumulators[k], states_[i].is_float, n, lanes[i]);
    }
    final.run_outer();
    for (size_t i = 0; i < roots_.size(); ++i) {
      Stored& to = out[static_cast<size_t>(results_[i])];
      const int s = final.stride(roots_[i]);
      for (int l = 0; l < n; ++l) {
        const auto at = static_cast<size_t>(first + l);
        if (is_float(to.dtype)) {
          to.values[at] = final.values(roots_[i])[l * s];
          to.magnitudes[at] = final.magnitudes(roots_[i])[l * s];
        } else {
          to.integers[at] = final.integers(roots_[i])[l * s];
        }
      }
    }
  }

  void reduce(Machine& body, int n, std::vector<StateLanes>& lanes) {
    std::vector<int64_t> at(domain_.extents.size());
    while (true) {
      for (size_t i = 0; i < states_.size(); ++i) copy_out(body, states_[i].in_body, states_[i].is_float, n, lanes[i]);
      body.step(at);
      for (size_t i = 0; i < states_.size(); ++i) {
        if (states_[i].is_sum)
          add_term(body, states_[i].step, n, lanes[i]);
        else
          copy_in(body, states_[i].step, states_[i].is_float, n, lanes[i]);
      }
      size_t a = domain_.extents.size();
      while (a > static_cast<size_t>(domain_.free) && ++at[a - 1] == domain_.extents[a - 1]) at[--a] = 0;
      if (a == static_cast<size_t>(domain_.free)) return;
    }
  }

  const Compute& compute_;
  const std::vector<Source>& sources_;
  const Symbols& symbols_;
  std::vector<int> results_;
  Domain domain_;
  Program body_, final_;
  std::vector<State> states_;
  std::vector<int> roots_;
};

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
    } else {
      run_assemble(id, std::get<Assemble>(node.payload));
    }
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
    for (auto& [axes, results] : groups) ComputeRun(compute, sources, sizes, symbols_, results).run(out);
    for (size_t r = 0; r < out.size(); ++r) values_.insert_or_assign(Value{id, static_cast<int>(r)}, std::move(out[r]));
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

double epsilon(DType dtype) {
  switch (dtype) {
    case DType::F16:
      return std::ldexp(1.0, -10);
    case DType::BF16:
      return std::ldexp(1.0, -7);
    case DType::F32:
      return std::numeric_limits<float>::epsilon();
    default:
      return std::numeric_limits<double>::epsilon();
  }
}

double largest(DType dtype) {
  switch (dtype) {
    case DType::F16:
      return 65504;
    case DType::BF16:
      return bf16_to(0x7f7f);
    case DType::F32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

struct Tolerance {
  double c;
  DType dtype;
  double operator()(const ReferenceTensor& want, size_t i) const {
    const DType computed = compute_dtype(dtype);
    const double scale = c * static_cast<double>(want.terms[i] + 4);
    double allowed = scale * epsilon(computed) * want.magnitudes[i];
    if (computed != dtype) allowed += c * epsilon(dtype) * std::fabs(want.values[i]);  // rounding to storage
    const double smallest = dtype == DType::F16   ? std::ldexp(1.0, -24)
                            : dtype == DType::F64 ? 0
                                                  : std::ldexp(1.0, -133);
    return allowed + scale * (dtype == DType::F32 ? std::ldexp(1.0, -149) : smallest);
  }
};

bool agrees(double got, double want, double allowed, double magnitude, double limit) {
  if (std::isnan(want)) return std::isnan(got);
  if (got == want || std::fabs(got - want) <= allowed) return !std::isinf(want) || got == want;
  // The result, or a sum on the way to it, is beyond the range of the dtype.
  if (std::fabs(want) + allowed >= limit && std::isinf(got) && (got < 0) == (want < 0)) return true;
  return std::isfinite(want) && magnitude > limit && !std::isfinite(got);
}

std::string position_text(const std::vector<int64_t>& shape, size_t i) {
  std::vector<size_t> at(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    at[d] = i % static_cast<size_t>(shape[d]);
    i /= static_cast<size_t>(shape[d]);
  }
  return fmt::format("[{}]", fmt::join(at, ", "));
}

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

std::string compare(const Array& got, const ReferenceTensor& want, double c) {
  if (got.dtype() != want.dtype || got.shape() != want.shape)
    return fmt::format("got {}, want {}", to_string(TensorType{got.dtype(), make_shape(got.shape())}),
                       to_string(TensorType{want.dtype, make_shape(want.shape)}));
  const bool floats = is_float(want.dtype);
  const Tolerance tolerance{c, want.dtype};
  const auto n = static_cast<size_t>(got.size());
  size_t wrong = 0, first = 0, worst = 0;
  double worst_ratio = 0;
  for (size_t i = 0; i < n; ++i) {
    const auto at = static_cast<int64_t>(i);
    if (!floats) {
      if (got.int_at(at) != want.integers[i] && wrong++ == 0) first = i;
      continue;
    }
    const double allowed = tolerance(want, i);
    const double value = got.float_at(at);
    if (agrees(value, want.values[i], allowed, want.magnitudes[i], largest(want.dtype))) continue;
    if (wrong++ == 0) first = worst = i;
    const double ratio = std::fabs(value - want.values[i]) / allowed;
    if (ratio > worst_ratio) worst_ratio = ratio, worst = i;
  }
  if (wrong == 0) return {};
  const auto show = [&](size_t i) {
    const auto at = static_cast<int64_t>(i);
    if (!floats)
      return fmt::format("{}: got {}, want {}", position_text(want.shape, i), got.int_at(at), want.integers[i]);
    return fmt::format("{}: got {}, want {}, allowed error {:.3g}", position_text(want.shape, i), got.float_at(at),
                       want.values[i], tolerance(want, i));
  };
  std::string text = fmt::format("{} of {} elements differ; first at {}", wrong, n, show(first));
  if (worst != first && floats)
    text += fmt::format("; worst at {} ({:.3g} times the allowed error)", show(worst), worst_ratio);
  return text;
}

}  // namespace frit
