#include <fmt/format.h>

#include <charconv>

#include "compiler/plan/template.h"
#include "support/error.h"

namespace frit {
namespace {

std::string hex_of(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::string constants_text(std::string_view name, const std::vector<ConstantSource>& constants) {
  std::string text = fmt::format("{} {}\n", name, constants.size());
  for (const ConstantSource& constant : constants) {
    switch (constant.kind) {
      case ConstantSource::Kind::Weight:
        text += fmt::format("weight {}\n", constant.index);
        break;
      case ConstantSource::Kind::Init:
        text += fmt::format("init {}\n", constant.index);
        break;
      case ConstantSource::Kind::Small:
        text += fmt::format("small x{}\n", hex_of(constant.bytes));
        break;
    }
  }
  return text;
}

// Words of a text that nobody vouches for.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(std::string_view expected) const {
    throw InputError(Finding{.where = "plan template",
                             .what = "not a template",
                             .excerpt = {},
                             .got = std::string(text_.substr(0, 60)),
                             .expected = std::string(expected),
                             .fix = {},
                             .from = {}});
  }
  std::string_view word() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
    const size_t end = std::min(text_.find_first_of(" \n"), text_.size());
    const std::string_view word = text_.substr(0, end);
    text_.remove_prefix(end);
    return word;
  }
  void need(std::string_view expected) {
    if (word() != expected) fail(expected);
  }
  template <class Number>
  Number number() {
    const std::string_view digits = word();
    Number value{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) fail("a number");
    return value;
  }
  int count(int64_t limit) {
    const int64_t value = number<int64_t>();
    if (value < 0 || value > limit) fail(fmt::format("a count up to {}", limit));
    return static_cast<int>(value);
  }
  int64_t rest() const { return static_cast<int64_t>(text_.size()); }
  std::string_view block() {
    const size_t size = static_cast<size_t>(count(rest()));
    if (text_.size() < size + 1) fail("a longer text");
    const std::string_view block = text_.substr(1, size);
    text_.remove_prefix(size + 1);
    return block;
  }
  std::string bytes() {
    std::string_view hex = word();
    if (hex.empty() || hex[0] != 'x' || hex.size() % 2 != 1 || hex.size() > 2 * kSmallConstantBytes + 1)
      fail("bytes in hexadecimal");
    hex.remove_prefix(1);
    std::string bytes;
    for (; !hex.empty(); hex.remove_prefix(2)) {
      unsigned value = 0;
      const auto [end, error] = std::from_chars(hex.data(), hex.data() + 2, value, 16);
      if (error != std::errc() || end != hex.data() + 2) fail("bytes in hexadecimal");
      bytes += static_cast<char>(value);
    }
    return bytes;
  }

 private:
  std::string_view text_;
};

std::vector<ConstantSource> read_constants(Reader& in, std::string_view name) {
  in.need(name);
  std::vector<ConstantSource> constants(static_cast<size_t>(in.count(in.rest())));
  for (ConstantSource& constant : constants) {
    const std::string_view kind = in.word();
    if (kind == "small") {
      constant.bytes = in.bytes();
    } else if (kind == "weight" || kind == "init") {
      constant.kind = kind == "weight" ? ConstantSource::Kind::Weight : ConstantSource::Kind::Init;
      constant.index = in.count(1 << 30);
    } else {
      in.fail("weight, init or small");
    }
  }
  return constants;
}

// What a plan's constants must be: of the right number, and of the size that the plan reads.
void check_constants(const Reader& in, const runtime::Plan& plan, const std::vector<ConstantSource>& constants,
                     const PlanTemplate& whole) {
  if (static_cast<int>(constants.size()) != plan.count_of(runtime::StorageKind::Constant))
    in.fail("as many constants as the plan has");
  for (const runtime::Storage& storage : plan.storages) {
    if (storage.kind != runtime::StorageKind::Constant) continue;
    const ConstantSource& constant = constants[static_cast<size_t>(storage.at)];
    const bool is_small = constant.kind == ConstantSource::Kind::Small;
    if (is_small && static_cast<int64_t>(constant.bytes.size()) < storage.bytes) in.fail("bytes of a small constant");
    if (constant.kind == ConstantSource::Kind::Weight && constant.index >= whole.weights) in.fail("a weight");
    if (constant.kind == ConstantSource::Kind::Init &&
        constant.index >= whole.init.count_of(runtime::StorageKind::Output))
      in.fail("an output of the init plan");
  }
}

}  // namespace

std::string print_template(const PlanTemplate& plan) {
  std::string text = fmt::format("template 1\nweights {}\n", plan.weights);
  text += constants_text("init_constants", plan.init_constants);
  text += constants_text("main_constants", plan.main_constants);
  text += fmt::format("costs {}\n", plan.costs.size());
  for (const PlanTemplate::Cost& cost : plan.costs) text += fmt::format("{} {}\n", cost.flops, cost.bytes);
  const std::string init = print_plan(plan.init), main = print_plan(plan.main);
  return text + fmt::format("init {}\n{}main {}\n{}", init.size(), init, main.size(), main);
}

PlanTemplate parse_template(std::string_view text) {
  Reader in(text);
  PlanTemplate plan;
  in.need("template");
  in.need("1");
  in.need("weights");
  plan.weights = in.count(1 << 30);
  plan.init_constants = read_constants(in, "init_constants");
  plan.main_constants = read_constants(in, "main_constants");
  in.need("costs");
  plan.costs.resize(static_cast<size_t>(in.count(in.rest())));
  for (PlanTemplate::Cost& cost : plan.costs) {
    cost.flops = in.number<double>();
    cost.bytes = in.number<double>();
  }
  in.need("init");
  plan.init = runtime::parse_plan(in.block());
  in.need("main");
  plan.main = runtime::parse_plan(in.block());
  check_constants(in, plan.init, plan.init_constants, plan);
  check_constants(in, plan.main, plan.main_constants, plan);
  if (plan.costs.size() != plan.main.launches.size()) in.fail("one cost for each launch");
  for (const ConstantSource& constant : plan.init_constants) {
    if (constant.kind == ConstantSource::Kind::Init) in.fail("no result of the init plan inside it");
  }
  for (const runtime::Plan* part : {&plan.init, &plan.main}) {
    if (!verify_plan(*part).empty()) in.fail("a plan without findings");
  }
  return plan;
}

}  // namespace frit
