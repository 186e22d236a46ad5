#pragma once
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "ir/dtype.h"
#include "support/error.h"

// Frit: operations on tensors as a few lines of text, compiled for this machine when they are first used.
//
// Errors are exceptions: InputError (the caller's mistake), UnsupportedError (right, but not supported here),
// CompilerError (a compiler refused a text), InternalError (a bug of ours). The library never prints and never exits.
namespace frit {

namespace front {
struct Node;
using NodePtr = std::shared_ptr<Node>;
struct FunctionData;
struct ModelData;
}  // namespace front

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::same_as<T, bool>) return DType::Bool;
  else if constexpr (std::same_as<T, float>) return DType::F32;
  else if constexpr (std::same_as<T, double>) return DType::F64;
  else if constexpr (std::integral<T> && std::is_signed_v<T>)
    return sizeof(T) == 1 ? DType::I8 : sizeof(T) == 2 ? DType::I16 : sizeof(T) == 4 ? DType::I32 : DType::I64;
  else if constexpr (std::integral<T>)
    return sizeof(T) == 1 ? DType::U8 : sizeof(T) == 2 ? DType::U16 : sizeof(T) == 4 ? DType::U32 : DType::U64;
  else static_assert(std::same_as<T, void>, "no dtype for this type");
}

template <class T>
concept Number = std::same_as<T, bool> || std::integral<T> || std::same_as<T, float> || std::same_as<T, double>;

/// A tensor, perhaps not computed yet: operations record what is to be done, and values are computed together when they
/// are first asked for. A cheap handle to something that never changes; a default one is absent.
/// Handles may be copied, used and evaluated from many threads at once, one handle from one thread at a time.
class Tensor {
 public:
  Tensor() = default;
  /// Copies the data, row-major. errors  InputError: the shape has another number of elements
  template <Number T>
  Tensor(const std::vector<T>& data, std::vector<int64_t> shape) {
    if constexpr (std::same_as<T, bool>) {
      const std::vector<uint8_t> bytes(data.begin(), data.end());
      *this = from_bytes(DType::Bool, std::move(shape), bytes.data(), bytes.size());
    } else {
      *this = from_bytes(dtype_of<T>(), std::move(shape), data.data(), data.size() * sizeof(T));
    }
  }
  template <Number T>
  explicit Tensor(const std::vector<T>& data) : Tensor(data, {static_cast<int64_t>(data.size())}) {}
  /// A scalar of rank 0.
  template <Number T>
  static Tensor scalar(T value) {
    return from_bytes(dtype_of<T>(), {}, &value, sizeof value);
  }
  /// Copies `bytes` bytes, row-major: also for f16 and bf16, as their bits.
  static Tensor from_bytes(DType dtype, std::vector<int64_t> shape, const void* data, size_t bytes);

  explicit operator bool() const { return node_ != nullptr; }
  DType dtype() const;
  const std::vector<int64_t>& shape() const;
  int rank() const { return static_cast<int>(shape().size()); }
  int64_t size() const;

  /// Computes the values now, if they are not there yet.
  const Tensor& evaluate() const;
  /// The values, row-major. errors  InputError: another dtype
  template <Number T>
  std::vector<T> to_vector() const {
    if constexpr (std::same_as<T, bool>) {
      const auto* begin = static_cast<const uint8_t*>(bytes(DType::Bool));
      return std::vector<bool>(begin, begin + size());
    } else {
      const auto* begin = static_cast<const T*>(bytes(dtype_of<T>()));
      return std::vector<T>(begin, begin + size());
    }
  }
  /// The values in place, as long as this tensor lives. errors  InputError: another dtype
  template <Number T>
  const T* data() const {
    return static_cast<const T*>(bytes(dtype_of<T>()));
  }
  /// The bytes, whatever the dtype is.
  const void* raw_data() const;

  /// The values alone, as a tensor that no gradient flows through.
  Tensor detach() const;

  explicit Tensor(front::NodePtr node) : node_(std::move(node)) {}
  const front::NodePtr& node() const { return node_; }

 private:
  const void* bytes(DType expected) const;
  front::NodePtr node_;
};

// Elementwise, broadcasting as numpy does. A number is weak: it adapts to the tensor's dtype (LANGUAGE.md section 3).
// errors  InputError: shapes that do not broadcast, dtypes that do not promote, `/` on integers
#define FRIT_OPERATOR(symbol, word)                                                            \
  Tensor word(const Tensor& a, const Tensor& b);                                               \
  Tensor word(const Tensor& a, std::variant<int64_t, double> b, bool is_left_number = false);  \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { return word(a, b); }       \
  template <Number T>                                                                          \
  Tensor operator symbol(const Tensor& a, T b) {                                               \
    return word(a, detail::weak(b));                                                           \
  }                                                                                            \
  template <Number T>                                                                          \
  Tensor operator symbol(T a, const Tensor& b) {                                               \
    return word(b, detail::weak(a), true);                                                     \
  }
namespace detail {
template <Number T>
std::variant<int64_t, double> weak(T value) {
  if constexpr (std::integral<T>) return static_cast<int64_t>(value);
  else return static_cast<double>(value);
}
}  // namespace detail
FRIT_OPERATOR(+, add)
FRIT_OPERATOR(-, subtract)
FRIT_OPERATOR(*, multiply)
FRIT_OPERATOR(/, divide)
FRIT_OPERATOR(==, equal)
FRIT_OPERATOR(!=, not_equal)
FRIT_OPERATOR(<, less)
FRIT_OPERATOR(<=, less_equal)
FRIT_OPERATOR(>, greater)
FRIT_OPERATOR(>=, greater_equal)
#undef FRIT_OPERATOR
Tensor operator-(const Tensor& a);

