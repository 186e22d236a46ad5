#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "codegen/kernel_runner.h"
#include "codegen/sample_kernels.h"
#include "golden.h"
#include "opencl_runner.h"

namespace frit::testing {
namespace {

// Runner per target name, made once: a compile cache and a device.
KernelRunner* runner_of(const std::string& target) {
  static std::map<std::string, std::unique_ptr<KernelRunner>> runners;
  auto [found, is_new] = runners.try_emplace(target);
  if (is_new && target == "opencl") found->second = make_opencl_runner();
  if (is_new && target == "checked") found->second = std::make_unique<CheckedRunner>();
  if (is_new && !found->second && can_run(target)) found->second = std::make_unique<CpuRunner>(target);
  return found->second.get();
}

class KernelRun : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    runner = runner_of(GetParam());
    if (!runner) GTEST_SKIP() << "this machine has no " << GetParam();
  }
  KernelRunner* runner = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Targets, KernelRun, ::testing::Values("checked", "sse2", "avx2", "avx512", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(KernelRun, ScalesWithTails) {
  for (const int lanes : {4, 8, 16}) {
    const Kernel k = scale_kernel(lanes, runner->has_fma());
    for (const int64_t n : {0, 1, 7, 8, 16, 37}) {
      std::vector<float> x(40), y(40, -1);
      std::iota(x.begin(), x.end(), 0.0f);
      runner->run(k, {bytes_of(x), bytes_of(y)}, {}, 2, 2 + n, 0, 2);
      for (int64_t i = 0; i < 40; ++i)
        EXPECT_EQ(y[i], i >= 2 && i < 2 + n ? 2.0f * x[i] + 1 : -1) << lanes << " lanes, n " << n << ", element " << i;
    }
  }
}

TEST_P(KernelRun, SumsRowsInAFixedOrder) {
  for (const int64_t n : {0, 1, 8, 21}) {
    std::vector<float> x(5 * n + 1), y(5, -1);
    for (size_t i = 0; i < x.size(); ++i) x[i] = 1.0f / static_cast<float>(i + 1);
    runner->run(row_sum_kernel(), {bytes_of(x), bytes_of(y)}, {n}, 0, 5, 0, 2);
    for (int64_t r = 0; r < 5; ++r) {
      float lane[8] = {};
      const int64_t whole = n / 8 * 8;
      for (int64_t j = 0; j < whole; ++j) lane[j % 8] += x[r * n + j];
      float sum = (lane[0] + lane[4] + (lane[2] + lane[6])) + (lane[1] + lane[5] + (lane[3] + lane[7]));
      for (int64_t j = whole; j < n; ++j) sum += x[r * n + j];
      EXPECT_EQ(y[r], sum) << "n " << n << ", row " << r;
    }
  }
}

TEST_P(KernelRun, GathersAndScattersUnderMask) {
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8}, y(8, -1);
  std::vector<int32_t> at = {7, -1, 0, 3, -1, -1, 1, 6};
  runner->run(permute_kernel(), {bytes_of(x), bytes_of(at), bytes_of(y)}, {}, 0, 2);
  EXPECT_EQ(y, (std::vector<float>{1, 2, -1, 4, -1, -1, 7, 8}));
}

TEST_P(KernelRun, MultipliesATile) {
  if (!runner->has_fma()) GTEST_SKIP() << "no fma";
  const int rows = 4, vectors = 2, lanes = 8, columns = vectors * lanes;
  const int64_t depth = 19;
  std::vector<float> a(rows * depth), out(rows * columns);
  struct alignas(64) Panel {
    float row[16];
  };
  std::vector<Panel> b(depth), c(rows);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (int64_t k = 0; k < depth; ++k)
    for (int j = 0; j < columns; ++j) b[k].row[j] = static_cast<float>((k * 5 + j) % 11) - 5;
  runner->run(product_kernel(rows, vectors, lanes), {bytes_of(a), bytes_of(b), bytes_of(c)},
              {depth, 4 * depth, 4 * columns}, 0, 1);
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < columns; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < depth; ++k) sum += a[r * depth + k] * b[k].row[j];
      EXPECT_EQ(c[r].row[j], sum) << r << ", " << j;
    }
  }
}

