#include "ir/text_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "support/error.h"

namespace frit {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_char(char c) { return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The number after a prefix as in x12; nothing for other words.
std::optional<int> numbered(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix) || word.size() == prefix.size()) return std::nullopt;
  int value = 0;
  const char* end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data() + prefix.size(), end, value);
  if (error != std::errc() || at != end || value < 0 || value > 1'000'000) return std::nullopt;
  return value;
}

const std::map<std::string_view, Op>& calls() {
  static const auto* table = [] {
    auto* t = new std::map<std::string_view, Op>;
    for (int op = static_cast<int>(Op::Read) + 1; op <= static_cast<int>(Op::Fma); ++op)
      if (const auto o = static_cast<Op>(op); o != Op::Cast && o != Op::BitCast) t->emplace(name(o), o);
    return t;
  }();
  return *table;
}

struct Infix {
  std::string_view text;
  Op op;
};
// Levels as in print.cpp, weakest first; longer tokens before their beginnings.
constexpr Infix kLevels[][4] = {
    {{"or", Op::Or}},
    {{"and", Op::And}},
    {{"==", Op::Eq}, {"!=", Op::Ne}, {"<=", Op::Le}, {"<", Op::Lt}},
    {{"+", Op::Add}, {"-", Op::Sub}},
    {{"*", Op::Mul}, {"//", Op::FloorDiv}, {"/", Op::Div}, {"%", Op::Mod}},
};
constexpr int kCompareLevel = 2;
constexpr int kLevelCount = 5;

}  // namespace

struct TextReader::Depth {
  explicit Depth(TextReader& reader) : reader_(reader) {
    if (++reader_.depth_ > kDeepest) reader_.fail("too deeply nested");
  }
  ~Depth() { --reader_.depth_; }
  TextReader& reader_;
};

void TextReader::fail(std::string what, std::string got, std::string expected) const {
  const size_t at = std::min(at_, text_.size());
  const size_t begin = at == 0 ? 0 : text_.rfind('\n', at - 1) + 1;  // npos + 1 is 0
  const size_t end = std::min(text_.find('\n', at), text_.size());
  const auto line = std::count(text_.begin(), text_.begin() + static_cast<int64_t>(begin), '\n') + 1;
  const size_t from = at - begin > 70 ? at - 50 : begin;
  const std::string prefix = fmt::format("  {} | ", line);
  std::string excerpt = prefix + std::string(text_.substr(from, std::min<size_t>(end - from, 110))) + "\n";
  excerpt += std::string(prefix.size() - 2, ' ') + "| " + std::string(at - from, ' ') + "^";
  throw InputError(Finding{.where = fmt::format("text:{}:{}", line, at - begin + 1),
                           .what = std::move(what),
                           .excerpt = std::move(excerpt),
                           .got = std::move(got),
                           .expected = std::move(expected),
                           .fix = {},
                           .from = {}});
}

void TextReader::skip_blanks() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
    ++at_;
}

bool TextReader::at_end() {
  skip_blanks();
  return at_ >= text_.size();
}

bool TextReader::peek(std::string_view token) {
  skip_blanks();
  return text_.substr(at_).starts_with(token);
}

bool TextReader::accept(std::string_view token) {
  if (!peek(token)) return false;
  at_ += token.size();
  return true;
}

void TextReader::expect(std::string_view token) {
  if (!accept(token))
    fail("unexpected text", at_ < text_.size() ? std::string(text_.substr(at_, 1)) : "the end", std::string(token));
}

std::string_view TextReader::word() {
  skip_blanks();
  if (is_digit(next())) return {};
  const size_t start = at_;
  while (at_ < text_.size() && is_word_char(text_[at_])) ++at_;
  return text_.substr(start, at_ - start);
}

bool TextReader::accept_word(std::string_view wanted) {
  skip_blanks();
  const size_t start = at_;
  if (word() == wanted) return true;
  at_ = start;
  return false;
}

void TextReader::expect_word(std::string_view wanted) {
  if (!accept_word(wanted))
    fail("unexpected text", std::string(text_.substr(std::min(at_, text_.size()), 8)), std::string(wanted));
}

bool TextReader::on_same_line() {
  skip_blanks();
  for (size_t at = at_; at > 0; --at) {
    const char c = text_[at - 1];
    if (c == '\n') return false;
    if (c != ' ' && c != '\t' && c != '\r') return true;
  }
  return true;
}

int64_t TextReader::integer() {
  skip_blanks();
  int64_t value = 0;
  const char* begin = text_.data() + at_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error != std::errc()) fail("a number is needed");
  at_ += static_cast<size_t>(end - begin);
  return value;
}

std::string TextReader::escaped(char end) {
  std::string out;
  while (at_ < text_.size() && text_[at_] != end && text_[at_] != '\n') {
    char c = text_[at_++];
    if (c == '\\') {
      c = next();
      ++at_;
      if (c == 'x') {
        unsigned value = 0;
        const std::string_view digits = text_.substr(std::min(at_, text_.size()), 2);
        const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (error != std::errc() || stop != digits.data() + 2) fail("a bad escape");
        at_ += 2;
        c = static_cast<char>(value);
      } else if (c != '\\' && c != '"' && c != '}') {
        fail("a bad escape");
      }
    }
    out += c;
  }
  return out;
}

