#pragma once
#include <map>
#include <sstream>
#include <string>
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

/// Innermost loops in the order of the code: stretches from a label to the last jump back to it.
inline std::vector<InnerLoop> inner_loops(const std::string& assembly) {
  struct Range {
    std::string label;
    size_t first, last;
  };
  std::vector<std::string> lines;
  std::map<std::string, size_t> labels;
  std::map<std::string, Range> ranges;
  std::istringstream stream(assembly);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line.back() == ':') {
      labels[line.substr(0, line.size() - 1)] = lines.size();
      continue;
    }
    const std::string text = line.substr(line.find_first_not_of(' '));
    const size_t space = text.find(' ');
    const auto label =
        text[0] == 'j' && space != std::string::npos ? labels.find(text.substr(space + 1)) : labels.end();
    if (label != labels.end()) ranges[label->first] = {label->first, label->second, lines.size()};
    lines.push_back(text);
  }
  std::vector<InnerLoop> loops;
  std::map<size_t, Range> by_place;
  for (const auto& [label, range] : ranges) by_place[range.first] = range;
  for (const auto& [first, outer] : by_place) {
    bool innermost = true;
    for (const auto& [at, inner] : by_place)
      innermost = innermost && (at == first || at < outer.first || inner.last > outer.last);
    const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(outer.first);
    const auto end = lines.begin() + static_cast<std::ptrdiff_t>(outer.last) + 1;
    if (innermost) loops.push_back({outer.label, {begin, end}});
  }
  return loops;
}

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
