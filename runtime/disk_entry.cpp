#include "runtime/disk_entry.h"

#include <cstring>

namespace frit::runtime {
namespace {

constexpr char kMagic[8] = {'F', 'R', 'I', 'T', 'E', 'N', 'T', '\n'};
constexpr uint32_t kVersion = 1;

struct Head {
  char magic[8];
  uint32_t version, kind_bytes;
  uint64_t payload_bytes;
  Digest key, checksum;
};

Digest checksum_of(std::string_view kind, const Digest& key, std::string_view payload) {
  const std::string name = key.hex();
  const std::string_view fields[] = {kind, name, payload};
  return digest_of_fields(fields);
}

}  // namespace

std::string entry_front(std::string_view kind, const Digest& key, std::string_view payload) {
  Head head = {};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  head.version = kVersion;
  head.kind_bytes = static_cast<uint32_t>(kind.size());
  head.payload_bytes = payload.size();
  head.key = key;
  head.checksum = checksum_of(kind, key, payload);
  std::string front(reinterpret_cast<const char*>(&head), sizeof head);
  return front += kind;
}

std::optional<DiskEntry> decode_entry(std::string_view file) {
  Head head = {};
  if (file.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, file.data(), sizeof head);
  file.remove_prefix(sizeof head);
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0 || head.version != kVersion) return std::nullopt;
  if (head.kind_bytes > file.size() || head.payload_bytes != file.size() - head.kind_bytes) return std::nullopt;
  const DiskEntry entry{file.substr(0, head.kind_bytes), head.key, file.substr(head.kind_bytes)};
  if (checksum_of(entry.kind, entry.key, entry.payload) != head.checksum) return std::nullopt;
  return entry;
}

}  // namespace frit::runtime
