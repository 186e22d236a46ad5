#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/plan.h"

namespace frit::runtime {
namespace {

constexpr int64_t kMaxArenaBytes = int64_t{1} << 46;
constexpr int64_t kMaxScratchBytes = int64_t{1} << 32;
constexpr int64_t kArenaAlignment = 64;

class PlanVerifier {
 public:
  explicit PlanVerifier(const Plan& plan) : plan_(plan) {}

  std::vector<Finding> run() {
    check_storages();
    check_launches();
    if (!findings_.empty()) return std::move(findings_);  // what follows takes indices and sizes for granted
    find_lives();
    check_lives();
    check_order();
    return std::move(findings_);
  }

 private:
  struct Life {
    int first_write = -1, first_use = -1, last_use = -1;
  };

  void report(std::string where, std::string what, std::string got, std::string expected) {
    findings_.push_back(Finding{.where = std::move(where),
                                .what = std::move(what),
                                .excerpt = {},
                                .got = std::move(got),
                                .expected = std::move(expected),
                                .fix = {},
                                .from = {}});
  }
  std::string label(int storage) const {
    return fmt::format("storage {} \"{}\"", storage, plan_.storages[static_cast<size_t>(storage)].name);
  }
  std::string launch_label(int launch) const {
    return fmt::format("launch {} \"{}\"", launch, plan_.launches[static_cast<size_t>(launch)].name);
  }
  const Storage& storage_of(const Argument& argument) const {
    return plan_.storages[static_cast<size_t>(argument.storage)];
  }

  void check_storages() {
    if (plan_.arena_bytes < 0 || plan_.arena_bytes > kMaxArenaBytes) {
      report("arena", "size out of range", fmt::format("{}", plan_.arena_bytes),
             fmt::format("0 to {}", kMaxArenaBytes));
    }
    std::set<std::pair<StorageKind, int64_t>> seen;
    int counts[4] = {};
    for (const Storage& storage : plan_.storages) ++counts[static_cast<int>(storage.kind)];
    for (int i = 0; i < static_cast<int>(plan_.storages.size()); ++i) {
      const Storage& storage = plan_.storages[static_cast<size_t>(i)];
      if (storage.bytes < 0) report(label(i), "negative size", fmt::format("{}", storage.bytes), "0 or more");
      if (storage.is_donated && storage.kind != StorageKind::Input) {
        report(label(i), "donated, but no input", "donated", "an input");
      }
      if (storage.kind == StorageKind::Arena) {
        check_box(i, storage);
      } else if (storage.at < 0 || storage.at >= counts[static_cast<int>(storage.kind)] ||
                 !seen.emplace(storage.kind, storage.at).second) {
        report(label(i), "index among its kind is out of range or taken", fmt::format("{}", storage.at),
               fmt::format("each of 0 to {} once", counts[static_cast<int>(storage.kind)] - 1));
      }
    }
  }

  void check_box(int index, const Storage& storage) {
    const bool fits = storage.at >= 0 && storage.bytes >= 0 && storage.bytes <= plan_.arena_bytes &&
                      storage.at <= plan_.arena_bytes - storage.bytes;
    if (!fits) {
      report(label(index), "box leaves the arena", fmt::format("{} bytes at {}", storage.bytes, storage.at),
             fmt::format("inside {} bytes", plan_.arena_bytes));
    }
    if (storage.at % kArenaAlignment != 0) {
      report(label(index), "box is not aligned", fmt::format("{}", storage.at),
             fmt::format("a multiple of {}", kArenaAlignment));
    }
  }

  void check_launches() {
    for (int i = 0; i < static_cast<int>(plan_.launches.size()); ++i) {
      const Launch& launch = plan_.launches[static_cast<size_t>(i)];
      const auto bad = [&](const char* what, int64_t got, std::string expected) {
        report(launch_label(i), what, fmt::format("{}", got), std::move(expected));
      };
      if (launch.kernel < 0 || launch.kernel >= static_cast<int64_t>(plan_.kernels.size())) {
        bad("no such kernel", launch.kernel, fmt::format("0 to {}", static_cast<int64_t>(plan_.kernels.size()) - 1));
      }
      if (launch.tiles < 1) bad("a launch without tiles", launch.tiles, "1 or more; an empty tensor has no launch");
      if (launch.scratch_bytes < 0 || launch.scratch_bytes > kMaxScratchBytes) {
        bad("scratch out of range", launch.scratch_bytes, fmt::format("0 to {}", kMaxScratchBytes));
      }
      for (const Argument& argument : launch.arguments) check_argument(i, argument);
    }
  }

  void check_argument(int launch, const Argument& argument) {
    if (argument.storage < 0 || argument.storage >= static_cast<int64_t>(plan_.storages.size())) {
      report(launch_label(launch), "no such storage", fmt::format("{}", argument.storage),
             fmt::format("0 to {}", static_cast<int64_t>(plan_.storages.size()) - 1));
      return;
    }
    const Storage& storage = storage_of(argument);
    if (argument.offset < 0 || argument.offset > storage.bytes) {
      report(launch_label(launch), fmt::format("an argument leaves {}", label(argument.storage)),
             fmt::format("offset {}", argument.offset), fmt::format("0 to {}", storage.bytes));
    }
    const bool is_fixed =
        storage.kind == StorageKind::Constant || (storage.kind == StorageKind::Input && !storage.is_donated);
    if (writes(argument.access) && is_fixed) {
      report(launch_label(launch), fmt::format("writes {}", label(argument.storage)),
             "a constant, or an input not donated", "an arena box, an output or a donated input");
    }
  }

