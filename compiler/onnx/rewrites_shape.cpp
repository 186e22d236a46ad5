#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/onnx/rewrites.h"

// Shapes and moved elements: sizes are worked out here, the moving is done by definitions of the library.
namespace frit::onnx {
namespace {

int64_t rank(const NodeImport& n, size_t i = 0) { return static_cast<int64_t>(n.shape(i).size()); }

Dims all_axes(int64_t count) {
  Dims axes(static_cast<size_t>(count));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// The same elements in the same order.
void give_reshaped(NodeImport& n, const Dims& shape) {
  if (shape == n.shape(0)) {
    n.alias(0, 0);
  } else {
    n.give(0, n.reshape(n.value(0), shape));
  }
}

// Axes that keep all of their elements are left out; nothing left is the operand itself.
Value sliced(NodeImport& n, Value x, const Dims& axes, const std::vector<SliceRange>& ranges) {
  const Dims shape = n.shape_of(x);
  Dims at, start, step, count;
  for (size_t i = 0; i < axes.size(); ++i) {
    const SliceRange& r = ranges[i];
    if (r.start == 0 && r.step == 1 && r.count == shape[static_cast<size_t>(axes[i])]) continue;
    at.push_back(axes[i]);
    start.push_back(r.start);
    step.push_back(r.step);
    count.push_back(r.count);
  }
  if (at.empty()) return x;
  return n.call("onnx_slice", {x}, {{"axes", at}, {"start", start}, {"step", step}, {"count", count}}).front();
}

}  // namespace

void rewrite_shape(NodeImport& n) {
  const Dims& shape = n.shape(0);
  const auto r = static_cast<int64_t>(shape.size());
  const auto inside = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + r : at, 0, r); };
  const int64_t start = inside(n.integer("start", 0));
  const int64_t end = std::max(start, inside(n.integer("end", r)));
  n.give(0, known_numbers(DType::I64, {end - start},
                          std::span(shape).subspan(static_cast<size_t>(start), static_cast<size_t>(end - start))));
}

void rewrite_size(NodeImport& n) {
  const int64_t size = element_count(n.shape(0));
  n.give(0, known_numbers(DType::I64, {}, {&size, 1}));
}

void rewrite_reshape(NodeImport& n) {
  give_reshaped(n, reshape_dims(n.shape(0), n.numbers(1), n.integer("allowzero", 0) != 0));
}
void rewrite_flatten(NodeImport& n) { give_reshaped(n, flatten_dims(n.shape(0), n.integer("axis", 1))); }
void rewrite_squeeze(NodeImport& n) {
  const std::optional<Dims> axes = n.list("axes", 1);
  give_reshaped(n, squeeze_dims(n.shape(0), axes ? &*axes : nullptr));
}
void rewrite_unsqueeze(NodeImport& n) {
  const std::optional<Dims> axes = n.list("axes", 1);
  if (!axes) n.wrong("Unsqueeze needs axes", "none");
  give_reshaped(n, unsqueeze_dims(n.shape(0), *axes));
}

void rewrite_transpose(NodeImport& n) {
  Dims perm = all_axes(rank(n));
  if (n.has_attribute("perm")) {
    perm = checked_axes(n.integers("perm"), rank(n));
    if (static_cast<int64_t>(perm.size()) != rank(n)) n.wrong("perm must name every axis", to_string(perm));
  } else {
    std::ranges::reverse(perm);
  }
  if (std::ranges::is_sorted(perm)) return n.alias(0, 0);
  n.give(0, n.call("transpose", {n.value(0)}, {{"perm", perm}}).front());
}

void rewrite_expand(NodeImport& n) {
  const Dims shape = broadcast_dims(n.shape(0), n.numbers(1));
  if (shape == n.shape(0)) return n.alias(0, 0);
  n.give(0, n.call("onnx_expand", {n.value(0)}, {{"shape", shape}}).front());
}

void rewrite_slice(NodeImport& n) {
  const std::optional<Dims> starts = n.list("starts", 1), ends = n.list("ends", 2);
  if (!starts || !ends) n.wrong("Slice needs starts and ends", fmt::format("{} operands", n.operand_count()));
  Dims axes = n.list("axes", 3).value_or(all_axes(static_cast<int64_t>(starts->size())));
  const Dims steps = n.list("steps", 4).value_or(Dims(starts->size(), 1));
  if (ends->size() != starts->size() || axes.size() != starts->size() || steps.size() != starts->size()) {
    n.wrong("the lists of Slice differ in length",
            fmt::format("starts {}, ends {}, axes {}, steps {}", to_string(*starts), to_string(*ends), to_string(axes),
                        to_string(steps)));
  }
  axes = checked_axes(axes, rank(n));
  std::vector<SliceRange> ranges;
  for (size_t i = 0; i < axes.size(); ++i) {
    ranges.push_back(slice_range((*starts)[i], (*ends)[i], steps[i], n.shape(0)[static_cast<size_t>(axes[i])]));
  }
  n.give(0, sliced(n, n.value(0), axes, ranges));
}

