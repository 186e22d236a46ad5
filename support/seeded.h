#pragma once
#include <cmath>
#include <cstdint>
#include <string_view>

namespace frit::seeded {

/// The generator behind every stored reference number (docs/references.md): a counter, no state, the same bits
/// everywhere. Element i of the tensor `name` is
///     u(name, i) = (mix64(fnv1a64(name) + (i + 1) * 0x9e3779b97f4a7c15) >> 40) * 2^-24      in [0, 1)
/// source   SplitMix64 (Steele, Lea, Flood 2014) and FNV-1a
constexpr uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr uint64_t fnv1a64(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

constexpr uint64_t bits(uint64_t seed, uint64_t i) { return mix64(seed + (i + 1) * 0x9e3779b97f4a7c15u); }

/// Exact in float32: 24 bits.
constexpr float uniform(uint64_t seed, uint64_t i) { return static_cast<float>(bits(seed, i) >> 40) * 0x1p-24f; }

/// Element i of an input: u * scale + offset, rounded after each step.
constexpr float input_value(std::string_view name, uint64_t i, float scale = 1, float offset = 0) {
  const float scaled = uniform(fnv1a64(name), i) * scale;
  return scaled + offset;
}

/// Element i of a weight with `rank` axes and `fan` elements per first axis: variance 2/fan for matrices and filters,
///     w = (2u - 1) * float32(sqrt(6 / fan))        and u/2 + 1/2 for vectors, which scale and shift.
inline float weight_value(uint64_t seed, uint64_t i, size_t rank, double fan) {
  const float u = uniform(seed, i);
  return rank > 1 ? (2 * u - 1) * static_cast<float>(std::sqrt(6 / fan)) : 0.5f + 0.5f * u;
}

/// Positions at which a stored reference was sampled: k-th of a tensor with `count` elements.
constexpr uint64_t sample_position(uint64_t k, uint64_t count) { return mix64(k + 1) % count; }

}  // namespace frit::seeded
