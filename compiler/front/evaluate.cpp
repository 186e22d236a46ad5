#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <unordered_set>

#include "compiler/front/node.h"
#include "compiler/plan/program.h"
#include "support/error.h"

namespace frit::front {
namespace {

// A recorded computation of any length is cut into graphs of this many calls, in order. Equal pieces are compiled once.
constexpr size_t kCallsPerGraph = 128;

using ArrayPtr = std::shared_ptr<const Array>;

}  // namespace

std::vector<ApplicationPtr> pending_calls(const NodePtr& root) {
  std::vector<ApplicationPtr> order;
  std::unordered_set<const Application*> seen;
  struct Visit {
    ApplicationPtr call;
    size_t next = 0;
  };
  std::vector<Visit> stack;
  const auto enter = [&](const NodePtr& node) {
    Node::State state = node->state();
    if (!state.value && seen.insert(state.application.get()).second) stack.push_back({std::move(state.application)});
  };
  enter(root);
  while (!stack.empty()) {
    Visit& top = stack.back();
    if (top.next < top.call->operands.size()) {
      const NodePtr& operand = top.call->operands[top.next++];
      enter(operand);  // may move the stack: `top` is not used after it
    } else {
      order.push_back(std::move(top.call));
      stack.pop_back();
    }
  }
  return order;
}

std::vector<Value> add_fragment(Graph& graph, const Graph& fragment, const std::vector<Value>& operands) {
  std::vector<Value> values(fragment.nodes().size());
  // An input stands for result 0 of whatever its operand is; other nodes keep the number of their result.
  const auto moved = [&](Value v) {
    const Value first = values[static_cast<size_t>(v.node)];
    return Value{first.node, first.result + v.result};
  };
  size_t operand = 0;
  for (size_t n = 0; n < fragment.nodes().size(); ++n) {
    frit::Node node = fragment.nodes()[n];
    if (std::holds_alternative<Input>(node.payload)) {
      values[n] = operands[operand++];
      continue;
    }
    for (Value& input : node.inputs) input = moved(input);
    values[n] = graph.add(std::move(node));
  }
  std::vector<Value> outputs;
  for (const Graph::Output& out : fragment.outputs()) outputs.push_back(moved(out.value));
  return outputs;
}

namespace {

// One piece of the computation as a graph.
class Piece {
 public:
  Piece(std::span<const ApplicationPtr> calls, const std::unordered_map<const Node*, ArrayPtr>& known,
        const std::unordered_set<const Node*>& wanted)
      : calls_(calls), known_(known), wanted_(wanted) {}

  void run(std::unordered_map<const Node*, ArrayPtr>& results) {
    for (const ApplicationPtr& call : calls_) add(*call);
    for (size_t i = 0; i < outputs_.size(); ++i)
      graph_.add_output(fmt::format("y{}", i), values_.at(outputs_[i].get()));
    const auto program = compile_remembered(graph_);
    std::vector<Array> arrays = program->run(inputs_);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const auto value = std::make_shared<const Array>(std::move(arrays[i]));
      outputs_[i]->set_value(value);
      results[outputs_[i].get()] = value;
    }
  }

 private:
  void add(const Application& call) {
    std::vector<Value> operands;
    for (const NodePtr& operand : call.operands) operands.push_back(value_of(operand));
    const std::vector<Value> results = add_fragment(graph_, call.fragment->graph, operands);
    for (size_t r = 0; r < call.results.size(); ++r) {
      const NodePtr node = call.results[r].lock();
      if (!node) continue;
      values_[node.get()] = results[r];
      if (wanted_.contains(node.get())) outputs_.push_back(node);
    }
  }

  Value value_of(const NodePtr& node) {
    if (const auto found = values_.find(node.get()); found != values_.end()) return found->second;
    const auto known = known_.find(node.get());
    const ArrayPtr array = known != known_.end() ? known->second : node->state().value;
    FRIT_CHECK(array != nullptr, "an operand has no value");
    return values_[node.get()] = input_of(array);
  }

