#pragma once
// Tables of snippets as text, so that a rule, its snippet and its result are read together:
//
//     == an integer that does not fit
//     def f(x) = x + 300
//     < u8[2] 1 2
//     > error 300 does not fit u8
//
// `<` lines give operands in their order (a type with values, one value for all, or 0, 1, 2, ..; `none`; `const
// VALUE`), or an attribute `k = VALUE`. `>` lines give the results in their order (a type with values, or a type
// alone), or what an error says. The last definition of the text is the one applied.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/interpreter.h"
#include "ir/lang/parser.h"
#include "lang/snippet_run.h"

namespace frit::testing {

struct TableRow {
  std::string name, text;
  std::string definition = {};  // the last one of the text where this is empty
  int line = 0;
  std::vector<std::string> given, want;
};

inline std::vector<TableRow> read_table(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.is_open()) << path;
  std::vector<TableRow> rows;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.starts_with("== "))
      rows.push_back({line.substr(3), "", {}, number, {}, {}});
    else if (rows.empty() || (line.empty() && !rows.back().given.empty()))
      continue;
    else if (line.starts_with("< "))
      rows.back().given.push_back(line.substr(2));
    else if (line.starts_with("> "))
      rows.back().want.push_back(line.substr(2));
    else if (rows.back().want.empty())
      rows.back().text += line + "\n";
  }
  return rows;
}

/// A literal of the language as an attribute's value.
inline lang::StaticValue literal(const lang::Ex& e) {
  using Kind = lang::Ex::Kind;
  switch (e.kind) {
    case Kind::Int:
      return e.integer;
    case Kind::Float:
      return e.number;
    case Kind::String:
      return e.text;
    case Kind::True:
    case Kind::False:
      return e.kind == Kind::True;
    case Kind::Inf:
      return std::numeric_limits<double>::infinity();
    case Kind::DType:
      return *dtype_from_name(e.text);
    case Kind::None:
      return {};
    case Kind::List: {
      lang::StaticValue::List list;
      for (const lang::ExPtr& item : e.args) list.push_back(literal(*item));
      return list;
    }
    case Kind::Unary: {
      const lang::StaticValue v = literal(*e.args[0]);
      if (const auto* integer = std::get_if<int64_t>(&v.value)) return -*integer;
      return -std::get<double>(v.value);
    }
    default:
      throw std::runtime_error("not a literal: " + to_text(e));
  }
}
inline lang::StaticValue literal(const std::string& text) {
  return literal(*lang::parse_expression(std::make_shared<lang::Source>("literal", text)));
}

/// "f32[2, 3] 1 2 3 4 5 6"; without values the elements are 0, 1, 2, ..
inline RowTensor tensor_of(const std::string& text, bool* has_values) {
  const size_t open = text.find('['), close = text.find(']');
  const auto dtype = dtype_from_name(text.substr(0, open));
  if (!dtype || close == std::string::npos) throw std::runtime_error("not a type: " + text);
  RowTensor t;
  t.dtype = *dtype;
  std::string shape = text.substr(open + 1, close - open - 1);
  std::replace(shape.begin(), shape.end(), ',', ' ');
  std::istringstream extents(shape), values(text.substr(close + 1));
  for (int64_t e = 0; extents >> e;) t.shape.push_back(e);
  for (std::string v; values >> v;) t.values.push_back(std::stod(v));
  const int64_t n = element_count(t.shape);
  *has_values = !t.values.empty() || n == 0;
  if (t.values.empty())
    for (int64_t i = 0; i < n; ++i) t.values.push_back(static_cast<double>(i));
  if (t.values.size() == 1 && n > 1) t.values.assign(static_cast<size_t>(n), t.values[0]);
  if (static_cast<int64_t>(t.values.size()) != n) throw std::runtime_error("wrong number of values: " + text);
  return t;
}

struct TableCase {
  std::vector<OperandSpec> operands;
  lang::Attributes attributes;
  std::map<std::string, Array> arrays;
  std::string definition;
};

inline TableCase case_of(const TableRow& row) {
  TableCase c;
  for (const std::string& given : row.given) {
    const size_t equals = given.find(" = ");
    if (given == "none") {
      c.operands.push_back(absent());
    } else if (equals != std::string::npos) {
      c.attributes[given.substr(0, equals)] = literal(given.substr(equals + 3));
    } else if (given.starts_with("const ")) {
      OperandSpec spec;
      spec.is_const = true;
      spec.literal = literal(given.substr(6));
      c.operands.push_back(spec);
    } else {
      bool has_values = false;
      const RowTensor t = tensor_of(given, &has_values);
      c.arrays["x" + std::to_string(c.operands.size())] = array_of(t);
      c.operands.push_back(of(t.dtype, t.shape));
    }
  }
  const size_t def = row.text.rfind("def ") + 4;
  c.definition = row.definition.empty() ? row.text.substr(def, row.text.find('(', def) - def) : row.definition;
  return c;
}

inline void check_table_values(const TableRow& row, const Built& built, const std::map<std::string, Array>& arrays) {
  std::string types;
  for (const std::string& want : row.want) types += (types.empty() ? "" : "; ") + want.substr(0, want.find(']') + 1);
  ASSERT_EQ(types_of(built), types);
  for (const std::string& finding : verify(built.graph)) ADD_FAILURE() << finding;
  const auto results = interpret(built.graph, arrays);
  check_simplify(built.graph, arrays, "simplified");
  for (size_t r = 0; r < row.want.size(); ++r) {
    bool has_values = false;
    const RowTensor want = tensor_of(row.want[r], &has_values);
    if (!has_values) continue;
    for (int64_t i = 0; i < element_count(want.shape); ++i) {
      const auto at = static_cast<size_t>(i);
      const double got = is_float(want.dtype) ? results[r].values[at] : static_cast<double>(results[r].integers[at]);
      // Six digits are written here, where the value is not exact.
      const double relative = is_float(want.dtype) && want.at(i) != std::round(want.at(i)) ? 1e-6 : 0;
      EXPECT_TRUE(agrees(got, want.at(i), relative))
          << "result " << r << ", element " << i << ": got " << got << ", want " << want.at(i);
    }
  }
}

inline void check_table_row(const TableRow& row, const std::string& file) {
  SCOPED_TRACE(file + ":" + std::to_string(row.line) + ": " + row.name);
  const bool is_error = !row.want.empty() && row.want[0].starts_with("error ");
  try {
    const TableCase c = case_of(row);
    Library library(&layers());
    library.add(row.text, "row.frit");
    const Built built = build(library, c.definition, c.operands, c.attributes);
    if (is_error) {
      ADD_FAILURE() << "no error, but " << types_of(built);
      return;
    }
    ASSERT_FALSE(row.want.empty()) << "nothing is claimed";
    check_table_values(row, built, c.arrays);
  } catch (const InternalError& error) {
    ADD_FAILURE() << error.what();
  } catch (const Error& error) {
    std::vector<std::string> got;
    for (const Finding& finding : error.findings()) got.push_back("error " + finding.what);
    EXPECT_EQ(got, row.want) << error.what();
  }
}

}  // namespace frit::testing
