#include <bit>

#include "codegen/kernel/kernel.h"
#include "codegen/kernel/provenance.h"
#include "codegen/kernel/text.h"
#include "support/error.h"

namespace frit::kernel {
namespace {

bool is_half(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }

// What an operation demands of the dtype of its (first) operand.
bool takes(Op op, DType dtype) {
  const bool real = dtype == DType::F32 || dtype == DType::F64, whole = is_integer(dtype), flag = dtype == DType::Bool;
  switch (op) {
    case Op::Sqrt:
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round:
    case Op::Div:
    case Op::Fma:
      return real;
    case Op::Neg:
    case Op::Abs:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Min:
    case Op::Max:
    case Op::Lt:
    case Op::Le:
      return real || whole;
    case Op::Eq:
    case Op::Ne:
      return real || whole || flag;
    case Op::TruncDiv:
    case Op::TruncMod:
    case Op::Shl:
    case Op::Shr:
    case Op::BitNot:
      return whole;
    case Op::And:
    case Op::Or:
    case Op::Xor:
      return whole || flag;
    case Op::Not:
      return flag;
    case Op::Cast:
      return true;
    case Op::BitCast:
      return !flag;
    default:
      return false;
  }
}

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : k_(kernel), visible_(kernel.values.size(), false) {}

  std::vector<std::string> run() {
    if (k_.buffers.size() > kMaxBuffers) fault("", std::to_string(k_.buffers.size()) + " buffers, at most 64");
    for (const BufferParam& b : k_.buffers)
      if (b.alignment < 1 || !std::has_single_bit(static_cast<unsigned>(b.alignment)))
        fault("", "alignment " + std::to_string(b.alignment) + " of buffer " + b.name);
    for (size_t i = 0; i < k_.instructions.size(); ++i)
      if (is_leaf(k_.instructions[i].code)) leaf(k_.instructions[i]);
    if (findings_.empty()) region(0, nullptr, 0);
    if (findings_.empty()) stores();
    // A printer needs about 60 bytes an instruction; the exact text is checked where it is printed.
    if (k_.instructions.size() > kMaxTextBytes / 8) fault("", "too many instructions for one kernel: split it");
    return std::move(findings_);
  }

 private:
  void fault(const std::string& at, const std::string& what) {
    findings_.push_back(at.empty() ? what : what + "\n  " + at);
  }
  void expect(bool right, const Instruction& i, const std::string& what) {
    if (!right) fault(print_instruction(k_, i), what);
  }

  void leaf(const Instruction& i) {
    visible_[i.first_result] = true;
    switch (i.code) {
      case Code::Buffer:
        return expect(i.bits < k_.buffers.size() && i.type == pointer(), i, "no such buffer");
      case Code::Dim:
        return expect(i.bits < k_.dims.size() && i.type == scalar(DType::I64), i, "no such dim");
      case Code::Iota:
        return expect(is_integer(i.type.dtype) && i.type.is_vector(), i, "iota is an integer vector");
      case Code::Const:
        expect(!i.type.is_pointer && mask_bits(i.type.dtype, i.bits) == i.bits, i, "constant wider than its type");
        return;
      default:
        return;
    }
  }

  // `yielded`: the types that the region's Yield must have; null for the body, which has none.
  void region(uint32_t id, const std::vector<Type>* yielded, int nesting) {
    if (id >= k_.regions.size() || nesting > kMaxNesting) return fault("", "bad region or nesting over 64");
    const Region& r = k_.regions[id];
    std::vector<Value> defined = r.arguments;
    for (const Value v : r.arguments) visible_[v.id] = true;
    for (size_t n = 0; n < r.instructions.size(); ++n) {
      const Instruction& i = k_.instructions[r.instructions[n]];
      const bool last = n + 1 == r.instructions.size();
      expect((i.code == Code::Yield) == (last && yielded), i, "a region ends with its yield, the body has none");
      instruction(i, yielded, nesting);
      for (uint32_t k = 0; k < i.result_count; ++k) {
        visible_[i.first_result + k] = true;
        defined.push_back({i.first_result + k});
      }
    }
    if (yielded && r.instructions.empty()) fault("", "a region without yield");
    for (const Value v : defined) visible_[v.id] = false;
  }

