#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace frit {

/// One finding about what a user passed in: place, what is wrong, got, expected, how to mend. Empty parts are not
/// printed.
///
///     pool.frit:4:21: read may leave the bounds of x
///       4 |   y[i] = max[a < k](x[i*s + a - p])
///         |                     ^~~~~~~~~~~~~~
///       got       indices -1 to 31 into x[32]
///       expected  0 to 31, or a guarded read
///       fix       write x[i*s + a - p] else -inf
struct Finding {
  std::string where;         // "pool.frit:4:21", "m.onnx: node 12 \"clip_1\"", "--input x"
  std::string what;          // lower case start, no final stop
  std::string excerpt = {};  // the lines with the caret, already laid out; may be empty
  std::string got = {}, expected = {}, fix = {};
  std::vector<std::string> from = {};  // one line per call of an inlined definition
};

std::string format(const Finding& finding);

/// The kinds of error, one type each; the command's exit codes follow from them.
enum class ErrorKind { Input, Unsupported, Compiler, Internal };

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::vector<Finding> findings);
  ErrorKind kind() const { return kind_; }
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  ErrorKind kind_;
  std::vector<Finding> findings_;
};

/// The caller's mistake: snippet, model, shape, dtype, option. Exit code 1.
class InputError : public Error {
 public:
  explicit InputError(Finding finding) : Error(ErrorKind::Input, {std::move(finding)}) {}
  explicit InputError(std::vector<Finding> findings) : Error(ErrorKind::Input, std::move(findings)) {}
};

/// Right, but not supported here; says by which target or part. Exit code 3.
class UnsupportedError : public Error {
 public:
  explicit UnsupportedError(Finding finding) : Error(ErrorKind::Unsupported, {std::move(finding)}) {}
  explicit UnsupportedError(std::vector<Finding> findings) : Error(ErrorKind::Unsupported, std::move(findings)) {}
};

/// A driver or compiler refused a text: kernel name, options, log, path of the saved text. Exit code 4.
class CompilerError : public Error {
 public:
  explicit CompilerError(Finding finding) : Error(ErrorKind::Compiler, {std::move(finding)}) {}
};

/// Our bug: condition, file, line. Exit code 70.
class InternalError : public Error {
 public:
  InternalError(std::string_view condition, std::string_view message, const char* file, int line);
};

[[noreturn]] void fail_internal(const char* condition, std::string message, const char* file, int line);

}  // namespace frit

/// Checks our own promises, in every build: FRIT_CHECK(n > 0, fmt::format("n is {}", n)).
#define FRIT_CHECK(condition, ...)                                                                     \
  do {                                                                                                 \
    if (!(condition)) ::frit::fail_internal(#condition, std::string(__VA_ARGS__), __FILE__, __LINE__); \
  } while (false)
#define FRIT_UNREACHABLE() ::frit::fail_internal("unreachable", "", __FILE__, __LINE__)
