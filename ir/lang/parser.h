#pragma once
#include <string>

#include "ir/lang/ast.h"

namespace frit::lang {

constexpr size_t kTextLimit = size_t{1} << 20;  // bytes of one text
constexpr int kNestingLimit = 200;              // parentheses, blocks and the like inside one another
constexpr int kDepthLimit = 500;                // operators in a row count here too

/// Parses a file of definitions. A mistake in one definition does not hide those in others.
/// errors   InputError with a finding for each definition that cannot be read; never anything else, whatever the bytes
File parse(std::string text, std::string file);

/// One expression, for the one-line forms.
ExPtr parse_expression(const SourcePtr& source);

}  // namespace frit::lang
