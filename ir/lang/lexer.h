#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ir/lang/source.h"

namespace frit::lang {

struct Token {
  enum class Kind : uint8_t { End, Name, Keyword, DType, Reducer, Int, Float, String, Symbol, Bad };
  Kind kind = Kind::End;
  Span span;
  std::string_view text;  // as written; views the source
  std::string string;     // String: the value; Bad: what is wrong
  uint64_t integer = 0;
  double number = 0;
};

/// All tokens, the last one End. What cannot be read is a Bad token that says why; never throws on any bytes.
std::vector<Token> tokenize(const Source& source);

/// How a dtype that is spelled as elsewhere ("float32", "double") is written here, as a fix; empty if it is none.
std::string familiar_dtype(std::string_view name);
bool is_reducer(std::string_view name);
bool is_reserved(std::string_view name);

}  // namespace frit::lang
