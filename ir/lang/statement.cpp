// The end of an indexed let: extents are inferred, reads proven (LANGUAGE.md section 6).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/lang/elaborate.h"

namespace frit::lang {
namespace {

bool infinite(Wide v) { return v <= -kInfinite || v >= kInfinite; }
Wide floor_div(Wide a, Wide b) {
  const Wide q = a / b;
  return a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q;
}
std::string text_of(Wide v, const char* unbounded) {
  // Beyond i64 nothing is meant but "anything".
  if (v > INT64_MAX || v < INT64_MIN) return unbounded;
  return std::to_string(static_cast<int64_t>(v));
}

}  // namespace

// Elements of lists and the like may hide a whole-tensor formula, which has no place beside indices.
void Elaborator::refuse_whole(const Expr& e, const Stmt& stmt) const {
  if (!e) return;
  for_each_node(e, [&](const Expr& x) {
    if (x.op() != Op::Read) return;
    const Record& record = records_[static_cast<size_t>(x.slot()) / 2];
    if (record.whole && !record.tensor->shape.empty())
      fail(stmt.value->span, fmt::format("{} is a whole tensor in a formula with indices", record.tensor->name),
           fmt::format("{} {}", record.tensor->name, type_text(*record.tensor)), "one element");
  });
}

void Elaborator::refuse_whole(const Pending& pending, const Stmt& stmt) const {
  for (const auto* list : {&pending.init, &pending.step, &pending.merge})
    for (const Expr& e : *list) refuse_whole(e, stmt);
  refuse_whole(pending.body, stmt);
  refuse_whole(pending.payload, stmt);
}

void Elaborator::indexed_let(const Stmt& stmt) {
  if (self_->frames.size() > 0) FRIT_UNREACHABLE();
  statement_ = &stmt;
  unbound_.clear();
  const size_t first_record = records_.size(), first_var = vars_.size(), first_pending = pendings_.size();
  const Target& target = stmt.targets[0];
  solve_packs({&target.slots}, {stmt.value.get()});
  Frame frame;
  const std::vector<LeftAxis> axes = bind(target.slots, &frame, Binder::Left, {stmt.value.get()});
  self_->frames.push_back(std::move(frame));
  Ctx ctx;
  ctx.whole = false;
  std::vector<Val> values =
      stmt.targets.size() > 1 ? eval_multi(*stmt.value, ctx) : std::vector<Val>{eval(*stmt.value, ctx)};
  if (values.size() < stmt.targets.size())
    fail(stmt.value->span, fmt::format("{} targets for {}", stmt.targets.size(), counted(values.size(), "result")));
  for (size_t i = 0; i < stmt.targets.size(); ++i) {
    values[i] = to_scalar(values[i], ctx, stmt.value->span);
    if (!values[i].is_scalar()) {
      const DType dtype = own_dtype(values[i], stmt.value->span);
      values[i] = scalar_val(convert(values[i], dtype, stmt.value->span), dtype);
    }
    if (i > 0) {
      const auto same_slots = [](const std::vector<Slot>& a, const std::vector<Slot>& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                          [](const Slot& x, const Slot& y) { return to_text(x) == to_text(y); });
      };
      if (!same_slots(target.slots, stmt.targets[i].slots))
        fail(stmt.targets[i].span, "the targets of one let have different brackets", {}, text(target.span));
    }
  }
  self_->frames.pop_back();
  active_.clear();
  ranges_.forget();
  for (const Val& value : values) refuse_whole(value.e, stmt);
  for (size_t p = first_pending; p < pendings_.size(); ++p) refuse_whole(pendings_[p], stmt);
  infer(first_record, first_var, stmt);
  prove(first_record);
  throw_findings();