std::string TextReader::string() {
  expect("\"");
  std::string out = escaped('"');
  if (next() != '"') fail("a string does not end");
  ++at_;
  return out;
}

std::string TextReader::rest_of_line() {
  std::string out = escaped('\n');
  const size_t first = out.find_first_not_of(' ');
  return first == std::string::npos ? std::string() : out.substr(first);
}

DType TextReader::dtype() {
  const std::string_view text = word();
  const auto found = dtype_from_name(text);
  if (!found) fail("not a dtype", std::string(text), "such as f32");
  return *found;
}

std::string_view TextReader::element() {
  skip_blanks();
  const size_t start = at_;
  while (at_ < text_.size() &&
         (is_word_char(text_[at_]) || text_[at_] == '.' || text_[at_] == '-' || text_[at_] == '+'))
    ++at_;
  if (at_ == start) fail("a number is needed");
  return text_.substr(start, at_ - start);
}

bool TextReader::at_binding() {
  skip_blanks();
  const size_t start = at_;
  const bool yes = numbered(word(), "t") && accept("=") && next() != '=';
  at_ = start;
  return yes;
}

void TextReader::bind(const ExprNames& names) {
  const std::string name(word());
  if (!numbered(name, "t")) fail("not a name to bind", name, "such as t0");
  expect("=");
  lets_.insert_or_assign(name, expression(names));
}

Expr TextReader::expression(const ExprNames& names) {
  names_ = &names;
  return binary_level(0);
}

bool TextReader::accept_operator(std::string_view token) {
  if (is_word_char(token[0])) return accept_word(token);
  if (token == "-" && peek("->")) return false;
  if (token == "%" && !on_same_line()) return false;  // the next node
  return accept(token);
}

Expr TextReader::binary_level(int level) {
  if (level == kLevelCount) return prefix();
  const Depth depth(*this);
  Expr left = binary_level(level + 1);
  while (true) {
    const Infix* found = nullptr;
    for (const Infix& infix : kLevels[level])
      if (!found && !infix.text.empty() && accept_operator(infix.text)) found = &infix;
    if (!found) return left;
    const Expr args[] = {left, binary_level(level + 1)};
    left = make(found->op, is_comparison(found->op) ? DType::Bool : args[0].dtype(), args);
    if (level == kCompareLevel) return left;
  }
}

Expr TextReader::make(Op op, DType dtype, std::span<const Expr> args, uint64_t bits) {
  if (const std::string error = type_error(op, dtype, args); !error.empty()) fail("operands do not fit", error);
  return Expr::make(op, dtype, args, bits);
}

Expr TextReader::prefix() {
  if (!accept("-")) return atom();
  const size_t start = at_;
  const bool infinite = !is_digit(next()) && [&] {
    const std::string_view text = word();
    return text == "inf" || text.starts_with("inf_");
  }();
  at_ = start;
  if (infinite || is_digit(next())) return literal(true);
  const Depth depth(*this);
  const Expr arg = prefix();
  return make(Op::Neg, arg.dtype(), std::span(&arg, 1));
}

Expr TextReader::literal(bool negative) {
  skip_blanks();
  const size_t start = at_;
  bool real = false;
  if (is_digit(next())) {
    while (is_digit(next()) || next() == '.' || next() == 'e' ||
           ((next() == '-' || next() == '+') && text_[at_ - 1] == 'e')) {
      real |= next() == '.' || next() == 'e';
      ++at_;
    }
  } else {
    at_ += 3;  // inf, nan
    real = true;
  }
  const std::string digits = (negative ? "-" : "") + std::string(text_.substr(start, at_ - start));
  DType type = real ? DType::F32 : DType::I64;
  if (next() == '_') {
    ++at_;
    type = dtype();
  }
  const char* end = digits.data() + digits.size();
  const auto whole = [&](const std::from_chars_result& r) {
    if (r.ptr != end || r.ec != std::errc()) fail("not a number of this dtype", digits, std::string(name(type)));
  };
  if (type == DType::F32) {
    float value = 0;
    whole(std::from_chars(digits.data(), end, value));
    return constant(type, value);
  }
  if (type == DType::F64) {
    double value = 0;
    whole(std::from_chars(digits.data(), end, value));
    return constant(type, value);
  }
  if (real || !is_integer(type)) fail("not a number of this dtype", digits, std::string(name(type)));
  if (type == DType::U64) {
    uint64_t value = 0;
    whole(std::from_chars(digits.data(), end, value));
    return constant_int(type, static_cast<int64_t>(value));
  }
  int64_t value = 0;
  whole(std::from_chars(digits.data(), end, value));
  const Expr e = constant_int(type, value);
  if (e.int_value() != value) fail("not a number of this dtype", digits, std::string(name(type)));
  return e;
}

