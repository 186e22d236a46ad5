#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/onnx/rewrites.h"

// Resize in exact integer arithmetic: output i reads position (a*i + b)/c, so that ties and edges fall where the
// specification says, whatever the scale.
namespace frit::onnx {
namespace {

struct Ratio {
  int64_t up = 1, down = 1;  // scale = up / down
};
struct Map {
  int64_t a = 1, b = 0, c = 1;
};

// A positive float32 as a quotient.
Ratio ratio_of(const NodeImport& n, double scale) {
  if (!(scale > 0) || scale > 1e6 || scale < 1e-6)
    n.wrong("scale out of range", fmt::format("{}", scale), "1e-6 to 1e6");
  Ratio r;
  while (scale != std::floor(scale)) {  // ends: a float32 of this size has at most 43 binary places
    scale *= 2;
    r.down *= 2;
  }
  r.up = static_cast<int64_t>(scale);
  return r;
}

struct Target {
  Dims axes, sizes;
  std::vector<Ratio> ratios;
};

// The axes that change, from sizes or scales.
Target target_of(NodeImport& n, const Dims& axes, const std::optional<Dims>& sizes, const std::vector<double>& scales) {
  const Dims& shape = n.shape(0);
  const size_t given = sizes ? sizes->size() : scales.size();
  if (given != axes.size()) {
    n.wrong("sizes or scales do not fit the axes", fmt::format("{} for {} axes", given, axes.size()));
  }
  Target t;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t extent = shape[static_cast<size_t>(axes[i])];
    Ratio r;
    int64_t size = 0;
    if (sizes) {
      size = (*sizes)[i];
      if (size < 1 || extent < 1) n.wrong("empty resize", fmt::format("{} to {}", extent, size));
      r = {size, extent};
    } else {
      r = ratio_of(n, scales[i]);
      __int128 product = static_cast<__int128>(extent) * r.up / r.down;
      if (product > (int64_t{1} << 31)) n.wrong("resize too large", fmt::format("{} by {}", extent, scales[i]));
      size = static_cast<int64_t>(product);
    }
    if (r.up == r.down) continue;
    t.axes.push_back(axes[i]);
    t.sizes.push_back(size);
    t.ratios.push_back(r);
  }
  return t;
}

Map map_of(NodeImport& n, const std::string& mode, const Ratio& r, int64_t extent, int64_t size) {
  if (mode == "asymmetric") return {r.down, 0, r.up};
  if (mode == "half_pixel" || (mode == "pytorch_half_pixel" && size > 1)) return {2 * r.down, r.down - r.up, 2 * r.up};
  if (mode == "pytorch_half_pixel") return {0, 0, 1};
  if (mode == "align_corners") return size > 1 ? Map{extent - 1, 0, size - 1} : Map{0, 0, 1};
  n.unsupported("coordinate_transformation_mode " + mode, "half_pixel, asymmetric or align_corners");
}

// floor((a*i + b)/c) becomes the wanted rounding.
Map rounded(NodeImport& n, const std::string& mode, const Map& m) {
  if (mode == "floor") return m;
  if (mode == "ceil") return {m.a, m.b + m.c - 1, m.c};
  if (mode == "round_prefer_ceil") return {2 * m.a, 2 * m.b + m.c, 2 * m.c};
  if (mode == "round_prefer_floor") return {2 * m.a, 2 * m.b + m.c - 1, 2 * m.c};
  n.wrong("no such nearest_mode", mode, "floor, ceil, round_prefer_floor or round_prefer_ceil");
}

void resize(NodeImport& n, const Target& t, const std::string& mode, const std::string& coordinates,
            const std::string& nearest) {
  if (t.axes.empty()) return n.alias(0, 0);
  if (mode != "nearest" && mode != "linear") n.unsupported("mode " + mode, "nearest or linear");
  Dims a, b, c;
  for (size_t i = 0; i < t.axes.size(); ++i) {
    Map m = map_of(n, coordinates, t.ratios[i], n.shape(0)[static_cast<size_t>(t.axes[i])], t.sizes[i]);
    if (mode == "nearest") m = rounded(n, nearest, m);
    a.push_back(m.a);
    b.push_back(m.b);
    c.push_back(m.c);
  }
  n.give(0,
         n.call("onnx_resize_" + mode, {n.value(0)}, {{"axes", t.axes}, {"o", t.sizes}, {"a", a}, {"b", b}, {"c", c}})
             .front());
}

Dims all_axes(const NodeImport& n) {
  Dims axes;
  for (size_t i = 0; i < n.shape(0).size(); ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}

}  // namespace

void rewrite_upsample(NodeImport& n) {
  std::vector<double> scales;
  if (const AttributeDef* a = n.node().find("scales")) {
    scales.assign(a->floats.begin(), a->floats.end());
  } else {
    scales = n.reals(1);
  }
  resize(n, target_of(n, all_axes(n), {}, scales), n.text("mode", "nearest"), "asymmetric", "floor");
}

void rewrite_resize(NodeImport& n) {
  if (n.integer("antialias", 0) != 0) n.unsupported("antialias");
  if (n.text("keep_aspect_ratio_policy", "stretch") != "stretch") n.unsupported("keep_aspect_ratio_policy");
  Dims axes = all_axes(n);
  if (n.has_attribute("axes")) axes = checked_axes(n.integers("axes"), static_cast<int64_t>(n.shape(0).size()));
  std::optional<Dims> sizes;
  std::vector<double> scales;
  if (n.has(3)) {
    sizes = n.numbers(3);
  } else {
    scales = n.reals(2);
  }
  resize(n, target_of(n, axes, sizes, scales), n.text("mode", "nearest"),
         n.text("coordinate_transformation_mode", "half_pixel"), n.text("nearest_mode", "round_prefer_floor"));
}

}  // namespace frit::onnx
