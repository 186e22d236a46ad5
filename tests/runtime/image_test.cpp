#include "runtime/cpu/image.h"

#include <random>

#include "runtime/cpu/features.h"
#include "runtime/cpu/llvm_compiler.h"
#include "runtime/cpu/probe.h"
#include "runtime_fixture.h"
#include "support/error.h"

namespace frit::runtime {
namespace {

std::string compile(const std::string& text) {
  LlvmObject object = compile_llvm({.name = "k", .target = "cpu", .text = text}, cpu_target_from_environment());
  EXPECT_EQ(object.error, "");
  return std::move(object.object);
}

/// A constant table, a jump table and a vector constant: each wants a relocation into read-only data.
constexpr const char* kTables = R"(
@table = private unnamed_addr constant [8 x float] [float 1.0, float 2.0, float 4.0, float 8.0, float 16.0, float 32.0, float 64.0, float 128.0]
define void @frit_kernel(ptr %buffers, ptr %dims, i64 %begin, i64 %end, ptr %scratch) {
  %y = load ptr, ptr %buffers
  %p = getelementptr float, ptr @table, i64 %begin
  %t = load float, ptr %p
  switch i64 %end, label %other [i64 0, label %l0  i64 1, label %l1  i64 2, label %l2  i64 3, label %l3  i64 4, label %l4]
l0:
  br label %done
l1:
  br label %done
l2:
  br label %done
l3:
  br label %done
l4:
  %v = load <4 x float>, ptr %y
  %w = fadd <4 x float> %v, <float 10.0, float 20.0, float 30.0, float 40.0>
  store <4 x float> %w, ptr %y
  ret void
other:
  br label %done
done:
  %f = phi float [3.5, %l0], [5.5, %l1], [7.25, %l2], [9.125, %l3], [-1.0, %other]
  %s = fadd float %t, %f
  store float %s, ptr %y
  ret void
}
)";

TEST(Image, ConstantsAndJumpTablesAreRelative) {
  const Image image = flatten_object(compile(kTables), "frit_kernel", "k");
  const ExecutableMemory one(image.bytes), two(image.bytes);  // at two addresses
  for (const ExecutableMemory* memory : {&one, &two}) {
    const auto fn = reinterpret_cast<KernelFn>(const_cast<void*>(memory->at(image.entry)));
    alignas(16) float y[4] = {};
    void* buffers[] = {y};
    const float wants[] = {3.5f, 5.5f, 7.25f, 9.125f};
    for (int64_t end = 0; end < 4; ++end) {
      for (int64_t begin = 0; begin < 8; ++begin) {
        fn(buffers, nullptr, begin, end, nullptr);
        EXPECT_EQ(y[0], static_cast<float>(1 << begin) + wants[end]);
      }
    }
    fn(buffers, nullptr, 0, 9, nullptr);
    EXPECT_EQ(y[0], 0);
    fn(buffers, nullptr, 0, 4, nullptr);
    EXPECT_EQ(y[3], 40);
  }
}

TEST(Image, RefusesWhatIsNotClosed) {
  const struct {
    const char *text, *what;
  } rows[] = {
      {"@g = internal global float 1.0\ndefine void @frit_kernel(ptr %p) {\n %v = load float, ptr @g\n %w = fadd float "
       "%v, "
       "2.0\n store float %w, ptr @g\n ret void\n}",
       "writable section"},
      {"declare void @helper()\ndefine void @frit_kernel() {\n call void @helper()\n ret void\n}",
       "undefined symbol helper"},
      {"@far = external global float\ndefine void @frit_kernel() {\n store float 1.0, ptr @far\n ret void\n}",
       "undefined symbol far"},
      {"declare <4 x float> @llvm.sin.v4f32(<4 x float>)\ndefine void @frit_kernel(ptr %p) {\n %v = load <4 x float>, "
       "ptr "
       "%p\n %w = call <4 x float> @llvm.sin.v4f32(<4 x float> %v)\n store <4 x float> %w, ptr %p\n ret void\n}",
       "undefined symbol sinf"},
  };
  for (const auto& row : rows) {
    try {
      flatten_object(compile(row.text), "frit_kernel", "closed?");
      ADD_FAILURE() << row.what;
    } catch (const InternalError& error) {
      EXPECT_NE(std::string(error.what()).find(row.what), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("closed?"), std::string::npos) << error.what();
    }
  }
}

TEST(Image, DamagedObjectsNeverLeaveTheirBytes) {
  const std::string good = compile(kTables);
  std::mt19937 random(3);
  const auto flatten = [](const std::string& object) {
    try {
      const Image image = flatten_object(object, "frit_kernel", "k");
      EXPECT_LT(image.entry, image.bytes.size());
    } catch (const InternalError& error) {
      EXPECT_NE(std::string(error.what()).find("object of kernel"), std::string::npos);
    }
  };
  for (size_t size = 0; size < good.size(); size += 3) flatten(std::string(good.data(), size));
  for (int round = 0; round < 20'000; ++round) {
    std::string bad = good;
    for (uint32_t flips = 1 + random() % 3; flips > 0; --flips) {
      const size_t at = random() % bad.size();
      bad[at] = static_cast<char>(random() % 2 != 0 ? bad[at] ^ (1 << random() % 8) : random());
    }
    flatten(bad);
  }
  for (size_t at = 0; at < 64; ++at) {  // each byte of the header
    for (int value = 0; value < 256; value += 5) {
      std::string bad = good;
      bad[at] = static_cast<char>(value);
      flatten(bad);
    }
  }
}

TEST(Features, LevelsByName) {
  const CpuLevel best = detect_cpu_level();
  EXPECT_EQ(cpu_target_named("native").level, best);
  EXPECT_EQ(cpu_target_named("sse2").level, CpuLevel::Sse2);
  EXPECT_EQ(cpu_target_named("sse2").vector_bytes(), 16);
  EXPECT_FALSE(cpu_target_named("sse2").has_fma());
  for (const char* name : {"avx", "AVX2", "", "neon"}) EXPECT_THROW(cpu_target_named(name), InputError) << name;
  for (const CpuLevel level : {CpuLevel::Sse2, CpuLevel::Avx2, CpuLevel::Avx512}) {
    const CpuTarget target{level};
    if (level <= best)
      EXPECT_EQ(cpu_target_named(target.name()).level, level);
    else
      EXPECT_THROW(cpu_target_named(target.name()), InputError);
    // LLVM knows every feature: it warns on stderr about others and would go on.
    const LlvmObject object = compile_llvm(add_constant(1), target);
    EXPECT_EQ(object.error, "");
  }
  const ScopedVariable bad("FRIT_CPU", "pentium");
  EXPECT_THROW(cpu_target_from_environment(), InputError);
}

TEST(Probe, MeasuresSomethingPlausible) {
  const TemporaryFolder folder;
  KernelCache cache(options_in(folder.path()));
  Workers workers(2);
  const MachinePeaks peaks = measure_peaks(cache, workers);
  EXPECT_GT(peaks.fma_gflops_one, 0.1);
  EXPECT_LT(peaks.fma_gflops_one, 2000);
  EXPECT_GT(peaks.fma_gflops_all, 0.1);
  EXPECT_GT(peaks.l1_gbs, 0.1);
  EXPECT_GT(peaks.memory_gbs_one, 0.05);
  RecordProperty("fma_gflops_one", std::to_string(peaks.fma_gflops_one));
  RecordProperty("fma_gflops_all", std::to_string(peaks.fma_gflops_all));
  for (const int bytes : {16, 32, 64}) {
    FmaProbe probe(cache, workers, 1, bytes);
    EXPECT_GT(probe.run(), 0.05);
  }
  const CodeReport report = FmaProbe(cache, workers).kernel().report();
  EXPECT_EQ(report.spills, 0) << report.remarks;
}

}  // namespace
}  // namespace frit::runtime