TEST_P(KernelRun, UsesScratch) {
  Builder b("scratch");
  const int x = b.add_buffer({"x", DType::F32, false, 4}), y = b.add_buffer({"y", DType::F32, true, 4});
  const auto loop = b.begin_loop(b.begin(), b.end(), b.i64(1));
  const Value at = b.mul(loop.i, b.i64(4));
  const Type f = scalar(DType::F32);
  const Value v = b.load(f, b.ptr_add(b.buffer(x), at));
  b.store(b.ptr_add(b.scratch(), 64), v);
  const Value w = b.load(f, b.ptr_add(b.scratch(), 64));
  b.store(b.ptr_add(b.buffer(y), at), b.add(w, v));
  b.end_loop();
  std::vector<float> from = {1, 2, 3, 4, 5}, to(5);
  runner->run(b.finish(), {bytes_of(from), bytes_of(to)}, {}, 0, 5, 128, 3);
  EXPECT_EQ(to, (std::vector<float>{2, 4, 6, 8, 10}));
}

TEST_P(KernelRun, BranchesYieldAndLoopsCarry) {
  // y[i] = number of steps of n -> n / 2 or 3n + 1 until 1, at most 200, for n = x[i].
  Builder b("collatz");
  const int x = b.add_buffer({"x", DType::I64, false, 8}), y = b.add_buffer({"y", DType::I64, true, 8});
  const Type t = scalar(DType::I64);
  const auto loop = b.begin_loop(b.begin(), b.end(), b.i64(1));
  const Value at = b.mul(loop.i, b.i64(8));
  const Value first = b.load(t, b.ptr_add(b.buffer(x), at));
  const auto steps = b.begin_loop(b.i64(0), b.i64(200), b.i64(1), {first, b.i64(0)}, true);
  const Value n = steps.carried[0];
  b.begin_if(b.le(n, b.i64(1)));
  b.begin_else({n, steps.carried[1]});
  b.begin_if(b.eq(b.trunc_mod(n, b.i64(2)), b.i64(0)));
  const Value half = b.trunc_div(n, b.i64(2));
  b.begin_else({half});
  const Value odd = b.add(b.mul(n, b.i64(3)), b.i64(1));
  const Value next = b.end_if({odd})[0];
  const Value count = b.add(steps.carried[1], b.i64(1));
  const auto result = b.end_if({next, count});
  const auto last = b.end_loop(result);
  b.store(b.ptr_add(b.buffer(y), at), last[1]);
  b.end_loop();
  std::vector<int64_t> from = {1, 2, 3, 6, 7, 27}, to(6);
  runner->run(b.finish(), {bytes_of(from), bytes_of(to)}, {}, 0, 6);
  EXPECT_EQ(to, (std::vector<int64_t>{0, 1, 7, 8, 16, 111}));
}

// Every primitive on every dtype against plain C++, with the awkward values.

template <class T>
std::vector<T> samples() {
  using L = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (std::is_floating_point_v<T>) {
    return {T(0),
            T(-0.0),
            1,
            -1,
            T(0.5),
            T(1.5),
            T(2.5),
            T(-2.5),
            T(3.7),
            T(0.49999997),
            T(8388609),
            T(-129.5),
            T(300),
            T(2147483648.0),
            T(1e30),
            T(-1e30),
            L::min() / 4,
            L::max(),
            L::infinity(),
            -L::infinity(),
            L::quiet_NaN()};
  } else {
    return {T(0),     T(1),           T(2), T(3), T(7), T(-1), T(-2), T(-7), T(100), L::min(), T(L::min() + 1),
            L::max(), T(L::max() - 1)};
  }
}

template <class T>
T wrapped(Op op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  const auto x = static_cast<uint64_t>(static_cast<U>(a)), y = static_cast<uint64_t>(static_cast<U>(b));
  return static_cast<T>(op == Op::Add ? x + y : op == Op::Sub ? x - y : x * y);
}

