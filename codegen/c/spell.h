#pragma once
#include <span>
#include <string>

#include "codegen/c/dialect.h"

namespace frit::c_text {

// Expressions of one dialect. A bool is an int of 0 or 1; a vector of bools is a vector of char, 0 or -1 in each lane,
// whatever it was compared from.

std::string spell(const Dialect& d, kernel::Type type);          // "float8", "char8" for boolx8
std::string spell_element(const Dialect& d, kernel::Type type);  // "float", "uchar": as it is in memory
std::string spell_constant(const Dialect& d, kernel::Type type, uint64_t bits);
std::string spell_iota(const Dialect& d, kernel::Type type);
std::string lane(const std::string& vector, int index);  // ".sA"

/// An arithmetic instruction (but Select and Cast) on operands of type `t` that are names or constants.
std::string spell_arith(const Dialect& d, Op op, kernel::Type result, kernel::Type t, std::span<const std::string> v);
std::string spell_select(const Dialect& d, kernel::Type condition, kernel::Type t, std::span<const std::string> v);
std::string spell_cast(const Dialect& d, kernel::Type from, kernel::Type to, const std::string& v);
std::string spell_cast_in_range(const Dialect& d, kernel::Type to, const std::string& v);

}  // namespace frit::c_text
