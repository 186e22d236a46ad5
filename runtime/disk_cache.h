#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/digest.h"

namespace frit::runtime {

/// Where entries live and how many bytes they may take.
struct DiskCacheOptions {
  std::string folder;        // empty: no disk cache
  uint64_t limit_bytes = 0;  // 0: no disk cache

  /// folder  $FRIT_CACHE_DIR, else $XDG_CACHE_HOME/frit, else $HOME/.cache/frit, else none
  /// limit   $FRIT_CACHE_LIMIT in bytes, else 1 GiB
  /// errors  InputError: a limit that is no number of bytes
  static DiskCacheOptions from_environment();
};

/// Content-addressed entries in one private folder, safe with many processes and threads.
///
/// An entry is written under a temporary name and renamed, and read whole and verified: kind, key, lengths, checksum.
/// A damaged or foreign entry is a miss, and the next put replaces it. A failure to read or write costs only speed, so
/// no function here throws for one. A folder that others may write, that others own or that is a symbolic link is not
/// used. The least recently used entries go first when the limit is passed.
class DiskCache {
 public:
  explicit DiskCache(DiskCacheOptions options);
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  bool is_usable() const { return folder_fd_ >= 0; }
  /// Why there is no disk cache; empty when there is one.
  const std::string& reason() const { return reason_; }
  const DiskCacheOptions& options() const { return options_; }

  /// kind  "object", "plan", "tuning": a word of lower-case letters
  std::optional<std::string> get(std::string_view kind, const Digest& key);
  /// Whether the entry was published. The caller goes on with what it has either way.
  bool put(std::string_view kind, const Digest& key, std::string_view bytes);
  void remove(std::string_view kind, const Digest& key);

  /// Saves a refused text for people to read; its path, or empty.
  std::string keep_failed_text(const Digest& key, std::string_view extension, std::string_view text);

  struct EntryInfo {
    std::string kind, name;
    uint64_t bytes = 0;
    int64_t used_ns = 0;  // time of last use since the epoch
  };
  std::vector<EntryInfo> list() const;
  /// Deletes every entry.
  void clear();

  /// Every good entry in one string, to be imported elsewhere.
  std::string export_pack();
  /// Puts the entries of a pack; how many. Objects are code that will run: import only what you trust.
  /// errors  InputError: not a pack; a damaged entry; nothing is imported then
  size_t import_pack(std::string_view pack);

  struct Counters {
    std::atomic<uint64_t> hits = 0, misses = 0, damaged = 0, writes = 0, failed_writes = 0, evicted = 0;
  };
  const Counters& counters() const { return counters_; }

 private:
  void open_folder();
  std::optional<std::string> read_file(std::string_view path);
  bool publish(const std::string& kind, const std::string& name, std::string_view head, std::string_view bytes);
  void account(uint64_t bytes);
  void trim();

  DiskCacheOptions options_;
  int folder_fd_ = -1;
  std::string reason_;
  Counters counters_;
  std::mutex mutex_;  // guards the accounting
  uint64_t used_bytes_ = 0;
  uint32_t puts_since_scan_ = 0;
  bool scanned_ = false;
};

}  // namespace frit::runtime
