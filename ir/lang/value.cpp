#include "ir/lang/value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace frit::lang {

bool Val::list_is_static() const {
  return std::all_of(list->begin(), list->end(), [](const Val& v) { return v.is_static(); });
}

Val none_val() { return {}; }
Val int_val(int64_t value) {
  Val v;
  v.kind = Val::Kind::Int;
  v.i = value;
  return v;
}
Val float_val(double value) {
  Val v;
  v.kind = Val::Kind::Float;
  v.f = value;
  return v;
}
Val bool_val(bool value) {
  Val v;
  v.kind = Val::Kind::Bool;
  v.i = value;
  return v;
}
Val string_val(std::string value) {
  Val v;
  v.kind = Val::Kind::String;
  v.s = std::move(value);
  return v;
}
Val dtype_val(DType value) {
  Val v;
  v.kind = Val::Kind::DType;
  v.dtype = value;
  return v;
}
Val list_val(std::vector<Val> items) {
  Val v;
  v.kind = Val::Kind::List;
  for (const Val& item : items)
    if (__builtin_add_overflow(v.i, item.is_list() ? item.i : 1, &v.i)) v.i = std::numeric_limits<int64_t>::max();
  v.list = std::make_shared<const std::vector<Val>>(std::move(items));
  return v;
}
Val scalar_val(Expr e, DType nominal, std::vector<int64_t> shape) {
  Val v;
  v.kind = Val::Kind::Scalar;
  v.e = std::move(e);
  v.dtype = nominal;
  v.shape = std::move(shape);
  return v;
}
Val tensor_val(TensorPtr tensor) {
  Val v;
  v.kind = Val::Kind::Tensor;
  v.tensor = std::move(tensor);
  return v;
}

std::string to_string(const Val& v) {
  switch (v.kind) {
    case Val::Kind::None:
      return "none";
    case Val::Kind::Int:
      return v.wide ? std::to_string(static_cast<uint64_t>(v.i)) : std::to_string(v.i);
    case Val::Kind::Float:
      return std::isfinite(v.f) && v.f == std::floor(v.f) && std::fabs(v.f) < 1e15 ? fmt::format("{:.1f}", v.f)
                                                                                   : fmt::format("{}", v.f);
    case Val::Kind::Bool:
      return v.i ? "true" : "false";
    case Val::Kind::String:
      return "\"" + v.s + "\"";
    case Val::Kind::DType:
      return std::string(name(v.dtype));
    case Val::Kind::List: {
      std::string text;
      for (const Val& item : *v.list) text += (text.empty() ? "" : ", ") + to_string(item);
      return "[" + text + "]";
    }
    case Val::Kind::Scalar:
      return fmt::format("a value of type {}", name(v.dtype));
    case Val::Kind::Choice:
      return "a number chosen at run time";
    case Val::Kind::Tensor:
      return fmt::format("{} {}", v.tensor->name, type_text(*v.tensor));
  }
  FRIT_UNREACHABLE();
}

std::string counted(size_t n, std::string_view noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

bool is_half(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }

int64_t product(const std::vector<int64_t>& factors) {
  int64_t result = 1;
  for (const int64_t f : factors)
    if (__builtin_mul_overflow(result, f, &result)) return -1;
  return result;
}

int64_t Tensor::Axis::extent() const { return product(factors); }
std::string shape_text(const std::vector<int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }
std::string type_text(const Tensor& t) { return fmt::format("{}{}", name(t.nominal), shape_text(t.shape)); }

}  // namespace frit::lang
