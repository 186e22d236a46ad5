#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "compiler/front/node.h"
#include "compiler/front/npy.h"
#include "compiler/plan/program.h"
#include "compiler/standard_library.h"
#include "frit/frit.h"
#include "support/error.h"

namespace frit {
namespace {

[[noreturn]] void refuse(std::string where, std::string what, std::string got, std::string expected) {
  throw InputError(Finding{.where = std::move(where),
                           .what = std::move(what),
                           .excerpt = {},
                           .got = std::move(got),
                           .expected = std::move(expected),
                           .fix = {},
                           .from = {}});
}

const front::NodePtr& present(const front::NodePtr& node) {
  if (!node) refuse("tensor", "is absent", "a default Tensor", "a tensor with a shape");
  return node;
}

Tensor scalar_of(DType dtype, double real, int64_t integer, bool is_integer_value) {
  Array array(dtype, {});
  if (is_integer_value && !is_float(dtype))
    array.set_int(0, integer);
  else
    array.set_float(0, real);
  return Tensor(front::make_value(std::move(array)));
}

// The number as a scalar that leaves the tensor's dtype as it is (LANGUAGE.md section 3, weak numbers).
Tensor weak_scalar(const Tensor& a, const std::variant<int64_t, double>& number) {
  const int64_t* integer = std::get_if<int64_t>(&number);
  const double real = integer ? static_cast<double>(*integer) : std::get<double>(number);
  const DType dtype = a.dtype();
  if (is_float(dtype)) return scalar_of(compute_dtype(dtype), real, 0, false);
  if (!integer) return scalar_of(DType::F32, real, 0, false);
  if (dtype == DType::Bool) return scalar_of(DType::I64, 0, *integer, true);
  Tensor scalar = scalar_of(dtype, 0, *integer, true);
  if (scalar.node()->state().value->int_at(0) != *integer)
    refuse("number", "does not fit the tensor's dtype", fmt::format("{}", *integer), std::string(name(dtype)));
  return scalar;
}

// a SYMBOL b, and with a number on either side: half precision is computed in f32 and rounded once.
Tensor apply(std::string_view symbol, const Tensor& a, const Tensor& b) {
  return op(fmt::format("def _(a, b) = a {} b", symbol))(a, b);
}
Tensor apply(std::string_view symbol, const Tensor& a, const std::variant<int64_t, double>& number, bool is_left,
             bool is_comparison) {
  const Tensor s = weak_scalar(a, number);
  const std::string formula = is_left ? fmt::format("s {} a", symbol) : fmt::format("a {} s", symbol);
  const bool is_half = a.dtype() == DType::F16 || a.dtype() == DType::BF16;
  if (is_half && !is_comparison) return op(fmt::format("def _(a, s) = cast({}, dtype(a))", formula))(a, s);
  return op(fmt::format("def _(a, s) = {}", formula))(a, s);
}

}  // namespace

Tensor Tensor::from_bytes(DType dtype, std::vector<int64_t> shape, const void* data, size_t bytes) {
  Array array(dtype, std::move(shape));
  if (array.size_bytes() != bytes)
    refuse("tensor", "the shape has another number of elements", fmt::format("{} bytes", bytes),
           fmt::format("{} bytes", array.size_bytes()));
  if (bytes > 0) std::memcpy(array.mutable_data(), data, bytes);
  return Tensor(front::make_value(std::move(array)));
}

DType Tensor::dtype() const { return present(node_)->dtype; }
const std::vector<int64_t>& Tensor::shape() const { return present(node_)->shape; }
int64_t Tensor::size() const { return element_count(shape()); }

const Tensor& Tensor::evaluate() const {
  front::evaluate(present(node_));
  return *this;
}

const void* Tensor::raw_data() const {
  evaluate();
  return node_->state().value->data();
}

const void* Tensor::bytes(DType expected) const {
  if (dtype() != expected)
    refuse("tensor", "has another dtype", std::string(name(dtype())), std::string(name(expected)));
  return raw_data();
}

#define FRIT_OPERATOR(symbol, word, is_comparison)                                     \
  Tensor word(const Tensor& a, const Tensor& b) { return apply(symbol, a, b); }        \
  Tensor word(const Tensor& a, std::variant<int64_t, double> b, bool is_left_number) { \
    return apply(symbol, a, b, is_left_number, is_comparison);                         \
  }
FRIT_OPERATOR("+", add, false)
FRIT_OPERATOR("-", subtract, false)
FRIT_OPERATOR("*", multiply, false)
FRIT_OPERATOR("/", divide, false)
FRIT_OPERATOR("==", equal, true)
FRIT_OPERATOR("!=", not_equal, true)
FRIT_OPERATOR("<", less, true)
FRIT_OPERATOR("<=", less_equal, true)
FRIT_OPERATOR(">", greater, true)
FRIT_OPERATOR(">=", greater_equal, true)
#undef FRIT_OPERATOR
Tensor operator-(const Tensor& a) { return op("def _(a) = -a")(a); }

Function Function::with(std::string name, Attribute value) const {
  Function copy = *this;
  copy.attributes_[std::move(name)] = std::move(value);
  return copy;
}

std::vector<Tensor> Function::call(const std::vector<Tensor>& operands) const {
  std::vector<front::NodePtr> nodes, given;
  for (const Tensor& operand : operands) {
    nodes.push_back(operand.node());
    if (operand) given.push_back(operand.node());
  }
  std::vector<Tensor> results;
  for (front::NodePtr& node : make_call(fragment_of(*data_, nodes, attributes_), std::move(given)))
    results.emplace_back(std::move(node));
  return results;
}

const std::string& Function::name() const { return data_->definition->name; }

Function op_file(const std::filesystem::path& path, std::string_view name) {
  auto library = std::make_shared<lang::Library>(&standard_library(), read_file(path), path.string());
  if (!name.empty())
    return Function(std::make_shared<front::FunctionData>(front::FunctionData{library, &library->get(name)}));
  const lang::Definition* only = nullptr;
  std::string names;
  for (const lang::Definition* definition : library->definitions()) {
    if (definition->source->file() != path.string()) continue;
    only = definition;
    names += (names.empty() ? "" : ", ") + definition->name;
  }
  if (!only || names != only->name) refuse(path.string(), "needs the name of a definition", names, "one definition");
  return Function(std::make_shared<front::FunctionData>(front::FunctionData{library, only}));
}

Statistics statistics() {
  const runtime::KernelCache::Counters& counters = runtime::KernelCache::shared().counters();
  return {counters.compiles, counters.memory_hits + remembered_programs(), counters.disk_hits, runtime::llvm_loaded()};
}

}  // namespace frit
