#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "compiler/onnx/decode.h"
#include "support/error.h"

namespace frit::onnx {

ModelDef decode_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  const auto fail = [&](std::string what, std::string got, std::string fix = {}) {
    throw InputError(Finding{name, std::move(what), {}, std::move(got), "an ONNX model file", std::move(fix), {}});
  };
  // Without O_NONBLOCK opening a FIFO would wait for a writer.
  const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail("cannot open the model", std::strerror(errno), "pass the path of a .onnx file");
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } closer{fd};
  struct stat info{};
  if (fstat(fd, &info) != 0) fail("cannot read the model", std::strerror(errno));
  if (!S_ISREG(info.st_mode)) fail("cannot read the model", "not a regular file");
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size == 0) fail("not an ONNX model", "an empty file");
  if (size > kMaxFileBytes) fail("model file too large", fmt::format("{} bytes", size));
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) fail("cannot read the model", std::strerror(errno));
  std::shared_ptr<const void> owner(data, [size](void* p) { munmap(p, size); });
  return decode_model({static_cast<const std::byte*>(data), static_cast<size_t>(size)}, owner, name);
}

}  // namespace frit::onnx
