#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "support/digest.h"

namespace frit::runtime {

/// One entry as it lies in a file: head (magic, version, lengths, key, checksum of all), kind, payload.
struct DiskEntry {
  std::string_view kind;
  Digest key;
  std::string_view payload;
};

/// What stands before the payload.
std::string entry_front(std::string_view kind, const Digest& key, std::string_view payload);

/// Empty unless every byte is as it was written; the views point into `file`.
std::optional<DiskEntry> decode_entry(std::string_view file);

}  // namespace frit::runtime
