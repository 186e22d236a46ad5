#include "ir/lang/random.h"

#include <numbers>

namespace frit::lang {
namespace {

Expr u32(uint32_t value) { return constant_int(DType::U32, static_cast<int64_t>(value)); }
Expr u64(uint64_t value) { return constant_int(DType::U64, static_cast<int64_t>(value)); }
Expr low(const Expr& wide) { return cast(wide, DType::U32); }
Expr high(const Expr& wide) { return cast(binary(Op::Shr, wide, u64(32)), DType::U32); }
Expr exclusive_or(const Expr& a, const Expr& b) { return binary(Op::Xor, a, b); }

Expr fraction(const Expr& word) {
  return cast(binary(Op::Shr, word, u32(8)), DType::F32) * constant(DType::F32, 0x1p-24);
}

}  // namespace

std::array<Expr, 4> philox(const Expr& seed, const Expr& block) {
  const Expr wide = cast(block, DType::U64);
  std::array<Expr, 4> c = {low(wide), high(wide), u32(0), u32(0)};
  Expr k0 = low(seed), k1 = high(seed);
  for (int round = 0; round < 10; ++round) {
    const Expr a = cast(c[0], DType::U64) * u64(0xD2511F53);
    const Expr b = cast(c[2], DType::U64) * u64(0xCD9E8D57);
    c = {exclusive_or(exclusive_or(high(b), c[1]), k0), low(b), exclusive_or(exclusive_or(high(a), c[3]), k1), low(a)};
    k0 = k0 + u32(0x9E3779B9);
    k1 = k1 + u32(0xBB67AE85);
  }
  return c;
}

Expr uniform(const Expr& seed, const Expr& counter) {
  const Expr four = index_constant(4);
  const std::array<Expr, 4> words = philox(seed, binary(Op::FloorDiv, counter, four));
  const Expr at = binary(Op::Mod, counter, four);
  Expr word = words[3];
  for (int k = 2; k >= 0; --k)
    word = select(binary(Op::Eq, at, index_constant(k)), words[static_cast<size_t>(k)], word);
  return fraction(word);
}

Expr normal(const Expr& seed, const Expr& counter) {
  // Both uniforms are words of one block: 2*counter is even.
  const Expr two = index_constant(2);
  const std::array<Expr, 4> words = philox(seed, binary(Op::FloorDiv, counter, two));
  const Expr first = binary(Op::Eq, binary(Op::Mod, counter, two), index_constant(0));
  const Expr u = fraction(select(first, words[0], words[2]));
  const Expr v = fraction(select(first, words[1], words[3]));
  const auto f = [](double value) { return constant(DType::F32, value); };
  const Expr radius = unary(Op::Sqrt, f(-2) * unary(Op::Log, f(1) - u));
  return radius * unary(Op::Cos, f(2 * std::numbers::pi) * v);
}

}  // namespace frit::lang
