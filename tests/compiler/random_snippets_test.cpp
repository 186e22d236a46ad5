#include <cstdlib>

#include "compiler/differential.h"
#include "compiler/random_snippet.h"

namespace frit::testing {
namespace {

std::string failure_of(const RandomSnippet& snippet, uint64_t seed) {
  try {
    Library library(&layers());
    library.add(snippet.text, "random.frit");
    const Built built = build(library, "f", snippet.operands);
    return disagreement(built.graph, make_inputs(built.graph, Fill::Plain, seed));
  } catch (const Error& error) {
    return error.what();
  }
}

// FRIT_TEST_SEED starts elsewhere, FRIT_TEST_COUNT runs more.
TEST(RandomSnippets, AgreeWithTheirDefinition) {
  const char* from = std::getenv("FRIT_TEST_SEED");
  const char* number = std::getenv("FRIT_TEST_COUNT");
  const uint64_t first = from ? std::strtoull(from, nullptr, 10) : 1;
  const uint64_t count = number ? std::strtoull(number, nullptr, 10) : 40;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    if (failure_of(RandomSnippet(seed, 6), seed).empty()) continue;
    for (int statements = 1; statements <= 6; ++statements) {
      const RandomSnippet small(seed, statements);
      const std::string failure = failure_of(small, seed);
      if (failure.empty()) continue;
      std::string operands;
      for (const OperandSpec& operand : small.operands)
        operands += " " + to_string(TensorType{operand.dtype, make_shape(operand.shape)});
      ADD_FAILURE() << "seed " << seed << ":" << operands << "\n" << small.text << failure;
      break;
    }
  }
}

}  // namespace
}  // namespace frit::testing
