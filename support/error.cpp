#include "support/error.h"

#include <fmt/format.h>

namespace frit {
namespace {

std::string join(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    if (!text.empty()) text += "\n\n";
    text += format(finding);
  }
  return text;
}

}  // namespace

std::string format(const Finding& finding) {
  std::string text = finding.where.empty() ? finding.what : fmt::format("{}: {}", finding.where, finding.what);
  const auto line = [&](std::string_view label, const std::string& value) {
    if (!value.empty()) text += fmt::format("\n  {:<10}{}", label, value);
  };
  if (!finding.excerpt.empty()) text += "\n" + finding.excerpt;
  line("got", finding.got);
  line("expected", finding.expected);
  line("fix", finding.fix);
  for (const std::string& call : finding.from) line("from", call);
  return text;
}

Error::Error(ErrorKind kind, std::vector<Finding> findings)
    : std::runtime_error(join(findings)), kind_(kind), findings_(std::move(findings)) {}

InternalError::InternalError(std::string_view condition, std::string_view message, const char* file, int line)
    : Error(ErrorKind::Internal, {Finding{.where = fmt::format("{}:{}", file, line),
                                          .what = fmt::format("broken promise: {}", condition),
                                          .excerpt = {},
                                          .got = std::string(message),
                                          .expected = {},
                                          .fix = "please report this; it is a fault of Frit",
                                          .from = {}}}) {}

void fail_internal(const char* condition, std::string message, const char* file, int line) {
  throw InternalError(condition, message, file, line);
}

}  // namespace frit
