#include <fmt/format.h>

#include <algorithm>

#include "compiler/onnx/rewrites.h"

// LSTM as cells in a row: the product with the inputs for all steps at once, then one cell for each step.
namespace frit::onnx {
namespace {

constexpr int64_t kMaxSteps = 64;  // unrolled

enum Operand { kX, kW, kR, kB, kLengths, kH, kC, kPeephole };

struct Sizes {
  int64_t steps, batch, hidden, directions;
};

void check_plain(NodeImport& n, int64_t directions) {
  if (n.has(kPeephole)) n.unsupported("peepholes");
  if (n.has_attribute("clip")) n.unsupported("clip");
  if (n.integer("input_forget", 0) != 0) n.unsupported("input_forget");
  if (n.integer("layout", 0) != 0) n.unsupported("layout 1", "layout 0 between Transposes");
  const AttributeDef* activations = n.node().find("activations");
  if (!activations) return;
  for (size_t i = 0; i < activations->strings.size(); ++i) {
    if (activations->strings[i] != (i % 3 == 0 ? "Sigmoid" : "Tanh") ||
        activations->strings.size() != static_cast<size_t>(3 * directions)) {
      n.unsupported("activations other than Sigmoid, Tanh, Tanh");
    }
  }
}

void check_shape(const NodeImport& n, size_t operand, const Dims& expected) {
  if (!n.has(operand) || n.shape(operand) == expected) return;
  n.wrong(fmt::format("operand {} of LSTM has a wrong shape", operand), to_string(n.shape(operand)),
          to_string(expected));
}

Sizes checked_sizes(NodeImport& n) {
  const std::string direction = n.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    n.wrong("no such direction", direction, "forward, reverse or bidirectional");
  }
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  check_plain(n, directions);
  const Dims &x = n.shape(kX), &r = n.shape(kR);
  if (x.size() != 3 || r.size() != 3) n.wrong("LSTM needs operands of rank 3", to_string(x) + ", " + to_string(r));
  const Sizes s{x[0], x[1], r[2], directions};
  if (n.integer("hidden_size", s.hidden) != s.hidden) {
    n.wrong("hidden_size differs from the weights", fmt::format("{} and {}", n.integer("hidden_size", 0), s.hidden));
  }
  check_shape(n, kW, {directions, 4 * s.hidden, x[2]});
  check_shape(n, kR, {directions, 4 * s.hidden, s.hidden});
  check_shape(n, kB, {directions, 8 * s.hidden});
  check_shape(n, kH, {directions, s.batch, s.hidden});
  check_shape(n, kC, {directions, s.batch, s.hidden});
  if (n.has(kLengths)) {
    const Dims lengths = n.numbers(kLengths);
    if (std::ranges::any_of(lengths, [&](int64_t l) { return l != s.steps; })) {
      n.unsupported("sequence_lens shorter than the input");
    }
  }
  if (s.steps > kMaxSteps) {
    n.unsupported(fmt::format("{} steps, and steps are unrolled", s.steps),
                  fmt::format("at most {} steps in a call, with the state carried", kMaxSteps));
  }
  if (s.steps == 0) n.unsupported("no steps");
  return s;
}

Value concat(NodeImport& n, const std::vector<Value>& parts, int64_t axis) {
  return parts.size() == 1 ? parts.front() : n.call("onnx_concat", {parts}, {{"axis", axis}}).front();
}

}  // namespace

void rewrite_lstm(NodeImport& n) {
  const Sizes s = checked_sizes(n);
  const bool reverse = n.text("direction", "forward") == "reverse";
  const DType dtype = n.slot(kX).dtype;
  std::optional<Value> zeros;
  const auto initial = [&](size_t operand, int64_t direction) {
    if (n.has(operand)) return n.call("onnx_row", {n.value(operand)}, {{"at", direction}}).front();
    if (!zeros) zeros = n.constant(Array(dtype, {s.batch, s.hidden}));
    return *zeros;
  };
  std::vector<std::vector<Value>> steps(static_cast<size_t>(s.directions));  // by direction, in order of time
  std::vector<Value> last_h, last_c;
  for (int64_t d = 0; d < s.directions; ++d) {
    std::vector<lang::Operand> operands = {n.value(kX), n.value(kW)};
    if (n.has(kB)) operands.emplace_back(n.value(kB));
    const Value gates = n.call("lstm_inputs", operands, {{"dir", d}}).front();
    Value h = initial(kH, d), c = initial(kC, d);
    std::vector<Value>& row = steps[static_cast<size_t>(d)];
    row.resize(static_cast<size_t>(s.steps));
    for (int64_t k = 0; k < s.steps; ++k) {
      const int64_t t = reverse || d == 1 ? s.steps - 1 - k : k;
      const std::vector<Value> next = n.call("lstm_step", {gates, h, c, n.value(kR)}, {{"dir", d}, {"t", t}});
      h = next[0];
      c = next[1];
      row[static_cast<size_t>(t)] = h;
    }
    last_h.push_back(n.reshape(h, {1, s.batch, s.hidden}));
    last_c.push_back(n.reshape(c, {1, s.batch, s.hidden}));
  }
  if (n.wants(0)) {  // [step, direction, batch, hidden]
    std::vector<Value> parts;
    for (const std::vector<Value>& row : steps) {
      std::vector<Value> units;
      for (const Value h : row) units.push_back(n.reshape(h, {1, 1, s.batch, s.hidden}));
      parts.push_back(concat(n, units, 0));
    }
    n.give(0, concat(n, parts, 1));
  }
  if (n.wants(1)) n.give(1, concat(n, last_h, 0));
  if (n.wants(2)) n.give(2, concat(n, last_c, 0));
}

}  // namespace frit::onnx
