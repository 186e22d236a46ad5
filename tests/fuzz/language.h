#pragma once
// Any bytes as a text of the language: read, and each definition in it checked and elaborated with small operands. A
// broken promise ends the process; errors of the caller are what is expected.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/lang/lexer.h"
#include "ir/lang/library.h"
#include "ir/lang/parser.h"
#include "support/error.h"

namespace frit::fuzz {

/// Small extents, equal for equal names, so that signatures match more often than not.
inline int64_t extent_of(std::string_view name) {
  uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return 1 + static_cast<int64_t>(hash % 4);
}

inline int64_t extent_of(const lang::Slot& slot, const lang::Definition& def) {
  if (slot.kind == lang::Slot::Kind::Int) return std::min<int64_t>(slot.integer, 64);
  if (slot.kind == lang::Slot::Kind::Group) {
    int64_t product = 1;
    for (const lang::Slot& part : slot.parts) product *= std::min<int64_t>(extent_of(part, def), 16);
    return product;
  }
  for (const lang::Attr& attr : def.attrs)
    if (attr.name == slot.name && attr.default_value && attr.default_value->kind == lang::Ex::Kind::Int)
      return std::min<int64_t>(attr.default_value->integer, 16);
  return extent_of(slot.name);
}

inline TensorType type_of(const lang::Param& param, const lang::Definition& def) {
  DType dtype = DType::F32;
  if (!param.types.empty()) {
    const auto named = dtype_from_name(param.types[0]);
    dtype = named ? *named : param.types[0] == "int" ? DType::I64 : DType::F32;
  }
  std::vector<int64_t> shape;
  if (!param.bracketed) shape = {2, 3};
  for (const lang::Slot& slot : param.dims) {
    const int copies = slot.kind == lang::Slot::Kind::Dots ? 1 : slot.pack ? 2 : 1;
    for (int k = 0; k < copies; ++k)
      shape.push_back(slot.kind == lang::Slot::Kind::Dots ? 2 : std::max<int64_t>(extent_of(slot, def), 0));
  }
  return {dtype, make_shape(shape)};
}

inline void elaborate(const Library& library, const lang::Definition& def) {
  Graph graph;
  std::vector<lang::Operand> operands;
  for (const lang::Param& param : def.params) {
    if (param.is_const)
      operands.emplace_back(lang::StaticValue(std::vector<int64_t>{1}));
    else if (param.is_variadic)
      operands.emplace_back(std::vector<Value>{graph.add_input("v", type_of(param, def))});
    else
      operands.emplace_back(graph.add_input(param.name, type_of(param, def)));
  }
  lang::Attributes attributes;
  for (const lang::Attr& attr : def.attrs)
    if (!attr.default_value) attributes[attr.name] = lang::StaticValue(2);
  for (const Value& v : lang::instantiate(graph, library, def, operands, attributes)) graph.add_output("y", v);
  const std::vector<std::string> findings = verify(graph);
  if (!findings.empty()) throw InternalError("verify(graph)", findings[0], __FILE__, __LINE__);
}

/// Gives how many definitions made a graph; aborts on a broken promise, with the text that did it.
inline int check_language(const Library& base, std::string_view text) {
  int built = 0;
  try {
    if (text.find("import") != std::string_view::npos) {
      lang::parse(std::string(text), "fuzz.frit");  // no files are read
      return 0;
    }
    const Library library(&base, std::string(text), "fuzz.frit");
    int tried = 0;
    for (const lang::Definition* def : library.definitions()) {
      if (def->source->file() != "fuzz.frit") continue;
      if (++tried > 16) break;
      try {
        elaborate(library, *def);
        ++built;
      } catch (const InternalError&) {
        throw;
      } catch (const Error&) {
      }
    }
  } catch (const InternalError& error) {
    fmt::print(stderr, "{}\n{}\n", text, error.what());
    std::abort();
  } catch (const Error&) {
  }
  return built;
}

/// Changes texts of a corpus: tokens exchanged, repeated, dropped or made extreme, and now and then bytes.
class Mutator {
 public:
  Mutator(std::vector<std::string> corpus, uint32_t seed) : corpus_(std::move(corpus)), random_(seed) {
    for (const std::string& text : corpus_)
      for (const Piece& token : pieces_of(text)) pool_.push_back(token);
  }

  std::string next() {
    std::vector<Piece> tokens = pieces_of(corpus_[below(corpus_.size())]);
    for (size_t changes = 1 + below(3); changes > 0 && !tokens.empty(); --changes) change(&tokens);
    std::string text;
    for (const Piece& token : tokens) text += token.text + " ";
    if (below(16) == 0 && !text.empty()) text[below(text.size())] = static_cast<char>(random_());
    return text;
  }

 private:
  struct Piece {
    lang::Token::Kind kind;
    std::string text;
  };

  static std::vector<Piece> pieces_of(const std::string& text) {
    const lang::Source source("t", text);
    std::vector<Piece> pieces;
    for (const lang::Token& token : lang::tokenize(source)) pieces.push_back({token.kind, std::string(token.text)});
    return pieces;
  }

  // Mostly one of the same kind, which often still means something.
  const Piece& other(lang::Token::Kind kind) {
    const Piece* piece = &pool_[below(pool_.size())];
    for (int tries = 0; tries < 50 && piece->kind != kind; ++tries) piece = &pool_[below(pool_.size())];
    return *piece;
  }

  void change(std::vector<Piece>* tokens) {
    static const std::vector<std::string> kExtreme = {"0",
                                                      "-1",
                                                      "9223372036854775807",
                                                      "0xffffffffffffffff",
                                                      "1e308",
                                                      "inf",
                                                      "nan",
                                                      "..",
                                                      "@",
                                                      "else",
                                                      "'",
                                                      "( i < n ) ..",
                                                      "[ ]",
                                                      "( )",
                                                      "fill ( 4096 , 1 )",
                                                      "range ( 0 )",
                                                      "none",
                                                      "true",
                                                      "\"\"",
                                                      "u8",
                                                      "rank ( x )"};
    const size_t at = below(tokens->size());
    const auto place = tokens->begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(12)) {
      case 0:
        tokens->erase(place);
        break;
      case 1:
        tokens->insert(place, pool_[below(pool_.size())]);
        break;
      case 2:
        place->text = kExtreme[below(kExtreme.size())];
        break;
      case 3:
        std::swap(*place, (*tokens)[below(tokens->size())]);
        break;
      case 4: {  // a piece again, elsewhere
        const size_t length = std::min(tokens->size() - at, 1 + below(12));
        const std::vector<Piece> piece(place, place + static_cast<std::ptrdiff_t>(length));
        tokens->insert(tokens->begin() + static_cast<std::ptrdiff_t>(below(tokens->size())), piece.begin(),
                       piece.end());
        break;
      }
      default:
        *place = other(place->kind);
    }
  }

  size_t below(size_t n) { return random_() % n; }

  std::vector<std::string> corpus_;
  std::vector<Piece> pool_;
  std::mt19937 random_;
};

}  // namespace frit::fuzz
