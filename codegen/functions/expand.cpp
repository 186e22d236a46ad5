#include <fmt/format.h>

#include <limits>
#include <unordered_map>

#include "codegen/functions/definitions.h"
#include "codegen/kernel/kernel.h"
#include "support/error.h"

namespace frit {
namespace functions {

Expr polynomial(const TargetFacts& facts, const Expr& x, std::initializer_list<double> coefficients) {
  const double* c = coefficients.end();
  Expr sum = number(x, *--c);
  while (c != coefficients.begin()) sum = multiply_add(facts, sum, x, number(x, *--c));
  return sum;
}

Expr copy_sign(const Expr& magnitude, const Expr& sign) {
  const DType bits = sign.dtype() == DType::F64 ? DType::I64 : DType::I32;
  const int64_t top = bits == DType::I64 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
  const Expr taken = bits_and(bitcast(sign, bits), top);
  const Expr rest = bits_and(bitcast(magnitude, bits), ~top);
  return bitcast(bits_or(rest, taken), sign.dtype());
}

namespace {

// Tests, signs and simple float forms of any float dtype.
Expr define_simple(const Expr& e) {
  const Expr& x = e.args().empty() ? e : e.arg(0);
  switch (e.op()) {
    case Op::StopGradient:
      return x;
    case Op::IsNan:
      return is_float(x.dtype()) ? not_equal(x, x) : constant_int(DType::Bool, 0);
    case Op::IsInf:
      return is_float(x.dtype()) ? equal(absolute(x), number(x, std::numeric_limits<double>::infinity()))
                                 : constant_int(DType::Bool, 0);
    case Op::IsFinite:
      return is_float(x.dtype()) ? less(absolute(x), number(x, std::numeric_limits<double>::infinity()))
                                 : constant_int(DType::Bool, 1);
    case Op::Reciprocal:
      return number(x, 1) / x;
    case Op::Rsqrt:
      return number(x, 1) / unary(Op::Sqrt, x);
    case Op::Sign:
      if (is_unsigned(x.dtype()) || x.dtype() == DType::Bool) return minimum(x, integer(x, 1));
      if (!is_float(x.dtype()))
        return select(less(integer(x, 0), x), integer(x, 1),
                      select(less(x, integer(x, 0)), integer(x, -1), integer(x, 0)));
      return select(less(number(x, 0), x), number(x, 1),
                    select(less(x, number(x, 0)), number(x, -1), x));  // keeps NaN, zeros
    case Op::Lt:                                                       // false < true
      return x.dtype() == DType::Bool ? binary(Op::And, unary(Op::Not, x), e.arg(1)) : Expr();
    case Op::Le:
      return x.dtype() == DType::Bool ? binary(Op::Or, unary(Op::Not, x), e.arg(1)) : Expr();
    case Op::Abs:
      return is_unsigned(x.dtype()) || x.dtype() == DType::Bool ? x : Expr();
    default:
      return {};
  }
}

bool is_half(DType d) { return d == DType::F16 || d == DType::BF16; }

// Arithmetic of f16 and bf16 in f32, rounded once.
Expr define_half(const Expr& e) {
  if (e.op() == Op::Cast || e.op() == Op::BitCast || !is_half(e.args().back().dtype())) return {};
  const auto wide = [&](int i) { return e.arg(i).dtype() == DType::Bool ? e.arg(i) : cast(e.arg(i), DType::F32); };
  if (e.op() == Op::Select) return {};
  const Expr y = is_unary(e.op())    ? unary(e.op(), wide(0))
                 : is_binary(e.op()) ? binary(e.op(), wide(0), wide(1))
                                     : fma(wide(0), wide(1), wide(2));
  return is_float(y.dtype()) ? cast(y, e.dtype()) : y;
}

class Expander {
 public:
  explicit Expander(const TargetFacts& facts) : facts_(facts) {}

  Expr run(const Expr& root) {
    return rewrite(root, [&](const Expr& e) -> Expr {
      Expr defined = define(e);
      return defined ? run(defined) : Expr();
    });
  }

 private:
  Expr define(const Expr& e) const {
    if (e.args().empty() || e.op() == Op::Read) return {};
    for (const Expr& result :
         {define_half(e), define_simple(e), define_cast(e, facts_), define_integer(e), define_rounding(e, facts_)})
      if (result) return result;
    if (kernel::is_primitive(e.op()) && !(e.op() == Op::Fma && !facts_.has_fma)) return {};
    if (e.dtype() == DType::F32 || e.dtype() == DType::F64)
      for (const auto& define_topic : {define_exponential, define_hyperbolic, define_trigonometric, define_power})
        if (Expr result = define_topic(e, facts_)) return result;
    throw UnsupportedError(Finding{.where = {},
                                   .what = fmt::format("{} of {} has no definition", name(e.op()), name(e.dtype())),
                                   .excerpt = {},
                                   .got = to_string(e),
                                   .expected = "f32 or f64",
                                   .fix = "cast the operands to f32",
                                   .from = {}});
  }

  TargetFacts facts_;
};

}  // namespace
}  // namespace functions

Expr expand_functions(const Expr& root, const TargetFacts& facts) {
  const Expr without_sums = rewrite(root, [&](const Expr& e) { return functions::define_complement(e, facts); });
  return functions::Expander(facts).run(without_sums);
}

}  // namespace frit
