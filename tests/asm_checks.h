#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace frit::testing {

/// A loop without another inside, found in the text of runtime::disassemble.
struct InnerLoop {
  std::string label;
  std::vector<std::string> instructions;

  int count(std::string_view part) const {
    int n = 0;
    for (const std::string& i : instructions) n += i.find(part) != std::string::npos;
    return n;
  }
};

/// Straight pieces of a disassembled kernel and where control goes from each. Blocks lie anywhere in the text, so loops
/// are looked for in the graph.
class CodeBlocks {
 public:
  explicit CodeBlocks(const std::string& assembly) {
    std::istringstream stream(assembly);
    start("entry");
    for (std::string line; std::getline(stream, line);) {
      if (!line.empty() && line.back() == ':') {
        start(line.substr(0, line.size() - 1));
        continue;
      }
      std::string text = line.substr(line.find_first_not_of(' '));
      const bool ends = text[0] == 'j' || text.starts_with("ret");
      blocks_.back().instructions.push_back(std::move(text));
      if (ends) start("");
    }
    for (size_t b = 0; b < blocks_.size(); ++b) connect(b);
  }

  /// The natural loop of each header: the blocks that reach a jump back to it without passing it.
  std::map<size_t, std::set<size_t>> loops() const {
    std::map<size_t, std::set<size_t>> found;
    std::vector<int> state(blocks_.size(), 0);  // 1: on the path from the entry, 2: done
    std::vector<std::pair<size_t, size_t>> path{{0, 0}};
    state[0] = 1;
    while (!path.empty()) {
      auto& [b, next] = path.back();
      if (next == blocks_[b].successors.size()) {
        state[b] = 2;
        path.pop_back();
        continue;
      }
      const size_t to = blocks_[b].successors[next++];
      if (state[to] == 1) grow(found[to], to, b);
      if (state[to] != 0) continue;
      state[to] = 1;
      path.emplace_back(to, 0);
    }
    return found;
  }

  std::vector<InnerLoop> inner_loops() const {
    const auto all = loops();
    std::vector<InnerLoop> inner;
    for (const auto& [header, body] : all) {
      const bool nested =
          std::any_of(body.begin(), body.end(), [&, h = header](size_t b) { return b != h && all.contains(b); });
      if (nested) continue;
      InnerLoop& loop = inner.emplace_back();
      loop.label = blocks_[header].label;
      for (const size_t b : body)
        loop.instructions.insert(loop.instructions.end(), blocks_[b].instructions.begin(),
                                 blocks_[b].instructions.end());
    }
    return inner;
  }

 private:
  struct Block {
    std::string label;
    std::vector<std::string> instructions;
    std::vector<size_t> successors, predecessors;
  };

  void start(const std::string& label) {
    if (blocks_.empty() || !blocks_.back().instructions.empty()) blocks_.emplace_back();
    if (!label.empty()) {
      blocks_.back().label = label;
      labels_[label] = blocks_.size() - 1;
    }
  }

  void connect(size_t b) {
    const std::string last = blocks_[b].instructions.empty() ? "" : blocks_[b].instructions.back();
    const bool jumps = !last.empty() && last[0] == 'j';
    if (jumps) link(b, labels_.at(last.substr(last.find(' ') + 1)));
    const bool falls = !last.starts_with("jmp") && !last.starts_with("ret") && b + 1 < blocks_.size();
    if (falls) link(b, b + 1);
  }
  void link(size_t from, size_t to) {
    blocks_[from].successors.push_back(to);
    blocks_[to].predecessors.push_back(from);
  }

  void grow(std::set<size_t>& body, size_t header, size_t latch) const {
    body.insert(header);
    std::vector<size_t> todo{latch};
    while (!todo.empty()) {
      const size_t b = todo.back();
      todo.pop_back();
      if (!body.insert(b).second) continue;
      todo.insert(todo.end(), blocks_[b].predecessors.begin(), blocks_[b].predecessors.end());
    }
  }

  std::vector<Block> blocks_;
  std::map<std::string, size_t> labels_;
};

inline std::vector<InnerLoop> inner_loops(const std::string& assembly) { return CodeBlocks(assembly).inner_loops(); }

/// Instructions of the innermost loops that use the stack: spills and reloads. `rbp` counts where it is a frame
/// pointer.
inline std::vector<std::string> stack_operands(const std::string& assembly) {
  const bool has_frame = assembly.find("mov rbp, rsp") != std::string::npos;
  std::vector<std::string> found;
  for (const InnerLoop& loop : inner_loops(assembly)) {
    for (const std::string& i : loop.instructions) {
      const bool stack = i.find("[rsp") != std::string::npos || (has_frame && i.find("[rbp") != std::string::npos);
      if (stack || i.starts_with("push") || i.starts_with("pop ")) found.push_back(loop.label + ": " + i);
    }
  }
  return found;
}

}  // namespace frit::testing
