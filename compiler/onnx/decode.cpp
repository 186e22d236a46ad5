#include "compiler/onnx/decode.h"

#include <fmt/format.h>

#include <protozero/pbf_reader.hpp>

#include "support/error.h"

namespace frit::onnx {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

// Field numbers of onnx.proto.
namespace field {
namespace model {
enum { ir_version = 1, producer = 2, graph = 7, opset = 8, metadata = 14, functions = 25 };
}
namespace opset {
enum { domain = 1, version = 2 };
}
namespace entry {
enum { key = 1, value = 2 };
}
namespace graph {
enum { node = 1, name = 2, initializer = 5, input = 11, output = 12, sparse_initializer = 15 };
}
namespace node {
enum { input = 1, output = 2, name = 3, op_type = 4, attribute = 5, domain = 7, overload = 8 };
}
namespace attribute {
enum {
  name = 1,
  f = 2,
  i = 3,
  s = 4,
  t = 5,
  g = 6,
  floats = 7,
  ints = 8,
  strings = 9,
  tensors = 10,
  graphs = 11,
  type = 20,
  ref_attr_name = 21
};
}
namespace tensor {
enum {
  dims = 1,
  data_type = 2,
  segment = 3,
  float_data = 4,
  int32_data = 5,
  string_data = 6,
  int64_data = 7,
  name = 8,
  raw_data = 9,
  double_data = 10,
  uint64_data = 11,
  external_data = 13,
  data_location = 14
};
}
namespace value {
enum { name = 1, type = 2 };
}
namespace type {
enum { tensor = 1 };
}
namespace tensor_type {
enum { element_type = 1, shape = 2 };
}
namespace shape {
enum { dim = 1 };
}
namespace dim {
enum { value = 1, param = 2 };
}
}  // namespace field

class Decoder {
 public:
  Decoder(std::span<const std::byte> bytes, ModelDef& model)
      : begin_(reinterpret_cast<const char*>(bytes.data())), size_(bytes.size()), model_(model) {}

  void run() {
    try {
      decode(pbf_reader(begin_, size_));
    } catch (const protozero::exception& e) {
      fail("damaged ONNX file", fmt::format("{} at byte {} of {}", e.what(), offset_, size_), "a complete ModelProto",
           "export or fetch the model again");
    }
  }

 private:
  [[noreturn]] void fail(std::string what, std::string got, std::string expected = {}, std::string fix = {}) const {
    throw InputError(
        Finding{model_.path, std::move(what), {}, std::move(got), std::move(expected), std::move(fix), {}});
  }

  // Visits every field of a message; `visit(message)` consumes it and gives true, or gives false and it is skipped.
  template <class Visit>
  void each(pbf_reader message, Visit visit) {
    while (true) {
      offset_ = static_cast<size_t>(message.data().data() - begin_);
      if (!message.next()) break;
      if (!visit(message)) message.skip();
    }
  }

  std::string text(pbf_reader& m) {
    expect(m, pbf_wire_type::length_delimited);
    const auto view = m.get_view();
    if (view.size() > kMaxNameBytes) {
      fail("name too long", fmt::format("{} bytes at byte {}", view.size(), offset_),
           fmt::format("at most {} bytes", kMaxNameBytes));
    }
    return std::string(view.data(), view.size());
  }
  // Text that people wrote and that may be long: metadata, string attributes.
  std::string long_text(pbf_reader& m) {
    expect(m, pbf_wire_type::length_delimited);
    const auto view = m.get_view();
    return std::string(view.data(), view.size());
  }
  int64_t integer(pbf_reader& m) {
    expect(m, pbf_wire_type::varint);
    return m.get_int64();
  }
  int32_t small(pbf_reader& m) {
    const int64_t value = integer(m);
    if (value != static_cast<int32_t>(value)) fail("damaged ONNX file", fmt::format("{} at byte {}", value, offset_));
    return static_cast<int32_t>(value);
  }
  pbf_reader message(pbf_reader& m) {
    expect(m, pbf_wire_type::length_delimited);
    return m.get_message();
  }
  void expect(const pbf_reader& m, pbf_wire_type wire) const {
    if (m.wire_type() != wire) {
      fail("damaged ONNX file",
           fmt::format("field {} of wire type {} at byte {}", static_cast<uint32_t>(m.tag()),
                       static_cast<uint32_t>(m.wire_type()), offset_),
           fmt::format("wire type {}", static_cast<uint32_t>(wire)));
    }
  }

  // Repeated numbers, packed or one by one.
  template <class T>
  void integers(pbf_reader& m, std::vector<T>& out) {
    if (m.wire_type() == pbf_wire_type::length_delimited) {
      for (const int64_t value : m.get_packed_int64()) out.push_back(static_cast<T>(value));
    } else {
      out.push_back(static_cast<T>(integer(m)));
    }
  }
  void floats(pbf_reader& m, std::vector<float>& out) {
    if (m.wire_type() == pbf_wire_type::length_delimited) {
      const auto range = m.get_packed_float();
      out.insert(out.end(), range.begin(), range.end());
    } else {
      expect(m, pbf_wire_type::fixed32);
      out.push_back(m.get_float());
    }
  }
  void doubles(pbf_reader& m, std::vector<double>& out) {
    if (m.wire_type() == pbf_wire_type::length_delimited) {
      const auto range = m.get_packed_double();
      out.insert(out.end(), range.begin(), range.end());
    } else {
      expect(m, pbf_wire_type::fixed64);
      out.push_back(m.get_double());
    }
  }

