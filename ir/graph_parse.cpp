#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "ir/graph_text.h"
#include "ir/text_reader.h"
#include "support/error.h"

namespace frit {
namespace {

constexpr int64_t kMostConstantBytes = int64_t{1} << 33;  // of all large constants of one text
constexpr int kDeepestClause = 100;

class GraphParser {
 public:
  explicit GraphParser(std::string_view text) : in_(text) {}

  Graph run() {
    while (!in_.at_end()) statement();
    return std::move(graph_);
  }

 private:
  void statement() {
    if (!in_.accept_word("output")) return node();
    std::string name = in_.string();
    in_.expect("=");
    graph_.add_output(std::move(name), value());
  }

  void node() {
    in_.expect("%");
    const int64_t number = in_.integer();
    if (ids_.contains(number)) in_.fail("a node is defined twice", fmt::format("%{}", number));
    in_.expect("=");
    Node n;
    std::vector<TensorType> stated;
    const std::string_view kind = in_.word();
    if (kind == "input")
      stated = input(n);
    else if (kind == "constant")
      stated = constant(n);
    else if (kind == "compute")
      stated = compute(n);
    else if (kind == "view")
      stated = view(n);
    else if (kind == "assemble")
      stated = assemble(n);
    else if (kind == "scatter")
      stated = scatter(n);
    else if (kind == "sort")
      stated = sort(n);
    else if (kind == "custom_gradient")
      stated = custom_gradient(n);
    else
      in_.fail("no such kind of node", std::string(kind),
               "input, constant, compute, view, assemble, scatter, sort or custom_gradient");
    if (in_.accept("#")) n.label = in_.rest_of_line();
    add(std::move(n), number, stated);
  }

  void add(Node n, int64_t number, const std::vector<TensorType>& stated) {
    Value v;
    try {
      v = graph_.add(std::move(n));
    } catch (const InternalError& error) {
      in_.fail("the node is not well formed", error.findings().empty() ? error.what() : error.findings()[0].what);
    }
    const std::vector<TensorType>& inferred = graph_.node(v).results;
    if (inferred != stated)
      in_.fail("the stated type is not what follows from the node", types(stated), types(inferred));
    ids_.emplace(number, v.node);
  }

  static std::string types(const std::vector<TensorType>& all) {
    std::string text;
    for (const TensorType& type : all) text += (text.empty() ? "" : ", ") + to_string(type);
    return text;
  }

  Value value() {
    in_.expect("%");
    const int64_t number = in_.integer();
    const auto found = ids_.find(number);
    if (found == ids_.end()) in_.fail("no such node before", fmt::format("%{}", number));
    Value v{found->second, 0};
    if (in_.accept(".")) v.result = static_cast<int>(std::min<int64_t>(in_.integer(), 1 << 20));
    if (v.result < 0 || static_cast<size_t>(v.result) >= graph_.node(v).results.size()) in_.fail("no such result");
    return v;
  }

  void read_inputs(Node& n) {
    if (!in_.accept_word("reads")) return;
    do n.inputs.push_back(value());
    while (in_.accept(","));
  }

  TensorType type() {
    TensorType t{in_.dtype(), {}};
    in_.expect("[");
    if (in_.accept("]")) return t;
    do t.shape.push_back(extent());
    while (in_.accept(","));
    in_.expect("]");
    return t;
  }

  std::vector<TensorType> type_list() {
    std::vector<TensorType> all;
    do all.push_back(type());
    while (in_.accept(","));
    return all;
  }

  Expr extent() {
    Expr e = in_.expression(ExprNames{});
    if (e.dtype() != DType::I64) in_.fail("an extent is an i64");
    return e;
  }

  std::vector<TensorType> input(Node& n) {
    n.results = {type()};
    n.label = in_.string();
    n.payload = Input{n.label};
    return n.results;
  }

  std::vector<TensorType> constant(Node& n) {
    TensorType t = type();
    std::vector<int64_t> shape;
    for (const Expr& e : t.shape) {
      if (!e.is_constant()) in_.fail("a constant has a static shape");
      shape.push_back(e.int_value());
    }
    int64_t bytes = 0;
    if (__builtin_mul_overflow(element_count(shape), int64_t{size_bytes(t.dtype)}, &bytes) ||
        __builtin_add_overflow(constant_bytes_, bytes, &constant_bytes_) || constant_bytes_ > kMostConstantBytes)
      in_.fail("constants are too large");
    if (!in_.accept_word("large")) {
      if (bytes > static_cast<int64_t>(kSmallConstantBytes)) in_.fail("a constant is too large to be written out");
      Array array(t.dtype, shape);
      in_.expect("{");
      for (int64_t i = 0; i < array.size(); ++i) {
        if (i > 0) in_.expect(",");
        set_element(array, i, in_.element());
      }
      in_.expect("}");
      n.payload = Constant{std::move(array)};
    } else {
      n.payload = Constant{Array(t.dtype, shape)};
    }
    return {t};
  }

