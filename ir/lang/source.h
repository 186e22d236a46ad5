#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.h"

namespace frit::lang {

/// Bytes [begin, end) of a source text.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// A file of definitions: its name, its text, and where its lines start.
class Source {
 public:
  Source(std::string file, std::string text);
  const std::string& file() const { return file_; }
  std::string_view text() const { return text_; }
  std::string_view text(Span span) const;
  int line(uint32_t offset) const;    // from 1
  int column(uint32_t offset) const;  // from 1, in code points
  std::string_view line_text(int line) const;
  std::string where(uint32_t offset) const;  // "pool.frit:4:21"
  /// The line of the span with carets below it; long lines are cut around the span.
  std::string excerpt(Span span) const;

 private:
  std::string file_;
  std::string text_;
  std::vector<uint32_t> starts_;
};
using SourcePtr = std::shared_ptr<const Source>;

/// A finding at a place of the text.
Finding finding_at(const Source& source, Span span, std::string what, std::string got = {}, std::string expected = {},
                   std::string fix = {});

/// The candidate nearest in spelling to `name`, or empty if none is near.
std::string nearest_spelling(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace frit::lang
