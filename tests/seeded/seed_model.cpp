#include "seeded/seed_model.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <set>

#include "support/seeded.h"
#include "support/error.h"

namespace frit::seeded {
namespace {

using protozero::data_view;
using protozero::pbf_reader;
using protozero::pbf_writer;

// Field numbers of onnx.proto, only those used here.
enum Model { kIrVersion = 1, kGraph = 7 };
enum Graph { kNode = 1, kInitializer = 5, kInput = 11, kOutput = 12 };
enum Node { kNodeInput = 1, kNodeOutput = 2, kOpType = 4, kAttribute = 5 };
enum Attribute { kTensorValue = 5, kSubgraph = 6 };
enum Tensor { kDims = 1, kDataType = 2, kInt64Data = 7, kTensorName = 8, kRawData = 9 };
enum Value { kValueName = 1, kType = 2, kTensorType = 1, kElementType = 1 };
constexpr int kFloat = 1;

[[noreturn]] void fail(const std::filesystem::path& file, std::string what, std::string fix = "") {
  throw InputError(Finding{file.string(), std::move(what), "", "", "", std::move(fix), {}});
}

struct NodeText {
  std::string op, output;
  std::vector<std::string> inputs, outputs;
  bool makes_float = true;  // ConstantOfShape without a value is float zero
};

NodeText read_node(pbf_reader node) {
  NodeText text;
  while (node.next()) {
    if (node.tag() == kNodeInput) {
      text.inputs.push_back(node.get_string());
    } else if (node.tag() == kNodeOutput) {
      text.outputs.push_back(node.get_string());
    } else if (node.tag() == kOpType) {
      text.op = node.get_string();
    } else if (node.tag() == kAttribute) {
      pbf_reader attribute = node.get_message();
      while (attribute.next()) {
        if (attribute.tag() != kTensorValue) {
          attribute.skip();
          continue;
        }
        pbf_reader tensor = attribute.get_message();
        while (tensor.next(kDataType)) text.makes_float = tensor.get_int32() == kFloat;
      }
    } else {
      node.skip();
    }
  }
  if (!text.outputs.empty()) text.output = text.outputs.front();
  return text;
}

struct TensorText {
  std::string name;
  std::vector<int64_t> int64s;  // the values, where they are int64
};

TensorText read_tensor(pbf_reader tensor) {
  TensorText text;
  while (tensor.next()) {
    if (tensor.tag() == kTensorName) {
      text.name = tensor.get_string();
    } else if (tensor.tag() == kRawData) {
      const data_view raw = tensor.get_view();
      text.int64s.resize(raw.size() / sizeof(int64_t));
      std::memcpy(text.int64s.data(), raw.data(), text.int64s.size() * sizeof(int64_t));
    } else if (tensor.tag() == kInt64Data && tensor.wire_type() == protozero::pbf_wire_type::length_delimited) {
      for (const int64_t v : tensor.get_packed_int64()) text.int64s.push_back(v);
    } else if (tensor.tag() == kInt64Data) {
      text.int64s.push_back(tensor.get_int64());
    } else {
      tensor.skip();
    }
  }
  return text;
}

std::string value_name(pbf_reader value) { return value.next(kValueName) ? value.get_string() : std::string(); }

/// The initializer that takes the place of one ConstantOfShape.
void write_weight(pbf_writer& graph, const std::string& name, const std::vector<int64_t>& shape) {
  uint64_t count = 1, fan = 1;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    count *= static_cast<uint64_t>(shape[axis]);
    if (axis > 0) fan *= static_cast<uint64_t>(shape[axis]);
  }
  const uint64_t seed = fnv1a64(name);
  std::string raw(count * sizeof(float), '\0');
  for (uint64_t i = 0; i < count; ++i) {
    const float value = weight_value(seed, i, shape.size(), static_cast<double>(std::max<uint64_t>(fan, 1)));
    std::memcpy(raw.data() + i * sizeof(float), &value, sizeof value);
  }
  pbf_writer tensor(graph, kInitializer);
  for (const int64_t n : shape) tensor.add_int64(kDims, n);
  tensor.add_int32(kDataType, kFloat);
  tensor.add_string(kTensorName, name);
  tensor.add_bytes(kRawData, raw);
}

void write_output(pbf_writer& graph, const std::string& name) {
  pbf_writer value(graph, kOutput);
  value.add_string(kValueName, name);
  pbf_writer type(value, kType);
  pbf_writer tensor_type(type, kTensorType);
  tensor_type.add_int32(kElementType, kFloat);
}

/// What has to be known of the graph before it can be written.
struct Survey {
  std::map<std::string, TensorText> initializers;
  std::set<std::string> made, used;  // by the nodes that stay
  std::set<std::string> replaced;    // outputs of ConstantOfShape nodes that go
};

Survey survey(pbf_reader graph, const SeedOptions& options) {
  Survey s;
  pbf_reader tensors = graph;
  while (tensors.next(kInitializer)) {
    TensorText text = read_tensor(tensors.get_message());
    s.initializers[text.name] = std::move(text);
  }
  while (graph.next(kNode)) {
    const NodeText node = read_node(graph.get_message());
    s.made.insert(node.outputs.begin(), node.outputs.end());
    if (!options.keep_weights && node.op == "ConstantOfShape" && node.makes_float && node.inputs.size() == 1 &&
        s.initializers.count(node.inputs[0])) {
      s.replaced.insert(node.output);
    } else {
      s.used.insert(node.inputs.begin(), node.inputs.end());
    }
  }
  return s;
}

std::string write_graph(pbf_reader in, const Survey& s, const SeedOptions& options) {
  std::string text;
  pbf_writer graph(text);
  // Where weights stay, so do the initializers: an inner graph may use them.
  const auto keeps = [&](const std::string& name) { return options.keep_weights || s.used.count(name) != 0; };

  while (in.next()) {
    if (in.wire_type() != protozero::pbf_wire_type::length_delimited) {
      in.skip();  // the graph has no field of another kind
      continue;
    }
    const auto tag = in.tag();
    const data_view view = in.get_view();
    if (tag == kNode) {
      const NodeText node = read_node(pbf_reader(view));
      if (s.replaced.count(node.output)) {
        write_weight(graph, node.output, s.initializers.at(node.inputs[0]).int64s);
      } else {
        graph.add_message(tag, view);
      }
    } else if (tag == kInitializer) {
      if (keeps(read_tensor(pbf_reader(view)).name)) graph.add_message(tag, view);
    } else if (tag == kInput) {
      const std::string name = value_name(pbf_reader(view));
      if (keeps(name) && !s.initializers.count(name)) graph.add_message(tag, view);
    } else if (tag != kOutput || options.outputs.empty()) {
      graph.add_message(tag, view);
    }
  }
  for (const std::string& name : options.outputs) write_output(graph, name);
  return text;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path, "cannot be read", "scripts/fetch-models brings the networks");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

void seed_model(const std::filesystem::path& in, const std::filesystem::path& out, const SeedOptions& options) {
  const std::string bytes = read_file(in);
  std::string head;  // all of the model but the graph
  std::string graph;
  try {
    pbf_writer writer(head);
    pbf_reader model(bytes);
    while (model.next()) {
      if (model.tag() == kIrVersion) {
        writer.add_int64(kIrVersion, std::max<int64_t>(model.get_int64(), 4));
      } else if (model.tag() == kGraph) {
        const pbf_reader body = model.get_message();
        const Survey s = survey(body, options);
        for (const std::string& name : options.outputs)
          if (!s.made.count(name)) fail(in, "no node makes the output '" + name + "'");
        graph = write_graph(body, s, options);
      } else if (model.wire_type() == protozero::pbf_wire_type::length_delimited) {
        const auto tag = model.tag();
        writer.add_message(tag, model.get_view());
      } else {
        const auto tag = model.tag();
        writer.add_int64(tag, model.get_int64());
      }
    }
  } catch (const protozero::exception& e) {
    fail(in, std::string("not an ONNX model: ") + e.what());
  }
  if (graph.empty()) fail(in, "not an ONNX model: no graph");

  // The graph goes last and is not copied again: it may hold half a gigabyte.
  std::string prefix;
  protozero::add_varint_to_buffer(&prefix, (kGraph << 3) | 2);
  protozero::add_varint_to_buffer(&prefix, graph.size());
  const std::filesystem::path part = out.string() + "." + std::to_string(getpid()) + ".part";
  if (out.has_parent_path()) std::filesystem::create_directories(out.parent_path());
  std::ofstream file(part, std::ios::binary);
  file << head << prefix << graph;
  file.close();
  if (!file) {
    std::filesystem::remove(part);
    fail(out, "cannot be written");
  }
  std::filesystem::rename(part, out);
}

}  // namespace frit::seeded
