#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace frit::runtime {

/// A kernel as one block of position-independent bytes: code and constants, all references relative inside it.
struct Image {
  std::string bytes;
  size_t entry = 0;  // offset of the kernel's first instruction
};

/// Flattens a relocatable ELF64 x86-64 object that defines one global function `symbol`.
/// Only code and read-only constants, only PC-relative relocations between them. Every offset is checked, since an
/// object may come from a damaged source.
/// errors   InternalError: undefined symbol (named), writable section, other relocation, malformed object
Image flatten_object(std::string_view object, std::string_view symbol, std::string_view kernel_name);

/// Pages that hold an image, readable and executable, never writable while executable.
class ExecutableMemory {
 public:
  explicit ExecutableMemory(std::string_view bytes);
  ~ExecutableMemory();
  ExecutableMemory(const ExecutableMemory&) = delete;
  ExecutableMemory& operator=(const ExecutableMemory&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(base_), size_}; }
  const void* at(size_t offset) const { return static_cast<const std::byte*>(base_) + offset; }

 private:
  void* base_;
  size_t size_, mapped_;
};

}  // namespace frit::runtime
