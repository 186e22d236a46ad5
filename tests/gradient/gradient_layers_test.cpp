// Every differentiable definition of the library has a gradient row: derived, against central differences.
#include <set>

#include "gradient/gradient_check.h"

namespace frit::testing {
namespace {

using L = std::vector<int64_t>;
using R = std::vector<double>;
using lang::Attributes;

// Definitions without a gradient, and why.
const std::map<std::string, std::string>& exceptions() {
  static const std::string integers = "takes or gives integers or bools only";
  static const std::string statics = "computes static values";
  static const std::map<std::string, std::string> all = {
      {"argmax_last", integers},          {"arg_reduce", integers},
      {"onnx.ArgMax.1", integers},        {"onnx.ArgMax.12", integers},
      {"onnx.ArgMin.1", integers},        {"onnx.ArgMin.12", integers},
      {"onnx.Equal.7", integers},         {"onnx.Greater.7", integers},
      {"onnx.Less.7", integers},          {"onnx.GreaterOrEqual.12", integers},
      {"onnx.LessOrEqual.12", integers},  {"onnx.And.7", integers},
      {"onnx.Or.7", integers},            {"onnx.Xor.7", integers},
      {"onnx.Not.1", integers},           {"onnx.BitwiseAnd.18", integers},
      {"onnx.BitwiseOr.18", integers},    {"onnx.BitwiseXor.18", integers},
      {"onnx.BitwiseNot.18", integers},   {"onnx.BitShift.11", integers},
      {"onnx.IsNaN.9", integers},         {"onnx.IsInf.10", integers},
      {"quantize", integers},             {"quantize_rows", integers},
      {"onnx.QuantizeLinear.10", integers}, {"onnx.QuantizeLinear.13", integers},
      {"wrap", "an index"},               {"window_size", statics},
      {"same_pad", statics},              {"onnx_pads", statics},
      {"reduced", statics},
      {"fake_quant", "straight through by its clause: GradientClauses"},
  };
  return all;
}

std::vector<GradientRow> elementwise_rows() {
  std::vector<GradientRow> rows = {
      {"swish", {x({5})}},
      {"relu", {x({5})}},
      {"relu6", {x({7}, -3, 9)}},
      {"dequantize", {ints({5}, 0, 9), x({})}},
      {"dequantize", {ints({5}, 0, 9), x({}), ints({}, 0, 3)}},
      {"dropout", {x({9}), random_seed()}},
      {"expand", {x({1, 3})}, {{"shape", L{2, 2, 3}}}},
      {"decay", {x({4}), x({4})}},
      {"onnx.Add.7", {x({2, 3}), x({3})}},
      {"onnx.Sub.7", {x({2, 1}), x({3})}},
      {"onnx.Mul.7", {x({2, 3}), x({2, 1})}},
      {"onnx.Div.7", {x({2, 3}), positive({3})}},
      {"onnx.Pow.7", {positive({5}), x({5})}},
      {"onnx.Pow.12", {positive({2, 3}), x({3})}},
      {"onnx_power", {positive({4})}, {{"e", 2}}},
      {"onnx_power", {positive({4})}, {{"e", 3}}},
      {"onnx_power", {positive({4})}, {{"e", -1}}},
      {"onnx.Mod.10", {x({5}, -9, 9), positive({5})}},
      {"onnx.Mod.10", {x({5}, -9, 9), positive({5})}, {{"fmod", 1}}},
      {"onnx.PRelu.7", {x({2, 5}), x({5})}},
      {"onnx.Where.9", {bools({5}), x({5}), x({})}},
      {"onnx.Sum.6", {x({2, 3}), x({3}), x({2, 1})}},
      {"onnx.Mean.6", {x({2, 3}), x({3}), x({2, 1})}},
      {"onnx.Max.6", {x({2, 3}), x({3}), x({2, 1})}},
      {"onnx.Min.6", {x({2, 3}), x({3}), x({2, 1})}},
      {"onnx.CastLike.15", {x({4}), x({1})}},
      {"onnx.Clip.6", {x({9})}, {{"min_", -0.5}, {"max_", 0.5}}},
      {"onnx.Clip.11", {x({9}), x({}, -0.6, -0.2), x({}, 0.2, 0.6)}},
      {"onnx.Gelu.20", {x({6}, -3, 3)}},
      {"onnx.Gelu.20", {x({6}, -3, 3)}, {{"approximate", "tanh"}}},
      {"onnx.Acosh.9", {x({5}, 1.1, 3)}},
      {"onnx.Sqrt.6", {positive({5})}},
      {"onnx.Log.6", {positive({5})}},
      {"onnx.Reciprocal.6", {positive({5})}},
      {"onnx.ThresholdedRelu.10", {x({9}, -3, 3)}},
      {"onnx.Shrink.9", {x({9}, -2, 2)}, {{"bias", 0.25}}},
      {"onnx_cast", {x({4})}, {{"to", DType::F64}}},
  };
  for (const char* name :
       {"Neg.6",       "Abs.6",       "Sign.9",      "Floor.6",     "Ceil.6",     "Round.11",  "Exp.6",   "Erf.9",
        "Tanh.6",      "Sin.7",       "Cos.7",       "Tan.7",       "Asin.7",     "Acos.7",    "Atan.7",  "Sinh.9",
        "Cosh.9",      "Asinh.9",     "Atanh.9",     "Sigmoid.6",   "Relu.6",     "LeakyRelu.6", "Elu.6", "Selu.6",
        "Softplus.1",  "Softsign.1",  "HardSigmoid.6", "HardSwish.14", "Mish.18", "Swish.24",  "Celu.12"})
    rows.push_back({std::string("onnx.") + name, {x({7}, -0.9, 0.9)}});
  return rows;
}

std::vector<GradientRow> row_rows() {
  std::vector<GradientRow> rows = {
      {"softmax", {x({2, 5})}},
      {"softmax", {x({3, 2, 2})}, {{"axis", 0}}},
      {"log_softmax", {x({2, 5})}},
      {"log_softmax", {x({2, 3, 2})}, {{"axis", 1}}},
      {"softmax_slope", {x({3, 2}), x({3, 2})}, {{"axis", 0}}},
      {"log_softmax_slope", {x({3, 2}), x({3, 2})}, {{"axis", 0}}},
      {"layer_norm", {x({2, 5}), x({5}), x({5})}},
      {"layer_norm", {x({2, 2, 3}), x({2, 3}), none()}, {{"axis", 1}}},
      {"rms_norm", {x({2, 5}), x({5})}},
      {"batch_norm", {x({2, 3, 2}), x({3}), x({3}), x({3}), positive({3})}},
      {"batch_norm_train", {x({2, 3, 2}), x({3}), x({3}), x({3}), positive({3})}},
      {"moments", {x({2, 5})}},
      {"logsumexp", {x({2, 5})}},
      {"f",
       {x({2, 5})},
       {},
       "def f(x[.., n]) y[..] = log(fold[n](s = 0 : s*0.5 + exp(x[.., n])))"},
      {"f", {x({2, 3, 2})}, {}, "def f(x[.., n, m]) y[..] = fold[n, m](s = 0 : sin(s) * x[.., n, m] + x[.., n, m])"},
      {"f",
       {x({2, 3}), x({2})},
       {},
       "def f(x[.., n], h[..]) y[.., i < n] = exp(fold[j <= i](s = h[..] : s*x[.., j] + s*s))"},
      {"cumsum", {x({2, 5})}},
      {"cumsum", {x({3, 2})}, {{"axis", 0}}},
      {"cumsum_reverse_exclusive", {x({2, 5})}},
      {"linear_recurrence", {x({2, 5}), x({2, 5})}},
      {"head", {x({2, 5})}, {{"k", 3}}},
      {"topk", {x({2, 5})}, {{"k", 3}}},
      {"onnx.TopK.1", {x({2, 5})}, {{"k", 3}}},
      {"onnx.TopK.10", {x({2, 5}), constant_list({3})}},
      {"onnx.TopK.11", {x({5, 2}), constant_list({3})}, {{"axis", 0}, {"largest", 0}}},
      {"onnx.Softmax.13", {x({2, 5})}},
      {"onnx.Softmax.1", {x({2, 2, 3})}},
      {"onnx.LogSoftmax.13", {x({2, 5})}},
      {"onnx.LogSoftmax.1", {x({2, 2, 3})}},
      {"onnx.LayerNormalization.17", {x({2, 5}), x({5}), x({5})}},
      {"onnx.RMSNormalization.23", {x({2, 5}), x({5})}},
      {"onnx.BatchNormalization.7", {x({2, 3, 2}), x({3}), x({3}), x({3}), positive({3})}},
      {"onnx.BatchNormalization.9", {x({2, 3, 2}), x({3}), x({3}), x({3}), positive({3})}},
      {"onnx.BatchNormalization.14", {x({2, 3, 2}), x({3}), x({3}), x({3}), positive({3})}},
      {"onnx.InstanceNormalization.6", {x({2, 2, 5}), x({2}), x({2})}},
      {"onnx.GroupNormalization.21", {x({2, 4, 3}), x({4}), x({4})}, {{"num_groups", 2}}},
      {"onnx.LpNormalization.1", {x({2, 5})}},
      {"onnx.LpNormalization.1", {x({2, 5})}, {{"p", 1}}},
      {"onnx.Hardmax.13", {x({2, 5})}},
      {"onnx.LRN.1", {x({1, 5, 2})}, {{"size", 3}}},
      {"lrn", {x({1, 5, 2})}, {{"k", 3}, {"alpha", 0.5}}},
  };
  for (const char* name : {"sum", "mean", "max", "min", "prod", "l1", "sum_square", "log_sum_exp"})
    for (const bool keepdims : {false, true})
      rows.push_back({std::string("reduce_") + name, {x({2, 3, 2})}, {{"axes", L{0, 2}}, {"keepdims", keepdims}}});
  for (const char* name : {"Mean", "Max", "Min", "Prod", "L1", "SumSquare", "L2", "LogSum", "LogSumExp"}) {
    rows.push_back({fmt::format("onnx.Reduce{}.1", name), {positive({2, 3, 2})}, {{"axes", L{1}}}});
    rows.push_back({fmt::format("onnx.Reduce{}.18", name), {positive({2, 3, 2}), constant_list({1, 2})}});
  }
  rows.push_back({"onnx.ReduceSum.1", {x({2, 3, 2})}});
  rows.push_back({"onnx.ReduceSum.13", {x({2, 3, 2}), constant_list({1})}});
  return rows;
}

std::vector<GradientRow> product_rows() {
  return {
      {"dense", {x({2, 3}), x({4, 3}), x({4})}},
      {"dense", {x({2, 3}), x({4, 3}), none()}},
      {"matmul", {x({2, 3, 4}), x({4, 5})}},
      {"matmul", {x({2, 1, 3, 2}), x({3, 2, 2})}},
      {"trace", {x({3, 3})}},
      {"attention", {x({1, 4, 3, 2}), x({1, 2, 4, 2}), x({1, 2, 4, 3})}, {{"causal", true}}},
      {"attention", {x({1, 2, 3, 2}), x({1, 2, 3, 2}), x({1, 2, 3, 2})}},
      {"rope", {x({2, 3, 4}), ints({3}, 0, 9)}},
      {"lstm_cell", {x({2, 3}), x({2, 2}), x({2, 2}), x({8, 3}), x({8, 2}), x({8})}},
      {"selective_scan", {x({1, 4, 2}), positive({1, 4, 2}), x({2, 3}, -1, 0), x({1, 4, 3}), x({1, 4, 3}), x({2})}},
      {"inner", {x({5}), x({5})}},
      {"vector_matrix", {x({3}), x({2, 3, 4})}},
      {"matrix_vector", {x({2, 3, 4}), x({4})}},
      {"onnx.MatMul.1", {x({3, 4}), x({4, 2})}},
      {"gemm", {x({3, 4}), x({5, 4})}, {{"j", 0}}},
      {"onnx.Gemm.7", {x({4, 3}), x({5, 4}), x({5})}, {{"transA", 1}, {"transB", 1}, {"alpha", 0.5}, {"beta", 2.0}}},
      {"lstm_inputs", {x({3, 2, 3}), x({1, 8, 3}), x({1, 16})}, {{"dir", 0}}},
      {"lstm_step", {x({2, 2, 8}), x({2, 2}), x({2, 2}), x({1, 8, 2})}, {{"t", 1}, {"dir", 0}}},
  };
}

std::vector<GradientRow> convolution_rows() {
  return {
      {"conv", {x({2, 3, 7}), x({4, 3, 3}), x({4})}, {{"p", 1}}},
      {"conv", {x({1, 2, 6, 5}), x({3, 2, 3, 2})}},
      {"conv", {x({1, 2, 8}), x({2, 2, 3})}, {{"s", 2}, {"p", 1}}},
      {"conv", {x({1, 2, 9}), x({2, 2, 3})}, {{"d", 2}, {"p", 2}}},
      {"conv", {x({1, 2, 11}), x({2, 2, 2})}, {{"s", 3}, {"d", 2}}},
      {"conv", {x({1, 2, 9}), x({2, 2, 2})}, {{"s", 4}}},  // elements that no window reads
      {"conv", {x({1, 4, 5, 6}), x({6, 2, 3, 2}), x({6})}, {{"g", 2}, {"s", 2}, {"p", 1}}},
      {"conv", {x({1, 4, 6}), x({4, 1, 3})}, {{"g", 4}, {"p", 1}}},  // depthwise
      {"conv", {x({1, 1, 3, 3, 3}), x({1, 1, 2, 2, 2})}},
      {"conv", {x({1, 2, 1}), x({2, 2, 3})}, {{"p", 1}}},
      {"dynamic_conv2d", {x({2, 4, 5, 2}), x({2, 3, 2, 3, 2})}, {{"s", L{2, 1}}, {"p", L{1, 0}}}},
      {"conv_transpose", {x({1, 2, 4}), x({2, 3, 3})}, {{"s", 2}, {"p", 1}}},
      {"conv_transpose", {x({1, 4, 3, 2}), x({4, 2, 3, 2}), x({4})}, {{"g", 2}, {"s", 2}, {"d", 2}, {"extra", 1}}},
      {"conv_transpose", {x({1, 1, 3}), x({1, 1, 3})}, {{"s", 2}, {"d", 3}, {"p", 2}, {"q", 1}}},
      {"deform_conv", {x({1, 2, 4, 4}), x({2, 2, 2, 2}), x({1, 8, 3, 3}), x({2})}},
      {"onnx.Conv.1", {x({1, 2, 6}), x({2, 2, 3})}, {{"auto_pad", "SAME_UPPER"}, {"strides", L{2}}}},
      {"onnx.ConvTranspose.1", {x({1, 2, 4}), x({2, 2, 3})}, {{"strides", L{2}}, {"pads", L{1, 1}}}},
  };
}

std::vector<GradientRow> window_rows() {
  return {
      {"max_pool", {x({1, 2, 7})}, {{"k", 3}, {"s", 2}, {"p", 1}}},
      {"max_pool", {x({1, 1, 5, 6})}, {{"k", L{2, 3}}, {"s", 1}, {"d", 2}, {"p", 1}}},
      {"max_pool", {x({1, 1, 4})}, {{"k", 2}, {"s", 3}, {"p", 1}, {"ceil_mode", true}}},
      {"avg_pool", {x({1, 2, 7})}, {{"k", 3}, {"s", 2}, {"p", 1}}},
      {"avg_pool", {x({1, 2, 6, 4})}, {{"k", L{2, 2}}}},
      {"avg_pool", {x({1, 1, 4})}, {{"k", 2}, {"s", 3}, {"p", 1}, {"ceil_mode", true}, {"count_include_pad", true}}},
      {"adaptive_avg_pool", {x({1, 2, 5})}, {{"o", L{3}}}},
      {"adaptive_avg_pool", {x({1, 1, 4, 6})}, {{"o", L{2, 3}}}},
      {"unfold", {x({1, 2, 5, 4})}, {{"k", L{2, 3}}, {"p", 1}}},
      {"fold_back", {x({1, 6, 4})}, {{"o", L{6}}, {"k", L{3}}}},
      {"fold_back", {x({1, 4, 9})}, {{"o", L{4, 5}}, {"k", L{2, 2}}, {"s", 2}, {"p", 1}}},
      {"onnx.MaxPool.1", {x({1, 2, 7})}, {{"kernel_shape", L{3}}}},
      {"onnx.MaxPool.8", {x({1, 2, 7})}, {{"kernel_shape", L{3}}, {"strides", L{2}}}},
      {"onnx.MaxPool.10", {x({1, 2, 7})}, {{"kernel_shape", L{3}}, {"dilations", L{2}}}},
      {"onnx.AveragePool.1", {x({1, 2, 7})}, {{"kernel_shape", L{3}}}},
      {"onnx.AveragePool.7", {x({1, 2, 7})}, {{"kernel_shape", L{3}}, {"pads", L{1, 1}}}},
      {"onnx.AveragePool.10", {x({1, 2, 7})}, {{"kernel_shape", L{3}}, {"strides", L{2}}, {"ceil_mode", 1}}},
      {"onnx.AveragePool.19", {x({1, 2, 7})}, {{"kernel_shape", L{3}}, {"dilations", L{2}}}},
      {"onnx.GlobalAveragePool.1", {x({1, 2, 3, 2})}},
      {"onnx.GlobalMaxPool.1", {x({1, 2, 3, 2})}},
  };
}

std::vector<GradientRow> moving_rows() {
  return {
      {"transpose", {x({2, 3, 4})}, {{"perm", L{2, 0, 1}}}},
      {"slice", {x({7, 3})}, {{"axes", L{0}}, {"start", L{1}}, {"stop", L{6}}, {"step", L{2}}}},
      {"pad", {x({3, 2})}, {{"p", L{1, 0}}, {"q", L{2, 1}}}},
      {"pad", {x({3, 2})}, {{"p", L{1, 0}}, {"q", L{2, 1}}, {"mode", "edge"}}},
      {"pad", {x({4, 2})}, {{"p", L{3, 0}}, {"q", L{2, 1}}, {"mode", "reflect"}}},
      {"depth_to_space", {x({1, 8, 2, 3})}, {{"a", 2}}},
      {"resize_nearest", {x({1, 2, 3})}, {{"o", L{7}}}},
      {"resize_nearest", {x({1, 2, 6})}, {{"o", L{3}}}},
      {"resize_linear", {x({1, 2, 3})}, {{"o", L{7}}}},
      {"resize_linear", {x({1, 1, 4, 3})}, {{"o", L{3, 5}}}},
      {"trilu", {x({2, 3, 4})}, {{"k", 1}}},
      {"gather", {x({5, 3}), ints({4}, -5, 5)}},
      {"gather", {x({2, 5}), ints({2, 2}, -5, 5)}, {{"axis", 1}}},
      {"gather_nd", {x({3, 4, 2}), ints({3, 2}, -3, 3)}},
      {"embedding", {x({5, 3}), ints({4}, 0, 5)}},
      {"one_hot", {ints({4}, 0, 3), x({}), x({})}, {{"depth", 3}}},
      {"grid_sample", {x({1, 2, 4, 5}), x({1, 3, 2, 2})}},
      {"grid_sample", {x({1, 2, 4, 5}), x({1, 3, 2, 2}, -1.3, 1.3)}, {{"align", true}}},
      {"scatter_add", {x({4, 2}), ints({6, 2}, 0, 4), x({6, 2})}},
      {"cache_append", {x({1, 2, 5, 3}), x({1, 2, 2, 3}), ints({}, 1, 3)}},
      {"onnx_reshape", {x({2, 6})}, {{"shape", L{3, 4}}}},
      {"onnx_expand", {x({2, 1, 3})}, {{"shape", L{2, 4, 3}}}},
      {"onnx_concat", {x({2, 3}), x({2, 1}), x({2, 2})}, {{"axis", 1}}},
      {"onnx_slice", {x({7, 3})}, {{"axes", L{0}}, {"start", L{5}}, {"step", L{-2}}, {"count", L{3}}}},
      {"onnx_tile", {x({2, 3})}, {{"repeats", L{3, 2}}}},
      {"onnx_pad", {x({3, 2}), x({})}, {{"p", L{1, 0}}, {"q", L{2, 1}}}},
      {"onnx_pad_edge", {x({3, 2})}, {{"p", L{1, 0}}, {"q", L{2, 1}}}},
      {"onnx_pad_reflect", {x({4, 2})}, {{"p", L{3, 0}}, {"q", L{2, 1}}}},
      {"onnx_pad_wrap", {x({3, 2})}, {{"p", L{1, 0}}, {"q", L{2, 1}}}},
      {"onnx_resize_nearest", {x({2, 3})}, {{"axes", L{1}}, {"o", L{5}}, {"a", L{3}}, {"b", L{0}}, {"c", L{5}}}},
      {"onnx_resize_linear", {x({2, 3})}, {{"axes", L{1}}, {"o", L{5}}, {"a", L{6}}, {"b", L{-2}}, {"c", L{10}}}},
      {"onnx.Gather.1", {x({5, 3}), ints({4}, -5, 5)}},
      {"onnx.GatherND.11", {x({3, 4, 2}), ints({3, 2}, -3, 3)}},
      {"onnx.GatherElements.11", {x({3, 4}), ints({3, 2}, -4, 4)}, {{"axis", 1}}},
      {"onnx_scatter_elements", {x({4, 2}), ints({6, 2}, 0, 4), x({6, 2})}, {{"reduction", "add"}}},
      {"onnx_scatter_nd", {x({4, 3}), ints({6, 1}, -4, 4), x({6, 3})}, {{"reduction", "add"}}},
      {"onnx.Scatter.9", {x({4, 2}), ints({6, 2}, 0, 4), x({6, 2})}},
      {"onnx.ScatterElements.11", {x({2, 4}), ints({2, 3}, -4, 4), x({2, 3})}, {{"axis", 1}}},
      {"onnx.ScatterElements.16", {x({4, 2}), ints({6, 2}, 0, 4), x({6, 2})}, {{"reduction", "add"}}},
      {"onnx.ScatterND.11", {x({4, 3, 2}), ints({5, 2}, -2, 3), x({5, 2})}},
      {"onnx.ScatterND.16", {x({4, 3}), ints({6, 1}, -4, 4), x({6, 3})}, {{"reduction", "add"}}},
      {"onnx.Trilu.14", {x({3, 4})}, {{"upper", 0}}},
      {"onnx.CumSum.11", {x({2, 5}), constant_list({1})}, {{"exclusive", 1}, {"reverse", 1}}},
      {"onnx_cumsum", {x({4, 2})}, {{"axis", 0}, {"exclusive", true}, {"reverse", false}}},
      {"onnx_one_hot", {ints({4}, 0, 3), x({2})}, {{"depth", 3}, {"axis", -1}}},
      {"onnx.DepthToSpace.1", {x({1, 8, 2, 3})}, {{"blocksize", 2}}},
      {"onnx.DepthToSpace.11", {x({1, 8, 2, 3})}, {{"blocksize", 2}, {"mode", "CRD"}}},
      {"depth_to_space_crd", {x({1, 8, 2, 3})}, {{"a", 2}}},
      {"onnx.SpaceToDepth.1", {x({1, 2, 4, 6})}, {{"blocksize", 2}}},
      {"onnx_row", {x({3, 2, 2})}, {{"at", 1}}},
      {"dequantize_rows", {ints({2, 3}, 0, 9), x({3}), ints({3}, 0, 3)}, {{"axis", 1}}},
      {"onnx.DequantizeLinear.10", {ints({5}, 0, 9), x({})}},
      {"onnx.DequantizeLinear.13", {ints({2, 3}, 0, 9), x({3})}, {{"axis", 1}}},
  };
}

std::vector<GradientRow> training_rows() {
  return {
      {"cross_entropy", {x({3, 4}), ints({3}, 0, 4), positive({4})}},
      {"cross_entropy", {x({5, 3}), ints({5}, 0, 3), none()}, {{"ignore", 1}}},
      {"cross_entropy", {x({2, 3, 2}), ints({2, 2}, 0, 3), positive({3})}},
      {"sgd", {x({4}), x({4}), x({4}), x({})}, {{"nesterov", true}, {"wd", 0.1}}},
      {"adamw", {x({4}), x({4}), x({4}), positive({4}), x({}, 2, 3), x({})}},
  };
}

void check(const std::vector<GradientRow>& rows) {
  for (const GradientRow& row : rows) check_gradient_row(row);
}

TEST(GradientLayers, Elementwise) { check(elementwise_rows()); }
TEST(GradientLayers, Rows) { check(row_rows()); }
TEST(GradientLayers, Products) { check(product_rows()); }
TEST(GradientLayers, Convolutions) { check(convolution_rows()); }
TEST(GradientLayers, Windows) { check(window_rows()); }
TEST(GradientLayers, Moving) { check(moving_rows()); }
TEST(GradientLayers, Training) { check(training_rows()); }

TEST(GradientLayers, EveryDefinitionHasARow) {
  std::set<std::string> named;
  for (const auto& rows : {elementwise_rows(), row_rows(), product_rows(), convolution_rows(), window_rows(),
                           moving_rows(), training_rows()})
    for (const GradientRow& row : rows) named.insert(row.name);
  std::string missing;
  for (const lang::Definition* definition : layers().definitions())
    if (!named.contains(definition->name) && !exceptions().contains(definition->name))
      missing += definition->name + " ";
  EXPECT_EQ(missing, "") << "definitions without a gradient row";
  for (const auto& [name, reason] : exceptions()) EXPECT_FALSE(named.contains(name)) << name << ": " << reason;
}

}  // namespace
}  // namespace frit::testing
