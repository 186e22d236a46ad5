#pragma once
#include <cstring>
#include <memory>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Writes small ONNX files for tests, field by field, also wrong ones.
namespace frit::onnx::test {

using protozero::pbf_writer;

/// A TensorProto. `raw` is copied as it is, whatever the dims say.
struct TensorText {
  std::string name;
  int type = 1;
  std::vector<int64_t> dims;
  std::optional<std::string> raw;
  std::vector<float> floats;
  std::vector<int64_t> int64s;
  std::vector<int32_t> int32s;
  std::vector<std::pair<std::string, std::string>> external;

  std::string bytes() const {
    std::string out;
    pbf_writer w(out);
    for (const int64_t d : dims) w.add_int64(1, d);
    w.add_int32(2, type);
    if (!floats.empty()) w.add_packed_float(4, floats.begin(), floats.end());
    if (!int32s.empty()) w.add_packed_int32(5, int32s.begin(), int32s.end());
    if (!int64s.empty()) w.add_packed_int64(7, int64s.begin(), int64s.end());
    w.add_string(8, name);
    if (raw) w.add_bytes(9, *raw);
    for (const auto& [key, value] : external) {
      std::string entry;
      pbf_writer e(entry);
      e.add_string(1, key);
      e.add_string(2, value);
      w.add_message(13, entry);
    }
    if (!external.empty()) w.add_int32(14, 1);
    return out;
  }
};

template <class T>
std::string raw_bytes(const std::vector<T>& values) {
  std::string out(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}
inline TensorText floats(std::string name, std::vector<int64_t> dims, const std::vector<float>& values) {
  return {std::move(name), 1, std::move(dims), raw_bytes(values), {}, {}, {}, {}};
}
inline TensorText int64s(std::string name, std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return {std::move(name), 7, std::move(dims), raw_bytes(values), {}, {}, {}, {}};
}
inline TensorText int32s(std::string name, std::vector<int64_t> dims, const std::vector<int32_t>& values) {
  return {std::move(name), 6, std::move(dims), raw_bytes(values), {}, {}, {}, {}};
}
inline TensorText bools(std::string name, std::vector<int64_t> dims, const std::vector<uint8_t>& values) {
  return {std::move(name), 9, std::move(dims), raw_bytes(values), {}, {}, {}, {}};
}

/// An AttributeProto, already in bytes.
struct AttributeText {
  std::string bytes;
};
namespace detail {
template <class Write>
AttributeText attribute(std::string_view name, int kind, Write write) {
  AttributeText a;
  pbf_writer w(a.bytes);
  w.add_string(1, name.data(), name.size());
  write(w);
  w.add_int32(20, kind);
  return a;
}
}  // namespace detail
inline AttributeText attr(std::string_view name, float value) {
  return detail::attribute(name, 1, [&](pbf_writer& w) { w.add_float(2, value); });
}
inline AttributeText attr(std::string_view name, int64_t value) {
  return detail::attribute(name, 2, [&](pbf_writer& w) { w.add_int64(3, value); });
}
inline AttributeText attr(std::string_view name, int value) { return attr(name, int64_t{value}); }
inline AttributeText attr(std::string_view name, const char* value) {
  return detail::attribute(name, 3, [&](pbf_writer& w) { w.add_bytes(4, value); });
}
inline AttributeText attr(std::string_view name, const TensorText& value) {
  return detail::attribute(name, 4, [&](pbf_writer& w) { w.add_message(5, value.bytes()); });
}
inline AttributeText attr(std::string_view name, const std::vector<int64_t>& values) {
  return detail::attribute(name, 7, [&](pbf_writer& w) {
    for (const int64_t v : values) w.add_int64(8, v);
  });
}
inline AttributeText attr_floats(std::string_view name, const std::vector<float>& values) {
  return detail::attribute(name, 6, [&](pbf_writer& w) {
    for (const float v : values) w.add_float(7, v);
  });
}
inline AttributeText attr_graph(std::string_view name, const std::string& graph_bytes) {
  return detail::attribute(name, 5, [&](pbf_writer& w) { w.add_message(6, graph_bytes); });
}

struct NodeText {
  std::string op;
  std::vector<std::string> inputs, outputs;
  std::vector<AttributeText> attributes;
  std::string name, domain;

  std::string bytes() const {
    std::string out;
    pbf_writer w(out);
    for (const auto& i : inputs) w.add_string(1, i);
    for (const auto& o : outputs) w.add_string(2, o);
    if (!name.empty()) w.add_string(3, name);
    w.add_string(4, op);
    for (const auto& a : attributes) w.add_message(5, a.bytes);
    if (!domain.empty()) w.add_string(7, domain);
    return out;
  }
};

/// A dim is a value, a name, or (empty name) nothing.
struct DimText {
  std::optional<int64_t> value;
  std::string name;
  DimText(int v) : value(v) {}
  DimText(int64_t v) : value(v) {}
  DimText(const char* n) : name(n) {}
};
struct ValueText {
  std::string name;
  std::vector<DimText> shape;
  int type = 1;

  std::string bytes() const {
    std::string shape_bytes, tensor, type_bytes, out;
    pbf_writer s(shape_bytes);
    for (const DimText& d : shape) {
      std::string dim;
      pbf_writer w(dim);
      if (d.value) w.add_int64(1, *d.value);
      if (!d.name.empty()) w.add_string(2, d.name);
      s.add_message(1, dim);
    }
    pbf_writer t(tensor);
    t.add_int32(1, type);
    t.add_message(2, shape_bytes);
    pbf_writer(type_bytes).add_message(1, tensor);
    pbf_writer w(out);
    w.add_string(1, name);
    w.add_message(2, type_bytes);
    return out;
  }
};

struct GraphText {
  std::vector<NodeText> nodes;
  std::vector<TensorText> initializers;
  std::vector<ValueText> inputs;
  std::vector<std::string> outputs;

  std::string bytes() const {
    std::string out;
    pbf_writer w(out);
    for (const auto& n : nodes) w.add_message(1, n.bytes());
    w.add_string(2, "g");
    for (const auto& t : initializers) w.add_message(5, t.bytes());
    for (const auto& i : inputs) w.add_message(11, i.bytes());
    for (const auto& o : outputs) {
      std::string value;
      pbf_writer(value).add_string(1, o);
      w.add_message(12, value);
    }
    return out;
  }
};

struct ModelText {
  GraphText graph;
  int64_t opset = 13;
  int64_t ir_version = 8;
  std::vector<std::pair<std::string, int64_t>> more_opsets;
  std::vector<std::pair<std::string, std::string>> metadata;

  std::string bytes() const {
    std::string out;
    pbf_writer w(out);
    w.add_int64(1, ir_version);
    w.add_string(2, "test");
    w.add_message(7, graph.bytes());
    const auto add_opset = [&](const std::string& domain, int64_t version) {
      std::string text;
      pbf_writer o(text);
      if (!domain.empty()) o.add_string(1, domain);
      o.add_int64(2, version);
      w.add_message(8, text);
    };
    add_opset("", opset);
    for (const auto& [domain, version] : more_opsets) add_opset(domain, version);
    for (const auto& [key, value] : metadata) {
      std::string entry;
      pbf_writer e(entry);
      e.add_string(1, key);
      e.add_string(2, value);
      w.add_message(14, entry);
    }
    return out;
  }
};

/// The bytes as a span over memory that is aligned and lives as long as the owner.
struct OwnedBytes {
  std::shared_ptr<std::vector<std::byte>> owner;
  std::span<const std::byte> span;
};
inline OwnedBytes own(const std::string& text) {
  auto owner = std::make_shared<std::vector<std::byte>>(text.size());
  if (!text.empty()) std::memcpy(owner->data(), text.data(), text.size());
  return {owner, {owner->data(), owner->size()}};
}

}  // namespace frit::onnx::test
