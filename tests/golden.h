#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace frit::testing {

/// The first line in which two texts differ, with both forms.
inline std::string first_difference(const std::string& expected, const std::string& got) {
  std::istringstream a(expected), b(got);
  std::string left, right;
  for (int line = 1;; ++line) {
    const bool has_left = static_cast<bool>(std::getline(a, left)),
               has_right = static_cast<bool>(std::getline(b, right));
    if (!has_left && !has_right) return "no difference in lines";
    if (left != right || has_left != has_right)
      return "line " + std::to_string(line) + "\n- " + (has_left ? left : "(end)") + "\n+ " +
             (has_right ? right : "(end)");
    left.clear();
    right.clear();
  }
}

/// Compares with tests/golden/`name`; UPDATE_GOLDEN=1 writes the file instead.
inline void expect_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(FRIT_TEST_DATA) / "golden" / name;
  if (std::getenv("UPDATE_GOLDEN")) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_TRUE(file.is_open()) << path << " is missing; UPDATE_GOLDEN=1 writes it";
  if (file.is_open() && expected.str() != text)
    ADD_FAILURE() << path << ": " << first_difference(expected.str(), text) << "\nUPDATE_GOLDEN=1 writes the new text";
}

}  // namespace frit::testing
