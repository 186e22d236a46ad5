#include "codegen/storage.h"

#include <fmt/format.h>

#include <charconv>

#include "ir/array.h"
#include "support/error.h"

namespace frit {
namespace {

[[noreturn]] void refuse(std::string_view what, std::string_view text, std::string_view expected) {
  throw InputError(Finding{.where = {},
                           .what = std::string(what),
                           .excerpt = {},
                           .got = std::string(text),
                           .expected = std::string(expected),
                           .fix = {},
                           .from = {}});
}

int64_t number_of(std::string_view text, std::string_view whole) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 0)
    refuse("a layout has a bad number", whole, "levels such as a0, a1/32, a1+1+1");
  return value;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    if (space != 0) words.push_back(text.substr(0, space));
    if (space == std::string_view::npos) break;
    text.remove_prefix(space + 1);
  }
  return words;
}

bool is_split(const Layout& layout, int axis) {
  int levels = 0;
  for (const Layout::Level& level : layout.levels) levels += level.axis == axis;
  return levels > 1;
}

}  // namespace

Layout row_major(int rank) {
  Layout layout;
  for (int a = 0; a < rank; ++a) layout.levels.push_back({a, 1});
  return layout;
}

Layout permuted(const std::vector<int>& order) {
  Layout layout;
  for (const int a : order) layout.levels.push_back({a, 1});
  return layout;
}

bool has_margins(const Layout& layout) {
  for (const Layout::Margin& margin : layout.margins)
    if (margin.before != 0 || margin.after != 0) return true;
  return false;
}

std::string to_string(const Layout& layout) {
  std::string text;
  for (const Layout::Level& level : layout.levels) {
    if (!text.empty()) text += ' ';
    text += fmt::format("a{}", level.axis);
    if (level.block != 1) text += fmt::format("/{}", level.block);
    const size_t axis = static_cast<size_t>(level.axis);
    if (axis < layout.margins.size() && (layout.margins[axis].before != 0 || layout.margins[axis].after != 0))
      text += fmt::format("+{}+{}", layout.margins[axis].before, layout.margins[axis].after);
  }
  if (layout.fill != 0) text += fmt::format(" fill {}", layout.fill);
  return text;
}

Layout parse_layout(std::string_view text) {
  Layout layout;
  const auto words = words_of(text);
  int rank = 0;
  std::vector<std::pair<int, Layout::Margin>> margins;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word == "fill" && i + 1 < words.size()) {
      layout.fill = std::strtod(std::string(words[++i]).c_str(), nullptr);
      continue;
    }
    if (word.empty() || word[0] != 'a')
      refuse("a layout has an unknown word", text, "levels such as a0, a1/32, a1+1+1");
    word.remove_prefix(1);
    const size_t plus = word.find('+');
    if (plus != std::string_view::npos) {
      const std::string_view rest = word.substr(plus + 1);
      const size_t second = rest.find('+');
      if (second == std::string_view::npos) refuse("a margin needs two numbers", text, "a1+1+1");
      margins.emplace_back(
          0, Layout::Margin{number_of(rest.substr(0, second), text), number_of(rest.substr(second + 1), text)});
      word = word.substr(0, plus);
    }
    const size_t slash = word.find('/');
    const int axis = static_cast<int>(number_of(word.substr(0, slash), text));
    const int64_t block = slash == std::string_view::npos ? 1 : number_of(word.substr(slash + 1), text);
    if (block < 1 || axis > 63) refuse("a layout has a bad level", text, "blocks from 1, axes to 63");
    if (plus != std::string_view::npos) margins.back().first = axis;
    layout.levels.push_back({axis, block});
    rank = std::max(rank, axis + 1);
  }
  if (!margins.empty()) layout.margins.resize(static_cast<size_t>(rank));
  for (const auto& [axis, margin] : margins) layout.margins[static_cast<size_t>(axis)] = margin;
  return layout;
}

Storage make_storage(DType dtype, const std::vector<int64_t>& shape, const Layout& layout) {
  Storage storage;
  storage.dtype = dtype;
  storage.axes.resize(shape.size());
  std::vector<int64_t> widths = shape;
  for (size_t a = 0; a < layout.margins.size(); ++a) widths[a] += layout.margins[a].before + layout.margins[a].after;
  std::vector<int64_t> extents;
  for (const Layout::Level& level : layout.levels) {
    const int64_t width = widths[static_cast<size_t>(level.axis)];
    int64_t block = 0;
    if (is_split(layout, level.axis))
      for (const Layout::Level& other : layout.levels)
        if (other.axis == level.axis && other.block != 1) block = other.block;
    extents.push_back(block == 0 ? width : level.block == 1 ? block : (width + block - 1) / block);
  }
  storage.elements = element_count(extents);
  int64_t stride = 1;
  for (size_t i = layout.levels.size(); i-- > 0;) {
    const Layout::Level& level = layout.levels[i];
    Storage::AxisStep& step = storage.axes[static_cast<size_t>(level.axis)];
    if (level.block == 1)
      step.stride = stride;
    else
      step.block = level.block, step.block_stride = stride;
    stride *= extents[i];
  }
  for (size_t a = 0; a < layout.margins.size(); ++a) {
    FRIT_CHECK(layout.margins[a].before == 0 || storage.axes[a].block == 0, "a split axis has no margin before it");
    storage.offset += layout.margins[a].before * storage.axes[a].stride;
  }
  return storage;
}

Storage make_box(const Storage& whole, const std::vector<int64_t>& offset, const std::vector<int64_t>& step) {
  Storage box = whole;
  for (size_t a = 0; a < offset.size(); ++a) {
    FRIT_CHECK(box.axes[a].block == 0 || (offset[a] == 0 && step[a] == 1), "a box cuts a split axis");
    box.offset += offset[a] * box.axes[a].stride;
    box.axes[a].stride *= step[a];
  }
  return box;
}

bool is_dense(const Storage& storage, const std::vector<int64_t>& shape) {
  int64_t stride = 1;
  for (size_t a = shape.size(); a-- > 0;) {
    if (storage.axes[a].block != 0 || (shape[a] != 1 && storage.axes[a].stride != stride)) return false;
    stride *= shape[a];
  }
  return storage.offset == 0;
}

}  // namespace frit
