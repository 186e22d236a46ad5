#include "cli/words.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "support/error.h"

namespace frit::cli {
namespace {

[[noreturn]] void refuse(const std::string& where, std::string what, std::string_view got, std::string expected) {
  throw InputError(Finding{.where = where,
                           .what = std::move(what),
                           .excerpt = {},
                           .got = std::string(got),
                           .expected = std::move(expected),
                           .fix = {},
                           .from = {}});
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Items of a list at its outermost commas.
std::vector<std::string_view> items_of(std::string_view text) {
  std::vector<std::string_view> items;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[';
    depth -= text[i] == ']';
    if (text[i] != ',' || depth != 0) continue;
    items.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  if (!trimmed(text.substr(start)).empty() || !items.empty()) items.push_back(text.substr(start));
  return items;
}

}  // namespace

std::pair<std::string, std::string> split_assignment(const std::string& option, const std::string& text) {
  const size_t at = text.find('=');
  if (at == std::string::npos || at == 0) refuse(option, "needs name=value", text, "name=value");
  return {text.substr(0, at), text.substr(at + 1)};
}

ShapeWord parse_shape(const std::string& text, const std::string& where) {
  ShapeWord word;
  std::string_view extents = text;
  if (const size_t colon = extents.find(':'); colon != std::string_view::npos) {
    word.dtype = dtype_from_name(extents.substr(colon + 1));
    if (!word.dtype) refuse(where, "unknown dtype", extents.substr(colon + 1), "f32, f16, i64, u8, bool and the like");
    extents = extents.substr(0, colon);
  }
  if (extents.empty()) return word;
  for (const std::string_view item : items_of(extents)) {
    const auto extent = number<int64_t>(trimmed(item));
    if (!extent || *extent < 0) refuse(where, "a shape needs extents from 0", text, "1,3,64,64 or 1,3,64,64:f16");
    word.shape.push_back(*extent);
  }
  return word;
}

lang::StaticValue parse_static(std::string_view text, const std::string& where) {
  text = trimmed(text);
  if (text.empty()) refuse(where, "needs a value", text, "a number, true, false, none, a dtype, a list or a word");
  if (text == "none") return {};
  if (text == "true" || text == "false") return text == "true";
  if (text == "inf" || text == "-inf")
    return text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (const auto integer = number<int64_t>(text)) return *integer;
  if (const auto real = number<double>(text)) return *real;
  if (const auto dtype = dtype_from_name(text)) return *dtype;
  if (text.front() == '[') {
    if (text.back() != ']') refuse(where, "a list has no end", text, "[1, 2, 3]");
    lang::StaticValue::List list;
    for (const std::string_view item : items_of(text.substr(1, text.size() - 2)))
      list.push_back(parse_static(item, where));
    return list;
  }
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return std::string(text);
}

}  // namespace frit::cli
