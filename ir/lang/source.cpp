#include "ir/lang/source.h"

#include <fmt/format.h>

#include <algorithm>

namespace frit::lang {
namespace {

constexpr uint32_t kExcerptWidth = 140;  // bytes of a line that an excerpt shows

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

size_t code_points(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

// Text that may be shown: control characters other than tabs would disturb the terminal.
std::string printable(std::string_view text) {
  std::string shown(text);
  for (char& c : shown)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) c = '?';
  return shown;
}

}  // namespace

Source::Source(std::string file, std::string text) : file_(std::move(file)), text_(std::move(text)), starts_{0} {
  for (size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') starts_.push_back(static_cast<uint32_t>(i + 1));
}

std::string_view Source::text(Span span) const {
  return std::string_view(text_).substr(std::min<size_t>(span.begin, text_.size()), span.end - span.begin);
}

int Source::line(uint32_t offset) const {
  return static_cast<int>(std::upper_bound(starts_.begin(), starts_.end(), offset) - starts_.begin());
}

std::string_view Source::line_text(int line) const {
  const size_t begin = starts_[static_cast<size_t>(line - 1)];
  size_t end = text_.find('\n', begin);
  if (end == std::string::npos) end = text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

int Source::column(uint32_t offset) const {
  const uint32_t begin = starts_[static_cast<size_t>(line(offset) - 1)];
  return static_cast<int>(code_points(std::string_view(text_).substr(begin, offset - begin))) + 1;
}

std::string Source::where(uint32_t offset) const {
  return fmt::format("{}:{}:{}", file_, line(offset), column(offset));
}

std::string Source::excerpt(Span span) const {
  const int number = line(span.begin);
  const std::string_view whole = line_text(number);
  const auto line_begin = static_cast<size_t>(whole.data() - text_.data());
  size_t at = std::min(span.begin - line_begin, whole.size());
  const size_t length = std::min<size_t>(span.end > span.begin ? span.end - span.begin : 1, whole.size() - at);
  size_t from = at > kExcerptWidth ? at - kExcerptWidth / 2 : 0;
  while (from > 0 && is_continuation(whole[from])) --from;
  size_t to = std::min<size_t>(whole.size(), from + kExcerptWidth);
  while (to < whole.size() && is_continuation(whole[to])) ++to;
  const std::string_view shown = whole.substr(from, to - from);
  at -= from;
  std::string pad;
  for (size_t i = 0; i < at; ++i)
    if (shown[i] == '\t')
      pad += '\t';
    else if (!is_continuation(shown[i]))
      pad += ' ';
  const size_t marked = at < shown.size() ? code_points(shown.substr(at, length)) : 0;
  const std::string label = fmt::format("{:>3}", number);
  return fmt::format("{} | {}\n{} | {}^{}", label, printable(shown), std::string(label.size(), ' '), pad,
                     std::string(marked > 1 ? marked - 1 : 0, '~'));
}

namespace {

// Names and values that are shown may be as long as the text.
std::string shortened(std::string text) {
  constexpr size_t kLongest = 600;
  if (text.size() <= kLongest) return text;
  size_t end = kLongest;
  while (end > 0 && is_continuation(text[end])) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

Finding finding_at(const Source& source, Span span, std::string what, std::string got, std::string expected,
                   std::string fix) {
  return Finding{.where = source.where(span.begin),
                 .what = shortened(std::move(what)),
                 .excerpt = source.excerpt(span),
                 .got = shortened(std::move(got)),
                 .expected = shortened(std::move(expected)),
                 .fix = shortened(std::move(fix)),
                 .from = {}};
}

namespace {

// Edits (insert, delete, replace, swap of neighbours) from a to b.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last(b.size() + 1), next(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({last[j] + 1, next[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = last;
    last = next;
  }
  return last[b.size()];
}

}  // namespace

std::string nearest_spelling(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  if (name.size() > 64) return best;
  size_t limit = name.size() <= 2 ? 1 : name.size() <= 5 ? 2 : 3;
  if (name.size() == 1) return best;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    if (distance > limit || (!best.empty() && distance == limit)) continue;
    if (distance < candidate.size()) best = candidate, limit = distance;
  }
  return best;
}

}  // namespace frit::lang
