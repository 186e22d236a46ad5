// Lowered kernels by their definition: every access inside its buffer, aligned as claimed, no two tiles on one byte;
// and the values those of the interpreter. The same on OpenCL where there is one.
#include <gtest/gtest.h>

#include "build_runner.h"
#include "fault_rows.h"
#include "ir/interpreter.h"
#include "lang/snippet_run.h"
#include "opencl_runner.h"
#include "support/error.h"

namespace frit::testing {
namespace {

struct Case {
  std::string text;  // empty: the library has `name`
  std::string name;
  std::vector<OperandSpec> operands;
  lang::Attributes attributes = {};
};

Array random_array(DType dtype, const std::vector<int64_t>& shape, uint64_t seed) {
  Array array(dtype, shape);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (int64_t i = 0; i < array.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto bits = static_cast<int64_t>(state >> 40);
    if (is_float(dtype))
      array.set_float(i, static_cast<double>(bits) / (1 << 23) - 1.0);
    else
      array.set_int(i, dtype == DType::Bool ? bits & 1 : bits % 5);
  }
  return array;
}

std::string shapes_of(const Case& c) {
  std::string text = c.name;
  for (const OperandSpec& o : c.operands) {
    text += " " + std::string(name(o.dtype)) + "[";
    for (size_t d = 0; d < o.shape.size(); ++d) text += (d ? "," : "") + std::to_string(o.shape[d]);
    text += "]";
  }
  return text;
}

// The graph of a case with random inputs, on one machine and runner.
void check(const Case& c, const std::string& machine, KernelRunner& runner) {
  SCOPED_TRACE(shapes_of(c) + " on " + machine);
  try {
    Library library(&layers());
    if (!c.text.empty()) library.add(c.text, "case.frit");
    const Built built = build(library, c.name, c.operands, c.attributes);
    std::vector<Array> inputs;
    std::map<std::string, Array> by_name;
    for (size_t i = 0; i < c.operands.size(); ++i) {
      if (c.operands[i].is_const || c.operands[i].absent) continue;
      inputs.push_back(random_array(c.operands[i].dtype, c.operands[i].shape, i + 1));
      by_name["x" + std::to_string(i)] = inputs.back();
    }
    const Build lowered = frit::build(built.graph, machine_named(machine));
    if (runner.is_slow() && shares_bytes(lowered)) return;
    const std::vector<Array> got = run_build(lowered, runner, inputs);
    const auto want = interpret(built.graph, by_name);
    for (size_t r = 0; r < got.size(); ++r) EXPECT_EQ(compare(got[r], want[r]), "") << "result " << r;
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

const std::vector<Case>& cases() {
  static const std::vector<Case> list = [] {
    std::vector<Case> all;
    for (const int64_t n : {0, 1, 7, 16, 33, 100}) {
      all.push_back({"", "swish", {f32({n})}});
      all.push_back({"", "relu", {f32({3, n})}});
      all.push_back({"def f(x[n, m]) y[m, n] = x[n, m]", "f", {f32({n, 5})}});
      all.push_back({"def f(x[n]) y[i < n] = x[n - 1 - i]", "f", {f32({n})}});
      all.push_back({"def f(x[n, m]) y[n] = sum[m](x[n, m])", "f", {f32({3, n})}});
      all.push_back({"def f(x[n, m]) y[m] = sum[n](x[n, m])", "f", {f32({7, n})}});
      all.push_back({"def f(x[n]) y[] = max[n](x[n])", "f", {f32({n + 1})}});
      all.push_back({"", "onnx.Softmax.13", {f32({3, n + 1})}});
      all.push_back({"", "onnx.Add.7", {f32({2, n}), f32({n})}});
      all.push_back({"", "onnx.Where.9", {of(DType::Bool, {n}), f32({n}), f32({1})}});
      all.push_back({"", "gemm", {f32({5, n}), f32({n, 9})}});
      all.push_back({"", "gemm", {f32({n, 8}), f32({8, 33})}});
      all.push_back({"", "onnx.MatMul.1", {f32({2, n, 6}), f32({2, 6, 17})}});
      all.push_back({"def f(x[n]: i64) y[n] = x[n] // 3 + x[n] % 4", "f", {of(DType::I64, {n})}});
      all.push_back({"def f(x[n]: u8) y[n] = x[n] * x[n]", "f", {of(DType::U8, {n})}});
      all.push_back({"", "cumsum", {f32({3, n})}});
      all.push_back({"", "cumsum", {f32({n, 9})}, {{"axis", int64_t{0}}}});
      all.push_back({"", "cumsum_reverse_exclusive", {f32({5, n})}});
      all.push_back({"def f(x[m, n]) y[m, i < n] = argmax[j < i + 1](x[m, j])", "f", {of(DType::I32, {3, n})}});
      all.push_back({"def f(x[n]) y[i < n + 2] = x[i - 1] else 5", "f", {f32({n})}});
    }
    all.push_back({"", "conv", {f32({1, 3, 9, 11}), f32({4, 3, 3, 3})}, {{"p", int64_t{1}}}});
    all.push_back({"", "conv", {f32({2, 8, 7, 7}), f32({33, 8, 1, 1})}});
    all.push_back(
        {"", "conv", {f32({1, 4, 12, 10}), f32({20, 4, 3, 3}), f32({20})}, {{"p", int64_t{1}}, {"s", int64_t{2}}}});
    all.push_back({"", "conv", {f32({1, 6, 8, 8}), f32({6, 1, 3, 3})}, {{"p", int64_t{1}}, {"g", int64_t{6}}}});
    all.push_back({"", "gather", {f32({5, 7}), of(DType::I64, {4})}});
    all.push_back({"", "embedding", {f32({5, 19}), of(DType::I32, {3, 2})}});
    all.push_back({"", "trilu", {f32({9, 9})}});
    all.push_back({"", "onnx.GlobalAveragePool.1", {f32({2, 5, 3, 7})}});
    all.push_back({"", "onnx.LayerNormalization.17", {f32({4, 37}), f32({37}), f32({37})}});
    all.push_back({"def f(x[n]: f16) y[n] = x[n] * 2 + 1", "f", {of(DType::F16, {21})}});
    all.push_back({"def f(x[n]: bf16) y[n] = exp(x[n])", "f", {of(DType::BF16, {21})}});
    return all;
  }();
  return list;
}

// Writes and sorts: by slabs, by ranges, in place; keys of 32 and 64 bits.
const std::vector<Case>& order_cases() {
  static const std::vector<Case> list = {
      {"", "scatter_add", {f32({5, 40}), of(DType::I64, {9, 40}), f32({9, 40})}},
      {"", "scatter_add", {f32({40}), of(DType::I32, {70}), f32({70})}},
      {"def f(x[n], t[m]: int) { y[n] = x[n]  for[m] y[t[m]] = 1  for[m] y[t[m] + 1] *= 2 }",
       "f",
       {f32({40}), of(DType::I64, {70})}},
      {"", "topk", {f32({3, 50})}, {{"k", int64_t{7}}}},
      {"def f(x) { v, i = sort(x, axis = 0)  return v, i }", "f", {of(DType::I64, {37, 2})}},
  };
  return list;
}

TEST(LoweredKernelRun, KeepsEveryPromise) {
  CheckedRunner runner;
  for (const char* machine : {"sse2", "avx2", "avx512"}) {
    for (const Case& c : cases()) check(c, machine, runner);
    for (const Case& c : order_cases()) check(c, machine, runner);
  }
}

TEST(LoweredKernelRun, KeepsEveryPromiseOnTheRowsOfKnownFaults) {
  CheckedRunner runner;
  for (const SnippetRow& row : fault_rows()) {
    Case c{row.text, row.name, {}, row.attributes};
    int64_t elements = 1;
    for (const RowTensor& input : row.inputs) {
      c.operands.push_back(of(input.dtype, input.shape));
      elements = std::max(elements, element_count(input.shape));
    }
    if (elements <= 4096) check(c, "avx2", runner);
  }
}

TEST(LoweredKernelRun, OpenClAgrees) {
  const auto runner = make_opencl_runner();
  if (!runner) GTEST_SKIP() << "this machine has no opencl";
  for (size_t n = 0; n < cases().size(); n += 5) check(cases()[n], "avx2", *runner);
  for (const Case& c : order_cases()) check(c, "avx2", *runner);
}

}  // namespace
}  // namespace frit::testing
