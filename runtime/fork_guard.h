#pragma once
#include <mutex>
#include <set>

namespace frit::runtime {

/// Holds registered mutexes across fork, so that the child copies no structure half written and no lock that nobody
/// will release. In the child each member forgets what belonged to threads that do not exist there.
class ForkGuard {
 public:
  struct Member {
    void* state = nullptr;  // identifies the member
    std::mutex* mutex = nullptr;
    void (*forget)(void* state) = nullptr;  // may be null
    bool operator<(const Member& other) const { return state < other.state; }
  };

  static ForkGuard& instance();
  void add(const Member& member);
  void remove(void* state);

 private:
  ForkGuard();
  void lock();
  void unlock(bool is_child);

  std::mutex mutex_;
  std::set<Member> members_;
};

}  // namespace frit::runtime
