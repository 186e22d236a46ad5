#include "compiler/front/one_line.h"

#include <fmt/format.h>

#include <functional>

#include "support/error.h"

namespace frit::front {
namespace {

constexpr size_t kMaxOperands = 26;

[[noreturn]] void refuse(std::string where, std::string what, std::string got, std::string expected) {
  throw InputError(Finding{.where = std::move(where),
                           .what = std::move(what),
                           .excerpt = {},
                           .got = std::move(got),
                           .expected = std::move(expected),
                           .fix = {},
                           .from = {}});
}

void check_count(const char* form, size_t operands) {
  if (operands < 1 || operands > kMaxOperands)
    refuse(form, "number of operands", fmt::format("{}", operands), "1 to 26");
}

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return starts_name(c) || (c >= '0' && c <= '9'); }

char next_mark(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\n')) ++at;
  return at < text.size() ? text[at] : '\0';
}

// The text with every name replaced by what `rule(name, next)` gives; `next` is the first mark after the name.
using Rule = std::function<std::string(std::string_view name, char next)>;
std::string replace_names(std::string_view text, const Rule& rule) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"') {  // a string holds no names
      const size_t end = std::min(text.find('"', i + 1), text.size() - 1);
      out += text.substr(i, end + 1 - i);
      i = end + 1;
    } else if (starts_name(text[i]) && (i == 0 || !is_name(text[i - 1]))) {
      size_t end = i;
      while (end < text.size() && is_name(text[end])) ++end;
      out += rule(text.substr(i, end - i), next_mark(text, end));
      i = end;
    } else {
      out += text[i++];
    }
  }
  return out;
}

bool is_operand(std::string_view name, size_t operands) {
  return name.size() == 1 && name[0] >= 'a' && static_cast<size_t>(name[0] - 'a') < operands;
}

bool is_reducer(std::string_view name) {
  for (const std::string_view reducer : {"sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin"}) {
    if (name == reducer) return true;
  }
  return false;
}

// Operands read at `items`, bare reducers over `binders`.
std::string indexed(std::string_view formula, size_t operands, const std::string& read, const std::string& binders) {
  return replace_names(formula, [&](std::string_view name, char next) {
    std::string text(name);
    if (is_operand(name, operands) && next != '[' && next != '(') return fmt::format(fmt::runtime(read), text);
    if (is_reducer(name) && next == '(' && !binders.empty()) return text + binders;
    return text;
  });
}

// "a[.., r.. @ axes], b[..]" and so on
std::string parameters(size_t operands, std::string_view pattern) {
  std::string text;
  for (size_t i = 0; i < operands; ++i)
    text += fmt::format("{}{}{}", i ? ", " : "", static_cast<char>('a' + i), pattern);
  return text;
}

}  // namespace

std::string elementwise_text(std::string_view formula, size_t operands) {
  check_count("elementwise", operands);
  const bool is_block = next_mark(formula, 0) == '{';
  return fmt::format("def _({}) {}{}", parameters(operands, ""), is_block ? "" : "= ", formula);
}

std::string reduce_text(std::string_view formula, size_t operands) {
  check_count("reduce", operands);
  return fmt::format("def _({}; axes) y[..] = {}", parameters(operands, "[.., r.. @ axes]"),
                     indexed(formula, operands, "{}[.., r..]", "[r..]"));
}

std::string reduce_text(const Reducer& reducer, size_t operands) {
  check_count("reduce", operands);
  const std::string element = "(" + indexed(reducer.map, operands, "{}[.., r..]", "") + ")";
  const auto combined = [&](const std::string& other) {
    return replace_names(reducer.combine,
                         [&](std::string_view name, char) { return name == "t" ? other : std::string(name); });
  };
  const std::string fold =
      fmt::format("fold[r..](s = {} : {} : {})", reducer.identity, combined(element), combined("s'"));
  const std::string finish = replace_names(
      reducer.finish, [&](std::string_view name, char) { return name == "s" ? fold : std::string(name); });
  return fmt::format("def _({}; axes) y[..] = {}", parameters(operands, "[.., r.. @ axes]"), finish);
}