/// The value of an attribute of a definition; monostate is `none`.
using Attribute = std::variant<std::monostate, int64_t, double, bool, std::string, DType, std::vector<int64_t>,
                               std::vector<double>>;

/// A definition of the snippet language, called like a function. Cheap to copy; safe to call from many threads.
class Function {
 public:
  /// The op with an attribute, or a `const` operand, set.
  Function with(std::string name, Attribute value) const;
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Function with(std::string name, T value) const {
    return with(std::move(name), Attribute(static_cast<int64_t>(value)));
  }
  Function with(std::string name, const char* value) const { return with(std::move(name), Attribute(std::string(value))); }

  /// The first result. Operands by position; a default Tensor is an absent one.
  /// errors  InputError with the place in the snippet: number, shapes or dtypes of operands, attributes
  template <std::convertible_to<Tensor>... T>
  Tensor operator()(const T&... operands) const {
    return call({Tensor(operands)...}).front();
  }
  /// All results.
  std::vector<Tensor> call(const std::vector<Tensor>& operands) const;

  const std::string& name() const;
  explicit Function(std::shared_ptr<const front::FunctionData> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<const front::FunctionData> data_;
  std::map<std::string, Attribute> attributes_;
};

/// The last definition of a text, which may call those before it and the standard layers.
/// errors  InputError with the place in the text
Function op(std::string_view text);
/// A definition of a file. Without a name the file has one definition.
Function op_file(const std::filesystem::path& path, std::string_view name = {});
/// A definition of the standard layers: "softmax", "conv", "onnx.Gelu.20".
Function standard_op(std::string_view name);

// One line each (LANGUAGE.md section 11). Operands are called a, b, c, .. in order.

/// elementwise("a * sigmoid(b)", {a, b}); a block `{ .. return y, z }` gives several results.
std::vector<Tensor> elementwise_all(std::string_view formula, const std::vector<Tensor>& operands);
template <std::convertible_to<Tensor>... T>
Tensor elementwise(std::string_view formula, const T&... operands) {
  return elementwise_all(formula, {Tensor(operands)...}).front();
}
/// reduce("log(sum(exp(a)))", {a}, {1}): reducers run over `axes`, which are dropped; negative ones count from the end.
Tensor reduce(std::string_view formula, const std::vector<Tensor>& operands, const std::vector<int64_t>& axes);
/// A reducer of one's own: `combine` joins a state s with the mapped element t and is associative.
struct Reducer {
  std::string map = "a", combine, identity, finish = "s";
};
Tensor reduce(const Reducer& reducer, const std::vector<Tensor>& operands, const std::vector<int64_t>& axes);
/// Windows over the last k.size() axes; cells outside are `outside`. Empty lists: s = k, d = 1, p = 0, q = p.
struct Window {
  std::vector<int64_t> k, s = {}, d = {}, p = {}, q = {};
  bool ceil_mode = false;
  std::string outside = "-inf";
};
Tensor subsample(std::string_view formula, const Tensor& a, const Window& window);
/// Repeats each element k[i] times along the last k.size() axes; `formula` is of a.
Tensor supersample(std::string_view formula, const Tensor& a, const std::vector<int64_t>& k);
/// einsum("bik,bkj->bij", {a, b})
Tensor einsum(std::string_view spec, const std::vector<Tensor>& operands);

/// Gradients of a recorded computation, in reverse mode (docs/gradient.md); recorded themselves, so that they can be
/// differentiated again.
///     returns[k] = sum of seed * d output / d inputs[k]
/// output   float; seed: what arrives at it, same dtype and shape; absent: ones
/// inputs   float tensors that `output` was made from, given ones or results of calls; zeros where it does not depend
///          on one. Each gradient has the dtype and shape of its input
/// errors   InputError: not float; another seed; a tensor between inputs and output was evaluated before, which forgets
///          how it was made
std::vector<Tensor> grad(const Tensor& output, const std::vector<Tensor>& inputs, const Tensor& seed = {});

/// A trained model. Safe to run from many threads at once.
class Model {
 public:
  struct Port {
    std::string name;
    DType dtype;
    std::vector<std::string> dims;  // as the file declares them: "3", "N", "?"
  };
  struct Info {
    std::vector<Port> inputs, outputs;
    std::string producer;
    std::map<std::string, std::string> metadata;
  };
  /// Of the last shapes that were compiled.
  struct Report {
    size_t kernels = 0, launches = 0;
    double import_ms = 0, compile_ms = 0;
    bool is_from_disk = false;  // the plan: no pass has run
    int64_t arena_bytes = 0;
  };

  const Info& info() const;
  Report report() const;
  /// Compiles for these shapes at the first call with them. Outputs by name.
  /// errors  InputError: a name, shape or dtype. UnsupportedError: all operators that are not supported, by node
  std::map<std::string, Tensor> run(const std::map<std::string, Tensor>& inputs) const;

  explicit Model(std::shared_ptr<front::ModelData> data) : data_(std::move(data)) {}

 private:
  std::shared_ptr<front::ModelData> data_;
};

/// errors  InputError: missing, damaged, or not ONNX
Model load_onnx(const std::filesystem::path& path);

/// Counts since the process started.
struct Statistics {
  uint64_t compiles = 0;     // kernels compiled
  uint64_t memory_hits = 0;  // kernels and graphs found in memory
  uint64_t disk_hits = 0;    // kernels read from disk
  bool llvm_loaded = false;
};
Statistics statistics();

}  // namespace frit
