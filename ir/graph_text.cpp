// Text of graphs, one node a line:
//   %3 = compute f32[8, 16] reads %1, %2 (m < 8, n < 16; k < 64) sum(acc0 = 0.0 : acc0 + x0[m, k]*x1[k, n] : acc0 +
//   acc0')
//        -> acc0  # dense
// The part in braces, if any, binds shared expressions to names for the rest of the node.
#include "ir/graph_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/error.h"

namespace frit {
namespace {

std::string join(const std::vector<std::string>& parts, size_t first, size_t count) {
  std::string text;
  for (size_t k = 0; k < count; ++k) text += (k == 0 ? "" : ", ") + parts[first + k];
  return text;
}

std::string value_text(Value v) {
  return v.result == 0 ? fmt::format("%{}", v.node) : fmt::format("%{}.{}", v.node, v.result);
}

class NodePrinter {
 public:
  NodePrinter(const Graph& graph, int id) : graph_(graph), node_(graph.node(id)), id_(id) {}

  std::string run() {
    std::string text =
        fmt::format("%{} = ", id_) + std::visit([&](const auto& payload) { return print(payload); }, node_.payload);
    const auto* input = std::get_if<Input>(&node_.payload);
    if (!node_.label.empty() && (!input || input->name != node_.label)) {
      const std::string label = quoted(node_.label);
      text += "  # " + label.substr(1, label.size() - 2);
    }
    return text;
  }

 private:
  std::string types() const {
    std::string text;
    for (const TensorType& type : node_.results) text += (text.empty() ? "" : ", ") + to_string(type);
    for (size_t k = 0; k < node_.inputs.size(); ++k) text += (k == 0 ? " reads " : ", ") + value_text(node_.inputs[k]);
    return text;
  }

  std::string print(const Input& input) { return "input " + types() + " " + quoted(input.name); }

  std::string print(const Constant& constant) {
    const Array& a = constant.array;
    std::string text = "constant " + types();
    if (a.size_bytes() > kSmallConstantBytes) return text + " large";
    text += " {";
    for (int64_t i = 0; i < a.size(); ++i) text += (i == 0 ? "" : ", ") + element(a, i);
    return text + "}";
  }

  static std::string element(const Array& a, int64_t i) {
    if (a.dtype() == DType::Bool) return a.int_at(i) ? "true" : "false";
    if (a.dtype() == DType::U64) return fmt::format("{}", static_cast<uint64_t>(a.int_at(i)));
    if (!is_float(a.dtype())) return fmt::format("{}", a.int_at(i));
    const double v = a.float_at(i);
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    return a.dtype() == DType::F64 ? fmt::format("{}", v) : fmt::format("{}", static_cast<float>(v));
  }

  // The names of axes, made unique; those that mean something else give way to their position.
  void name_axes(const std::vector<Axis>& axes) {
    for (size_t k = 0; k < axes.size(); ++k) {
      const std::string& name = axes[k].name;
      const bool taken = std::find(names_.indices.begin(), names_.indices.end(), name) != names_.indices.end();
      const bool plain = is_plain_name(name) && !taken;
      names_.indices.push_back(plain ? name : fmt::format("i{}", k));
    }
  }

  std::string axes_text(const std::vector<Axis>& axes, size_t free) const {
    ExprNames names = names_;
    names.with_lets = false;
    std::string text = "(";
    std::vector<std::string> lets;
    for (size_t k = 0; k < axes.size(); ++k) {
      text += k == 0 ? (free == 0 ? "; " : "") : k == free ? "; " : ", ";
      text += names_.indices[k] + " < " + print_exprs(std::span(&axes[k].extent, 1), names, lets)[0];
    }
    return text + ")";
  }

  std::string lets_text(const std::vector<std::string>& lets) const {
    return lets.empty() ? "" : " {" + join(lets, 0, lets.size()) + "}";
  }