std::string subsample_text(std::string_view formula, std::string_view outside) {
  const std::string read = fmt::format("({{}}[.., (i*s + w*d - p)..] else {})", outside);
  return fmt::format(
      "def _(a[.., h.. @ rank(a) - len(k)]; k, s, d, p, q, ceil_mode) {{\n"
      "  e = window_size(h, k, s, d, p, q, ceil_mode)..\n"
      "  y[.., (i < e)..] = {}\n}}",
      indexed(formula, 1, read, "[(w < k)..]"));
}

std::string supersample_text(std::string_view formula) {
  return fmt::format("def _(a[.., h.. @ rank(a) - len(k)]; k) y[.., (h, w < k)..] = {}",
                     indexed(formula, 1, "{}[.., h..]", ""));
}

std::string einsum_text(std::string_view spec, size_t operands) {
  const size_t arrow = spec.find("->");
  if (arrow == std::string_view::npos) refuse("einsum", "a spec needs an arrow", std::string(spec), "bik,bkj->bij");
  std::vector<std::string> terms(1);
  for (const char c : spec.substr(0, arrow)) {
    if (c == ' ') continue;
    if (c == ',') {
      terms.emplace_back();
    } else if (starts_name(c) && c != '_') {
      terms.back() += c;
    } else {
      refuse("einsum", "an index is a letter", std::string(1, c), "a to z, A to Z");
    }
  }
  if (terms.size() != operands)
    refuse("einsum", "number of operands", fmt::format("{}", operands), fmt::format("{}", terms.size()));
  std::string result, summed;
  for (const char c : spec.substr(arrow + 2)) {
    if (c != ' ') result += c;
  }
  for (const std::string& term : terms) {
    for (const char c : term) {
      if (result.find(c) == std::string::npos && summed.find(c) == std::string::npos) summed += c;
    }
  }
  // Letters become names that no word of the language is.
  const auto items = [](const std::string& letters) {
    std::string text;
    for (const char c : letters) text += fmt::format("{}n_{}", text.empty() ? "" : ", ", c);
    return text;
  };
  std::string parameters, product;
  for (size_t i = 0; i < terms.size(); ++i) {
    parameters += fmt::format("{}x{}[{}]", i ? ", " : "", i, items(terms[i]));
    product += fmt::format("{}x{}[{}]", i ? " * " : "", i, items(terms[i]));
  }
  const std::string body = summed.empty() ? product : fmt::format("sum[{}]({})", items(summed), product);
  return fmt::format("def _({}) y[{}] = {}", parameters, items(result), body);
}

}  // namespace frit::front

namespace frit {
namespace {

std::vector<int64_t> or_all(const std::vector<int64_t>& list, size_t count, int64_t value) {
  return list.empty() ? std::vector<int64_t>(count, value) : list;
}

}  // namespace

std::vector<Tensor> elementwise_all(std::string_view formula, const std::vector<Tensor>& operands) {
  return op(front::elementwise_text(formula, operands.size())).call(operands);
}

Tensor reduce(std::string_view formula, const std::vector<Tensor>& operands, const std::vector<int64_t>& axes) {
  return op(front::reduce_text(formula, operands.size())).with("axes", axes).call(operands).front();
}

Tensor reduce(const Reducer& reducer, const std::vector<Tensor>& operands, const std::vector<int64_t>& axes) {
  return op(front::reduce_text(reducer, operands.size())).with("axes", axes).call(operands).front();
}

Tensor subsample(std::string_view formula, const Tensor& a, const Window& window) {
  const size_t n = window.k.size();
  const std::vector<int64_t> p = or_all(window.p, n, 0);
  return op(front::subsample_text(formula, window.outside))
      .with("k", window.k)
      .with("s", window.s.empty() ? window.k : window.s)
      .with("d", or_all(window.d, n, 1))
      .with("p", p)
      .with("q", window.q.empty() ? p : window.q)
      .with("ceil_mode", Attribute(window.ceil_mode))(a);
}

Tensor supersample(std::string_view formula, const Tensor& a, const std::vector<int64_t>& k) {
  return op(front::supersample_text(formula)).with("k", k)(a);
}

Tensor einsum(std::string_view spec, const std::vector<Tensor>& operands) {
  return op(front::einsum_text(spec, operands.size())).call(operands).front();
}

}  // namespace frit
