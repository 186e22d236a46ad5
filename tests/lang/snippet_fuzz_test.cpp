// Texts that nobody would write: definitions of the library with tokens exchanged. Each gives a graph or an error of
// the caller; never a broken promise, a crash or a hang.
#include <gtest/gtest.h>

#include <random>

#include "ir/lang/lexer.h"
#include "lang/snippet.h"

using namespace frit;
using namespace frit::testing;
using List = std::vector<int64_t>;

namespace {

struct Seed {
  std::string name;
  std::vector<OperandSpec> operands;
  lang::Attributes attributes;
};

const std::vector<Seed>& seeds() {
  static const std::vector<Seed> all = {
      {"conv", {f32({1, 4, 6, 6}), f32({4, 2, 3, 3}), f32({4})}, {{"g", 2}, {"s", 2}, {"p", 1}}},
      {"conv_transpose", {f32({1, 1, 3}), f32({1, 1, 3})}, {{"s", 2}, {"d", 3}, {"p", 2}, {"q", 1}}},
      {"max_pool", {f32({1, 1, 4, 4})}, {{"k", 2}, {"s", 3}, {"p", 1}, {"ceil_mode", true}}},
      {"avg_pool", {f32({1, 1, 4})}, {{"k", 2}, {"s", 3}, {"p", 1}}},
      {"adaptive_avg_pool", {f32({1, 1, 5})}, {{"o", 3}}},
      {"softmax", {of(DType::F16, {2, 3, 4})}, {{"axis", 1}}},
      {"layer_norm", {f32({2, 3, 4}), f32({3, 4})}, {{"axis", List{1, 2}}}},
      {"moments", {f32({2, 7})}, {}},
      {"logsumexp", {f32({2, 7})}, {}},
      {"cumsum", {f32({2, 7})}, {}},
      {"matmul", {f32({2, 1, 3, 4}), f32({5, 4, 6})}, {}},
      {"attention", {f32({1, 4, 5, 8}), f32({1, 2, 6, 8}), f32({1, 2, 6, 8})}, {{"causal", true}}},
      {"rope", {of(DType::F16, {2, 3, 8}), of(DType::I64, {3})}, {}},
      {"lstm_cell", {f32({2, 3}), f32({2, 4}), f32({2, 4}), f32({16, 3}), f32({16, 4})}, {}},
      {"deform_conv", {f32({1, 4, 6, 6}), f32({2, 4, 3, 3}), f32({1, 18, 4, 4})}, {}},
      {"unfold", {f32({1, 2, 4, 4})}, {{"k", List{2, 2}}}},
      {"transpose", {f32({2, 3, 4})}, {{"perm", List{2, 0, 1}}}},
      {"slice",
       {f32({5, 6, 7})},
       {{"axes", List{0, 2}}, {"start", List{1, 0}}, {"stop", List{5, 7}}, {"step", List{2, 3}}}},
      {"pad", {f32({4})}, {{"p", List{3}}, {"q", List{3}}, {"mode", "reflect"}}},
      {"gather", {f32({3, 4, 5}), of(DType::I32, {2, 6})}, {{"axis", 1}}},
      {"resize_linear", {f32({1, 1, 3, 4})}, {{"o", List{6, 2}}}},
      {"cross_entropy", {f32({4, 10}), of(DType::I64, {4})}, {}},
      {"adamw", {f32({4}), f32({4}), f32({4}), f32({4}), f32({}), f32({})}, {}},
  };
  return all;
}

struct Piece {
  lang::Token::Kind kind;
  std::string text;
};

std::vector<Piece> tokens_of(const std::string& text) {
  const lang::Source source("t", text);
  std::vector<Piece> tokens;
  for (const lang::Token& token : lang::tokenize(source)) tokens.push_back({token.kind, std::string(token.text)});
  return tokens;
}

}  // namespace

TEST(SnippetFuzz, ExchangedTokensGiveAGraphOrAnError) {
  std::vector<Piece> pool;
  std::vector<std::vector<Piece>> texts;
  for (const Seed& seed : seeds()) {
    texts.push_back(tokens_of(to_text(layers().get(seed.name))));
    pool.insert(pool.end(), texts.back().begin(), texts.back().end());
  }
  std::mt19937 random(3);
  const int rounds = std::getenv("FRIT_FUZZ_ROUNDS") ? std::atoi(std::getenv("FRIT_FUZZ_ROUNDS")) : 20000;
  int built = 0;
  for (int round = 0; round < rounds; ++round) {
    const size_t which = random() % texts.size();
    std::vector<Piece> tokens = texts[which];
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int c = 0; c < changes; ++c) {
      const size_t at = random() % tokens.size();
      // Mostly one of the same kind in its place, which often still means something.
      switch (random() % 8) {
        default: {
          const auto& from = random() % 2 ? pool : texts[which];
          Piece other = from[random() % from.size()];
          for (int k = 0; k < 50 && other.kind != tokens[at].kind; ++k) other = from[random() % from.size()];
          tokens[at] = other;
          break;
        }
        case 1:
          tokens.insert(tokens.begin() + static_cast<long>(at), pool[random() % pool.size()]);
          break;
        case 2:
          tokens.erase(tokens.begin() + static_cast<long>(at));
          break;
        case 3:
          std::swap(tokens[at], tokens[random() % tokens.size()]);
          break;
      }
      if (tokens.empty()) break;
    }
    std::string text;
    for (const Piece& token : tokens) text += token.text + " ";
    const Seed& seed = seeds()[which];
    lang::Attributes attributes = seed.attributes;
    if (random() % 4 == 0 && !attributes.empty()) {
      auto at = attributes.begin();
      std::advance(at, static_cast<long>(random() % attributes.size()));
      at->second = lang::StaticValue(static_cast<int64_t>(random() % 9) - 4);
    }
    try {
      Library library(&layers());
      library.add(text, "fuzz.frit");
      build(library, seed.name, seed.operands, attributes);
      ++built;
    } catch (const InternalError& error) {
      ADD_FAILURE() << text << "\n" << error.what();
    } catch (const Error&) {
      // The caller's mistake, as expected.
    }
  }
  EXPECT_GT(built, rounds / 50);
}

TEST(SnippetFuzz, WorkIsBounded) {
  // Each definition calls the one before twice.
  std::string text = "def twice0(x) = x + 1\n";
  for (int k = 1; k < 40; ++k)
    text += "def twice" + std::to_string(k) + "(x) = twice" + std::to_string(k - 1) + "(twice" + std::to_string(k - 1) +
            "(x))\n";
  const Library library(nullptr, text, "double.frit");
  EXPECT_THROW(build(library, "twice39", {f32({2})}), InputError);
  std::string chain = "def g0(x) = x\n";
  for (int k = 1; k < 100; ++k) chain += "def g" + std::to_string(k) + "(x) = g" + std::to_string(k - 1) + "(x)\n";
  EXPECT_THROW(build(Library(nullptr, chain, "deep.frit"), "g99", {f32({2})}), InputError);
}
