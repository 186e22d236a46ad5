#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "compiler/onnx/decode.h"
#include "compiler/onnx/external.h"
#include "support/error.h"

namespace frit::onnx {

ModelDef decode_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  // Without O_NONBLOCK opening a FIFO would wait for a writer.
  const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    throw InputError(
        Finding{name, "cannot open the model", {}, std::strerror(errno), {}, "pass the path of a .onnx file", {}});
  }
  const SharedBytes file = map_file(fd, name);
  ModelDef model = decode_model(file.bytes, file.owner, name);
  model.files = std::make_shared<ExternalFiles>(path.parent_path());
  return model;
}

}  // namespace frit::onnx
