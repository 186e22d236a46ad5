#include "compiler/onnx/lattice.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "compiler/onnx/decode.h"
#include "support/error.h"

namespace frit::onnx {
namespace {

using Operands = std::span<const Known* const>;
using Result = std::optional<std::vector<Known>>;

struct Call {
  const NodeDef& node;
  Operands operands;

  const Known* operand(size_t i) const { return i < operands.size() ? operands[i] : nullptr; }
  int64_t integer(std::string_view attribute, int64_t otherwise) const {
    const AttributeDef* a = node.find(attribute);
    return a ? a->i : otherwise;
  }
  // A list of numbers from the attribute, else from the operand; `absent` if there is neither.
  struct List {
    bool absent = true, symbolic = false;
    Dims values;
  };
  List list(std::string_view attribute, size_t position) const {
    if (const AttributeDef* a = node.find(attribute)) return {false, false, a->ints};
    const Known* known = operand(position);
    if (!known) return {};
    const auto numbers = known->numbers();
    return {false, !numbers, numbers.value_or(Dims{})};
  }
};

Expr wrapped(const Expr& value, DType dtype) {
  return value.is_constant() ? cast(cast(value, dtype), DType::I64) : value;
}

Dims strides_of(const Dims& shape) {
  Dims strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

// A tensor of `shape` whose element at `position` is values[source(position)].
template <class Source>
Known picked(const Known& from, Dims shape, Source source) {
  Known out{from.dtype, std::move(shape), {}};
  const int64_t count = element_count(out.shape);
  Dims position(out.shape.size());
  for (int64_t flat = 0; flat < count; ++flat) {
    out.values.push_back(from.values[static_cast<size_t>(source(position))]);
    for (size_t i = position.size(); i-- > 0;) {
      if (++position[i] < out.shape[i]) break;
      position[i] = 0;
    }
  }
  return out;
}

bool too_large(const Dims& shape) { return element_count(shape) > kMaxKnownElements; }

Known broadcast(const Known& from, const Dims& shape) {
  const Dims strides = strides_of(from.shape);
  const size_t skip = shape.size() - from.shape.size();
  return picked(from, shape, [&](const Dims& position) {
    int64_t at = 0;
    for (size_t i = 0; i < from.shape.size(); ++i) at += from.shape[i] == 1 ? 0 : position[i + skip] * strides[i];
    return at;
  });
}

// --- elementwise

uint64_t bits(int64_t v) { return static_cast<uint64_t>(v); }

// Integer arithmetic is total: wraps, and division by zero is 0.
int64_t truncated_quotient(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? static_cast<int64_t>(0 - bits(a)) : a / b;
}
int64_t floored_remainder(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

struct Elementwise {
  int64_t (*fold)(int64_t, int64_t);
  std::optional<Op> symbolic;  // what the operator is on symbols; else it leaves the lattice
  bool gives_bool = false;
};
const std::unordered_map<std::string_view, Elementwise>& elementwise_ops() {
  static const std::unordered_map<std::string_view, Elementwise> ops = {
      {"Add", {[](int64_t a, int64_t b) { return static_cast<int64_t>(bits(a) + bits(b)); }, Op::Add}},
      {"Sub", {[](int64_t a, int64_t b) { return static_cast<int64_t>(bits(a) - bits(b)); }, Op::Sub}},
      {"Mul", {[](int64_t a, int64_t b) { return static_cast<int64_t>(bits(a) * bits(b)); }, Op::Mul}},
      {"Div", {truncated_quotient, Op::TruncDiv}},
      {"Mod", {floored_remainder, Op::Mod}},
      {"Min", {[](int64_t a, int64_t b) { return std::min(a, b); }, Op::Min}},
      {"Max", {[](int64_t a, int64_t b) { return std::max(a, b); }, Op::Max}},
      {"Equal", {[](int64_t a, int64_t b) { return int64_t{a == b}; }, {}, true}},
      {"Less", {[](int64_t a, int64_t b) { return int64_t{a < b}; }, {}, true}},
      {"LessOrEqual", {[](int64_t a, int64_t b) { return int64_t{a <= b}; }, {}, true}},
      {"Greater", {[](int64_t a, int64_t b) { return int64_t{a > b}; }, {}, true}},
      {"GreaterOrEqual", {[](int64_t a, int64_t b) { return int64_t{a >= b}; }, {}, true}},
      {"And", {[](int64_t a, int64_t b) { return int64_t{a && b}; }, {}, true}},
      {"Or", {[](int64_t a, int64_t b) { return int64_t{a || b}; }, {}, true}},
      {"Xor", {[](int64_t a, int64_t b) { return int64_t{(a != 0) != (b != 0)}; }, {}, true}},
  };
  return ops;
}

Result pairwise(const Elementwise& op, const Known& a, const Known& b) {
  // Unsigned 64-bit order and division differ from int64's.
  if (a.dtype == DType::U64 || a.dtype != b.dtype) return {};
  const Dims shape = broadcast_dims(a.shape, b.shape);
  if (too_large(shape)) return {};
  const Known x = broadcast(a, shape), y = broadcast(b, shape);
  Known out{op.gives_bool ? DType::Bool : a.dtype, shape, {}};
  for (size_t i = 0; i < x.values.size(); ++i) {
    if (x.values[i].is_constant() && y.values[i].is_constant()) {
      const int64_t value = op.fold(x.values[i].int_value(), y.values[i].int_value());
      out.values.push_back(wrapped(index_constant(value), out.dtype));
    } else if (op.symbolic) {
      out.values.push_back(binary(*op.symbolic, x.values[i], y.values[i]));
    } else {
      return {};
    }
  }
  return std::vector<Known>{out};
}

Result variadic(const Call& c, const Elementwise& op) {
  if (c.operands.empty() || !c.operand(0)) return {};
  Known total = *c.operand(0);
  for (size_t i = 1; i < c.operands.size(); ++i) {
    if (!c.operand(i)) return {};
    const Result next = pairwise(op, total, *c.operand(i));
    if (!next) return {};
    total = next->front();
  }
  return std::vector<Known>{total};
}

Result mapped(const Known& x, DType dtype, int64_t (*f)(int64_t)) {
  Known out{dtype, x.shape, {}};
  for (const Expr& v : x.values) {
    if (!v.is_constant()) return {};
    out.values.push_back(wrapped(index_constant(f(v.int_value())), dtype));
  }
  return std::vector<Known>{out};
}

Result where(const Call& c) {
  if (c.operands.size() != 3 || !c.operand(1) || !c.operand(2)) return {};
  const Dims shape = broadcast_dims(broadcast_dims(c.operand(0)->shape, c.operand(1)->shape), c.operand(2)->shape);
  if (too_large(shape)) return {};
  const Known cond = broadcast(*c.operand(0), shape), a = broadcast(*c.operand(1), shape);
  const Known b = broadcast(*c.operand(2), shape);
  Known out{a.dtype, shape, {}};
  for (size_t i = 0; i < cond.values.size(); ++i) {
    if (!cond.values[i].is_constant()) return {};
    out.values.push_back(cond.values[i].int_value() != 0 ? a.values[i] : b.values[i]);
  }
  return std::vector<Known>{out};
}

Result cast_to(const Call& c) {
  const std::optional<DType> to = dtype_of(static_cast<int32_t>(c.integer("to", 0)));
  if (!to || is_float(*to)) return {};
  Known out{*to, c.operand(0)->shape, {}};
  for (const Expr& v : c.operand(0)->values) {
    if (!v.is_constant() && *to == DType::Bool) return {};
    out.values.push_back(*to == DType::Bool ? index_constant(v.int_value() != 0) : wrapped(v, *to));
  }
  return std::vector<Known>{out};
}

// --- moving elements

Result reshaped(const Known& x, Dims shape) { return std::vector<Known>{{x.dtype, std::move(shape), x.values}}; }

Result reshape(const Call& c) {
  const auto to = c.list("shape", 1);
  if (to.absent || to.symbolic) return {};
  return reshaped(*c.operand(0), reshape_dims(c.operand(0)->shape, to.values, c.integer("allowzero", 0) != 0));
}
Result squeeze(const Call& c) {
  const auto axes = c.list("axes", 1);
  if (axes.symbolic) return {};
  return reshaped(*c.operand(0), squeeze_dims(c.operand(0)->shape, axes.absent ? nullptr : &axes.values));
}
Result unsqueeze(const Call& c) {
  const auto axes = c.list("axes", 1);
  if (axes.absent || axes.symbolic) return {};
  return reshaped(*c.operand(0), unsqueeze_dims(c.operand(0)->shape, axes.values));
}
Result flatten(const Call& c) {
  return reshaped(*c.operand(0), flatten_dims(c.operand(0)->shape, c.integer("axis", 1)));
}

Result expand(const Call& c) {
  const auto to = c.list("shape", 1);
  if (to.absent || to.symbolic) return {};
  const Dims shape = broadcast_dims(c.operand(0)->shape, to.values);
  if (too_large(shape)) return {};
  return std::vector<Known>{broadcast(*c.operand(0), shape)};
}

Result tile(const Call& c) {
  const Known& x = *c.operand(0);
  const auto repeats = c.list("repeats", 1);
  if (repeats.absent || repeats.symbolic || repeats.values.size() != x.shape.size()) return {};
  Dims shape = x.shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t r = repeats.values[i];
    if (r < 0 || r > kMaxKnownElements) return {};
    shape[i] *= r;
    if (shape[i] > kMaxKnownElements) return {};
  }
  if (too_large(shape)) return {};
  const Dims strides = strides_of(x.shape);
  return std::vector<Known>{picked(x, shape, [&](const Dims& position) {
    int64_t at = 0;
    for (size_t i = 0; i < position.size(); ++i) at += position[i] % x.shape[i] * strides[i];
    return at;
  })};
}

Result transpose(const Call& c) {
  const Known& x = *c.operand(0);
  const auto rank = static_cast<int64_t>(x.shape.size());
  Dims perm(x.shape.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::ranges::reverse(perm);
  if (const AttributeDef* a = c.node.find("perm")) perm = checked_axes(a->ints, rank);
  if (static_cast<int64_t>(perm.size()) != rank) fail_shape("bad perm", to_string(perm), "every axis once");
  Dims shape(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) shape[i] = x.shape[static_cast<size_t>(perm[i])];
  const Dims strides = strides_of(x.shape);
  return std::vector<Known>{picked(x, shape, [&](const Dims& position) {
    int64_t at = 0;
    for (size_t i = 0; i < perm.size(); ++i) at += position[i] * strides[static_cast<size_t>(perm[i])];
    return at;
  })};
}

Result concat(const Call& c) {
  if (c.operands.empty() || !c.operand(0)) return {};
  const auto rank = static_cast<int64_t>(c.operand(0)->shape.size());
  const auto axis = static_cast<size_t>(checked_axis(c.integer("axis", 1), rank));
  Dims shape = c.operand(0)->shape;
  shape[axis] = 0;
  for (const Known* part : c.operands) {
    if (!part || part->dtype != c.operand(0)->dtype || part->shape.size() != shape.size()) return {};
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i != axis && part->shape[i] != shape[i]) {
        fail_shape("parts do not fit", fmt::format("{} and {}", to_string(c.operand(0)->shape), to_string(part->shape)),
                   "equal extents but for the axis of concatenation");
      }
    }
    shape[axis] += part->shape[axis];
  }
  if (too_large(shape)) return {};
  Known out{c.operand(0)->dtype, shape, {}};
  const int64_t outer = element_count(std::span(shape).first(axis));
  for (int64_t row = 0; row < outer; ++row) {
    for (const Known* part : c.operands) {
      const int64_t chunk = element_count(std::span(part->shape).subspan(axis));
      const auto begin = part->values.begin() + row * chunk;
      out.values.insert(out.values.end(), begin, begin + chunk);
    }
  }
  return std::vector<Known>{out};
}

Known sliced(const Known& x, const std::vector<SliceRange>& ranges) {
  Dims shape;
  for (const SliceRange& r : ranges) shape.push_back(r.count);
  const Dims strides = strides_of(x.shape);
  return picked(x, shape, [&](const Dims& position) {
    int64_t at = 0;
    for (size_t i = 0; i < position.size(); ++i) at += (ranges[i].start + position[i] * ranges[i].step) * strides[i];
    return at;
  });
}

Result slice(const Call& c) {
  const Known& x = *c.operand(0);
  const auto rank = static_cast<int64_t>(x.shape.size());
  const auto starts = c.list("starts", 1), ends = c.list("ends", 2);
  auto axes = c.list("axes", 3);
  auto steps = c.list("steps", 4);
  if (starts.absent || ends.absent || starts.symbolic || ends.symbolic || axes.symbolic || steps.symbolic) return {};
  const size_t n = starts.values.size();
  if (axes.absent) {
    axes.values.resize(n);
    std::iota(axes.values.begin(), axes.values.end(), 0);
  }
  if (steps.absent) steps.values.assign(n, 1);
  if (ends.values.size() != n || axes.values.size() != n || steps.values.size() != n) {
    fail_shape("slice lists differ in length", fmt::format("{} starts, {} ends", n, ends.values.size()));
  }
  std::vector<SliceRange> ranges;
  for (const int64_t extent : x.shape) ranges.push_back({0, 1, extent});
  const Dims at = checked_axes(axes.values, rank);
  for (size_t i = 0; i < n; ++i) {
    const auto axis = static_cast<size_t>(at[i]);
    ranges[axis] = slice_range(starts.values[i], ends.values[i], steps.values[i], x.shape[axis]);
  }
  return std::vector<Known>{sliced(x, ranges)};
}

Result split(const Call& c) {
  const Known& x = *c.operand(0);
  const auto axis = static_cast<size_t>(checked_axis(c.integer("axis", 0), static_cast<int64_t>(x.shape.size())));
  const auto sizes = c.list("split", 1);
  if (sizes.symbolic) return {};
  const auto parts = static_cast<int64_t>(c.node.outputs.size());
  std::vector<Known> results;
  std::vector<SliceRange> ranges;
  for (const int64_t extent : x.shape) ranges.push_back({0, 1, extent});
  int64_t start = 0;
  for (const int64_t size : split_sizes(x.shape[axis], sizes.absent ? nullptr : &sizes.values, parts)) {
    ranges[axis] = {start, 1, size};
    start += size;
    results.push_back(sliced(x, ranges));
  }
  return results;
}

Result gather(const Call& c) {
  if (c.operands.size() != 2 || !c.operand(1)) return {};
  const Known& x = *c.operand(0);
  const Known& indices = *c.operand(1);
  const auto rank = static_cast<int64_t>(x.shape.size());
  const auto axis = static_cast<size_t>(checked_axis(c.integer("axis", 0), rank));
  const auto numbers = indices.numbers();
  if (!numbers) return {};
  Dims shape = x.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), indices.shape.begin(), indices.shape.end());
  if (too_large(shape)) return {};
  for (const int64_t i : *numbers) {
    if (i < -x.shape[axis] || i >= x.shape[axis]) {
      fail_shape("index out of range", fmt::format("index {} into {}", i, to_string(x.shape)));
    }
  }
  const Dims strides = strides_of(x.shape), index_strides = strides_of(indices.shape);
  const size_t k = indices.shape.size();
  return std::vector<Known>{picked(x, shape, [&](const Dims& position) {
    int64_t which = 0, at = 0;
    for (size_t i = 0; i < k; ++i) which += position[axis + i] * index_strides[i];
    const int64_t index = (*numbers)[static_cast<size_t>(which)];
    for (size_t i = 0; i < x.shape.size(); ++i) {
      const int64_t p = i < axis    ? position[i]
                        : i > axis  ? position[i + k - 1]
                        : index < 0 ? index + x.shape[i]
                                    : index;
      at += p * strides[i];
    }
    return at;
  })};
}

