// Pack patterns: how many times `item..` is written out (LANGUAGE.md section 5), and what `..` stands for.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "ir/lang/elaborate.h"

namespace frit::lang {
namespace {

// What decides the length of one pattern: known lengths, and packs of the statement that are not known yet.
struct Members {
  int length = -1;
  std::string length_from;
  bool clash = false;
  std::string clash_with;
  std::vector<int> unknowns;

  void known(int n, const std::string& from) {
    if (length >= 0 && length != n)
      clash = true, clash_with = fmt::format("{} has {} elements, {} has {}", length_from, length, from, n);
    length = n;
    length_from = from;
  }
};

}  // namespace

/// Finds the lengths of the packs that a statement binds, from the patterns they occur in.
class PackSolver {
 public:
  PackSolver(Elaborator& owner, bool resolve) : owner_(owner), in_(*owner.self_), resolve_(resolve) {}

  void bind(const std::vector<Slot>& slots) {
    scopes_.emplace_back();
    for (const Slot& slot : slots) bind(slot, false);
    for (const Slot& slot : slots) pattern(slot);
  }
  void unbind() { scopes_.pop_back(); }

  void visit(const Ex& e) {
    const bool binds = e.kind == Ex::Kind::Reduce || e.kind == Ex::Kind::Fold;
    if (binds) bind(e.slots);
    if (e.kind == Ex::Kind::Pack) pattern(e);
    if (e.kind == Ex::Kind::Read && e.bracketed) read_items(e);
    for (const ExPtr& arg : e.args)
      if (arg) visit(*arg);
    for (const Arg& arg : e.call_args) visit(*arg.value);
    if (binds) unbind();
  }

  void solve() {
    for (bool progress = true; progress;) {
      progress = false;
      for (Pattern& p : patterns_) progress |= step(p);
      if (progress) continue;
      // Nothing but numbers in it: a list of one.
      for (Pattern& p : patterns_) {
        if (p.length >= 0 || !p.slot || p.slot->kind != Slot::Kind::Group || p.members.unknowns.empty()) continue;
        if (set(p, 1, "numbers only")) {
          progress = true;
          break;
        }
      }
    }
    for (const Pattern& p : patterns_) {
      if (p.slot) in_.slot_lengths[p.slot] = p.length;
      if (p.pack) in_.pack_lengths[p.pack] = p.length;
    }
    for (const Unknown& u : unknowns_)
      if (u.slot && !in_.slot_lengths.contains(u.slot)) in_.slot_lengths[u.slot] = u.length;
  }

  void collect(const Ex& e, Members* members) {
    switch (e.kind) {
      case Ex::Kind::Pack:
        return;  // written out by itself
      case Ex::Kind::List:
        members->known(static_cast<int>(e.args.size()), to_text(e));
        return;
      case Ex::Kind::Read:
        if (!e.bracketed) return name(e.text, members);
        if (is_list(e.text)) return;
        break;
      case Ex::Kind::Pick:
        return;
      case Ex::Kind::Call:
        if (e.text == "len" || e.text == "rank") return;
        if (e.text == "fill" || e.text == "range" || e.text == "shape") return list_call(e, members);
        break;
      default:
        break;
    }
    for (const ExPtr& arg : e.args)
      if (arg) collect(*arg, members);
    for (const Arg& arg : e.call_args) collect(*arg.value, members);
  }

 private:
  struct Unknown {
    const Slot* slot = nullptr;
    int length = -1;
  };
  struct Pattern {
    const Slot* slot = nullptr;  // a binder, or
    const Ex* pack = nullptr;    // an item
    Members members;
    int length = -1;
    std::function<int()> fallback;  // from the rank of what is read
    Span span;
  };

  bool is_list(const std::string& name) const {
    for (const auto* map : {&in_.locals, &in_.params})
      if (const auto at = map->find(name); at != map->end()) return at->second.is_list();
    return in_.attrs.contains(name);
  }

  void name(const std::string& name, Members* members) {
    for (size_t i = scopes_.size(); i-- > 0;) {
      const auto at = scopes_[i].find(name);
      if (at == scopes_[i].end()) continue;
      if (at->second < 0) return;
      const int length = unknowns_[static_cast<size_t>(at->second)].length;
      if (length >= 0)
        members->known(length, name);
      else
        members->unknowns.push_back(at->second);
      return;
    }
    if (const Frame::Binding* binding = owner_.find_binding(name)) {
      if (binding->pack) members->known(static_cast<int>(binding->vars.size()), name);
      return;
    }
    if (const auto at = in_.locals.find(name); at != in_.locals.end()) {
      if (at->second.is_list()) members->known(static_cast<int>(at->second.list->size()), name);
      return;
    }
    if (const auto at = in_.params.find(name); at != in_.params.end() && at->second.is_list())
      return members->known(static_cast<int>(at->second.list->size()), name);
    if (const Dim* dim = owner_.find_dim(name); dim && dim->pack && dim->length >= 0)
      return members->known(dim->length, name);
    if (in_.attrs.contains(name))
      if (const auto value = owner_.attribute(name); value && value->is_list())
        members->known(static_cast<int>(value->list->size()), name);
    if (const Dim* dim = owner_.find_dim(name); dim && dim->pack && dim->length < 0 && !in_.attrs.contains(name))
      throw NotYet{name};
  }