  // Indices of tuples that are always 0 are no axes of reductions either. A result that is nothing but a reduction over
  // its own indices is built in one piece, in the order of the result.
  std::vector<int> order;
  std::vector<LeftAxis> left = axes;
  storage_order(left, target.span, &order);
  std::set<int> dropped;
  for (const LeftAxis& axis : axes)
    for (const int var : axis.vars)
      if (std::find(order.begin(), order.end(), var) == order.end()) dropped.insert(var);
  for (size_t p = first_pending; p < pendings_.size(); ++p)
    for (const int var : pendings_[p].outer)
      if (!dropped.contains(var)) pendings_[p].stored.push_back(var);
  std::set<size_t> direct;
  for (size_t i = 0; i < stmt.targets.size(); ++i) {
    const Expr& e = values[i].e;
    if (e.op() != Op::Read) continue;
    const Record& record = records_[static_cast<size_t>(e.slot()) / 2];
    if (record.pending < 0 || static_cast<size_t>(record.pending) < first_pending) continue;
    Pending& pending = pendings_[static_cast<size_t>(record.pending)];
    if (pending.op == ReduceOp::None) continue;
    if (!std::is_permutation(order.begin(), order.end(), pending.stored.begin(), pending.stored.end())) continue;
    pending.stored = order;
    direct.insert(static_cast<size_t>(record.pending));
  }
  for (size_t p = first_pending; p < pendings_.size(); ++p) {
    if (direct.contains(p)) continue;
    build_pending(pendings_[p], fmt::format("{}.{}", label_of(target.name), pendings_[p].site->text));
  }
  for (size_t i = 0; i < stmt.targets.size(); ++i)
    define(stmt.targets[i].name, stmt.targets[i].name_span,
           tensor_val(build_target(stmt.targets[i], axes, values[i], label_of(stmt.targets[i].name))));
}

// ---------------------------------------------------------------------------------------------------- inference

bool Elaborator::infer_round(size_t first_record, size_t first_var) {
  std::map<int, Wide> limits;
  std::map<int, std::vector<std::pair<int64_t, const Record*>>> plain;
  for (size_t r = first_record; r < records_.size(); ++r) {
    const Record& record = records_[r];
    if (record.guarded || record.whole || record.pending >= 0) continue;
    for (const Record::Part& part : record.parts) {
      Expr position = part.position;
      Wide extent = part.extent;
      Linear form = ranges_.linear(position);
      if (form.vars.empty() && form.terms.size() == 1 && position.op() == Op::FloorDiv &&
          position.arg(1).is_constant() && position.arg(1).int_value() > 0) {
        // Position a // q in extent D is a in q*D.
        extent *= position.arg(1).int_value();
        form = ranges_.linear(position.arg(0));
      }
      int unknown = -1, count = 0;
      const auto consider = [&](int var) {
        if (static_cast<size_t>(var) >= first_var && vars_[static_cast<size_t>(var)].extent < 0 &&
            !vars_[static_cast<size_t>(var)].bound && var != unknown)
          unknown = var, ++count;
      };
      std::vector<Expr> hidden;
      for (const auto& [var, c] : form.vars) {
        consider(var);
        if (vars_[static_cast<size_t>(var)].bound) hidden.push_back(vars_[static_cast<size_t>(var)].bound);
      }
      for (const auto& [id, term] : form.terms) hidden.push_back(term.first);
      for (const Expr& e : hidden)
        for_each_node(e, [&](const Expr& x) {
          if (x.op() == Op::Index) consider(static_cast<int>(x.bits()));
        });
      if (count != 1) continue;
      Wide c = 0, constant = 0, limit = 0;
      if (ranges_.end_in(form, unknown, true, &c, &constant) && c > 0)
        limit = floor_div(extent - 1 - constant, c);
      else if (ranges_.end_in(form, unknown, false, &c, &constant) && c < 0)
        limit = floor_div(constant, -c);
      else
        continue;
      const auto [at, added] = limits.emplace(unknown, limit);
      if (!added) at->second = std::min(at->second, limit);
      const bool alone =
          form.vars.size() == 1 && form.terms.empty() && form.constant == 0 && form.vars.begin()->second == 1;
      if (alone) plain[unknown].emplace_back(part.extent, &record);
    }
  }
  for (const auto& [var, limit] : limits) {
    IndexVar& info = vars_[static_cast<size_t>(var)];
    info.extent = static_cast<int64_t>(std::max<Wide>(limit + 1, 0));
    const auto& positions = plain[var];
    for (const auto& [extent, record] : positions) {
      if (extent == positions[0].first) continue;
      const auto from = [&](int64_t n, const Record& r) {
        return fmt::format("{} = {} from {} {}", info.name, n, r.tensor->name, type_text(*r.tensor));
      };
      note(finding(record->site->span, fmt::format("{} has two extents", info.name),
                   fmt::format("{}, {}", from(positions[0].first, *positions[0].second), from(extent, *record)),
                   "the same extent in both",
                   fmt::format("give it a bound, as in {} < {}", info.name, std::min(extent, positions[0].first))));
      break;
    }
  }
  ranges_.forget();
  return !limits.empty();
}

