#include <random>
#include <thread>

#include "runtime/plan.h"
#include "runtime/plan_instance.h"
#include "runtime_fixture.h"
#include "support/error.h"

namespace frit::runtime {
namespace {

constexpr int64_t kCount = 1000;
constexpr int64_t kBytes = 4096;

// dims: tile size, count. y = x + 1, y = x * 2, z = x + y over tiles.
template <class F>
void each(const int64_t* dims, int64_t begin, int64_t end, F f) {
  for (int64_t i = begin * dims[0]; i < std::min(end * dims[0], dims[1]); ++i) f(i);
}
void add_one(void* const* b, const int64_t* dims, int64_t begin, int64_t end, void*) {
  const auto* x = static_cast<const float*>(b[0]);
  each(dims, begin, end, [&](int64_t i) { static_cast<float*>(b[1])[i] = x[i] + 1; });
}
void twice(void* const* b, const int64_t* dims, int64_t begin, int64_t end, void*) {
  const auto* x = static_cast<const float*>(b[0]);
  each(dims, begin, end, [&](int64_t i) { static_cast<float*>(b[1])[i] = x[i] * 2; });
}
// Reads the other end, so that a missing barrier shows.
void add_reversed(void* const* b, const int64_t* dims, int64_t begin, int64_t end, void* scratch) {
  const auto *x = static_cast<const float*>(b[0]), *y = static_cast<const float*>(b[1]);
  auto* kept = static_cast<float*>(scratch);
  each(dims, begin, end, [&](int64_t i) {
    kept[0] = y[dims[1] - 1 - i];
    static_cast<float*>(b[2])[i] = x[i] + kept[0];
  });
}

/// z[i] = w[i] + (x[n-1-i] + 1) * 2
Plan make_plan() {
  Plan plan;
  plan.kernels = {{"add_one", {}}, {"twice", {}}, {"add \"reversed\"\n", {1, 2}}};
  plan.storages = {{"x", StorageKind::Input, 0, kBytes},
                   {"w", StorageKind::Constant, 0, kBytes},
                   {"z", StorageKind::Output, 0, kBytes},
                   {"t", StorageKind::Arena, 0, kBytes},
                   {"u", StorageKind::Arena, 4096, kBytes}};
  plan.arena_bytes = 8192;
  const std::vector<int64_t> dims = {64, kCount};
  const int64_t tiles = 16;
  plan.launches = {
      {.name = "a",
       .kernel = 0,
       .arguments = {{0}, {3, 0, Access::Write}},
       .dims = dims,
       .tiles = tiles,
       .waits = false},
      {.name = "b",
       .kernel = 1,
       .arguments = {{3}, {4, 0, Access::Write}},
       .dims = dims,
       .tiles = tiles,
       .waits = false,
       .keeps_shares = true},
      {.name = "c",
       .kernel = 2,
       .arguments = {{1}, {4}, {2, 0, Access::Write}},
       .dims = dims,
       .tiles = tiles,
       .scratch_bytes = 4},
  };
  return plan;
}

std::unique_ptr<PlanInstance> make_instance(const Plan& plan, int workers) {
  BufferRef w = make_buffer(kBytes);
  for (int64_t i = 0; i < kCount; ++i) w->as<float>()[i] = static_cast<float>(i);
  return std::make_unique<PlanInstance>(
      std::make_shared<const Plan>(plan),
      std::vector<KernelRef>{make_native_kernel("add_one", add_one), make_native_kernel("twice", twice),
                             make_native_kernel("add_reversed", add_reversed)},
      std::vector<Constant>{Constant::of(w)}, workers);
}

void run_and_check(PlanInstance& instance, Workers& workers, float base) {
  std::vector<float> x(kBytes / 4), z(kBytes / 4);
  for (int64_t i = 0; i < kCount; ++i) x[static_cast<size_t>(i)] = base + static_cast<float>(i);
  const void* inputs[] = {x.data()};
  void* outputs[] = {z.data()};
  instance.bind(inputs, outputs);
  instance.run(workers);
  for (int64_t i = 0; i < kCount; ++i) {
    const float want = static_cast<float>(i) + (base + static_cast<float>(kCount - 1 - i) + 1) * 2;
    ASSERT_EQ(z[static_cast<size_t>(i)], want) << i;
  }
}

TEST(Plan, RunsTheSameForAnyNumberOfWorkers) {
  for (const int count : {1, 2, 3, 7}) {
    Workers workers(count);
    const auto instance = make_instance(make_plan(), count);
    for (int round = 0; round < 200; ++round) run_and_check(*instance, workers, static_cast<float>(round));
  }
}

TEST(Plan, TextReadsBack) {
  Plan plan = make_plan();
  plan.launches[0].is_serial = true;
  plan.launches[1].arguments[0] = {3, 64, Access::ReadWrite};
  plan.launches[1].dims = {-1, INT64_MAX, INT64_MIN};
  plan.storages[0].is_donated = true;
  const std::string text = print_plan(plan);
  EXPECT_EQ(parse_plan(text), plan) << text;
  for (size_t cut = 0; cut + 1 < text.size(); ++cut) {  // any prefix is refused or read, never more
    try {
      const Plan part = parse_plan(std::string_view(text).substr(0, cut));
      EXPECT_LE(part.launches.size(), plan.launches.size());
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("not a plan"), std::string::npos);
    }
  }
}

TEST(Plan, VerifierFindsWhatNumbersTell) {
  using Change = void (*)(Plan&);
  const struct {
    const char* what;
    Change change;
  } rows[] = {
      {"", [](Plan&) {}},
      {"box leaves the arena", [](Plan& p) { p.storages[4].at = 4160; }},
      {"box leaves the arena", [](Plan& p) { p.storages[4].at = INT64_MAX - 63; }},
      {"box leaves the arena", [](Plan& p) { p.storages[4].at = -64; }},
      {"box is not aligned", [](Plan& p) { p.storages[4].at = 4090; }},
      {"negative size", [](Plan& p) { p.storages[0].bytes = -1; }},
      {"size out of range", [](Plan& p) { p.arena_bytes = INT64_MAX; }},
      {"out of range or taken", [](Plan& p) { p.storages[0].at = 1; }},
      {"no such kernel", [](Plan& p) { p.launches[0].kernel = 3; }},
      {"no such kernel", [](Plan& p) { p.launches[0].kernel = -1; }},
      {"no such storage", [](Plan& p) { p.launches[0].arguments[0].storage = 5; }},
      {"an argument leaves", [](Plan& p) { p.launches[0].arguments[0].offset = kBytes + 1; }},
      {"a launch without tiles", [](Plan& p) { p.launches[0].tiles = 0; }},
      {"scratch out of range", [](Plan& p) { p.launches[0].scratch_bytes = -1; }},
      {"writes storage 1", [](Plan& p) { p.launches[2].arguments[0].access = Access::Write; }},
      {"writes storage 0", [](Plan& p) { p.launches[0].arguments[0].access = Access::ReadWrite; }},
      {"before it is written", [](Plan& p) { p.launches[0].arguments[1].access = Access::ReadWrite; }},
      {"before it is written", [](Plan& p) { p.launches.erase(p.launches.begin()); }},
      {"an output that no launch writes", [](Plan& p) { p.launches.pop_back(); }},
      {"while both are alive",
       [](Plan& p) {
         p.storages[4].at = 64;
         p.arena_bytes += 64;
       }},
      {"without a barrier", [](Plan& p) { p.launches[1].keeps_shares = false; }},
      {"without a barrier", [](Plan& p) { p.launches[2].waits = false; }},
      {"donated, but no input", [](Plan& p) { p.storages[1].is_donated = true; }},
  };
  for (const auto& row : rows) {
    Plan plan = make_plan();
    row.change(plan);
    std::string text;
    for (const Finding& finding : verify_plan(plan)) text += finding.what + "\n";
    if (*row.what == '\0')
      EXPECT_EQ(text, "");
    else
      EXPECT_NE(text.find(row.what), std::string::npos) << row.what << " in " << text;
  }
}

TEST(Plan, AnyTextIsRefusedOrVerified) {
  const std::string text = print_plan(make_plan());
  std::mt19937 random(11);
  int good = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bad = text;
    for (uint32_t edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t at = random() % bad.size();
      switch (random() % 4) {
        case 0:
          bad[at] = static_cast<char>(random());
          break;
        case 1:
          bad[at] = static_cast<char>('0' + random() % 10);
          break;
        case 2:
          bad.erase(at, 1 + random() % 8);
          break;
        default:
          bad.insert(at, "9");
          break;
      }
    }
    try {
      const Plan plan = parse_plan(bad);
      EXPECT_EQ(parse_plan(print_plan(plan)), plan);
      good += verify_plan(plan).empty() ? 1 : 0;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("not a plan"), std::string::npos);
    }
  }
  EXPECT_GT(good, 100);  // names and dims may be anything
}