// --- making and reducing

Result range(const Call& c) {
  if (c.operands.size() != 3) return {};
  Dims v;
  for (const Known* k : c.operands) {
    if (!k) return {};
    const auto numbers = k->numbers();
    if (!numbers || numbers->size() != 1) return {};
    v.push_back(numbers->front());
  }
  if (v[2] == 0) fail_shape("range with step 0", "delta 0");
  Dims values;
  for (int64_t x = v[0]; v[2] > 0 ? x < v[1] : x > v[1];) {
    if (static_cast<int64_t>(values.size()) == kMaxKnownElements) return {};
    values.push_back(x);
    if (__builtin_add_overflow(x, v[2], &x)) break;
  }
  const auto count = static_cast<int64_t>(values.size());
  return std::vector<Known>{known_numbers(c.operand(0)->dtype, {count}, values)};
}

Result reduce(const Call& c, int64_t (*step)(int64_t, int64_t)) {
  const Known& x = *c.operand(0);
  const auto rank = static_cast<int64_t>(x.shape.size());
  const auto given = c.list("axes", 1);
  const auto numbers = x.numbers();
  if (!numbers || given.symbolic || numbers->empty()) return {};
  Dims axes = checked_axes(given.values, rank);
  if (axes.empty() && c.integer("noop_with_empty_axes", 0) != 0) return std::vector<Known>{x};
  if (axes.empty()) {
    axes.resize(x.shape.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  Dims kept = x.shape;  // with reduced axes as 1
  for (const int64_t a : axes) kept[static_cast<size_t>(a)] = 1;
  const Dims strides = strides_of(kept), from = strides_of(x.shape);
  std::vector<std::optional<int64_t>> totals(static_cast<size_t>(element_count(kept)));
  for (size_t flat = 0; flat < numbers->size(); ++flat) {
    int64_t at = 0;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (kept[i] != 1) at += static_cast<int64_t>(flat) / from[i] % x.shape[i] * strides[i];
    }
    auto& total = totals[static_cast<size_t>(at)];
    total = total ? step(*total, (*numbers)[flat]) : (*numbers)[flat];
  }
  Dims shape;
  for (size_t i = 0; i < kept.size(); ++i) {
    const bool reduced = std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end();
    if (!reduced || c.integer("keepdims", 1) != 0) shape.push_back(kept[i]);
  }
  Known out{x.dtype, shape, {}};
  for (const auto& total : totals) out.values.push_back(wrapped(index_constant(*total), x.dtype));
  return std::vector<Known>{out};
}

using Rule = std::function<Result(const Call&)>;

const std::unordered_map<std::string_view, Rule>& rules() {
  static const std::unordered_map<std::string_view, Rule> table = {
      {"Identity", [](const Call& c) -> Result { return std::vector<Known>{*c.operand(0)}; }},
      {"Cast", cast_to},
      {"Where", where},
      {"Neg",
       [](const Call& c) {
         return mapped(*c.operand(0), c.operand(0)->dtype, [](int64_t v) { return static_cast<int64_t>(0 - bits(v)); });
       }},
      {"Abs",
       [](const Call& c) {
         return mapped(*c.operand(0), c.operand(0)->dtype,
                       [](int64_t v) { return v < 0 ? static_cast<int64_t>(0 - bits(v)) : v; });
       }},
      {"Not",
       [](const Call& c) { return mapped(*c.operand(0), DType::Bool, [](int64_t v) { return int64_t{v == 0}; }); }},
      {"Sum", [](const Call& c) { return variadic(c, elementwise_ops().at("Add")); }},
      {"Reshape", reshape},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
      {"Flatten", flatten},
      {"Expand", expand},
      {"Tile", tile},
      {"Transpose", transpose},
      {"Concat", concat},
      {"Slice", slice},
      {"Split", split},
      {"Gather", gather},
      {"Range", range},
      {"ReduceSum", [](const Call& c) { return reduce(c, elementwise_ops().at("Add").fold); }},
      {"ReduceProd", [](const Call& c) { return reduce(c, elementwise_ops().at("Mul").fold); }},
      {"ReduceMin", [](const Call& c) { return reduce(c, elementwise_ops().at("Min").fold); }},
      {"ReduceMax", [](const Call& c) { return reduce(c, elementwise_ops().at("Max").fold); }},
  };
  return table;
}

}  // namespace