void Elaborator::infer(size_t first_record, size_t first_var, const Stmt& stmt) {
  const auto open = [&] {
    for (size_t v = first_var; v < vars_.size(); ++v)
      if (vars_[v].extent < 0 && !vars_[v].bound) return true;
    return false;
  };
  while (open())
    if (!infer_round(first_record, first_var)) report_unknown(first_record, first_var, stmt);
  // A bound that is not static: the range is masked inside the largest value that it can take.
  for (size_t v = first_var; v < vars_.size(); ++v) {
    IndexVar& info = vars_[v];
    if (!info.bound || info.extent >= 0) continue;
    const Interval range = ranges_.interval(info.bound);
    if (infinite(range.hi) || range.hi > (Wide{1} << 31) - 2) {
      fail(info.span, fmt::format("the bound of {} may be any number", info.name), info.bound_text,
           "a bound with a largest value that can be shown",
           fmt::format("write {} < min({}, n) with n the most it can be", info.name, info.bound_text));
    }
    info.extent = static_cast<int64_t>(std::max<Wide>(range.hi, 0));
    ranges_.forget();
  }
}

void Elaborator::report_unknown(size_t first_record, size_t first_var, const Stmt& stmt) {
  std::vector<const IndexVar*> unknown;
  std::vector<int> ids;
  for (size_t v = first_var; v < vars_.size(); ++v) {
    if (vars_[v].extent >= 0 || vars_[v].bound) continue;
    if (std::any_of(unknown.begin(), unknown.end(), [&](const IndexVar* u) { return u->name == vars_[v].name; }))
      continue;
    unknown.push_back(&vars_[v]);
    ids.push_back(static_cast<int>(v));
  }
  std::string names;
  for (size_t i = 0; i < unknown.size(); ++i)
    names += (i == 0 ? "" : i + 1 == unknown.size() ? " and " : ", ") + unknown[i]->name;
  // Which reads name them, and why they do not help.
  std::string together, guarded, other;
  for (size_t r = first_record; r < records_.size(); ++r) {
    const Record& record = records_[r];
    if (!record.site) continue;
    for (const Record::Part& part : record.parts) {
      int count = 0;
      for (const int id : ids) count += ranges_.mentions(part.position, id);
      if (count == 0) continue;
      const std::string shown =
          fmt::format("{}, {} {}", text(record.site->span), record.tensor->name, type_text(*record.tensor));
      if (record.guarded)
        guarded = shown;
      else if (count > 1)
        together = shown;
      else
        other = shown;
    }
  }
  std::string got = "no read names it", expected = "a read whose position is affine in it, or a bound";
  if (!together.empty()) {
    got = fmt::format("one read that names {}: {}", unknown.size() > 2 ? "them all" : "both", together);
    expected = "one unknown per position, or a bound";
  } else if (!other.empty()) {
    got = fmt::format("a position that is not affine in it: {}", other);
  } else if (!guarded.empty()) {
    got = fmt::format("only a guarded read names it: {}", guarded);
    expected = "an unguarded read, or a bound";
  }
  const IndexVar& last = *unknown.back();
  std::string example = fmt::format("{} < 3", last.name);
  if (last.reduced) {
    std::string reducer = stmt.kind == Stmt::Kind::Write ? "for" : "sum";
    for (const Pending& p : pendings_)
      if (std::find(p.inner.begin(), p.inner.end(), ids.back()) != p.inner.end()) reducer = p.site->text;
    example = fmt::format("{}[{}]", reducer, example);
  } else {
    example = fmt::format("{}[{}]", stmt.targets[0].name, example);
  }
  const Span at{unknown[0]->span.begin, unknown[0]->span.begin + static_cast<uint32_t>(unknown[0]->name.size())};
  fail(at, fmt::format("cannot infer the extent of {}", names), got, expected,
       unknown.size() > 1 ? fmt::format("give one of them a bound, as in {}", example)
                          : fmt::format("give it a bound, as in {}", example));
}

