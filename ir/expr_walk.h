#pragma once
// Iterative walks over expressions; included by expr.h.
#include <unordered_map>
#include <unordered_set>

#include "ir/expr.h"

namespace frit {

template <class Visit>
void for_each_node(const Expr& root, Visit visit) {
  std::unordered_set<const void*> done;
  std::vector<std::pair<Expr, bool>> stack{{root, false}};
  while (!stack.empty()) {
    auto [e, expanded] = std::move(stack.back());
    stack.pop_back();
    if (expanded) {
      visit(e);
      continue;
    }
    if (!done.insert(e.id()).second) continue;
    stack.emplace_back(e, true);
    const auto args = e.args();
    for (size_t i = args.size(); i-- > 0;) stack.emplace_back(args[i], false);
  }
}

template <class Rule>
Expr rewrite(const Expr& root, Rule rule) {
  std::unordered_map<const void*, Expr> done;
  Expr result;
  for_each_node(root, [&](const Expr& e) {
    Expr node = e;
    bool changed = false;
    std::vector<Expr> args;
    args.reserve(e.args().size());
    for (const Expr& arg : e.args()) {
      args.push_back(done.at(arg.id()));
      changed |= !(args.back() == arg);
    }
    if (changed) node = Expr::make(e.op(), e.dtype(), args, e.bits());
    if (Expr replacement = rule(node)) node = std::move(replacement);
    result = node;
    done.emplace(e.id(), std::move(node));
  });
  return result;
}

}  // namespace frit