  void instruction(const Instruction& i, const std::vector<Type>* yielded, int nesting) {
    for (const Value v : k_.operands(i)) {
      if (v.id >= visible_.size() || !visible_[v.id]) return expect(false, i, "an operand is not defined here");
    }
    if (i.type.lanes < 1 || i.type.lanes > kMaxLanes) return expect(false, i, "lanes out of range");
    switch (i.code) {
      case Code::Arith:
        return arith(i);
      case Code::Loop:
        return loop(i, nesting);
      case Code::If:
        return branch(i, nesting);
      case Code::Yield:
        return expect(yielded && types(k_.operands(i)) == *yielded, i, "types differ from the results");
      case Code::Load:
      case Code::Store:
      case Code::MaskedLoad:
      case Code::MaskedStore:
      case Code::Gather:
      case Code::Scatter:
        return memory(i);
      default:
        return other(i);
    }
  }

  void arith(const Instruction& i) {
    const auto v = k_.operands(i);
    if (!is_primitive(i.op)) return expect(false, i, "no primitive: expand it before");
    if (static_cast<int>(v.size()) != operand_count(i.op)) return expect(false, i, "wrong number of operands");
    const Type a = type(v[0]);
    if (i.op == Op::Select) {
      expect(a.dtype == DType::Bool && (a.lanes == 1 || a.lanes == i.type.lanes), i,
             "condition is no bool of this width");
      return expect(type(v[1]) == i.type && type(v[2]) == i.type, i, "arms differ in type");
    }
    expect(!a.is_pointer && takes(i.op, a.dtype), i, "not an operation of " + to_string(a));
    for (const Value w : v) expect(type(w) == a, i, "operands differ in type");
    if (i.op == Op::Cast) {
      // A half converts with f32 only: by f64 it would be rounded twice, and no hardware has the others.
      expect(!is_half(a.dtype) || i.type.dtype == DType::F32, i, "a 16-bit float converts to f32 only");
      expect(!is_half(i.type.dtype) || a.dtype == DType::F32, i, "a 16-bit float comes from f32 only");
      return expect(i.type.lanes == a.lanes && !i.type.is_pointer, i, "widths differ");
    }
    if (i.op == Op::BitCast) {
      return expect(i.type.lanes == a.lanes && bit_width(i.type.dtype) == bit_width(a.dtype) && !i.type.is_pointer &&
                        i.type.dtype != DType::Bool,
                    i, "widths differ");
    }
    expect(i.type == (is_comparison(i.op) ? a.with_dtype(DType::Bool) : a), i, "wrong result type");
  }

  void memory(const Instruction& i) {
    const auto v = k_.operands(i);
    const Code c = i.code;
    const bool indexed = c == Code::Gather || c == Code::Scatter;
    const bool masked = indexed || c == Code::MaskedLoad || c == Code::MaskedStore;
    const size_t count = c == Code::Load ? 1 : c == Code::Store ? 2 : indexed ? 4 : 3;
    if (v.size() != count) return expect(false, i, "wrong number of operands");
    expect(type(v[0]).is_pointer, i, "address is no pointer");
    expect(i.type.dtype != DType::Bool && !i.type.is_pointer, i, "only numbers are in memory; a bool is stored as u8");
    if (masked) expect(i.type.is_vector(), i, "one lane under a mask is an if");
    if (indexed) expect(type(v[1]) == vector_of(DType::I64, i.type.lanes), i, "offsets are no i64 of this width");
    if (masked) expect(type(v[count - 2]) == i.type.with_dtype(DType::Bool), i, "mask is no bool of this width");
    if (count > 1) expect(type(v[count - 1]) == i.type, i, "value differs in type");
    expect(std::has_single_bit(i.bits) && i.bits <= 4096 && i.bits >= static_cast<uint64_t>(size_bytes(i.type.dtype)),
           i, "alignment is no power of two of at least an element");
  }

  // Where pointers come from is known only in a kernel that is otherwise right.
  void stores() {
    const std::vector<int> sources = pointer_sources(k_);
    for (const Instruction& i : k_.instructions) {
      if (i.code != Code::Store && i.code != Code::MaskedStore && i.code != Code::Scatter) continue;
      const int source = sources[k_.operands(i)[0].id];
      if (source >= 0) expect(k_.buffers[static_cast<size_t>(source)].written, i, "buffer is not written");
    }
  }

