#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "compiler/onnx/decode.h"
#include "compiler/onnx/import.h"
#include "compiler/standard_library.h"
#include "ir/interpreter.h"
#include "onnx/model_builder.h"
#include "support/error.h"

// Small models imported and run by the reference interpreter.
namespace frit::onnx::test {

/// An operand of a one-node model: passed in at run time, stored in the file, or absent.
struct In {
  enum Kind { kFed, kStored, kAbsent } kind = kAbsent;
  TensorText tensor;
};
inline In fed(std::vector<int64_t> dims, const std::vector<float>& values) {
  return {In::kFed, floats("", std::move(dims), values)};
}
inline In fed_int(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return {In::kFed, int64s("", std::move(dims), values)};
}
inline In fed_bool(std::vector<int64_t> dims, const std::vector<uint8_t>& values) {
  return {In::kFed, bools("", std::move(dims), values)};
}
inline In stored(std::vector<int64_t> dims, const std::vector<float>& values) {
  return {In::kStored, floats("", std::move(dims), values)};
}
inline In stored_int(const std::vector<int64_t>& values) {
  return {In::kStored, int64s("", {static_cast<int64_t>(values.size())}, values)};
}
inline In absent() { return {}; }

struct OneNode {
  ModelText model;
  std::map<std::string, Array> feeds;
};

inline Array array_of(const TensorText& t) {
  TensorDef def;
  def.data_type = t.type;
  def.dims = t.dims;
  def.raw = *t.raw;
  return to_array(def, ModelDef{}, "feed");
}

/// A model of one node with operands a, b, c, ... and results y0, y1, ...
inline OneNode one_node(const std::string& op, int64_t opset, const std::vector<In>& operands,
                        std::vector<AttributeText> attributes, size_t results = 1) {
  OneNode m;
  m.model.opset = opset;
  NodeText node{op, {}, {}, std::move(attributes), op + "_1", ""};
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    TensorText t = operands[i].tensor;
    t.name = name;
    node.inputs.push_back(operands[i].kind == In::kAbsent ? "" : name);
    if (operands[i].kind == In::kFed) {
      m.model.graph.inputs.push_back({name, std::vector<DimText>(t.dims.begin(), t.dims.end()), t.type});
      m.feeds.emplace(name, array_of(t));
    } else if (operands[i].kind == In::kStored) {
      m.model.graph.initializers.push_back(t);
    }
  }
  for (size_t i = 0; i < results; ++i) {
    node.outputs.push_back("y" + std::to_string(i));
    m.model.graph.outputs.push_back(node.outputs.back());
  }
  m.model.graph.nodes = {node};
  return m;
}

inline Imported import_text(const ModelText& model, const ImportOptions& options = {}) {
  const OwnedBytes bytes = own(model.bytes());
  return import_onnx(bytes.span, bytes.owner, "m.onnx", standard_library(), options);
}

inline std::vector<double> values_of(const ReferenceTensor& t) {
  if (is_float(t.dtype)) return t.values;
  return {t.integers.begin(), t.integers.end()};
}

/// The words of the error of an import, or "no error".
inline std::string import_error(const ModelText& model, const ImportOptions& options = {}) {
  try {
    import_text(model, options);
  } catch (const Error& e) {
    EXPECT_NE(e.kind(), ErrorKind::Internal) << e.what();
    return e.what();
  }
  return "no error";
}

inline void expect_near(const ReferenceTensor& got, const std::vector<int64_t>& shape, const std::vector<double>& want,
                        const std::string& id) {
  EXPECT_EQ(got.shape, shape) << id;
  const std::vector<double> values = values_of(got);
  ASSERT_EQ(values.size(), want.size()) << id;
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i]) || std::isinf(want[i])) {
      EXPECT_TRUE(std::isnan(want[i]) ? std::isnan(values[i]) : values[i] == want[i]) << id << " at " << i;
    } else {
      EXPECT_NEAR(values[i], want[i], 1e-6 * std::max(1.0, std::abs(want[i]))) << id << " at " << i;
    }
  }
}

}  // namespace frit::onnx::test
