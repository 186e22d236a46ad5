// `grad` clauses: the values of a definition that has one pass through a CustomGradient. The clause is elaborated as a
// graph of its own, in which the body is run again: it sees all names of the body.
#include <fmt/format.h>

#include <algorithm>

#include "ir/lang/elaborate.h"

namespace frit::lang {
namespace {

void collect_tensors(const Val& v, std::vector<TensorPtr>* found) {
  if (v.is_tensor() && !v.tensor->absent) found->push_back(v.tensor);
  if (v.is_list())
    for (const Val& item : *v.list) collect_tensors(item, found);
}

std::vector<TensorPtr> tensors_of(const std::vector<Val>& values) {
  std::vector<TensorPtr> found;
  for (const Val& v : values) collect_tensors(v, &found);
  return found;
}

/// The same values over other tensors, taken in order.
Val with_tensors(const Val& v, const std::vector<TensorPtr>& tensors, size_t* next) {
  if (v.is_tensor() && !v.tensor->absent) return tensor_val(tensors[(*next)++]);
  if (!v.is_list()) return v;
  std::vector<Val> items;
  for (const Val& item : *v.list) items.push_back(with_tensors(item, tensors, next));
  return list_val(std::move(items));
}

bool has_float(const std::vector<TensorPtr>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const TensorPtr& t) { return is_float(t->nominal); });
}

/// As `like`, but stored in `value`.
TensorPtr tensor_in(const Tensor& like, std::string name, Value value) {
  auto tensor = std::make_shared<Tensor>();
  tensor->name = std::move(name);
  tensor->nominal = like.nominal;
  tensor->shape = like.shape;
  for (size_t i = 0; i < like.shape.size(); ++i) tensor->axes.push_back({{like.shape[i]}, static_cast<int>(i)});
  tensor->has_value = true;
  tensor->value = value;
  return tensor;
}

/// `from` as a tensor of this type: summed over what it has been broadcast along, broadcast where it is smaller.
/// Nothing if the shapes do not broadcast.
std::optional<Value> fitted(Graph& graph, Value from, const TensorType& to) {
  const TensorType& type = graph.type(from);
  if (type == to) return from;
  const std::vector<int64_t> have = static_shape(type.shape), want = static_shape(to.shape);
  Compute c;
  std::vector<int> shape;
  for (size_t i = 0; i < want.size(); ++i) {
    c.axes.push_back({fmt::format("i{}", i), index_constant(want[i])});
    shape.push_back(static_cast<int>(i));
  }
  c.free = static_cast<int>(want.size());
  std::vector<Expr> positions;
  for (size_t i = 0; i < have.size(); ++i) {
    const int64_t axis = static_cast<int64_t>(want.size()) - static_cast<int64_t>(have.size()) + static_cast<int64_t>(i);
    const int64_t extent = axis < 0 ? 1 : want[static_cast<size_t>(axis)];
    if (have[i] == extent && axis >= 0) {
      positions.push_back(index(static_cast<int>(axis)));
    } else if (have[i] == 1) {
      positions.push_back(index_constant(0));
    } else if (extent == 1) {
      positions.push_back(index(static_cast<int>(c.axes.size())));
      c.axes.push_back({fmt::format("r{}", i), index_constant(have[i])});
    } else {
      return std::nullopt;
    }
  }
  const DType computed = compute_dtype(type.dtype);
  Expr value = frit::read(computed, 0, positions);
  if (c.reduced() > 0) {
    c.reduction = make_reduction(ReduceOp::Sum, value);
    value = accumulator(computed, 0);
  }
  c.results.push_back({cast(value, to.dtype), shape});
  return graph.add_compute(std::move(c), {from});
}

}  // namespace

