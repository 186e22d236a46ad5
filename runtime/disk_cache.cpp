#include "runtime/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "runtime/disk_entry.h"
#include "support/error.h"

namespace frit::runtime {
namespace {

constexpr uint64_t kDefaultLimit = uint64_t{1} << 30;
constexpr uint64_t kMaxEntryBytes = uint64_t{256} << 20;
constexpr uint32_t kRescanPuts = 256;  // other processes write too
constexpr int64_t kStaleTemporaryNs = int64_t{3600} * 1'000'000'000;
constexpr std::string_view kPackMagic = "FRITPACK1\n";

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

uint64_t parse_limit(const std::string& text) {
  uint64_t limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (error == std::errc() && end == text.data() + text.size()) return limit;
  throw InputError(Finding{.where = "FRIT_CACHE_LIMIT",
                           .what = "not a number of bytes",
                           .excerpt = {},
                           .got = fmt::format("\"{}\"", text),
                           .expected = "0 (no disk cache) to 18446744073709551615",
                           .fix = "give a whole number, or unset FRIT_CACHE_LIMIT",
                           .from = {}});
}

/// Creates the folder and what is missing above it, each private; errors show when the folder is opened.
void make_folders(const std::string& folder) {
  for (size_t end = folder.find('/', 1); end != std::string::npos; end = folder.find('/', end + 1)) {
    mkdir(folder.substr(0, end).c_str(), 0700);
  }
  mkdir(folder.c_str(), 0700);
}

bool read_all(int fd, char* to, size_t size) {
  while (size > 0) {
    const ssize_t got = read(fd, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

bool is_private_file(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string entry_path(std::string_view kind, const Digest& key) { return fmt::format("{}/{}", kind, key.hex()); }

int64_t nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

bool is_temporary(std::string_view name) { return name.starts_with(".tmp-"); }

}  // namespace

DiskCacheOptions DiskCacheOptions::from_environment() {
  DiskCacheOptions options;
  const std::string limit = environment("FRIT_CACHE_LIMIT");
  options.limit_bytes = limit.empty() ? kDefaultLimit : parse_limit(limit);
  const std::string own = environment("FRIT_CACHE_DIR"), xdg = environment("XDG_CACHE_HOME"),
                    home = environment("HOME");
  std::error_code error;
  if (!own.empty()) {
    options.folder = std::filesystem::absolute(own, error).string();
  } else if (xdg.starts_with('/')) {  // a relative path there is to be ignored
    options.folder = xdg + "/frit";
  } else if (home.starts_with('/') && std::filesystem::is_directory(home, error)) {
    options.folder = home + "/.cache/frit";
  }
  return options;
}

DiskCache::DiskCache(DiskCacheOptions options) : options_(std::move(options)) { open_folder(); }

DiskCache::~DiskCache() {
  if (folder_fd_ >= 0) close(folder_fd_);
}

void DiskCache::open_folder() {
  std::string& folder = options_.folder;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  if (options_.limit_bytes == 0)
    reason_ = "the limit is 0";
  else if (folder.empty())
    reason_ = "no home folder";
  if (!reason_.empty()) return;
  make_folders(folder);
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status = {};
  if (fd < 0 || fstat(fd, &status) != 0) {
    reason_ =
        fmt::format("{}: {}", folder,
                    errno == ENOTDIR || errno == ELOOP ? "not a folder, or a symbolic link" : std::strerror(errno));
  } else if (status.st_uid != geteuid()) {
    reason_ = fmt::format("{}: another user owns it", folder);
  } else if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    reason_ = fmt::format("{}: others may write it", folder);
  }
  if (!reason_.empty()) {
    if (fd >= 0) close(fd);
    return;
  }
  folder_fd_ = fd;
}

std::optional<std::string> DiskCache::read_file(std::string_view path) {
  const FileDescriptor file(openat(folder_fd_, std::string(path).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status = {};
  if (!file.is_open() || fstat(file.get(), &status) != 0) return std::nullopt;
  if (!is_private_file(status) || static_cast<uint64_t>(status.st_size) > kMaxEntryBytes) return "";
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  if (!read_all(file.get(), bytes.data(), bytes.size())) return "";
  futimens(file.get(), nullptr);  // last use, for the order of eviction
  return bytes;
}

std::optional<std::string> DiskCache::get(std::string_view kind, const Digest& key) {
  if (!is_usable()) return std::nullopt;
  const std::optional<std::string> file = read_file(entry_path(kind, key));
  const std::optional<DiskEntry> entry = file ? decode_entry(*file) : std::nullopt;
  if (!entry || entry->kind != kind || entry->key != key) {
    ++counters_.misses;
    if (file) ++counters_.damaged;
    return std::nullopt;
  }
  ++counters_.hits;
  return std::string(entry->payload);
}

bool DiskCache::put(std::string_view kind, const Digest& key, std::string_view bytes) {
  if (!is_usable()) return false;
  const std::string front = entry_front(kind, key, bytes);
  const uint64_t size = front.size() + bytes.size();
  if (size > options_.limit_bytes || size > kMaxEntryBytes) return false;
  if (!publish(std::string(kind), key.hex(), front, bytes)) {
    ++counters_.failed_writes;
    return false;
  }
  ++counters_.writes;
  account(size);
  return true;
}

std::string DiskCache::export_pack() {
  std::string pack(kPackMagic);
  for (const EntryInfo& info : list()) {
    const std::string file = read_file(fmt::format("{}/{}", info.kind, info.name)).value_or("");
    const auto entry = decode_entry(file);
    if (!entry || entry->kind != info.kind || entry->key.hex() != info.name) continue;
    const uint64_t size = file.size();
    pack.append(reinterpret_cast<const char*>(&size), sizeof size);
    pack += file;
  }
  return pack;
}

size_t DiskCache::import_pack(std::string_view pack) {
  const auto fail = [](std::string what, std::string got) {
    throw InputError(Finding{.where = "pack",
                             .what = std::move(what),
                             .excerpt = {},
                             .got = std::move(got),
                             .expected = "a pack as it was exported",
                             .fix = "export it again",
                             .from = {}});
  };
  if (!pack.starts_with(kPackMagic)) fail("not a pack", fmt::format("{} bytes of something else", pack.size()));
  std::vector<DiskEntry> entries;
  size_t at = kPackMagic.size();
  while (at < pack.size()) {
    uint64_t size = 0;
    const size_t left = pack.size() - at;
    if (left >= sizeof size) std::memcpy(&size, pack.data() + at, sizeof size);
    if (left < sizeof size || size > left - sizeof size)
      fail("the pack is cut off", fmt::format("{} bytes", pack.size()));
    const auto entry = decode_entry(pack.substr(at + sizeof size, size));
    const bool is_word =
        entry && !entry->kind.empty() && std::all_of(entry->kind.begin(), entry->kind.end(), [](char c) {
          return c >= 'a' && c <= 'z';  // it becomes a folder's name
        });
    if (!is_word) fail("an entry is damaged", fmt::format("entry {}", entries.size()));
    entries.push_back(*entry);
    at += sizeof size + size;
  }
  return static_cast<size_t>(std::count_if(entries.begin(), entries.end(), [&](const DiskEntry& entry) {
    return put(entry.kind, entry.key, entry.payload);
  }));
}

bool DiskCache::publish(const std::string& kind, const std::string& name, std::string_view head,
                        std::string_view bytes) {
  static std::atomic<uint64_t> serial = 0;
  if (mkdirat(folder_fd_, kind.c_str(), 0700) != 0 && errno != EEXIST) return false;
  const std::string temporary = fmt::format("{}/.tmp-{}-{}-{}", kind, getpid(), serial++, name.substr(0, 8));
  const FileDescriptor file(
      openat(folder_fd_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return false;
  const std::string final_name = kind + "/" + name;
  if (write_all(file.get(), head) && write_all(file.get(), bytes) &&
      renameat(folder_fd_, temporary.c_str(), folder_fd_, final_name.c_str()) == 0) {
    return true;
  }
  unlinkat(folder_fd_, temporary.c_str(), 0);
  return false;
}

void DiskCache::remove(std::string_view kind, const Digest& key) {
  if (is_usable()) unlinkat(folder_fd_, entry_path(kind, key).c_str(), 0);
}

std::string DiskCache::keep_failed_text(const Digest& key, std::string_view extension, std::string_view text) {
  const std::string name = fmt::format("{}.{}", key.hex(), extension);
  if (!is_usable() || text.size() > options_.limit_bytes || !publish("failed", name, "", text)) return "";
  account(text.size());
  return fmt::format("{}/failed/{}", options_.folder, name);
}

std::vector<DiskCache::EntryInfo> DiskCache::list() const {
  std::vector<EntryInfo> entries;
  if (!is_usable()) return entries;
  const auto each_name = [](int parent, const char* path, auto&& visit) {
    const int fd = openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR* folder = fd < 0 ? nullptr : fdopendir(fd);
    if (folder == nullptr) {
      if (fd >= 0) close(fd);
      return;
    }
    while (const dirent* item = readdir(folder)) visit(dirfd(folder), std::string(item->d_name));
    closedir(folder);
  };
  each_name(folder_fd_, ".", [&](int parent, const std::string& kind) {
    if (kind.starts_with('.')) return;
    each_name(parent, kind.c_str(), [&](int kind_fd, const std::string& name) {
      struct stat status = {};
      if (fstatat(kind_fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) return;
      entries.push_back({kind, name, static_cast<uint64_t>(status.st_size), nanoseconds(status.st_mtim)});
    });
  });
  return entries;
}

void DiskCache::clear() {
  for (const EntryInfo& entry : list()) unlinkat(folder_fd_, fmt::format("{}/{}", entry.kind, entry.name).c_str(), 0);
  const std::scoped_lock lock(mutex_);
  scanned_ = false;
}

void DiskCache::account(uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  used_bytes_ += bytes;
  if (scanned_ && used_bytes_ <= options_.limit_bytes && ++puts_since_scan_ < kRescanPuts) return;
  trim();
}

void DiskCache::trim() {
  std::vector<EntryInfo> entries = list();
  std::sort(entries.begin(), entries.end(),
            [](const EntryInfo& a, const EntryInfo& b) { return a.used_ns < b.used_ns; });
  uint64_t total = 0;
  for (const EntryInfo& entry : entries) total += entry.bytes;
  // Some room below the limit, so that the next puts need no scan.
  const uint64_t goal = total > options_.limit_bytes ? options_.limit_bytes / 8 * 7 : options_.limit_bytes;
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  for (const EntryInfo& entry : entries) {
    const bool is_stale = is_temporary(entry.name) && nanoseconds(now) - entry.used_ns > kStaleTemporaryNs;
    if (is_temporary(entry.name) ? !is_stale : total <= goal) continue;
    if (unlinkat(folder_fd_, fmt::format("{}/{}", entry.kind, entry.name).c_str(), 0) != 0) continue;
    total -= entry.bytes;
    ++counters_.evicted;
  }
  used_bytes_ = total;
  puts_since_scan_ = 0;
  scanned_ = true;
}

}  // namespace frit::runtime
