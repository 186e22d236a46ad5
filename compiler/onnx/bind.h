#pragma once
#include <string>
#include <vector>

#include "compiler/onnx/import.h"
#include "compiler/onnx/model.h"
#include "compiler/onnx/shapes.h"

namespace frit::onnx {

/// Sizes of the model's inputs. Fixed dims are the file's, free ones (named, without a value, or negative) come from
/// `options.shapes`, from an equal name elsewhere, or are 1 (the first dim, where the options say so).
/// errors  InputError: every input with a dim that has no size, at once; a shape that contradicts the file or another
///         input; a name in `options.shapes` that is no input
std::vector<Dims> bind_input_shapes(const ModelDef& model, const std::vector<const ValueDef*>& inputs,
                                    const ImportOptions& options);

/// Dims as the file declares them: "3", "N", "?".
std::vector<std::string> declared_dims(const ValueDef& value);

}  // namespace frit::onnx
