// The language under any text. With clang this is a libFuzzer target; else a program of its own that changes the texts
// of a corpus:
//
//     fuzz_language SECONDS SEED [FILE.frit ...]
#include <chrono>
#include <fstream>
#include <iterator>

#include "compiler/standard_library.h"
#include "fuzz/language.h"

using namespace frit;

#ifdef FRIT_LIBFUZZER

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::check_language(standard_library(), {reinterpret_cast<const char*>(data), size});
  return 0;
}

#else

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: fuzz_language SECONDS SEED [FILE.frit ...]\n");
    return 2;
  }
  std::vector<std::string> corpus;
  for (const lang::Definition* def : standard_library().definitions()) corpus.push_back(lang::to_text(*def));
  for (int k = 3; k < argc; ++k) {
    std::ifstream in(argv[k], std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  fuzz::Mutator mutator(std::move(corpus), static_cast<uint32_t>(std::atoi(argv[2])));
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  long texts = 0, built = 0;
  double slowest = 0;
  std::string slowest_text;
  while (seconds() < std::atof(argv[1])) {
    const std::string text = mutator.next();
    const double before = seconds();
    built += fuzz::check_language(standard_library(), text);
    ++texts;
    if (seconds() - before > slowest) slowest = seconds() - before, slowest_text = text;
  }
  fmt::print("{} texts, {} graphs; the slowest took {:.3f} s:\n{}\n", texts, built, slowest, slowest_text);
}

#endif
