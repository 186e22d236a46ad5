// A short and repeatable walk of the fuzz target of the language: any text gives a graph or an error of the caller.
#include <gtest/gtest.h>

#include "fuzz/language.h"
#include "lang/snippet.h"

namespace frit {

TEST(LanguageFuzz, ChangedLayersGiveAGraphOrAnError) {
  std::vector<std::string> corpus;
  for (const lang::Definition* def : testing::layers().definitions()) corpus.push_back(to_text(*def));
  fuzz::Mutator mutator(corpus, 1);
  int built = 0;
  for (int k = 0; k < 5000; ++k) built += fuzz::check_language(testing::layers(), mutator.next());
  EXPECT_GT(built, 150);
}

// The walk is worth something only if the layers themselves elaborate with the operands that it makes up.
TEST(LanguageFuzz, MostLayersElaborateAsTheyAre) {
  int built = 0, all = 0;
  for (const lang::Definition* def : testing::layers().definitions()) {
    built += fuzz::check_language(testing::layers(), to_text(*def));
    ++all;
  }
  EXPECT_GT(built, all / 2) << built << " of " << all;
}

}  // namespace frit
