#pragma once
// Snippets in tests: a definition applied to operands of given types.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/lang/library.h"

namespace frit::testing {

struct OperandSpec {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  bool absent = false;
  std::vector<int64_t> constant;  // of a const operand
  bool is_const = false;
  std::optional<lang::StaticValue> literal = {};  // of a const operand, where it is no list of integers
};
inline OperandSpec f32(std::vector<int64_t> shape) { return {DType::F32, std::move(shape), false, {}, false, {}}; }
inline OperandSpec of(DType dtype, std::vector<int64_t> shape) {
  return {dtype, std::move(shape), false, {}, false, {}};
}
inline OperandSpec absent() { return {DType::F32, {}, true, {}, false, std::nullopt}; }

/// The library of layers, read from its folder.
inline const Library& layers() {
  static const Library* library = [] {
    auto* all = new Library;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(FRIT_TEST_DATA "/../compiler/layers"))
      if (entry.path().extension() == ".frit") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto& path : files) {
      std::ifstream in(path);
      std::stringstream text;
      text << in.rdbuf();
      all->add(text.str(), path.filename().string());
    }
    return all;
  }();
  return *library;
}

struct Built {
  Graph graph;
  std::vector<Value> results;
};

/// Applies `name` to inputs x0, x1, .. and makes its results the outputs r0, r1, ..
inline Built build(const Library& library, const std::string& name, const std::vector<OperandSpec>& operands,
                   const lang::Attributes& attributes = {}) {
  Built built;
  std::vector<lang::Operand> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].absent)
      values.emplace_back(std::monostate{});
    else if (operands[i].is_const)
      values.emplace_back(operands[i].literal.value_or(lang::StaticValue(operands[i].constant)));
    else
      values.emplace_back(
          built.graph.add_input("x" + std::to_string(i), {operands[i].dtype, make_shape(operands[i].shape)}));
  }
  built.results = lang::instantiate(built.graph, library, library.get(name), values, attributes, name);
  for (size_t i = 0; i < built.results.size(); ++i) built.graph.add_output("r" + std::to_string(i), built.results[i]);
  return built;
}

/// "f32[2, 3]; i64[2]"
inline std::string types_of(const Built& built) {
  std::string text;
  for (const Value v : built.results) text += (text.empty() ? "" : "; ") + to_string(built.graph.type(v));
  return text;
}

}  // namespace frit::testing