TEST(Plan, LongPlansVerifyQuickly) {
  Plan plan;
  plan.kernels = {{"k", {}}};
  plan.storages = {{"x", StorageKind::Input, 0, 64}, {"y", StorageKind::Output, 0, 64}};
  constexpr int kLaunches = 50'000;
  for (int i = 0; i < kLaunches; ++i) {
    const int last = i == 0 ? 0 : i + 1;
    plan.storages.push_back({"t", StorageKind::Arena, i % 2 * 64, 64});
    plan.launches.push_back({.name = "l",
                             .kernel = 0,
                             .arguments = {{last}, {i + 2, 0, Access::Write}},
                             .dims = {},
                             .is_serial = i % 3 != 0,
                             .waits = i % 3 != 2});
  }
  plan.launches.back().arguments[1].storage = 1;
  plan.arena_bytes = 128;
  EXPECT_TRUE(verify_plan(plan).empty());
  EXPECT_EQ(parse_plan(print_plan(plan)), plan);
}

TEST(Plan, IsStoredAndVerifiedWhenRead) {
  const TemporaryFolder folder;
  DiskCache disk({folder.path(), uint64_t{1} << 20});
  const Plan plan = make_plan();
  const Digest key = digest_of("plan"), other = digest_of("other");
  EXPECT_FALSE(load_plan(disk, key));
  EXPECT_TRUE(store_plan(disk, key, plan));
  EXPECT_EQ(load_plan(disk, key), plan);
  Plan hostile = plan;
  hostile.storages[4].at = int64_t{1} << 40;
  store_plan(disk, other, hostile);
  EXPECT_FALSE(load_plan(disk, other));
  disk.put("plan", other, "plan 2\n");
  EXPECT_FALSE(load_plan(disk, other));
}

