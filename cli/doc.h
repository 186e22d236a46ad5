#pragma once
#include <string>

#include "cli/subject.h"

namespace frit::cli {

/// The page of a definition: its comment, signature, operands, attributes, results and gradient; with `--shape` also
/// the types that are passed and those that come out. Of a file of several definitions, or of an operator without its
/// version (`onnx.Softmax`): a line for each.
/// errors  InputError as load_subject; no such definition, with the nearest spelling
std::string documentation(const SubjectOptions& options);

}  // namespace frit::cli
