#include <gtest/gtest.h>

#include "asm_checks.h"
#include "codegen/kernel_runner.h"
#include "codegen/llvm/llvm.h"
#include "codegen/sample_kernels.h"
#include "golden.h"
#include "runtime/cpu/disassemble.h"
#include "support/error.h"

namespace frit::testing {
namespace {

TEST(LlvmPrint, IsGolden) {
  expect_golden("llvm/scale.ll", print_llvm(scale_kernel()));
  expect_golden("llvm/product_4x2x16.ll", print_llvm(product_kernel(4, 2, 16)));
  expect_golden("llvm/row_sum.ll", print_llvm(row_sum_kernel()));
  expect_golden("llvm/permute.ll", print_llvm(permute_kernel()));
}

TEST(LlvmPrint, NamesAreNoPartOfTheText) {
  Kernel a = scale_kernel(), b = scale_kernel();
  b.name = "another layer";
  b.buffers[0].name = "weights";
  EXPECT_EQ(print_llvm(a), print_llvm(b));
}

TEST(LlvmPrint, NamesCannotLeaveTheComment) {  // B139, B144
  Kernel plain = scale_kernel(8, false);
  plain.origin = "relu\nret void }\r\ndefine i32 @main() { ; */ \\";
  CpuRunner runner("sse2");
  EXPECT_NO_THROW(runner.compile(plain));
  const std::string text = print_llvm(plain);
  EXPECT_EQ(text.find("\ndefine"), text.rfind("\ndefine"));
  EXPECT_EQ(text[0], ';');
}

TEST(LlvmPrint, RefusesBarriersByName) {
  Builder b("tiles");
  b.barrier();
  try {
    print_llvm(b.finish());
    FAIL();
  } catch (const UnsupportedError& error) {
    EXPECT_NE(std::string(error.what()).find("tiles"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("cpu"), std::string::npos);
  }
}

TEST(LlvmPrint, RefusesTextsThatAreTooLong) {  // B131, B136
  Builder b("chain");
  Value v = b.load(scalar(DType::F32), b.scratch());
  for (int n = 0; n < 5000; ++n) v = b.add(v, v);
  b.store(b.scratch(), v);
  EXPECT_THROW(print_llvm(b.finish()), UnsupportedError);
}

TEST(LlvmPrint, TilesThatFitDoNotSpill) {
  const struct {
    const char* level;
    int rows, vectors, lanes;
  } rows[] = {{"avx512", 14, 2, 16}, {"avx512", 12, 2, 16}, {"avx512", 8, 3, 16},
              {"avx2", 6, 2, 8},     {"avx2", 4, 3, 8},     {"avx2", 12, 1, 8}};
  for (const auto& row : rows) {
    if (!can_run(row.level)) continue;
    CpuRunner runner(row.level);
    const auto kernel = runner.compile(product_kernel(row.rows, row.vectors, row.lanes));
    const std::string what = row.level + (" " + std::to_string(row.rows)) + "x" + std::to_string(row.vectors) + "\n" +
                             kernel->report().remarks;
    EXPECT_FALSE(kernel->report().spills_in_inner_loop()) << what;
    const std::string assembly = disassemble(*kernel, runtime::cpu_target_named(row.level));
    const auto loops = inner_loops(assembly);
    ASSERT_EQ(loops.size(), 1u) << what << assembly;
    EXPECT_EQ(loops[0].count("vfmadd"), row.rows * row.vectors) << what << assembly;
    EXPECT_TRUE(stack_operands(assembly).empty()) << what << assembly;
  }
}

TEST(LlvmPrint, ASpillIsSeenInTheCode) {
  if (!can_run("avx2")) GTEST_SKIP() << "this machine has no avx2";
  CpuRunner runner("avx2");
  const auto kernel = runner.compile(product_kernel(12, 2, 8));
  EXPECT_TRUE(kernel->report().spills_in_inner_loop());
  EXPECT_FALSE(stack_operands(disassemble(*kernel, runtime::cpu_target_named("avx2"))).empty());
}

TEST(LlvmPrint, InnermostLoopsAreOneBlock) {
  CpuRunner runner("sse2");
  const std::string assembly = disassemble(*runner.compile(row_sum_kernel()), runtime::cpu_target_named("sse2"));
  const auto loops = inner_loops(assembly);
  ASSERT_EQ(loops.size(), 2u) << assembly;  // vectors, and the rest
  for (const InnerLoop& loop : loops) EXPECT_EQ(loop.count("j"), 1) << assembly;
}

}  // namespace
}  // namespace frit::testing
