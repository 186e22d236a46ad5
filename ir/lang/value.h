#pragma once
// What a formula evaluates to while a definition is elaborated: a static value, a typed scalar, or a tensor.
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/lang/ast.h"

namespace frit::lang {

struct Tensor;
using TensorPtr = std::shared_ptr<Tensor>;

/// A value of the language. Int, Float and Bool are static numbers; Int and Float are weak.
struct Val {
  enum class Kind : uint8_t { None, Int, Float, Bool, String, DType, List, Scalar, Choice, Tensor };
  Kind kind = Kind::None;
  int64_t i = 0;                         // Int; Bool as 0 or 1; List: elements, also those of lists in it
  bool wide = false;                     // Int: a literal above the largest i64
  double f = 0;                          // Float
  std::string s;                         // String
  frit::DType dtype = frit::DType::F32;  // DType; Scalar: the nominal dtype, of which f16 and bf16 are computed in f32
  std::shared_ptr<const std::vector<Val>> list;
  Expr e;                                            // Scalar: its value; Choice: the condition
  std::vector<int64_t> shape;                        // Scalar and Choice of a whole-tensor formula: the broadcast shape
  std::shared_ptr<const std::pair<Val, Val>> sides;  // Choice: two weak values under a run-time condition
  TensorPtr tensor;

  bool is_static() const { return kind < Kind::Scalar && !(kind == Kind::List && !list_is_static()); }
  bool is_number() const { return kind == Kind::Int || kind == Kind::Float || kind == Kind::Bool; }
  bool is_weak() const { return kind == Kind::Int || kind == Kind::Float || kind == Kind::Choice; }
  bool is_int() const { return kind == Kind::Int; }
  bool is_list() const { return kind == Kind::List; }
  bool is_scalar() const { return kind == Kind::Scalar; }
  bool is_tensor() const { return kind == Kind::Tensor; }
  double number() const {
    return kind == Kind::Float ? f : wide ? static_cast<double>(static_cast<uint64_t>(i)) : static_cast<double>(i);
  }
  bool list_is_static() const;
};

Val none_val();
Val int_val(int64_t value);
Val float_val(double value);
Val bool_val(bool value);
Val string_val(std::string value);
Val dtype_val(DType value);
Val list_val(std::vector<Val> items);
Val scalar_val(Expr e, DType nominal, std::vector<int64_t> shape = {});
Val tensor_val(TensorPtr tensor);
std::string to_string(const Val& value);
bool is_half(DType dtype);
std::string counted(size_t n, std::string_view noun);  // "1 operand", "2 operands"

/// An operand or a local. Written order is the order of its declaration; real order is that of its shape.
struct Tensor {
  struct Axis {
    std::vector<int64_t> factors;  // more than one for a tuple
    int real = 0;                  // where it sits
    int64_t extent() const;
  };
  std::string name;
  DType nominal = DType::F32;
  std::vector<int64_t> shape;  // real
  std::vector<Axis> axes;      // written
  bool absent = false;         // an optional operand left out; its reads give `fallback`
  Val fallback;
  bool has_value = false;
  Value value;  // stored with one axis per real axis
  bool has_split = false;
  Value split;  // stored with one axis per factor, in real order
};
int64_t product(const std::vector<int64_t>& factors);
std::string shape_text(const std::vector<int64_t>& shape);  // "[8, 64]"
std::string type_text(const Tensor& tensor);                // "f32[8, 64]"

}  // namespace frit::lang
