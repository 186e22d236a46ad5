#include <gtest/gtest.h>

#include "codegen/c/c.h"
#include "codegen/sample_kernels.h"
#include "golden.h"
#include "opencl_runner.h"
#include "support/error.h"

namespace frit::testing {
namespace {

TEST(OpenClPrint, IsGolden) {
  expect_golden("opencl/scale.cl", print_opencl(scale_kernel()));
  expect_golden("opencl/row_sum.cl", print_opencl(row_sum_kernel()));
  expect_golden("opencl/permute.cl", print_opencl(permute_kernel()));
}

TEST(OpenClPrint, NamesAreNoPartOfTheText) {
  Kernel a = scale_kernel(), b = scale_kernel();
  b.name = "__global";
  b.buffers[0].name = "get_global_id";
  EXPECT_EQ(print_opencl(a), print_opencl(b));
}

TEST(OpenClPrint, NamesCannotLeaveTheComment) {  // B139, B144
  Kernel k = scale_kernel();
  k.origin = "seq;1/dense:0 */ \\\n } asm double \?\?/";
  const std::string text = print_opencl(k);
  EXPECT_EQ(text.substr(0, text.find('\n')), "// seq;1/dense:0 */ __ } asm double __/");
  const auto runner = make_opencl_runner();
  if (!runner) GTEST_SKIP() << "this machine has no opencl";
  std::vector<float> x = {1, 2, 3}, y(3);
  runner->run(k, {bytes_of(x), bytes_of(y)}, {}, 0, 3);
  EXPECT_EQ(y, (std::vector<float>{3, 5, 7}));
}

TEST(OpenClPrint, RefusesByName) {
  Builder wide("wide");
  const Type t = vector_of(DType::F32, 32);
  wide.store(wide.scratch(), wide.add(wide.load(t, wide.scratch()), wide.zero(t)));
  Builder meeting("meeting");
  meeting.barrier();
  for (Builder* b : {&wide, &meeting}) {
    const Kernel k = b->finish();
    try {
      print_opencl(k);
      ADD_FAILURE() << k.name;
    } catch (const UnsupportedError& error) {
      EXPECT_NE(std::string(error.what()).find(k.name), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("opencl"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace frit::testing
