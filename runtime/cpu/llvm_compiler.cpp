#include "runtime/cpu/llvm_compiler.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/cpu/disassemble.h"
#include "runtime/cpu/llvm/plugin.h"
#include "runtime/fork_guard.h"
#include "runtime/kernel_cache.h"
#include "support/error.h"

namespace frit::runtime {
namespace {

constexpr const char* kPluginName = "libfrit_llvm.so";
constexpr int kOptLevel = 2;
std::atomic<bool> plugin_is_open = false;

struct Plugin {
  FritLlvmCompileFn* compile = nullptr;
  FritLlvmReleaseFn* release = nullptr;
  FritLlvmDisassembleFn* disassemble = nullptr;
};

/// Beside the library or program that holds this function, beside the executable, in the library folder of the same
/// installation. Where this was built only while running from there: nobody else's folder may provide code.
std::vector<std::string> plugin_candidates() {
  std::vector<std::string> candidates;
  if (const char* named = std::getenv("FRIT_LLVM_PLUGIN"); named != nullptr && *named != '\0') return {named};
  const auto beside = [&](const std::filesystem::path& file) {
    const std::filesystem::path folder = file.parent_path();
    for (const char* part : {"", "frit", "../" FRIT_LIBRARY_FOLDER "/frit"}) {
      candidates.push_back((folder / part / kPluginName).lexically_normal().string());
    }
    if (file.string().starts_with(FRIT_BUILD_FOLDER "/"))
      candidates.push_back(std::string(FRIT_BUILD_FOLDER "/") + kPluginName);
  };
  std::error_code error;
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(&llvm_identity), &info) != 0 && info.dli_fname != nullptr) {
    beside(std::filesystem::canonical(info.dli_fname, error));
  }
  beside(std::filesystem::read_symlink("/proc/self/exe", error));
  std::vector<std::string> distinct;
  for (std::string& candidate : candidates) {
    if (std::find(distinct.begin(), distinct.end(), candidate) == distinct.end())
      distinct.push_back(std::move(candidate));
  }
  return distinct;
}

[[noreturn]] void fail_without_plugin(const std::string& tried) {
  throw UnsupportedError(
      Finding{.where = "cpu",
              .what = "a kernel must be compiled, and the LLVM part cannot be opened",
              .excerpt = {},
              .got = tried,
              .expected = fmt::format("{} beside the program, and LLVM {}", kPluginName, FRIT_LLVM_VERSION),
              .fix = "install libLLVM-19, or set FRIT_LLVM_PLUGIN to the path of " + std::string(kPluginName),
              .from = {}});
}

Plugin open_plugin() {
  std::string tried;
  for (const std::string& path : plugin_candidates()) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      tried += (tried.empty() ? "" : "; ") + path + ": no such file";
      continue;
    }
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* reason = dlerror();
      tried += (tried.empty() ? "" : "; ") + std::string(reason == nullptr ? path : reason);
      continue;
    }
    const auto abi = reinterpret_cast<FritLlvmAbiFn*>(dlsym(library, "frit_llvm_abi"));
    Plugin plugin;
    plugin.compile = reinterpret_cast<FritLlvmCompileFn*>(dlsym(library, "frit_llvm_compile"));
    plugin.release = reinterpret_cast<FritLlvmReleaseFn*>(dlsym(library, "frit_llvm_release"));
    plugin.disassemble = reinterpret_cast<FritLlvmDisassembleFn*>(dlsym(library, "frit_llvm_disassemble"));
    if (abi != nullptr && abi() == kFritLlvmAbi && plugin.compile != nullptr && plugin.release != nullptr &&
        plugin.disassemble != nullptr) {
      plugin_is_open = true;
      return plugin;  // stays open: LLVM does not unload
    }
    dlclose(library);
    tried += (tried.empty() ? "" : "; ") + path + ": of another build of Frit";
  }
  fail_without_plugin(tried);
}

struct PluginHolder {
  PluginHolder() { ForkGuard::instance().add({.state = this, .mutex = &mutex}); }
  std::mutex mutex;
  Plugin opened;
};

const Plugin& plugin() {
  static PluginHolder* holder = new PluginHolder;  // never destroyed: a thread may still be opening it at exit
  const std::scoped_lock lock(holder->mutex);
  if (holder->opened.compile == nullptr) holder->opened = open_plugin();  // after a failure the next miss tries again
  return holder->opened;
}

