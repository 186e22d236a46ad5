#include "codegen/kernel/provenance.h"

namespace frit::kernel {
namespace {

constexpr int kUnseen = -3;

// Facts only go from unseen to one source to unknown, so the walk is repeated until nothing changes: a carried pointer
// first has the source of its initial value, and a later walk sees what the loop yields for it.
class Sources {
 public:
  explicit Sources(const Kernel& k) : k_(k), source_(k.values.size(), kUnseen) {
    for (const Instruction& i : k.instructions) {
      if (i.code == Code::Buffer) source_[i.first_result] = static_cast<int>(i.bits);
      if (i.code == Code::Scratch) source_[i.first_result] = kFromScratch;
    }
  }

  std::vector<int> run() {
    do {
      changed_ = false;
      region(k_.body());
    } while (changed_);
    for (int& source : source_)
      if (source == kUnseen) source = kFromUnknown;
    return std::move(source_);
  }

 private:
  void join(Value to, Value from) {
    if (!k_.type(to).is_pointer) return;
    int& old = source_[to.id];
    const int add = source_[from.id];
    const int now = old == kUnseen ? add : add == kUnseen || add == old ? old : kFromUnknown;
    changed_ = changed_ || now != old;
    old = now;
  }

  void join_yield(const Instruction& i, uint32_t region_id, bool into_arguments) {
    const Region& r = k_.regions[region_id];
    const auto yields = k_.operands(k_.instructions[r.instructions.back()]);
    for (uint32_t n = 0; n < yields.size(); ++n) {
      join({i.first_result + n}, yields[n]);
      if (into_arguments) join(r.arguments[n + 1], yields[n]);
    }
  }

  void region(const Region& r) {
    for (const uint32_t index : r.instructions) {
      const Instruction& i = k_.instructions[index];
      const auto v = k_.operands(i);
      if (i.code == Code::PtrAdd) join({i.first_result}, v[0]);
      if (i.code == Code::Arith && i.op == Op::Select) {
        join({i.first_result}, v[1]);
        join({i.first_result}, v[2]);
      }
      if (i.code == Code::Loop) {
        const Region& body = k_.regions[i.regions[0]];
        for (uint32_t n = 3; n < v.size(); ++n) {
          join(body.arguments[n - 2], v[n]);
          join({i.first_result + n - 3}, v[n]);
        }
        region(body);
        join_yield(i, i.regions[0], true);
      }
      if (i.code == Code::If) {
        for (const uint32_t branch : i.regions) {
          region(k_.regions[branch]);
          join_yield(i, branch, false);
        }
      }
    }
  }

  const Kernel& k_;
  std::vector<int> source_;
  bool changed_ = false;
};

}  // namespace

std::vector<int> pointer_sources(const Kernel& kernel) { return Sources(kernel).run(); }

}  // namespace frit::kernel
