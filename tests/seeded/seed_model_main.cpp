// seed_model IN.onnx OUT.onnx [--keep-weights] [--output NAME]...   see seed_model.h
#include <cstdio>
#include <cstring>

#include "seeded/seed_model.h"
#include "support/error.h"

int main(int argc, char** argv) {
  frit::seeded::SeedOptions options;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--keep-weights") == 0) {
      options.keep_weights = true;
    } else if (std::strcmp(argv[i], "--output") == 0 && i + 1 < argc) {
      options.outputs.push_back(argv[++i]);
    } else {
      files.push_back(argv[i]);
    }
  }
  if (files.size() != 2) {
    std::fputs("usage: seed_model IN.onnx OUT.onnx [--keep-weights] [--output NAME]...\n", stderr);
    return 2;
  }
  try {
    frit::seeded::seed_model(files[0], files[1], options);
  } catch (const frit::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
