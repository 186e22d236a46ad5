#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

namespace frit::runtime {

/// Threads for a plan: FRIT_THREADS, else the processors that this process may use.
/// errors  InputError: FRIT_THREADS is no number from 1 to 1024
int thread_count_from_environment();

/// Where all workers of a region meet: they spin for some microseconds, then sleep.
class Barrier {
 public:
  void reset(int count) { count_ = count; }
  void wait();

 private:
  int count_ = 1;
  std::atomic<int> arrived_ = 0;
  std::atomic<uint32_t> epoch_ = 0;
  std::atomic<int> sleepers_ = 0;
};

/// A fixed team of threads. A region is one function that all run at once, the caller being worker 0; workers then spin
/// briefly for the next region before they sleep. Starting one allocates nothing and takes no lock.
///
/// Any thread may call `run`. While the team is busy a further caller runs its region alone, as a team of one: nobody
/// waits for a stranger's region, and a region inside a region cannot block. After fork the child starts its own
/// threads at the first region.
class Workers {
 public:
  /// count  0: thread_count_from_environment(). Threads start at the first region that needs them.
  explicit Workers(int count = 0);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  static Workers& shared();

  int count() const { return count_; }

  struct Team {
    int worker, count;
    Barrier* barrier;

    /// This worker's fixed share of `tiles` whole tiles: [begin, end).
    void share(int64_t tiles, int64_t& begin, int64_t& end) const {
      begin = part(tiles, worker);
      end = part(tiles, worker + 1);
    }

   private:
    int64_t part(int64_t tiles, int64_t index) const {
      return tiles / count * index + tiles % count * index / count;  // does not overflow for any number of tiles
    }
  };
  using Body = void (*)(void* context, const Team& team);

  /// Runs the body on `limit` workers at most (0: all) and returns when all have ended. The body must not throw.
  void run(Body body, void* context, int limit = 0);

 private:
  struct Pool;
  Pool* ready_pool();

  int count_;
  std::atomic<bool> is_busy_ = false;
  Pool* pool_ = nullptr;  // touched by the holder of is_busy_ alone
};

}  // namespace frit::runtime
