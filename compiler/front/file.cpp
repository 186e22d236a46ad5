#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "compiler/front/npy.h"
#include "support/error.h"

namespace frit {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, std::string what, std::string got) {
  throw InputError(Finding{.where = path.string(),
                           .what = std::move(what),
                           .excerpt = {},
                           .got = std::move(got),
                           .expected = {},
                           .fix = {},
                           .from = {}});
}

class FileHandle {
 public:
  explicit FileHandle(int fd) : fd_(fd) {}
  ~FileHandle() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe must not hang us
  if (file.get() < 0) refuse(path, "cannot be opened", std::strerror(errno));
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) refuse(path, "cannot be read", std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) refuse(path, "is no plain file", S_ISDIR(facts.st_mode) ? "a folder" : "a device");
  std::string bytes(static_cast<size_t>(facts.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(path, "cannot be read", std::strerror(errno));
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  const std::filesystem::path temporary = path.string() + fmt::format(".{}.part", ::getpid());
  {
    const FileHandle file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) refuse(path, "cannot be written", std::strerror(errno));
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = ::write(file.get(), bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        const std::string reason = std::strerror(errno);
        ::unlink(temporary.c_str());
        refuse(path, "cannot be written", reason);
      }
      done += static_cast<size_t>(n);
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    ::unlink(temporary.c_str());
    refuse(path, "cannot be written", reason);
  }
}

}  // namespace frit