  std::pair<std::string, std::string> entry(pbf_reader m) {
    std::pair<std::string, std::string> result;
    each(std::move(m), [&](pbf_reader& e) {
      switch (e.tag()) {
        case field::entry::key:
          result.first = long_text(e);
          return true;
        case field::entry::value:
          result.second = long_text(e);
          return true;
        default:
          return false;
      }
    });
    return result;
  }

  void decode(pbf_reader m) {
    bool has_graph = false;
    each(std::move(m), [&](pbf_reader& e) {
      switch (e.tag()) {
        case field::model::ir_version:
          model_.ir_version = integer(e);
          return true;
        case field::model::producer:
          model_.producer = long_text(e);
          return true;
        case field::model::opset:
          opset(message(e));
          return true;
        case field::model::metadata:
          model_.metadata.insert(entry(message(e)));
          return true;
        case field::model::functions:
          ++model_.function_count;
          return false;
        case field::model::graph:
          if (has_graph) fail("damaged ONNX file", fmt::format("a second graph at byte {}", offset_), "one graph");
          has_graph = true;
          graph(message(e), model_.graph, 0);
          return true;
        default:
          return false;
      }
    });
    if (!has_graph) {
      fail("not an ONNX model", fmt::format("{} bytes without a graph", size_), "a ModelProto with a graph",
           "pass the .onnx file of a model");
    }
  }

  void opset(pbf_reader m) {
    std::string domain;
    int64_t version = 0;
    each(std::move(m), [&](pbf_reader& e) {
      switch (e.tag()) {
        case field::opset::domain:
          domain = text(e);
          return true;
        case field::opset::version:
          version = integer(e);
          return true;
        default:
          return false;
      }
    });
    if (domain == "ai.onnx") domain.clear();
    if (!model_.opsets.emplace(domain, version).second) {
      fail("two opsets for one domain", fmt::format("domain {} twice", quote_name(domain)),
           "one version for each domain");
    }
  }

  void graph(pbf_reader m, GraphDef& out, int depth) {
    if (depth > kMaxGraphDepth) {
      fail("graphs nested too deeply", fmt::format("more than {} levels at byte {}", kMaxGraphDepth, offset_));
    }
    each(std::move(m), [&](pbf_reader& e) {
      switch (e.tag()) {
        case field::graph::name:
          out.name = text(e);
          return true;
        case field::graph::node:
          out.nodes.emplace_back();
          out.nodes.back().index = static_cast<int>(out.nodes.size()) - 1;
          node(message(e), out.nodes.back(), depth);
          return true;
        case field::graph::initializer:
          tensor(message(e), out.initializers.emplace_back());
          return true;
        case field::graph::input:
          value(message(e), out.inputs.emplace_back());
          return true;
        case field::graph::output:
          value(message(e), out.outputs.emplace_back());
          return true;
        case field::graph::sparse_initializer:
          ++out.sparse_initializer_count;
          return false;
        default:
          return false;
      }
    });
  }

  void node(pbf_reader m, NodeDef& out, int depth) {
    each(std::move(m), [&](pbf_reader& e) {
      switch (e.tag()) {
        case field::node::input:
          out.inputs.push_back(text(e));
          return true;
        case field::node::output:
          out.outputs.push_back(text(e));
          return true;
        case field::node::name:
          out.name = text(e);
          return true;
        case field::node::op_type:
          out.op = text(e);
          return true;
        case field::node::domain:
          out.domain = text(e);
          return true;
        case field::node::overload:
          out.overload = text(e);
          return true;
        case field::node::attribute:
          attribute(message(e), out.attributes.emplace_back(), depth);
          return true;
        default:
          return false;
      }
    });
    if (out.domain == "ai.onnx") out.domain.clear();
  }

