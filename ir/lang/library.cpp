#include "ir/lang/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/lang/parser.h"

namespace frit::lang {
namespace {

constexpr size_t kImportLimit = 16;  // imports inside one another
constexpr size_t kFileLimit = 256;   // files of one text

// Only files, and only short ones: a pipe would never end.
std::string read_import(const File::Import& import, const Source& source, const std::filesystem::path& path) {
  const auto refuse = [&](std::string why, std::string fix = {}) {
    throw InputError(finding_at(source, import.span, fmt::format("cannot read {}", path.string()), std::move(why),
                                "a file of definitions", std::move(fix)));
  };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    refuse("no such file", "the path is relative to the folder of the file that imports");
  if (!std::filesystem::is_regular_file(status)) refuse("not a file");
  if (std::filesystem::file_size(path, error) > kTextLimit || error)
    refuse("a file that is too long", fmt::format("a file holds at most {} bytes", kTextLimit));
  std::ifstream in(path, std::ios::binary);
  std::string text(kTextLimit + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || !in.eof()) refuse("the system refuses");
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

std::string onnx_prefix(std::string_view domain, std::string_view op) {
  return fmt::format("{}.{}.", domain.empty() || domain == "ai.onnx" ? "onnx" : domain, op);
}

int last_number(std::string_view name) {
  const size_t at = name.rfind('.');
  int version = 0;
  for (const char c : name.substr(at + 1)) {
    if (c < '0' || c > '9' || version > 100000) return -1;
    version = version * 10 + (c - '0');
  }
  return version;
}

// Results of the statement that decides them; -1 where a list is written out or branches differ.
int count_results(const std::vector<Stmt>& block) {
  if (block.empty()) return 0;
  const Stmt& last = block.back();
  switch (last.kind) {
    case Stmt::Kind::Return:
      for (const ExPtr& part : last.parts)
        if (part->kind == Ex::Kind::Pack) return -1;
      return static_cast<int>(last.parts.size());
    case Stmt::Kind::Let:
      return static_cast<int>(last.targets.size());
    case Stmt::Kind::Write:
      return 1;
    case Stmt::Kind::If: {
      const int a = count_results(last.then_block);
      return !last.has_else || a == count_results(last.else_block) ? a : -1;
    }
    case Stmt::Kind::Require:
      return count_results({block.begin(), block.end() - 1});
  }
  FRIT_UNREACHABLE();
}

}  // namespace

std::string to_string(const StaticValue& value) {
  struct Print {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const std::string& v) const { return "\"" + v + "\""; }
    std::string operator()(DType v) const { return std::string(name(v)); }
    std::string operator()(const StaticValue::List& v) const {
      std::string text;
      for (const StaticValue& item : v) text += (text.empty() ? "" : ", ") + to_string(item);
      return "[" + text + "]";
    }
  };
  return std::visit(Print{}, value.value);
}

Interface interface_of(const Definition& definition) {
  Interface result;
  for (const Param& p : definition.params)
    result.operands.push_back({p.name, p.is_const, p.default_value != nullptr, p.is_variadic, p.types});
  for (const Attr& a : definition.attrs)
    result.attributes.push_back({a.name, !a.default_value, a.default_value ? to_text(*a.default_value) : ""});
  result.results = count_results(definition.body.statements);
  return result;
}

std::string signature_text(const Definition& definition) {
  const std::string text = to_text(definition);
  // The printed text starts with the documentation, then `def NAME(..)`; the parenthesis that closes it is matched.
  size_t at = 0;
  while (text.compare(at, 4, "def ") != 0) at = text.find('\n', at) + 1;
  at += 4;
  int depth = 0;
  size_t end = at;
  for (bool quoted = false; end < text.size(); ++end) {
    const char c = text[end];
    if (c == '\\' && quoted)
      ++end;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && c == '(')
      ++depth;
    else if (!quoted && c == ')' && --depth == 0)
      break;
  }
  return text.substr(at, end + 1 - at);
}

Library::ModulePtr Library::import(const File::Import& import, const Source& source, Loading* loading) {
  const auto path = std::filesystem::path(source.file()).parent_path() / import.path;
  std::error_code error;
  std::string key = std::filesystem::weakly_canonical(path, error).string();
  if (error) key = path.lexically_normal().string();
  if (const auto known = loading->modules.find(key); known != loading->modules.end()) return known->second;
  const auto at = std::find(loading->open.begin(), loading->open.end(), key);
  if (at != loading->open.end()) {
    std::string chain;
    for (auto file = at; file != loading->open.end(); ++file)
      chain += std::filesystem::path(*file).filename().string() + " imports ";
    throw InputError(finding_at(source, import.span, fmt::format("{} imports itself", import.path),
                                chain + std::filesystem::path(key).filename().string(), "no circle of imports",
                                "move what both need into a file of its own"));
  }
  if (loading->open.size() > kImportLimit)
    throw InputError(finding_at(source, import.span, fmt::format("imports are more than {} deep", kImportLimit)));
  if (loading->modules.size() >= kFileLimit)
    throw InputError(finding_at(source, import.span, fmt::format("more than {} files are imported", kFileLimit)));
  loading->open.push_back(key);
  ModulePtr module = load(read_import(import, source, path), path.string(), loading);
  loading->open.pop_back();
  loading->modules[key] = module;
  return module;
}