// ---------------------------------------------------------------------------------------------------- proofs

void Elaborator::prove(size_t first_record) {
  for (size_t r = first_record; r < records_.size(); ++r) {
    Record& record = records_[r];
    if (record.whole || record.pending >= 0) continue;
    const bool empty = is_never_read(record);
    for (Record::Part& part : record.parts) {
      part.position = with_known_extents(part.position, vars_);
      part.proven = empty;
      if (!empty) prove_part(record, part);
    }
  }
}

// Whether some index around it has an empty range. A reduction is a tensor of its own over the indices it mentions: an
// outer one that it does not mention keeps none of its reads from happening.
bool Elaborator::is_never_read(const Record& record) {
  for (size_t i = 0; i < record.scope.size(); ++i) {
    const int var = record.scope[i];
    if (vars_[static_cast<size_t>(var)].extent != 0) continue;
    const auto names = [&](const Record::Part& part) { return ranges_.mentions(part.position, var); };
    if (i >= record.inner_from || std::any_of(record.parts.begin(), record.parts.end(), names)) return true;
  }
  return false;
}

void Elaborator::prove_part(Record& record, Record::Part& part) {
  const Linear form = ranges_.linear(part.position);
  Interval range = ranges_.range(form);
  const Interval whole = ranges_.interval(part.position);
  range = {std::max(range.lo, whole.lo), std::min(range.hi, whole.hi)};
  const bool inside = range.lo >= 0 && range.hi < part.extent;
  bool exact = true;
  for (const auto& [value, divisor] : part.exact) exact &= Ranges::divides(ranges_.linear(value), divisor);
  part.proven = inside && exact;
  if (part.proven || record.guarded) return;
  if (!exact) {
    note(finding(part.item->span, fmt::format("this division may leave a remainder"), to_text(*part.item),
                 "a division that is exact for all indices, or a guarded read",
                 fmt::format("write {} else 0", text(record.site->span))));
    return;
  }
  report_range(record, part, range);
}

// The static values and the ranges that a position depends on: "k = 3, s = 2, i < 16".
std::string Elaborator::names_in(const Record& record, const Record::Part& part) {
  (void)record;
  std::set<std::string> names;
  const auto collect = [&](auto& self, const Ex& e) -> void {
    if (e.kind == Ex::Kind::Read && !e.bracketed) names.insert(e.text);
    for (const ExPtr& arg : e.args)
      if (arg) self(self, *arg);
    for (const Arg& arg : e.call_args) self(self, *arg.value);
  };
  if (part.item) collect(collect, *part.item);
  std::set<int> indices;
  for_each_node(part.position, [&](const Expr& e) {
    if (e.op() == Op::Index) indices.insert(static_cast<int>(e.bits()));
  });
  std::vector<std::string> ranges;
  for (const int var : indices) {
    const IndexVar& info = vars_[static_cast<size_t>(var)];
    const Ex* bound = bounds_[static_cast<size_t>(var)];
    if (bound) collect(collect, *bound);
    const bool named = bound && bound->kind == Ex::Kind::Read && !bound->bracketed;
    const Dim* dim = find_dim(info.name);
    if (named) continue;
    if (dim)
      ranges.push_back(fmt::format("{} = {}", info.name, info.extent));
    else if (info.bound)
      ranges.push_back(fmt::format("{} < {}", info.name, info.bound_text));
    else
      ranges.push_back(fmt::format("{} < {}", info.name, info.extent));
  }
  std::string shown;
  const auto add = [&](const std::string& item) { shown += (shown.empty() ? "" : ", ") + item; };
  for (const Attr& attr : self_->def->attrs)
    if (names.contains(attr.name))
      if (const auto v = attribute(attr.name)) add(fmt::format("{} = {}", attr.name, to_string(*v)));
  for (const std::string& name : names) {
    if (self_->attrs.contains(name)) continue;
    if (const auto local = self_->locals.find(name); local != self_->locals.end() && local->second.is_static())
      add(fmt::format("{} = {}", name, to_string(local->second)));
    const Dim* dim = find_dim(name);
    const bool is_index =
        std::any_of(indices.begin(), indices.end(), [&](int v) { return vars_[static_cast<size_t>(v)].name == name; });
    if (dim && !dim->pack && !is_index && dim->is_known()) add(fmt::format("{} = {}", name, dim->extents[0]));
  }
  for (const std::string& range : ranges) add(range);
  return shown;
}

