#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "runtime/kernel_cache.h"

namespace frit::runtime {

/// A private folder that lives as long as the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "frit-test-XXXXXX").string();
    const char* made = mkdtemp(pattern.data());
    if (made != nullptr) path_ = made;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Sets a variable for a scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    if (value == nullptr)
      unsetenv(name);
    else
      setenv(name, value, 1);
  }
  ~ScopedVariable() {
    if (old_)
      setenv(name_, old_->c_str(), 1);
    else
      unsetenv(name_);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

/// y[i] = x[i] + c for i in [begin, end).
inline KernelSource add_constant(double c, std::string name = "add") {
  return {.name = std::move(name),
          .target = "cpu",
          .text = fmt::format(R"(
define void @frit_kernel(ptr noalias %buffers, ptr noalias %dims, i64 %begin, i64 %end, ptr noalias %scratch) {{
entry:
  %x = load ptr, ptr %buffers
  %y.at = getelementptr ptr, ptr %buffers, i64 1
  %y = load ptr, ptr %y.at
  %empty = icmp sge i64 %begin, %end
  br i1 %empty, label %done, label %loop
loop:
  %i = phi i64 [%begin, %entry], [%i2, %loop]
  %xi = getelementptr float, ptr %x, i64 %i
  %yi = getelementptr float, ptr %y, i64 %i
  %a = load float, ptr %xi
  %b = fadd float %a, {:.6e}
  store float %b, ptr %yi
  %i2 = add i64 %i, 1
  %more = icmp slt i64 %i2, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}}
)",
                              c)};
}

inline float run_one(const Kernel& kernel, float x) {
  float y = 0;
  void* buffers[] = {&x, &y};
  kernel.fn()(buffers, nullptr, 0, 1, nullptr);
  return y;
}

inline KernelCacheOptions options_in(const std::string& folder) {
  KernelCacheOptions options;
  options.disk = {.folder = folder, .limit_bytes = uint64_t{64} << 20};
  options.cpu = cpu_target_from_environment();
  return options;
}

}  // namespace frit::runtime
