#pragma once
#include "compiler/onnx/importer.h"

// The rewrites, by topic. Each sees a node whose attributes are ones its row of the table allows.
namespace frit::onnx {

// rewrites_shape.cpp
void rewrite_shape(NodeImport& n);
void rewrite_size(NodeImport& n);
void rewrite_reshape(NodeImport& n);
void rewrite_flatten(NodeImport& n);
void rewrite_squeeze(NodeImport& n);
void rewrite_unsqueeze(NodeImport& n);
void rewrite_transpose(NodeImport& n);
void rewrite_expand(NodeImport& n);
void rewrite_slice(NodeImport& n);
void rewrite_split(NodeImport& n);
void rewrite_concat(NodeImport& n);
void rewrite_pad(NodeImport& n);
void rewrite_tile(NodeImport& n);
void rewrite_one_hot(NodeImport& n);

// rewrites_constant.cpp
void rewrite_constant(NodeImport& n);
void rewrite_constant_of_shape(NodeImport& n);
void rewrite_identity(NodeImport& n);
void rewrite_dropout(NodeImport& n);
void rewrite_cast(NodeImport& n);
void rewrite_if(NodeImport& n);
void rewrite_pow(NodeImport& n);

// rewrites_resize.cpp
void rewrite_resize(NodeImport& n);
void rewrite_upsample(NodeImport& n);

// rewrites_loop.cpp
void rewrite_loop(NodeImport& n);

// rewrites_lstm.cpp
void rewrite_lstm(NodeImport& n);

}  // namespace frit::onnx
