// `for[..] y[..] op= ..`: a local gets a new version, the old one changed at computed positions (LANGUAGE.md section
// 7).
#include <fmt/format.h>

#include <algorithm>

#include "ir/lang/elaborate.h"

namespace frit::lang {
namespace {

ScatterOp op_of(const std::string& text) {
  if (text == "=") return ScatterOp::Set;
  if (text == "+=") return ScatterOp::Add;
  if (text == "*=") return ScatterOp::Mul;
  return text == "max=" ? ScatterOp::Max : ScatterOp::Min;
}

// The target as an expression, so that its brackets are read as those of a read are.
Ex target_of(const Stmt& stmt) {
  Ex target;
  target.kind = Ex::Kind::Read;
  target.text = stmt.name;
  target.bracketed = true;
  target.args = stmt.parts;
  target.span = stmt.target_span;
  target.op_span = stmt.name_span;
  return target;
}

}  // namespace

// The local that is written; operands and static values are not changed.
TensorPtr Elaborator::written_local(const Ex& target) {
  const std::string& name = target.text;
  const auto local = self_->locals.find(name);
  if (local == self_->locals.end()) {
    if (self_->params.contains(name))
      fail(target.op_span, fmt::format("{} is an operand, which no write changes", name), {}, "a local",
           fmt::format("define a copy first, as in out[..] = {}[..], and write that", name));
    if (self_->attrs.contains(name) || self_->dims.contains(name))
      fail(target.op_span, fmt::format("{} is no tensor", name), self_->attrs.contains(name) ? "an attribute" : "a dim",
           "a local");
    if (defining_if(self_->def->body.statements, name)) unknown_name(target);
    std::vector<std::string> names;
    for (const auto& [known, v] : self_->locals) names.push_back(known);
    const std::string near = nearest_spelling(name, names);
    fail(target.op_span, fmt::format("{} is not defined yet", name), {}, "a local that a statement before defines",
         near.empty() ? fmt::format("define it first, as in {}[i < 8] = 0", name)
                      : fmt::format("did you mean {}", near));
  }
  const Val& value = local->second;
  if (!value.is_tensor() && !value.is_scalar() && value.kind != Val::Kind::Choice)
    fail(target.op_span, fmt::format("{} is no tensor", name), fmt::format("{} = {}", name, to_string(value)),
         "a local with elements", fmt::format("define it with brackets, as in {}[i < 8] = 0", name));
  return tensor_of(local->second, name);
}

// The value in the dtype that is written. One of another type is cast, which rounds; one of y's own is as it was
// computed.
Val Elaborator::written_value(const Stmt& stmt, const Tensor& to, const Val& given) {
  const Ex& e = *stmt.value;
  const DType dtype = to.nominal;
  if (dtype == DType::Bool && stmt.op != "=")
    fail(stmt.span, fmt::format("{} of bools", stmt.op), fmt::format("{} {}", to.name, type_text(to)),
         "numbers, or =", "count in integers, and compare them with 0");
  const DType own = own_dtype(given, e.span);
  const bool is_limit = given.kind == Val::Kind::Float && std::isinf(given.f);  // the type's largest or smallest value
  if (is_integer(dtype) && is_float(own) && !is_limit) {
    const std::string fix = given.is_scalar() ? fmt::format("write {}({}) if it may be cut", name(dtype), text(e.span))
                                              : "write an integer";
    fail(e.span, fmt::format("{} takes integers", to.name), describe(given, e),
         fmt::format("{}, the type of {}", name(dtype), to.name), fix);
  }
  if (given.is_scalar() && own != dtype) return cast_value(given, dtype, e.span);
  return scalar_val(convert(given, dtype, e.span), dtype);
}

// `..` of the target are the indices that `..` of the reads bind, of the same extents.
void Elaborator::check_target_dots(const Record& target, const Frame& frame) {
  std::vector<int64_t> mine, bound;
  const Ex* site = nullptr;
  for (const Record::Part& part : target.parts) {
    if (!part.item || part.item->kind != Ex::Kind::Dots) continue;
    mine.push_back(part.extent);
    site = part.item;
  }
  for (const int var : frame.dots) bound.push_back(vars_[static_cast<size_t>(var)].extent);
  if (!site || mine == bound) return;
  fail(site->span, fmt::format("the .. of {} differs from that of the reads", target.tensor->name),
       fmt::format("{} in {} {}, {} in the reads", shape_text(mine), target.tensor->name, type_text(*target.tensor),
                   shape_text(bound)),
       "the same extents");
}

void Elaborator::write(const Stmt& stmt) {
  statement_ = &stmt;
  unbound_.clear();
  const Ex target = target_of(stmt);
  const size_t first_record = records_.size(), first_var = vars_.size(), first_pending = pendings_.size();
  Record record;
  record.tensor = written_local(target);
  record.site = &target;
  record.guarded = true;

  std::vector<const Ex*> bodies{stmt.value.get()};
  for (const ExPtr& item : stmt.parts) bodies.push_back(item.get());
  solve_packs({&stmt.slots}, {stmt.value.get(), &target});
  Frame frame;
  std::vector<int> vars;
  std::vector<LeftAxis> loops = bind(stmt.slots, &frame, Binder::Loop, bodies);
  std::sort(loops.begin(), loops.end(), [](const LeftAxis& a, const LeftAxis& b) { return a.real < b.real; });
  for (const LeftAxis& axis : loops) vars.insert(vars.end(), axis.vars.begin(), axis.vars.end());
  self_->frames.push_back(frame);
  Ctx ctx;
  ctx.whole = false;
  record.parts = parts_of(*record.tensor, target, ctx, "written");
  check_target_dots(record, frame);
  const Val value = written_value(stmt, *record.tensor, to_scalar(eval(*stmt.value, ctx), ctx, stmt.value->span));
  self_->frames.pop_back();
  active_.clear();
  ranges_.forget();
  refuse_whole(value.e, stmt);
  for (const Record::Part& part : record.parts) refuse_whole(part.position, stmt);
  for (size_t p = first_pending; p < pendings_.size(); ++p) refuse_whole(pendings_[p], stmt);
  infer(first_record, first_var, stmt);
  prove(first_record);
  throw_findings();

  for (size_t p = first_pending; p < pendings_.size(); ++p) {
    pendings_[p].stored = pendings_[p].outer;
    build_pending(pendings_[p], fmt::format("{}.{}", label_of(stmt.name), pendings_[p].site->text));
  }
  for (Record::Part& part : record.parts) part.position = with_known_extents(part.position, vars_);
  self_->locals[stmt.name] = tensor_val(build_write(record, vars, op_of(stmt.op), value, label_of(stmt.name)));
}

}  // namespace frit::lang