  void set_element(Array& array, int64_t i, std::string_view text) {
    const char* begin = text.data();
    const char* end = begin + text.size();
    const auto whole = [&](const std::from_chars_result& r) {
      if (r.ptr != end || r.ec != std::errc())
        in_.fail("not an element of this dtype", std::string(text), std::string(name(array.dtype())));
    };
    if (array.dtype() == DType::Bool) {
      if (text != "true" && text != "false")
        in_.fail("not an element of this dtype", std::string(text), "true or false");
      array.set_int(i, text == "true");
    } else if (array.dtype() == DType::F32) {
      float v = 0;
      whole(std::from_chars(begin, end, v));
      array.set_float(i, v);
    } else if (is_float(array.dtype())) {
      double v = 0;
      whole(std::from_chars(begin, end, v));
      array.set_float(i, v);
    } else if (array.dtype() == DType::U64) {
      uint64_t v = 0;
      whole(std::from_chars(begin, end, v));
      array.set_int(i, static_cast<int64_t>(v));
    } else {
      int64_t v = 0;
      whole(std::from_chars(begin, end, v));
      array.set_int(i, v);
      if (array.int_at(i) != v)
        in_.fail("not an element of this dtype", std::string(text), std::string(name(array.dtype())));
    }
  }

  // Axes with their names; gives the number of free ones.
  int axes(std::vector<Axis>& all, ExprNames& names) {
    in_.expect("(");
    int free = -1;
    if (in_.accept(")")) return 0;
    if (in_.accept(";")) free = 0;
    while (true) {
      const std::string name(in_.word());
      if (name.empty()) in_.fail("an axis has a name");
      if (std::find(names.indices.begin(), names.indices.end(), name) != names.indices.end())
        in_.fail("two axes of one name", name);
      in_.expect("<");
      // Extents are over symbols only, whatever the axes are called.
      all.push_back({name, extent()});
      names.indices.push_back(name);
      if (in_.accept(",")) continue;
      if (free < 0 && in_.accept(";")) {
        free = static_cast<int>(all.size());
        continue;
      }
      in_.expect(")");
      return free < 0 ? static_cast<int>(all.size()) : free;
    }
  }

  void bindings(const ExprNames& names) {
    if (!in_.accept("{")) return;
    do in_.bind(names);
    while (in_.accept(","));
    in_.expect("}");
  }

  std::vector<TensorType> compute(Node& n) {
    std::vector<TensorType> stated = type_list();
    Compute c;
    ExprNames names;
    read_inputs(n);
    for (const Value v : n.inputs) names.slot_dtypes.push_back(graph_.type(v).dtype);
    c.free = axes(c.axes, names);
    in_.clear_bindings();
    if (!in_.peek("->") && !in_.peek("{"))
      reduction(c, names);
    else
      bindings(names);
    in_.expect("->");
    do {
      Compute::Result result{in_.expression(names), {}};
      if (in_.accept("[")) {
        if (!in_.accept("]")) {
          do result.axes.push_back(axis_named(in_.word(), names));
          while (in_.accept(","));
          in_.expect("]");
        }
      } else {
        for (int a = 0; a < c.free; ++a) result.axes.push_back(a);
      }
      c.results.push_back(std::move(result));
    } while (in_.accept(";"));
    n.payload = std::move(c);
    return stated;
  }

  int axis_named(std::string_view word, const ExprNames& names) {
    const auto found = std::find(names.indices.begin(), names.indices.end(), word);
    if (found == names.indices.end()) in_.fail("no such axis", std::string(word));
    return static_cast<int>(found - names.indices.begin());
  }

  void reduction(Compute& c, ExprNames& names) {
    const std::string_view word = in_.word();
    for (int op = static_cast<int>(ReduceOp::Sum); op <= static_cast<int>(ReduceOp::Fold); ++op)
      if (name(static_cast<ReduceOp>(op)) == word) c.reduction.op = static_cast<ReduceOp>(op);
    if (c.reduction.op == ReduceOp::None) in_.fail("no such reduction", std::string(word));
    in_.expect("(");
    do {
      in_.expect_word(fmt::format("acc{}", c.reduction.init.size()));
      in_.expect("=");
      c.reduction.init.push_back(in_.expression(names));
    } while (in_.accept(","));
    for (const Expr& init : c.reduction.init) names.acc_dtypes.push_back(init.dtype());
    in_.expect(":");
    bindings(names);
    states(c.reduction.step, c.reduction.init.size(), names);
    if (in_.accept(":")) states(c.reduction.merge, c.reduction.init.size(), names);
    in_.expect(")");
  }

