// Matching operands with the patterns of a signature, in rounds (LANGUAGE.md section 5).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/lang/elaborate.h"

namespace frit::lang {
namespace {

constexpr int64_t kFar = int64_t{1} << 32;  // beyond any axis; sums with it do not overflow

std::string dims_text(const std::vector<Slot>& dims) {
  std::string text;
  for (const Slot& dim : dims) text += (text.empty() ? "" : ", ") + to_text(dim);
  return text;
}

std::string counted_axes(size_t n) { return fmt::format("{} ax{}s", n, n == 1 ? "i" : "e"); }

// The extent that an attribute gives element k of a dim or pack of its name; -1 if none.
int64_t given_extent(const Val& value, size_t k) {
  if (value.is_int()) return value.i;
  return value.is_list() && k < value.list->size() && (*value.list)[k].is_int() ? (*value.list)[k].i : -1;
}

// What people call the elements of an axis, for messages.
std::string_view unit_of(const Slot& slot) {
  for (const Slot& part : slot.parts)
    if (part.kind == Slot::Kind::Name && part.name == "c") return " channels";
  return "";
}

bool has_type(const std::vector<std::string>& types, DType dtype) {
  return std::any_of(types.begin(), types.end(), [&](const std::string& type) {
    if (type == "float") return is_float(dtype);
    if (type == "int") return is_integer(dtype);
    if (type == "num") return dtype != DType::Bool;
    return type == name(dtype);
  });
}

}  // namespace

void Elaborator::check_type(const Param& param, const Val& value) {
  if (param.types.empty()) return;
  std::optional<DType> dtype;
  std::string got;
  if (value.is_tensor() && !value.tensor->absent) {
    dtype = value.tensor->nominal;
    got = fmt::format("{} {}", param.name, type_text(*value.tensor));
  } else if (value.is_scalar()) {
    dtype = value.dtype;
    got = fmt::format("{} of type {}", param.name, name(value.dtype));
  }
  if (!dtype || has_type(param.types, *dtype)) return;
  fail(param.name_span, fmt::format("{} cannot be {}", param.name, name(*dtype)), got,
       fmt::format("{}", fmt::join(param.types, " or ")), fmt::format("cast it before the call"));
}

std::optional<Val> Elaborator::attribute(const std::string& name) {
  const auto at = self_->attrs.find(name);
  if (at == self_->attrs.end()) {
    const auto param = self_->params.find(name);
    if (param != self_->params.end() && param->second.is_static() && !param->second.is_tensor()) return param->second;
    return std::nullopt;
  }
  Instance::Attribute& attr = at->second;
  if (attr.value) return attr.value;
  if (attr.busy) fail(attr.default_value->span, fmt::format("the default of {} needs itself", name));
  attr.busy = true;
  Ctx ctx;
  ctx.place = Place::Extent;
  struct Reset {
    bool& busy;
    ~Reset() { busy = false; }
  } reset{attr.busy};
  Val v;
  if (attr.default_value->kind == Ex::Kind::Pack) {
    Ctx inner = ctx;
    const Ex& pattern = *attr.default_value->args[0];
    std::vector<Val> items;
    const int n = pattern_length(pattern, inner);
    for (int k = 0; k < std::max(n, 1) && n != 0; ++k) items.push_back(eval(pattern, inner.element(k)));
    v = list_val(std::move(items));
  } else {
    v = eval(*attr.default_value, ctx);
  }
  attr.value = v;
  return v;
}

void Elaborator::check_attribute_name(const Definition& def, const std::string& name, Span span) const {
  std::vector<std::string> known;
  for (const Attr& a : def.attrs) {
    if (a.name == name) return;
    known.push_back(a.name);
  }
  const bool is_operand =
      std::any_of(def.params.begin(), def.params.end(), [&](const Param& p) { return p.name == name; });
  const std::string near = nearest_spelling(name, known);
  fail(span, fmt::format("{} has no attribute {}", def.name, name), {}, signature_text(def),
       is_operand     ? fmt::format("{} is an operand: pass it by position", name)
       : near.empty() ? ""
                      : fmt::format("did you mean {}", near));
}

void Elaborator::bind_operands(const Call& call) {
  const Definition& def = *call.def;
  const Span site = def.name_span;
  // Attributes first: patterns and defaults may use them.
  for (const Attr& attr : def.attrs) self_->attrs[attr.name].default_value = attr.default_value.get();
  std::vector<Val> operands = call.operands;
  const bool variadic = !def.params.empty() && def.params.back().is_variadic;
  if (operands.size() > def.params.size() && !variadic)
    fail(site, fmt::format("{} takes {}", def.name, counted(def.params.size(), "operand")),
         counted(operands.size(), "operand"), signature_text(def));
  for (const auto& [name, value] : call.attributes) {
    const auto at = self_->attrs.find(name);
    if (at == self_->attrs.end()) check_attribute_name(def, name, site);
    at->second.value = value;
  }
  for (const Attr& attr : def.attrs) {
    auto& slot = self_->attrs[attr.name];
    if (!slot.value && !attr.default_value)
      fail(attr.span, fmt::format("the attribute {} of {} is missing", attr.name, def.name), {}, signature_text(def),
           fmt::format("pass {} = ..", attr.name));
    // Where the default is a float, an int is taken as a float.
    if (slot.value && slot.value->is_int() && attr.default_value && attr.default_value->kind == Ex::Kind::Float)
      slot.value = float_val(static_cast<double>(slot.value->i));
  }

  size_t next = 0;
  for (const Param& param : def.params) {
    if (param.is_variadic) {
      std::vector<Val> rest;
      for (; next < operands.size(); ++next) {
        check_type(param, operands[next]);
        rest.push_back(std::move(operands[next]));
      }
      if (rest.size() == 1 && rest[0].is_list()) rest = *rest[0].list;
      self_->params[param.name] = list_val(std::move(rest));
      continue;
    }
    Val given = next < operands.size() ? std::move(operands[next]) : none_val();
    ++next;
    const bool absent = given.kind == Val::Kind::None || (given.is_tensor() && given.tensor->absent);
    if (absent && !param.default_value)
      fail(param.name_span, fmt::format("the operand {} of {} is missing", param.name, def.name), {},
           signature_text(def));
    if (param.is_const) {
      if (absent) {
        // Evaluated when it is first used, like an attribute.
        self_->attrs[param.name].default_value = param.default_value.get();
        continue;
      }
      if (given.is_scalar() && given.e.is_constant() && is_integer(given.dtype)) given = int_val(given.e.int_value());
      if (!given.is_static())
        fail(param.span, fmt::format("{} must be known when compiled", param.name), to_string(given));
      self_->params[param.name] = std::move(given);
      continue;
    }
    if (absent) {
      auto tensor = std::make_shared<Tensor>();
      tensor->name = param.name;
      tensor->absent = true;
      self_->params[param.name] = tensor_val(std::move(tensor));
      continue;
    }
    check_type(param, given);
    if (param.bracketed && !param.dims.empty()) {
      if (given.is_scalar() && !call.whole) fail(param.span, fmt::format("{} is a tensor of its own", param.name));
      if (given.is_number() || given.is_scalar() || given.kind == Val::Kind::Choice || given.is_tensor()) {
        auto copy = std::make_shared<Tensor>(*tensor_of(given, param.name));
        merged(*copy);
        copy->has_split = false;
        copy->name = param.name;
        copy->axes.clear();
        given = tensor_val(std::move(copy));
      } else {
        fail(param.name_span, fmt::format("{} is not a tensor", param.name), to_string(given));
      }
    } else if (given.is_tensor()) {
      auto copy = std::make_shared<Tensor>(*given.tensor);
      copy->name = param.name;
      if (param.bracketed && !copy->shape.empty())
        fail(param.dims_span, fmt::format("{} has rank {}", param.name, copy->shape.size()),
             fmt::format("{} {}", param.name, type_text(*copy)), "rank 0: one number");
      given = tensor_val(std::move(copy));
    }
    self_->params[param.name] = std::move(given);
  }
  match_signature();
  self_->matched = true;
  for (const Param& param : def.params) {
    const auto at = self_->params.find(param.name);
    if (at == self_->params.end() || !at->second.is_tensor() || !at->second.tensor->absent) continue;
    Ctx ctx;
    ctx.place = Place::Extent;
    const Val fallback = eval(*param.default_value, ctx);
    if (!fallback.is_static() && !(fallback.is_scalar() && fallback.e.is_constant()))
      fail(param.default_value->span, fmt::format("the default of {} is not known when compiled", param.name),
           to_string(fallback), "a number, or none");
    at->second.tensor->fallback = fallback;
  }
}

// ---------------------------------------------------------------------------------------------------- rounds

const Dim* Elaborator::find_dim(const std::string& name) const {
  const auto at = self_->dims.find(name);
  return at == self_->dims.end() ? nullptr : &at->second;
}

void Elaborator::match_signature() {
  const auto declare = [&](auto& self, const Slot& slot) -> void {
    if (slot.kind == Slot::Kind::Name) {
      Dim& dim = self_->dims[slot.name];
      if (slot.pack)
        dim.pack = true;
      else if (dim.extents.empty() && !dim.pack)
        dim.extents.assign(1, -1), dim.from.assign(1, "");
    }
    for (const Slot& part : slot.parts) self(self, part);
  };
  std::vector<std::pair<const Param*, TensorPtr>> open;
  for (const Param& param : self_->def->params)
    for (const Slot& slot : param.dims) declare(declare, slot);
  for (const Param& param : self_->def->params) {
    if (self_->dims.contains(param.name) && !param.is_const)
      fail(param.name_span, fmt::format("{} is an operand and a dim", param.name), {}, "one meaning for each name");
    const auto at = self_->params.find(param.name);
    if (param.dims.empty() || param.is_variadic || at == self_->params.end() || at->second.tensor->absent) continue;
    open.emplace_back(&param, at->second.tensor);
  }
  for (auto& [name, dim] : self_->dims)
    if (dim.pack) dim.extents.clear(), dim.from.clear();
  // What rounds leave open is guessed, in this order: 1, a pack at an integer takes all axes from there; 2, a number
  // given for a pack stands for a list of one.
  int guess = 0;
  while (!open.empty()) {
    const auto snapshot = [&] {
      size_t known = 0;
      for (const auto& [name, dim] : self_->dims) {
        known += dim.length >= 0;
        for (const int64_t e : dim.extents) known += e >= 0;
      }
      return known;
    };
    const size_t before = snapshot(), count = open.size();
    std::string missing;
    for (size_t i = 0; i < open.size();) {
      bool done = false;
      try {
        done = match_operand(*open[i].first, open[i].second, guess);
      } catch (const NotYet& not_yet) {
        missing = not_yet.dim;
      }
      if (done)
        open.erase(open.begin() + static_cast<long>(i));
      else
        ++i;
    }
    if (!findings_.empty()) throw_findings();
    if (open.size() < count || snapshot() > before) {
      guess = 0;
      continue;
    }
    if (++guess <= 2) continue;
    const auto& [param, tensor] = open.front();
    fail(param->dims_span, fmt::format("cannot solve the dims of {}", param->name),
         fmt::format("{} {}", param->name, type_text(*tensor)),
         missing.empty() ? "at most one unknown in each tuple and one pack of unknown length"
                         : fmt::format("{} from another operand or an attribute", missing));
  }
}

// The number of axes that a pack stands for; -1 if not known yet.
int Elaborator::pack_length(const Slot& slot) {
  const auto at = self_->dims.find(slot.name);
  if (at != self_->dims.end() && at->second.length >= 0) return at->second.length;
  if (const auto value = attribute(slot.name); value && value->is_list()) return static_cast<int>(value->list->size());
  return -1;
}

std::vector<int> Elaborator::place(const std::vector<std::optional<int64_t>>& fixed, Span span,
                                   const std::string& what) {
  const auto rank = static_cast<int64_t>(fixed.size());
  std::vector<int> real(fixed.size(), -1);
  std::vector<bool> taken(fixed.size(), false);
  for (size_t i = 0; i < fixed.size(); ++i) {
    if (!fixed[i]) continue;
    const int64_t near = std::clamp(*fixed[i], -kFar, kFar), at = near < 0 ? near + rank : near;
    if (at < 0 || at >= rank)
      fail(span, fmt::format("{} has no axis {}", what, *fixed[i]), fmt::format("rank {}", rank),
           fmt::format("an axis from {} to {}", -rank, rank - 1));
    if (taken[static_cast<size_t>(at)]) fail(span, fmt::format("two items sit at axis {} of {}", at, what));
    taken[static_cast<size_t>(at)] = true;
    real[i] = static_cast<int>(at);
  }
  size_t next = 0;
  for (size_t i = 0; i < fixed.size(); ++i) {
    if (real[i] >= 0) continue;
    while (taken[next]) ++next;
    taken[next] = true;
    real[i] = static_cast<int>(next);
  }
  return real;
}

// "h.. is 2 axes, from x f32[2, 3]"
std::string Elaborator::known_pack(const std::string& name) {
  const Dim* dim = find_dim(name);
  const auto value = attribute(name);
  const bool from_operand = dim && dim->length > 0 && !dim->from[0].empty();
  const auto n = static_cast<size_t>(std::max(value && value->is_list() ? static_cast<int>(value->list->size())
                                              : dim                     ? dim->length
                                                                        : 0,
                                              0));
  return fmt::format("{}.. is {}, from {}", name, counted_axes(n),
                     from_operand ? dim->from[0]
                     : value      ? "the attribute"
                                  : "another operand");
}

bool Elaborator::match_operand(const Param& param, TensorPtr& tensor, int guess) {
  const auto rank = static_cast<int>(tensor->shape.size());
  struct Item {
    const Slot* slot;
    int count = 1;
    std::optional<Val> at;
  };
  std::vector<Item> items;
  int known = 0, open = -1;
  for (const Slot& slot : param.dims) {
    Item item{&slot, 1, std::nullopt};
    if (slot.at) item.at = eval_static(*slot.at);
    const auto is_int = [](const Val& v) { return v.is_int(); };
    if (item.at && !item.at->is_int() &&
        !(item.at->is_list() && std::all_of(item.at->list->begin(), item.at->list->end(), is_int)))
      fail(slot.at->span, "an axis is an integer or a list of them", to_string(*item.at));
    const bool at_list = item.at && item.at->is_list();
    if (at_list && !slot.pack && item.at->list->size() != 1)
      fail(slot.at->span, fmt::format("{} is one axis", to_text(slot)), to_string(*item.at), "one place");
    if (slot.kind == Slot::Kind::Dots) {
      item.count = -1;
    } else if (slot.pack) {
      if (slot.kind != Slot::Kind::Name) unsupported(slot.span, "a pack of tuples in a signature");
      item.count = pack_length(slot);
      if (at_list && item.count >= 0 && static_cast<size_t>(item.count) != item.at->list->size())
        fail(slot.at->span, fmt::format("{}.. has two lengths", slot.name), known_pack(slot.name),
             counted_axes(item.at->list->size()));
      if (at_list) item.count = static_cast<int>(item.at->list->size());
      if (item.at && item.at->is_int()) {
        const int64_t near = std::clamp(item.at->i, -kFar, kFar), at = near < 0 ? near + rank : near;
        if (at < 0 || at > rank)
          fail(slot.at->span, fmt::format("{} has no axis {}", param.name, item.at->i),
               fmt::format("{} {}", param.name, type_text(*tensor)), fmt::format("an axis from {} to {}", -rank, rank));
        const int rest = rank - static_cast<int>(at);
        if (item.count < 0 && guess == 0) return false;
        if (item.count < 0) item.count = rest;
        if (item.count > rest)
          fail(slot.span, fmt::format("{}.. does not fit at axis {} of {}", slot.name, item.at->i, param.name),
               fmt::format("{}, {} {}", known_pack(slot.name), param.name, type_text(*tensor)),
               fmt::format("at most {} from there", counted_axes(static_cast<size_t>(rest))));
      }
      if (item.count < 0 && guess >= 2 && attribute(slot.name)) item.count = 1;
    }
    items.push_back(item);
  }
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].count >= 0) {
      known += items[i].count;
    } else {
      if (open >= 0) return false;
      open = static_cast<int>(i);
    }
  }
  if (known > rank || (open < 0 && known != rank)) {
    std::string packs;
    for (const Item& item : items)
      if (item.slot->pack && item.count >= 0 && !item.slot->at) packs += ", where " + known_pack(item.slot->name);
    fail(param.name_span, fmt::format("{} has rank {}", param.name, rank),
         fmt::format("{} {}", param.name, type_text(*tensor)),
         fmt::format("{}{}: [{}]{}", open < 0 ? "" : "at least ", counted_axes(static_cast<size_t>(known)),
                     dims_text(param.dims), packs));
  }
  if (open >= 0) items[static_cast<size_t>(open)].count = rank - known;

  std::vector<std::optional<int64_t>> fixed;
  std::vector<std::pair<const Slot*, int>> axes;  // slot and element
  for (Item& item : items) {
    const Slot& slot = *item.slot;
    if (slot.pack && slot.kind == Slot::Kind::Name) {
      Dim& dim = self_->dims[slot.name];
      if (dim.length >= 0 && dim.length != item.count)
        fail(slot.span, fmt::format("{}.. has two lengths", slot.name),
             fmt::format("{} and {} axes", dim.length, item.count));
      if (dim.length < 0) {
        dim.length = item.count;
        dim.extents.assign(static_cast<size_t>(item.count), -1);
        dim.from.assign(static_cast<size_t>(item.count), "");
      }
    }
    for (int k = 0; k < item.count; ++k) {
      std::optional<int64_t> at;
      if (item.at && item.at->is_int()) at = std::clamp(item.at->i, -kFar, kFar) + (item.at->i < 0 ? rank + k : k);
      if (item.at && item.at->is_list()) at = (*item.at->list)[static_cast<size_t>(k)].i;
      fixed.push_back(at);
      axes.emplace_back(&slot, slot.pack || slot.kind == Slot::Kind::Dots ? k : -1);
    }
  }
  const std::vector<int> real = place(fixed, param.dims_span, param.name);
  bool solved = true;
  std::vector<Tensor::Axis> written;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto [slot, element] = axes[i];
    const int64_t extent = tensor->shape[static_cast<size_t>(real[i])];
    Tensor::Axis axis{{}, real[i]};
    if (slot->kind == Slot::Kind::Dots) {
      axis.factors = {extent};
    } else if (slot->kind == Slot::Kind::Name) {
      solved &= learn(slot->name, element, extent, *slot, real[i], *tensor);
      axis.factors = {extent};
    } else {
      solved &= solve_axis(param, *slot, extent, real[i], *tensor, &axis.factors);
    }
    written.push_back(std::move(axis));
  }
  if (solved) tensor->axes = std::move(written);
  return solved;
}

