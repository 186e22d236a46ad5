#include "ir/lang/elaborate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/lang/lexer.h"
#include "ir/lang/parser.h"

namespace frit::lang {
namespace {

constexpr int kCallDepthLimit = 64;

Val from_static(const StaticValue& value) {
  struct Make {
    Val operator()(std::monostate) const { return none_val(); }
    Val operator()(int64_t v) const { return int_val(v); }
    Val operator()(double v) const { return float_val(v); }
    Val operator()(bool v) const { return bool_val(v); }
    Val operator()(const std::string& v) const { return string_val(v); }
    Val operator()(DType v) const { return dtype_val(v); }
    Val operator()(const StaticValue::List& v) const {
      std::vector<Val> items;
      for (const StaticValue& item : v) items.push_back(from_static(item));
      return list_val(std::move(items));
    }
  };
  return std::visit(Make{}, value.value);
}

}  // namespace

bool Dim::is_known() const {
  if (pack && length < 0) return false;
  return std::none_of(extents.begin(), extents.end(), [](int64_t e) { return e < 0; });
}

// ---------------------------------------------------------------------------------------------------- errors

Finding Elaborator::finding(Span span, std::string what, std::string got, std::string expected, std::string fix) const {
  Finding result =
      finding_at(*self_->def->source, span, std::move(what), std::move(got), std::move(expected), std::move(fix));
  for (const Instance* in = self_; in && in->caller && in->site; in = in->caller) {
    const Source& source = *in->caller->def->source;
    std::string call(source.text(in->site->span));
    if (call.size() > 80) call = call.substr(0, 77) + "...";
    std::replace(call.begin(), call.end(), '\n', ' ');
    result.from.push_back(fmt::format("{}: {}", source.where(in->site->span.begin), call));
  }
  return result;
}

void Elaborator::fail(Span span, std::string what, std::string got, std::string expected, std::string fix) const {
  std::vector<Finding> all = findings_;
  all.push_back(finding(span, std::move(what), std::move(got), std::move(expected), std::move(fix)));
  throw InputError(std::move(all));
}

// Calls inside calls can double the work at each level; a text of a few lines must not run for ever.
void Elaborator::count_step(Span span) {
  if (++steps_ > kStepLimit)
    fail(span, fmt::format("this takes more than {} steps to work out", kStepLimit), {}, {},
         "let tensors hold what is used many times");
}

void Elaborator::check_nesting(Span span) const {
  if (nesting_ > kFormulaLimit)
    fail(span, fmt::format("formulas and calls are more than {} deep here", kFormulaLimit), {}, {},
         "name parts of them in lets of their own");
}

void Elaborator::check_rank(size_t rank, Span span) const {
  if (rank > kRankLimit)
    fail(span, "a tensor of too many axes", fmt::format("{}", rank), fmt::format("at most {}", kRankLimit));
}

void Elaborator::unsupported(Span span, std::string what, std::string fix) const {
  throw UnsupportedError(finding(span, std::move(what) + " is not in this version", {}, {}, std::move(fix)));
}

void Elaborator::note(Finding f) {
  for (const Finding& known : findings_)
    if (known.where == f.where && known.what == f.what) return;
  findings_.push_back(std::move(f));
}

void Elaborator::throw_findings() {
  if (!findings_.empty()) throw InputError(std::exchange(findings_, {}));
}

std::string Elaborator::label_of(const std::string& name) const {
  return self_->label.empty() ? name : self_->label + "." + name;
}

// ---------------------------------------------------------------------------------------------------- definitions

namespace {

bool body_is_plain(const std::vector<Stmt>& block);

bool formula_is_plain(const Ex& e) {
  if (e.kind == Ex::Kind::Reduce || e.kind == Ex::Kind::Fold) return false;
  for (const ExPtr& arg : e.args)
    if (arg && !formula_is_plain(*arg)) return false;
  for (const Arg& arg : e.call_args)
    if (!formula_is_plain(*arg.value)) return false;
  return true;
}

bool body_is_plain(const std::vector<Stmt>& block) {
  for (const Stmt& s : block) {
    if (s.kind == Stmt::Kind::Write) return false;
    for (const Target& t : s.targets)
      if (t.bracketed) return false;
    if (s.value && !formula_is_plain(*s.value)) return false;
    for (const ExPtr& part : s.parts)
      if (!formula_is_plain(*part)) return false;
    if (!body_is_plain(s.then_block) || !body_is_plain(s.else_block)) return false;
  }
  return true;
}

void called_names(const Ex& e, std::vector<std::string>* names) {
  if (e.kind == Ex::Kind::Call) names->push_back(e.text);
  for (const ExPtr& arg : e.args)
    if (arg) called_names(*arg, names);
  for (const Arg& arg : e.call_args) called_names(*arg.value, names);
}

void called_names(const std::vector<Stmt>& block, std::vector<std::string>* names) {
  for (const Stmt& s : block) {
    if (s.value) called_names(*s.value, names);
    for (const ExPtr& part : s.parts) called_names(*part, names);
    called_names(s.then_block, names);
    called_names(s.else_block, names);
  }
}

}  // namespace

// Elementwise in the sense of the language: no brackets, plain lets, and only calls of the like.
bool Elaborator::is_inlineable(const Definition& def) {
  const auto [at, added] =
      inlineable_.emplace(&def, true);  // true while being looked at: recursion is refused elsewhere
  if (!added) return at->second;
  bool plain = body_is_plain(def.body.statements);
  for (const Param& p : def.params) plain &= !p.bracketed || p.dims.empty();
  if (plain) {
    std::vector<std::string> names;
    called_names(def.body.statements, &names);
    for (const std::string& name : names) {
      const Definition* callee = library_.find_from(def, name);
      if (callee)
        plain &= is_inlineable(*callee);
      else
        plain &= name != "reshape" && name != "concat" && name != "sort";
    }
  }
  return inlineable_[&def] = plain;
}

// Callers see the axes of a result where they sit; the order in which the definition wrote them is its own.
static Val in_real_order(Val v) {
  if (v.is_list() && !v.list_is_static()) {
    std::vector<Val> items;
    for (const Val& item : *v.list) items.push_back(in_real_order(item));
    return list_val(std::move(items));
  }
  if (!v.is_tensor() || v.tensor->absent) return v;
  const auto before = [](const Tensor::Axis& a, const Tensor::Axis& b) { return a.real < b.real; };
  if (std::is_sorted(v.tensor->axes.begin(), v.tensor->axes.end(), before)) return v;
  auto tensor = std::make_shared<Tensor>(*v.tensor);
  std::sort(tensor->axes.begin(), tensor->axes.end(), before);
  return tensor_val(std::move(tensor));
}

std::vector<Val> Elaborator::run(const Call& given) {
  Call call = given;
  for (const Instance* in = self_; in; in = in->caller)
    if (in->def == call.def)
      fail(call.site ? call.site->op_span : Span{}, fmt::format("{} calls itself", call.def->name), {}, "no recursion");
  Instance instance;
  instance.def = call.def;
  instance.caller = self_;
  instance.site = call.site;
  instance.label = call.label;
  instance.whole = call.whole;
  instance.is_outermost = call.is_outermost;
  instance.bracket = call.bracket;
  steps_ += kCallSteps;
  if (++depth_ > kCallDepthLimit)
    fail(call.site ? call.site->span : Span{}, fmt::format("calls are more than {} deep", kCallDepthLimit));
  const bool has_clause = call.whole && wants_clause(call);
  if (has_clause && self_) materialise_operands(call);
  Instance* const caller = std::exchange(self_, &instance);
  struct Restore {
    Elaborator* owner;
    Instance* caller;
    const Stmt* statement;
    const std::vector<ExPtr>* returned;
    ~Restore() {
      owner->self_ = caller;
      owner->statement_ = statement;
      owner->returned_ = returned;
      --owner->depth_;
    }
  } restore{this, caller, statement_, std::exchange(returned_, nullptr)};

  bind_operands(call);
  auto results = execute(call.def->body.statements);
  if (!results) {
    results.emplace();
    for (const std::string& name : instance.last_targets) results->push_back(*lookup(name));
  }
  if (results->empty())
    fail(call.def->name_span, fmt::format("{} gives no result", call.def->name), {}, "a let or a return at its end");
  if (!call.adjoints.empty()) return run_clause(call);
  if (has_clause) attach_clause(call, *results);
  if (caller)
    for (Val& v : *results) v = in_real_order(std::move(v));
  return std::move(*results);
}

std::optional<std::vector<Val>> Elaborator::execute(const std::vector<Stmt>& block) {
  for (const Stmt& stmt : block)
    if (auto results = execute(stmt)) return results;
  return std::nullopt;
}

std::optional<std::vector<Val>> Elaborator::execute(const Stmt& stmt) {
  switch (stmt.kind) {
    case Stmt::Kind::Let:
      let(stmt);
      self_->last_targets.clear();
      for (const Target& t : stmt.targets) self_->last_targets.push_back(t.name);
      return std::nullopt;
    case Stmt::Kind::Write:
      write(stmt);
      self_->last_targets = {stmt.name};
      return std::nullopt;
    case Stmt::Kind::If:
      return execute(decide(*stmt.value) ? stmt.then_block : stmt.else_block);
    case Stmt::Kind::Require:
      require(stmt);
      return std::nullopt;
    case Stmt::Kind::Return: {
      Ctx ctx;
      ctx.whole = self_->whole;
      ctx.bracket = self_->bracket;
      returned_ = &stmt.parts;
      if (stmt.parts.size() == 1 && stmt.parts[0]->kind == Ex::Kind::Call && self_->def->body.form == BodyForm::Expr)
        return eval_multi(*stmt.parts[0], ctx);
      return expand(stmt.parts, ctx);
    }
  }
  FRIT_UNREACHABLE();
}

bool Elaborator::decide(const Ex& condition) {
  const Val v = eval_static(condition);
  if (v.kind != Val::Kind::Bool)
    fail(condition.span, "this condition is not known when compiled", to_string(v),
         "true or false from attributes and extents");
  return v.i != 0;
}

void Elaborator::define(const std::string& name, Span span, Val value) {
  const auto clash = [&](const std::string& what) {
    fail(span, fmt::format("{} is {} already", name, what), {}, "one meaning for each name", "choose another name");
  };
  if (self_->params.contains(name)) clash("an operand");
  if (self_->attrs.contains(name)) clash("an attribute");
  if (self_->dims.contains(name)) clash("a dim");
  if (self_->indices.contains(name)) clash("an index");
  if (!self_->locals.emplace(name, std::move(value)).second) clash("a local");
}

void Elaborator::let(const Stmt& stmt) {
  const size_t bracketed = static_cast<size_t>(
      std::count_if(stmt.targets.begin(), stmt.targets.end(), [](const Target& t) { return t.bracketed; }));
  if (bracketed == stmt.targets.size()) return indexed_let(stmt);
  if (bracketed != 0) fail(stmt.targets[0].span, "targets with and without brackets in one let");
  Ctx ctx;
  ctx.whole = self_->whole;
  ctx.bracket = self_->bracket;
  if (stmt.targets.size() == 1) {
    Val v = stmt.value->kind == Ex::Kind::Pack ? list_val(expand({stmt.value}, ctx)) : eval(*stmt.value, ctx);
    return define(stmt.targets[0].name, stmt.targets[0].name_span, std::move(v));
  }
  std::vector<Val> values = eval_multi(*stmt.value, ctx);
  if (values.size() < stmt.targets.size())
    fail(stmt.value->span, fmt::format("{} targets for {}", stmt.targets.size(), counted(values.size(), "result")));
  for (size_t i = 0; i < stmt.targets.size(); ++i)
    define(stmt.targets[i].name, stmt.targets[i].name_span, std::move(values[i]));
}

void Elaborator::require(const Stmt& stmt) {
  if (decide(*stmt.value)) return;
  std::string message;
  for (size_t at = 0; at < stmt.message.size();) {
    const size_t open = stmt.message.find('{', at);
    message += stmt.message.substr(at, open - at);
    if (open == std::string::npos) break;
    const size_t close = stmt.message.find('}', open);
    const std::string formula = stmt.message.substr(open + 1, close - open - 1);
    const auto source = std::make_shared<Source>("message", formula);
    // Its places are those of the message, not of the file, so that a mistake in it is shown whole.
    try {
      message += to_string(eval_static(*parse_expression(source)));
    } catch (const InputError& error) {
      fail(stmt.message_span, fmt::format("cannot evaluate {{{}}} in this message", formula),
           error.findings().front().what);
    }
    at = close + 1;
  }
  fail(stmt.value->span, message, {}, text(stmt.value->span));
}

// ---------------------------------------------------------------------------------------------------- the outermost
// call

namespace {

// Whether a formula mentions a name other than as a bare result.
bool mentions(const Ex& e, const std::string& name) {
  if (e.kind == Ex::Kind::Read && e.text == name) return true;
  const auto of_slot = [&](auto& self, const Slot& s) -> bool {
    return (s.bound && mentions(*s.bound, name)) || (s.at && mentions(*s.at, name)) ||
           std::any_of(s.parts.begin(), s.parts.end(), [&](const Slot& part) { return self(self, part); });
  };
  return std::any_of(e.args.begin(), e.args.end(), [&](const ExPtr& arg) { return arg && mentions(*arg, name); }) ||
         std::any_of(e.call_args.begin(), e.call_args.end(), [&](const Arg& a) { return mentions(*a.value, name); }) ||
         std::any_of(e.slots.begin(), e.slots.end(), [&](const Slot& s) { return of_slot(of_slot, s); });
}

bool mentions(const std::vector<Stmt>& block, const std::string& name) {
  return std::any_of(block.begin(), block.end(), [&](const Stmt& s) {
    const auto part = [&](const ExPtr& e) {
      const bool bare = s.kind == Stmt::Kind::Return && e->kind == Ex::Kind::Read && !e->bracketed;
      return !bare && mentions(*e, name);
    };
    return (s.value && mentions(*s.value, name)) || std::any_of(s.parts.begin(), s.parts.end(), part) ||
           (s.kind == Stmt::Kind::Write && s.name == name) || mentions(s.then_block, name) ||
           mentions(s.else_block, name);
  });
}

}  // namespace

// A tensor that nothing but the results of the outermost definition uses is rounded to f16 or bf16 where it is made.
bool Elaborator::is_only_result(const std::string& name) const {
  return self_->is_outermost && !mentions(self_->def->body.statements, name);
}

Val Elaborator::import_constant(Value value, const Param& param) {
  const auto* constant = std::get_if<Constant>(&graph_.node(value).payload);
  if (!constant)
    fail(param.span, fmt::format("{} must be known when compiled", param.name), "a tensor computed at run time",
         "a constant");
  const Array& array = constant->array;
  if (array.rank() > 1 || array.size_bytes() > kSmallConstantBytes)
    fail(param.span, fmt::format("{} must be one number or a short list", param.name), shape_text(array.shape()));
  const auto item = [&](int64_t i) {
    if (is_float(array.dtype())) return float_val(array.float_at(i));
    return array.dtype() == DType::Bool ? bool_val(array.int_at(i) != 0) : int_val(array.int_at(i));
  };
  if (array.rank() == 0) return item(0);
  std::vector<Val> items;
  for (int64_t i = 0; i < array.size(); ++i) items.push_back(item(i));
  return list_val(std::move(items));
}

Val Elaborator::import_operand(const Operand& operand, const Param& param, const std::string& label) {
  const auto tensor = [&](Value value, const std::string& name) {
    const TensorType& type = graph_.type(value);
    auto t = std::make_shared<Tensor>();
    t->name = name;
    t->nominal = type.dtype;
    t->shape = static_shape(type.shape);
    t->has_value = true;
    t->value = value;
    check_rank(t->shape.size(), param.span);
    for (size_t i = 0; i < t->shape.size(); ++i) t->axes.push_back({{t->shape[i]}, static_cast<int>(i)});
    return tensor_val(std::move(t));
  };
  (void)label;
  if (const auto* value = std::get_if<Value>(&operand))
    return param.is_const ? import_constant(*value, param) : tensor(*value, param.name);
  if (const auto* list = std::get_if<std::vector<Value>>(&operand)) {
    std::vector<Val> items;
    for (size_t i = 0; i < list->size(); ++i) items.push_back(tensor((*list)[i], fmt::format("{}[{}]", param.name, i)));
    return list_val(std::move(items));
  }
  if (const auto* value = std::get_if<StaticValue>(&operand)) return from_static(*value);
  return none_val();
}

Value Elaborator::export_result(const Val& value, const std::string& label) {
  if (value.is_number()) {
    const DType dtype = value.is_int() ? DType::I64 : value.kind == Val::Kind::Bool ? DType::Bool : DType::F32;
    Array array(dtype, {});
    if (value.kind == Val::Kind::Float)
      array.set_float(0, value.f);
    else
      array.set_int(0, value.i);
    return graph_.add_constant(std::move(array), label);
  }
  if (value.is_list() && value.list_is_static()) {
    const auto is_float_item = [](const Val& v) { return v.kind == Val::Kind::Float; };
    const bool floats = std::any_of(value.list->begin(), value.list->end(), is_float_item);
    Array array(floats ? DType::F32 : DType::I64, {static_cast<int64_t>(value.list->size())});
    for (size_t i = 0; i < value.list->size(); ++i) {
      const Val& item = (*value.list)[i];
      if (!item.is_number())
        fail(self_->def->name_span, "a result is a list of things that are not numbers", to_string(value));
      if (floats)
        array.set_float(static_cast<int64_t>(i), item.number());
      else
        array.set_int(static_cast<int64_t>(i), item.i);
    }
    return graph_.add_constant(std::move(array), label);
  }
  if (!value.is_tensor() && !value.is_scalar() && value.kind != Val::Kind::Choice)
    fail(self_->def->name_span, "a result is a tensor, a number or a list of numbers", to_string(value));
  const TensorPtr tensor = value.is_tensor() ? value.tensor : materialise(value, label, true);
  if (tensor->absent)
    fail(self_->def->name_span, fmt::format("the result {} is an operand that is absent", tensor->name));
  const Value stored = merged(*tensor);
  if (graph_.type(stored).dtype == tensor->nominal) return stored;
  Compute compute;
  std::vector<Expr> positions;
  std::vector<int> axes;
  for (size_t i = 0; i < tensor->shape.size(); ++i) {
    compute.axes.push_back({fmt::format("i{}", i), index_constant(tensor->shape[i])});
    positions.push_back(index(static_cast<int>(i)));
    axes.push_back(static_cast<int>(i));
  }
  compute.free = static_cast<int>(compute.axes.size());
  compute.results.push_back(
      {cast(frit::read(compute_dtype(graph_.type(stored).dtype), 0, positions), tensor->nominal), axes});
  return graph_.add_compute(std::move(compute), {stored}, label);
}

std::vector<Value> Elaborator::outermost(const Definition& def, const std::vector<Operand>& operands,
                                         const Attributes& attributes, const std::string& label) {
  // Errors about the operands themselves are shown at the definition, which is its own caller's text here.
  Instance outer;
  outer.def = &def;
  outer.label = label;
  self_ = &outer;
  Call call;
  call.def = &def;
  call.label = label;
  call.is_outermost = true;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Param* param = def.params.empty() ? nullptr : &def.params[std::min(i, def.params.size() - 1)];
    if (!param || (i >= def.params.size() && !param->is_variadic))
      fail(def.name_span, fmt::format("{} takes {}", def.name, counted(def.params.size(), "operand")),
           counted(operands.size(), "operand"), signature_text(def));
    Val v = import_operand(operands[i], *param, label);
    if (param->is_variadic && v.is_list())
      for (const Val& item : *v.list) call.operands.push_back(item);
    else
      call.operands.push_back(std::move(v));
  }
  for (const auto& [name, value] : attributes) call.attributes[name] = from_static(value);
  self_ = nullptr;
  const std::vector<Val> results = run(call);
  self_ = &outer;
  std::vector<Value> values;
  for (size_t i = 0; i < results.size(); ++i)
    values.push_back(export_result(results[i], label.empty() ? def.name : label));
  return values;
}

std::vector<Value> instantiate(Graph& graph, const Library& library, const Definition& definition,
                               const std::vector<Operand>& operands, const Attributes& attributes,
                               const std::string& label) {
  return Elaborator(graph, library).outermost(definition, operands, attributes, label);
}

}  // namespace frit::lang