  void list_call(const Ex& e, Members* members) {
    Ctx ctx;
    ctx.place = Place::Extent;
    const Val v = owner_.eval(e, ctx);
    if (v.is_list()) members->known(static_cast<int>(v.list->size()), to_text(e));
  }

  void bind(const Slot& slot, bool pack) {
    const bool is_pack = pack || slot.pack;
    if (slot.kind == Slot::Kind::Name) {
      int id = -1;
      if (is_pack) {
        id = static_cast<int>(unknowns_.size());
        unknowns_.push_back({&slot, -1});
        const Dim* dim = owner_.find_dim(slot.name);
        if (dim && dim->pack && !slot.bound) unknowns_.back().length = dim->length;
      }
      scopes_.back()[slot.name] = id;
    }
    for (const Slot& part : slot.parts) bind(part, is_pack);
  }

  // The names and bounds below a binder that is written out.
  void members_of(const Slot& slot, Members* members) {
    if (slot.kind == Slot::Kind::Name) name(slot.name, members);
    if (slot.bound) collect(*slot.bound, members);
    for (const Slot& part : slot.parts)
      if (!part.pack) members_of(part, members);
  }

  void pattern(const Slot& slot) {
    if (slot.pack) {
      Pattern p;
      p.slot = &slot;
      p.span = slot.span;
      members_of(slot, &p.members);
      if (slot.at) collect(*slot.at, &p.members);
      patterns_.push_back(std::move(p));
    }
    for (const Slot& part : slot.parts) pattern(part);
    if (slot.bound) visit(*slot.bound);
  }

  void pattern(const Ex& e) {
    Pattern p;
    p.pack = &e;
    p.span = e.span;
    collect(*e.args[0], &p.members);
    patterns_.push_back(std::move(p));
  }

  // A pattern in a read may take what is left of the rank, if it is the only item whose length is open.
  void read_items(const Ex& e) {
    const auto operand = owner_.lookup(e.text);
    if (!operand || !operand->is_tensor() || operand->tensor->absent) return;
    owner_.check_rank(e.args.size(), e.span);
    const auto rank = static_cast<int>(operand->tensor->axes.size());
    const Ex* only = nullptr;
    int singles = 0;
    for (const ExPtr& item : e.args) {
      if (item->kind == Ex::Kind::Dots) return;
      if (item->kind == Ex::Kind::Pack) {
        packs_of_[&e].push_back(item.get());
        only = item.get();
      } else {
        ++singles;
      }
    }
    if (!only) return;
    const std::vector<const Ex*> packs = packs_of_[&e];
    for (const Ex* pack : packs) {
      fallbacks_[pack] = [this, packs, pack, rank, singles] {
        int rest = rank - singles;
        for (const Ex* other : packs) {
          if (other == pack) continue;
          const int n = length_of(other);
          if (n < 0) return -1;
          rest -= n;
        }
        return rest;
      };
    }
  }

  int length_of(const Ex* pack) const {
    for (const Pattern& p : patterns_)
      if (p.pack == pack) return p.length;
    return -1;
  }

  bool step(Pattern& p) {
    if (p.length >= 0) return false;
    int n = p.members.length;
    std::string from = p.members.length_from;
    for (const int u : p.members.unknowns)
      if (unknowns_[static_cast<size_t>(u)].length >= 0 && n < 0)
        n = unknowns_[static_cast<size_t>(u)].length, from = "a pack in it";
    if (n < 0 && p.pack && fallbacks_.contains(p.pack)) n = fallbacks_[p.pack](), from = "the rank of what is read";
    return n >= 0 && set(p, n, from);
  }

  bool set(Pattern& p, int n, const std::string& from) {
    if (p.members.clash && resolve_)
      owner_.fail(p.span, "the lists and packs in this pattern differ in length", p.members.clash_with,
                  "equal lengths");
    p.length = n;
    for (const int u : p.members.unknowns) {
      Unknown& unknown = unknowns_[static_cast<size_t>(u)];
      if (unknown.length >= 0 && unknown.length != n)
        owner_.fail(p.span, "the lists and packs in this pattern differ in length",
                    fmt::format("{} elements from {}, {} for {}..", n, from, unknown.length, unknown.slot->name),
                    "equal lengths");
      unknown.length = n;
    }
    return true;
  }

