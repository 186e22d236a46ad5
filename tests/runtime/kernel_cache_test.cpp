#include "runtime/kernel_cache.h"

#include "runtime_fixture.h"
#include "support/error.h"

namespace frit::runtime {
namespace {

TEST(KernelCache, CompilesOnceAndServesFromMemoryThenDisk) {  // B120, B121, B137
  const TemporaryFolder folder;
  {
    KernelCache cache(options_in(folder.path()));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(run_one(*cache.get(add_constant(2)), 1), 3);
    EXPECT_EQ(cache.counters().compiles, 1);
    EXPECT_EQ(cache.counters().memory_hits, 9);
    EXPECT_TRUE(llvm_loaded());
  }
  KernelCache cache(options_in(folder.path()));
  const KernelRef kernel = cache.get_by_key(cache.key_of(add_constant(2)), "add");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(run_one(*kernel, 40), 42);
  EXPECT_EQ(cache.counters().compiles, 0);
  EXPECT_EQ(cache.counters().disk_hits, 1);
}

TEST(KernelCache, RefusedTextsNameKernelLogAndPath) {  // B148
  const TemporaryFolder folder;
  KernelCache cache(options_in(folder.path()));
  const struct {
    std::string text, log;
  } rows[] = {
      {"define void @frit_kernel(", "expected"},
      {"define void @frit_kernel() {\n %a = add i32 1, 2.0\n ret void\n}", "invalid for type"},
      {"define void @other() {\n ret void\n}", "frit_kernel only"},
      {"declare void @frit_kernel()", "does not define frit_kernel"},
      {"define void @frit_kernel() {\n ret i32 1\n}", "result type"},
      {"define i32 @frit_kernel() {\n %a = add i32 %b, 1\n %b = add i32 %a, 1\n ret i32 %b\n}", "dominate"},
      {"declare i32 @llvm.amdgcn.workitem.id.x()\ndefine i32 @frit_kernel() {\n"
       " %a = call i32 @llvm.amdgcn.workitem.id.x()\n ret i32 %a\n}",
       "Cannot select"},
  };
  for (const auto& row : rows) {
    for (int again = 0; again < 2; ++again) {  // a failed key is not remembered
      try {
        cache.get({.name = "broken", .target = "cpu", .text = row.text});
        FAIL() << row.text;
      } catch (const CompilerError& error) {
        const Finding& finding = error.findings()[0];
        EXPECT_NE(finding.what.find("\"broken\""), std::string::npos);
        EXPECT_NE(finding.got.find(row.log), std::string::npos) << finding.got;
        EXPECT_TRUE(std::filesystem::exists(finding.where)) << finding.where;
      }
    }
  }
  EXPECT_EQ(cache.counters().compiles, 2 * std::size(rows));
  EXPECT_EQ(run_one(*cache.get(add_constant(1)), 1), 2);
}

TEST(KernelCache, UndefinedSymbolIsOurBug) {  // B157
  const TemporaryFolder folder;
  KernelCache cache(options_in(folder.path()));
  const KernelSource source{.name = "expo", .target = "cpu", .text = R"(
declare float @llvm.exp.f32(float)
define void @frit_kernel(ptr %buffers, ptr %dims, i64 %begin, i64 %end, ptr %scratch) {
  %x = load float, ptr %scratch
  %y = call float @llvm.exp.f32(float %x)
  store float %y, ptr %scratch
  ret void
}
)"};
  try {
    cache.get(source);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("undefined symbol expf"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("expo"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace frit::runtime
