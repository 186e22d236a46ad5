// What is made of exp and log: the logistic function, hyperbolic functions and their inverses, erf.
#include <cmath>
#include <limits>

#include "codegen/functions/definitions.h"

namespace frit::functions {
namespace {

const double kInfinity = std::numeric_limits<double>::infinity();
bool is_f64(const Expr& x) { return x.dtype() == DType::F64; }
Expr is_nan(const Expr& x) { return not_equal(x, x); }

// e = exp(-|x|) never overflows: 1 / (1 + e) above zero, e / (1 + e) below.
Expr sigmoid_of(const TargetFacts& facts, const Expr& x) {
  const Expr e = exp_of(facts, -absolute(x));
  const Expr top = select(less(x, number(x, 0)), e, number(x, 1));
  return select(is_nan(x), x, top / (number(x, 1) + e));
}

// f32: small |x|: x + x^3 P(x^2), P within 5e-9 of tanh on [0, 0.625]; else 1 - 2 / (e^2|x| + 1). f64: u / (u + 2),
// u = e^2|x| - 1.
Expr tanh_of(const TargetFacts& facts, const Expr& x) {
  const Expr magnitude = absolute(x);
  if (is_f64(x)) {
    const Expr u = expm1_of(facts, minimum(magnitude, f64(20)) * f64(2));
    return select(is_nan(x), x, copy_sign(u / (u + f64(2)), x));
  }
  const Expr z = x * x;
  const Expr p = polynomial(
      facts, z,
      {-0.3333328366279602, 0.13331490755081177, -0.05374349653720856, 0.020650578662753105, -0.005717036779969931});
  const Expr small = multiply_add(facts, magnitude * z, p, magnitude);
  const Expr e = exp_of(facts, minimum(magnitude, number(x, 10)) * number(x, 2));
  const Expr large = number(x, 1) - number(x, 2) / (e + number(x, 1));
  const Expr y = copy_sign(select(less(magnitude, number(x, 0.625)), small, large), x);
  return select(is_nan(x), x, y);
}

// erf(x) / x - 1 on |x| <= 0.94, f64 on |x| <= 1; within 7e-10, f64 2e-19.
Expr erf_small(const TargetFacts& facts, const Expr& z) {
  if (is_f64(z))
    return polynomial(
        facts, z,
        {0.1283791670955126, -0.3761263890318375, 0.11283791670954885, -0.026866170645077833, 0.005223977624828038,
         -0.0008548326981403587, 0.00012055331132177147, -1.4925595753972476e-05, 1.6461008193380732e-06,
         -1.6350393284947846e-07, 1.466030945792564e-08, -1.1374883100838458e-09, 5.96056542642814e-11});
  return polynomial(facts, z,
                    {0.128379225730896, -0.37612631916999817, 0.11283663660287857, -0.026857705786824226,
                     0.005196951795369387, -0.0008097701938822865, 8.185087062884122e-05});
}

// log(erfc(a)) on [0.93, 3.95], f64 on [0.97, 5.93]; erfc(a) within 4e-11, f64 2e-20. Beyond, erf is 1.
Expr log_erfc(const TargetFacts& facts, const Expr& a) {
  if (is_f64(a))
    return polynomial(facts, a,
                      {2.7286216304032196e-08, -1.1283795140752075,     -0.6366176848943229,    -0.10278050805962533,
                       0.019149591231249947,   0.00016670132948690426,  -0.0016295988011553878, 0.0005067206090155264,
                       5.8821380945470404e-05, -0.0001348228244444966,  7.753770024875583e-05,  -2.981654637551013e-05,
                       8.736448917170683e-06,  -2.0269087703844177e-06, 3.7559143157365634e-07, -5.5199268075514704e-08,
                       6.30792363778532e-09,   -5.410733976051196e-10,  3.278829347897431e-11,  -1.2514113764527194e-12,
                       2.2613672293804794e-14});
  return polynomial(facts, a,
                    {0.00017845234833657742, -1.1295331716537476, -0.6333099007606506, -0.10832107067108154,
                     0.025146078318357468, -0.004181241150945425, 0.00043657500646077096, -2.127876359736547e-05});
}

// Small |x|: x + x P(x^2); else 1 - exp(Q(|x|)), Q the logarithm of erfc.
Expr erf_of(const TargetFacts& facts, const Expr& x) {
  const Expr magnitude = absolute(x);
  const Expr a = minimum(magnitude, number(x, is_f64(x) ? 5.93 : 3.95));
  const Expr large = copy_sign(number(x, 1) - exp_of(facts, log_erfc(facts, a)), x);
  const Expr small = multiply_add(facts, x, erf_small(facts, x * x), x);
  return select(less(magnitude, number(x, is_f64(x) ? 1 : 0.94)), small, select(is_nan(x), x, large));
}

Expr softplus_of(const TargetFacts& facts, const Expr& x) {
  return maximum(x, number(x, 0)) + log1p_of(facts, exp_of(facts, -absolute(x)));
}

Expr logaddexp_of(const TargetFacts& facts, const Expr& a, const Expr& b) {
  const Expr distance = select(equal(a, b), number(a, 0), absolute(a - b));  // also where both are the same infinity
  return maximum(a, b) + log1p_of(facts, exp_of(facts, -distance));
}

// e^x is finite below, and e^-x still counts or is lost in rounding above.
Expr exp_limit(const Expr& x) { return number(x, is_f64(x) ? 709 : 88); }

// sinh by expm1: (u + u / (u + 1)) / 2; beyond the limit through e^(x/2) twice.
Expr sinh_of(const TargetFacts& facts, const Expr& x) {
  const Expr magnitude = absolute(x);
  const Expr u = expm1_of(facts, minimum(magnitude, exp_limit(x)));
  const Expr near = (u + u / (u + number(x, 1))) * number(x, 0.5);
  const Expr half = exp_of(facts, magnitude * number(x, 0.5));
  const Expr far = (half * number(x, 0.5)) * half;
  return select(is_nan(x), x, copy_sign(select(less(magnitude, exp_limit(x)), near, far), x));
}

Expr cosh_of(const TargetFacts& facts, const Expr& x) {
  const Expr magnitude = absolute(x);
  const Expr e = exp_of(facts, minimum(magnitude, exp_limit(x)));
  const Expr near = e * number(x, 0.5) + number(x, 0.5) / e;
  const Expr half = exp_of(facts, magnitude * number(x, 0.5));
  const Expr far = (half * number(x, 0.5)) * half;
  return select(less(magnitude, exp_limit(x)), near, select(is_nan(x), x, far));
}

// log1p(t + t^2 / (1 + sqrt(1 + t^2))); for large t log t + log 2.
Expr asinh_of(const TargetFacts& facts, const Expr& x) {
  const Expr t = absolute(x);
  const Expr square = t * t;
  const Expr near = log1p_of(facts, t + square / (number(x, 1) + unary(Op::Sqrt, number(x, 1) + square)));
  const Expr far = log_of(facts, t) + number(x, 0.6931471805599453);
  return select(is_nan(x), x, copy_sign(select(less(t, number(x, 0x1p30)), near, far), x));
}

Expr acosh_of(const TargetFacts& facts, const Expr& x) {
  const Expr t = x - number(x, 1);
  const Expr near = log1p_of(facts, t + unary(Op::Sqrt, t * (t + number(x, 2))));
  const Expr far = log_of(facts, x) + number(x, 0.6931471805599453);
  return select(less(x, number(x, 1)), number(x, std::nan("")),
                select(less(x, number(x, 0x1p30)), near, select(is_nan(x), x, far)));
}

Expr atanh_of(const TargetFacts& facts, const Expr& x) {
  const Expr t = absolute(x);
  const Expr y = log1p_of(facts, (t + t) / (number(x, 1) - t)) * number(x, 0.5);
  const Expr valid =
      select(less_equal(t, number(x, 1)), copy_sign(select(equal(t, number(x, 1)), number(x, kInfinity), y), x),
             number(x, std::nan("")));
  return select(equal(x, number(x, 0)), x, valid);
}

// erfc(-x). Far below zero exp(G(|x|) - x^2), G = log(erfc(a) e^(a^2)) within 3e-6 on [0.9, 10.1]; the relative error
// of the result is at most 3e-5 there.
Expr one_plus_erf(const TargetFacts& facts, const Expr& x) {
  const Expr magnitude = absolute(x), a = minimum(magnitude, f32(10.1));
  const Expr g = polynomial(facts, a,
                            {-0.0008958745165728033, -1.1259783506393433, 0.36212658882141113, -0.10554373264312744,
                             0.024486342445015907, -0.004304386209696531, 0.0005528779001906514, -4.982893369742669e-05,
                             2.967103228002088e-06, -1.0440869857575308e-07, 1.6396876079127765e-09});
  const Expr tail = exp_of(facts, multiply_add(facts, -a, a, g));
  const Expr large = select(less(x, f32(0)), tail, f32(2) - tail);
  const Expr small = multiply_add(facts, x, erf_small(facts, x * x), x) + f32(1);
  return select(less(magnitude, f32(0.94)), small, select(is_nan(x), x, large));
}

}  // namespace

Expr define_complement(const Expr& e, const TargetFacts& facts) {
  if (e.op() != Op::Add && e.op() != Op::Sub) return {};
  const auto is_one = [](const Expr& x) { return x.is_constant() && is_float(x.dtype()) && x.float_value() == 1; };
  const bool first = is_one(e.arg(0));
  if (!first && (e.op() == Op::Sub || !is_one(e.arg(1)))) return {};
  const Expr& function = e.arg(first ? 1 : 0);
  if (function.op() != Op::Tanh && function.op() != Op::Erf) return {};
  const Expr x = e.op() == Op::Sub ? -function.arg(0) : function.arg(0);
  if (function.op() == Op::Tanh) return number(x, 2) * unary(Op::Sigmoid, x + x);
  return x.dtype() == DType::F32 ? one_plus_erf(facts, x) : Expr();
}

Expr define_hyperbolic(const Expr& e, const TargetFacts& facts) {
  const Expr& x = e.arg(0);
  switch (e.op()) {
    case Op::Sigmoid:
      return sigmoid_of(facts, x);
    case Op::Softplus:
      return softplus_of(facts, x);
    case Op::LogAddExp:
      return logaddexp_of(facts, x, e.arg(1));
    case Op::Tanh:
      return tanh_of(facts, x);
    case Op::Erf:
      return erf_of(facts, x);
    case Op::Sinh:
      return sinh_of(facts, x);
    case Op::Cosh:
      return cosh_of(facts, x);
    case Op::Asinh:
      return asinh_of(facts, x);
    case Op::Acosh:
      return acosh_of(facts, x);
    case Op::Atanh:
      return atanh_of(facts, x);
    default:
      return {};
  }
}

}  // namespace frit::functions
