// The rules of the language, section by section: each a row of rules/*.txt.
#include <set>

#include "golden.h"
#include "lang/table.h"

using namespace frit;
using namespace frit::testing;

namespace {

std::vector<std::filesystem::path> tables() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(FRIT_TEST_DATA "/lang/rules")) files.push_back(entry);
  std::sort(files.begin(), files.end());
  return files;
}

std::string message_of(const TableRow& row) {
  try {
    const TableCase c = case_of(row);
    Library library(&layers());
    library.add(row.text, "layer.frit");
    build(library, c.definition, c.operands, c.attributes);
  } catch (const InternalError& error) {
    return std::string("INTERNAL ") + error.what();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class Rules : public ::testing::TestWithParam<std::filesystem::path> {};

}  // namespace

TEST_P(Rules, Hold) {
  const std::vector<TableRow> rows = read_table(GetParam());
  EXPECT_FALSE(rows.empty());
  std::set<std::string> names;
  for (const TableRow& row : rows) {
    EXPECT_TRUE(names.insert(row.name).second) << "two rows are called " << row.name;
    check_table_row(row, GetParam().filename());
  }
}

// What a user reads after a mistake, whole: the rows of the rules that are errors, and mistakes.txt, where layer
// authors mistype. The texts are in golden/lang/mistakes.txt.
TEST(Mistakes, Golden) {
  std::vector<std::filesystem::path> files = tables();
  files.emplace_back(FRIT_TEST_DATA "/lang/mistakes.txt");
  std::string all;
  int count = 0;
  for (const std::filesystem::path& path : files) {
    for (const TableRow& row : read_table(path)) {
      if (!row.want.empty() && !row.want[0].starts_with("error ")) continue;
      const std::string text = message_of(row);
      EXPECT_EQ(text.find("INTERNAL"), std::string::npos) << text;
      EXPECT_NE(text, "no error") << path.filename() << ":" << row.line << ": " << row.name;
      all += "== " + row.name + "\n" + text + "\n\n";
      ++count;
    }
  }
  EXPECT_GT(count, 250);
  expect_golden("lang/mistakes.txt", all);
}

INSTANTIATE_TEST_SUITE_P(Language, Rules, ::testing::ValuesIn(tables()),
                         [](const auto& info) { return info.param.stem().string(); });
