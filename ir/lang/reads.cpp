// Reads: items of the brackets to positions, guards, provisional expressions.
#include <fmt/format.h>

#include <algorithm>

#include "ir/lang/elaborate.h"

namespace frit::lang {
namespace {

// A provisional read names a record by an even slot, the test whether the record is inside by the odd one after it.
Expr provisional(DType dtype, int record, std::span<const Expr> positions) {
  return frit::read(dtype, 2 * record, positions);
}
Expr inside_test(int record, std::span<const Expr> positions) {
  return frit::read(DType::Bool, 2 * record + 1, positions);
}

std::vector<Expr> positions_of(const Record& record) {
  std::vector<Expr> positions;
  for (const Record::Part& part : record.parts) positions.push_back(part.position);
  return positions;
}

const Ex& inner_of(const Ex& e) {
  const Ex* x = &e;
  while (x->kind == Ex::Kind::Tuple && x->args.size() == 1 && x->args[0]->kind != Ex::Kind::Pack) x = x->args[0].get();
  return *x;
}

}  // namespace

int Elaborator::add_record(Record record) {
  record.scope = active_;
  record.inner_from = innermost_;
  if (!reducers_.empty()) record.reducer = reducers_.back();
  records_.push_back(std::move(record));
  return static_cast<int>(records_.size()) - 1;
}

// A read of the whole tensor at the broadcast indices of a whole-tensor formula.
Val Elaborator::whole_read(const TensorPtr& tensor) {
  // Trial evaluations of folds take records back, so that what is remembered may be gone.
  const auto known = whole_records_.find(tensor.get());
  int id = known == whole_records_.end() ? -1 : known->second;
  const bool valid = id >= 0 && static_cast<size_t>(id) < records_.size() && records_[static_cast<size_t>(id)].whole &&
                     records_[static_cast<size_t>(id)].tensor == tensor;
  if (!valid) {
    Record record;
    record.tensor = tensor;
    record.whole = true;
    id = add_record(std::move(record));
    whole_records_[tensor.get()] = id;
  }
  const DType stored = compute_dtype(graph_.type(tensor->has_value ? tensor->value : tensor->split).dtype);
  return scalar_val(cast(provisional(stored, id, {}), compute_dtype(tensor->nominal)), tensor->nominal, tensor->shape);
}

Record::Part Elaborator::position(const Ex& item, const Ctx& ctx) {
  Record::Part part;
  part.item = &item;
  Ctx inner = ctx.at(Place::Position);
  inner.whole = false;
  inner.bracket = true;
  auto* const outer = std::exchange(exact_, &part.exact);
  const int64_t before = steps_;
  Val v = eval(item, inner);
  if (steps_ - before > kPositionLimit)
    fail(item.span, fmt::format("this position takes more than {} steps to work out", kPositionLimit));
  if (v.is_tensor()) v = to_scalar(v, inner, item.span);
  exact_ = outer;
  part.position = to_index(v, item.span);
  return part;
}

std::vector<Record::Part> Elaborator::parts_of(const Tensor& tensor, const Ex& e, const Ctx& ctx, const char* verb) {
  // The items, written out: one entry per axis, several parts where an item is a tuple.
  struct Item {
    bool dots = false;
    std::vector<Record::Part> parts;
    const Ex* site = nullptr;
  };
  std::vector<Item> items;
  const auto add = [&](const Ex& item, const Ctx& c) {
    const Ex& x = inner_of(item);
    Item entry{false, {}, &item};
    if (x.kind == Ex::Kind::Tuple) {
      // Tuples in it are written out: an axis of (a, (b, c)) has three factors.
      const auto parts = [&](auto& self, const Ex& tuple, const Ctx& at) -> void {
        for (const ExPtr& part : tuple.args) {
          const Ex& inside = inner_of(part->kind == Ex::Kind::Pack ? *part->args[0] : *part);
          const auto one = [&](const Ctx& element) {
            if (inside.kind == Ex::Kind::Tuple) return self(self, inside, element);
            entry.parts.push_back(position(inside, element));
          };
          if (part->kind != Ex::Kind::Pack) {
            one(at);
            continue;
          }
          const auto found = self_->pack_lengths.find(part.get());
          int n = found != self_->pack_lengths.end() ? found->second : pattern_length(*part->args[0], at);
          if (n < 0) n = 1;
          for (int k = 0; k < n; ++k) one(at.element(k));
        }
      };
      parts(parts, x, c);
    } else {
      entry.parts.push_back(position(x, c));
    }
    items.push_back(std::move(entry));
  };
  size_t fixed = 0;
  const Ex* open = nullptr;
  check_rank(e.args.size(), e.span);
  for (const ExPtr& item : e.args) {
    if (item->kind == Ex::Kind::Dots) {
      for (const Item& other : items)
        if (other.dots) fail(item->span, fmt::format(".. twice in one {}", verb == std::string_view("read") ? "read" : "write"));
      items.push_back({true, {}, item.get()});
    } else if (item->kind == Ex::Kind::Slice) {
      fail(item->span, "a slice a:b belongs in the brackets of a list", {}, {},
           "bind an index, as in y[i < b - a] = x[a + i]");
    } else if (item->kind == Ex::Kind::Pack) {
      const auto found = self_->pack_lengths.find(item.get());
      int n = found != self_->pack_lengths.end() ? found->second : pattern_length(*item->args[0], ctx);
      if (n < 0) {
        // What is left of the rank.
        const size_t others = e.args.size() - 1;
        if (open) fail(item->span, "cannot tell how many axes this pattern stands for");
        n = static_cast<int>(tensor.axes.size()) - static_cast<int>(others);
        open = item.get();
      }
      for (int k = 0; k < n; ++k) add(*item->args[0], ctx.element(k));
      if (n == 0) continue;
    } else {
      add(*item, ctx);
    }
  }
  const bool has_dots = std::any_of(items.begin(), items.end(), [](const Item& i) { return i.dots; });
  fixed = items.size() - (has_dots ? 1 : 0);
  const size_t rank = tensor.axes.size();
  if (has_dots ? fixed > rank : fixed != rank)
    fail(e.span, fmt::format("{} has rank {} and is {} with {}", tensor.name, rank, verb, counted(fixed, "item")),
         fmt::format("{} {}", tensor.name, type_text(tensor)));

  std::vector<Record::Part> parts;
  size_t axis = 0;
  for (Item& item : items) {
    if (item.dots) {
      const Frame* bound = nullptr;
      for (const Frame& frame : self_->frames)
        if (frame.has_dots) bound = &frame;
      if (!bound) fail(item.site->span, ".. is not bound here", {}, ".. left of =, or in a reducer's brackets");
      const size_t count = rank - fixed;
      if (count > bound->dots.size()) fail(item.site->span, ".. stands for more axes here than left of =");
      for (size_t k = 0; k < count; ++k, ++axis) {
        const int var = bound->dots[bound->dots.size() - count + k];
        const int64_t extent = tensor.axes[axis].extent(), wanted = vars_[static_cast<size_t>(var)].extent;
        Record::Part part;
        part.position = extent == 1 && wanted != 1 ? index_constant(0) : index(var);
        part.extent = extent;
        part.axis = static_cast<int>(axis);
        part.item = item.site;
        parts.push_back(std::move(part));
      }
      continue;
    }
    const std::vector<int64_t>& factors = tensor.axes[axis].factors;
    if (item.parts.size() == 1 || (item.parts.size() != factors.size() && factors.size() == 1)) {
      // A flat position; further parts of a tuple are plain indices, whose extents are the radices.
      Record::Part flat = std::move(item.parts[0]);
      for (size_t k = 1; k < item.parts.size(); ++k) {
        const Record::Part& part = item.parts[k];
        if (part.position.op() != Op::Index)
          fail(part.item->span, fmt::format("axis {} of {} is not declared as a tuple", axis, tensor.name),
               to_text(*part.item), "plain indices after the first part", "write the flat position, as in index(g, v)");
        flat.position = flat.position * extent_of(vars_, static_cast<int>(part.position.bits())) + part.position;
      }
      flat.extent = tensor.axes[axis].extent();
      flat.axis = static_cast<int>(axis);
      if (item.parts.size() > 1 || !flat.item) flat.item = item.site;
      parts.push_back(std::move(flat));
    } else {
      if (item.parts.size() != factors.size())
        fail(item.site->span, fmt::format("axis {} of {} has {} factors", axis, tensor.name, factors.size()),
             fmt::format("{} parts", item.parts.size()), "the factors it is declared with",
             "write its flat position, as in index(g, v)");
      for (size_t k = 0; k < factors.size(); ++k) {
        item.parts[k].extent = factors[k];
        item.parts[k].axis = static_cast<int>(axis);
        item.parts[k].factor = static_cast<int>(k);
        parts.push_back(std::move(item.parts[k]));
      }
    }
    ++axis;
  }
  return parts;
}

Val Elaborator::read(const Val& operand, const Ex& e, const Ctx& ctx, const Ex* fill) {
  if (operand.is_number()) {
    fail(e.span, fmt::format("{} is one number, and has no elements", e.text),
         fmt::format("{} = {}", e.text, to_string(operand)), "a tensor or a list",
         "a number given for a list is the same on every axis: write its name alone");
  }
  Val whole = operand;
  if (whole.is_scalar() || whole.kind == Val::Kind::Choice) {
    const auto local = self_->locals.find(e.text);
    if (local != self_->locals.end())
      whole = tensor_val(tensor_of(local->second, e.text));
    else if (const auto param = self_->params.find(e.text); param != self_->params.end() && self_->whole)
      whole = tensor_val(tensor_of(param->second, e.text));
  }
  if (!whole.is_tensor()) fail(e.span, fmt::format("{} is not a tensor", e.text), to_string(whole));
  const TensorPtr& tensor = whole.tensor;
  if (ctx.whole)
    fail(e.span, "a read with brackets in a let without them", {}, {},
         fmt::format("write y[..] = .., or the operand's name alone"));
  if (tensor->absent) {
    if (tensor->fallback.kind == Val::Kind::None)
      fail(e.span, fmt::format("{} is absent and has no default", tensor->name), {}, {},
           fmt::format("ask has({}) first", tensor->name));
    return tensor->fallback;
  }
  Record record;
  record.tensor = tensor;
  record.site = &e;
  record.parts = parts_of(*tensor, e, ctx);
  record.guarded = fill != nullptr;
  const DType stored = compute_dtype(graph_.type(tensor->has_value ? tensor->value : tensor->split).dtype);
  DType nominal = tensor->nominal;
  const std::vector<Expr> positions = positions_of(record);
  Val result;
  if (!fill) {
    const int id = add_record(std::move(record));
    result = scalar_val(cast(provisional(stored, id, positions), compute_dtype(nominal)), nominal);
  } else {
    Ctx inner = ctx.at(Place::Value);
    Val other = eval(*fill, inner);
    if (other.is_tensor()) other = to_scalar(other, ctx, fill->span);
    const Val element = scalar_val(constant_int(DType::Bool, 0), nominal);
    const DType dtype = common(element, other, *fill, fill->span);
    const Expr value = convert(other, dtype, fill->span);
    const int id = add_record(std::move(record));
    // The fill is part of the read where it is a number of the stored type, else it is selected.
    if (value.is_constant() && dtype == nominal && stored == value.dtype())
      result = scalar_val(guarded_read(stored, 2 * id, positions, true_value(), value), nominal);
    if (!result.is_scalar()) {
      const Expr zero = is_float(stored) ? constant(stored, 0) : constant_int(stored, 0);
      const Expr read = guarded_read(stored, 2 * id, positions, true_value(), zero);
      const Val loaded = scalar_val(cast(read, compute_dtype(nominal)), nominal);
      result = scalar_val(select(inside_test(id, positions), convert(loaded, dtype, e.span), value), dtype);
    }
  }
  // In brackets every integer is i64.
  if (ctx.bracket && is_integer(result.dtype)) return scalar_val(to_index(result, e.span), DType::I64);
  return result;
}

}  // namespace frit::lang
