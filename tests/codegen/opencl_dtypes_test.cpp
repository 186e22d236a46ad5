// Every dtype that OpenCL C has a place for: lowered kernels, printed, built and run, against the interpreter.
#include "build_runner.h"
#include "compiler/dtype_values.h"
#include "opencl_runner.h"
#include "support/error.h"

namespace frit::testing {
namespace {

struct Row {
  const char* text;
  std::vector<std::vector<int64_t>> shapes;
  Set dtypes;
  Values values = Values::Edges;
};

// One text holds many operations: a build takes long.
const std::vector<Row>& rows() {
  static const Set kSome = {I8, U16, I64, F16, BF16, F32}, kSomeInts = {I8, U16, I32, U64};
  static const std::vector<Row> list = {
      {"def f(a, b) { return a + b, a - b, a * b, -a, abs(a), min(a + 0, b + 0), a < b, a == b, select(a != b, a, b) }",
       {{37}, {37}},
       kInts},
      {"def f(a, b) { return a // b, a % b, tdiv(a, b), tmod(a, b), cdiv(a, b) }", {{37}, {37}}, kSomeInts},
      {"def f(a, b) { return a & b, a | b, a ^ b, ~a, a << 3, a >> 3, a << b, a >> b }",
       {{37}, {37}},
       kSomeInts,
       Values::Shift},
      {"def f(a, b) { return a + b, a - b, a * b, a / b, -a, abs(a), a < b, a == b, isnan(a), sqrt(a), floor(a), "
       "round(a) }",
       {{37}, {37}},
       kFloats},
      {"def f(a, b) { return a and b, a or b, not a, a ^ b, a < b, select(a, b, a) }", {{37}, {37}}, kBool},
      {"def f(a) { return bool(a), i8(a), u16(a), i32(a), u32(a), i64(a), u64(a), f16(a), bf16(a), f32(a), f64(a) }",
       {{37}},
       kAll},
      {"def f(x[m, k]) { a[m] = sum[k](x[m, k])  b[k] = sum[m](x[m, k])  return a, b }",
       {{5, 37}},
       kSome,
       Values::Small},
      {"def f(x[m, k]) { a[m] = max[k](x[m, k])  b[m] = argmin[k](x[m, k])  return a, b }", {{5, 37}}, kSomeInts},
      {"def f(x[m, k]) { a[m] = any[k](x[m, k])  b[k] = all[m](x[m, k])  return a, b }",
       {{5, 37}},
       kBool,
       Values::Flags},
      {"def f(a[m, k], b[k, n]) y[m, n] = sum[k](a[m, k] * b[k, n])", {{5, 7}, {7, 19}}, kSome, Values::Small},
      {"def f(x[i, j]) { y[j, i] = x[i, j]  z[i, k < j + 3] = x[i, k - 2] else x[0, 0]  return y, z }",
       {{5, 19}},
       kAll},
  };
  return list;
}

void check(const Row& row, DType dtype, KernelRunner& runner) {
  SCOPED_TRACE(fmt::format("{} {}", name(dtype), row.text));
  try {
    Library library(&layers(), row.text, "row.frit");
    std::vector<OperandSpec> operands;
    std::vector<Array> inputs;
    std::map<std::string, Array> named;
    for (const auto& shape : row.shapes) {
      const size_t i = operands.size();
      operands.push_back(of(dtype, shape));
      inputs.push_back(input_of(operands.back(), row.values, i + 1));
      named["x" + std::to_string(i)] = inputs.back();
    }
    const Graph graph = build(library, "f", operands).graph;
    const Build lowered = frit::build(graph, machine_named("avx2"));
    if (shares_bytes(lowered)) return;
    const std::vector<Array> got = run_build(lowered, runner, inputs);
    const auto want = interpret(graph, named);
    for (size_t r = 0; r < got.size(); ++r) EXPECT_EQ(not_exact(got[r], want[r]), "") << "result " << r;
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

TEST(OpenClDTypes, Agree) {
  const auto runner = make_opencl_runner();
  if (!runner) GTEST_SKIP() << "this machine has no opencl";
  for (const Row& row : rows())
    for (const DType dtype : row.dtypes) check(row, dtype, *runner);
}

}  // namespace
}  // namespace frit::testing
