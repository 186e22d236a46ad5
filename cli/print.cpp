#include "cli/print.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "support/error.h"

namespace frit::cli {

namespace {

[[noreturn]] void refuse() {
  throw InputError(Finding{.where = "standard output", .what = "cannot be written", .got = std::strerror(errno)});
}

}  // namespace

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) refuse();
}

void flush() {
  if (std::fflush(stdout) != 0) refuse();
}

void say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);  // nobody to tell when it fails
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out;
}

}  // namespace frit::cli