template <class T>
T reference(Op op, T a, T b, T c) {
  if constexpr (std::is_same_v<T, bool>) {
    switch (op) {
      case Op::Not:
        return !a;
      case Op::And:
        return a && b;
      case Op::Or:
        return a || b;
      case Op::Xor:
        return a != b;
      default:
        throw std::logic_error("bool");
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case Op::Neg:
        return -a;
      case Op::Abs:
        return std::fabs(a);
      case Op::Sqrt:
        return std::sqrt(a);
      case Op::Floor:
        return std::floor(a);
      case Op::Ceil:
        return std::ceil(a);
      case Op::Trunc:
        return std::trunc(a);
      case Op::Round:
        return std::nearbyint(a);
      case Op::Add:
        return a + b;
      case Op::Sub:
        return a - b;
      case Op::Mul:
        return a * b;
      case Op::Div:
        return a / b;
      case Op::Min:
        return a != a ? a : a < b ? a : b;
      case Op::Max:
        return a != a ? a : a > b ? a : b;
      case Op::Fma:
        return std::fma(a, b, c);
      default:
        throw std::logic_error("float");
    }
  } else {
    switch (op) {
      case Op::Neg:
        return wrapped<T>(Op::Sub, 0, a);
      case Op::Abs:
        return a < 0 ? wrapped<T>(Op::Sub, 0, a) : a;
      case Op::BitNot:
        return static_cast<T>(~a);
      case Op::Add:
      case Op::Sub:
      case Op::Mul:
        return wrapped(op, a, b);
      case Op::TruncDiv:
        return static_cast<T>(a / b);
      case Op::TruncMod:
        return static_cast<T>(a % b);
      case Op::Min:
        return a < b ? a : b;
      case Op::Max:
        return a > b ? a : b;
      case Op::And:
        return static_cast<T>(a & b);
      case Op::Or:
        return static_cast<T>(a | b);
      case Op::Xor:
        return static_cast<T>(a ^ b);
      case Op::Shl:
        return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) << b);
      case Op::Shr:
        return static_cast<T>(a >> b);
      default:
        throw std::logic_error("integer");
    }
  }
}

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  }
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// Outside of what the operation promises.
template <class T>
bool is_defined(Op op, T a, T b) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if (op == Op::Shl || op == Op::Shr) return b >= 0 && b < static_cast<T>(8 * sizeof(T));
    if (op == Op::TruncDiv || op == Op::TruncMod)
      return b != 0 && !(std::is_signed_v<T> && b == static_cast<T>(-1) && a == std::numeric_limits<T>::min());
  }
  return true;
}

template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

// All pairs of samples, padded to whole vectors by repeating a harmless pair.
template <class T>
void make_operands(Op op, std::vector<Stored<T>>& a, std::vector<Stored<T>>& b, std::vector<Stored<T>>& c) {
  const auto values = samples<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = 0; j < values.size(); ++j) {
      if (!is_defined<T>(op, values[i], values[j])) continue;
      a.push_back(values[i]);
      b.push_back(values[j]);
      c.push_back(values[(i * 7 + j * 3) % values.size()]);
    }
  }
  for (auto* list : {&a, &b, &c}) list->resize((list->size() + 15) / 16 * 16, 1);
}

// Results of one case as T, compared element by element.
template <class T, class Reference>
void compare(const std::vector<std::byte>& bytes, size_t count, const std::string& what, Reference expected_at) {
  std::vector<Stored<T>> y(count);
  std::memcpy(y.data(), bytes.data(), count * sizeof(T));
  for (size_t i = 0; i < count; ++i) {
    const auto expected = static_cast<Stored<T>>(expected_at(i));
    ASSERT_TRUE(same(y[i], expected)) << what << ", element " << i << ": " << +y[i] << ", expected " << +expected;
  }
}

template <class T>
struct Run {
  std::vector<Stored<T>> a, b, c;
  std::vector<std::vector<std::byte>> results;

  Run(KernelRunner& runner, const std::vector<OpCase>& cases, DType dtype, int lanes) {
    make_operands<T>(cases[0].op, a, b, c);
    std::vector<Bytes> buffers = {bytes_of(a), bytes_of(b), bytes_of(c)};
    results.reserve(cases.size());
    for (const OpCase& k : cases)
      buffers.push_back(results.emplace_back(a.size() * static_cast<size_t>(size_bytes(k.result))));
    runner.run(ops_kernel(cases, dtype, lanes), buffers, {}, 0, static_cast<int64_t>(a.size()) / lanes);
  }
  std::string what(Op op, DType dtype, int lanes) const {
    return std::string(name(op)) + " of " + std::string(name(dtype)) + "x" + std::to_string(lanes);
  }
};

// All operations on the same operands: those of `ops`, and comparisons.
template <class T>
void check_ops(KernelRunner& runner, const std::vector<OpCase>& cases, DType dtype, int lanes) {
  const Run<T> run(runner, cases, dtype, lanes);
  const auto& [a, b, c, results] = run;
  for (size_t k = 0; k < cases.size(); ++k) {
    const Op op = cases[k].op;
    const std::string what = run.what(op, dtype, lanes);
    if (!is_comparison(op)) {
      compare<T>(results[k], a.size(), what, [&](size_t i) {
        return reference<T>(op, static_cast<T>(a[i]), static_cast<T>(b[i]), static_cast<T>(c[i]));
      });
    } else {
      compare<bool>(results[k], a.size(), what, [&](size_t i) {
        return op == Op::Eq ? a[i] == b[i] : op == Op::Ne ? a[i] != b[i] : op == Op::Lt ? a[i] < b[i] : a[i] <= b[i];
      });
    }
  }
}

