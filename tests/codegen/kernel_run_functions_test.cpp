// The definitions of functions give the same bits on every target with fma, and without it on a target that has none:
// what is printed computes what the definition says.
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "codegen/expr_kernel.h"
#include "codegen/functions/functions.h"
#include "codegen/kernel_runner.h"
#include "codegen/sample_kernels.h"
#include "opencl_runner.h"

namespace frit::testing {
namespace {

constexpr int kTiles = 96;

// Bits of operands: special values first, then values near one, then any bits.
std::vector<uint64_t> samples(DType d, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> list;
  if (d == DType::F32)
    for (const float f : {0.0F, -0.0F, 1.0F, -1.0F, 0.5F, HUGE_VALF, -HUGE_VALF, NAN, 1e-40F, 88.5F, -104.0F, 3.4e38F})
      list.push_back(std::bit_cast<uint32_t>(f));
  if (!is_float(d))
    for (const int64_t n : {0, 1, -1, 2, -7, 100}) list.push_back(static_cast<uint64_t>(n));
  if (is_signed(d)) list.push_back(uint64_t{1} << (8 * size_bytes(d) - 1));
  std::shuffle(list.begin(), list.end(), random);
  while (list.size() < kLanes * kTiles) {
    const uint64_t bits = random();
    const bool near_one = is_float(d) && list.size() % 2 == 0;
    const double small = (static_cast<double>(bits >> 11) * 0x1p-53 - 0.5) * 40;
    if (near_one && d == DType::F32) {
      list.push_back(std::bit_cast<uint32_t>(static_cast<float>(small)));
    } else if (near_one && d == DType::F64) {
      list.push_back(std::bit_cast<uint64_t>(small));
    } else {
      list.push_back(list.size() % 3 || is_float(d) ? bits : bits % 16);
    }
  }
  return list;
}

std::vector<std::byte> packed(const std::vector<uint64_t>& bits, DType d) {
  const auto size = static_cast<size_t>(size_bytes(d));
  std::vector<std::byte> bytes(bits.size() * size);
  for (size_t i = 0; i < bits.size(); ++i) {
    const uint64_t value = d == DType::Bool ? bits[i] & 1 : bits[i];
    std::memcpy(bytes.data() + i * size, &value, size);
  }
  return bytes;
}

std::vector<std::byte> run(KernelRunner& runner, const Kernel& k, DType from, DType to) {
  std::vector<std::byte> x0 = packed(samples(from, 1), from), x1 = packed(samples(from, 2), from);
  std::vector<std::byte> y(static_cast<size_t>(kLanes * kTiles * size_bytes(to)));
  runner.run(k, {x0, x1, y}, {}, 0, kTiles);
  return y;
}

bool is_nan(DType d, const std::byte* at) {
  if (d == DType::F64) {
    double v;
    std::memcpy(&v, at, 8);
    return std::isnan(v);
  }
  if (d == DType::F32) {
    float v;
    std::memcpy(&v, at, 4);
    return std::isnan(v);
  }
  uint16_t h;
  std::memcpy(&h, at, 2);
  return (d == DType::F16 && (h & 0x7fff) > 0x7c00) || (d == DType::BF16 && (h & 0x7fff) > 0x7f80);
}

TargetFacts facts_of(const KernelRunner& r) { return {r.has_fma(), r.has_rounding(), r.has_half_casts()}; }

void check(KernelRunner& runner, const Expr& written, DType from) {
  const Expr e = expand_functions(written, facts_of(runner));
  const Kernel k = kernel_of(e, from);
  CheckedRunner judge;
  const auto expected = run(judge, k, from, e.dtype()), got = run(runner, k, from, e.dtype());
  const auto size = static_cast<size_t>(size_bytes(e.dtype()));
  for (size_t i = 0; i < kLanes * kTiles; ++i) {
    const std::byte *a = expected.data() + i * size, *b = got.data() + i * size;
    if (is_float(e.dtype()) && is_nan(e.dtype(), a) && is_nan(e.dtype(), b)) continue;
    ASSERT_EQ(std::memcmp(a, b, size), 0) << to_string(written) << ", sample " << i << " of operands x0 "
                                          << samples(from, 1)[i] << ", x1 " << samples(from, 2)[i];
  }
}

class FunctionRun : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string target = GetParam();
    if (target == "opencl") {
      runner = make_opencl_runner();
    } else if (can_run(target)) {
      runner = std::make_unique<CpuRunner>(target);
    }
    if (!runner) GTEST_SKIP() << "this machine has no " << target;
  }
  // OpenCL compiles slowly: every `nth` row.
  bool takes(size_t row, size_t nth) const { return !runner->is_slow() || row % nth == 0; }
  std::unique_ptr<KernelRunner> runner;
};
INSTANTIATE_TEST_SUITE_P(Targets, FunctionRun, ::testing::Values("sse2", "avx2", "avx512", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(FunctionRun, FloatFunctions) {
  constexpr Op kUnary[] = {Op::Exp,     Op::Exp2,     Op::Expm1,      Op::Log,   Op::Log2,  Op::Log1p, Op::Erf,
                           Op::Sigmoid, Op::Softplus, Op::Sin,        Op::Cos,   Op::Tan,   Op::Asin,  Op::Acos,
                           Op::Atan,    Op::Sinh,     Op::Cosh,       Op::Tanh,  Op::Asinh, Op::Acosh, Op::Atanh,
                           Op::Sign,    Op::Rsqrt,    Op::Reciprocal, Op::Floor, Op::Ceil,  Op::Trunc, Op::Round,
                           Op::IsNan,   Op::IsInf,    Op::IsFinite};
  constexpr Op kBinary[] = {Op::Pow,      Op::Atan2,    Op::LogAddExp, Op::FloorDiv, Op::Mod,
                            Op::TruncDiv, Op::TruncMod, Op::Min,       Op::Max};
  size_t row = 0;
  for (const Op op : kUnary)
    if (takes(row++, 7)) check(*runner, unary(op, operand(DType::F32, 0)), DType::F32);
  for (const Op op : kBinary)
    if (takes(row++, 7)) check(*runner, binary(op, operand(DType::F32, 0), operand(DType::F32, 1)), DType::F32);
}

TEST_P(FunctionRun, IntegersAreTotal) {
  constexpr Op kBinary[] = {Op::FloorDiv, Op::Mod, Op::TruncDiv, Op::TruncMod, Op::CeilDiv, Op::Shl, Op::Shr, Op::Pow};
  size_t row = 0;
  for (const DType d : {DType::I8, DType::I32, DType::I64, DType::U8, DType::U32, DType::U64})
    for (const Op op : kBinary)
      if (takes(row++, 11)) check(*runner, binary(op, operand(d, 0), operand(d, 1)), d);
}

TEST_P(FunctionRun, Casts) {
  constexpr DType kAll[] = {DType::Bool, DType::I8,  DType::I16, DType::I32,  DType::I64, DType::U8, DType::U16,
                            DType::U32,  DType::U64, DType::F16, DType::BF16, DType::F32, DType::F64};
  size_t row = 0;
  for (const DType from : kAll)
    for (const DType to : kAll)
      if (from != to && takes(row++, 23)) check(*runner, cast(operand(from, 0), to), from);
}

}  // namespace
}  // namespace frit::testing
