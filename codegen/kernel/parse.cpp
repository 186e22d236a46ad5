#include <fmt/format.h>

#include <bit>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <map>
#include <optional>

#include "codegen/kernel/builder.h"
#include "support/error.h"

namespace frit::kernel {
namespace {

struct Token {
  std::string_view text;  // empty at the end
  size_t at = 0;
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("_%.+-").find(c) != std::string_view::npos;
}

}  // namespace

class KernelParser {
 public:
  explicit KernelParser(std::string_view text) : text_(text), b_("") {
    if (text.size() > 10 * kMaxTextBytes) fail("text too long", "at most 1 MB");
    advance();
  }

  Kernel parse() {
    expect("kernel");
    b_.kernel_.name = string();
    if (take("from")) b_.kernel_.origin = string();
    expect("{");
    while (true) {
      if (take("buffer")) {
        buffer();
      } else if (take("dim")) {
        b_.add_dim(string());
      } else {
        break;
      }
    }
    region();
    if (!token_.text.empty()) fail("text after the kernel", "the end");
    const auto findings = verify(b_.kernel_);
    if (!findings.empty())
      throw InputError(Finding{.where = "kernel " + b_.kernel_.name,
                               .what = findings[0],
                               .excerpt = {},
                               .got = {},
                               .expected = {},
                               .fix = {},
                               .from = {}});
    return std::move(b_.kernel_);
  }

 private:
  // Words.

  [[noreturn]] void fail(const std::string& what, const std::string& expected) {
    size_t line = 1, column = 1;
    for (size_t n = 0; n < token_.at && n < text_.size(); ++n) {
      column = text_[n] == '\n' ? 1 : column + 1;
      line += text_[n] == '\n';
    }
    throw InputError(Finding{.where = fmt::format("kernel:{}:{}", line, column),
                             .what = what,
                             .excerpt = {},
                             .got = token_.text.empty() ? "the end" : std::string(token_.text.substr(0, 40)),
                             .expected = expected,
                             .fix = {},
                             .from = {}});
  }