// The adjoints that a clause gives, one for each tensor among the operands; none where it leaves one out.
std::vector<Val> Elaborator::run_clause(const Call& call) {
  const Gradient& clause = *self_->def->gradient;
  if (clause.adjoints.size() != call.adjoints.size())
    fail(clause.span, fmt::format("this grad clause names {}", counted(clause.adjoints.size(), "adjoint")),
         fmt::format("{} of {}", counted(call.adjoints.size(), "result"), self_->def->name), "one adjoint for each result");
  for (size_t k = 0; k < call.adjoints.size(); ++k) define(clause.adjoints[k], clause.span, call.adjoints[k]);
  const auto returned = execute(clause.body.statements);
  std::vector<Val> adjoints;
  for (const Param& param : self_->def->params) {
    const auto operand = self_->params.find(param.name);
    std::vector<TensorPtr> tensors;
    if (operand != self_->params.end()) collect_tensors(operand->second, &tensors);
    const auto named = self_->locals.find("d" + param.name);
    Val given = named != self_->locals.end() ? named->second : none_val();
    if (clause.body.form == BodyForm::Expr) {
      if (self_->def->params.size() != 1)
        fail(clause.span, fmt::format("{} has {}", self_->def->name, counted(self_->def->params.size(), "operand")),
             "grad(..) = formula", "a formula alone where there is one operand",
             fmt::format("write grad(..) {{ d{} = .. }}", param.name));
      given = (*returned)[0];
    }
    if (given.is_list() && given.list->size() == tensors.size() && param.is_variadic)
      adjoints.insert(adjoints.end(), given.list->begin(), given.list->end());
    else
      adjoints.insert(adjoints.end(), tensors.size(), given);
  }
  return adjoints;
}

CustomGradient Elaborator::make_clause(const Call& call, const std::vector<TensorPtr>& operands,
                                       const std::vector<TensorPtr>& values) {
  Graph graph;
  Elaborator inner(graph, library_);
  std::vector<TensorPtr> own;
  for (const TensorPtr& t : operands)
    own.push_back(tensor_in(*t, t->name, graph.add_input(fmt::format("x{}", own.size()), graph_.type(merged(*t)))));
  for (size_t k = 0; k < values.size(); ++k) graph.add_input(fmt::format("y{}", k), graph_.type(merged(*values[k])));
  Call again = call;
  size_t next = 0;
  for (Val& v : again.operands) v = with_tensors(v, own, &next);
  again.is_outermost = false;
  for (size_t k = 0; k < values.size(); ++k) {
    const Value adjoint = graph.add_input(fmt::format("dy{}", k), graph_.type(merged(*values[k])));
    again.adjoints.push_back(tensor_val(tensor_in(*values[k], call.def->gradient->adjoints.size() > k
                                                                  ? call.def->gradient->adjoints[k]
                                                                  : "dy",
                                                  adjoint)));
  }
  inner.self_ = self_ && self_->def == call.def ? self_->caller : self_;
  const std::vector<Val> adjoints = inner.run(again);

  CustomGradient custom;
  custom.operands = static_cast<int>(operands.size());
  Instance outer;
  outer.def = call.def;
  inner.self_ = &outer;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (adjoints[k].kind == Val::Kind::None || !is_float(operands[k]->nominal)) continue;
    Val v = adjoints[k];
    const TensorPtr adjoint = inner.tensor_of(v, "d" + operands[k]->name);
    const auto value = fitted(graph, inner.merged(*adjoint), graph_.type(merged(*operands[k])));
    if (!value)
      inner.fail(call.def->gradient->span, fmt::format("d{} has another shape than {}", operands[k]->name, operands[k]->name),
                 type_text(*adjoint), type_text(*operands[k]), "sum over the axes that the operand does not have");
    graph.add_output("d" + operands[k]->name, *value);
    custom.overridden.push_back(static_cast<int>(k));
  }
  if (custom.overridden.empty() && has_float(operands))
    inner.fail(call.def->gradient->span, "this grad clause defines no adjoint", {},
               fmt::format("d{} = ..", operands[0]->name));
  custom.clause = std::make_shared<const Graph>(std::move(graph));
  return custom;
}

bool Elaborator::wants_clause(const Call& call) const { return call.def->gradient && call.adjoints.empty(); }

// Operands of a call that a clause differentiates are tensors.
void Elaborator::materialise_operands(Call& call) {
  for (size_t k = 0; k < call.operands.size(); ++k) {
    Val& v = call.operands[k];
    if (v.is_scalar() || v.kind == Val::Kind::Choice)
      v = tensor_val(materialise(v, k < call.def->params.size() ? call.def->params[k].name : "x"));
  }
}