/// The build id of an ELF library, read from its notes; empty when there is none.
std::string build_id_of(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string id;
  Elf64_Ehdr header = {};
  if (pread(fd, &header, sizeof header, 0) == sizeof header && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
      header.e_phentsize == sizeof(Elf64_Phdr)) {
    for (int i = 0; i < header.e_phnum && id.empty(); ++i) {
      Elf64_Phdr part = {};
      const auto at = static_cast<off_t>(header.e_phoff + static_cast<uint64_t>(i) * sizeof part);
      if (pread(fd, &part, sizeof part, at) != sizeof part || part.p_type != PT_NOTE || part.p_filesz > 65536) continue;
      std::string notes(part.p_filesz, '\0');
      if (pread(fd, notes.data(), notes.size(), static_cast<off_t>(part.p_offset)) !=
          static_cast<ssize_t>(notes.size()))
        continue;
      for (size_t offset = 0; offset + sizeof(Elf64_Nhdr) <= notes.size();) {
        Elf64_Nhdr note = {};
        std::memcpy(&note, notes.data() + offset, sizeof note);
        const size_t name = offset + sizeof note, value = name + (size_t{note.n_namesz} + 3) / 4 * 4;
        if (value > notes.size() || note.n_descsz > notes.size() - value) break;
        if (note.n_type == NT_GNU_BUILD_ID) {
          for (size_t k = 0; k < note.n_descsz; ++k)
            id += fmt::format("{:02x}", static_cast<uint8_t>(notes[value + k]));
          break;
        }
        offset = value + (size_t{note.n_descsz} + 3) / 4 * 4;
      }
    }
  }
  close(fd);
  return id;
}

}  // namespace

std::string llvm_identity() {
  // Where LLVM is not installed, entries of the LLVM that this build was made with still fit.
  static const std::string identity = [] {
    const std::string id = build_id_of(FRIT_LLVM_LIBRARY);
    return fmt::format("{}+{}", FRIT_LLVM_VERSION, id.empty() ? FRIT_LLVM_BUILD_ID : id);
  }();
  return identity;
}

std::string llvm_options() {
  return fmt::format("O{} no-loop-reduce hoist=unless-spilled pic contract=strict", kOptLevel);
}

LlvmObject compile_llvm(const KernelSource& source, const CpuTarget& cpu) {
  const Plugin& library = plugin();
  const std::string processor(cpu.llvm_cpu()), features(cpu.llvm_features());
  const FritLlvmRequest request{.text = source.text.c_str(),
                                .text_size = source.text.size(),
                                .cpu = processor.c_str(),
                                .features = features.c_str(),
                                .opt_level = kOptLevel,
                                .symbol = "frit_kernel"};
  FritLlvmResult result = {};
  library.compile(&request, &result);
  LlvmObject object;
  if (result.error != nullptr)
    object.error = result.error;
  else if (result.object == nullptr)
    object.error = "no object";
  else
    object.object.assign(reinterpret_cast<const char*>(result.object), result.object_size);
  object.report = {.spills = result.spills,
                   .reloads = result.reloads,
                   .inner_loop_spills = result.inner_loop_spills,
                   .loop_cost = result.loop_cost,
                   .stack_bytes = result.stack_bytes,
                   .remarks = result.remarks == nullptr ? "" : result.remarks};
  library.release(&result);
  return object;
}

std::string disassemble(const Kernel& kernel, const CpuTarget& cpu) {
  const auto image = kernel.image();
  if (image.empty()) return {};
  const std::string processor(cpu.llvm_cpu()), features(cpu.llvm_features());
  char* text = plugin().disassemble(reinterpret_cast<const uint8_t*>(image.data()), image.size(), kernel.entry_offset(),
                                    processor.c_str(), features.c_str());
  FRIT_CHECK(text != nullptr, fmt::format("kernel {} is no code of {}", kernel.name(), cpu.name()));
  std::string result(text);
  std::free(text);
  return result;
}

bool llvm_loaded() { return plugin_is_open; }

LlvmOpening::LlvmOpening() {
  if (plugin_is_open) return;
  const auto work = [] {
    try {
      // The first text that goes through pays for LLVM's tables as well.
      compile_llvm({.name = "first", .target = "cpu", .text = "define void @frit_kernel() {\n ret void\n}"}, {});
    } catch (const Error&) {
      return;  // the first miss reports it
    }
  };
  try {
    thread_ = std::thread(work);
  } catch (const std::system_error&) {
    return;  // no thread to be had: the first miss opens LLVM
  }
}

LlvmOpening::~LlvmOpening() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace frit::runtime
