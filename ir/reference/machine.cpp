#include <cmath>
#include <numeric>

#include "ir/reference/magnitude.h"
#include "ir/reference/program.h"
#include "ir/scalar.h"
#include "support/error.h"

namespace frit::reference {

Machine::Machine(const Program& program, const Domain& domain) : program_(program), domain_(domain) {
  files_.resize(program.registers.size());
  for (size_t r = 0; r < files_.size(); ++r) {
    const size_t lanes = program.registers[r].varying ? kLanes : 1;
    if (program.registers[r].is_float) {
      files_[r].values.resize(lanes);
      files_[r].magnitudes.resize(lanes);
    } else {
      files_[r].integers.resize(lanes);
    }
  }
  for (const auto& [r, e] : program.constants) {
    File& file = files_[static_cast<size_t>(r)];
    if (is_float(e.dtype())) {
      file.values[0] = e.float_value();
      file.magnitudes[0] = std::fabs(e.float_value());
    } else {
      file.integers[0] = e.int_value();
    }
  }
  lane_index_.resize(domain.extents.size());
  for (const int axis : domain.lane_axes) lane_index_[static_cast<size_t>(axis)].resize(kLanes);
  reduced_.resize(domain.extents.size());
  scratch_a_.resize(kLanes);
  scratch_b_.resize(kLanes);
  scratch_ok_.resize(kLanes);
}

void Machine::set_lanes(int64_t first_lane, int count) {
  count_ = count;
  for (int l = 0; l < count; ++l) {
    int64_t rest = first_lane + l;
    for (size_t d = domain_.lane_axes.size(); d-- > 0;) {
      const auto axis = static_cast<size_t>(domain_.lane_axes[d]);
      lane_index_[axis][static_cast<size_t>(l)] = rest % domain_.extents[axis];
      rest /= domain_.extents[axis];
    }
  }
  for (const auto& [axis, r] : program_.axis_registers)
    if (axis < domain_.free) files_[static_cast<size_t>(r)].integers = lane_index_[static_cast<size_t>(axis)];
}

void Machine::begin(int64_t first_lane, int count) {
  set_lanes(first_lane, count);
  run_outer();
}

void Machine::step(const std::vector<int64_t>& reduced) {
  reduced_ = reduced;
  for (const auto& [axis, r] : program_.axis_registers)
    if (axis >= domain_.free) files_[static_cast<size_t>(r)].integers[0] = reduced[static_cast<size_t>(axis)];
  run(program_.inner);
}

void Machine::run(const std::vector<Instruction>& code) {
  for (const Instruction& in : code) {
    if (in.kind == Instruction::Kind::Linear)
      run_linear(in);
    else if (in.kind == Instruction::Kind::Read)
      run_read(in);
    else if (in.op == Op::Cast || in.op == Op::BitCast)
      run_cast(in);
    else if (in.op == Op::Select)
      run_select(in);
    else if (is_float(in.from))
      run_float(in);
    else
      run_integer(in);
  }
}

void Machine::run_linear(const Instruction& in) {
  const Linear& linear = program_.linears[static_cast<size_t>(in.plan)];
  const int n = lanes_of(in.dst);
  int64_t* out = integers(in.dst);
  std::fill_n(out, n, linear.constant);
  for (const auto& [axis, coefficient] : linear.axes) {
    const int64_t* at = lane_index_[static_cast<size_t>(axis)].data();
    for (int l = 0; l < n; ++l) out[l] += coefficient * at[l];
  }
  for (const auto& [r, coefficient] : linear.registers) {
    const int64_t* v = integers(r);
    const int s = stride(r);
    for (int l = 0; l < n; ++l) out[l] += coefficient * v[l * s];
  }
}

void Machine::positions(const SplitLinear& linear, int n, int64_t* out) {
  int64_t add = 0;
  for (const auto& [axis, coefficient] : linear.reduced) add += coefficient * reduced_[static_cast<size_t>(axis)];
  const int64_t* base = integers(linear.base);
  const int s = stride(linear.base);
  for (int l = 0; l < n; ++l) out[l] = base[l * s] + add;
  for (const auto& [r, coefficient] : linear.registers) {
    const int64_t* v = integers(r);
    const int sr = stride(r);
    for (int l = 0; l < n; ++l) out[l] += coefficient * v[l * sr];
  }
}

template <class T>
void Machine::load(const ReadPlan& plan, const T* data, const Instruction& in, int n) {
  const int64_t* at = scratch_a_.data();
  const uint8_t* ok = scratch_ok_.data();
  const bool all = !plan.guarded;
  if constexpr (std::is_same_v<T, int64_t>) {
    int64_t* out = integers(in.dst);
    for (int l = 0; l < n; ++l) out[l] = all || ok[l] ? data[at[l]] : integers(plan.fill)[l * stride(plan.fill)];
  } else {
    double* out = values(in.dst);
    double* magnitude = magnitudes(in.dst);
    const double* known = plan.source.magnitudes;
    if (all && !known) {
      for (int l = 0; l < n; ++l) out[l] = data[at[l]];
      for (int l = 0; l < n; ++l) magnitude[l] = std::fabs(out[l]);
      return;
    }
    for (int l = 0; l < n; ++l) {
      if (all || ok[l]) {
        out[l] = data[at[l]];
        magnitude[l] = known ? known[at[l]] : std::fabs(out[l]);
      } else {
        out[l] = values(plan.fill)[l * stride(plan.fill)];
        magnitude[l] = magnitudes(plan.fill)[l * stride(plan.fill)];
      }
    }
  }
}

void Machine::run_read(const Instruction& in) {
  const ReadPlan& plan = program_.reads[static_cast<size_t>(in.plan)];
  const int n = lanes_of(in.dst);
  uint8_t* ok = scratch_ok_.data();
  if (plan.guarded) {
    const int64_t* condition = integers(plan.condition);
    const int s = stride(plan.condition);
    for (int l = 0; l < n; ++l) ok[l] = condition[l * s] != 0;
  }
  for (const ReadPlan::Check& check : plan.checks) {
    positions(check.position, n, scratch_b_.data());
    bool inside = true;
    for (int l = 0; l < n; ++l) {
      const bool one = static_cast<uint64_t>(scratch_b_[static_cast<size_t>(l)]) < static_cast<uint64_t>(check.extent);
      inside &= one;
      ok[l] &= static_cast<uint8_t>(one);
    }
    FRIT_CHECK(inside || plan.guarded, "a read leaves its tensor: " + plan.text);
  }
  positions(plan.offset, n, scratch_a_.data());
  if (!is_float(plan.source.dtype))
    load(plan, plan.source.ints, in, n);
  else if (plan.source.f32)
    load(plan, plan.source.f32, in, n);
  else
    load(plan, plan.source.f64, in, n);
}

void Machine::run_float(const Instruction& in) {
  const int n = lanes_of(in.dst);
  const double* a = values(in.args[0]);
  const double* ma = magnitudes(in.args[0]);
  const int sa = stride(in.args[0]);
  if (in.op == Op::IsNan || in.op == Op::IsInf || in.op == Op::IsFinite) {
    for (int l = 0; l < n; ++l) integers(in.dst)[l] = eval_float_test(in.op, a[l * sa]);
    return;
  }
  if (is_unary(in.op)) {
    double* out = values(in.dst);
    double* m = magnitudes(in.dst);
    for (int l = 0; l < n; ++l) {
      out[l] = eval_float_unary(in.op, a[l * sa]);
      m[l] = magnitude_unary(in.op, out[l], a[l * sa], ma[l * sa]);
    }
    return;
  }
  const double* b = values(in.args[1]);
  const double* mb = magnitudes(in.args[1]);
  const int sb = stride(in.args[1]);
  if (is_comparison(in.op)) {
    for (int l = 0; l < n; ++l) integers(in.dst)[l] = eval_float_compare(in.op, a[l * sa], b[l * sb]);
    return;
  }
  double* out = values(in.dst);
  double* m = magnitudes(in.dst);
  switch (in.op) {
    case Op::Add:
      for (int l = 0; l < n; ++l) out[l] = a[l * sa] + b[l * sb], m[l] = ma[l * sa] + mb[l * sb];
      return;
    case Op::Sub:
      for (int l = 0; l < n; ++l) out[l] = a[l * sa] - b[l * sb], m[l] = ma[l * sa] + mb[l * sb];
      return;
    case Op::Mul:
      for (int l = 0; l < n; ++l) out[l] = a[l * sa] * b[l * sb], m[l] = ma[l * sa] * mb[l * sb];
      return;
    case Op::Fma: {
      const double* c = values(in.args[2]);
      const double* mc = magnitudes(in.args[2]);
      const int sc = stride(in.args[2]);
      for (int l = 0; l < n; ++l) {
        out[l] = std::fma(a[l * sa], b[l * sb], c[l * sc]);
        m[l] = ma[l * sa] * mb[l * sb] + mc[l * sc];
      }
      return;
    }
    default:
      for (int l = 0; l < n; ++l) {
        out[l] = eval_float_binary(in.op, a[l * sa], b[l * sb]);
        m[l] = magnitude_binary(in.op, out[l], a[l * sa], ma[l * sa], b[l * sb], mb[l * sb]);
      }
  }
}

void Machine::run_integer(const Instruction& in) {
  const int n = lanes_of(in.dst);
  const int64_t* a = integers(in.args[0]);
  const int sa = stride(in.args[0]);
  int64_t* out = integers(in.dst);
  if (is_unary(in.op)) {
    for (int l = 0; l < n; ++l) out[l] = eval_int_unary(in.op, in.from, a[l * sa]);
    return;
  }
  const int64_t* b = integers(in.args[1]);
  const int sb = stride(in.args[1]);
  if (is_comparison(in.op)) {
    for (int l = 0; l < n; ++l) out[l] = eval_int_compare(in.op, in.from, a[l * sa], b[l * sb]);
    return;
  }
  if (in.op == Op::Fma) {
    const int64_t* c = integers(in.args[2]);
    const int sc = stride(in.args[2]);
    for (int l = 0; l < n; ++l)
      out[l] = eval_int_binary(Op::Add, in.from, eval_int_binary(Op::Mul, in.from, a[l * sa], b[l * sb]), c[l * sc]);
    return;
  }
  for (int l = 0; l < n; ++l) out[l] = eval_int_binary(in.op, in.from, a[l * sa], b[l * sb]);
}

// A cast takes the value that its operand's dtype holds.
void Machine::run_cast(const Instruction& in) {
  const int n = lanes_of(in.dst);
  const int r = in.args[0];
  const int s = stride(r);
  const bool bits = in.op == Op::BitCast;
  if (is_float(in.from) && is_float(in.dtype)) {
    // What was computed in f32 has the errors of f32 as an f64 too, 2^29 of its units.
    const bool widens = in.dtype == DType::F64 && in.from == DType::F32;
    const double scale = widens && !in.exact_operand ? 0x1p29 : 1;
    for (int l = 0; l < n; ++l) {
      const double v = round_to_float(in.from, values(r)[l * s]);
      values(in.dst)[l] = bits ? float_from_bits(in.dtype, float_bits(in.from, v)) : round_to_float(in.dtype, v);
      magnitudes(in.dst)[l] = bits ? std::fabs(values(in.dst)[l]) : scale * magnitudes(r)[l * s];
    }
  } else if (is_float(in.from)) {
    for (int l = 0; l < n; ++l) {
      const double v = round_to_float(in.from, values(r)[l * s]);
      integers(in.dst)[l] = bits ? wrap_to(in.dtype, float_bits(in.from, v)) : saturate_to(in.dtype, v);
    }
  } else if (is_float(in.dtype)) {
    for (int l = 0; l < n; ++l) {
      const int64_t v = integers(r)[l * s];
      values(in.dst)[l] = bits ? float_from_bits(in.dtype, v) : int_to_float(in.from, in.dtype, v);
      magnitudes(in.dst)[l] = std::fabs(values(in.dst)[l]);
    }
  } else {
    for (int l = 0; l < n; ++l) integers(in.dst)[l] = wrap_to(in.dtype, integers(r)[l * s]);
  }
}

void Machine::run_select(const Instruction& in) {
  const int n = lanes_of(in.dst);
  const int64_t* c = integers(in.args[0]);
  const int sc = stride(in.args[0]), sa = stride(in.args[1]), sb = stride(in.args[2]);
  for (int l = 0; l < n; ++l) {
    const int from = c[l * sc] ? in.args[1] : in.args[2];
    const int at = l * (c[l * sc] ? sa : sb);
    if (is_float(in.dtype)) {
      values(in.dst)[l] = values(from)[at];
      magnitudes(in.dst)[l] = magnitudes(from)[at];
    } else {
      integers(in.dst)[l] = integers(from)[at];
    }
  }
}

}  // namespace frit::reference
