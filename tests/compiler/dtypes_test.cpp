// Every dtype in every kind of snippet, compiled for every instruction set of this machine, against the interpreter.
#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

#include "compiler/differential.h"
#include "compiler/dtype_values.h"

namespace frit::testing {
namespace {

using L = std::vector<int64_t>;

// None, one element, a prime, one past a tile. Sizes that an axis cannot have are left out by the row; the prime is for
// dtypes of each width, since extents are no part of most texts.
const L kSizes = {0, 1, 37, 65};
const int64_t kPrime = 37;
const Set kOfEachWidth = {Bool, U8, F16, I32, F32};

enum class Judge : uint8_t {
  Exact,  // the interpreter's value, rounded once to the dtype, bit for bit
  Close   // within the interpreter's tolerance
};

struct Snippet {
  const char* id;
  const char* text;    // definitions; empty where the library has `name`
  const char* shapes;  // of the operands: "3,n; i64:5"; n is each of kSizes, a dtype before a colon stays
  Set dtypes;          // of the other operands
  Values values = Values::Edges;
  Judge judge = Judge::Exact;
  const char* name = "f";
  lang::Attributes attributes = {};
  int64_t least = 0;       // size of n
  int first_weight = 100;  // operands from here on are constants: packed before anything runs
};

// "3,n; i64:5": shapes of the operands, n for the size.
std::vector<OperandSpec> operands_of(const Snippet& snippet, DType dtype, int64_t n) {
  std::vector<OperandSpec> operands;
  std::istringstream list(snippet.shapes);
  for (std::string text; std::getline(list, text, ';');) {
    std::erase(text, ' ');
    OperandSpec operand = of(dtype, {});
    if (const size_t colon = text.find(':'); colon != std::string::npos) {
      operand.dtype = *dtype_from_name(text.substr(0, colon));
      text = text.substr(colon + 1);
    }
    std::istringstream extents(text);
    for (std::string extent; std::getline(extents, extent, ',');)
      operand.shape.push_back(extent == "n" ? n : std::stoll(extent));
    operands.push_back(operand);
  }
  return operands;
}

int cases = 0;  // that were compared, all instruction sets together: docs/types.md shows them

void check(const Snippet& snippet, DType dtype, int64_t n) {
  SCOPED_TRACE(fmt::format("{} {} n = {}", snippet.id, name(dtype), n));
  try {
    Library library(&layers());
    if (*snippet.text != 0) library.add(snippet.text, "row.frit");
    Graph graph;
    std::vector<lang::Operand> values;
    std::vector<Array> inputs;
    std::map<std::string, Array> named;
    for (const OperandSpec& operand : operands_of(snippet, dtype, n)) {
      const size_t i = values.size();
      const std::string x = "x" + std::to_string(i);
      const Array array = input_of(operand, snippet.values, 17 * i + static_cast<uint64_t>(n));
      if (static_cast<int>(i) >= snippet.first_weight) {
        values.emplace_back(graph.add_constant(array, x));
        continue;
      }
      values.emplace_back(graph.add_input(x, {operand.dtype, make_shape(operand.shape)}));
      inputs.push_back(array);
      named[x] = array;
    }
    for (const Value v :
         lang::instantiate(graph, library, library.get(snippet.name), values, snippet.attributes, snippet.name))
      graph.add_output("r" + std::to_string(graph.outputs().size()), v);
    const std::vector<ReferenceTensor> want = interpret(graph, named);
    for (const auto& [isa, cache] : caches()) {
      SCOPED_TRACE(isa);
      ++cases;
      const std::vector<Array> got = Program::compile(graph, {cache.get(), nullptr, false})->run(inputs);
      ASSERT_EQ(got.size(), want.size());
      for (size_t r = 0; r < got.size(); ++r)
        EXPECT_EQ(snippet.judge == Judge::Exact ? not_exact(got[r], want[r]) : compare(got[r], want[r]), "")
            << "result " << r;
    }
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

bool holds(const Set& set, DType dtype) { return std::find(set.begin(), set.end(), dtype) != set.end(); }

class DTypes : public ::testing::Test {
 protected:
  void SetUp() override { cases = 0; }
  void TearDown() override { RecordProperty("cases", cases); }
};

void check(const std::vector<Snippet>& table, int64_t most = kSizes.back()) {
  for (const Snippet& snippet : table) {
    const bool sized = std::string_view(snippet.shapes).find('n') != std::string_view::npos;
    for (const DType dtype : snippet.dtypes)
      for (const int64_t n : sized ? kSizes : L{1})
        if (n >= snippet.least && n <= most && (n != kPrime || holds(kOfEachWidth, dtype))) check(snippet, dtype, n);
  }
}

TEST_F(DTypes, Arithmetic) {
  using enum Values;
  using enum Judge;
  check({
      {"sums", "def f(a, b) { return a + b, a - b, a * b }", "n; n", kNumbers},
      {"sums by rows", "def f(a, b) { return a + b, a - b, a * b }", "3,n; 3,1", kNumbers},
      {"sums by columns", "def f(a, b) { return a + b, b - a, a * b }", "n,5; 5", kNumbers},
      {"weak", "def f(a) { return a + 1, a * 3, 5 - a, a + inf }", "n", kNumbers},
      {"negative", "def f(a) { return -a, abs(a), sign(a) }", "n", kNumbers},
      {"extremes", "def f(a, b) { return min(a + 0, b + 0), max(a + 0, b + 0), clamp(a + 0, 0, b + 0) }", "n; n",
       kInts},
      {"rounded, then wide",
       "def f(a, b) { return f64(a + b), i32(a * b), i64(a - b), f16(a * b) }",
       "n; n",
       {BF16, F16, F32}},
      {"functions, then wide", "def f(a) { return f64(exp(a)), f32(tanh(a)) * f64(a) }", "n", {F16, F32}, Unit, Close},
      {"float extremes", "def f(a, b) { return min(a, b), max(a, b), clamp(a, -1, b) }", "n; n", kFloats, Edges, Close},
      {"quotients", "def f(a, b) { return a // b, a % b, tdiv(a, b), tmod(a, b), cdiv(a, b) }", "n; n", kNumbers},
      {"quotients of numbers", "def f(a) { return a // 3, a % 3, tdiv(a, 7), tmod(a, 7), cdiv(a, 5), a // 1, a % 1 }",
       "n", kNumbers},
      {"quotients by -1, 0",
       "def f(a) { return a // -1, a % -1, tdiv(a, -1), a // 0, a % 0, cdiv(a, 0), 7 // a, 7 % a }", "n", kSigned},
      {"division", "def f(a, b) { return a / b, 1 / a, a / 3, reciprocal(a) }", "n; n", kFloats},
      {"roots", "def f(a) { return sqrt(a), square(a) }", "n", kFloats},
      {"rounding", "def f(a) { return floor(a), ceil(a), trunc(a), round(a) }", "n", kFloats},
      {"tests", "def f(a) { return isnan(a), isinf(a), isfinite(a) }", "n", kFloats},
      {"bits", "def f(a, b) { return a & b, a | b, a ^ b, ~a }", "n; n", kInts},
      {"flags", "def f(a, b) { return a and b, a or b, not a, a & b, a | b, a ^ b, ~a }", "n; n", kBool},
      {"shifts", "def f(a, b) { return a << b, a >> b, a << 3, a >> 3 }", "n; n", kInts, Shift},
      {"shifts of edges", "def f(a) { return a << 1, a >> 1, a << 7, a >> 7, a << 99, a >> 99, a << -1, a >> -1 }", "n",
       kSigned},
      {"comparisons", "def f(a, b) { return a < b, a <= b, a == b, a != b, a > b, a >= b }", "n; n", kAll},
      {"comparisons with numbers", "def f(a) { return a < 1, a <= 1, a == 0, 1 < a, a >= 5 }", "n", kNumbers},
      {"choice", "def f(a, b) { return select(a < b, a, b), select(a == b, b, a) }", "n; n", kAll},
      {"choice by rows", "def f(a, b) = select(b == a, b, a)", "3,n; 3,1", kAll},
      {"powers", "def f(a, b) { return pow(a, b), pow(a, 2), pow(a, 3), pow(a, 0) }", "n; n", kInts, Shift},
      {"powers of edges", "def f(a, b) { return pow(a, b), pow(a, -1) }", "n; n", kSigned},
      {"float powers", "def f(a, b) { return pow(a, b), pow(a, 2), pow(a, 0.5) }", "n; n", kFloats, Small, Close},
      {"fma", "def f(a, b, c) = fma(a, b, c)", "n; n; n", kFloats, Small},
      {"long formula", "def f(a, b) = (a + b) * (a - b) + a * a - b", "n; n", kNumbers, Small},
      {"functions", "def f(a) { return exp(a), log(a), tanh(a), sigmoid(a), erf(a), sin(a) }", "n", kFloats, Unit,
       Close},
      {"strided", "def f(x[n]) y[i < (n + 1) // 2] = x[2*i] + x[n - 1 - 2*i]", "n", kNumbers, Edges, Exact, "f", {}, 1},
  });
}

TEST_F(DTypes, Casts) {
  for (const DType to : kAll) {
    const std::string text = fmt::format("def f(a) = {}(a)", name(to));
    const std::string id = fmt::format("to {}", name(to));
    check({{id.c_str(), text.c_str(), "n", kAll}});
    if (to == Bool) continue;
    const std::string sum = fmt::format("def f(a[i, j], b[i]) y[i, j] = {0}(a[i, j]) + {0}(b[i])", name(to));
    check({{id.c_str(), sum.c_str(), "3,n; 3", kAll, Values::Small}});
  }
}

// The whole table of promotion: what has no common type is refused with its name.
TEST_F(DTypes, Pairs) {
  for (const DType a : kAll) {
    for (const DType b : kAll) {
      if (b < a) continue;
      const std::string shapes = fmt::format("{}:33; {}:33", name(a), name(b));
      const std::string id = fmt::format("{} with {}", name(a), name(b));
      const auto run = [&](const char* text) { check({{id.c_str(), text, shapes.c_str(), kOne}}); };
      const auto refused = [&](const char* text, const char* why) {
        const Snippet snippet{id.c_str(), text, shapes.c_str(), kOne};
        try {
          graph_of({id, text, "f", operands_of(snippet, F32, 1), {}});
          ADD_FAILURE() << id << ": " << text;
        } catch (const InputError& error) {
          EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
        }
      };
      run("def f(a, b) { return a < b, a <= b, a == b, a != b, b < a, b <= a }");
      if (!promote(a, b)) {
        refused("def f(a, b) = a + b", "have no common type");
        refused("def f(a, b) = select(a == b, a, b)", "have no common type");
        continue;
      }
      run("def f(a, b) { c = select(a == b, a, b)  d[i] = b[i]  e[i < 40] = a[i] else d[0]  return c, e }");
      if (a == Bool && b == Bool) {
        refused("def f(a, b) = a + b", "two bools");
        continue;
      }
      run("def f(a, b) { return a + b, a - b, a * b, b - a }");
    }
  }
}

TEST_F(DTypes, Bits) {
  for (const DType a : kNumbers)
    for (const DType b : kNumbers)
      if (size_bytes(a) == size_bytes(b))
        check({{"bits", fmt::format("def f(a) = bitcast(a, {})", name(b)).c_str(), "33", {a}}});
}

TEST_F(DTypes, Reductions) {
  using enum Values;
  using enum Judge;
  check({
      {"sum inner", "def f(x[m, k]) y[m] = sum[k](x[m, k])", "5,n", kNumbers, Small},
      {"sum outer", "def f(x[k, m]) y[m] = sum[k](x[k, m])", "n,19", kNumbers, Small},
      {"sum all", "def f(x[k, m]) y[] = sum[k, m](x[k, m])", "n,7", kNumbers, Small},
      {"sum middle", "def f(x[a, k, b]) y[a, b] = sum[k](x[a, k, b])", "2,n,5", kNumbers, Small},
      {"sum of edges", "def f(x[m, k]) y[m] = sum[k](x[m, k])", "5,n", kInts},
      {"prod inner", "def f(x[m, k]) y[m] = prod[k](x[m, k])", "5,n", kNumbers, Signs},
      {"prod outer", "def f(x[k, m]) y[m] = prod[k](x[k, m])", "n,19", kNumbers, Signs},
      {"prod of edges", "def f(x[m, k]) y[m] = prod[k](x[m, k])", "5,n", kInts},
      {"mean inner", "def f(x[m, k]) y[m] = mean[k](x[m, k])", "5,n", kFloats, Small},
      {"mean outer", "def f(x[k, m]) y[m] = mean[k](x[k, m])", "n,19", kFloats, Small},
      {"max, min inner", "def f(x[m, k]) { a[m] = max[k](x[m, k])  b[m] = min[k](x[m, k])  return a, b }", "5,n",
       kInts},
      {"max, min outer", "def f(x[k, m]) { a[m] = max[k](x[k, m])  b[m] = min[k](x[k, m])  return a, b }", "n,19",
       kInts},
      {"float max, min", "def f(x[m, k]) { a[m] = max[k](x[m, k])  b[m] = min[k](x[m, k])  return a, b }", "65,n",
       kFloats, Edges, Close},
      {"float max, min outer", "def f(x[k, m]) { a[m] = max[k](x[k, m])  b[m] = min[k](x[k, m])  return a, b }", "n,65",
       kFloats, Edges, Close},
      {"argmax inner",
       "def f(x[m, k]) { a[m] = argmax[k](x[m, k])  b[m] = argmin[k](x[m, k])  return a, b }",
       "9,n",
       kNumbers,
       Edges,
       Exact,
       "f",
       {},
       1},
      {"argmax outer",
       "def f(x[k, m]) { a[m] = argmax[k](x[k, m])  b[m] = argmin[k](x[k, m])  return a, b }",
       "n,19",
       kNumbers,
       Edges,
       Exact,
       "f",
       {},
       1},
      {"argmax payload",
       "def f(x[m, k], v[m, k]) a[m] = argmax[k](x[m, k], v[m, k])",
       "9,n; 9,n",
       kNumbers,
       Edges,
       Exact,
       "f",
       {},
       1},
      {"any, all inner", "def f(x[m, k]) { a[m] = any[k](x[m, k])  b[m] = all[k](x[m, k])  return a, b }", "9,n", kBool,
       Flags},
      {"any, all outer", "def f(x[k, m]) { a[m] = any[k](x[k, m])  b[m] = all[k](x[k, m])  return a, b }", "n,19",
       kBool, Flags},
      {"any of tests", "def f(x[m, k]) { a[m] = any[k](x[m, k] == 3)  b[m] = all[k](x[m, k] < 4)  return a, b }", "9,n",
       kNumbers, Small},
      {"count", "def f(x[m, k]) y[m] = sum[k](i32(x[m, k] == 2))", "9,n", kNumbers, Small},
      {"fold", "def f(x[m, k]) y[m] = fold[k](s = 1 : s*x[m, k] + 1)", "5,n", kInts},
      {"fold of floats", "def f(x[m, k]) y[m] = fold[k](s = 1 : s + x[m, k]*2)", "5,n", kFloats, Small},
      {"or, and, xor folds",
       "def f(x[m, k]) { a[m] = fold[k](s = 0 : s | x[m, k])  b[m] = fold[k](s = 0 : s ^ x[m, k])  "
       "return a, b }",
       "5,n", kInts},
      {"prefix sum", "", "3,n", kNumbers, Small, Exact, "cumsum"},
      {"prefix sum outer", "", "n,5", kNumbers, Small, Exact, "cumsum", {{"axis", 0}}},
      {"prefix max", "def f(x[m, k]) y[m, i < k] = max[j <= i](x[m, j])", "3,n", kInts},
      {"masked", "def f(x[m, k], t[m]: int) y[m] = sum[j < clamp(t[m], 0, k)](x[m, j])", "9,n; i64:9", kNumbers, Small},
      {"wide sum", "def f(x[m, k]) y[m] = sum[k](i64(x[m, k]))", "5,n", kInts},
      {"softmax", "", "3,n", kFloats, Unit, Close, "softmax"},
      {"softmax outer", "", "n,5", kFloats, Unit, Close, "softmax", {{"axis", 0}}},
      {"log_softmax", "", "3,n", kFloats, Unit, Close, "log_softmax"},
      {"logsumexp", "", "3,n", kFloats, Unit, Close, "logsumexp"},
      {"layer_norm", "", "3,n; n; n", kFloats, Unit, Close, "layer_norm"},
      {"rms_norm", "", "3,n; n", kFloats, Unit, Close, "rms_norm"},
  });
}

TEST_F(DTypes, Products) {
  using enum Values;
  using enum Judge;
  check({
      {"matmul", "", "5,n; n,17", kNumbers, Small, Exact, "matmul"},
      {"matmul wide", "", "n,19; 19,65", kNumbers, Small, Exact, "matmul"},
      {"matmul of edges", "", "5,n; n,17", kInts, Edges, Exact, "matmul"},
      {"batched", "", "2,5,7; 2,7,n", kNumbers, Small, Exact, "matmul"},
      {"transposed", "def f(a[m, k], b[n, k]) y[m, n] = sum[k](a[m, k] * b[n, k])", "9,n; 18,n", kNumbers, Small},
      {"vector", "def f(a[m, k], x[k]) y[m] = sum[k](a[m, k] * x[k])", "21,n; n", kNumbers, Small},
      {"dot", "def f(a[k], b[k]) y[] = sum[k](a[k] * b[k])", "n; n", kNumbers, Small},
      {"epilogue", "def f(a[m, k], b[k, n], c[n]) y[m, n] = max(sum[k](a[m, k] * b[k, n]) + c[n], 0)", "17,20; 20,n; n",
       kNumbers, Small},
      {"widened", "def f(a[m, k], b[k, n]) y[m, n] = sum[k](i32(a[m, k]) * i32(b[k, n]))", "7,33; 33,n", kInts},
      {"widened to f32", "def f(a[m, k], b[k, n]) y[m, n] = sum[k](f32(a[m, k]) * f32(b[k, n]))", "7,33; 33,n", kAll,
       Small},
      {"max of sums", "def f(a[m, k], b[k, n]) y[m, n] = max[k](a[m, k] + b[k, n])", "7,9; 9,n", kInts, Small},
      {"conv", "def f(x, w) = conv(x, w, p = [1, 1])", "1,3,7,n; 18,3,3,3", kNumbers, Small, Exact, "f", {}, 1},
      {"conv stride", "def f(x, w) = conv(x, w, s = [2, 2])", "2,5,9,n; 7,5,3,3", kNumbers, Small, Exact, "f", {}, 3},
      {"conv of margins", "def f(x, w) = conv(x, w, p = [1, 1])", "1,3,n,5; 4,3,1,1", kNumbers, Small},
      {"depthwise",
       "def f(x, w) = conv(x, w, g = 17, p = [1, 1])",
       "1,17,5,n; 17,1,3,3",
       kNumbers,
       Small,
       Exact,
       "f",
       {},
       1},
      {"transposed conv", "", "1,4,3,n; 4,3,3,3", kNumbers, Small, Exact, "conv_transpose", {{"s", 2}, {"p", 1}}, 1},
      {"1d conv", "", "1,5,n; 33,5,3", kNumbers, Small, Exact, "conv", {{"p", 1}}, 1},
  });
}

// Products and convolutions with constant weights, which are packed: 16-bit floats are widened where they are read.
TEST_F(DTypes, Weights) {
  using enum Values;
  using enum Judge;
  check(
      {
          {"matmul", "", "5,n; n,33", kNumbers, Small, Exact, "matmul", {}, 0, 1},
          {"dense", "", "2,3,n; 21,n; 21", kNumbers, Small, Exact, "dense", {}, 0, 1},
          {"conv", "def f(x, w) = conv(x, w, p = [1, 1])", "1,3,7,n; 18,3,3,3", kNumbers, Small, Exact, "f", {}, 1, 1},
          {"grouped", "def f(x, w) = conv(x, w, g = 2)", "1,8,5,n; 6,4,1,1", kNumbers, Small, Exact, "f", {}, 1, 1},
          {"depthwise",
           "def f(x, w) = conv(x, w, g = 17, p = [1, 1])",
           "1,17,5,n; 17,1,3,3",
           kNumbers,
           Small,
           Exact,
           "f",
           {},
           1,
           1},
          {"relu of it",
           "def f(x, w) = max(conv(x, w, p = [1, 1]), 0) + 1",
           "1,3,7,n; 18,3,3,3",
           kNumbers,
           Small,
           Exact,
           "f",
           {},
           1,
           1},
          {"table",
           "def f(t[i]: int, x[n, m]) y[i, m] = x[clamp(t[i], 0, n - 1), m]",
           "i64:35; 9,n",
           kAll,
           Edges,
           Exact,
           "f",
           {},
           0,
           1},
      },
      kPrime);
}

TEST_F(DTypes, Windows) {
  using enum Values;
  using enum Judge;
  const lang::Attributes pool = {{"k", L{3, 3}}, {"s", 2}, {"p", 1}};
  check(
      {
          {"max_pool", "", "1,3,9,n", kInts, Edges, Exact, "max_pool", pool, 1},
          {"float max_pool", "", "1,3,9,n", kFloats, Edges, Close, "max_pool", pool, 1},
          {"max_pool of channels", "", "1,33,7,n", kNumbers, Small, Exact, "max_pool", pool, 1},
          {"avg_pool", "", "1,3,9,n", kFloats, Small, Exact, "avg_pool", pool, 1},
          {"sum pool",
           "def f(x[n, c, h, w]) y[n, c, i < h, j < w] = sum[a < 3, b < 3](x[n, c, i + a - 1, j + b - 1] else 0)",
           "1,3,9,n", kNumbers, Small},
          {"global pool", "def f(x[n, c, h, w]) y[n, c] = mean[h, w](x[n, c, h, w])", "2,5,7,n", kFloats, Small},
          {"unfold", "", "1,3,6,n", kNumbers, Edges, Exact, "unfold", {{"k", L{3, 2}}, {"s", 2}, {"p", 1}}, 1},
      },
      kPrime);
}

TEST_F(DTypes, Order) {
  using enum Values;
  using enum Judge;
  check(
      {
          {"scan", "def f(x[m, k]) y[m, i < k] = fold[j <= i](s = 0 : s*2 + x[m, j])", "3,n", kInts},
          {"scan outer", "def f(x[k, m]) y[i < k, m] = fold[j <= i](s = 1 : s*x[j, m] + 1)", "n,5", kNumbers, Signs,
           Close},
          {"prefix min", "def f(x[k, m]) y[i < k, m] = min[j <= i](x[j, m])", "n,5", kInts},
          {"prefix product", "def f(x[m, k]) y[m, i < k] = prod[j <= i](x[m, j])", "3,n", kNumbers, Signs},
          {"suffix sum", "", "2,n", kNumbers, Small, Exact, "cumsum_reverse_exclusive"},
      },
      kPrime);
}

TEST_F(DTypes, Writes) {
  using enum Values;
  using enum Judge;
  check(
      {
          {"scatter", "def f(y[n], t[m]: int, u[m]) { z[n] = y[n]  for[m] z[t[m]] = u[m]  return z }", "n; i64:33; 33",
           kAll},
          {"scatter rows",
           "def f(y[n, k], t[m]: int, u[m, k]) { z[n, k] = y[n, k]  for[m, k] z[t[m], k] = u[m, k]  "
           "return z }",
           "9,n; i32:33; 33,n", kAll},
          {"scattered sums", "def f(y[n], t[m]: int, u[m]) { z[n] = y[n]  for[m] z[t[m]] += u[m]  return z }",
           "n; i64:99; 99", kNumbers, Shift},
          {"scattered sums of rows",
           "def f(y[n, k], t[m]: int, u[m, k]) { z[n, k] = y[n, k]  for[m, k] z[t[m], k] += "
           "u[m, k]  return z }",
           "9,n; i64:33; 33,n", kNumbers, Small},
          {"scattered sums wrap", "def f(y[n], t[m]: int, u[m]) { z[n] = y[n]  for[m] z[t[m]] += u[m]  return z }",
           "n; i8:99; 99", kInts},
          {"scattered products", "def f(y[n], t[m]: int, u[m]) { z[n] = y[n]  for[m] z[t[m]] *= u[m]  return z }",
           "n; i16:19; 19", kNumbers, Signs},
          {"scattered extremes",
           "def f(y[n], t[m]: int, u[m]) { z[n] = y[n]  for[m] z[t[m]] max= u[m]  w[n] = y[n]  "
           "for[m] w[t[m]] min= u[m]  return z, w }",
           "n; i64:99; 99", kInts},
          {"float scattered extremes",
           "def f(y[n], t[m]: int, u[m]) { z[n] = y[n]  for[m] z[t[m]] max= u[m]  w[n] = "
           "y[n]  for[m] w[t[m]] min= u[m]  return z, w }",
           "n; i64:99; 99", kFloats, Edges, Close},
          {"sort", "def f(x) { v, i = sort(x)  return v, i }", "3,n", kNumbers},
          {"sort down", "def f(x) { v, i = sort(x, axis = 0, descending = true)  return v, i }", "n,5", kNumbers},
      },
      kPrime);
}

TEST_F(DTypes, Moves) {
  using enum Values;
  using enum Judge;
  check({
      {"copy", "def f(x[i]) y[i] = x[i]", "n", kAll},
      {"transpose", "", "n,19", kAll, Edges, Exact, "transpose", {{"perm", L{1, 0}}}},
      {"transpose 3", "def f(x) = transpose(x, perm = [2, 0, 1])", "3,n,18", kAll},
      {"flip", "def f(x[i, n]) y[i, j < n] = x[i, n - 1 - j]", "3,n", kAll},
      {"step", "def f(x[i, n]) y[i, j < cdiv(n, 2)] = x[i, 2*j]", "3,n", kAll},
      {"pad", "def f(x[i, n]) y[i, j < n + 5] = x[i, j - 2] else 7", "3,n", kNumbers},
      {"pad of flags", "def f(x[i, n]) y[i, j < n + 5] = x[i, j - 2] else true", "3,n", kBool},
      {"pad edge", "", "3,n", kAll, Edges, Exact, "pad", {{"p", L{1, 2}}, {"q", L{0, 3}}, {"mode", "edge"}}, 1},
      {"concat", "def f(a, b, c) = concat([a, b, c], axis = 1)", "3,n; 3,2; 3,17", kAll},
      {"concat of values", "def f(a, b) = concat([a, b * 2], axis = 0) + 1", "n,5; 2,5", kNumbers},
      {"gather", "def f(x[n, m], t[i]: int) y[i, m] = x[clamp(t[i], 0, n - 1), m]", "9,n; i64:35", kAll},
      {"gather last",
       "def f(x[n, m], t[i]: int) y[n, i] = x[n, clamp(t[i], 0, m - 1)]",
       "3,n; i32:35",
       kAll,
       Edges,
       Exact,
       "f",
       {},
       1},
      {"gather guarded", "def f(x[n, m], t[i]: int) y[n, i] = x[n, t[i]] else 9", "3,n; i16:35", kNumbers},
      {"gather by any", "def f(x[m], t[i]) y[i] = x[t[i]] else 9", "f32:21; n", kInts},
      {"embedding", "", "7,n; i64:2,3", kAll, Edges, Exact, "embedding"},
      {"broadcast", "def f(x[i], y[j]) { z[i, j] = x[i]  w[i, j] = y[j]  return z, w }", "n; 17", kAll},
      {"reshape", "def f(x) = reshape(x, [-1])", "3,n", kAll},
      {"one value", "def f(x[]) y[i < 33] = x[]", "n", kAll, Edges, Exact, "f", {}, 99},
      {"repeat", "def f(x[i, j]) y[i, (j, r < 3)] = x[i, j]", "3,n", kAll},
      {"triangle",
       "def f(x[i, j]) y[i, j] = select(index(j) <= index(i), x[i, j], x[0, 0])",
       "19,n",
       kAll,
       Edges,
       Exact,
       "f",
       {},
       1},
      {"two results", "def f(a, b) { c = select(a == b, a, b)  return c, a, select(c == a, b, a) }", "n; n", kAll},
  });
}

}  // namespace
}  // namespace frit::testing
