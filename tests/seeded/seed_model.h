#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace frit::seeded {

struct SeedOptions {
  std::vector<std::string> outputs;  // tensors to declare as the model's outputs (float32); empty keeps them
  bool keep_weights = false;         // only change the outputs
};

/// Write a copy of an ONNX model in which every float weight that is a ConstantOfShape of a stored shape becomes an
/// initializer with values of random.h, seeded by the tensor's name. As shipped, each weight of the light networks is
/// one constant, and a swapped channel would not show. Initializers are no longer graph inputs (IR version 4).
/// in       a model file, ModelProto
/// out      written under a temporary name and renamed, so that two processes may write the same file
/// errors   InputError: unreadable or malformed file; an output that no node makes
void seed_model(const std::filesystem::path& in, const std::filesystem::path& out, const SeedOptions& options = {});

}  // namespace frit::seeded