  // Equal scalars are one input: a long chain of `y + 1` reads one number.
  Value input_of(const ArrayPtr& array) {
    std::string key;
    if (array->rank() == 0) {
      key.assign(reinterpret_cast<const char*>(array->data()), array->size_bytes());
      key += static_cast<char>(array->dtype());
      if (const auto found = scalars_.find(key); found != scalars_.end()) return found->second;
    }
    const Value value =
        graph_.add_input(fmt::format("x{}", inputs_.size()), {array->dtype(), make_shape(array->shape())});
    inputs_.push_back(*array);
    if (!key.empty()) scalars_[key] = value;
    return value;
  }

  std::span<const ApplicationPtr> calls_;
  const std::unordered_map<const Node*, ArrayPtr>& known_;
  const std::unordered_set<const Node*>& wanted_;
  Graph graph_;
  std::vector<Array> inputs_;
  std::vector<NodePtr> outputs_;
  std::unordered_map<const Node*, Value> values_;
  std::unordered_map<std::string, Value> scalars_;
};

// What a piece must give: the root, and what a later piece reads.
std::unordered_set<const Node*> crossing(const std::vector<ApplicationPtr>& calls, const NodePtr& root) {
  std::unordered_map<const Node*, size_t> piece_of;
  for (size_t i = 0; i < calls.size(); ++i) {
    for (const auto& result : calls[i]->results) {
      if (const NodePtr node = result.lock()) piece_of[node.get()] = i / kCallsPerGraph;
    }
  }
  std::unordered_set<const Node*> wanted{root.get()};
  for (size_t i = 0; i < calls.size(); ++i) {
    for (const NodePtr& operand : calls[i]->operands) {
      const auto made = piece_of.find(operand.get());
      if (made != piece_of.end() && made->second != i / kCallsPerGraph) wanted.insert(operand.get());
    }
  }
  // Other results of the root's call that somebody holds come at little cost.
  for (const auto& result : calls.back()->results) {
    if (const NodePtr node = result.lock()) wanted.insert(node.get());
  }
  return wanted;
}

}  // namespace

Application::~Application() {
  // Releases operands one after another: the first destructor on this thread empties the list for all.
  thread_local std::vector<NodePtr>* waiting = nullptr;
  if (waiting) {
    std::move(operands.begin(), operands.end(), std::back_inserter(*waiting));
    return;
  }
  std::vector<NodePtr> list = std::move(operands);
  waiting = &list;
  while (!list.empty()) {
    const NodePtr last = std::move(list.back());
    list.pop_back();
  }
  waiting = nullptr;
}

namespace {

uint64_t next_serial() {
  static std::atomic<uint64_t> count{0};
  return ++count;
}

}  // namespace

Node::Node() : serial(next_serial()) {}

NodePtr make_value(Array array) {
  auto node = std::make_shared<Node>();
  node->dtype = array.dtype();
  node->shape = array.shape();
  node->set_value(std::make_shared<const Array>(std::move(array)));
  return node;
}

std::vector<NodePtr> make_call(FragmentPtr fragment, std::vector<NodePtr> operands) {
  auto call = std::make_shared<Application>();
  call->fragment = std::move(fragment);
  call->operands = std::move(operands);
  std::vector<NodePtr> results;
  for (size_t r = 0; r < call->fragment->results.size(); ++r) {
    auto node = std::make_shared<Node>();
    node->dtype = call->fragment->results[r].dtype;
    node->shape = static_shape(call->fragment->results[r].shape);
    node->result = static_cast<int>(r);
    node->is_result = true;
    node->set_application(call);
    call->results.push_back(node);
    results.push_back(std::move(node));
  }
  return results;
}

void evaluate(const NodePtr& node) {
  if (node->state().value) return;
  const std::vector<ApplicationPtr> calls = pending_calls(node);
  if (calls.empty()) return;  // another thread was faster
  const std::unordered_set<const Node*> wanted = crossing(calls, node);
  std::unordered_map<const Node*, ArrayPtr> known;
  for (size_t begin = 0; begin < calls.size(); begin += kCallsPerGraph) {
    const size_t count = std::min(kCallsPerGraph, calls.size() - begin);
    Piece(std::span(calls).subspan(begin, count), known, wanted).run(known);
  }
}

}  // namespace frit::front
