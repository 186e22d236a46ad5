#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frit/frit.h"
#include "ir/array.h"
#include "ir/graph.h"
#include "ir/lang/library.h"

namespace frit::front {

/// A definition applied to operand types: a small graph of its own, shared by all calls of the same kind. Its inputs
/// are the operands that are tensors, in order; its outputs the results.
struct Fragment {
  Graph graph;
  std::vector<TensorType> results;
};
using FragmentPtr = std::shared_ptr<const Fragment>;

struct Node;

/// One call that is recorded but not computed.
struct Application {
  FragmentPtr fragment;
  std::vector<NodePtr> operands;
  std::vector<std::weak_ptr<Node>> results;
  ~Application();  // chains of any length are released without recursion
};
using ApplicationPtr = std::shared_ptr<Application>;

/// A tensor: its values, or the call that gives them. What it is never changes; once computed it forgets the call.
struct Node {
  Node();
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  int result = 0;
  bool is_result = false;  // of a call, which may be forgotten
  const uint64_t serial;   // later nodes have larger ones: a node depends on smaller ones only

  struct State {
    std::shared_ptr<const Array> value;
    ApplicationPtr application;
  };
  State state() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  void set_value(std::shared_ptr<const Array> value) {
    ApplicationPtr released;  // outside the lock: it may release a long chain
    const std::lock_guard lock(mutex_);
    if (state_.value) return;
    state_.value = std::move(value);
    released = std::move(state_.application);
  }
  void set_application(ApplicationPtr application) { state_.application = std::move(application); }

 private:
  mutable std::mutex mutex_;
  State state_;
};

NodePtr make_value(Array array);
/// One node for each result.
std::vector<NodePtr> make_call(FragmentPtr fragment, std::vector<NodePtr> operands);

/// Calls that are not computed yet, operands first. They keep their nodes' calls alive for the time of their use.
std::vector<ApplicationPtr> pending_calls(const NodePtr& root);

/// Adds the nodes of a fragment, its inputs replaced by `operands` in their order; gives its outputs.
std::vector<Value> add_fragment(Graph& graph, const Graph& fragment, const std::vector<Value>& operands);

/// Computes what the node is. Thread safe; two threads may compute the same node, the first result stays.
void evaluate(const NodePtr& node);

/// A definition of a library that lives with it.
struct FunctionData {
  std::shared_ptr<const lang::Library> library;
  const lang::Definition* definition = nullptr;
};

/// The fragment of a definition for these operands; an absent operand has no type. Remembered.
FragmentPtr fragment_of(const FunctionData& op, const std::vector<NodePtr>& operands,
                        const std::map<std::string, Attribute>& attributes);

}  // namespace frit::front
