#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "ir/analysis.h"
#include "ir/graph.h"

namespace frit {

/// Where the indices of a compute stand: axis a at offset[a] + period[a] * index.
struct Lattice {
  std::vector<int64_t> offset, period;
};

constexpr int64_t kMaxPhases = 64;  // parts of one compute
constexpr size_t kMaxTaps = 16;     // residues of reduced axes that one part steps through

/// One compute whose conditions ask for remainders, taken apart by the residues of its axes.
///
/// A test `(a*i + b*k + c) % s == ..` has the same answer at i + s/gcd(a, s) and at k + s/gcd(b, s): these are the
/// periods. A *phase* fixes the residue of every free axis, a *tap class* that of every reduced axis; both together
/// decide each test. Tap classes whose step changes no state are left out of the phase.
class PhaseSplit {
 public:
  explicit PhaseSplit(const Compute& compute);

  /// Whether the compute has tests that phases decide, with at most kMaxPhases parts.
  bool plan();

  /// Offsets and periods of the free axes, one for each phase that has an element. Reduced axes are at 0 and 1.
  const std::vector<Lattice>& phases() const { return phases_; }

  /// A sum drops a tap class of a phase where a factor is the zero of a guard. Zero times an infinity is NaN, and
  /// that must stay: the sum of the dropped products, over `axes` of the compute, is added to the sum. It depends on
  /// the tap classes alone.
  ///   classes  z[class.., axes..] = sum of the products of one tap class
  ///   others   w[class.., axes..] = sum of z over all other classes; one class more per axis stands for "none"
  struct Zeros {
    Compute classes, others;
    std::vector<int> axes;
  };
  bool has_zeros() const { return static_cast<bool>(zero_); }
  /// The first is over the inputs of the compute, the second over the first alone.
  Zeros zeros() const;

  /// The compute of a phase, over the inputs of the compute; `zeros_slot` is the input that holds Zeros::others.
  Compute part(const Lattice& phase, int zeros_slot) const;

 private:
  struct Test {
    Affine sum;
    int64_t modulus;
    Expr remainder;  // the expression in the compute
  };
  enum class Fate : uint8_t { Live, Dead, Zero };  // of a tap class: has an effect, has none, adds zeros
  struct Taps {
    std::vector<std::vector<int64_t>> live;  // offsets of the reduced axes
    bool adds_zeros = false;
  };

  void collect_tests();
  void collect_tests_below(const Expr& condition);
  void find_periods();
  std::vector<std::vector<int64_t>> residues(size_t first, size_t last) const;
  bool decide_taps();
  Fate fate(const std::vector<int64_t>& offsets);
  Taps taps_of(const Lattice& phase, bool with_zeros);
  bool unrolls(const Taps& taps) const;
  int64_t extent(size_t axis) const;
  size_t free() const { return static_cast<size_t>(compute_.free); }
  Reduction reduction(const std::vector<Lattice>& taps, const std::vector<Axis>& axes) const;

  const Compute& compute_;
  bool built_in_ = false;  // the reduction is one of Sum to All in its usual form
  std::vector<Test> tests_;
  std::vector<int64_t> period_;
  std::vector<Lattice> phases_;
  std::vector<Taps> taps_;                      // of each phase
  std::map<std::vector<int64_t>, Fate> fates_;  // by the remainders of all tests
  Expr zero_;                                   // what a Zero class adds, over the axes of the compute
};

/// `compute` with its axes on a lattice: fewer indices, positions to match.
Compute on_lattice(const Compute& compute, const Lattice& lattice);

}  // namespace frit
