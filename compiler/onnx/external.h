#pragma once
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace frit::onnx {

/// Bytes that something keeps alive.
struct SharedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// Maps a regular file that was opened as `fd`, and closes it.
/// errors  InputError: no regular file, empty, larger than the limit of decode.h
SharedBytes map_file(int fd, const std::string& where);

/// The data files beside a model. A location stays inside the model's folder: it is relative, without `.`, `..`, empty
/// parts, links or hard links, and names a regular file; each file is mapped once.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// `count_bytes` bytes as the keys and values of an external tensor describe them.
  /// errors  InputError: a location that leaves the folder or is no file of its own, an unknown or repeated key, a
  ///         number that is none, a range outside of the file or of another length. Nothing is read before all is
  ///         checked
  SharedBytes read(const std::vector<std::pair<std::string, std::string>>& entries, size_t count_bytes,
                   const std::string& where);

 private:
  const SharedBytes& open(const std::string& location, const std::string& where);

  std::filesystem::path folder_;
  std::map<std::string, SharedBytes> files_;
};

}  // namespace frit::onnx
