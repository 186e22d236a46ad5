#include <fmt/format.h>

#include <charconv>

#include "runtime/disk_cache.h"
#include "runtime/plan.h"

namespace frit::runtime {
namespace {

constexpr std::string_view kKindNames[] = {"arena", "constant", "input", "output"};
constexpr std::string_view kAccessNames[] = {"", "r", "w", "rw"};

std::string quote(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      text += c;
    }
  }
  return text + "\"";
}

/// Words, numbers and quoted names of a text; every failure names the line.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(std::string_view expected) const {
    throw InputError(
        Finding{.where = fmt::format("plan:{}", line_),
                .what = "not a plan",
                .excerpt = {},
                .got = text_.empty() ? "the end" : std::string(text_.substr(0, text_.find('\n')).substr(0, 80)),
                .expected = std::string(expected),
                .fix = {},
                .from = {}});
  }

  void skip_spaces() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) {
      if (text_[0] == '\n') ++line_;
      text_.remove_prefix(1);
    }
  }
  bool at_end() {
    skip_spaces();
    return text_.empty();
  }
  /// Takes the word if it comes next.
  bool take(std::string_view word) {
    skip_spaces();
    if (!text_.starts_with(word)) return false;
    if (text_.size() > word.size() && is_word(text_[word.size()]) && is_word(word.back())) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  void need(std::string_view word) {
    if (!take(word)) fail(word);
  }
  bool at_number() {
    skip_spaces();
    return !text_.empty() && (text_[0] == '-' || (text_[0] >= '0' && text_[0] <= '9'));
  }
  int64_t number() {
    skip_spaces();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) fail("a number of 64 bits");
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return value;
  }
  int32_t small_number() {
    const int64_t value = number();
    if (value != static_cast<int32_t>(value)) fail("a number of 32 bits");
    return static_cast<int32_t>(value);
  }
  Digest digest() {
    skip_spaces();
    const auto value = Digest::from_hex(text_.substr(0, 32));
    if (!value) fail("32 hexadecimal digits");
    text_.remove_prefix(32);
    return *value;
  }
  std::string name() {
    need("\"");
    std::string value;
    while (true) {
      if (text_.empty() || text_[0] == '\n') fail("a closing quote");
      const char c = text_[0];
      text_.remove_prefix(1);
      if (c == '"') return value;
      value += c == '\\' ? escaped() : c;
    }
  }

 private:
  static bool is_word(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

  char escaped() {
    if (text_.empty()) fail("an escaped character");
    const char c = text_[0];
    text_.remove_prefix(1);
    if (c != 'x') return c;
    int value = 0;
    if (text_.size() < 2) fail("two hexadecimal digits");
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + 2, value, 16);
    if (error != std::errc() || end != text_.data() + 2) fail("two hexadecimal digits");
    text_.remove_prefix(2);
    return static_cast<char>(value);
  }

  std::string_view text_;
  int line_ = 1;
};

StorageKind read_kind(Reader& in) {
  for (int k = 0; k < 4; ++k) {
    if (in.take(kKindNames[k])) return static_cast<StorageKind>(k);
  }
  in.fail("arena, constant, input or output");
}

Storage read_storage(Reader& in) {
  Storage storage;
  storage.kind = read_kind(in);
  storage.at = in.number();
  in.need("bytes");
  storage.bytes = in.number();
  storage.is_donated = in.take("donated");
  storage.name = in.name();
  return storage;
}

bool read_argument(Reader& in, Argument& argument) {
  // Letters and number stand together, "rw3+64", so the letters are no words of their own.
  if (in.take("rw"))
    argument.access = Access::ReadWrite;
  else if (in.take("r"))
    argument.access = Access::Read;
  else if (in.take("w"))
    argument.access = Access::Write;
  else
    return false;
  argument.storage = in.small_number();
  in.need("+");
  argument.offset = in.number();
  return true;
}

Launch read_launch(Reader& in) {
  Launch launch;
  launch.name = in.name();
  in.need("kernel");
  launch.kernel = in.small_number();
  in.need("tiles");
  launch.tiles = in.number();
  in.need("scratch");
  launch.scratch_bytes = in.number();
  launch.is_serial = in.take("serial");
  launch.waits = in.take("waits");
  launch.keeps_shares = in.take("keeps_shares");
  in.need("arguments");
  for (Argument argument; read_argument(in, argument);) launch.arguments.push_back(argument);
  in.need("dims");
  while (in.at_number()) launch.dims.push_back(in.number());
  return launch;
}

}  // namespace

std::string print_plan(const Plan& plan) {
  std::string text = fmt::format("plan 1\narena {}\n", plan.arena_bytes);
  const auto add = [&](const std::string& line) { text += line; };
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    add(fmt::format("kernel {} {} {}\n", i, quote(plan.kernels[i].name), plan.kernels[i].key.hex()));
  }
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    const Storage& storage = plan.storages[i];
    add(fmt::format("storage {} {} {} bytes {}{} {}\n", i, kKindNames[static_cast<int>(storage.kind)], storage.at,
                    storage.bytes, storage.is_donated ? " donated" : "", quote(storage.name)));
  }
  for (const Launch& launch : plan.launches) {
    add(fmt::format("launch {} kernel {} tiles {} scratch {}{}{}{}\n  arguments", quote(launch.name), launch.kernel,
                    launch.tiles, launch.scratch_bytes, launch.is_serial ? " serial" : "", launch.waits ? " waits" : "",
                    launch.keeps_shares ? " keeps_shares" : ""));
    for (const Argument& argument : launch.arguments) {
      add(fmt::format(" {}{}+{}", kAccessNames[static_cast<int>(argument.access)], argument.storage, argument.offset));
    }
    text += "\n  dims";
    for (const int64_t dim : launch.dims) add(fmt::format(" {}", dim));
    text += "\n";
  }
  return text;
}

Plan parse_plan(std::string_view text) {
  Reader in(text);
  Plan plan;
  in.need("plan");
  if (in.number() != 1) in.fail("version 1");
  in.need("arena");
  plan.arena_bytes = in.number();
  while (!in.at_end()) {
    if (in.take("kernel")) {
      if (in.number() != static_cast<int64_t>(plan.kernels.size())) in.fail("kernels in order");
      std::string name = in.name();
      plan.kernels.push_back({std::move(name), in.digest()});
    } else if (in.take("storage")) {
      if (in.number() != static_cast<int64_t>(plan.storages.size())) in.fail("storages in order");
      plan.storages.push_back(read_storage(in));
    } else if (in.take("launch")) {
      plan.launches.push_back(read_launch(in));
    } else {
      in.fail("kernel, storage or launch");
    }
  }
  return plan;
}

bool store_plan(DiskCache& disk, const Digest& key, const Plan& plan) {
  return disk.put("plan", key, print_plan(plan));
}

std::optional<Plan> load_plan(DiskCache& disk, const Digest& key) {
  const std::optional<std::string> text = disk.get("plan", key);
  if (!text) return std::nullopt;
  try {
    Plan plan = parse_plan(*text);
    if (!verify_plan(plan).empty()) return std::nullopt;
    return plan;
  } catch (const InputError&) {
    return std::nullopt;  // written by a build with another form of plans
  }
}

}  // namespace frit::runtime