constexpr Op kFloatOps[] = {Op::Neg, Op::Abs, Op::Sqrt, Op::Floor, Op::Ceil, Op::Trunc, Op::Round,
                            Op::Add, Op::Sub, Op::Mul,  Op::Div,   Op::Min,  Op::Max,   Op::Fma};
constexpr Op kIntegerOps[] = {Op::Neg, Op::Abs, Op::BitNot, Op::Add, Op::Sub, Op::Mul, Op::TruncDiv, Op::TruncMod,
                              Op::Min, Op::Max, Op::And,    Op::Or,  Op::Xor, Op::Shl, Op::Shr};
constexpr Op kBoolOps[] = {Op::Not, Op::And, Op::Or, Op::Xor};
constexpr Op kComparisons[] = {Op::Eq, Op::Ne, Op::Lt, Op::Le};

bool has(const KernelRunner& runner, Op op) {
  const bool rounding = op == Op::Floor || op == Op::Ceil || op == Op::Trunc || op == Op::Round;
  return op == Op::Fma ? runner.has_fma() : !rounding || runner.has_rounding();
}

// Operations with operands of their own (shifts, divisions) run apart.
template <class T>
void check_dtype(KernelRunner& runner, DType dtype, std::span<const Op> ops) {
  std::vector<OpCase> plain, shifts, divisions;
  for (const Op op : ops) {
    if (!has(runner, op)) continue;
    const bool is_shift = op == Op::Shl || op == Op::Shr, is_division = op == Op::TruncDiv || op == Op::TruncMod;
    (is_shift ? shifts : is_division ? divisions : plain).push_back({op, dtype});
  }
  for (const Op op : kComparisons)
    if (dtype != DType::Bool || op == Op::Eq || op == Op::Ne) plain.push_back({op, DType::Bool});
  for (const int lanes : runner.is_slow() ? std::vector{4} : std::vector{1, 4, 16})
    for (const auto& cases : {plain, shifts, divisions})
      if (!cases.empty()) check_ops<T>(runner, cases, dtype, lanes);
}

TEST_P(KernelRun, F32) { check_dtype<float>(*runner, DType::F32, kFloatOps); }
TEST_P(KernelRun, F64) { check_dtype<double>(*runner, DType::F64, kFloatOps); }
TEST_P(KernelRun, Bool) { check_dtype<bool>(*runner, DType::Bool, kBoolOps); }
TEST_P(KernelRun, I8) { check_dtype<int8_t>(*runner, DType::I8, kIntegerOps); }
TEST_P(KernelRun, I16) { check_dtype<int16_t>(*runner, DType::I16, kIntegerOps); }
TEST_P(KernelRun, I32) { check_dtype<int32_t>(*runner, DType::I32, kIntegerOps); }
TEST_P(KernelRun, I64) { check_dtype<int64_t>(*runner, DType::I64, kIntegerOps); }
TEST_P(KernelRun, U8) { check_dtype<uint8_t>(*runner, DType::U8, kIntegerOps); }
TEST_P(KernelRun, U32) { check_dtype<uint32_t>(*runner, DType::U32, kIntegerOps); }
TEST_P(KernelRun, U64) { check_dtype<uint64_t>(*runner, DType::U64, kIntegerOps); }

template <class To, class From>
To reference_cast(From v) {
  if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using L = std::numeric_limits<To>;
    if (std::isnan(v)) return 0;
    const long double t = std::trunc(static_cast<long double>(v));
    return t < static_cast<long double>(L::min())   ? L::min()
           : t > static_cast<long double>(L::max()) ? L::max()
                                                    : static_cast<To>(t);
  } else {
    return static_cast<To>(v);
  }
}

template <class From, class To>
void compare_cast(const Run<From>& run, size_t k, DType from, DType to, int lanes) {
  compare<To>(run.results[k], run.a.size(), run.what(Op::Cast, from, lanes) + " to " + std::string(name(to)),
              [&](size_t i) { return reference_cast<To, From>(static_cast<From>(run.a[i])); });
}

