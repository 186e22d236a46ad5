#include <atomic>
#include <future>
#include <list>
#include <mutex>
#include <unordered_map>

#include "compiler/plan/program.h"

namespace frit {
namespace {

constexpr size_t kRemembered = 256;

// Programs by the structure of their graph. A further caller for a graph in work waits for it; an error is thrown to
// all who wait and not remembered.
class Memory {
 public:
  using ProgramRef = std::shared_ptr<const Program>;

  ProgramRef get(const Graph& graph) {
    const Digest key = structure_of(graph);
    std::promise<ProgramRef> promise;
    std::shared_future<ProgramRef> known;
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = entries_.find(key); found != entries_.end()) {
        order_.splice(order_.begin(), order_, found->second.position);
        known = found->second.program;
      } else {
        order_.push_front(key);
        entries_[key] = {promise.get_future().share(), order_.begin()};
        trim();
      }
    }
    if (known.valid()) {
      hits.fetch_add(1, std::memory_order_relaxed);
      return known.get();
    }
    try {
      ProgramRef program = Program::compile(graph);
      promise.set_value(program);
      return program;
    } catch (...) {
      forget(key);
      promise.set_exception(std::current_exception());
      throw;
    }
  }

  std::atomic<uint64_t> hits = 0;

 private:
  struct Entry {
    std::shared_future<ProgramRef> program;
    std::list<Digest>::iterator position;
  };

  void trim() {
    while (order_.size() > kRemembered) {
      entries_.erase(order_.back());
      order_.pop_back();
    }
  }
  void forget(const Digest& key) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    order_.erase(found->second.position);
    entries_.erase(found);
  }

  std::mutex mutex_;
  std::list<Digest> order_;  // most recent first
  std::unordered_map<Digest, Entry> entries_;
};

Memory& shared_memory() {
  static Memory memory;
  return memory;
}

}  // namespace

std::shared_ptr<const Program> compile_remembered(const Graph& graph) { return shared_memory().get(graph); }
uint64_t remembered_programs() { return shared_memory().hits.load(std::memory_order_relaxed); }

}  // namespace frit
