// Reduction by pi/2, after Payne and Hanek, of f32 and f64, exact however large x is.
#include <array>
#include <vector>

#include "codegen/functions/definitions.h"

namespace frit::functions {
namespace {

Expr u32(int64_t value) { return constant_int(DType::U32, value); }
Expr word(const Expr& x) { return cast(x, DType::U32); }
Expr wide(const Expr& x) { return cast(x, DType::U64); }

// 2/pi in binary, behind 32 zeros.
constexpr uint32_t kTwoOverPiF32[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                      0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};

// 96 bits of 2/pi from bit `at` of the table (0 to 159): three words, the highest first.
std::array<Expr, 3> window_f32(const Expr& at) {
  const Expr index = shift_right(at, 5), shift = bits_and(at, 31), rest = bits_and(unary(Op::BitNot, at), 31);
  std::array<Expr, 4> words;
  for (size_t j = 0; j < 4; ++j) {
    words[j] = u32(kTwoOverPiF32[j + 4]);
    for (int k = 3; k >= 0; --k)
      words[j] = select(less(index, u32(k + 1)), u32(kTwoOverPiF32[j + static_cast<size_t>(k)]), words[j]);
  }
  const auto joined = [&](size_t j) {
    return bits_or(binary(Op::Shl, words[j], shift), binary(Op::Shr, shift_right(words[j + 1], 1), rest));
  };
  return {joined(0), joined(1), joined(2)};
}

// Payne and Hanek in integers: |x| = m * 2^k, and of the product m * 2^k * 2/pi only what is below 4 is formed, to
// 2^-62. No f32 is nearer to a multiple of pi/2 than 2^-31, so 30 bits of the remainder are right at the least. The
// same for all |x| >= pi/4, however large; below x is its own remainder.
Quadrant reduce_f32(const TargetFacts& facts, const Expr& magnitude) {
  const Expr bits = bitcast(magnitude, DType::U32);
  const Expr m = wide(bits_or(bits_and(bits, 0x7fffff), u32(0x800000)));
  const auto [high, middle, low] = window_f32(maximum(shift_right(bits, 23), u32(120)) - u32(120));
  const Expr turns = shift_left(m * wide(high), 32) + m * wide(middle) + shift_right(m * wide(low), 32);
  const Expr q = word(shift_right(turns, 62)) + bits_and(word(shift_right(turns, 61)), 1);
  // The fraction as a signed number of 64 bits; its size as a float of 24 bits and another for the rest.
  const Expr fraction = shift_left(turns, 2);
  const Expr negative = less(bitcast(word(shift_right(fraction, 32)), DType::I32), i32(0));
  const Expr size = select(negative, integer(fraction, 0) - fraction, fraction);
  const Expr top = bits_and(word(shift_right(size, 32)), 0xffffff00);
  const Expr rest = bits_and(word(shift_right(size, 9)), 0x7fffffff);
  const auto as_float = [](const Expr& n) { return cast(bitcast(n, DType::I32), DType::F32); };
  const double half_pi = 1.5707963267948966, unit = 0x1p-32 * half_pi;
  const double unit_low = unit - static_cast<double>(static_cast<float>(unit));
  const Expr tail = multiply_add(facts, as_float(top), f32(unit_low), as_float(rest) * f32(0x1p-55 * half_pi));
  const Expr r = multiply_add(facts, as_float(top), f32(unit), tail);
  const Expr small = less(magnitude, f32(0.785398));
  return {select(small, u32(0), q), select(small, magnitude, select(negative, -r, r))};
}

// ---- f64: the same with words of 64 bits.

Expr u64(uint64_t value) { return constant_int(DType::U64, static_cast<int64_t>(value)); }

// 2/pi in binary, behind 64 zeros.
constexpr uint64_t kTwoOverPiF64[] = {0,
                                      0xa2f9836e4e441529,
                                      0xfc2757d1f534ddc0,
                                      0xdb6295993c439041,
                                      0xfe5163abdebbc561,
                                      0xb7246e3a424dd2e0,
                                      0x06492eea09d1921c,
                                      0xfe1deb1cb129a73e,
                                      0xe88235f52ebb4484,
                                      0xe99c7026b45f7e41,
                                      0x3991d639835339f4,
                                      0x9c845f8bbdf9283b,
                                      0x1ff897ffde05980f,
                                      0xef2f118b5a0a6d1f,
                                      0x6d367ecf27cb09b7,
                                      0x4f463f669e5fea2d,
                                      0x7527bac7ebe5f17b,
                                      0x3d0739f78a5292ea,
                                      0x6bfb5fb11f8d5d08,
                                      0x56033046fc7b6bab};

// 192 bits of 2/pi from bit `at` of the table (0 to 1086). The words move into place by one bit of the index a time.
std::array<Expr, 3> window_f64(const Expr& at) {
  const Expr index = shift_right(at, 6), shift = bits_and(at, 63), rest = bits_and(unary(Op::BitNot, at), 63);
  std::vector<Expr> words;
  for (const uint64_t word : kTwoOverPiF64) words.push_back(u64(word));
  for (size_t move = 16; move > 0; move /= 2) {
    const Expr moves = not_equal(bits_and(index, static_cast<int64_t>(move)), u64(0));
    std::vector<Expr> moved;
    for (size_t i = 0; i < 3 + move && i < words.size(); ++i)
      moved.push_back(i + move < words.size() ? select(moves, words[i + move], words[i]) : words[i]);
    words = std::move(moved);
  }
  const auto joined = [&](size_t j) {
    return bits_or(binary(Op::Shl, words[j], shift), binary(Op::Shr, shift_right(words[j + 1], 1), rest));
  };
  return {joined(0), joined(1), joined(2)};
}

// The upper 64 bits of a product.
Expr upper_product(const Expr& a, const Expr& b) {
  const auto low = [](const Expr& n) { return bits_and(n, 0xffffffff); };
  const auto high = [](const Expr& n) { return shift_right(n, 32); };
  const Expr lh = low(a) * high(b), hl = high(a) * low(b);
  const Expr middle = high(low(a) * low(b)) + low(lh) + low(hl);
  return high(a) * high(b) + high(lh) + high(hl) + high(middle);
}

// The product below 4 to 2^-126; no f64 is nearer to a multiple of pi/2 than 2^-62.
Quadrant reduce_f64(const TargetFacts& facts, const Expr& magnitude) {
  const Expr bits = bitcast(magnitude, DType::U64);
  const Expr m = bits_or(bits_and(bits, 0xfffffffffffff), u64(uint64_t{1} << 52));
  const auto [high, middle, low] = window_f64(maximum(shift_right(bits, 52), u64(1013)) - u64(1013));
  const Expr upper = upper_product(m, low), lower = m * middle + upper;
  const Expr carry = select(less(lower, upper), u64(1), u64(0));
  const Expr turns = m * high + upper_product(m, middle) + carry;
  const Expr q = word(shift_right(turns, 62)) + bits_and(word(shift_right(turns, 61)), 1);
  const Expr f1 = bits_or(shift_left(turns, 2), shift_right(lower, 62)), f0 = shift_left(lower, 2);
  const Expr negative = less(bitcast(f1, DType::I64), constant_int(DType::I64, 0));
  const Expr borrow = select(equal(f0, u64(0)), u64(1), u64(0));
  const Expr s1 = select(negative, unary(Op::BitNot, f1) + borrow, f1), s0 = select(negative, u64(0) - f0, f0);
  const Expr top = cast(bits_and(s1, ~int64_t{0x7ff}), DType::F64);
  const Expr rest = cast(bits_or(shift_left(bits_and(s1, 0x7ff), 53), shift_right(s0, 11)), DType::F64);
  const double half_pi = 1.5707963267948966, half_pi_low = 6.123233995736766e-17;
  const Expr tail = multiply_add(facts, top, f64(0x1p-64 * half_pi_low), rest * f64(0x1p-117 * half_pi));
  const Expr r = multiply_add(facts, top, f64(0x1p-64 * half_pi), tail);
  const Expr small = less(magnitude, f64(0.7853981633974483));
  return {select(small, u32(0), q), select(small, magnitude, select(negative, -r, r))};
}

}  // namespace

Quadrant reduce_by_half_pi(const TargetFacts& facts, const Expr& x) {
  return x.dtype() == DType::F64 ? reduce_f64(facts, x) : reduce_f32(facts, x);
}

}  // namespace frit::functions
