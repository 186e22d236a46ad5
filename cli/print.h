#pragma once
#include <string>
#include <string_view>

namespace frit::cli {

/// Data, to standard output. errors  InputError: it cannot be written (a full disk, a closed pipe)
void print(std::string_view text);
/// Once at the end, so that an error of the last bytes is one too.
void flush();
/// Words for people, to standard error.
void say(std::string_view text);
/// Without control characters, which a name from a file may hold.
std::string printable(std::string_view text);

}  // namespace frit::cli
