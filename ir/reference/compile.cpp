#include <algorithm>

#include "ir/reference/program.h"
#include "support/error.h"

namespace frit::reference {

Compiler::Compiler(const Domain& domain, const std::vector<Source>& sources, const Symbols& symbols,
                   bool accumulators_are_inner)
    : domain_(domain), sources_(sources), symbols_(symbols), accumulators_are_inner_(accumulators_are_inner) {}

int Compiler::new_register(bool is_float, bool varying, bool inner) {
  program_.registers.push_back({is_float, varying, inner});
  return static_cast<int>(program_.registers.size()) - 1;
}

void Compiler::push(Instruction instruction, bool inner) {
  (inner ? program_.inner : program_.outer).push_back(instruction);
}

// Sums and products with constants taken apart; everything else is opaque. Index arithmetic wraps, so this is exact.
Compiler::Terms Compiler::split(const Expr& position) const {
  Terms terms;
  std::vector<std::pair<Expr, int64_t>> work{{position, 1}};
  while (!work.empty()) {
    const auto [e, scale] = work.back();
    work.pop_back();
    if (e.is_constant())
      terms.constant += scale * e.int_value();
    else if (e.op() == Op::Index)
      terms.axes[static_cast<int>(e.bits())] += scale;
    else if (e.op() == Op::Add)
      work.insert(work.end(), {{e.arg(0), scale}, {e.arg(1), scale}});
    else if (e.op() == Op::Sub)
      work.insert(work.end(), {{e.arg(0), scale}, {e.arg(1), -scale}});
    else if (e.op() == Op::Neg)
      work.emplace_back(e.arg(0), -scale);
    else if (e.op() == Op::Mul && e.arg(1).is_constant())
      work.emplace_back(e.arg(0), scale * e.arg(1).int_value());
    else if (e.op() == Op::Mul && e.arg(0).is_constant())
      work.emplace_back(e.arg(1), scale * e.arg(0).int_value());
    else if (e.op() == Op::Symbol && symbols_.contains(symbol_name(e)))
      terms.constant += scale * symbols_.at(symbol_name(e));
    else
      terms.opaque.emplace_back(e, scale);
  }
  return terms;
}

std::vector<Expr> Compiler::operands(const Expr& e) {
  if (e.op() != Op::Read) return {e.args().begin(), e.args().end()};
  std::vector<Expr> children;
  std::vector<Terms>& all = terms_[e.id()];
  for (const Expr& p : e.positions()) {
    all.push_back(split(p));
    for (const auto& [opaque, scale] : all.back().opaque) children.push_back(opaque);
  }
  if (e.is_guarded()) children.insert(children.end(), {e.guard_condition(), e.fill()});
  return children;
}

int Compiler::add(const Expr& root) {
  keep_.push_back(root);
  std::vector<std::pair<Expr, bool>> stack{{root, false}};
  while (!stack.empty()) {
    const auto [e, expanded] = stack.back();
    stack.pop_back();
    if (done_.contains(e.id())) continue;
    if (expanded) {
      done_.emplace(e.id(), emit(e));
      continue;
    }
    stack.emplace_back(e, true);
    for (const Expr& child : operands(e)) stack.emplace_back(child, false);
  }
  return done_.at(root.id());
}

int Compiler::emit(const Expr& e) {
  const bool is_float_type = is_float(e.dtype());
  switch (e.op()) {
    case Op::Const: {
      const int r = new_register(is_float_type, false, false);
      program_.constants.emplace_back(r, e);
      return r;
    }
    case Op::Symbol: {
      const auto found = symbols_.find(symbol_name(e));
      if (found == symbols_.end())
        throw InputError(Finding{.where = {},
                                 .what = "a symbol has no value",
                                 .excerpt = {},
                                 .got = symbol_name(e),
                                 .expected = "the extent of an input names it",
                                 .fix = {},
                                 .from = {}});
      const int r = new_register(false, false, false);
      program_.constants.emplace_back(r, index_constant(found->second));
      return r;
    }
    case Op::Index: {
      const int axis = static_cast<int>(e.bits());
      const bool lane = axis < domain_.free;
      check_lane(axis);
      const int r = new_register(false, lane, !lane);
      program_.axis_registers.emplace_back(axis, r);
      return r;
    }
    case Op::Acc: {
      const int r = new_register(is_float_type, true, accumulators_are_inner_);
      if (program_.accumulators.size() <= e.bits()) program_.accumulators.resize(e.bits() + 1, -1);
      program_.accumulators[e.bits()] = r;
      return r;
    }
    case Op::Read:
      return emit_read(e);
    default:
      break;
  }
  Instruction in;
  in.op = e.op();
  in.dtype = e.dtype();
  in.from = e.arg(0).dtype();
  in.exact_operand = e.arg(0).op() == Op::Read && !e.arg(0).is_guarded() &&
                     sources_[static_cast<size_t>(e.arg(0).slot())].magnitudes == nullptr;
  bool varying = false, inner = false;
  for (size_t k = 0; k < e.args().size(); ++k) {
    in.args[k] = done_.at(e.args()[k].id());
    const Register& arg = program_.registers[static_cast<size_t>(in.args[k])];
    varying |= arg.varying;
    inner |= arg.inner;
  }
  in.dst = new_register(is_float_type, varying, inner);
  push(in, inner);
  return in.dst;
}

// A result is evaluated over its own axes only, so what it needs may not mention others.
void Compiler::check_lane(int axis) const {
  if (axis >= domain_.free) return;
  const auto& lanes = domain_.lane_axes;
  FRIT_CHECK(std::find(lanes.begin(), lanes.end(), axis) != lanes.end(), "a result depends on an axis it has not");
}

SplitLinear Compiler::emit_linear(const Terms& terms) {
  Linear fixed;
  fixed.constant = terms.constant;
  SplitLinear result;
  bool varying = false;
  for (const auto& [axis, coefficient] : terms.axes) {
    if (coefficient == 0) continue;
    if (axis >= domain_.free) {
      result.reduced.emplace_back(axis, coefficient);
      continue;
    }
    check_lane(axis);
    fixed.axes.emplace_back(axis, coefficient);
    varying = true;
  }
  for (const auto& [e, coefficient] : terms.opaque) {
    const int r = done_.at(e.id());
    const Register& reg = program_.registers[static_cast<size_t>(r)];
    if (reg.inner) {
      result.registers.emplace_back(r, coefficient);
      continue;
    }
    fixed.registers.emplace_back(r, coefficient);
    varying |= reg.varying;
  }
  result.base = new_register(false, varying, false);
  Instruction in;
  in.kind = Instruction::Kind::Linear;
  in.dst = result.base;
  in.plan = static_cast<int>(program_.linears.size());
  program_.linears.push_back(std::move(fixed));
  push(in, false);
  return result;
}

bool Compiler::is_inside(const Terms& terms, int64_t extent) const {
  if (!terms.opaque.empty()) return false;
  int64_t low = terms.constant, high = terms.constant;
  for (const auto& [axis, coefficient] : terms.axes) {
    const int64_t span = coefficient * std::max<int64_t>(0, domain_.extents[static_cast<size_t>(axis)] - 1);
    (span < 0 ? low : high) += span;
  }
  return low >= 0 && high < extent;
}

int Compiler::emit_read(const Expr& e) {
  ReadPlan plan;
  plan.source = sources_[static_cast<size_t>(e.slot())];
  plan.guarded = e.is_guarded();
  const std::vector<Terms>& all = terms_.at(e.id());
  Terms offset;
  int64_t stride = 1;
  for (size_t d = all.size(); d-- > 0;) {
    const int64_t extent = plan.source.shape[d];
    offset.constant += stride * all[d].constant;
    for (const auto& [axis, coefficient] : all[d].axes) offset.axes[axis] += stride * coefficient;
    for (const auto& [opaque, coefficient] : all[d].opaque) offset.opaque.emplace_back(opaque, stride * coefficient);
    if (!is_inside(all[d], extent)) plan.checks.push_back({emit_linear(all[d]), extent});
    stride *= extent;
  }
  plan.offset = emit_linear(offset);
  if (plan.guarded) {
    plan.condition = done_.at(e.guard_condition().id());
    plan.fill = done_.at(e.fill().id());
  }
  if (!plan.checks.empty() && !plan.guarded) plan.text = to_string(e);
  bool varying = false, inner = false;
  const auto depends_on = [&](int r) {
    if (r < 0) return;
    varying |= program_.registers[static_cast<size_t>(r)].varying;
    inner |= program_.registers[static_cast<size_t>(r)].inner;
  };
  const auto depends_on_linear = [&](const SplitLinear& linear) {
    depends_on(linear.base);
    inner |= !linear.reduced.empty();
    for (const auto& [r, coefficient] : linear.registers) depends_on(r);
  };
  depends_on_linear(plan.offset);
  for (const ReadPlan::Check& check : plan.checks) depends_on_linear(check.position);
  depends_on(plan.condition);
  depends_on(plan.fill);
  Instruction in;
  in.kind = Instruction::Kind::Read;
  in.op = Op::Read;
  in.dtype = e.dtype();
  in.dst = new_register(is_float(e.dtype()), varying, inner);
  in.plan = static_cast<int>(program_.reads.size());
  program_.reads.push_back(std::move(plan));
  push(in, inner);
  return in.dst;
}

}  // namespace frit::reference
