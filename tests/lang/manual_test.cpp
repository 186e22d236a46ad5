// The page of the language: every block of it that is marked as frit is applied to the operands that its comments name,
// as in "# double(f32[2] 1 2; k = 2) gives f32[2] 2 4".
#include <set>

#include "lang/table.h"

using namespace frit;
using namespace frit::testing;

namespace {

struct Block {
  int line = 0;
  std::string text;
};

std::vector<Block> blocks_of_page() {
  std::ifstream in(FRIT_TEST_DATA "/../docs/language.md", std::ios::binary);
  EXPECT_TRUE(in.is_open());
  std::vector<Block> blocks;
  bool inside = false;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line == "```frit") {
      inside = true;
      blocks.push_back({number, {}});
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

/// The parts between commas that stand in no brackets and no string.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += c == '[' || c == '(';
    depth -= c == ']' || c == ')';
    if (c != ',' || depth > 0) {
      part += c;
      continue;
    }
    const size_t first = part.find_first_not_of(' ');
    if (first != std::string::npos) parts.push_back(part.substr(first));
    part.clear();
  }
  return parts;
}

/// The rows of a block, one for each comment "# NAME(OPERANDS; ATTRIBUTES) gives RESULTS".
std::vector<TableRow> rows_of(const Block& block) {
  std::vector<TableRow> rows;
  std::istringstream lines(block.text);
  std::string line;
  for (int number = block.line + 1; std::getline(lines, line); ++number) {
    const size_t gives = line.rfind(") gives ");
    const size_t open = line.find('(');
    if (!line.starts_with("# ") || gives == std::string::npos || open > gives) continue;
    TableRow row{line, block.text, line.substr(2, open - 2), number, {}, {}};
    const std::string inside = line.substr(open + 1, gives - open - 1);
    const size_t semicolon = inside.find(';');
    row.given = split(inside.substr(0, semicolon));
    if (semicolon != std::string::npos)
      for (const std::string& attribute : split(inside.substr(semicolon + 1))) row.given.push_back(attribute);
    row.want = split(line.substr(gives + 8));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

TEST(Manual, EveryExampleGivesWhatThePageSays) {
  int count = 0;
  for (const Block& block : blocks_of_page()) {
    const std::vector<TableRow> rows = rows_of(block);
    EXPECT_FALSE(rows.empty()) << "language.md:" << block.line << ": no line says what an example gives";
    for (const TableRow& row : rows) check_table_row(row, "language.md");
    count += static_cast<int>(rows.size());
  }
  EXPECT_GT(count, 90);
}

// No definition stands on the page that is neither applied nor called.
TEST(Manual, EveryDefinitionIsUsed) {
  for (const Block& block : blocks_of_page()) {
    const lang::File file = lang::parse(block.text, "language.md");
    EXPECT_EQ(to_text(lang::parse(to_text(file), "again")), to_text(file));
    std::set<std::string> applied;
    for (const TableRow& row : rows_of(block)) applied.insert(row.definition);
    for (const lang::DefinitionPtr& def : file.definitions) {
      size_t calls = 0;
      for (size_t at = block.text.find(def->name + "("); at != std::string::npos;
           at = block.text.find(def->name + "(", at + 1))
        ++calls;
      EXPECT_TRUE(applied.contains(def->name) || calls > 1) << "language.md:" << block.line << ": " << def->name;
    }
  }
}
