#include "cli/print.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "support/error.h"

namespace frit::cli {

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return;
  throw InputError(Finding{.where = "standard output",
                           .what = "cannot be written",
                           .excerpt = {},
                           .got = std::strerror(errno),
                           .expected = {},
                           .fix = {},
                           .from = {}});
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