  void advance() {
    while (next_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[next_]))) ++next_;
    const size_t start = next_;
    if (next_ < text_.size() && text_[next_] == '"') {
      next_ = text_.find('"', next_ + 1);
      next_ = next_ == std::string_view::npos ? text_.size() : next_ + 1;
    } else if (next_ < text_.size() && is_word(text_[next_])) {
      while (next_ < text_.size() && is_word(text_[next_])) ++next_;
    } else if (next_ < text_.size()) {
      ++next_;
    }
    token_ = {text_.substr(start, next_ - start), start};
  }
  bool take(std::string_view word) {
    if (token_.text != word) return false;
    advance();
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) fail("unexpected word", std::string(word));
  }
  std::string string() {
    const std::string_view t = token_.text;
    if (t.size() < 2 || t.front() != '"' || t.back() != '"') fail("unexpected word", "a name in quotes");
    advance();
    return std::string(t.substr(1, t.size() - 2));
  }
  std::string word(const std::string& what) {
    if (token_.text.empty() || !is_word(token_.text[0])) fail("unexpected word", what);
    std::string text(token_.text);
    advance();
    return text;
  }
  template <class Number>
  std::optional<Number> number_of(std::string_view text) {
    Number value{};
    int base = 10;
    if (text.starts_with("0x")) {
      text.remove_prefix(2);
      base = 16;
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  }
  int number(int low, int high) {
    const auto value = number_of<int>(token_.text);
    if (!value || *value < low || *value > high) fail("bad number", fmt::format("{} to {}", low, high));
    advance();
    return *value;
  }

  Type type() {
    const Token start = token_;
    const std::string text = word("a type");
    if (text == "ptr") return pointer();
    const size_t x = text.find('x');
    const auto dtype = dtype_from_name(text.substr(0, x));
    const auto lanes = x == std::string::npos ? std::optional(1) : number_of<int>(std::string_view(text).substr(x + 1));
    if (!dtype || !lanes || *lanes < 1 || *lanes > kMaxLanes) {
      token_ = start;
      fail("no type", "f32, i64x8, ptr, ..");
    }
    return vector_of(*dtype, *lanes);
  }

  // Parts.

  void buffer() {
    BufferParam b;
    b.name = string();
    b.dtype = type().dtype;
    b.written = take("written");
    expect("align");
    b.alignment = number(1, 4096);
    b.restricted = !take("overlapping");
    b_.add_buffer(std::move(b));
  }

  uint64_t constant_bits(const std::string& text, DType dtype) {
    if (!is_float(dtype) && is_signed(dtype)) {
      if (const auto value = number_of<int64_t>(text)) return mask_bits(dtype, static_cast<uint64_t>(*value));
    } else if (!is_float(dtype) || text.starts_with("0x")) {
      if (const auto bits = number_of<uint64_t>(text)) return mask_bits(dtype, *bits);
    } else {
      char* end = nullptr;
      const uint64_t bits = dtype == DType::F32 ? std::bit_cast<uint32_t>(std::strtof(text.c_str(), &end))
                                                : std::bit_cast<uint64_t>(std::strtod(text.c_str(), &end));
      if (end == text.c_str() + text.size()) return bits;
    }
    fail("no constant of " + std::string(frit::name(dtype)), "a number");
  }

  int position(std::string_view text, size_t count) {
    const auto value = number_of<int>(text);
    if (!value || *value < 0 || static_cast<size_t>(*value) >= count)
      fail("no such buffer or dim", "one declared above");
    return *value;
  }

  Value operand() {
    const Token start = token_;
    const std::string text = word("an operand");
    if (text[0] == '%') {
      const auto found = values_.find(text);
      if (found != values_.end()) return found->second;
      token_ = start;
      fail("value is not defined", "one defined above");
    }
    if (text == "begin") return b_.begin();
    if (text == "end") return b_.end();
    if (text == "scratch") return b_.scratch();
    if (text.starts_with("buf"))
      return b_.buffer(position(std::string_view(text).substr(3), b_.kernel_.buffers.size()));
    if (text.starts_with("dim")) return b_.dim(position(std::string_view(text).substr(3), b_.kernel_.dims.size()));
    expect(":");
    const Type t = type();
    if (text == "iota") return b_.iota(t);
    return b_.constant_bits(t, constant_bits(text, t.dtype));
  }

  std::vector<Value> operands() {
    std::vector<Value> list;
    const bool starts = !token_.text.empty() && is_word(token_.text[0]) && !is_start_of_line();
    if (!starts || token_.text == "align" || token_.text == "mask" || token_.text == "lane") return list;
    do {
      list.push_back(operand());
    } while (take(","));
    return list;
  }
  // Whether the present word is the first of its line.
  bool is_start_of_line() const {
    size_t n = token_.at;
    while (n > 0 && (text_[n - 1] == ' ' || text_[n - 1] == '\t')) --n;
    return n == 0 || text_[n - 1] == '\n';
  }

  struct Named {
    std::string name;
    Type type;
  };

  void region() {
    if (b_.depth() > 64) fail("nested too deep", "at most 64 regions");
    while (!take("}")) {
      if (token_.text.empty()) fail("a region does not end", "}");
      line();
    }
  }

  // Up to the yield, which the caller's end_loop, begin_else or end_if emits.
  std::vector<Value> region_with_yield() {
    if (b_.depth() > 64) fail("nested too deep", "at most 64 regions");
    while (token_.text != "yield") {
      if (token_.text.empty() || token_.text == "}") fail("a region without yield", "yield");
      line();
    }
    advance();
    std::vector<Value> list = operands();
    expect("}");
    return list;
  }

  void line() {
    std::vector<Named> results;
    while (!token_.text.empty() && token_.text[0] == '%') {
      std::string name = word("a value");
      expect(":");
      results.push_back({std::move(name), type()});
      if (!take(",")) {
        expect("=");
        break;
      }
    }
    const Token start = token_;
    const std::string what = word("an instruction");
    if (what == "loop") return loop(results);
    if (what == "if") return branch(results);
    const auto [code, op] = instruction_named(what, start);
    emit(code, op, results, start);
  }

  std::pair<Code, Op> instruction_named(std::string_view text, const Token& start) {
    for (int c = static_cast<int>(Code::CastInRange); c < static_cast<int>(Code::Loop); ++c)
      if (name(static_cast<Code>(c)) == text) return {static_cast<Code>(c), Op::Add};
    for (int o = 0; o <= static_cast<int>(Op::Fma); ++o)
      if (is_primitive(static_cast<Op>(o)) && frit::name(static_cast<Op>(o)) == text)
        return {Code::Arith, static_cast<Op>(o)};
    token_ = start;
    fail("no instruction of this name", "an instruction");
  }

  void emit(Code code, Op op, const std::vector<Named>& results, const Token& start) {
    std::vector<Value> list = operands();
    Type t = results.empty() ? Type{} : results[0].type;
    const bool writes = code == Code::Store || code == Code::MaskedStore || code == Code::Scatter;
    if (writes && !list.empty()) t = b_.type(list.back());
    uint64_t bits = 0;
    if (take("lane")) bits = static_cast<uint64_t>(number(0, kMaxLanes - 1));
    if (take("align")) bits = static_cast<uint64_t>(number(1, 4096));
    if (take("mask")) {
      bits = b_.kernel_.mask_pool.size();
      for (int n = 0; n < t.lanes; ++n) b_.kernel_.mask_pool.push_back(number(0, 2 * kMaxLanes - 1));
    }
    const Value v = b_.emit(code, t, list, bits, op);
    if (results.size() != (v ? 1 : 0)) {
      token_ = start;
      fail("wrong number of results", v ? "one" : "none");
    }
    if (v) values_[results[0].name] = v;
  }

  void loop(const std::vector<Named>& results) {
    const std::string counter = word("a value");
    expect("=");
    const Value begin = operand();
    expect("to");
    const Value end = operand();
    expect("step");
    const Value step = operand();
    std::vector<std::string> names;
    std::vector<Value> inits;
    if (take("carry")) {
      do {
        names.push_back(word("a value"));
        expect("=");
        inits.push_back(operand());
      } while (take(","));
    }
    const bool once = take("once");
    expect("{");
    const Builder::Loop loop = b_.begin_loop(begin, end, step, inits, once);
    values_[counter] = loop.i;
    for (size_t n = 0; n < names.size(); ++n) values_[names[n]] = loop.carried[n];
    const std::vector<Value> yields = region_with_yield();
    if (yields.size() != inits.size()) fail("wrong number of values yielded", std::to_string(inits.size()));
    name_results(results, b_.end_loop(yields));
  }

  void branch(const std::vector<Named>& results) {
    b_.begin_if(operand());
    expect("{");
    b_.begin_else(region_with_yield());
    expect("else");
    expect("{");
    name_results(results, b_.end_if(region_with_yield()));
  }

  void name_results(const std::vector<Named>& names, const std::vector<Value>& values) {
    if (names.size() != values.size()) fail("wrong number of results", std::to_string(values.size()));
    for (size_t n = 0; n < names.size(); ++n) values_[names[n].name] = values[n];
  }

  std::string_view text_;
  Builder b_;
  size_t next_ = 0;
  Token token_;
  std::map<std::string, Value> values_;
};

Kernel parse_kernel(std::string_view text) { return KernelParser(text).parse(); }

}  // namespace frit::kernel