void Elaborator::report_range(const Record& record, const Record::Part& part, Interval range) {
  const Tensor& tensor = *record.tensor;
  const std::string name = tensor.name;
  // A dim that is no index here stands for its extent, which is one past the end.
  const Ex* item = part.item;
  while (item && item->kind == Ex::Kind::Tuple && item->args.size() == 1) item = item->args[0].get();
  if (item && item->kind == Ex::Kind::Read && !item->bracketed && find_dim(item->text) && part.position.is_constant() &&
      !self_->attrs.contains(item->text)) {
    if (unbound_.insert(item->text).second) report_unbound(*item, *statement_);
    return;
  }
  std::string fix;
  const std::string text = this->text(record.site->span);
  if (record.reducer == "max" || record.reducer == "argmax")
    fix = fmt::format("write {} else -inf, so that the border never wins", text);
  else if (record.reducer == "min" || record.reducer == "argmin")
    fix = fmt::format("write {} else inf, so that the border never wins", text);
  else if (record.reducer == "prod")
    fix = fmt::format("write {} else 1, so that the border changes nothing", text);
  else if (record.reducer == "sum" || record.reducer == "mean")
    fix = fmt::format("write {} else 0, so that the border adds nothing", text);
  else
    fix = fmt::format("write {} else 0, or clamp the position", text);
  bool read_of_data = infinite(range.lo) || infinite(range.hi);
  for_each_node(part.position, [&](const Expr& e) { read_of_data |= e.op() == Op::Read; });
  std::string where = fmt::format("{}{}", name, shape_text(tensor.shape));
  if (tensor.axes.size() > 1)
    where = fmt::format("axis {} of {}", tensor.axes[static_cast<size_t>(part.axis)].real, where);
  if (part.factor >= 0) where = fmt::format("factor {} of {}", part.factor, where);
  const std::string context = names_in(record, part);
  const std::string lo = text_of(range.lo, "-inf"), hi = text_of(range.hi, "inf");
  std::string got = range.lo == range.hi ? fmt::format("index {} into {}", lo, where)
                                         : fmt::format("indices {} to {} into {}", lo, hi, where);
  if (read_of_data) got = fmt::format("{}, which data decides, into {}", this->text(part.item->span), where);
  if (!context.empty() && !read_of_data) got += fmt::format("  ({})", context);
  std::string expected = part.extent > 0 ? fmt::format("0 to {}, or a guarded read", part.extent - 1)
                                         : "a guarded read, since the axis is empty";
  note(finding(record.site->span, fmt::format("read may leave the bounds of {}", name), got, expected, fix));
}

void Elaborator::report_unbound(const Ex& item, const Stmt& stmt) {
  // Where a reducer stands beside, the read belongs into it, or the axis to the result.
  const auto reduces = [](const auto& self, const Ex& e) -> bool {
    return e.kind == Ex::Kind::Reduce || e.kind == Ex::Kind::Fold ||
           std::any_of(e.args.begin(), e.args.end(), [&](const ExPtr& arg) { return arg && self(self, *arg); });
  };
  note(finding(item.span, fmt::format("{} is not bound", item.text), fmt::format("{} on the right only", item.text),
               fmt::format("{} left of =, or in a reducer's brackets", item.text),
               reduces(reduces, *stmt.value)
                   ? fmt::format("give {} the axis {}, or read this in the reducer", stmt.targets[0].name, item.text)
                   : fmt::format("write sum[{}]({})", item.text, text(stmt.value->span))));
}

}  // namespace frit::lang
