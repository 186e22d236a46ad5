#include <fmt/format.h>

#include <list>
#include <unordered_map>

#include "compiler/front/node.h"
#include "compiler/standard_library.h"
#include "support/error.h"

namespace frit::front {
namespace {

constexpr size_t kRemembered = 1024;

/// The most recently used values by text. Thread safe.
template <class T>
class Recent {
 public:
  T find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return {};
    order_.splice(order_.begin(), order_, found->second.second);
    return found->second.first;
  }
  void put(const std::string& key, T value) {
    const std::lock_guard lock(mutex_);
    if (entries_.contains(key)) return;
    order_.push_front(key);
    entries_[key] = {std::move(value), order_.begin()};
    if (order_.size() <= kRemembered) return;
    entries_.erase(order_.back());
    order_.pop_back();
  }

 private:
  std::mutex mutex_;
  std::list<std::string> order_;
  std::unordered_map<std::string, std::pair<T, std::list<std::string>::iterator>> entries_;
};

lang::StaticValue static_of(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> lang::StaticValue {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return {};
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          return lang::StaticValue::List(value.begin(), value.end());
        } else {
          return value;
        }
      },
      attribute);
}

std::string key_of(const FunctionData& op, const std::vector<NodePtr>& operands,
                   const std::map<std::string, Attribute>& attributes) {
  std::string key = fmt::format("{} ", fmt::ptr(op.definition));
  for (const NodePtr& operand : operands)
    key += operand ? fmt::format("{}[{}] ", name(operand->dtype), fmt::join(operand->shape, ",")) : "- ";
  for (const auto& [name, value] : attributes) {
    // a float keeps all its digits and differs from an integer
    if (const double* number = std::get_if<double>(&value))
      key += fmt::format("{}=f{} ", name, *number);
    else
      key += fmt::format("{}={}:{} ", name, value.index(), lang::to_string(static_of(value)));
  }
  return key;
}

class Instantiation {
 public:
  Instantiation(const FunctionData& op, const std::vector<NodePtr>& operands,
                const std::map<std::string, Attribute>& attributes)
      : op_(op), given_(operands) {
    for (const auto& [name, value] : attributes) attributes_[name] = static_of(value);
  }

  FragmentPtr run() {
    const lang::Interface interface = lang::interface_of(*op_.definition);
    for (const lang::Interface::Operand& operand : interface.operands) add(operand);
    if (next_ < given_.size())
      throw InputError(Finding{.where = op_.definition->name,
                               .what = "too many operands",
                               .excerpt = {},
                               .got = fmt::format("{}", given_.size()),
                               .expected = lang::signature_text(*op_.definition),
                               .fix = {},
                               .from = {}});
    auto fragment = std::make_shared<Fragment>(std::move(fragment_));
    const std::vector<Value> results =
        lang::instantiate(fragment->graph, *op_.library, *op_.definition, operands_, attributes_, op_.definition->name);
    for (const Value& v : results) {
      fragment->graph.add_output("y", v);
      fragment->results.push_back(fragment->graph.type(v));
    }
    return fragment;
  }

 private:
  void add(const lang::Interface::Operand& operand) {
    if (operand.is_const) {
      const auto found = attributes_.find(operand.name);
      if (found == attributes_.end())
        operands_.push_back(std::monostate());
      else
        operands_.push_back(std::move(found->second)), attributes_.erase(found);
    } else if (operand.is_variadic) {
      std::vector<Value> list;
      while (next_ < given_.size()) list.push_back(add_input(*given_[next_++]));
      operands_.push_back(std::move(list));
    } else if (next_ < given_.size() && given_[next_]) {
      operands_.push_back(add_input(*given_[next_++]));
    } else {
      ++next_;
      operands_.push_back(std::monostate());
    }
  }
  Value add_input(const Node& node) {
    return fragment_.graph.add_input(fmt::format("x{}", fragment_.graph.nodes().size()),
                                     {node.dtype, make_shape(node.shape)});
  }

  const FunctionData& op_;
  const std::vector<NodePtr>& given_;
  lang::Attributes attributes_;
  std::vector<lang::Operand> operands_;
  Fragment fragment_;
  size_t next_ = 0;
};

/// Fragments hold the library of their definition by its op, so that a key's address is never used twice.
struct Remembered {
  std::shared_ptr<const lang::Library> library;
  FragmentPtr fragment;
};

}  // namespace

FragmentPtr fragment_of(const FunctionData& op, const std::vector<NodePtr>& operands,
                        const std::map<std::string, Attribute>& attributes) {
  static Recent<Remembered> fragments;
  const std::string key = key_of(op, operands, attributes);
  if (const Remembered known = fragments.find(key); known.fragment) return known.fragment;
  FragmentPtr fragment = Instantiation(op, operands, attributes).run();
  fragments.put(key, {op.library, fragment});
  return fragment;
}

}  // namespace frit::front

namespace frit {

Function op(std::string_view text) {
  static front::Recent<std::shared_ptr<const front::FunctionData>> ops;
  const std::string key(text);
  if (auto known = ops.find(key)) return Function(known);
  auto library = std::make_shared<lang::Library>(&standard_library(), key, "op");
  const lang::Definition* last = nullptr;
  for (const lang::Definition* definition : library->definitions()) {
    if (definition->source->file() != "op") continue;
    if (!last || definition->span.begin > last->span.begin) last = definition;
  }
  if (!last)
    throw InputError(Finding{.where = "op",
                             .what = "the text has no definition",
                             .excerpt = {},
                             .got = key,
                             .expected = "def name(x) = ..",
                             .fix = {},
                             .from = {}});
  auto data = std::make_shared<front::FunctionData>(front::FunctionData{library, last});
  ops.put(key, data);
  return Function(data);
}

Function standard_op(std::string_view name) {
  const std::shared_ptr<const lang::Library> library(&standard_library(), [](const lang::Library*) {});
  return Function(std::make_shared<front::FunctionData>(front::FunctionData{library, &standard_library().get(name)}));
}

}  // namespace frit