std::vector<Expr> TextReader::arguments(char end) {
  std::vector<Expr> args;
  const std::string_view stop = end == ']' ? "]" : ")";
  if (accept(stop)) return args;
  do args.push_back(binary_level(0));
  while (accept(","));
  expect(stop);
  return args;
}

Expr TextReader::atom() {
  const Depth depth(*this);
  skip_blanks();
  const size_t start = at_;
  if (is_digit(next())) return literal(false);
  if (accept("(")) {
    const Expr inner = binary_level(0);
    if (accept(")")) return inner;
    const bool conditional = accept_word("if");
    return guarded(inner, conditional);
  }
  if (accept("$")) {
    if (next() != '{') {
      const std::string_view name = word();
      if (name.empty()) fail("a symbol has a name");
      return symbol(name);
    }
    ++at_;
    const std::string name = escaped('}');
    expect("}");
    return symbol(name);
  }
  const std::string_view text = word();
  if (text.empty()) fail("an expression is needed");
  return named(text, start);
}

Expr TextReader::guarded(const Expr& plain, bool with_condition) {
  const Expr condition = with_condition ? binary_level(0) : true_value();
  expect_word("else");
  const Expr fill = binary_level(0);
  expect(")");
  if (plain.op() != Op::Read || plain.is_guarded()) fail("only a read has a guard");
  if (condition.dtype() != DType::Bool || fill.dtype() != plain.dtype())
    fail("the parts of a guarded read do not fit",
         fmt::format("{} if {} else {}", name(plain.dtype()), name(condition.dtype()), name(fill.dtype())));
  return guarded_read(plain.dtype(), plain.slot(), plain.positions(), condition, fill);
}

Expr TextReader::read(int slot) {
  const auto& slots = names_->slot_dtypes;
  if (!slots.empty() && static_cast<size_t>(slot) >= slots.size()) fail("no such operand");
  DType type = slots.empty() ? DType::F32 : compute_dtype(slots[static_cast<size_t>(slot)]);
  if (accept(":")) type = dtype();
  expect("[");
  const std::vector<Expr> positions = arguments(']');
  for (const Expr& p : positions)
    if (p.dtype() != DType::I64) fail("a position is an i64", std::string(name(p.dtype())));
  return frit::read(type, slot, positions);
}

Expr TextReader::accumulator(int k) {
  const bool right = next() == '\'';
  if (right) ++at_;
  const auto& states = names_->acc_dtypes;
  if (!states.empty() && static_cast<size_t>(k) >= states.size()) fail("no such accumulator");
  DType type = states.empty() ? DType::F32 : states[static_cast<size_t>(k)];
  if (next() == ':') {
    ++at_;
    type = dtype();
  }
  return frit::accumulator(type, k, right);
}

Expr TextReader::call(Op op) {
  const std::vector<Expr> args = arguments(')');
  if (static_cast<int>(args.size()) != operand_count(op))
    fail("a wrong number of operands", fmt::format("{}", args.size()), fmt::format("{}", operand_count(op)));
  const bool test = is_comparison(op) || op == Op::IsNan || op == Op::IsInf || op == Op::IsFinite;
  return make(op, test ? DType::Bool : args[op == Op::Select ? 1 : 0].dtype(), args);
}

Expr TextReader::named(std::string_view text, size_t start) {
  if (peek("(")) {
    const auto found = calls().find(text);
    const auto to = dtype_from_name(text.starts_with("bitcast_") ? text.substr(8) : text);
    if (found == calls().end() && !to) fail("not a function", std::string(text));
    expect("(");
    if (found != calls().end()) return call(found->second);
    const std::vector<Expr> args = arguments(')');
    if (args.size() != 1) fail("a cast has one operand");
    return make(text.starts_with("bitcast_") ? Op::BitCast : Op::Cast, *to, args);
  }
  const auto index_name = std::find(names_->indices.begin(), names_->indices.end(), text);
  if (index_name != names_->indices.end()) return index(static_cast<int>(index_name - names_->indices.begin()));
  if (text == "true" || text == "false") return constant_int(DType::Bool, text == "true");
  if (text == "inf" || text == "nan" || text.starts_with("inf_") || text.starts_with("nan_")) {
    at_ = start;
    return literal(false);
  }
  if (const auto slot = numbered(text, "x")) return read(*slot);
  if (const auto k = numbered(text, "acc")) return accumulator(*k);
  if (const auto axis = numbered(text, "i")) return index(*axis);
  if (numbered(text, "t")) {
    const auto let = lets_.find(text);
    if (let == lets_.end()) fail("a name is not bound", std::string(text));
    return let->second;
  }
  if (!is_plain_name(text)) fail("unexpected word", std::string(text));
  return symbol(text);
}

Expr parse_expr(std::string_view text, const ExprNames& names) {
  TextReader reader(text);
  while (reader.at_binding()) {
    reader.bind(names);
    reader.expect(";");
  }
  Expr e = reader.expression(names);
  if (!reader.at_end()) reader.fail("text follows the expression");
  return e;
}

}  // namespace frit
