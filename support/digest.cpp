#include "support/digest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <memory>

namespace frit {
namespace {

Digest from_xxh(XXH128_hash_t hash) { return {hash.high64, hash.low64}; }

bool parse_half(std::string_view text, uint64_t& value) {
  value = 0;
  for (const char c : text) {
    int digit = 0;
    if (c >= '0' && c <= '9')
      digit = c - '0';
    else if (c >= 'a' && c <= 'f')
      digit = c - 'a' + 10;
    else
      return false;
    value = value << 4 | static_cast<uint64_t>(digit);
  }
  return true;
}

}  // namespace

std::string Digest::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

std::optional<Digest> Digest::from_hex(std::string_view text) {
  Digest digest;
  if (text.size() != 32) return std::nullopt;
  if (!parse_half(text.substr(0, 16), digest.high) || !parse_half(text.substr(16), digest.low)) return std::nullopt;
  return digest;
}

Digest digest_of(std::string_view bytes) { return from_xxh(XXH3_128bits(bytes.data(), bytes.size())); }

Digest digest_of_fields(std::span<const std::string_view> fields) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  for (const std::string_view field : fields) {
    const uint64_t size = field.size();
    XXH3_128bits_update(state.get(), &size, sizeof size);
    XXH3_128bits_update(state.get(), field.data(), field.size());
  }
  return from_xxh(XXH3_128bits_digest(state.get()));
}

}  // namespace frit