TEST(Plan, BindRefusesWhatItCannotRun) {
  const auto instance = make_instance(make_plan(), 1);
  std::vector<float> x(kBytes / 4), z(kBytes / 4);
  const void* inputs[] = {x.data()};
  void* outputs[] = {z.data()};
  EXPECT_THROW(instance->run(), InternalError);
  EXPECT_THROW(instance->bind({}, outputs), InputError);
  const void* no_input[] = {nullptr};
  EXPECT_THROW(instance->bind(no_input, outputs), InputError);
  void* same[] = {x.data() + 1};
  EXPECT_THROW(instance->bind(inputs, same), InputError);
  instance->bind(inputs, outputs);
}

TEST(Plan, ManyCallersAtOnce) {
  InstancePool pool(make_instance(make_plan(), 2), 2);
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 100; ++round) {
        const auto lease = pool.take();
        run_and_check(*lease, Workers::shared(), static_cast<float>(caller * 1000 + round));
      }
    });
  }
}

TEST(Plan, ProfilesEachLaunch) {
  Workers workers(2);
  const auto instance = make_instance(make_plan(), 2);
  instance->set_profiling(true);
  for (int round = 0; round < 3; ++round) run_and_check(*instance, workers, 0);
  EXPECT_EQ(instance->profiled_runs(), 3);
  for (const uint64_t ns : instance->launch_ns()) EXPECT_GT(ns, 0);
}

}  // namespace
}  // namespace frit::runtime
