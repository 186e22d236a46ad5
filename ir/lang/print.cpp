#include <fmt/format.h>

#include "ir/lang/ast.h"

namespace frit::lang {
namespace {

template <class List, class Each>
std::string joined(const List& list, Each each) {
  std::string text;
  for (const auto& item : list) {
    if (!text.empty()) text += ", ";
    text += each(item);
  }
  return text;
}

std::string print(const ExPtr& e) { return to_text(*e); }
std::string print_all(const std::vector<ExPtr>& list) { return joined(list, print); }
std::string print_slots(const std::vector<Slot>& slots) {
  return joined(slots, [](const Slot& s) { return to_text(s); });
}

std::string quoted(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text + "\"";
}

std::string print_fold(const Ex& e) {
  const size_t n = e.names.size();
  std::string inits;
  for (size_t i = 0; i < n; ++i) inits += fmt::format("{}{} = {}", i ? ", " : "", e.names[i], to_text(*e.args[i]));
  const auto section = [&](size_t from) {
    return print_all({e.args.begin() + static_cast<long>(from), e.args.begin() + static_cast<long>(from + n)});
  };
  std::string text = fmt::format("fold[{}]({} : {}", print_slots(e.slots), inits, section(n));
  if (e.args.size() == 3 * n) text += " : " + section(2 * n);
  return text + ")";
}

std::string print_block(const std::vector<Stmt>& statements, int indent);

std::string print_statement(const Stmt& s, int indent) {
  switch (s.kind) {
    case Stmt::Kind::Let:
      return joined(s.targets,
                    [](const Target& t) {
                      return t.bracketed ? fmt::format("{}[{}]", t.name, print_slots(t.slots)) : t.name;
                    }) +
             " = " + print(s.value);
    case Stmt::Kind::Write: {
      const std::string op = s.op == "max=" ? "max =" : s.op == "min=" ? "min =" : s.op;
      return fmt::format("for[{}] {}[{}] {} {}", print_slots(s.slots), s.name, print_all(s.parts), op, print(s.value));
    }
    case Stmt::Kind::If: {
      std::string text = fmt::format("if {} {}", print(s.value), print_block(s.then_block, indent));
      if (s.has_else) text += " else " + print_block(s.else_block, indent);
      return text;
    }
    case Stmt::Kind::Require:
      return fmt::format("require {}, {}", print(s.value), quoted(s.message));
    case Stmt::Kind::Return:
      return "return " + print_all(s.parts);
  }
  FRIT_UNREACHABLE();
}

std::string print_block(const std::vector<Stmt>& statements, int indent) {
  std::string text = "{\n";
  for (const Stmt& s : statements)
    text += std::string(static_cast<size_t>(indent) + 2, ' ') + print_statement(s, indent + 2) + "\n";
  return text + std::string(static_cast<size_t>(indent), ' ') + "}";
}

std::string print_body(const Body& body) {
  switch (body.form) {
    case BodyForm::Expr:
      return "= " + print(body.statements[0].parts[0]);
    case BodyForm::Let:
      return print_statement(body.statements[0], 0);
    case BodyForm::Block:
      return print_block(body.statements, 0);
  }
  FRIT_UNREACHABLE();
}

std::string print_param(const Param& p) {
  std::string text = p.is_const ? "const " : p.is_variadic ? "*" : "";
  text += p.name;
  if (p.bracketed) text += fmt::format("[{}]", print_slots(p.dims));
  for (size_t i = 0; i < p.types.size(); ++i) text += (i ? "|" : ": ") + p.types[i];
  if (p.default_value) text += " = " + print(p.default_value);
  return text;
}

}  // namespace

std::string_view spelling(BinaryOp op) {
  constexpr std::string_view kText[] = {
#define FRIT_X(name, text, level) text,
      FRIT_LANG_BINARY(FRIT_X)
#undef FRIT_X
  };
  return kText[static_cast<size_t>(op)];
}

std::string_view spelling(UnaryOp op) {
  switch (op) {
    case UnaryOp::Neg:
      return "-";
    case UnaryOp::BitNot:
      return "~";
    case UnaryOp::Not:
      return "not ";
  }
  FRIT_UNREACHABLE();
}

std::string to_text(const Slot& slot) {
  std::string text;
  switch (slot.kind) {
    case Slot::Kind::Dots:
      text = "..";
      break;
    case Slot::Kind::Name:
      text = slot.name;
      break;
    case Slot::Kind::Int:
      text = std::to_string(slot.integer);
      break;
    case Slot::Kind::Group:
      text = fmt::format("({})", print_slots(slot.parts));
      break;
  }
  if (slot.bound) text += fmt::format(" {} {}", slot.inclusive ? "<=" : "<", print(slot.bound));
  if (slot.pack) text += "..";
  if (slot.at) text += " @ " + print(slot.at);
  return text;
}

std::string to_text(const Ex& e) {
  switch (e.kind) {
    case Ex::Kind::Int:
    case Ex::Kind::Float:
    case Ex::Kind::True:
    case Ex::Kind::False:
    case Ex::Kind::None:
    case Ex::Kind::Inf:
    case Ex::Kind::Nan:
    case Ex::Kind::DType:
    case Ex::Kind::Dots:
      return e.text;
    case Ex::Kind::String:
      return quoted(e.text);
    case Ex::Kind::Tuple:
      return fmt::format("({})", print_all(e.args));
    case Ex::Kind::List:
      return fmt::format("[{}]", print_all(e.args));
    case Ex::Kind::Read:
      return fmt::format("{}{}{}", e.text, e.primed ? "'" : "",
                         e.bracketed ? fmt::format("[{}]", print_all(e.args)) : std::string());
    case Ex::Kind::Call:
      return fmt::format("{}({})", e.text, joined(e.call_args, [](const Arg& a) {
                           return a.name.empty() ? print(a.value) : fmt::format("{} = {}", a.name, print(a.value));
                         }));
    case Ex::Kind::Pick:
      return fmt::format("{}[{}]", print(e.args[0]), print_all({e.args.begin() + 1, e.args.end()}));
    case Ex::Kind::Reduce:
      return fmt::format("{}[{}]({})", e.text, print_slots(e.slots), print_all(e.args));
    case Ex::Kind::Fold:
      return print_fold(e);
    case Ex::Kind::Unary:
      return fmt::format("{}{}", spelling(e.unary), print(e.args[0]));
    case Ex::Kind::Binary:
      return fmt::format("{} {} {}", print(e.args[0]), spelling(e.binary), print(e.args[1]));
    case Ex::Kind::Else:
      return fmt::format("{} else {}", print(e.args[0]), print(e.args[1]));
    case Ex::Kind::Pack:
      return print(e.args[0]) + "..";
    case Ex::Kind::Slice:
      return fmt::format("{}:{}", e.args[0] ? print(e.args[0]) : "", e.args[1] ? print(e.args[1]) : "");
  }
  FRIT_UNREACHABLE();
}

std::string to_text(const Definition& def) {
  std::string text;
  for (size_t at = 0; at < def.doc.size();) {
    const size_t end = def.doc.find('\n', at);
    const std::string line = def.doc.substr(at, end - at);
    text += line.empty() ? "#\n" : "# " + line + "\n";
    at = end + 1;
  }
  text += fmt::format("def {}({}", def.name, joined(def.params, print_param));
  if (!def.attrs.empty()) {
    text += "; " + joined(def.attrs, [](const Attr& a) {
              return a.default_value ? fmt::format("{} = {}", a.name, print(a.default_value)) : a.name;
            });
  }
  text += ") " + print_body(def.body) + "\n";
  if (def.gradient) {
    text += fmt::format("  grad({}) {}\n", joined(def.gradient->adjoints, [](const std::string& s) { return s; }),
                        print_body(def.gradient->body));
  }
  return text;
}

std::string to_text(const File& file) {
  std::string text;
  for (const File::Import& import : file.imports) text += fmt::format("import {}\n", quoted(import.path));
  if (!file.imports.empty()) text += "\n";
  for (size_t i = 0; i < file.definitions.size(); ++i) text += (i ? "\n" : "") + to_text(*file.definitions[i]);
  return text;
}

// Every part of the tree is in the text, and the text determines the tree.
bool same(const Definition& a, const Definition& b) { return to_text(a) == to_text(b); }

}  // namespace frit::lang
