#include "ir/lang/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "ir/dtype.h"

namespace frit::lang {
namespace {

constexpr std::array<std::string_view, 16> kKeywords = {"def", "grad",   "return", "require", "if", "else",
                                                        "for", "import", "const",  "and",     "or", "not",
                                                        "in",  "true",   "false",  "none"};
constexpr std::array<std::string_view, 2> kConstants = {"inf", "nan"};
constexpr std::array<std::string_view, 10> kReducers = {"sum", "prod", "max",    "min",    "mean",
                                                        "any", "all",  "argmax", "argmin", "fold"};
// Longer ones first: the longest token wins.
constexpr std::array<std::string_view, 34> kSymbols = {
    "..", "//", "==", "!=", "<=", ">=", "<<", ">>", "+=", "*=", "(", ")", "[", "]", "{", "}", ",",
    ";",  ":",  "=",  "<",  ">",  "+",  "-",  "*",  "/",  "%",  "&", "|", "^", "~", "@", ".", "'"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

class Lexer {
 public:
  explicit Lexer(const Source& source) : text_(source.text()) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    for (;;) {
      skip_space();
      start_ = at_;
      if (at_ == text_.size()) break;
      tokens.push_back(next());
    }
    tokens.push_back(finish(Token::Kind::End));
    return tokens;
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skip_space() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
        ++at_;
      } else {
        return;
      }
    }
  }

  Token finish(Token::Kind kind) const {
    Token token;
    token.kind = kind;
    token.span = {static_cast<uint32_t>(start_), static_cast<uint32_t>(at_)};
    token.text = text_.substr(start_, at_ - start_);
    return token;
  }

  Token bad(std::string why) const {
    Token token = finish(Token::Kind::Bad);
    token.string = std::move(why);
    return token;
  }

  Token next() {
    const char c = peek();
    if (is_letter(c)) return word();
    if (is_digit(c)) return number();
    if (c == '"') return string();
    for (const std::string_view symbol : kSymbols) {
      if (text_.substr(at_, symbol.size()) != symbol) continue;
      at_ += symbol.size();
      return finish(Token::Kind::Symbol);
    }
    ++at_;
    while (at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) & 0xC0) == 0x80) ++at_;
    const auto code = static_cast<unsigned char>(c);
    return bad(code < 0x20 || code == 0x7f ? fmt::format("the byte 0x{:02x} is not part of the language", code)
                                           : "this character is not part of the language");
  }

  Token word() {
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    const std::string_view text = text_.substr(start_, at_ - start_);
    if (contains(kKeywords, text) || contains(kConstants, text)) return finish(Token::Kind::Keyword);
    if (contains(kReducers, text)) return finish(Token::Kind::Reducer);
    if (dtype_from_name(text)) return finish(Token::Kind::DType);
    return finish(Token::Kind::Name);
  }

  Token number() {
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) return hexadecimal();
    while (is_digit(peek())) ++at_;
    bool is_float = false;
    if (peek() == '.' && is_digit(peek(1))) {
      is_float = true;
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if ((peek() == 'e' || peek() == 'E') && is_digit(peek(1 + sign))) {
      is_float = true;
      at_ += 1 + sign;
      while (is_digit(peek())) ++at_;
    }
    if (is_letter(peek())) return glued();
    Token token = finish(is_float ? Token::Kind::Float : Token::Kind::Int);
    const char* end = token.text.data() + token.text.size();
    if (is_float) {
      const auto parsed = std::from_chars(token.text.data(), end, token.number);
      // Out of range means too large, or too small to be anything but zero.
      if (parsed.ec == std::errc::result_out_of_range) {
        const size_t exponent = token.text.find_first_of("eE");
        const bool tiny = exponent != std::string_view::npos && token.text[exponent + 1] == '-';
        token.number = tiny ? 0.0 : std::numeric_limits<double>::infinity();
        if (!tiny) return bad("this number is larger than any f64");
      }
      return token;
    }
    if (std::from_chars(token.text.data(), end, token.integer).ec != std::errc{})
      return bad("this integer does not fit 64 bits");
    return token;
  }

  Token hexadecimal() {
    at_ += 2;
    while (is_hex(peek())) ++at_;
    if (is_letter(peek()) || is_digit(peek())) return glued();
    Token token = finish(Token::Kind::Int);
    const char* first = token.text.data() + 2;
    if (token.text.size() == 2) return bad("0x without digits");
    if (std::from_chars(first, token.text.data() + token.text.size(), token.integer, 16).ec != std::errc{})
      return bad("this integer does not fit 64 bits");
    return token;
  }

  Token glued() {
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    return bad("a name cannot start with a digit");
  }

  Token string() {
    std::string value;
    ++at_;
    for (;;) {
      const char c = peek();
      if (at_ >= text_.size() || c == '\n') return bad("this string has no end");
      ++at_;
      if (c == '"') break;
      if (c != '\\') {
        value += c;
        continue;
      }
      const char escaped = peek();
      if (escaped != '"' && escaped != '\\' && escaped != 'n') {
        while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') ++at_;
        if (peek() == '"') ++at_;
        return bad("strings know the escapes \\\" \\\\ \\n");
      }
      value += escaped == 'n' ? '\n' : escaped;
      ++at_;
    }
    Token token = finish(Token::Kind::String);
    token.string = std::move(value);
    return token;
  }

  std::string_view text_;
  size_t at_ = 0, start_ = 0;
};

}  // namespace

std::vector<Token> tokenize(const Source& source) { return Lexer(source).run(); }
std::string familiar_dtype(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"float16", "f16"}, {"half", "f16"},   {"fp16", "f16"},    {"bfloat16", "bf16"}, {"float32", "f32"},
      {"fp32", "f32"},    {"float", "f32"},  {"float64", "f64"}, {"double", "f64"},    {"fp64", "f64"},
      {"int8", "i8"},     {"int16", "i16"},  {"short", "i16"},   {"int32", "i32"},     {"int", "i32"},
      {"int64", "i64"},   {"long", "i64"},   {"uint8", "u8"},    {"byte", "u8"},       {"uint16", "u16"},
      {"uint32", "u32"},  {"uint64", "u64"}, {"boolean", "bool"}};
  for (const auto& [theirs, ours] : kNames)
    if (theirs == name) return fmt::format("write {}", ours);
  return {};
}
bool is_reducer(std::string_view name) { return contains(kReducers, name); }
bool is_reserved(std::string_view name) {
  return contains(kKeywords, name) || contains(kConstants, name) || contains(kReducers, name) || dtype_from_name(name);
}

}  // namespace frit::lang
