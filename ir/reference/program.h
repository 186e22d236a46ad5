#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/expr.h"

namespace frit::reference {

/// A tensor that is read: floats as f64 or f32, integers and bools as int64. Null magnitudes mean |value|.
struct Source {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const double* f64 = nullptr;
  const float* f32 = nullptr;
  const int64_t* ints = nullptr;
  const double* magnitudes = nullptr;
};

/// The axes of a Compute as numbers, and those that the lanes run over, outermost first.
struct Domain {
  std::vector<int64_t> extents;
  int free = 0;
  std::vector<int> lane_axes;
};

constexpr int kLanes = 256;  // elements evaluated together: enough to hide dispatch, small enough for the first cache

/// constant + sum of coefficient * axis + sum of coefficient * register.
struct Linear {
  int64_t constant = 0;
  std::vector<std::pair<int, int64_t>> axes;
  std::vector<std::pair<int, int64_t>> registers;
};

/// A linear form split into what is fixed for a block of lanes (`base`, a register) and what each step adds.
struct SplitLinear {
  int base = -1;
  std::vector<std::pair<int, int64_t>> reduced;    // axis, coefficient
  std::vector<std::pair<int, int64_t>> registers;  // set in the inner part
};

struct ReadPlan {
  struct Check {
    SplitLinear position;
    int64_t extent = 0;
  };
  Source source;
  SplitLinear offset;
  std::vector<Check> checks;  // positions that are not inside for all indices
  int condition = -1, fill = -1;
  bool guarded = false;
  std::string text;  // for the message of a read that leaves its tensor
};

struct Instruction {
  enum class Kind : uint8_t { Scalar, Linear, Read } kind = Kind::Scalar;
  Op op = Op::Const;
  DType dtype = DType::F32, from = DType::F32;  // of the result, of the first operand
  int dst = -1;
  int args[3] = {-1, -1, -1};
  int plan = -1;               // index of the read or linear form
  bool exact_operand = false;  // of a cast: an element that no computation made
};

struct Register {
  bool is_float = false;
  bool varying = false;  // one value per lane, else one value
  bool inner = false;    // depends on reduced axes or accumulators
};

/// Expressions as two straight lists of instructions over registers: `outer` runs once per block of lanes, `inner` once
/// per point of the reduced axes.
struct Program {
  std::vector<Register> registers;
  std::vector<Instruction> outer, inner;
  std::vector<Linear> linears;
  std::vector<ReadPlan> reads;
  std::vector<std::pair<int, Expr>> constants;      // register, constant
  std::vector<std::pair<int, int>> axis_registers;  // axis, register (of axes used as values)
  std::vector<int> accumulators;                    // register of Acc(k), or -1
};

using Symbols = std::unordered_map<std::string, int64_t>;

class Compiler {
 public:
  Compiler(const Domain& domain, const std::vector<Source>& sources, const Symbols& symbols,
           bool accumulators_are_inner);
  int add(const Expr& root);  // the register that holds the value
  Program take() { return std::move(program_); }

 private:
  struct Terms {
    int64_t constant = 0;
    std::map<int, int64_t> axes;
    std::vector<std::pair<Expr, int64_t>> opaque;
  };
  Terms split(const Expr& position) const;
  std::vector<Expr> operands(const Expr& e);
  int emit(const Expr& e);
  int emit_read(const Expr& e);
  SplitLinear emit_linear(const Terms& terms);
  bool is_inside(const Terms& terms, int64_t extent) const;
  void check_lane(int axis) const;
  int new_register(bool is_float, bool varying, bool inner);
  void push(Instruction instruction, bool inner);

  const Domain& domain_;
  const std::vector<Source>& sources_;
  const Symbols& symbols_;
  bool accumulators_are_inner_;
  Program program_;
  std::unordered_map<const void*, int> done_;
  std::unordered_map<const void*, std::vector<Terms>> terms_;  // of the positions of a read
  std::vector<Expr> keep_;
};

/// Evaluates the two parts of a program on one block of lanes. Each thread has its own.
class Machine {
 public:
  Machine(const Program& program, const Domain& domain);
  void begin(int64_t first_lane, int count);  // sets the lanes and runs the outer part
  void step(const std::vector<int64_t>& reduced);
  int count() const { return count_; }
  // Values of a register at lane l are at [l * stride].
  int stride(int r) const { return program_.registers[static_cast<size_t>(r)].varying ? 1 : 0; }
  double* values(int r) { return files_[static_cast<size_t>(r)].values.data(); }
  double* magnitudes(int r) { return files_[static_cast<size_t>(r)].magnitudes.data(); }
  int64_t* integers(int r) { return files_[static_cast<size_t>(r)].integers.data(); }
  void set_lanes(int64_t first_lane, int count);
  void run_outer() { run(program_.outer); }

 private:
  struct File {
    std::vector<double> values, magnitudes;
    std::vector<int64_t> integers;
  };
  void run(const std::vector<Instruction>& code);
  void run_linear(const Instruction& in);
  void run_read(const Instruction& in);
  void run_float(const Instruction& in);
  void run_integer(const Instruction& in);
  void run_cast(const Instruction& in);
  void run_select(const Instruction& in);
  void positions(const SplitLinear& linear, int n, int64_t* out);
  template <class T>
  void load(const ReadPlan& plan, const T* data, const Instruction& in, int n);
  int lanes_of(int r) const { return stride(r) ? count_ : 1; }

  const Program& program_;
  const Domain& domain_;
  int count_ = 0;
  std::vector<File> files_;
  std::vector<std::vector<int64_t>> lane_index_;  // per axis of the Compute, empty if not a lane axis
  std::vector<int64_t> reduced_;
  std::vector<int64_t> scratch_a_, scratch_b_;
  std::vector<uint8_t> scratch_ok_;
};

}  // namespace frit::reference