  Elaborator& owner_;
  Instance& in_;
  bool resolve_;
  std::vector<std::map<std::string, int>> scopes_;
  std::vector<Unknown> unknowns_;
  std::vector<Pattern> patterns_;
  std::map<const Ex*, std::vector<const Ex*>> packs_of_;
  std::map<const Ex*, std::function<int()>> fallbacks_;
};

void Elaborator::solve_packs(const std::vector<const std::vector<Slot>*>& binders,
                             const std::vector<const Ex*>& bodies) {
  PackSolver solver(*this, true);
  for (const auto* slots : binders) solver.bind(*slots);
  for (const Ex* body : bodies) solver.visit(*body);
  solver.solve();
}

// The number of elements of the pattern `inner..`; -1 if it holds numbers only.
int Elaborator::pattern_length(const Ex& inner, const Ctx& ctx) {
  (void)ctx;
  Members members;
  PackSolver(*this, false).collect(inner, &members);
  if (members.clash)
    fail(inner.span, "the lists and packs in this pattern differ in length", members.clash_with, "equal lengths");
  return members.length;
}

std::vector<Val> Elaborator::expand(const std::vector<ExPtr>& parts, const Ctx& ctx) {
  std::vector<Val> values;
  for (const ExPtr& part : parts) {
    if (part->kind != Ex::Kind::Pack) {
      values.push_back(eval(*part, ctx));
      continue;
    }
    const Ex& inner = *part->args[0];
    const auto found = self_->pack_lengths.find(part.get());
    int n = found != self_->pack_lengths.end() ? found->second : pattern_length(inner, ctx);
    if (n < 0) {
      // No pack or list in it: one value, or the elements of a list that it gives, as l[1:].. and f(x)..
      Val v = eval(inner, ctx.element(0));
      if (v.is_list())
        values.insert(values.end(), v.list->begin(), v.list->end());
      else
        values.push_back(std::move(v));
      continue;
    }
    for (int k = 0; k < n; ++k) values.push_back(eval(inner, ctx.element(k)));
  }
  int64_t total = 0;
  for (const Val& v : values) total += v.is_list() ? v.i : 1;
  if (total > kListLimit)
    fail(parts[0]->span, "a list of too many elements", fmt::format("{}", total),
         fmt::format("at most {}", kListLimit));
  return values;
}

// ---------------------------------------------------------------------------------------------------- `..`

void Elaborator::collect_dots(const Ex& e, std::vector<std::pair<std::vector<int64_t>, const Ex*>>* found) {
  if (e.kind == Ex::Kind::Reduce || e.kind == Ex::Kind::Fold) {
    // Its own `..` hides this one.
    for (const Slot& slot : e.slots)
      if (slot.kind == Slot::Kind::Dots) return;
  }
  if (e.kind == Ex::Kind::Read && e.bracketed) {
    const auto operand = lookup(e.text);
    const bool has_dots =
        std::any_of(e.args.begin(), e.args.end(), [](const ExPtr& i) { return i->kind == Ex::Kind::Dots; });
    if (has_dots && operand && operand->is_tensor() && !operand->tensor->absent) {
      const Tensor& tensor = *operand->tensor;
      size_t before = 0, after = 0;
      bool seen = false;
      for (const ExPtr& item : e.args) {
        size_t n = 1;
        if (item->kind == Ex::Kind::Dots) {
          seen = true;
          continue;
        }
        if (item->kind == Ex::Kind::Pack) {
          const auto at = self_->pack_lengths.find(item.get());
          n = at != self_->pack_lengths.end() && at->second >= 0 ? static_cast<size_t>(at->second) : 1;
        }
        (seen ? after : before) += n;
      }
      if (before + after <= tensor.axes.size()) {
        std::vector<int64_t> extents;
        for (size_t i = before; i < tensor.axes.size() - after; ++i) extents.push_back(tensor.axes[i].extent());
        found->emplace_back(std::move(extents), &e);
      }
    }
  }
  for (const ExPtr& arg : e.args)
    if (arg) collect_dots(*arg, found);
  for (const Arg& arg : e.call_args) collect_dots(*arg.value, found);
}

std::vector<int64_t> Elaborator::dots_shape(const std::vector<const Ex*>& bodies) {
  std::vector<std::pair<std::vector<int64_t>, const Ex*>> found;
  for (const Ex* body : bodies) collect_dots(*body, &found);
  std::vector<int64_t> shape;
  for (const auto& [extents, site] : found) shape = broadcast(shape, extents, site->span);
  return shape;
}

}  // namespace frit::lang
