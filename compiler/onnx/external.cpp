#include "compiler/onnx/external.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "compiler/onnx/decode.h"
#include "support/error.h"

namespace frit::onnx {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

[[noreturn]] void refuse(const std::string& where, std::string got, std::string expected) {
  throw InputError(Finding{where, "external data is refused", {}, std::move(got), std::move(expected), {}, {}});
}

// The parts of a location that stays inside; every one a plain name.
std::vector<std::string> checked_parts(const std::string& location, const std::string& where) {
  const char* expected = "a relative path inside the model's folder";
  if (location.empty() || location.size() > 4096) refuse(where, "location " + quote_name(location), expected);
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= location.size()) {
    const size_t end = std::min(location.find('/', begin), location.size());
    std::string part = location.substr(begin, end - begin);
    if (part.empty() || part == "." || part == ".." || part.find('\0') != std::string::npos) {
      refuse(where, "location " + quote_name(location), expected);
    }
    parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

uint64_t number(const std::string& key, const std::string& text, const std::string& where) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    refuse(where, key + " " + quote_name(text), "a number of bytes");
  }
  return value;
}

}  // namespace

SharedBytes map_file(int fd, const std::string& where) {
  const Descriptor file(fd);
  const auto fail = [&](std::string got) {
    throw InputError(Finding{where, "cannot be read", {}, std::move(got), "a regular file", {}, {}});
  };
  struct stat info{};
  if (fstat(fd, &info) != 0) fail(std::strerror(errno));
  if (!S_ISREG(info.st_mode)) fail("not a regular file");
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size == 0) fail("an empty file");
  if (size > kMaxFileBytes) fail(fmt::format("{} bytes, more than {}", size, kMaxFileBytes));
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) fail(std::strerror(errno));
  std::shared_ptr<const void> owner(data, [size](void* p) { munmap(p, size); });
  return {{static_cast<const std::byte*>(data), static_cast<size_t>(size)}, std::move(owner)};
}

const SharedBytes& ExternalFiles::open(const std::string& location, const std::string& where) {
  if (const auto at = files_.find(location); at != files_.end()) return at->second;
  const std::vector<std::string> parts = checked_parts(location, where);
  const std::string folder = folder_.empty() ? "." : folder_.string();
  Descriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Every step is taken without following links, so that no rename in between can lead outside.
  for (size_t i = 0; i < parts.size() && at.get() >= 0; ++i) {
    const int kind = i + 1 < parts.size() ? O_DIRECTORY : O_NONBLOCK;
    at = Descriptor(openat(at.get(), parts[i].c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind));
  }
  if (at.get() < 0) {
    refuse(where, fmt::format("{}: {}", quote_name(location), std::strerror(errno)), "a file in the model's folder");
  }
  struct stat info{};
  if (fstat(at.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink != 1) {
    refuse(where, quote_name(location), "a regular file without links");
  }
  return files_.emplace(location, map_file(at.release(), fmt::format("{}: {}", where, quote_name(location))))
      .first->second;
}

SharedBytes ExternalFiles::read(const std::vector<std::pair<std::string, std::string>>& entries, size_t count_bytes,
                                const std::string& where) {
  std::map<std::string, std::string> keys;
  for (const auto& [key, value] : entries) {
    if (key != "location" && key != "offset" && key != "length" && key != "checksum") {
      refuse(where, "key " + quote_name(key), "location, offset, length, checksum");
    }
    if (!keys.emplace(key, value).second) refuse(where, "key " + quote_name(key) + " twice", "each key once");
  }
  const uint64_t offset = keys.contains("offset") ? number("offset", keys["offset"], where) : 0;
  const uint64_t length = keys.contains("length") ? number("length", keys["length"], where) : count_bytes;
  if (length != count_bytes) {
    refuse(where, fmt::format("length {}", length), fmt::format("{} bytes, as the dims say", count_bytes));
  }
  const SharedBytes& file = open(keys["location"], where);
  if (offset > file.bytes.size() || length > file.bytes.size() - offset) {
    refuse(where, fmt::format("offset {}, length {} in a file of {} bytes", offset, length, file.bytes.size()),
           "a range inside the file");
  }
  return {file.bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(length)), file.owner};
}

}  // namespace frit::onnx
