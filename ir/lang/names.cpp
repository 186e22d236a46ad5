// What names mean, and that each means one thing (LANGUAGE.md section 4).
#include <fmt/format.h>

#include <algorithm>

#include "ir/lang/elaborate.h"
#include "ir/lang/lexer.h"

namespace frit::lang {

// The condition of an `if` below which a name would have been defined, or nullptr.
const Stmt* defining_if(const std::vector<Stmt>& block, const std::string& name) {
  for (const Stmt& s : block) {
    if (s.kind != Stmt::Kind::If) continue;
    for (const auto* inner : {&s.then_block, &s.else_block}) {
      for (const Stmt& t : *inner)
        for (const Target& target : t.targets)
          if (target.name == name) return &s;
      if (const Stmt* found = defining_if(*inner, name)) return found;
    }
  }
  return nullptr;
}

void Elaborator::unknown_name(const Ex& e) {
  for (const Frame& frame : self_->frames)
    if (frame.accumulators.contains(e.text))
      fail(e.span, fmt::format("{} is an accumulator, and has no elements", e.text), {}, "its value, without brackets",
           fmt::format("write {}", e.text));
  if (const Stmt* condition = defining_if(self_->def->body.statements, e.text))
    fail(e.span, fmt::format("{} is not defined in the branch taken here", e.text),
         fmt::format("{}, which decides it", text(condition->span)), "a definition in every branch that leads here");
  if (self_->indices.contains(e.text))
    fail(e.op_span, fmt::format("{} is not bound", e.text), fmt::format("{} is an index, but not here", e.text),
         fmt::format("{} left of =, or in a reducer's brackets", e.text));
  std::vector<std::string> names = {"true", "false", "none", "inf", "nan", "pi"};
  for (const Param& p : self_->def->params) names.push_back(p.name);
  for (const Attr& a : self_->def->attrs) names.push_back(a.name);
  for (const auto& [name, v] : self_->locals) names.push_back(name);
  for (const auto& [name, d] : self_->dims) names.push_back(name);
  for (const Frame& f : self_->frames)
    for (const auto& [name, b] : f.names) names.push_back(name);
  const std::string near = nearest_spelling(e.text, names);
  const std::string dtype = familiar_dtype(e.text);
  fail(e.op_span, fmt::format("nothing is called {}", e.text), {}, "an operand, attribute, dim, index or local",
       !dtype.empty() ? dtype
       : near.empty() ? ""
                      : fmt::format("did you mean {}", near));
}

void Elaborator::unknown_function(const Ex& e) const {
  std::vector<std::string> names = builtin_names();
  for (const Definition* def : library_.definitions()) names.push_back(def->name);
  const std::string near = nearest_spelling(e.text, names), dtype = familiar_dtype(e.text);
  std::string fix = !dtype.empty() ? dtype : near.empty() ? "" : fmt::format("did you mean {}", near);
  const size_t point = e.text.find('.');
  const std::string first = e.text.substr(0, point);
  if (point != std::string::npos && (self_->params.contains(first) || self_->locals.contains(first)))
    fix = fmt::format("write {}({})", e.text.substr(point + 1), first);
  fail(e.op_span, fmt::format("there is no function {}", e.text), {}, {}, std::move(fix));
}

// ---------------------------------------------------------------------------------------------------- one meaning

// An index may share its name with a dim only. An inner index may hide an outer one.
void Elaborator::check_index_name(const Slot& slot) {
  if (find_dim(slot.name)) return;
  const std::string_view what = self_->params.contains(slot.name)   ? "an operand"
                                : self_->locals.contains(slot.name) ? "a local"
                                : self_->attrs.contains(slot.name)  ? "an attribute"
                                                                    : "";
  if (!what.empty())
    fail(slot.span, fmt::format("{} is {} already", slot.name, what), {}, "one meaning for each name",
         "choose another name");
  self_->indices.insert(slot.name);
}

void Elaborator::check_accumulator_name(const std::string& name, Span span) const {
  const auto bound = [&](const Frame& frame) { return frame.names.contains(name); };
  const std::string_view what = self_->params.contains(name)                                     ? "an operand"
                                : self_->locals.contains(name)                                   ? "a local"
                                : self_->attrs.contains(name)                                    ? "an attribute"
                                : find_dim(name)                                                 ? "a dim"
                                : std::any_of(self_->frames.begin(), self_->frames.end(), bound) ? "an index"
                                                                                                 : "";
  if (!what.empty())
    fail(span, fmt::format("{} is {} already", name, what), {}, "one meaning for each name",
         "choose another name for the accumulator");
}

// ---------------------------------------------------------------------------------------------------- what is not
// taken

bool Elaborator::is_known(const std::string& name, const std::vector<std::string>& inner) const {
  if (self_->params.contains(name) || self_->locals.contains(name) || self_->attrs.contains(name) || find_dim(name) ||
      name == "pi" || std::find(inner.begin(), inner.end(), name) != inner.end())
    return true;
  for (const Frame& frame : self_->frames)
    if (frame.names.contains(name) || frame.accumulators.contains(name) || frame.right.contains(name)) return true;
  // A branch that is not taken here may define it for this side.
  return defining_if(self_->def->body.statements, name) != nullptr;
}

void Elaborator::check_names(const Ex& e, std::vector<std::string>& inner) {
  if (e.kind == Ex::Kind::Read && !is_known(e.text, inner)) unknown_name(e);
  if (e.kind == Ex::Kind::Call && !is_reserved(e.text) && !library_.find_from(*self_->def, e.text) &&
      std::find(builtin_names().begin(), builtin_names().end(), e.text) == builtin_names().end())
    unknown_function(e);
  const size_t outer = inner.size();
  const auto slot = [&](auto& self, const Slot& s) -> void {
    if (s.kind == Slot::Kind::Name) inner.push_back(s.name);
    for (const Slot& part : s.parts) self(self, part);
    if (s.bound) check_names(*s.bound, inner);
    if (s.at) check_names(*s.at, inner);
  };
  for (const Slot& s : e.slots) slot(slot, s);
  inner.insert(inner.end(), e.names.begin(), e.names.end());
  for (const ExPtr& arg : e.args)
    if (arg) check_names(*arg, inner);
  for (const Arg& arg : e.call_args) check_names(*arg.value, inner);
  inner.resize(outer);
}

// The side of a static choice that is not taken: its names exist, and nothing else is asked of it.
void Elaborator::check_untaken(const Ex& e) {
  std::vector<std::string> inner;
  check_names(e, inner);
}

}  // namespace frit::lang
