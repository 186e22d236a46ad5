#include "compiler/plan/arena.h"

#include <algorithm>
#include <numeric>

namespace frit {
namespace {

constexpr int64_t kAlignment = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

struct Taken {
  int64_t begin, end;
};

// The start of the smallest gap between taken ranges that holds `bytes`, else the end of all.
int64_t best_gap(std::vector<Taken>& taken, int64_t bytes) {
  std::sort(taken.begin(), taken.end(), [](const Taken& a, const Taken& b) { return a.begin < b.begin; });
  int64_t end = 0, best = -1, best_size = 0;
  for (const Taken& range : taken) {
    const int64_t gap = range.begin - end;
    if (gap >= bytes && (best < 0 || gap < best_size)) best = end, best_size = gap;
    end = std::max(end, range.end);
  }
  return best >= 0 ? best : end;
}

}  // namespace

ArenaPlan plan_arena(const std::vector<Life>& lives) {
  std::vector<size_t> order(lives.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lives[a].bytes > lives[b].bytes; });
  ArenaPlan plan;
  plan.offsets.assign(lives.size(), 0);
  std::vector<size_t> placed;
  std::vector<Taken> taken;
  for (const size_t i : order) {
    const Life& life = lives[i];
    if (life.bytes == 0 || life.last < life.first) continue;
    taken.clear();
    for (const size_t other : placed) {
      if (lives[other].first <= life.last && life.first <= lives[other].last)
        taken.push_back({plan.offsets[other], plan.offsets[other] + aligned(lives[other].bytes)});
    }
    plan.offsets[i] = best_gap(taken, aligned(life.bytes));
    plan.bytes = std::max(plan.bytes, plan.offsets[i] + aligned(life.bytes));
    placed.push_back(i);
  }
  return plan;
}

}  // namespace frit
