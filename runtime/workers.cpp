#include "runtime/workers.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "support/error.h"

namespace frit::runtime {
namespace {

constexpr uint64_t kSpinTicks = 50'000;  // of the time stamp counter: about 20 microseconds
constexpr int kMaxThreads = 1024;

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void futex_wait(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void futex_wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

/// Returns when `word` differs from `seen`. Who changes the word looks at `sleepers` after the change and wakes them:
/// with both in one total order, either the sleeper sees the new word or the changer sees the sleeper.
void wait_for_change(std::atomic<uint32_t>& word, uint32_t seen, std::atomic<int>& sleepers) {
  const uint64_t start = __builtin_ia32_rdtsc();
  while (__builtin_ia32_rdtsc() - start < kSpinTicks) {
    if (word.load(std::memory_order_acquire) != seen) return;
    __builtin_ia32_pause();
  }
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  while (word.load(std::memory_order_seq_cst) == seen) futex_wait(word, seen);
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void change_and_wake(std::atomic<uint32_t>& word, std::atomic<int>& sleepers) {
  word.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) > 0) futex_wake_all(word);
}

/// Counts the forks above this process: a pool of another generation has no threads here.
std::atomic<uint32_t> fork_generation = 0;

void watch_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++fork_generation; });
  FRIT_CHECK(registered == 0, "pthread_atfork failed");
}

}  // namespace

int thread_count_from_environment() {
  if (const char* text = std::getenv("FRIT_THREADS"); text != nullptr && *text != '\0') {
    int count = 0;
    const char* end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, count);
    if (error == std::errc() && stop == end && count >= 1 && count <= kMaxThreads) return count;
    throw InputError(Finding{.where = "FRIT_THREADS",
                             .what = "not a number of threads",
                             .excerpt = {},
                             .got = fmt::format("\"{}\"", text),
                             .expected = fmt::format("1 to {}", kMaxThreads),
                             .fix = "give a whole number, or unset FRIT_THREADS",
                             .from = {}});
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

void Barrier::wait() {
  if (count_ == 1) return;
  const uint32_t seen = epoch_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) {
    arrived_.store(0, std::memory_order_relaxed);  // nobody arrives again before the epoch changes
    change_and_wake(epoch_, sleepers_);
    return;
  }
  wait_for_change(epoch_, seen, sleepers_);
}

struct Workers::Pool {
  explicit Pool(int count) : generation(fork_generation.load()) {
    threads.reserve(static_cast<size_t>(count));
    for (int worker = 1; worker < count; ++worker) {
      pthread_t thread = {};
      auto* start = new Start{this, worker};
      if (pthread_create(&thread, nullptr, &Pool::enter, start) != 0) {
        delete start;  // fewer threads compute the same
        break;
      }
      threads.push_back(thread);
    }
  }

  struct Start {
    Pool* pool;
    int worker;
  };

  static void* enter(void* argument) {
    const Start start = *static_cast<Start*>(argument);
    delete static_cast<Start*>(argument);
    start.pool->work(start.worker);
    return nullptr;
  }

  void work(int worker) {
    uint32_t seen = 0;
    while (true) {
      wait_for_change(region, seen, region_sleepers);
      seen = region.load(std::memory_order_acquire);
      if (is_stopping.load(std::memory_order_acquire)) return;
      if (worker < team_count) body(context, {worker, team_count, &barrier});
      // Every worker reports, in the team or not: the next region may not begin before all have read this one.
      if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1) change_and_wake(finished, finish_sleepers);
    }
  }

  void run(Body new_body, void* new_context, int limit) {
    body = new_body;
    context = new_context;
    team_count = std::min(limit, static_cast<int>(threads.size()) + 1);
    barrier.reset(team_count);
    pending.store(static_cast<int>(threads.size()), std::memory_order_relaxed);
    const uint32_t seen = finished.load(std::memory_order_relaxed);
    change_and_wake(region, region_sleepers);
    body(context, {0, team_count, &barrier});
    if (!threads.empty()) wait_for_change(finished, seen, finish_sleepers);
  }

  void stop() {
    is_stopping.store(true, std::memory_order_release);
    change_and_wake(region, region_sleepers);
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  }

  uint32_t generation;
  std::vector<pthread_t> threads;
  // What a region is; written before `region` changes, read after.
  Body body = nullptr;
  void* context = nullptr;
  int team_count = 1;
  std::atomic<bool> is_stopping = false;
  Barrier barrier;
  alignas(64) std::atomic<uint32_t> region = 0;
  std::atomic<int> region_sleepers = 0;
  alignas(64) std::atomic<int> pending = 0;
  alignas(64) std::atomic<uint32_t> finished = 0;
  std::atomic<int> finish_sleepers = 0;
};

Workers::Workers(int count) : count_(count > 0 ? std::min(count, kMaxThreads) : thread_count_from_environment()) {
  watch_forks();
}

Workers::~Workers() {
  if (pool_ == nullptr || pool_->generation != fork_generation.load()) return;  // a child does not have the threads
  pool_->stop();
  delete pool_;
}

Workers& Workers::shared() {
  static Workers* workers = new Workers;  // never joined: at exit a thread may not run any more
  return *workers;
}

Workers::Pool* Workers::ready_pool() {
  if (pool_ == nullptr || pool_->generation != fork_generation.load(std::memory_order_relaxed)) {
    pool_ = new Pool(count_);  // the pool before a fork belongs to the parent, its memory is left alone
  }
  return pool_;
}

void Workers::run(Body body, void* context, int limit) {
  const int wanted = limit > 0 ? std::min(limit, count_) : count_;
  if (wanted > 1 && !is_busy_.exchange(true, std::memory_order_acquire)) {
    ready_pool()->run(body, context, wanted);
    is_busy_.store(false, std::memory_order_release);
    return;
  }
  Barrier alone;
  body(context, {0, 1, &alone});
}

}  // namespace frit::runtime