void rewrite_split(NodeImport& n) {
  const int64_t axis = checked_axis(n.integer("axis", 0), rank(n));
  const auto parts = static_cast<int64_t>(n.node().outputs.size());
  if (n.integer("num_outputs", parts) != parts) {
    n.wrong("num_outputs differs from the outputs", fmt::format("{} and {}", n.integer("num_outputs", 0), parts));
  }
  const std::optional<Dims> sizes = n.list("split", 1);
  int64_t start = 0;
  size_t output = 0;
  for (const int64_t size : split_sizes(n.shape(0)[static_cast<size_t>(axis)], sizes ? &*sizes : nullptr, parts)) {
    if (n.wants(output)) n.give(output, sliced(n, n.value(0), {axis}, {{start, 1, size}}));
    start += size;
    ++output;
  }
}

void rewrite_concat(NodeImport& n) {
  if (n.operand_count() == 1) return n.alias(0, 0);
  std::vector<Value> parts;
  if (!n.has_attribute("axis")) n.wrong("Concat needs an axis", "none");
  const int64_t axis = checked_axis(n.integer("axis", 0), rank(n));
  for (size_t i = 0; i < n.operand_count(); ++i) parts.push_back(n.value(i));
  n.give(0, n.call("onnx_concat", {parts}, {{"axis", axis}}).front());
}

void rewrite_pad(NodeImport& n) {
  const int64_t r = rank(n);
  const std::optional<Dims> pads = n.list("pads", 1);
  if (!pads) n.wrong("Pad needs pads", "none");
  Dims axes = all_axes(r);
  if (n.has(3)) axes = checked_axes(n.numbers(3), r);
  if (pads->size() != 2 * axes.size()) {
    n.wrong("pads do not fit the axes", fmt::format("pads {}, {} axes", to_string(*pads), axes.size()),
            "a begin for each axis, then an end for each");
  }
  Dims before(static_cast<size_t>(r)), after(static_cast<size_t>(r));
  for (size_t i = 0; i < axes.size(); ++i) {
    before[static_cast<size_t>(axes[i])] = (*pads)[i];
    after[static_cast<size_t>(axes[i])] = (*pads)[i + axes.size()];
  }
  const std::string mode = n.text("mode", "constant");
  const bool negative = std::ranges::any_of(*pads, [](int64_t p) { return p < 0; });
  if (mode != "constant" && negative) {
    n.unsupported(fmt::format("negative pads {} in mode {}", to_string(*pads), mode), "a Slice before the Pad");
  }
  if (std::ranges::all_of(*pads, [](int64_t p) { return p == 0; })) return n.alias(0, 0);
  const Attributes sizes = {{"p", before}, {"q", after}};
  if (mode == "constant") {
    std::vector<lang::Operand> operands = {n.value(0)};
    if (n.has(2)) {
      operands.emplace_back(n.reshape(n.value(2), {}));
    } else if (n.has_attribute("value")) {
      Array fill(n.slot(0).dtype, {});
      fill.set_float(0, n.real("value", 0));
      operands.emplace_back(n.constant(std::move(fill)));
    }
    n.give(0, n.call("onnx_pad", operands, sizes).front());
  } else if (mode == "reflect" || mode == "edge" || mode == "wrap") {
    n.give(0, n.call("onnx_pad_" + mode, {n.value(0)}, sizes).front());
  } else {
    n.wrong("no such mode of Pad", mode, "constant, reflect, edge or wrap");
  }
}

void rewrite_tile(NodeImport& n) {
  const Dims repeats = n.numbers(1);
  if (static_cast<int64_t>(repeats.size()) != rank(n)) n.wrong("repeats must name every axis", to_string(repeats));
  if (std::ranges::all_of(repeats, [](int64_t r) { return r == 1; })) return n.alias(0, 0);
  if (std::ranges::any_of(repeats, [](int64_t r) { return r < 0; })) n.wrong("negative repeat", to_string(repeats));
  n.give(0, n.call("onnx_tile", {n.value(0)}, {{"repeats", repeats}}).front());
}

void rewrite_one_hot(NodeImport& n) {
  const int64_t depth = n.number(1);
  if (depth < 0 || depth > (int64_t{1} << 30)) n.wrong("bad depth", std::to_string(depth));
  const int64_t axis = checked_axis(n.integer("axis", -1), rank(n) + 1);
  n.give(0, n.call("onnx_one_hot", {n.value(0), n.value(2)}, {{"depth", depth}, {"axis", axis}}).front());
}

}  // namespace frit::onnx
