#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "frit/frit.h"

// The one-line forms as text of the language (LANGUAGE.md section 11). Pure text: what is wrong in a formula is said by
// the language. errors  InputError: too many operands, a spec that is none
namespace frit::front {

std::string elementwise_text(std::string_view formula, size_t operands);
std::string reduce_text(std::string_view formula, size_t operands);
std::string reduce_text(const Reducer& reducer, size_t operands);
std::string subsample_text(std::string_view formula, std::string_view outside);
std::string supersample_text(std::string_view formula);
std::string einsum_text(std::string_view spec, size_t operands);

}  // namespace frit::front
