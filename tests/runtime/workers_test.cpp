#include "runtime/workers.h"

#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <new>
#include <numeric>
#include <thread>

#include "runtime/plan_instance.h"
#include "runtime_fixture.h"
#include "support/error.h"

#if defined(__SANITIZE_THREAD__)
constexpr bool kForkStartsThreads = false;  // ThreadSanitizer ends a child that starts threads
#else
constexpr bool kForkStartsThreads = true;
#endif

namespace {
std::atomic<uint64_t> allocation_count = 0;
}

// Sanitizers own the allocator; elsewhere every allocation of this program is counted.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocation_count;
  if (void* block = std::malloc(size)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, size_t) noexcept { std::free(block); }
#endif

namespace frit::runtime {
namespace {

TEST(Workers, SharesCoverTilesOnce) {
  for (const int64_t tiles : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{1000}, INT64_MAX}) {
    for (const int count : {1, 2, 3, 7, 64}) {
      int64_t next = 0;
      for (int worker = 0; worker < count; ++worker) {
        int64_t begin = 0, end = 0;
        Workers::Team{worker, count, nullptr}.share(tiles, begin, end);
        EXPECT_EQ(begin, next);
        EXPECT_GE(end, begin);
        next = end;
      }
      EXPECT_EQ(next, tiles);
    }
  }
}

struct Sum {
  std::vector<int64_t> parts = std::vector<int64_t>(64);
  std::atomic<int> teams = 0;
  int64_t total = 0;
};

/// Each adds its share, all meet, worker 0 sums, all meet and check.
void sum_body(void* context, const Workers::Team& team) {
  auto& sum = *static_cast<Sum*>(context);
  int64_t begin = 0, end = 0;
  team.share(1000, begin, end);
  int64_t part = 0;
  for (int64_t i = begin; i < end; ++i) part += i;
  sum.parts[static_cast<size_t>(team.worker)] = part;
  team.barrier->wait();
  if (team.worker == 0) sum.total = std::accumulate(sum.parts.begin(), sum.parts.begin() + team.count, int64_t{0});
  team.barrier->wait();
  if (sum.total == 499500) ++sum.teams;
}

TEST(Workers, BarriersAndRegions) {
  for (const int count : {1, 2, 3, 5, 16}) {
    Workers workers(count);
    for (int round = 0; round < 300; ++round) {
      for (const int limit : {0, 1, 2, 100}) {
        Sum sum;
        workers.run(sum_body, &sum, limit);
        ASSERT_EQ(sum.total, 499500);
        ASSERT_EQ(sum.teams, limit == 0 ? count : std::min(limit, count));
      }
      // Long enough to fall asleep now and then.
      if (round % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

TEST(Workers, CallersDoNotWaitForEachOther) {
  Workers workers(3);
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        Sum sum;
        workers.run(sum_body, &sum);
        ASSERT_EQ(sum.total, 499500);
      }
    });
  }
  callers.clear();
  // A region inside a region runs alone.
  const auto outer = [](void* context, const Workers::Team&) {
    Sum inner;
    static_cast<Workers*>(context)->run(sum_body, &inner);
    EXPECT_EQ(inner.total, 499500);
  };
  workers.run(outer, &workers);
}

TEST(Workers, CountComesFromTheEnvironment) {
  const auto count_of = [](const char* text) {
    const ScopedVariable threads("FRIT_THREADS", text);
    return thread_count_from_environment();
  };
  EXPECT_EQ(count_of("3"), 3);
  EXPECT_GE(count_of(nullptr), 1);
  EXPECT_GE(count_of(""), 1);
  for (const char* text : {"0", "-1", "two", "1025", "2 ", "99999999999"}) {
    EXPECT_THROW(count_of(text), InputError) << text;
  }
}

/// Ends the test if the child does not end well within 5 seconds.
void expect_child_succeeds(pid_t child) {
  ASSERT_GT(child, 0);
  int status = -1;
  for (int tries = 0; tries < 500; ++tries) {
    if (waitpid(child, &status, WNOHANG) == child) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  ADD_FAILURE() << "the child hangs";
}

TEST(Workers, RunInAChildOfFork) {  // B162
  if (!kForkStartsThreads) GTEST_SKIP() << "not under ThreadSanitizer";
  const TemporaryFolder folder;
  KernelCache cache(options_in(folder.path()));
  Workers workers(4);
  Sum before;
  workers.run(sum_body, &before);
  EXPECT_EQ(run_one(*cache.get(add_constant(1)), 1), 2);
  std::atomic<bool> stop = false;
  std::jthread compiling([&] {  // forks meet a cache in use
    for (int n = 0; !stop; ++n) cache.get_by_key(digest_of(fmt::format("{}", n)), "");
  });
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      Sum sum;
      workers.run(sum_body, &sum);
      Sum again;
      workers.run(sum_body, &again);
      const bool is_right = sum.total == 499500 && again.teams == 4 && run_one(*cache.get(add_constant(1)), 1) == 2 &&
                            run_one(*cache.get(add_constant(round + 2)), 1) == static_cast<float>(round + 3) &&
                            Buffer(1 << 20).data() != nullptr;
      _exit(is_right ? 0 : 1);
    }
    expect_child_succeeds(child);
  }
  stop = true;
  Sum after;
  workers.run(sum_body, &after);
  EXPECT_EQ(after.teams, 4);
}

