#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace frit {

/// 128 bits of XXH3: names contents in caches. Not a defence against a malicious author of contents.
struct Digest {
  uint64_t high = 0, low = 0;

  auto operator<=>(const Digest&) const = default;
  bool is_zero() const { return (high | low) == 0; }
  std::string hex() const;  // 32 lower-case digits
  static std::optional<Digest> from_hex(std::string_view text);
};

Digest digest_of(std::string_view bytes);

/// Digest of several fields in order. The lengths are part of it, so that ("ab", "c") differs from ("a", "bc").
Digest digest_of_fields(std::span<const std::string_view> fields);

}  // namespace frit

template <>
struct std::hash<frit::Digest> {
  size_t operator()(const frit::Digest& digest) const noexcept {
    return digest.low ^ (digest.high * 0x9e3779b97f4a7c15u);
  }
};
