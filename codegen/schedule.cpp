#include "codegen/schedule.h"

#include <fmt/format.h>

#include <charconv>

#include "support/error.h"

namespace frit {
namespace {

constexpr std::string_view kForm = "vector aN LANESxVECTORS rows aN COUNT block TILES order aN.. reduce aN..";

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), rest_(text) { next(); }

  std::string_view word() const { return word_; }
  bool done() const { return word_.empty(); }
  void next() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
    const size_t end = std::min(rest_.find(' '), rest_.size());
    word_ = rest_.substr(0, end);
    rest_.remove_prefix(end);
  }
  int axis() {
    if (word_.empty() || word_[0] != 'a') fail();
    const int value = number(word_.substr(1));
    next();
    return value;
  }
  int number(std::string_view digits) {
    int value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (code != std::errc() || end != digits.data() + digits.size() || value < 0 || value > 1 << 20) fail();
    return value;
  }
  std::vector<int> axes() {
    std::vector<int> list;
    while (!done() && word_[0] == 'a') list.push_back(axis());
    return list;
  }
  [[noreturn]] void fail() const {
    throw InputError(Finding{.where = {},
                             .what = "a schedule cannot be read",
                             .excerpt = {},
                             .got = std::string(text_),
                             .expected = std::string(kForm),
                             .fix = {},
                             .from = {}});
  }

 private:
  std::string_view text_, rest_, word_;
};

}  // namespace

std::string to_string(const Schedule& schedule) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  if (schedule.vector_axis >= 0)
    add(fmt::format("vector a{} {}x{}", schedule.vector_axis, schedule.lanes, schedule.vectors));
  if (schedule.row_axis >= 0) add(fmt::format("rows a{} {}", schedule.row_axis, schedule.rows));
  if (schedule.row_block > 0) add(fmt::format("block {}", schedule.row_block));
  if (!schedule.order.empty()) add(fmt::format("order a{}", fmt::join(schedule.order, " a")));
  if (!schedule.reduced_order.empty()) add(fmt::format("reduce a{}", fmt::join(schedule.reduced_order, " a")));
  return text.empty() ? "scalar" : text;
}

Schedule parse_schedule(std::string_view text) {
  Schedule schedule;
  Reader reader(text);
  while (!reader.done()) {
    const std::string_view word = reader.word();
    reader.next();
    if (word == "vector") {
      schedule.vector_axis = reader.axis();
      const std::string_view shape = reader.word();
      const size_t cross = shape.find('x');
      if (cross == std::string_view::npos) reader.fail();
      schedule.lanes = reader.number(shape.substr(0, cross));
      schedule.vectors = reader.number(shape.substr(cross + 1));
      reader.next();
    } else if (word == "rows") {
      schedule.row_axis = reader.axis();
      schedule.rows = reader.number(reader.word());
      reader.next();
    } else if (word == "block") {
      schedule.row_block = reader.number(reader.word());
      reader.next();
    } else if (word == "order") {
      schedule.order = reader.axes();
    } else if (word == "reduce") {
      schedule.reduced_order = reader.axes();
    } else if (word != "scalar") {
      reader.fail();
    }
  }
  return schedule;
}

}  // namespace frit
