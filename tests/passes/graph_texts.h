#pragma once
#include <regex>
#include <string>

namespace frit::testing {

/// The text of a graph without what is for people.
inline std::string without_labels(const std::string& text) {
  return std::regex_replace(text, std::regex("  # [^\n]*"), "");
}

}  // namespace frit::testing
