#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/array.h"
#include "ir/graph.h"
#include "ir/lang/library.h"

namespace frit::cli {

/// What `run` and `show` are asked about, as the words of the command line.
struct SubjectOptions {
  std::string file;                     // MODEL.onnx, FILE.frit or the name of a layer
  std::string definition;               // --def
  std::vector<std::string> inputs;      // name=file.npy
  std::vector<std::string> shapes;      // name=1,3,64,64[:f16]
  std::vector<std::string> attributes;  // k=3
  std::vector<std::string> more_outputs;
  std::vector<std::string> gradients;  // --grad: inputs; the subject is then the graph of their adjoints
  uint64_t seed = 0;
};

/// A model or a definition as a graph, with what is known of its inputs.
struct Subject {
  struct Given {
    std::string name;
    TensorType type;
    std::optional<Array> array;  // from a file; else random
  };
  std::string name;
  std::string text;  // of the definition
  Graph graph;
  std::vector<Given> inputs;  // in the order of the graph's input nodes
};

/// The definition that the words name, `--def NAME` of FILE.frit or the name of a layer in place of a file, with the
/// library that knows it.
struct NamedDefinition {
  std::unique_ptr<lang::Library> library;
  const lang::Definition* definition = nullptr;
};
/// errors  InputError: no such file or definition; a file of several definitions without --def
NamedDefinition named_definition(const SubjectOptions& options);
/// The library of layers, with the definitions of FILE.frit above it where the words name one.
std::unique_ptr<lang::Library> library_of(const SubjectOptions& options);
/// The definitions of a file, in order of their names.
std::vector<const lang::Definition*> own_definitions(const lang::Library& library, const std::string& file);

/// errors  InputError: files, names, shapes, dtypes; all findings of one kind at once
Subject load_subject(const SubjectOptions& options);

/// The definitions that the subject is made of; those of a model's operators, each once.
std::string definitions_text(const SubjectOptions& options, const Subject& subject);

/// Input values: from files, else reproducible from seed and name: floats uniform in [-1, 1), integers 0 to 9.
std::vector<Array> input_values(const Subject& subject, uint64_t seed);

/// Names of inputs that have no file, for a word to the user.
std::vector<std::string> random_inputs(const Subject& subject);

std::string type_text(DType dtype, const std::vector<int64_t>& shape);

}  // namespace frit::cli