// Records an extent of a dim, or checks it against what is known.
bool Elaborator::learn(const std::string& name, int element, int64_t extent, const Slot& slot, int axis,
                       const Tensor& tensor) {
  Dim& dim = self_->dims[name];
  const auto at = static_cast<size_t>(std::max(element, 0));
  if (element < 0 && dim.pack)
    fail(slot.span, fmt::format("{} is a pack in another operand", name), {}, {}, fmt::format("write {}..", name));
  int64_t& known = dim.extents[at];
  if (known < 0) {
    if (const auto value = attribute(name)) {
      known = given_extent(*value, at);
      if (known >= 0) dim.from[at] = "the attribute";
    }
  }
  if (known < 0) {
    known = extent;
    dim.from[at] = fmt::format("{} {}", tensor.name, type_text(tensor));
    return true;
  }
  if (known == extent) return true;
  std::vector<int64_t> wanted = tensor.shape;
  wanted[static_cast<size_t>(axis)] = known;
  note(finding(slot.span, fmt::format("{} has two extents", name),
               fmt::format("{} = {} from {}, {} = {} from {} {}", name, known, dim.from[at], name, extent, tensor.name,
                           type_text(tensor)),
               "the same extent in both",
               fmt::format("pass {} {}{}", tensor.name, frit::name(tensor.nominal), shape_text(wanted))));
  return true;
}

