#include "ir/lang/scan.h"

#include <algorithm>

namespace frit::lang {

Expr Scan::element(const Expr& t) const {
  return is_suffix ? index_constant(steps - 1) - t : t + index_constant(first);
}

Expr Scan::result(const Expr& t) const {
  return is_suffix ? index_constant(steps - 1) - t : t - index_constant(skipped);
}

Expr Scan::step_of(const Expr& at) const {
  return is_suffix ? index_constant(steps - 1) - at : at + index_constant(skipped);
}

Expr Scan::valid(const Expr& t) const {
  if (is_suffix) return elements < steps ? binary(Op::Lt, element(t), index_constant(elements)) : true_value();
  return first < 0 ? binary(Op::Le, index_constant(0), element(t)) : true_value();
}

std::optional<Scan> find_scan(const std::vector<int>& outer, const std::vector<int>& inner,
                              const std::vector<IndexVar>& vars, Ranges& ranges) {
  const auto bound = [&](int var) { return vars[static_cast<size_t>(var)].bound; };
  std::optional<Scan> found;
  for (const int j : inner) {
    if (!bound(j)) continue;
    const Linear form = ranges.linear(with_known_extents(bound(j), vars));
    if (!form.terms.empty() || form.vars.size() != 1) continue;
    const auto [i, coefficient] = *form.vars.begin();
    if ((coefficient != 1 && coefficient != -1) || std::find(outer.begin(), outer.end(), i) == outer.end()) continue;
    if (form.constant > INT32_MAX || form.constant < INT32_MIN) continue;
    const auto constant = static_cast<int64_t>(form.constant);
    const int64_t results = vars[static_cast<size_t>(i)].extent;
    Scan scan{i, j, coefficient < 0, 0, 0, 0, 0};
    if (scan.is_suffix) {
      scan.elements = std::max<int64_t>(constant, 0);
      scan.steps = std::max(results, scan.elements);
    } else {
      scan.first = std::min<int64_t>(constant - 1, 0);
      scan.skipped = results > 0 ? std::max<int64_t>(constant - 1, 0) : 0;
      scan.steps = results + scan.skipped;
    }
    found = scan;
    break;
  }
  if (!found) return std::nullopt;
  for (const auto* list : {&outer, &inner})
    for (const int var : *list)
      if (var != found->inner && bound(var) && ranges.mentions(bound(var), found->outer)) return std::nullopt;
  return found;
}

}  // namespace frit::lang