  void attribute(pbf_reader m, AttributeDef& out, int depth) {
    int32_t seen = AttributeDef::kNone;  // files of IR version 1 leave `type` out
    each(std::move(m), [&](pbf_reader& e) {
      switch (e.tag()) {
        case field::attribute::name:
          out.name = text(e);
          return true;
        case field::attribute::type:
          out.kind = small(e);
          return true;
        case field::attribute::ref_attr_name:
          out.is_reference = true;
          return false;
        case field::attribute::f:
          expect(e, pbf_wire_type::fixed32);
          out.f = e.get_float();
          seen = AttributeDef::kFloat;
          return true;
        case field::attribute::i:
          out.i = integer(e);
          seen = AttributeDef::kInt;
          return true;
        case field::attribute::s:
          out.s = long_text(e);
          seen = AttributeDef::kString;
          return true;
        case field::attribute::floats:
          floats(e, out.floats);
          seen = AttributeDef::kFloats;
          return true;
        case field::attribute::ints:
          integers(e, out.ints);
          seen = AttributeDef::kInts;
          return true;
        case field::attribute::strings:
          out.strings.push_back(long_text(e));
          seen = AttributeDef::kStrings;
          return true;
        case field::attribute::t:
          one(out.tensors);
          tensor(message(e), out.tensors.back());
          seen = AttributeDef::kTensor;
          return true;
        case field::attribute::tensors:
          tensor(message(e), out.tensors.emplace_back());
          seen = AttributeDef::kTensors;
          return true;
        case field::attribute::g:
          one(out.graphs);
          graph(message(e), out.graphs.back(), depth + 1);
          seen = AttributeDef::kGraph;
          return true;
        case field::attribute::graphs:
          graph(message(e), out.graphs.emplace_back(), depth + 1);
          seen = AttributeDef::kGraphs;
          return true;
        default:
          return false;
      }
    });
    if (out.kind == AttributeDef::kNone) out.kind = seen;
    if ((out.kind == AttributeDef::kTensor && out.tensors.size() != 1) ||
        (out.kind == AttributeDef::kGraph && out.graphs.size() != 1)) {
      fail("damaged ONNX file", fmt::format("attribute {} without its value", quote_name(out.name)));
    }
  }
  template <class T>
  void one(std::vector<T>& list) {
    if (!list.empty()) fail("damaged ONNX file", fmt::format("a value given twice at byte {}", offset_), "one value");
    list.emplace_back();
  }

  void tensor(pbf_reader m, TensorDef& out) {
    each(std::move(m), [&](pbf_reader& e) {
      switch (e.tag()) {
        case field::tensor::dims:
          integers(e, out.dims);
          return true;
        case field::tensor::data_type:
          out.data_type = small(e);
          return true;
        case field::tensor::name:
          out.name = text(e);
          return true;
        case field::tensor::raw_data: {
          expect(e, pbf_wire_type::length_delimited);
          const auto view = e.get_view();
          out.raw = std::string_view(view.data(), view.size());
          return true;
        }
        case field::tensor::float_data:
          floats(e, out.floats);
          return true;
        case field::tensor::double_data:
          doubles(e, out.doubles);
          return true;
        case field::tensor::int32_data:
          integers(e, out.int32s);
          return true;
        case field::tensor::int64_data:
          integers(e, out.int64s);
          return true;
        case field::tensor::uint64_data:
          integers(e, out.uint64s);
          return true;
        case field::tensor::string_data:
          ++out.string_count;
          return false;
        case field::tensor::external_data:
          out.external.push_back(entry(message(e)));
          return true;
        case field::tensor::data_location:
          out.is_external = small(e) != 0;
          return true;
        default:
          return false;
      }
    });
  }

  void value(pbf_reader m, ValueDef& out) {
    each(std::move(m), [&](pbf_reader& e) {
      switch (e.tag()) {
        case field::value::name:
          out.name = text(e);
          return true;
        case field::value::type:
          each(message(e), [&](pbf_reader& t) {
            if (t.tag() != field::type::tensor) return false;
            out.is_tensor = true;
            tensor_type(message(t), out);
            return true;
          });
          return true;
        default:
          return false;
      }
    });
  }

  void tensor_type(pbf_reader m, ValueDef& out) {
    each(std::move(m), [&](pbf_reader& e) {
      switch (e.tag()) {
        case field::tensor_type::element_type:
          out.element_type = small(e);
          return true;
        case field::tensor_type::shape:
          out.shape.emplace();
          each(message(e), [&](pbf_reader& s) {
            if (s.tag() != field::shape::dim) return false;
            auto& dim = out.shape->emplace_back();
            each(message(s), [&](pbf_reader& d) {
              switch (d.tag()) {
                case field::dim::value:
                  dim.value = integer(d);
                  return true;
                case field::dim::param:
                  dim.name = text(d);
                  return true;
                default:
                  return false;
              }
            });
            return true;
          });
          return true;
        default:
          return false;
      }
    });
  }

  const char* begin_;
  size_t size_;
  size_t offset_ = 0;
  ModelDef& model_;
};

}  // namespace

ModelDef decode_model(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string path) {
  ModelDef model;
  model.path = std::move(path);
  model.owner = std::move(owner);
  Decoder(bytes, model).run();
  return model;
}

const AttributeDef* NodeDef::find(std::string_view attribute) const {
  for (const AttributeDef& a : attributes) {
    if (a.name == attribute) return &a;
  }
  return nullptr;
}

std::string quote_name(std::string_view name) {
  constexpr size_t kShown = 120;
  std::string text = "\"";
  for (const char c : name.substr(0, kShown)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text + (name.size() > kShown ? "...\"" : "\"");
}

std::string place(const ModelDef& model, const NodeDef& node) {
  std::string text = fmt::format("{}: node {}", model.path, node.index);
  if (!node.name.empty()) text += " " + quote_name(node.name);
  return text;
}

}  // namespace frit::onnx
