#include "runtime/kernel_cache.h"

#include <barrier>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "runtime_fixture.h"
#include "support/error.h"

#if defined(__SANITIZE_ADDRESS__)
// What stops LLVM for good is thrown through it, and what it held then is lost.
extern "C" const char* __lsan_default_suppressions() { return "leak:libLLVM"; }
#endif

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

TEST(KernelCache, KeysHoldAllThatChangesTheCode) {  // B115, B117
  const TemporaryFolder folder;
  const KernelCacheOptions base = options_in(folder.path());
  const auto key_with = [&](auto change) {
    KernelCacheOptions options = base;
    options.compiler = "1";
    KernelSource source = add_constant(1);
    change(options, source);
    return KernelCache(options).key_of(source);
  };
  const Digest plain = key_with([](auto&, auto&) {});
  EXPECT_EQ(plain, key_with([](auto&, auto& source) { source.name = "another"; }));
  std::set<Digest> keys = {plain};
  const auto expect_new = [&](const char* what, auto change) {
    EXPECT_TRUE(keys.insert(key_with(change)).second) << what;
  };
  expect_new("compiler", [](auto& options, auto&) { options.compiler = "2"; });
  expect_new("loader", [](auto& options, auto&) { options.loader_format = "image-0"; });
  if (base.cpu.level != CpuLevel::Sse2) expect_new("cpu", [](auto& options, auto&) { options.cpu = {CpuLevel::Sse2}; });
  expect_new("text", [](auto&, auto& source) { source.text += " "; });
  expect_new("order", [](auto&, auto& source) { source.text = "fsub x, y"; });
  expect_new("order", [](auto&, auto& source) { source.text = "fsub y, x"; });
  expect_new("target", [](auto&, auto& source) { source.target = "other"; });
  expect_new("edge", [](auto&, auto& source) { source = {.name = "", .target = "ot", .text = "her" + source.text}; });
}

TEST(KernelCache, AnotherCompilerIsAMissWithoutAnError) {  // B117
  const TemporaryFolder folder;
  const auto compiles_with = [&](const char* compiler, const char* loader) {
    KernelCacheOptions options = options_in(folder.path());
    options.compiler = compiler;
    options.loader_format = loader;
    KernelCache cache(options);
    EXPECT_EQ(run_one(*cache.get(add_constant(3)), 1), 4);
    return cache.counters().compiles.load();
  };
  EXPECT_EQ(compiles_with("1", "1"), 1);
  EXPECT_EQ(compiles_with("1", "1"), 0);
  EXPECT_EQ(compiles_with("2", "1"), 1);
  EXPECT_EQ(compiles_with("2", "2"), 1);
  EXPECT_EQ(compiles_with("1", "1"), 0);
}