  void loop(const Instruction& i, int nesting) {
    const auto v = k_.operands(i);
    for (size_t n = 0; n < 3; ++n) expect(v.size() >= 3 && type(v[n]) == scalar(DType::I64), i, "bounds are i64");
    if (v.size() < 3 || i.regions[0] >= k_.regions.size()) return expect(false, i, "a loop has bounds and a region");
    if (k_.is_constant(v[2])) expect(signed_value(DType::I64, k_.constant_bits(v[2])) > 0, i, "step is not positive");
    std::vector<Type> carried = types(v.subspan(3)), arguments = {scalar(DType::I64)};
    arguments.insert(arguments.end(), carried.begin(), carried.end());
    expect(types(k_.regions[i.regions[0]].arguments) == arguments, i, "arguments differ from the initial values");
    results(i, carried);
    region(i.regions[0], &carried, nesting + 1);
  }

  void branch(const Instruction& i, int nesting) {
    const auto v = k_.operands(i);
    if (v.size() != 1 || type(v[0]) != scalar(DType::Bool)) return expect(false, i, "condition is no bool");
    std::vector<Type> given;
    for (uint32_t n = 0; n < i.result_count; ++n) given.push_back(type({i.first_result + n}));
    region(i.regions[0], &given, nesting + 1);
    region(i.regions[1], &given, nesting + 1);
  }

  void results(const Instruction& i, const std::vector<Type>& expected) {
    expect(i.result_count == expected.size(), i, "wrong number of results");
    for (uint32_t n = 0; n < i.result_count && n < expected.size(); ++n)
      expect(type({i.first_result + n}) == expected[n], i, "result types differ from the carried values");
  }

  void other(const Instruction& i) {
    const auto v = k_.operands(i);
    const Type a = v.empty() ? Type{} : type(v[0]);
    switch (i.code) {
      case Code::CastInRange:
        return expect(
            v.size() == 1 && is_float(a.dtype) && i.type == a.with_dtype(i.type.dtype) && is_integer(i.type.dtype), i,
            "float to integer of the same width");
      case Code::Splat:
        return expect(v.size() == 1 && a.lanes == 1 && i.type.is_vector() && i.type == a.with_lanes(i.type.lanes), i,
                      "scalar to vector");
      case Code::Extract:
        return expect(
            v.size() == 1 && a.is_vector() && i.bits < static_cast<uint64_t>(a.lanes) && i.type == a.with_lanes(1), i,
            "lane of a vector");
      case Code::Insert:
        return expect(v.size() == 2 && a.is_vector() && a == i.type && type(v[1]) == a.with_lanes(1) &&
                          i.bits < static_cast<uint64_t>(a.lanes),
                      i, "vector, scalar, lane");
      case Code::Shuffle:
        return shuffle(i, a);
      case Code::PtrAdd:
        return expect(v.size() == 2 && a.is_pointer && type(v[1]) == scalar(DType::I64) && i.type == pointer(), i,
                      "pointer and i64 bytes");
      case Code::Prefetch:
        return expect(v.size() == 1 && a.is_pointer, i, "a pointer");
      case Code::Barrier:
        return expect(v.empty(), i, "no operands");
      default:
        return expect(false, i, "a leaf stands in no region");
    }
  }

  void shuffle(const Instruction& i, Type a) {
    const auto v = k_.operands(i);
    if (v.size() != 2 || a != type(v[1]) || a.dtype != i.type.dtype || !a.is_vector() || !i.type.is_vector())
      return expect(false, i, "two vectors of one type to a vector");
    if (i.bits + static_cast<uint64_t>(i.type.lanes) > k_.mask_pool.size()) return expect(false, i, "no mask");
    for (const int32_t lane : k_.mask(i)) expect(lane >= 0 && lane < 2 * a.lanes, i, "mask out of range");
  }

  Type type(Value v) const { return k_.type(v); }
  std::vector<Type> types(std::span<const Value> values) const {
    std::vector<Type> result;
    for (const Value v : values) result.push_back(type(v));
    return result;
  }

  static constexpr int kMaxNesting = 64;
  const Kernel& k_;
  std::vector<char> visible_;
  std::vector<std::string> findings_;
};

}  // namespace

std::vector<std::string> verify(const Kernel& kernel) { return Verifier(kernel).run(); }

void check(const Kernel& kernel) {
  const auto findings = verify(kernel);
  if (findings.empty()) return;
  std::string text = "kernel " + kernel.name;
  for (const std::string& finding : findings) text += "\n" + finding;
  FRIT_CHECK(findings.empty(), text);
}

}  // namespace frit::kernel
