// Gradients of recorded computations: the calls behind a tensor become one graph, and its adjoints one call more.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "compiler/front/node.h"
#include "compiler/passes/gradient.h"
#include "frit/frit.h"
#include "support/error.h"

namespace frit {
namespace {

using front::NodePtr;

[[noreturn]] void refuse(std::string what, std::string got, std::string expected, std::string fix = {}) {
  throw InputError(Finding{.where = "grad",
                           .what = std::move(what),
                           .excerpt = {},
                           .got = std::move(got),
                           .expected = std::move(expected),
                           .fix = std::move(fix),
                           .from = {}});
}

std::string type_text(const front::Node& node) {
  return fmt::format("{}[{}]", name(node.dtype), fmt::join(node.shape, ", "));
}

TensorType type_of(const front::Node& node) { return {node.dtype, make_shape(node.shape)}; }

// The recorded calls as a graph whose inputs are the tensors that have values.
class Recording {
 public:
  Recording(const NodePtr& output, const std::vector<NodePtr>& inputs) : inputs_(inputs) {
    for (const NodePtr& input : inputs) oldest_ = std::min(oldest_, input->serial);
    for (const front::ApplicationPtr& call : front::pending_calls(output)) add(*call);
    output_ = value_of(output);
  }

  /// One call that gives the adjoints of the inputs; of those that play no part, no value.
  std::vector<Tensor> gradients(const NodePtr& seed) {
    const Value adjoint = graph_.add_input("seed", type_of(*seed));
    operands_.push_back(seed);
    std::vector<Value> wrt;
    for (const NodePtr& input : inputs_)
      if (const auto found = values_.find(input.get()); found != values_.end()) wrt.push_back(found->second);
    auto fragment = std::make_shared<front::Fragment>();
    const Seed arrives{output_, adjoint};
    for (const Value v : add_gradients(graph_, {&arrives, 1}, wrt)) {
      graph_.add_output(fmt::format("d{}", fragment->results.size()), v);
      fragment->results.push_back(graph_.type(v));
    }
    fragment->graph = std::move(graph_);
    const std::vector<NodePtr> made = wrt.empty() ? std::vector<NodePtr>{} : make_call(fragment, operands_);
    std::vector<Tensor> results;
    size_t next = 0;
    for (const NodePtr& input : inputs_) {
      const bool reached = values_.contains(input.get());
      results.emplace_back(reached ? made[next++] : front::make_value(Array(input->dtype, input->shape)));
    }
    return results;
  }

 private:
  void add(const front::Application& call) {
    std::vector<Value> operands;
    for (const NodePtr& operand : call.operands) operands.push_back(value_of(operand));
    const std::vector<Value> results = front::add_fragment(graph_, call.fragment->graph, operands);
    for (size_t r = 0; r < call.results.size(); ++r)
      if (const NodePtr node = call.results[r].lock()) values_[node.get()] = results[r];
  }

  Value value_of(const NodePtr& node) {
    if (const auto found = values_.find(node.get()); found != values_.end()) return found->second;
    const bool wanted = std::find(inputs_.begin(), inputs_.end(), node) != inputs_.end();
    // What was computed has forgotten its formula. Only what is older than every input cannot depend on one.
    if (node->is_result && !wanted && node->serial > oldest_)
      refuse("a tensor on the way was computed before: its formula is forgotten, and no gradient can flow through it",
             type_text(*node), "tensors that are not evaluated yet",
             "call grad before reading values, name the tensor among the inputs, or pass x.detach()");
    const Value value = graph_.add_input(fmt::format("x{}", operands_.size()), type_of(*node));
    operands_.push_back(node);
    return values_[node.get()] = value;
  }

  const std::vector<NodePtr>& inputs_;
  uint64_t oldest_ = ~uint64_t{0};
  Graph graph_;
  std::vector<NodePtr> operands_;  // of the graph's inputs
  std::unordered_map<const front::Node*, Value> values_;
  Value output_;
};

}  // namespace

std::vector<Tensor> grad(const Tensor& output, const std::vector<Tensor>& inputs, const Tensor& seed) {
  if (!output) refuse("the output is absent", "a default Tensor", "a tensor");
  if (!is_float(output.dtype())) refuse("the output is not float", type_text(*output.node()), "a float tensor");
  std::vector<NodePtr> nodes;
  for (const Tensor& input : inputs) {
    if (!input) refuse("an input is absent", "a default Tensor", "a tensor");
    if (!is_float(input.dtype())) refuse("an input has no gradient", type_text(*input.node()), "a float tensor");
    nodes.push_back(input.node());
  }
  if (seed && (seed.dtype() != output.dtype() || seed.shape() != output.shape()))
    refuse("the seed differs from the output", type_text(*seed.node()), type_text(*output.node()));
  NodePtr adjoint = seed.node();
  if (!adjoint) {
    Array ones(output.dtype(), output.shape());
    for (int64_t i = 0; i < ones.size(); ++i) ones.set_float(i, 1);
    adjoint = front::make_value(std::move(ones));
  }
  return Recording(output.node(), nodes).gradients(adjoint);
}

Tensor Tensor::detach() const {
  evaluate();
  return Tensor(front::make_value(Array(*node_->state().value)));
}

}  // namespace frit