  std::string print(const Compute& c) {
    name_axes(c.axes);
    for (const Value v : node_.inputs) names_.slot_dtypes.push_back(graph_.type(v).dtype);
    for (const Expr& init : c.reduction.init) names_.acc_dtypes.push_back(init.dtype());
    // Inits come before the bindings, which may mention accumulators of their dtypes.
    ExprNames plain = names_;
    plain.with_lets = false;
    std::vector<std::string> lets;
    const std::vector<std::string> inits = print_exprs(c.reduction.init, plain, lets);
    std::vector<Expr> roots = c.reduction.step;
    roots.insert(roots.end(), c.reduction.merge.begin(), c.reduction.merge.end());
    const size_t first_result = roots.size();
    for (const Compute::Result& result : c.results) roots.push_back(result.value);
    const std::vector<std::string> texts = print_exprs(roots, names_, lets);

    std::string text = "compute " + types() + " " + axes_text(c.axes, static_cast<size_t>(c.free));
    const size_t states = c.reduction.init.size();
    if (c.reduction.op != ReduceOp::None) {
      text += " " + std::string(name(c.reduction.op)) + "(";
      for (size_t k = 0; k < states; ++k) text += fmt::format("{}acc{} = {}", k == 0 ? "" : ", ", k, inits[k]);
      text += " :" + lets_text(lets) + " " + join(texts, 0, states);
      if (!c.reduction.merge.empty()) text += " : " + join(texts, states, states);
      text += ")";
    } else {
      text += lets_text(lets);
    }
    for (size_t r = 0; r < c.results.size(); ++r)
      text += (r == 0 ? " -> " : "; ") + texts[first_result + r] + result_axes(c, c.results[r].axes);
    return text;
  }

  std::string result_axes(const Compute& c, const std::vector<int>& axes) const {
    bool all = axes.size() == static_cast<size_t>(c.free);
    for (size_t k = 0; k < axes.size(); ++k) all = all && axes[k] == static_cast<int>(k);
    if (all) return "";
    std::vector<std::string> parts;
    for (const int axis : axes) parts.push_back(names_.indices[static_cast<size_t>(axis)]);
    return " [" + join(parts, 0, parts.size()) + "]";
  }

  std::string print(const View& v) {
    name_axes(v.axes);
    std::vector<std::string> lets;
    const std::vector<std::string> positions = print_exprs(v.positions, names_, lets);
    return "view " + types() + " " + axes_text(v.axes, v.axes.size()) + lets_text(lets) + " [" +
           join(positions, 0, positions.size()) + "]";
  }

  std::string print(const Assemble& a) {
    std::string text = "assemble " + types();
    for (size_t p = 0; p < a.parts.size(); ++p)
      text += fmt::format("{} [{}]+[{}]", p == 0 ? "" : ",", fmt::join(a.parts[p].offset, ", "),
                          fmt::join(a.parts[p].step, ", "));
    return text;
  }

  // scatter f32[8] reads %0, %1 (i < 4) [x1[i]] add x2[i]
  std::string print(const Scatter& s) {
    name_axes(s.axes);
    for (const Value v : node_.inputs) names_.slot_dtypes.push_back(graph_.type(v).dtype);
    std::vector<Expr> roots = s.positions;
    roots.push_back(s.value);
    std::vector<std::string> lets;
    const std::vector<std::string> texts = print_exprs(roots, names_, lets);
    return "scatter " + types() + " " + axes_text(s.axes, s.axes.size()) + lets_text(lets) + " [" +
           join(texts, 0, s.positions.size()) + "] " + std::string(name(s.op)) + " " + texts.back();
  }

  std::string print(const Sort& s) {
    return fmt::format("sort {} axis {} {}", types(), s.axis, s.descending ? "descending" : "ascending");
  }

  // The clause follows in braces, a graph of its own.
  std::string print(const CustomGradient& c) {
    std::string text =
        fmt::format("custom_gradient {} operands {} [{}] {{\n", types(), c.operands, fmt::join(c.overridden, ", "));
    return text + to_string(*c.clause) + "}";
  }

  const Graph& graph_;
  const Node& node_;
  int id_;
  ExprNames names_;
};

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else if (byte < 32 || byte == 127)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + "\"";
}

std::string node_text(const Graph& graph, int node) { return NodePrinter(graph, node).run(); }

std::string to_string(const Graph& graph) {
  std::string text;
  for (size_t id = 0; id < graph.nodes().size(); ++id) text += node_text(graph, static_cast<int>(id)) + "\n";
  for (const Graph::Output& out : graph.outputs())
    text += "output " + quoted(out.name) + " = " + value_text(out.value) + "\n";
  return text;
}

}  // namespace frit
