// `frit show --stage doc`: what a definition is, what it takes and gives.
#include "cli/doc.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/subject.h"

namespace frit::cli {
namespace {

struct Row {
  std::vector<std::string> cells;
};

// Columns as wide as their longest cell.
std::string table(const std::string& title, const std::vector<Row>& rows) {
  if (rows.empty()) return {};
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.cells.size()));
    for (size_t i = 0; i < row.cells.size(); ++i) widths[i] = std::max(widths[i], row.cells[i].size());
  }
  std::string text = title + "\n";
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.cells.size(); ++i) {
      if (widths[i] != 0) line += fmt::format("  {:{}}", row.cells[i], widths[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string pattern_of(const lang::Param& param) {
  if (!param.bracketed) return param.is_const ? "" : "any shape";
  std::string dims;
  for (const lang::Slot& dim : param.dims) dims += (dims.empty() ? "" : ", ") + lang::to_text(dim);
  return "[" + dims + "]";
}

std::string kind_of(const lang::Param& param) {
  std::string text = param.is_const ? "known when compiled" : fmt::format("{}", fmt::join(param.types, " or "));
  if (text.empty()) text = "any dtype";
  if (param.is_variadic) text += ", any number of them";
  if (param.default_value) text += ", or " + lang::to_text(*param.default_value);
  return text;
}

// Derived from the body, or written by hand.
std::string gradient_of(const lang::Definition& definition) {
  if (!definition.gradient) return "  derived\n";
  return fmt::format("  by the clause grad({})\n", fmt::join(definition.gradient->adjoints, ", "));
}

class Page {
 public:
  Page(const lang::Definition& definition, const Subject* subject) : def_(definition), subject_(subject) {}

  std::string text() const {
    std::string page = lang::signature_text(def_) + "\n";
    if (!def_.doc.empty()) page += "\n" + def_.doc;
    for (const std::string& part : {operands(), attributes(), results()})
      if (!part.empty()) page += "\n" + part;
    return page + "\ngradient\n" + gradient_of(def_) + "\nfrom " + def_.source->where(def_.name_span.begin) + "\n";
  }

 private:
  std::string operands() const {
    std::vector<Row> rows;
    for (const lang::Param& param : def_.params)
      rows.push_back({{param.name, pattern_of(param), kind_of(param), given(param)}});
    return table("operands", rows);
  }

  // The types passed for an operand; nothing where no shape is given at all.
  std::string given(const lang::Param& param) const {
    if (!subject_) return {};
    std::vector<std::string> types;
    for (const Subject::Given& input : subject_->inputs) {
      const bool is_one_of_many = param.is_variadic && input.name.starts_with(param.name) &&
                                  input.name.find_first_not_of("0123456789", param.name.size()) == std::string::npos;
      if (input.name == param.name || is_one_of_many)
        types.push_back(type_text(input.type.dtype, static_shape(input.type.shape)));
    }
    if (types.empty()) return param.is_const ? "" : "absent";
    return fmt::format("{}", fmt::join(types, ", "));
  }

  std::string attributes() const {
    std::vector<Row> rows;
    for (const lang::Attr& attr : def_.attrs)
      rows.push_back({{attr.name, attr.default_value ? "= " + lang::to_text(*attr.default_value) : "required"}});
    return table("attributes", rows);
  }

  std::string results() const {
    if (!subject_) {
      const int count = lang::interface_of(def_).results;
      return count < 0 ? "results\n  as many as the attributes ask for\n" : fmt::format("results\n  {}\n", count);
    }
    std::vector<Row> rows;
    for (const Graph::Output& output : subject_->graph.outputs()) {
      const TensorType& type = subject_->graph.type(output.value);
      rows.push_back({{output.name, type_text(type.dtype, static_shape(type.shape))}});
    }
    return table("results", rows);
  }

  const lang::Definition& def_;
  const Subject* subject_;
};

// All definitions of a file or all versions of an operator, a line each.
std::string contents(const std::vector<const lang::Definition*>& definitions) {
  std::vector<Row> rows;
  for (const lang::Definition* definition : definitions)
    rows.push_back({{lang::signature_text(*definition), definition->doc.substr(0, definition->doc.find('\n'))}});
  return table("definitions", rows);
}

}  // namespace

std::string documentation(const SubjectOptions& options) {
  const std::unique_ptr<lang::Library> library = library_of(options);
  if (options.file.ends_with(".frit")) {
    const std::vector<const lang::Definition*> own = own_definitions(*library, options.file);
    if (options.definition.empty() && own.size() != 1) return contents(own);
  } else if (const size_t point = options.file.rfind('.'); point != std::string::npos && !library->find(options.file)) {
    const auto versions = library->versions_of(options.file.substr(0, point), options.file.substr(point + 1));
    if (!versions.empty()) return contents(versions);
  }
  const NamedDefinition named = named_definition(options);
  if (options.shapes.empty() && options.inputs.empty()) return Page(*named.definition, nullptr).text();
  const Subject subject = load_subject(options);
  return Page(*named.definition, &subject).text();
}

}  // namespace frit::cli
