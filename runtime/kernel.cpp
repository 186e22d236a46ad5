#include "runtime/kernel.h"

#include "runtime/cpu/image.h"

namespace frit::runtime {

Kernel::Kernel(std::string name, Digest key, KernelFn fn, std::unique_ptr<ExecutableMemory> memory, CodeReport report)
    : name_(std::move(name)), key_(key), fn_(fn), memory_(std::move(memory)), report_(std::move(report)) {}

Kernel::~Kernel() = default;

std::span<const std::byte> Kernel::image() const { return memory_ ? memory_->bytes() : std::span<const std::byte>(); }

size_t Kernel::entry_offset() const {
  return memory_ ? static_cast<size_t>(reinterpret_cast<const std::byte*>(fn_) - memory_->bytes().data()) : 0;
}

KernelRef make_native_kernel(std::string name, KernelFn fn) {
  const Digest key = digest_of("native " + name);
  return std::make_shared<const Kernel>(std::move(name), key, fn, nullptr, CodeReport{});
}

}  // namespace frit::runtime