// The results of a definition on whole tensors, behind its clause.
void Elaborator::attach_clause(const Call& call, std::vector<Val>& results) {
  const std::vector<TensorPtr> operands = tensors_of(call.operands);
  if (!has_float(operands)) return;
  std::vector<TensorPtr> values;
  for (Val& v : results) {
    if (v.is_static() || (v.is_tensor() && v.tensor->absent)) return;  // known without the operands
    values.push_back(tensor_of(v, call.def->name));
  }
  CustomGradient custom = make_clause(call, operands, values);
  if (custom.overridden.empty()) return;
  const Value node = add_custom(std::move(custom), operands, values, label_of(call.def->name));
  for (size_t r = 0; r < results.size(); ++r)
    results[r] = tensor_val(tensor_in(*values[r], values[r]->name, {node.node, static_cast<int>(r)}));
}

Value Elaborator::add_custom(CustomGradient custom, const std::vector<TensorPtr>& operands,
                             const std::vector<TensorPtr>& values, const std::string& label) {
  std::vector<Value> inputs;
  for (const auto* list : {&operands, &values})
    for (const TensorPtr& t : *list) inputs.push_back(merged(*t));
  return graph_.add(Node{label, std::move(inputs), {}, std::move(custom)});
}

// An elementwise definition with a clause in a formula with indices: its operands and its value become tensors over the
// indices that the operands mention. Fusion writes them into their readers again.
std::vector<Val> Elaborator::call_behind_clause(const Call& given, const Ex& e) {
  Call call = given;
  std::vector<Expr> bodies;
  bool floats = false;
  for (Val& v : call.operands) {
    if (v.kind == Val::Kind::Choice) {
      const DType dtype = own_dtype(v, e.span);
      v = scalar_val(convert(v, dtype, e.span), dtype);
    }
    if (!v.is_scalar()) continue;
    floats |= is_float(v.dtype);
    bodies.push_back(v.e);
    bool carries = false;
    for_each_node(v.e, [&](const Expr& x) { carries |= x.op() == Op::Acc || x.op() == Op::AccRight; });
    if (carries)
      unsupported(e.span, fmt::format("{}, which has a grad clause, of an accumulator of a fold", call.def->name),
                  "write its formula here");
  }
  if (!floats) return run(call);
  const std::vector<int> outer = outer_of(bodies, {});
  const auto point = [&](const Val& v) {
    Pending pending;
    pending.outer = outer;
    pending.site = &e;
    pending.body = v.e;
    pendings_.push_back(std::move(pending));
    return static_cast<int>(pendings_.size()) - 1;
  };
  auto clause = std::make_shared<PendingClause>();
  for (Val& v : call.operands) {
    if (!v.is_scalar()) continue;
    clause->operands.push_back({point(v), v.dtype});
    v = pending_result(clause->operands.back().pending, 0, v.dtype);
  }
  std::vector<Val> results = run(call);
  if (results.size() > 1)
    unsupported(e.span, fmt::format("{}, which has a grad clause and several results, in a formula", call.def->name),
                "call it in a let of its own, without brackets");
  if (!results[0].is_scalar()) return results;
  clause->call = call;
  clause->value = results[0].dtype;
  const int value = point(results[0]);
  pendings_[static_cast<size_t>(value)].clause = std::move(clause);
  return {pending_result(value, 0, results[0].dtype)};
}

// The tensors of a call in a formula are built: its value goes behind the clause.
void Elaborator::build_clause(Pending& pending, const std::string& label) {
  const PendingClause& clause = *pending.clause;
  const auto tensor = [&](Value value, DType nominal, const std::string& name) {
    Tensor like;
    like.nominal = nominal;
    like.shape = static_shape(graph_.type(value).shape);
    return tensor_in(like, name, value);
  };
  Call call = clause.call;
  call.whole = true;
  std::vector<TensorPtr> operands;
  for (size_t k = 0; k < call.operands.size(); ++k) {
    Val& v = call.operands[k];
    if (!v.is_scalar()) continue;
    const auto& [id, nominal] = clause.operands[operands.size()];
    const std::string name = k < call.def->params.size() ? call.def->params[k].name : "x";
    operands.push_back(tensor(pendings_[static_cast<size_t>(id)].node, nominal, name));
    v = tensor_val(operands.back());
  }
  const std::vector<TensorPtr> values{tensor(pending.node, clause.value, call.def->name)};
  CustomGradient custom = make_clause(call, operands, values);
  if (!custom.overridden.empty()) pending.node = add_custom(std::move(custom), operands, values, label);
}

}  // namespace frit::lang
