#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "support/digest.h"

namespace frit::runtime {

/// Source text of one kernel, as a printer of `codegen` gives it.
/// target "cpu": an LLVM module that defines exactly one function, `frit_kernel`, with the signature of KernelFn.
struct KernelSource {
  std::string name;  // for people: errors, profiles, dumps; not part of the cache key
  std::string target = "cpu";
  std::string text;
};

/// Every CPU kernel: computes the tiles [begin, end) of a launch.
/// buffers  one pointer per argument of the launch
/// dims     extents, strides and offsets, as the text counts them
/// scratch  memory of this thread alone, aligned to 64 bytes; null when the launch asks for none
using KernelFn = void (*)(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end, void* scratch);

/// What the register allocator said about a kernel: a spilling schedule is refused by this, untimed.
struct CodeReport {
  int64_t spills = 0, reloads = 0;  // in the whole function
  int64_t inner_loop_spills = 0;    // spills and reloads in the worst innermost loop, per iteration
  double loop_cost = 0;             // spills and reloads of the worst loop nest, weighted by guessed frequency
  int64_t stack_bytes = 0;          // of the frame
  std::string remarks;              // one line per remark

  bool spills_in_inner_loop() const { return inner_loop_spills > 0; }
};

class ExecutableMemory;

/// Compiled code, ready to call from any thread. Owns its memory: keep the pointer while a launch may run.
class Kernel {
 public:
  Kernel(std::string name, Digest key, KernelFn fn, std::unique_ptr<ExecutableMemory> memory, CodeReport report);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  KernelFn fn() const { return fn_; }
  const std::string& name() const { return name_; }
  const Digest& key() const { return key_; }  // text, target, features, compiler, options and loader format
  const CodeReport& report() const { return report_; }
  /// The machine code with its constants, for disassembly; empty for a native function.
  std::span<const std::byte> image() const;
  /// Where `fn` starts in image().
  size_t entry_offset() const;

 private:
  std::string name_;
  Digest key_;
  KernelFn fn_;
  std::unique_ptr<ExecutableMemory> memory_;
  CodeReport report_;
};

using KernelRef = std::shared_ptr<const Kernel>;

/// Wraps a function of this program, so that a plan may launch work which is not generated.
KernelRef make_native_kernel(std::string name, KernelFn fn);

}  // namespace frit::runtime