TEST(KernelCache, DamagedObjectsAreRebuiltAndNeverRun) {  // B124
  const TemporaryFolder folder;
  const KernelSource source = add_constant(5);
  const std::string path = folder / ("object/" + KernelCache(options_in(folder.path())).key_of(source).hex());
  std::mt19937 random(7);
  std::string good;
  for (int round = 0; round < 40; ++round) {
    KernelCache cache(options_in(folder.path()));
    EXPECT_EQ(run_one(*cache.get(source), 1), 6);
    EXPECT_EQ(cache.counters().compiles, 1) << round;
    EXPECT_EQ(KernelCache(options_in(folder.path())).get(source)->image().size(), cache.get(source)->image().size());
    std::ifstream in(path, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    ASSERT_GT(bytes.size(), 64);
    if (round == 0) good = bytes;
    EXPECT_EQ(bytes, good) << "the same entry each time";  // B121
    const size_t bit = random() % (bytes.size() * 8);
    if (round % 4 == 0)
      bytes.resize(random() % bytes.size());
    else
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
}

TEST(KernelCache, WorksWithoutADisk) {  // B125, B123, B128
  const TemporaryFolder folder;
  KernelCacheOptions none = options_in(""), zero = options_in(folder / "zero");
  zero.disk.limit_bytes = 0;
  for (const KernelCacheOptions& options : {none, zero, options_in("/proc/frit")}) {
    KernelCache cache(options);
    for (int round = 0; round < 3; ++round) EXPECT_EQ(run_one(*cache.get(add_constant(2)), 1), 3);
    EXPECT_EQ(cache.counters().compiles, 1);
    EXPECT_THROW(cache.get({.name = "broken", .target = "cpu", .text = "?"}), CompilerError);
  }
  KernelCache cache(options_in(folder / "gone"));
  std::filesystem::remove_all(folder / "gone");  // publishing fails from here on
  EXPECT_EQ(run_one(*cache.get(add_constant(2)), 1), 3);
}

TEST(KernelCache, OddNames) {  // B141, B142
  const TemporaryFolder folder;
  for (const char* name : {"a b", "a'b", "a\"b", "a;b", "\xc3\xa4", "a$(id)b", "x-g", "x -O0", "-DFOO"}) {
    for (const uint64_t compiles : {1, 0}) {
      KernelCache cache(options_in(folder / name));
      EXPECT_EQ(run_one(*cache.get(add_constant(1, name + std::string(300, 'n'))), 1), 2);
      EXPECT_EQ(cache.counters().compiles, compiles) << name;
    }
  }
}

TEST(KernelCache, MemoryIsBoundedAndKernelsInUseSurvive) {  // B127
  const TemporaryFolder folder;
  KernelCacheOptions options = options_in(folder.path());
  options.memory_limit_bytes = 10 * 5000;
  KernelCache cache(options);
  const KernelRef held = cache.get(add_constant(0.5));
  for (int n = 0; n < 50; ++n) {
    EXPECT_EQ(run_one(*cache.get(add_constant(n)), 1), 1 + static_cast<float>(n));
    EXPECT_LE(cache.memory_bytes(), options.memory_limit_bytes);
  }
  EXPECT_GT(cache.counters().evicted, 30);
  EXPECT_EQ(run_one(*held, 1), 1.5f);
  EXPECT_EQ(run_one(*cache.get(add_constant(0.5)), 1), 1.5f);
  EXPECT_EQ(cache.counters().compiles, 51);  // evicted from memory, not from disk
}

TEST(KernelCache, OneCompilePerKeyFromManyThreads) {  // B160
  constexpr int kThreads = 16, kKernels = 200;
  const TemporaryFolder folder;
  KernelCache cache(options_in(folder.path()));
  std::vector<KernelSource> sources;
  for (int k = 0; k < kKernels; ++k) sources.push_back(add_constant(k, fmt::format("add_{}", k)));
  std::barrier start(kThreads);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int k = 0; k < kKernels; ++k) {
        if (k % 50 == 0) start.arrive_and_wait();
        EXPECT_EQ(run_one(*cache.get(sources[static_cast<size_t>(k)]), 1), 1 + static_cast<float>(k));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(cache.counters().compiles, kKernels);
  EXPECT_EQ(cache.disk().list().size(), kKernels);
}

TEST(KernelCache, ManyAtOnceInOrder) {
  const TemporaryFolder folder;
  KernelCache cache(options_in(folder.path()));
  std::vector<KernelSource> sources;
  for (int k = 0; k < 40; ++k) sources.push_back(add_constant(k % 25));
  cache.get(sources[3]);
  const std::vector<KernelRef> kernels = cache.get_all(sources);
  for (size_t k = 0; k < sources.size(); ++k) EXPECT_EQ(run_one(*kernels[k], 1), 1 + static_cast<float>(k % 25));
  EXPECT_EQ(cache.counters().compiles, 25);
  EXPECT_EQ(kernels[30], kernels[5]);
  sources[7].text = "broken";
  EXPECT_THROW(cache.get_all(sources), CompilerError);
}

TEST(KernelCache, SpillsAreReported) {
  std::string text =
      "declare <8 x double> @llvm.fma.v8f64(<8 x double>, <8 x double>, <8 x double>)\n"
      "define void @frit_kernel(ptr %x, ptr %y, i64 %begin, i64 %end, ptr %s) {\nentry:\n  br label %loop\n"
      "loop:\n  %i = phi i64 [0, %entry], [%i2, %loop]\n";
  constexpr int kSums = 60;  // more than any register file holds
  for (int k = 0; k < kSums; ++k) {
    text += fmt::format("  %s{0} = phi <8 x double> [zeroinitializer, %entry], [%t{0}, %loop]\n", k);
  }
  text += "  %p = getelementptr <8 x double>, ptr %x, i64 %i\n  %a = load <8 x double>, ptr %p, align 8\n";
  for (int k = 0; k < kSums; ++k) {
    text += fmt::format("  %t{0} = fadd <8 x double> %s{0}, %a\n", k);
  }
  text += "  %i2 = add i64 %i, 1\n  %z = icmp slt i64 %i2, %end\n  br i1 %z, label %loop, label %done\ndone:\n";
  for (int k = 0; k < kSums; ++k) {
    text += fmt::format(
        "  %q{0} = getelementptr <8 x double>, ptr %y, i64 {0}\n  store <8 x double> %t{0}, ptr %q{0}, align 8\n", k);
  }
  text += "  ret void\n}\n";
  const TemporaryFolder folder;
  for (int round = 0; round < 2; ++round) {  // compiled, then from disk
    KernelCache cache(options_in(folder.path()));
    const CodeReport bad = cache.get({.name = "many", .target = "cpu", .text = text})->report();
    EXPECT_TRUE(bad.spills_in_inner_loop()) << bad.loop_cost << "\n" << bad.remarks;
    EXPECT_GT(bad.spills, 10) << bad.remarks;
    EXPECT_GT(bad.inner_loop_spills, 20) << bad.remarks;
    EXPECT_GT(bad.stack_bytes, 64 * 10);
    EXPECT_EQ(cache.get_by_key(cache.key_of({.name = "", .target = "cpu", .text = text}), "")->report().remarks,
              bad.remarks);
    const CodeReport good = cache.get(add_constant(1))->report();
    EXPECT_EQ(good.spills + good.reloads, 0) << good.remarks;
    EXPECT_FALSE(good.spills_in_inner_loop());
  }
}

TEST(KernelCache, SpillsAroundAnInnerLoopAreNoneInIt) {
  std::string text =
      "define void @frit_kernel(ptr noalias %x, ptr noalias %y, i64 %begin, i64 %end, ptr noalias %s) {\nentry:\n"
      "  br label %outer\nouter:\n  %i = phi i64 [0, %entry], [%i2, %last]\n"
      "  %row = getelementptr i8, ptr %x, i64 %i\n";
  constexpr int kHeld = 40;  // live across the inner loop
  for (int k = 0; k < kHeld; ++k) {
    text += fmt::format(
        "  %p{0} = getelementptr i8, ptr %row, i64 {1}\n  %v{0} = load <8 x double>, ptr %p{0}, align 8\n", k, k * 64);
  }
  text +=
      "  br label %inner\ninner:\n  %j = phi i64 [0, %outer], [%j2, %inner]\n  %n = phi i64 [0, %outer], [%n2, "
      "%inner]\n"
      "  %at = getelementptr i64, ptr %s, i64 %j\n  %m = load i64, ptr %at\n  %n2 = add i64 %n, %m\n"
      "  %j2 = add i64 %j, 1\n  %more = icmp slt i64 %j2, %end\n  br i1 %more, label %inner, label %last\nlast:\n"
      "  %to = getelementptr i8, ptr %y, i64 %n2\n";
  for (int k = 0; k < kHeld; ++k) {
    text += fmt::format(
        "  %q{0} = getelementptr i8, ptr %to, i64 {1}\n  store <8 x double> %v{0}, ptr %q{0}, align 8\n", k, k * 64);
  }
  text +=
      "  %i2 = add i64 %i, 1\n  %again = icmp slt i64 %i2, %end\n  br i1 %again, label %outer, label %done\ndone:\n  "
      "ret void\n}\n";
  const TemporaryFolder folder;
  KernelCache cache(options_in(folder.path()));
  const CodeReport report = cache.get({.name = "around", .target = "cpu", .text = text})->report();
  EXPECT_GT(report.spills, 0) << report.remarks;
  EXPECT_EQ(report.inner_loop_spills, 0) << report.remarks;
}

TEST(KernelCache, ExplainsAMiss) {
  const TemporaryFolder folder;
  const KernelSource source = add_constant(1);
  const auto with_compiler = [&](const char* compiler) {
    KernelCacheOptions options = options_in(folder.path());
    options.compiler = compiler;
    return options;
  };
  KernelCache one(with_compiler("1"));
  EXPECT_EQ(one.explain_miss(source), "no entry at all");
  one.get(source);
  EXPECT_EQ(one.explain_miss(source), "");
  KernelCache two(with_compiler("2"));
  EXPECT_EQ(two.explain_miss(source), "compiler: LLVM 1 there, LLVM 2 here");
  EXPECT_TRUE(one.explain_miss(add_constant(2)).starts_with("text: ")) << one.explain_miss(add_constant(2));
  EXPECT_TRUE(KernelCache(options_in("")).explain_miss(source).starts_with("no disk cache"));
}

TEST(KernelCache, LlvmMayBeOpenedEarly) {
  {
    const LlvmOpening one, two;
    EXPECT_EQ(run_one(*KernelCache(options_in("")).get(add_constant(1)), 1), 2);
  }
  EXPECT_TRUE(llvm_loaded());
}

/// Ends the process with 0 if the claim holds; for processes that start without LLVM.
[[noreturn]] void exit_if(bool claim) { std::_Exit(claim ? 0 : 1); }

TEST(KernelCacheDeathTest, WarmProcessNeverOpensLlvm) {  // B120
  GTEST_FLAG_SET(death_test_style, "threadsafe");        // starts this program again, up to the line below
  const bool is_parent = std::getenv("FRIT_TEST_WARM") == nullptr;
  const std::optional<TemporaryFolder> folder = is_parent ? std::make_optional<TemporaryFolder>() : std::nullopt;
  if (is_parent) KernelCache(options_in(folder->path())).get(add_constant(8));
  const std::string path = is_parent ? folder->path() : std::getenv("FRIT_TEST_WARM");
  const ScopedVariable own("FRIT_CACHE_DIR", path.c_str()), warm("FRIT_TEST_WARM", path.c_str());
  const ScopedVariable plugin("FRIT_LLVM_PLUGIN", "/nowhere");
  const auto claim = [] {
    KernelCache& cache = KernelCache::shared();
    return run_one(*cache.get(add_constant(8)), 1) == 9 && cache.counters().compiles == 0 && !llvm_loaded();
  };
  EXPECT_EXIT(exit_if(claim()), testing::ExitedWithCode(0), "");
}

TEST(KernelCacheDeathTest, SaysWhereItLookedForLlvm) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const ScopedVariable plugin("FRIT_LLVM_PLUGIN", "/nowhere/libfrit_llvm.so");
  const auto claim = [] {
    KernelCache cache(options_in(""));
    for (int round = 0; round < 2; ++round) {
      try {
        cache.get(add_constant(8));
        return false;
      } catch (const UnsupportedError& error) {
        const std::string text = error.what();
        if (text.find("/nowhere/libfrit_llvm.so: no such file") == std::string::npos) return false;
        if (text.find("FRIT_LLVM_PLUGIN") == std::string::npos) return false;
      }
    }
    unsetenv("FRIT_LLVM_PLUGIN");  // once it is there the next miss finds it
    return run_one(*cache.get(add_constant(8)), 1) == 9;
  };
  EXPECT_EXIT(exit_if(claim()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace frit::runtime
