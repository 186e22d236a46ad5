#pragma once
#include <cstddef>
#include <cstdint>

/// The C interface between frit_runtime and the library frit_llvm, which alone links to LLVM and is opened at the first
/// cache miss. Plain data only: the two sides share no allocator and no C++ type.
extern "C" {

constexpr uint32_t kFritLlvmAbi = 3;

struct FritLlvmRequest {
  const char* text;  // LLVM assembly
  size_t text_size;
  const char* cpu;       // a processor name of LLVM
  const char* features;  // "+a,-b"
  int opt_level;         // of code generation, 0 to 3
  const char* symbol;    // the one function that the text defines
};

struct FritLlvmResult {
  uint8_t* object;  // relocatable ELF, or null
  size_t object_size;
  char* error;    // null, or why there is no object
  char* remarks;  // one line per register allocator remark; may be null
  int64_t spills, reloads, inner_loop_spills, stack_bytes;
  double loop_cost;
};

using FritLlvmAbiFn = uint32_t();
using FritLlvmVersionFn = const char*();
using FritLlvmCompileFn = int(const FritLlvmRequest*, FritLlvmResult*);
using FritLlvmReleaseFn = void(FritLlvmResult*);
using FritLlvmDisassembleFn = char*(const uint8_t*, size_t, size_t, const char*, const char*);

#if defined(FRIT_LLVM_BUILD)
[[gnu::visibility("default")]] uint32_t frit_llvm_abi();
[[gnu::visibility("default")]] const char* frit_llvm_version();
/// 0, or 1 with `error` set. Safe from many threads at once.
[[gnu::visibility("default")]] int frit_llvm_compile(const FritLlvmRequest* request, FritLlvmResult* result);
[[gnu::visibility("default")]] void frit_llvm_release(FritLlvmResult* result);
/// Text of the code at `entry`, for `free`; null where bytes are no instruction. Safe from many threads at once.
[[gnu::visibility("default")]] char* frit_llvm_disassemble(const uint8_t* bytes, size_t size, size_t entry,
                                                           const char* cpu, const char* features);
#endif
}