  void states(std::vector<Expr>& to, size_t count, const ExprNames& names) {
    for (size_t k = 0; k < count; ++k) {
      if (k > 0) in_.expect(",");
      to.push_back(in_.expression(names));
    }
  }

  std::vector<TensorType> view(Node& n) {
    std::vector<TensorType> stated = type_list();
    View v;
    ExprNames names;
    read_inputs(n);
    axes(v.axes, names);
    in_.clear_bindings();
    bindings(names);
    in_.expect("[");
    if (!in_.accept("]")) {
      do v.positions.push_back(in_.expression(names));
      while (in_.accept(","));
      in_.expect("]");
    }
    n.payload = std::move(v);
    return stated;
  }

  std::vector<int64_t> numbers() {
    std::vector<int64_t> all;
    in_.expect("[");
    if (in_.accept("]")) return all;
    do all.push_back(in_.integer());
    while (in_.accept(","));
    in_.expect("]");
    return all;
  }

  std::vector<TensorType> assemble(Node& n) {
    std::vector<TensorType> stated = type_list();
    Assemble a;
    a.shape = stated[0].shape;
    read_inputs(n);
    if (in_.peek("[")) {
      do {
        Assemble::Part part;
        part.offset = numbers();
        in_.expect("+");
        part.step = numbers();
        a.parts.push_back(std::move(part));
      } while (in_.accept(","));
    }
    n.payload = std::move(a);
    return stated;
  }

  std::vector<TensorType> scatter(Node& n) {
    std::vector<TensorType> stated = type_list();
    Scatter s;
    ExprNames names;
    read_inputs(n);
    for (const Value v : n.inputs) names.slot_dtypes.push_back(graph_.type(v).dtype);
    axes(s.axes, names);
    in_.clear_bindings();
    bindings(names);
    in_.expect("[");
    if (!in_.accept("]")) {
      do s.positions.push_back(in_.expression(names));
      while (in_.accept(","));
      in_.expect("]");
    }
    const std::string_view word = in_.word();
    bool known = false;
    for (const ScatterOp op : {ScatterOp::Set, ScatterOp::Add, ScatterOp::Mul, ScatterOp::Max, ScatterOp::Min})
      if (name(op) == word) s.op = op, known = true;
    if (!known) in_.fail("no such write", std::string(word), "set, add, mul, max or min");
    s.value = in_.expression(names);
    n.payload = std::move(s);
    return stated;
  }

  std::vector<TensorType> sort(Node& n) {
    std::vector<TensorType> stated = type_list();
    read_inputs(n);
    in_.expect_word("axis");
    Sort s;
    s.axis = small_number();
    s.descending = in_.accept_word("descending");
    if (!s.descending) in_.expect_word("ascending");
    n.payload = s;
    return stated;
  }

  int small_number() {
    const int64_t number = in_.integer();
    if (number < 0 || number > (1 << 20)) in_.fail("a number out of range", fmt::format("{}", number));
    return static_cast<int>(number);
  }

  std::vector<TensorType> custom_gradient(Node& n) {
    if (++depth_ > kDeepestClause) in_.fail("gradient clauses are nested too deep");
    std::vector<TensorType> stated = type_list();
    read_inputs(n);
    CustomGradient c;
    in_.expect_word("operands");
    c.operands = small_number();
    for (const int64_t operand : numbers()) {
      if (operand < 0 || operand >= c.operands) in_.fail("no such operand", fmt::format("{}", operand));
      c.overridden.push_back(static_cast<int>(operand));
    }
    in_.expect("{");
    // The clause has numbers of its own.
    Graph outer = std::exchange(graph_, {});
    std::map<int64_t, int> ids = std::exchange(ids_, {});
    while (!in_.accept("}")) statement();
    c.clause = std::make_shared<const Graph>(std::exchange(graph_, std::move(outer)));
    ids_ = std::move(ids);
    --depth_;
    n.payload = std::move(c);
    return stated;
  }

  TextReader in_;
  Graph graph_;
  int depth_ = 0;
  std::map<int64_t, int> ids_;
  int64_t constant_bytes_ = 0;
};

}  // namespace

Graph parse_graph(std::string_view text) { return GraphParser(text).run(); }

}  // namespace frit