/// t = x + 1 compiled, y = t + 2 compiled, over many tiles of one element.
std::unique_ptr<PlanInstance> two_step_plan(KernelCache& cache, int64_t count, int workers) {
  Plan plan;
  const std::vector<KernelRef> kernels = {cache.get(add_constant(1)), cache.get(add_constant(2))};
  for (const KernelRef& kernel : kernels) plan.kernels.push_back({kernel->name(), kernel->key()});
  plan.storages = {{"x", StorageKind::Input, 0, count * 4},
                   {"t", StorageKind::Arena, 0, count * 4},
                   {"y", StorageKind::Output, 0, count * 4}};
  plan.arena_bytes = count * 4;
  plan.launches = {{.name = "a", .kernel = 0, .arguments = {{0}, {1, 0, Access::Write}}, .dims = {}, .tiles = count},
                   {.name = "b", .kernel = 1, .arguments = {{1}, {2, 0, Access::Write}}, .dims = {}, .tiles = count}};
  return std::make_unique<PlanInstance>(std::make_shared<const Plan>(plan), kernels, std::vector<Constant>{}, workers);
}

TEST(Replay, AllocatesNothing) {
  const TemporaryFolder folder;
  KernelCache cache(options_in(folder.path()));
  Workers workers(3);
  const auto instance = two_step_plan(cache, 1000, 3);
  std::vector<float> x(1000, 1.0f), y(1000);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data()};
  instance->bind(inputs, outputs);
  instance->run(workers);  // starts the threads
  const uint64_t before = allocation_count;
  for (int round = 0; round < 1000; ++round) {
    x[0] = static_cast<float>(round);
    instance->bind(inputs, outputs);
    instance->run(workers);
    ASSERT_EQ(y[0], x[0] + 3);
  }
  EXPECT_EQ(allocation_count - before, 0);
  EXPECT_EQ(y[999], 4);
}

TEST(Replay, ResultsOutliveTheirInputs) {  // B163
  const TemporaryFolder folder;
  KernelCache cache(options_in(folder.path()));
  const auto instance = two_step_plan(cache, 20'000, 0);
  for (int round = 0; round < 300; ++round) {
    auto x = std::make_unique<Buffer>(80'000);
    Buffer y(80'000);
    std::fill_n(x->as<float>(), 20'000, static_cast<float>(round));
    const void* inputs[] = {x->data()};
    void* outputs[] = {y.data()};
    instance->bind(inputs, outputs);
    instance->run();
    x.reset();
    Buffer another(80'000);  // likely the same block
    std::fill_n(another.as<float>(), 20'000, -1.0f);
    for (int i = 0; i < 20'000; i += 1999) ASSERT_EQ(y.as<float>()[i], static_cast<float>(round + 3));
  }
}

TEST(Replay, FloatStateOfTheCallerDoesNotMatter) {  // B112
  const TemporaryFolder folder;
  KernelCache cache(options_in(folder.path()));
  const auto instance = two_step_plan(cache, 1, 1);
  const unsigned saved = __builtin_ia32_stmxcsr();
  float x = 16777216.0f, y = 0;  // x + 1 rounds to even, upwards it would not
  const void* inputs[] = {&x};
  void* outputs[] = {&y};
  instance->bind(inputs, outputs);
  __builtin_ia32_ldmxcsr(saved | 0xc040);  // round up is 0x4000; toward zero and flush as well
  instance->run();
  const unsigned after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(saved);
  EXPECT_EQ(after & 0xffc0, (saved | 0xc040) & 0xffc0) << "the caller's state is given back";
  EXPECT_EQ(y, 16777218.0f);
}

}  // namespace
}  // namespace frit::runtime
