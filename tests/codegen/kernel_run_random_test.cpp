#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "codegen/kernel_runner.h"
#include "codegen/sample_kernels.h"
#include "opencl_runner.h"

namespace frit::testing {
namespace {

// A random kernel: y[tile] from x[tile], with loops and branches that carry values of every kind. Only what no
// operation's promise forbids; bits of a float are never looked at, since the sign and payload of a NaN are nobody's
// promise.
class RandomKernel {
 public:
  explicit RandomKernel(uint32_t seed) : random_(seed), b_("random " + std::to_string(seed)) {}

  Kernel make() {
    const int x = b_.add_buffer({"x", DType::F32, false, 4}), y = b_.add_buffer({"y", DType::F32, true, 4});
    const Value n = b_.dim(b_.add_dim("n"));
    const auto tiles = b_.begin_loop(b_.begin(), b_.end(), b_.i64(1));
    const Value at = b_.mul(tiles.i, b_.i64(4 * kLanes));
    pool_ = {n, tiles.i, b_.load(vec(DType::F32), b_.ptr_add(b_.buffer(x), at)), b_.i64(3), b_.f32(0.75)};
    block(0);
    const Value floats = pick(vec(DType::F32));
    const Value from_integers = b_.cast(pick(vec(DType::I32)), DType::F32);
    const Value from_flags = b_.cast(pick(vec(DType::Bool)), DType::F32);
    const Value sum = b_.add(from_integers, from_flags);
    const Value chosen = b_.select(pick(vec(DType::Bool)), floats, sum);
    b_.store(b_.ptr_add(b_.buffer(y), at), chosen);
    b_.end_loop();
    return b_.finish();
  }

  static constexpr int kLanes = 4;

 private:
  static Type vec(DType d) { return vector_of(d, kLanes); }
  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  Type any_type() {
    const Type types[] = {vec(DType::F32),    vec(DType::I32),    vec(DType::Bool),   vec(DType::I64),
                          scalar(DType::F32), scalar(DType::I64), scalar(DType::Bool)};
    return types[below(static_cast<int>(std::size(types)))];
  }

  // A value of the pool, or one made for the purpose.
  Value pick(Type t) {
    std::vector<Value> fitting;
    for (const Value v : pool_)
      if (b_.type(v) == t) fitting.push_back(v);
    if (!fitting.empty() && below(8) != 0) return fitting[static_cast<size_t>(below(static_cast<int>(fitting.size())))];
    if (t.dtype == DType::F32) return b_.constant(t, (below(41) - 20) * 0.37);
    return b_.integer(t, below(20) - 10);
  }

  void block(int nesting) {
    const int count = 4 + below(10);
    for (int n = 0; n < count; ++n) {
      const int kind = below(nesting < 3 ? 12 : 10);
      if (kind == 10) {
        loop(nesting);
      } else if (kind == 11) {
        branch(nesting);
      } else {
        pool_.push_back(instruction());
      }
    }
  }

  void loop(int nesting) {
    const std::vector<Value> outer = pool_;
    std::vector<Value> inits, yields;
    for (int n = below(3); n >= 0; --n) inits.push_back(pick(any_type()));
    const bool once = below(2) == 0;
    const auto loop =
        b_.begin_loop(b_.i64(0), b_.i64(once ? 1 + below(4) : below(4)), b_.i64(1 + below(2)), inits, once);
    pool_.push_back(loop.i);
    pool_.insert(pool_.end(), loop.carried.begin(), loop.carried.end());
    block(nesting + 1);
    for (const Value v : inits) yields.push_back(pick(b_.type(v)));
    const auto results = b_.end_loop(yields);
    pool_ = outer;
    pool_.insert(pool_.end(), results.begin(), results.end());
  }

  void branch(int nesting) {
    const std::vector<Value> outer = pool_;
    std::vector<Type> types;
    for (int n = below(3); n >= 0; --n) types.push_back(any_type());
    const auto yields = [&] {
      std::vector<Value> list;
      for (const Type t : types) list.push_back(pick(t));
      return list;
    };
    b_.begin_if(pick(scalar(DType::Bool)));
    block(nesting + 1);
    b_.begin_else(yields());
    pool_ = outer;
    block(nesting + 1);
    const auto results = b_.end_if(yields());
    pool_ = outer;
    pool_.insert(pool_.end(), results.begin(), results.end());
  }

  Value two(Op op, Type t) {
    const Value a = pick(t), c = pick(t);
    return b_.arith(op, {a, c});
  }

