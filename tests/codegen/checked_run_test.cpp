#include "codegen/kernel/checked_run.h"

#include <gtest/gtest.h>

#include "codegen/sample_kernels.h"
#include "support/error.h"

namespace frit::testing {
namespace {

// Body of a kernel on x (read, 8 floats, aligned to 16), y (written, the same) and 64 bytes of scratch; tiles 0 and 1.
std::string fault_of(const std::string& body) {
  const Kernel k = kernel::parse_kernel(
      "kernel \"k\" {\n buffer \"x\" f32 align 16\n buffer \"y\" f32 written align 16\n" + body + "\n}");
  std::vector<float> x(8, 2.5f), y(8);
  const kernel::BufferBytes buffers[] = {std::as_writable_bytes(std::span(x)), std::as_writable_bytes(std::span(y))};
  try {
    kernel::run_checked(k, buffers, {}, 0, 2, 64, 1000);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

TEST(CheckedRun, FindsBrokenPromises) {
  const struct {
    const char *body, *says;
  } rows[] = {
      {"%0: f32 = load buf0 align 4\n", ""},
      {"%0: ptr = ptr_add buf0, 32:i64\n %1: f32 = load %0 align 4", "leave its 32 bytes"},
      {"%0: ptr = ptr_add buf0, -4:i64\n %1: f32 = load %0 align 4", "leave its 32 bytes"},
      {"%0: ptr = ptr_add buf0, 20:i64\n %1: f32x4 = load %0 align 4", "leave its 32 bytes"},
      {"%0: ptr = ptr_add buf0, 20:i64\n %1: boolx4 = lt iota:i64x4, 3:i64x4\n"
       "%2: f32x4 = masked_load %0, %1, 0:f32x4 align 4",
       ""},
      {"%0: f32x4 = gather buf0, 40:i64x4, 1:boolx4, 0:f32x4 align 4", "leave its 32 bytes"},
      {"%0: f32x4 = gather buf0, 40:i64x4, 0:boolx4, 0:f32x4 align 4", ""},
      {"%0: ptr = ptr_add buf0, 4:i64\n %1: f32x4 = load %0 align 16", "is not aligned to 16"},
      {"%0: f32x8 = load buf0 align 32", "is not aligned to 32"},
      {"%0: f32 = load scratch align 4", "read before it is written"},
      {"store scratch, 1:f32 align 4\n %0: f32 = load scratch align 4", ""},
      {"%0: bool = eq begin, 0:i64\n if %0 {\n store scratch, 1:f32 align 4\n yield\n} else {\n yield\n}\n"
       "%1: f32 = load scratch align 4",
       "tile 1"},
      {"store buf1, 1:f32 align 4", "written by tile 0 as well"},
      {"%0: i64 = mul begin, 4:i64\n %1: ptr = ptr_add buf1, %0\n store %1, 1:f32 align 4\n"
       "%2: f32 = load buf1 align 4",
       "written by tile 0 and read by another"},
      {"%0: i64 = mul begin, 4:i64\n %1: ptr = ptr_add buf1, %0\n store %1, 1:f32 align 4\n"
       "%2: f32 = load %1 align 4",
       ""},
      {"%1: ptr, %2: ptr = loop %0 = 0:i64 to 1:i64 step 1:i64 carry %3 = buf0, %4 = buf1 {\n yield %4, %3\n}\n"
       "store %2, 1:f32 align 4",
       "the buffer is an input"},
      {"%0: i64 = sub begin, begin\n %1: i64 = truncdiv 7:i64, %0", "division by zero"},
      {"%0: i32 = cast begin\n %1: i32 = shl 1:i32, 32:i32", "shift by 32"},
      {"%0: f32 = load buf0 align 4\n %1: f32 = mul %0, 1e30:f32\n %2: i32 = cast_in_range %1", "cast_in_range"},
      {"%0: f32 = load buf0 align 4\n %1: i32 = cast_in_range %0", ""},
      {"loop %0 = 0:i64 to 4:i64 step begin {\n yield\n}", "step 0"},
      {"loop %0 = 4:i64 to 4:i64 step 1:i64 once {\n yield\n}", "at least once"},
      {"loop %0 = 0:i64 to 5000:i64 step 1:i64 {\n %1: i64 = add %0, %0\n yield\n}", "too many steps"},
      {"loop %0 = 9223372036854775800:i64 to 9223372036854775807:i64 step 5:i64 {\n yield\n}", "counter overflows"},
      {"barrier", "a barrier"},
  };
  for (const auto& row : rows) {
    const std::string fault = fault_of(row.body);
    EXPECT_NE(fault.find(row.says), std::string::npos) << row.body << "\n" << fault;
    if (*row.says == '\0') {
      EXPECT_EQ(fault, "") << row.body;
    } else {
      EXPECT_NE(fault.find("kernel k, tile"), std::string::npos) << fault;
    }
  }
}

}  // namespace
}  // namespace frit::testing