// A tuple is one axis, row-major; at most one factor may be unknown.
bool Elaborator::solve_axis(const Param& param, const Slot& slot, int64_t extent, int axis, const Tensor& tensor,
                            std::vector<int64_t>* factors) {
  if (slot.kind == Slot::Kind::Int) {
    factors->assign(1, extent);
    if (slot.integer == extent) return true;
    note(finding(slot.span, fmt::format("axis {} of {} is not {}", axis, param.name, slot.integer),
                 fmt::format("{} {}", param.name, type_text(tensor)), fmt::format("{} there", slot.integer)));
    return true;
  }
  struct Factor {
    std::string name;
    int element = -1;
    int64_t extent = -1;
    const Slot* slot = nullptr;
  };
  std::vector<Factor> list;
  const auto add = [&](auto& self, const Slot& part) -> bool {
    if (part.kind == Slot::Kind::Int) {
      list.push_back({std::to_string(part.integer), -1, part.integer, &part});
      return true;
    }
    if (part.kind == Slot::Kind::Group) {
      for (const Slot& inner : part.parts)
        if (!self(self, inner)) return false;
      return true;
    }
    Dim& dim = self_->dims[part.name];
    const auto value = attribute(part.name);
    if (part.pack) {
      const int length = pack_length(part);
      if (length < 0) throw NotYet{part.name};
      if (dim.length < 0) {
        dim.length = length;
        dim.extents.assign(static_cast<size_t>(length), -1);
        dim.from.assign(static_cast<size_t>(length), "");
      }
      for (int k = 0; k < length; ++k) {
        int64_t& known = dim.extents[static_cast<size_t>(k)];
        if (known < 0 && value) known = given_extent(*value, static_cast<size_t>(k));
        list.push_back({part.name, k, known, &part});
      }
      return true;
    }
    if (dim.extents.empty()) dim.extents.assign(1, -1), dim.from.assign(1, "");
    if (dim.extents[0] < 0 && value && value->is_int()) dim.extents[0] = value->i, dim.from[0] = "the attribute";
    list.push_back({part.name, -1, dim.extents[0], &part});
    return true;
  };
  if (!add(add, slot)) return false;
  int64_t product = 1;
  Factor* open = nullptr;
  std::string known_text;
  for (Factor& f : list) {
    if (f.extent < 0) {
      if (open) return false;
      open = &f;
      continue;
    }
    if (__builtin_mul_overflow(product, f.extent, &product)) fail(slot.span, "this axis is too large", to_text(slot));
    if (f.slot->kind != Slot::Kind::Int) known_text += fmt::format(", {} = {}", f.name, f.extent);
  }
  const bool fits = open ? (product == 0 ? extent == 0 : extent % product == 0) : product == extent;
  if (!fits) {
    std::string fix;
    if (open && list.size() == 2) {
      const std::string& other = open == &list[0] ? list[1].name : list[0].name;
      if (attribute(other)) fix = fmt::format("pass a {} that divides {}", other, extent);
    }
    note(finding(slot.span, fmt::format("axis {} of {} does not split into {}", axis, param.name, to_text(slot)),
                 fmt::format("{}{}{}  ({} {})", extent, unit_of(slot), known_text, param.name, type_text(tensor)),
                 open ? fmt::format("a multiple of {}", product) : fmt::format("{}", product), fix));
    if (open) open->extent = 0;
  } else if (open) {
    open->extent = product == 0 ? 0 : extent / product;
    if (!learn(open->name, open->element, open->extent, *open->slot, axis, tensor)) return false;
  }
  for (const Factor& f : list) factors->push_back(f.extent);
  return true;
}

int64_t Elaborator::known_extent(const std::string& name, int element) const {
  const Dim* dim = find_dim(name);
  const auto at = static_cast<size_t>(std::max(element, 0));
  if (!dim || at >= dim->extents.size() || dim->extents[at] < 0) throw NotYet{name};
  return dim->extents[at];
}

}  // namespace frit::lang