  void find_lives() {
    lives_.resize(plan_.storages.size());
    for (int i = 0; i < static_cast<int>(plan_.launches.size()); ++i) {
      for (const Argument& argument : plan_.launches[static_cast<size_t>(i)].arguments) {
        Life& life = lives_[static_cast<size_t>(argument.storage)];
        if (life.first_use < 0) life.first_use = i;
        life.last_use = i;
        const Storage& storage = storage_of(argument);
        const bool is_given = storage.kind == StorageKind::Constant || storage.kind == StorageKind::Input;
        const bool is_read = reads(argument.access) && !is_given && storage.bytes > 0;
        if (is_read && (life.first_write < 0 || life.first_write == i)) {
          report(launch_label(i), fmt::format("reads {} before it is written", label(argument.storage)),
                 "no earlier write", "a launch before this one that writes it");
        }
        if (writes(argument.access) && life.first_write < 0) life.first_write = i;
      }
    }
    for (int s = 0; s < static_cast<int>(plan_.storages.size()); ++s) {
      const Storage& storage = plan_.storages[static_cast<size_t>(s)];
      if (storage.kind == StorageKind::Output && storage.bytes > 0 && lives_[static_cast<size_t>(s)].first_write < 0) {
        report(label(s), "an output that no launch writes", "no write", "a launch that writes it");
      }
    }
  }

  bool overlap(const Storage& a, const Storage& b) const {
    return a.kind == StorageKind::Arena && b.kind == StorageKind::Arena && a.at < b.at + b.bytes &&
           b.at < a.at + a.bytes;
  }

  /// Walks the launches with the boxes that are alive, by offset: a new box may touch neither neighbour.
  void check_lives() {
    const size_t launches = plan_.launches.size();
    std::vector<std::vector<int>> born(launches), dead(launches);
    for (int s = 0; s < static_cast<int>(plan_.storages.size()); ++s) {
      const Storage& storage = plan_.storages[static_cast<size_t>(s)];
      const Life& life = lives_[static_cast<size_t>(s)];
      if (storage.kind != StorageKind::Arena || storage.bytes == 0 || life.first_use < 0) continue;
      born[static_cast<size_t>(life.first_use)].push_back(s);
      dead[static_cast<size_t>(life.last_use)].push_back(s);
    }
    std::set<std::pair<int64_t, int>> alive;  // offset, storage
    for (size_t launch = 0; launch < launches; ++launch) {
      for (const int s : born[launch]) {
        const auto here = alive.emplace(plan_.storages[static_cast<size_t>(s)].at, s).first;
        if (here != alive.begin()) check_neighbours(std::prev(here)->second, s);
        if (std::next(here) != alive.end()) check_neighbours(s, std::next(here)->second);
      }
      for (const int s : dead[launch]) alive.erase({plan_.storages[static_cast<size_t>(s)].at, s});
    }
  }

  void check_neighbours(int a, int b) {
    if (!overlap(plan_.storages[static_cast<size_t>(a)], plan_.storages[static_cast<size_t>(b)])) return;
    const Life &one = lives_[static_cast<size_t>(a)], &two = lives_[static_cast<size_t>(b)];
    report(label(a), fmt::format("shares bytes with {} while both are alive", label(b)),
           fmt::format("launches {} to {} and {} to {}", one.first_use, one.last_use, two.first_use, two.last_use),
           "disjoint boxes or disjoint lives");
  }

  /// Launches since the last barrier may run at once: no two of them may touch the same bytes when one writes.
  void check_order() {
    std::vector<int> parallel, serial;  // since the last barrier
    for (int j = 0; j < static_cast<int>(plan_.launches.size()); ++j) {
      const Launch& launch = plan_.launches[static_cast<size_t>(j)];
      if (launch.waits) {
        parallel.clear();
        serial.clear();
      }
      if (!launch.keeps_shares) {
        for (const int i : parallel) check_pair(i, j);
        // Worker 0 runs serial launches in order.
        for (const int i : serial) {
          if (!launch.is_serial) check_pair(i, j);
        }
      }
      (launch.is_serial ? serial : parallel).push_back(j);
    }
  }

  void check_pair(int i, int j) {
    for (const Argument& a : plan_.launches[static_cast<size_t>(i)].arguments) {
      for (const Argument& b : plan_.launches[static_cast<size_t>(j)].arguments) {
        if (!writes(a.access) && !writes(b.access)) continue;
        if (a.storage != b.storage && !overlap(storage_of(a), storage_of(b))) continue;
        report(launch_label(j),
               fmt::format("depends on {} by {}, without a barrier between", launch_label(i), label(b.storage)),
               "no barrier", "waits, or shares that are proved to be the same");
        return;
      }
    }
  }

  const Plan& plan_;
  std::vector<Life> lives_;
  std::vector<Finding> findings_;
};

}  // namespace

int Plan::count_of(StorageKind kind) const {
  return static_cast<int>(
      std::count_if(storages.begin(), storages.end(), [&](const Storage& storage) { return storage.kind == kind; }));
}

std::vector<Finding> verify_plan(const Plan& plan) { return PlanVerifier(plan).run(); }

}  // namespace frit::runtime