std::optional<Dims> Known::numbers() const {
  Dims result;
  for (const Expr& v : values) {
    if (!v.is_constant()) return {};
    result.push_back(v.int_value());
  }
  return result;
}

std::optional<Known> known_from(const Array& array) {
  if (is_float(array.dtype()) || array.size() > kMaxKnownElements) return {};
  Known known{array.dtype(), array.shape(), {}};
  for (int64_t i = 0; i < array.size(); ++i) known.values.push_back(index_constant(array.int_at(i)));
  return known;
}

Known known_numbers(DType dtype, Dims shape, std::span<const int64_t> values) {
  Known known{dtype, std::move(shape), {}};
  for (const int64_t v : values) known.values.push_back(index_constant(v));
  return known;
}

Array to_array(const Known& known) {
  const auto numbers = known.numbers();
  FRIT_CHECK(numbers, "a symbolic tensor is no constant");
  Array array(known.dtype, known.shape);
  for (size_t i = 0; i < numbers->size(); ++i) array.set_int(static_cast<int64_t>(i), (*numbers)[i]);
  return array;
}

Result evaluate(const NodeDef& node, Operands operands) {
  if (!node.domain.empty() || operands.empty()) return {};
  if (!operands[0]) return {};
  const Call call{node, operands};
  if (const auto op = elementwise_ops().find(node.op); op != elementwise_ops().end()) {
    if (node.op == "Mod" && call.integer("fmod", 0) != 0) return {};
    return variadic(call, op->second);
  }
  const auto rule = rules().find(node.op);
  return rule == rules().end() ? Result{} : rule->second(call);
}

bool in_lattice(std::string_view op) { return elementwise_ops().contains(op) || rules().contains(op); }

}  // namespace frit::onnx
