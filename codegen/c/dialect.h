#pragma once
#include <array>
#include <string>
#include <string_view>

#include "codegen/kernel/kernel.h"

namespace frit::c_text {

/// What differs between the dialects of C, as words.
struct Dialect {
  std::string_view name;
  std::string_view preamble;               // first lines of every text
  std::string_view preamble_f64;           // added where f64 occurs
  std::string_view preamble_f16;           // added where f16 occurs: frit_from_half, frit_to_half
  std::string_view kernel;                 // before the name of the function
  std::string_view global;                 // address space of buffers, with its space
  std::string_view restricted;             // "restrict"
  std::string_view item, items;            // number of this share, number of shares
  std::array<std::string_view, 13> types;  // by DType; f16 and bf16 are u16; bool is that of a scalar
};

extern const Dialect kOpenCl;

}  // namespace frit::c_text
