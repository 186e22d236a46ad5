#include <string>

#include "compiler/plan/template.h"

namespace frit {
namespace {

class Writer {
 public:
  void number(uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view text) {
    number(text.size());
    bytes_ += text;
  }
  void expr(const Expr& e) { number(e ? e.hash() : 0); }
  void exprs(const std::vector<Expr>& list) {
    number(list.size());
    for (const Expr& e : list) expr(e);
  }
  void axes(const std::vector<Axis>& list) {
    number(list.size());
    for (const Axis& axis : list) expr(axis.extent);
  }
  void numbers(const std::vector<int64_t>& list) {
    number(list.size());
    for (const int64_t n : list) number(static_cast<uint64_t>(n));
  }
  void value(const Value& v) {
    number(static_cast<uint64_t>(v.node));
    number(static_cast<uint64_t>(v.result));
  }

  void operator()(const Input& input) { text(input.name); }
  void operator()(const Constant& constant) {
    const Array& array = constant.array;
    if (array.size_bytes() <= kSmallConstantBytes)
      text({reinterpret_cast<const char*>(array.data()), array.size_bytes()});
  }
  void operator()(const Compute& compute) {
    axes(compute.axes);
    number(static_cast<uint64_t>(compute.free));
    number(static_cast<uint64_t>(compute.reduction.op));
    exprs(compute.reduction.init);
    exprs(compute.reduction.step);
    exprs(compute.reduction.merge);
    number(compute.results.size());
    for (const Compute::Result& result : compute.results) {
      expr(result.value);
      number(result.axes.size());
      for (const int axis : result.axes) number(static_cast<uint64_t>(axis));
    }
  }
  void operator()(const View& view) {
    axes(view.axes);
    exprs(view.positions);
  }
  void operator()(const Assemble& assemble) {
    exprs(assemble.shape);
    for (const Assemble::Part& part : assemble.parts) {
      numbers(part.offset);
      numbers(part.step);
    }
  }

  void operator()(const Scatter& scatter) {
    axes(scatter.axes);
    number(static_cast<uint64_t>(scatter.op));
    exprs(scatter.positions);
    expr(scatter.value);
  }
  void operator()(const Sort& sort) {
    number(static_cast<uint64_t>(sort.axis));
    number(static_cast<uint64_t>(sort.descending));
  }
  void operator()(const CustomGradient& custom) {
    number(static_cast<uint64_t>(custom.operands));
    number(custom.overridden.size());
    for (const int operand : custom.overridden) number(static_cast<uint64_t>(operand));
    number(hash(*custom.clause));
  }

  Digest digest() const { return digest_of(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace

Digest structure_of(const Graph& graph) {
  Writer out;
  out.number(graph.nodes().size());
  for (const Node& node : graph.nodes()) {
    out.number(node.payload.index());
    out.number(node.inputs.size());
    for (const Value& v : node.inputs) out.value(v);
    for (const TensorType& type : node.results) {
      out.number(static_cast<uint64_t>(type.dtype));
      out.exprs(type.shape);
    }
    std::visit(out, node.payload);
  }
  for (const Graph::Output& output : graph.outputs()) {
    out.text(output.name);
    out.value(output.value);
  }
  return out.digest();
}

}  // namespace frit
