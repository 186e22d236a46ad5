#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/dtype.h"
#include "ir/lang/library.h"

namespace frit::cli {

/// "name=rest", split at the first '='. errors  InputError
std::pair<std::string, std::string> split_assignment(const std::string& option, const std::string& text);

struct ShapeWord {
  std::vector<int64_t> shape;
  std::optional<DType> dtype;
};
/// "1,3,64,64:f16", ":i64" for rank 0. errors  InputError
ShapeWord parse_shape(const std::string& text, const std::string& where);

/// A static value as the language writes it: 3, -1.5, true, none, f16, inf, [1, 2], "text" or a bare word.
/// errors  InputError
lang::StaticValue parse_static(std::string_view text, const std::string& where);

}  // namespace frit::cli
