#include "runtime/fork_guard.h"

#include <pthread.h>

namespace frit::runtime {

ForkGuard& ForkGuard::instance() {
  static ForkGuard* guard = new ForkGuard;  // never destroyed: members may outlive static objects
  return *guard;
}

ForkGuard::ForkGuard() {
  pthread_atfork([] { instance().lock(); }, [] { instance().unlock(false); }, [] { instance().unlock(true); });
}

void ForkGuard::add(const Member& member) {
  const std::scoped_lock lock(mutex_);
  members_.insert(member);
}

void ForkGuard::remove(void* state) {
  const std::scoped_lock lock(mutex_);
  members_.erase(Member{.state = state});
}

void ForkGuard::lock() {
  mutex_.lock();
  for (const Member& member : members_) member.mutex->lock();
}

void ForkGuard::unlock(bool is_child) {
  for (const Member& member : members_) {
    if (is_child && member.forget != nullptr) member.forget(member.state);
    member.mutex->unlock();
  }
  mutex_.unlock();
}

}  // namespace frit::runtime