template <class From>
void check_casts(KernelRunner& runner, DType from) {
  const DType to[] = {DType::Bool, DType::I8,  DType::U8,  DType::U16, DType::I32,
                      DType::U32,  DType::I64, DType::U64, DType::F32, DType::F64};
  std::vector<OpCase> cases;
  for (const DType d : to) cases.push_back({Op::Cast, d});
  for (const int lanes : runner.is_slow() ? std::vector{4} : std::vector{1, 8}) {
    const Run<From> run(runner, cases, from, lanes);
    compare_cast<From, bool>(run, 0, from, to[0], lanes);
    compare_cast<From, int8_t>(run, 1, from, to[1], lanes);
    compare_cast<From, uint8_t>(run, 2, from, to[2], lanes);
    compare_cast<From, uint16_t>(run, 3, from, to[3], lanes);
    compare_cast<From, int32_t>(run, 4, from, to[4], lanes);
    compare_cast<From, uint32_t>(run, 5, from, to[5], lanes);
    compare_cast<From, int64_t>(run, 6, from, to[6], lanes);
    compare_cast<From, uint64_t>(run, 7, from, to[7], lanes);
    compare_cast<From, float>(run, 8, from, to[8], lanes);
    compare_cast<From, double>(run, 9, from, to[9], lanes);
  }
}

TEST_P(KernelRun, CastsOfFloats) {
  check_casts<float>(*runner, DType::F32);
  check_casts<double>(*runner, DType::F64);
}
TEST_P(KernelRun, CastsOfIntegers) {
  check_casts<bool>(*runner, DType::Bool);
  check_casts<int8_t>(*runner, DType::I8);
  check_casts<uint8_t>(*runner, DType::U8);
  check_casts<int32_t>(*runner, DType::I32);
  check_casts<uint32_t>(*runner, DType::U32);
  check_casts<int64_t>(*runner, DType::I64);
  check_casts<uint64_t>(*runner, DType::U64);
}

TEST_P(KernelRun, HalvesConvert) {
  if (!runner->has_half_casts()) GTEST_SKIP() << "no half casts";
  std::vector<uint16_t> h(65536), back(65536);
  std::iota(h.begin(), h.end(), uint16_t{0});
  std::vector<float> f(65536);
  runner->run(ops_kernel({{Op::Cast, DType::F32}}, DType::F16, 8), {bytes_of(h), bytes_of(h), bytes_of(h), bytes_of(f)},
              {}, 0, 8192);
  runner->run(ops_kernel({{Op::Cast, DType::F16}}, DType::F32, 8),
              {bytes_of(f), bytes_of(f), bytes_of(f), bytes_of(back)}, {}, 0, 8192);
  EXPECT_EQ(f[0x3c00], 1.0f);
  EXPECT_EQ(f[0x0001], std::ldexp(1.0f, -24));
  EXPECT_EQ(f[0xfc00], -HUGE_VALF);
  for (size_t i = 0; i < h.size(); ++i) {
    if (!std::isnan(f[i])) {
      ASSERT_EQ(back[i], h[i]) << f[i];
    }
  }
}

TEST_P(KernelRun, Selects) {
  std::vector<uint8_t> c = {0, 1, 1, 0};
  std::vector<float> a = {1, 2, 3, 4}, b = {-1, NAN, -3, -4}, y(4);
  runner->run(select_kernel(), {bytes_of(c), bytes_of(a), bytes_of(b), bytes_of(y)}, {}, 0, 1);
  EXPECT_EQ(y, (std::vector<float>{-1, 2, 3, -4}));
}

TEST_P(KernelRun, ReluIsExactAndKeepsNaN) {
  Builder b("relu");
  const int x = b.add_buffer({"x", DType::F32, false, 4}), y = b.add_buffer({"y", DType::F32, true, 4});
  const Type t = vector_of(DType::F32, 4);
  b.store(b.buffer(y), b.max(b.load(t, b.buffer(x)), b.zero(t)));
  std::vector<float> from = {-1, NAN, 2, -HUGE_VALF}, to(4);
  runner->run(b.finish(), {bytes_of(from), bytes_of(to)}, {}, 0, 1);
  EXPECT_EQ(to[0], 0);
  EXPECT_TRUE(std::isnan(to[1]));
  EXPECT_EQ(to[2], 2);
  EXPECT_EQ(to[3], 0);
}

TEST_P(KernelRun, ConstantsKeepTheirBits) {
  const uint32_t bits[] = {0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 1, 0x3dcccccd, 0x7f7fffff, 0xffc00123};
  Builder b("constants");
  const int y = b.add_buffer({"y", DType::F32, true, 4});
  for (int k = 0; k < 8; ++k) b.store(b.ptr_add(b.buffer(y), 4 * k), b.constant_bits(scalar(DType::F32), bits[k]));
  std::vector<uint32_t> to(8);
  runner->run(b.finish(), {bytes_of(to)}, {}, 0, 1);
  EXPECT_EQ(to, std::vector<uint32_t>(std::begin(bits), std::end(bits)));
}

}  // namespace
}  // namespace frit::testing
