#include "compiler/onnx/rewrites.h"

namespace frit::onnx {
namespace {

// One row for each form of an operator that this importer spells itself, with the attributes of that form.
const Rewrite kRewrites[] = {
    {"Cast", 6, rewrite_cast, {"to", "saturate", "round_mode"}},
    {"Concat", 4, rewrite_concat, {"axis"}},
    {"Constant", 1, rewrite_constant, {"value"}},
    {"Constant",
     12,
     rewrite_constant,
     {"value", "value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings",
      "sparse_value"}},
    {"ConstantOfShape", 9, rewrite_constant_of_shape, {"value"}},
    {"Dropout", 7, rewrite_dropout, {"ratio"}},
    {"Dropout", 12, rewrite_dropout, {"seed"}},
    {"Expand", 8, rewrite_expand, {}},
    {"Flatten", 1, rewrite_flatten, {"axis"}},
    {"Identity", 1, rewrite_identity, {}},
    {"If", 1, rewrite_if, {"then_branch", "else_branch"}},
    {"LSTM",
     7,
     rewrite_lstm,
     {"activation_alpha", "activation_beta", "activations", "clip", "direction", "hidden_size", "input_forget"}},
    {"LSTM",
     14,
     rewrite_lstm,
     {"activation_alpha", "activation_beta", "activations", "clip", "direction", "hidden_size", "input_forget",
      "layout"}},
    {"Loop", 1, rewrite_loop, {"body"}},
    {"OneHot", 9, rewrite_one_hot, {"axis"}},
    {"Pad", 2, rewrite_pad, {"mode", "pads", "value"}},
    {"Pad", 11, rewrite_pad, {"mode"}},
    {"Pow", 7, rewrite_pow, {}},
    {"Reshape", 5, rewrite_reshape, {}},
    {"Reshape", 14, rewrite_reshape, {"allowzero"}},
    {"Resize", 10, rewrite_upsample, {"mode"}},
    {"Resize",
     11,
     rewrite_resize,
     {"coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside", "extrapolation_value", "mode",
      "nearest_mode"}},
    {"Resize",
     18,
     rewrite_resize,
     {"antialias", "axes", "coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside", "extrapolation_value",
      "keep_aspect_ratio_policy", "mode", "nearest_mode"}},
    {"Shape", 1, rewrite_shape, {}},
    {"Shape", 15, rewrite_shape, {"start", "end"}},
    {"Size", 1, rewrite_size, {}},
    {"Slice", 1, rewrite_slice, {"axes", "starts", "ends"}},
    {"Slice", 10, rewrite_slice, {}},
    {"Split", 2, rewrite_split, {"axis", "split"}},
    {"Split", 13, rewrite_split, {"axis"}},
    {"Split", 18, rewrite_split, {"axis", "num_outputs"}},
    {"Squeeze", 1, rewrite_squeeze, {"axes"}},
    {"Squeeze", 13, rewrite_squeeze, {}},
    {"Tile", 6, rewrite_tile, {}},
    {"Transpose", 1, rewrite_transpose, {"perm"}},
    {"Unsqueeze", 1, rewrite_unsqueeze, {"axes"}},
    {"Unsqueeze", 13, rewrite_unsqueeze, {}},
    {"Upsample", 7, rewrite_upsample, {"mode", "scales"}},
    {"Upsample", 9, rewrite_upsample, {"mode"}},
};

}  // namespace

const Rewrite* find_rewrite(std::string_view op, int64_t opset) {
  const Rewrite* best = nullptr;
  for (const Rewrite& row : kRewrites) {
    if (row.op == op && row.since <= opset && (!best || row.since > best->since)) best = &row;
  }
  return best;
}

}  // namespace frit::onnx
