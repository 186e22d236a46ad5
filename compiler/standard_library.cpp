#include "compiler/standard_library.h"

namespace frit {
namespace {

struct Text {
  const char* file;
  const char* text;
};
constexpr Text kLayers[] = {
#include "embedded_layers.inc"
};

}  // namespace

const lang::Library& standard_library() {
  static const lang::Library library = [] {
    lang::Library all;
    for (const Text& layer : kLayers) all.add(layer.text, layer.file);
    return all;
  }();
  return library;
}

}  // namespace frit