Library::ModulePtr Library::load(std::string text, std::string file, Loading* loading) {
  auto module = std::make_shared<Module>();
  module->file = parse(std::move(text), std::move(file));
  const Source& source = *module->file.source;
  std::vector<Finding> findings;
  for (const File::Import& each : module->file.imports) module->imports.push_back(import(each, source, loading));
  for (const DefinitionPtr& def : module->file.definitions) {
    const auto [at, added] = module->names.emplace(def->name, def);
    if (!added) {
      findings.push_back(finding_at(source, def->name_span, fmt::format("{} is defined twice", def->name),
                                    fmt::format("the first at {}", source.where(at->second->name_span.begin)),
                                    "one definition of each name in a file"));
    }
  }
  if (!findings.empty()) throw InputError(std::move(findings));
  own(module);
  return module;
}

void Library::own(const ModulePtr& module) {
  for (const DefinitionPtr& def : module->file.definitions) module_of_[def.get()] = module;
}

void Library::add(std::string text, std::string file) {
  Loading loading;
  std::error_code error;
  const auto own_path = std::filesystem::weakly_canonical(file, error);
  loading.open.push_back(error ? file : own_path.string());
  ModulePtr module = load(std::move(text), std::move(file), &loading);
  std::vector<Finding> findings;
  for (const auto& [name, def] : module->names) {
    const auto at = names_.find(name);
    if (at == names_.end()) continue;
    const Definition& first = *at->second;
    findings.push_back(finding_at(*def->source, def->name_span, fmt::format("{} is defined twice", name),
                                  fmt::format("the first at {}", first.source->where(first.name_span.begin)),
                                  "one definition of each name in a library"));
  }
  if (!findings.empty()) throw InputError(std::move(findings));
  names_.insert(module->names.begin(), module->names.end());
  modules_.push_back(std::move(module));
}

const Definition* Library::find(std::string_view name) const {
  const auto at = names_.find(name);
  if (at != names_.end()) return at->second.get();
  return parent_ ? parent_->find(name) : nullptr;
}

const Definition& Library::get(std::string_view name) const {
  if (const Definition* def = find(name)) return *def;
  std::vector<std::string> names;
  for (const Definition* def : definitions()) names.push_back(def->name);
  const std::string near = nearest_spelling(name, names);
  throw InputError(Finding{.where = {},
                           .what = fmt::format("there is no definition {}", name),
                           .excerpt = {},
                           .got = {},
                           .expected = {},
                           .fix = near.empty() ? "" : fmt::format("did you mean {}", near),
                           .from = {}});
}

std::vector<const Definition*> Library::versions_of(std::string_view domain, std::string_view op) const {
  const std::string prefix = onnx_prefix(domain, op);
  std::vector<const Definition*> found;
  if (parent_) found = parent_->versions_of(domain, op);
  for (auto at = names_.lower_bound(prefix); at != names_.end() && at->first.starts_with(prefix); ++at) {
    const int version = last_number(at->first);
    if (version < 0 || at->first.find('.', prefix.size()) != std::string::npos) continue;
    std::erase_if(found, [&](const Definition* def) { return last_number(def->name) == version; });
    found.push_back(at->second.get());
  }
  std::sort(found.begin(), found.end(),
            [](const Definition* a, const Definition* b) { return last_number(a->name) < last_number(b->name); });
  return found;
}

const Definition* Library::find_onnx(std::string_view domain, std::string_view op, int opset) const {
  const Definition* best = nullptr;
  for (const Definition* def : versions_of(domain, op))
    if (last_number(def->name) <= opset) best = def;
  return best;
}

const Definition* Library::find_from(const Definition& from, std::string_view name) const {
  for (const Library* library = this; library; library = library->parent_) {
    const auto at = library->module_of_.find(&from);
    if (at == library->module_of_.end()) continue;
    const Module& module = *at->second;
    if (const auto own = module.names.find(name); own != module.names.end()) return own->second.get();
    for (const ModulePtr& import : module.imports)
      if (const auto other = import->names.find(name); other != import->names.end()) return other->second.get();
    break;
  }
  return find(name);
}

std::vector<const Definition*> Library::definitions() const {
  std::map<std::string, const Definition*> all;
  if (parent_)
    for (const Definition* def : parent_->definitions()) all[def->name] = def;
  for (const auto& [name, def] : names_) all[name] = def.get();
  std::vector<const Definition*> result;
  for (const auto& [name, def] : all) result.push_back(def);
  return result;
}

}  // namespace frit::lang