  Value instruction() {
    const Type t = any_type();
    const bool flag = t.dtype == DType::Bool, real = t.dtype == DType::F32;
    switch (below(10)) {
      case 0: {
        const Value c = pick(t.with_dtype(DType::Bool)), a = pick(t), e = pick(t);
        return b_.select(c, a, e);
      }
      case 1: {
        constexpr DType kTo[] = {DType::F32, DType::I32, DType::Bool, DType::I64};
        return b_.cast(pick(t), kTo[below(t.is_vector() ? 4 : 1)]);
      }
      case 2: {
        constexpr Op kTests[] = {Op::Eq, Op::Ne, Op::Lt, Op::Le};
        return two(kTests[below(flag ? 2 : 4)], t);
      }
      case 3: {
        if (!t.is_vector()) return b_.splat(pick(t), kLanes);
        const Value a = pick(t), c = pick(t);
        return b_.shuffle(a, c, {below(8), below(8), below(8), below(8)});
      }
      case 4:
        return t.is_vector() ? b_.extract(pick(t), below(kLanes)) : b_.splat(pick(t), kLanes);
      case 5: {
        if (!t.is_vector()) return b_.splat(pick(t), kLanes);
        const Value v = pick(t), e = pick(t.with_lanes(1));
        return b_.insert(v, e, below(kLanes));
      }
      default:
        break;
    }
    if (flag) {
      constexpr Op kOps[] = {Op::And, Op::Or, Op::Xor};
      return below(4) == 0 ? b_.arith(Op::Not, {pick(t)}) : two(kOps[below(3)], t);
    }
    if (real) {
      constexpr Op kOps[] = {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Min, Op::Max};
      constexpr Op kUnary[] = {Op::Neg, Op::Abs, Op::Sqrt};
      return below(4) == 0 ? b_.arith(kUnary[below(3)], {pick(t)}) : two(kOps[below(6)], t);
    }
    constexpr Op kOps[] = {Op::Add, Op::Sub, Op::Mul, Op::Min, Op::Max, Op::And, Op::Or, Op::Xor};
    constexpr Op kByConstant[] = {Op::TruncDiv, Op::TruncMod, Op::Shl, Op::Shr};
    constexpr Op kUnary[] = {Op::Neg, Op::Abs, Op::BitNot};
    const int kind = below(4);
    if (kind == 0) return b_.arith(kUnary[below(3)], {pick(t)});
    if (kind > 1) return two(kOps[below(8)], t);
    const Value a = pick(t), c = b_.integer(t, 1 + below(7));
    return b_.arith(kByConstant[below(4)], {a, c});
  }

  std::mt19937 random_;
  Builder b_;
  std::vector<Value> pool_;
};

bool same(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

std::vector<float> run(KernelRunner& runner, const Kernel& k) {
  std::vector<float> x(3 * RandomKernel::kLanes), y(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 0.3f - 1.5f;
  x[5] = NAN;
  x[6] = HUGE_VALF;
  runner.run(k, {bytes_of(x), bytes_of(y)}, {5}, 0, 3, 0, 1);
  return y;
}

void check_seeds(KernelRunner& runner, uint32_t first, uint32_t count) {
  CheckedRunner judge;
  for (uint32_t seed = first; seed < first + count; ++seed) {
    const Kernel k = RandomKernel(seed).make();
    const auto expected = run(judge, k), got = run(runner, k);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_TRUE(same(got[i], expected[i]))
          << "seed " << seed << ", element " << i << ": " << got[i] << ", expected " << expected[i] << "\n"
          << to_string(k);
  }
}

TEST(KernelRunRandom, CpuAgreesWithTheDefinition) {
  for (const char* level : {"sse2", "avx2", "avx512"}) {
    if (!can_run(level)) continue;
    CpuRunner runner(level);
    check_seeds(runner, 1, 100);
  }
}

TEST(KernelRunRandom, OpenClAgreesWithTheDefinition) {
  const auto runner = make_opencl_runner();
  if (!runner) GTEST_SKIP() << "this machine has no opencl";
  check_seeds(*runner, 1000, 6);
}

TEST(KernelRunRandom, TextsReadBack) {
  for (uint32_t seed = 1; seed < 100; ++seed) {
    const Kernel k = RandomKernel(seed).make();
    const std::string text = to_string(k);
    const Kernel read = kernel::parse_kernel(text);
    EXPECT_EQ(to_string(read), text);
    CheckedRunner judge;
    const auto a = run(judge, k), b = run(judge, read);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same(a[i], b[i])) << text;
  }
}

}  // namespace
}  // namespace frit::testing
