#include <fmt/format.h>

#include <set>

#include "codegen/kernel/provenance.h"
#include "codegen/kernel/text.h"
#include "codegen/llvm/llvm.h"
#include "codegen/llvm/types.h"
#include "support/error.h"

namespace frit {
namespace {

using kernel::Code;
using kernel::Instruction;
using kernel::Kernel;
using kernel::Region;
using kernel::Type;
using kernel::Value;
using llvm_text::mangle;
using llvm_text::spell;

std::string_view intrinsic_of(Op op, bool is_float_type, bool is_signed_type) {
  switch (op) {
    case Op::Abs:
      return is_float_type ? "llvm.fabs" : "llvm.abs";
    case Op::Sqrt:
      return "llvm.sqrt";
    case Op::Floor:
      return "llvm.floor";
    case Op::Ceil:
      return "llvm.ceil";
    case Op::Trunc:
      return "llvm.trunc";
    case Op::Round:
      return "llvm.roundeven";
    case Op::Fma:
      return "llvm.fma";
    case Op::Min:
      return is_signed_type ? "llvm.smin" : "llvm.umin";
    case Op::Max:
      return is_signed_type ? "llvm.smax" : "llvm.umax";
    default:
      return {};
  }
}

std::string_view instruction_of(Op op, bool is_float_type, bool is_signed_type) {
  switch (op) {
    case Op::Add:
      return is_float_type ? "fadd" : "add";
    case Op::Sub:
      return is_float_type ? "fsub" : "sub";
    case Op::Mul:
      return is_float_type ? "fmul" : "mul";
    case Op::Div:
      return "fdiv";
    case Op::TruncDiv:
      return is_signed_type ? "sdiv" : "udiv";
    case Op::TruncMod:
      return is_signed_type ? "srem" : "urem";
    case Op::And:
      return "and";
    case Op::Or:
      return "or";
    case Op::Xor:
      return "xor";
    case Op::Shl:
      return "shl";
    case Op::Shr:
      return is_signed_type ? "ashr" : "lshr";
    case Op::Eq:
      return is_float_type ? "fcmp oeq" : "icmp eq";
    case Op::Ne:
      return is_float_type ? "fcmp une" : "icmp ne";
    case Op::Lt:
      return is_float_type ? "fcmp olt" : is_signed_type ? "icmp slt" : "icmp ult";
    case Op::Le:
      return is_float_type ? "fcmp ole" : is_signed_type ? "icmp sle" : "icmp ule";
    default:
      return {};
  }
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel)
      : k_(kernel),
        sources_(kernel::pointer_sources(kernel)),
        is_used_(kernel.values.size(), false),
        names_(kernel.values.size()) {
    for (const Value v : kernel.operand_pool) is_used_[v.id] = true;
  }

  std::string run() {
    entry_leaves();
    region(k_.body());
    std::string text;
    if (!k_.origin.empty()) text += "; " + kernel::comment_text(k_.origin) + "\n";
    text +=
        "define void @frit_kernel(ptr noalias readonly %buffers, ptr noalias readonly %dims, i64 %begin, i64 %end, "
        "ptr noalias align 64 %scratch) nounwind {\nentry:\n";
    text += out_ + "  ret void\n}\n";
    for (const std::string& declaration : declarations_) text += declaration + "\n";
    text += "!0 = !{}\n";
    kernel::check_text_size(k_, text.size());
    return text;
  }

 private:
  // Names.

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_ += "  ";
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }
  std::string fresh() { return fmt::format("%v{}", next_value_++); }
  std::string fresh_block() { return fmt::format("b{}", next_block_++); }
  void open_block(const std::string& label) {
    out_ += label + ":\n";
    block_ = label;
  }
  std::string define(Value v) { return names_[v.id] = fresh(); }
  std::string define(const Instruction& i) { return define(Value{i.first_result}); }

  std::string use(Value v) const {
    if (!k_.values[v.id].is_argument) {
      const Instruction& i = k_.definition(v);
      if (i.code == Code::Const) return llvm_text::spell_constant(i.type, i.bits);
      if (i.code == Code::Iota) return llvm_text::spell_iota(i.type);
    }
    return names_[v.id];
  }
  std::string typed(Value v) const { return spell(k_.type(v)) + " " + use(v); }

  // Only what the kernel uses is loaded, once.
  void entry_leaves() {
    for (const Instruction& i : k_.instructions) {
      const Value v{i.first_result};
      switch (i.code) {
        case Code::Begin:
          names_[v.id] = "%begin";
          break;
        case Code::End:
          names_[v.id] = "%end";
          break;
        case Code::Scratch:
          names_[v.id] = "%scratch";
          break;
        case Code::Buffer:
          entry_load(i, "ptr", "%buffers");
          break;
        case Code::Dim:
          entry_load(i, "i64", "%dims");
          break;
        default:
          break;
      }
    }
  }
  void entry_load(const Instruction& i, std::string_view type, std::string_view base) {
    std::string address(base);
    if (i.bits) {
      address = fresh();
      line("{} = getelementptr i8, ptr {}, i64 {}", address, base, 8 * i.bits);
    }
    line("{} = load {}, ptr {}, align 8, !invariant.load !0", define(i), type, address);
  }

  // `name` with the types it is overloaded on; `parameters` as in the declaration.
  std::string intrinsic(std::string_view name, std::initializer_list<Type> overloads, std::string_view result,
                        std::string_view parameters) {
    std::string full(name);
    for (const Type t : overloads) full += "." + mangle(t);
    declarations_.insert(fmt::format("declare {} @{}({})", result, full, parameters));
    return fmt::format("call {} @{}", result, full);
  }

  // Regions.

  void region(const Region& r) {
    for (const uint32_t index : r.instructions) {
      const Instruction& i = k_.instructions[index];
      if (i.code != Code::Yield) instruction(i);
    }
  }
  std::span<const Value> yields(const Region& r) const { return k_.operands(k_.instructions[r.instructions.back()]); }

  // A test for zero trips, then a loop tested at its end. Phis name the last block of the region, so the region is
  // printed apart and put in after them.
  void loop(const Instruction& i) {
    const Region& r = k_.regions[i.regions[0]];
    const auto v = k_.operands(i);
    const bool runs_once = i.bits != 0;
    const std::string before = block_, head = fresh_block(), exit = fresh_block();
    if (runs_once) {
      line("br label %{}", head);
    } else {
      const std::string test = fresh();
      line("{} = icmp slt i64 {}, {}", test, use(v[0]), use(v[1]));
      line("br i1 {}, label %{}, label %{}", test, head, exit);
    }
    for (const Value argument : r.arguments) define(argument);
    const std::string next = fresh(), again = fresh();

    std::string outer = std::move(out_);
    out_.clear();
    block_ = head;
    region(r);
    const std::string body = std::move(out_), latch = block_;
    const auto last = yields(r);
    out_ = std::move(outer);
    open_block(head);
    line("{} = phi i64 [ {}, %{} ], [ {}, %{} ]", use(r.arguments[0]), use(v[0]), before, next, latch);
    for (size_t n = 0; n < last.size(); ++n)
      line("{} = phi {} [ {}, %{} ], [ {}, %{} ]", use(r.arguments[n + 1]), spell(k_.type(last[n])), use(v[n + 3]),
           before, use(last[n]), latch);
    out_ += body;
    line("{} = add i64 {}, {}", next, use(r.arguments[0]), use(v[2]));
    line("{} = icmp slt i64 {}, {}", again, next, use(v[1]));
    line("br i1 {}, label %{}, label %{}", again, head, exit);
    open_block(exit);
    for (uint32_t n = 0; n < i.result_count; ++n) {
      const Value result{i.first_result + n};
      if (!is_used_[result.id]) continue;
      if (runs_once) {
        names_[result.id] = use(last[n]);
      } else {
        line("{} = phi {} [ {}, %{} ], [ {}, %{} ]", define(result), spell(k_.type(result)), use(v[n + 3]), before,
             use(last[n]), latch);
      }
    }
  }

  void branch(const Instruction& i) {
    const Region& yes = k_.regions[i.regions[0]];
    const Region& no = k_.regions[i.regions[1]];
    const bool has_else = no.instructions.size() > 1;  // more than the yield
    const std::string before = block_, then = fresh_block(), otherwise = has_else ? fresh_block() : "";
    const std::string join = fresh_block();
    line("br i1 {}, label %{}, label %{}", use(k_.operands(i)[0]), then, has_else ? otherwise : join);
    open_block(then);
    region(yes);
    const std::string then_end = block_;
    line("br label %{}", join);
    std::string else_end = before;
    if (has_else) {
      open_block(otherwise);
      region(no);
      else_end = block_;
      line("br label %{}", join);
    }
    open_block(join);
    for (uint32_t n = 0; n < i.result_count; ++n) {
      const Value result{i.first_result + n};
      if (!is_used_[result.id]) continue;
      line("{} = phi {} [ {}, %{} ], [ {}, %{} ]", define(result), spell(k_.type(result)), use(yields(yes)[n]),
           then_end, use(yields(no)[n]), else_end);
    }
  }

  // Instructions.

  void instruction(const Instruction& i) {
    const auto v = k_.operands(i);
    switch (i.code) {
      case Code::Arith:
        return arith(i);
      case Code::CastInRange:
        return cast_in_range(i);
      case Code::Splat:
        return splat(i);
      case Code::Extract:
        return line("{} = extractelement {}, i32 {}", define(i), typed(v[0]), i.bits);
      case Code::Insert: {
        const std::string vector = typed(v[0]), element = typed(v[1]);
        return line("{} = insertelement {}, {}, i32 {}", define(i), vector, element, i.bits);
      }
      case Code::Shuffle:
        return shuffle(i);
      case Code::PtrAdd:
        return line("{} = getelementptr i8, {}, {}", define(i), typed(v[0]), typed(v[1]));
      case Code::Load:
        return load(i);
      case Code::Store:
        return line("store {}, {}, align {}", typed(v[1]), typed(v[0]), i.bits);
      case Code::MaskedLoad:
      case Code::MaskedStore:
      case Code::Gather:
      case Code::Scatter:
        return masked(i);
      case Code::Prefetch: {
        const auto call = intrinsic("llvm.prefetch", {kernel::pointer()}, "void", "ptr, i32, i32, i32");
        return line("{}({}, i32 0, i32 3, i32 1)", call, typed(v[0]));
      }
      case Code::Barrier:
        throw UnsupportedError({.where = "kernel " + k_.name,
                                .what = "a barrier on cpu",
                                .excerpt = {},
                                .got = "barrier",
                                .expected = "a kernel without barriers",
                                .fix = "choose a schedule for cpu",
                                .from = {}});
      case Code::Loop:
        return loop(i);
      case Code::If:
        return branch(i);
      case Code::Const:
      case Code::Buffer:
      case Code::Dim:
      case Code::Begin:
      case Code::End:
      case Code::Scratch:
      case Code::Iota:
      case Code::Yield:
        return;
    }
  }

  void load(const Instruction& i) {
    const Value address = k_.operands(i)[0];
    const int source = sources_[address.id];
    const bool invariant = source >= 0 && !k_.buffers[static_cast<size_t>(source)].written &&
                           k_.buffers[static_cast<size_t>(source)].restricted;
    line("{} = load {}, {}, align {}{}", define(i), spell(i.type), typed(address), i.bits,
         invariant ? ", !invariant.load !0" : "");
  }

  void masked(const Instruction& i) {
    const auto v = k_.operands(i);
    const std::string type = spell(i.type), mask_type = spell(i.type.with_dtype(DType::Bool));
    const std::string pointer_list = fmt::format("<{} x ptr>", i.type.lanes);
    std::string addresses;
    if (i.code == Code::Gather || i.code == Code::Scatter) {
      addresses = fresh();
      line("{} = getelementptr i8, {}, {}", addresses, typed(v[0]), typed(v[1]));
    }
    const std::string list_suffix = fmt::format(".v{}p0", i.type.lanes);
    switch (i.code) {
      case Code::MaskedLoad: {
        const auto call =
            intrinsic("llvm.masked.load", {i.type, kernel::pointer()}, type, "ptr, i32, " + mask_type + ", " + type);
        const std::string operands = fmt::format("{}, i32 {}, {}, {}", typed(v[0]), i.bits, typed(v[1]), typed(v[2]));
        return line("{} = {}({})", define(i), call, operands);
      }
      case Code::MaskedStore: {
        const auto call =
            intrinsic("llvm.masked.store", {i.type, kernel::pointer()}, "void", type + ", ptr, i32, " + mask_type);
        return line("{}({}, {}, i32 {}, {})", call, typed(v[2]), typed(v[0]), i.bits, typed(v[1]));
      }
      case Code::Gather: {
        const auto call = intrinsic("llvm.masked.gather." + mangle(i.type) + list_suffix, {}, type,
                                    pointer_list + ", i32, " + mask_type + ", " + type);
        return line("{} = {}({} {}, i32 {}, {}, {})", define(i), call, pointer_list, addresses, i.bits, typed(v[2]),
                    typed(v[3]));
      }
      default: {
        const auto call = intrinsic("llvm.masked.scatter." + mangle(i.type) + list_suffix, {}, "void",
                                    type + ", " + pointer_list + ", i32, " + mask_type);
        return line("{}({}, {} {}, i32 {}, {})", call, typed(v[3]), pointer_list, addresses, i.bits, typed(v[2]));
      }
    }
  }

  void splat(const Instruction& i) {
    const std::string first = fresh(), type = spell(i.type);
    line("{} = insertelement {} poison, {}, i32 0", first, type, typed(k_.operands(i)[0]));
    line("{} = shufflevector {} {}, {} poison, <{} x i32> zeroinitializer", define(i), type, first, type, i.type.lanes);
  }

  void shuffle(const Instruction& i) {
    const auto v = k_.operands(i);
    std::string mask;
    for (const int32_t lane : k_.mask(i)) mask += fmt::format("{}i32 {}", mask.empty() ? "" : ", ", lane);
    line("{} = shufflevector {}, {}, <{} x i32> <{}>", define(i), typed(v[0]), typed(v[1]), i.type.lanes, mask);
  }

  // Arithmetic.

  void arith(const Instruction& i) {
    const auto v = k_.operands(i);
    const Type t = k_.type(v[0]);
    const bool real = is_float(t.dtype), by_sign = is_signed(t.dtype);
    switch (i.op) {
      case Op::Neg:
        if (real) return line("{} = fneg {}", define(i), typed(v[0]));
        return line("{} = sub {} {}, {}", define(i), spell(t), llvm_text::spell_constant(t, 0), use(v[0]));
      case Op::Not:
      case Op::BitNot: {
        const uint64_t ones = kernel::mask_bits(t.dtype, ~uint64_t{0});
        return line("{} = xor {}, {}", define(i), typed(v[0]), llvm_text::spell_constant(t, ones));
      }
      case Op::Select:
        return line("{} = select {}, {}, {}", define(i), typed(v[0]), typed(v[1]), typed(v[2]));
      case Op::Cast:
        return cast(i);
      case Op::BitCast: {
        if (spell(t) == spell(i.type)) {  // signedness alone is no type of LLVM
          names_[i.first_result] = use(v[0]);
          return;
        }
        return line("{} = bitcast {} to {}", define(i), typed(v[0]), spell(i.type));
      }
      case Op::Min:
      case Op::Max:
        if (real) return float_extremum(i);
        return call(i, intrinsic_of(i.op, real, by_sign));
      case Op::Abs:
        if (!real && by_sign) {
          const auto abs = intrinsic("llvm.abs", {t}, spell(t), spell(t) + ", i1");
          return line("{} = {}({}, i1 false)", define(i), abs, typed(v[0]));
        }
        if (!real) {
          names_[i.first_result] = use(v[0]);
          return;
        }
        return call(i, intrinsic_of(i.op, real, by_sign));
      default:
        break;
    }
    const std::string_view instruction = instruction_of(i.op, real, by_sign);
    if (instruction.empty()) return call(i, intrinsic_of(i.op, real, by_sign));
    line("{} = {} {}, {}", define(i), instruction, typed(v[0]), use(v[1]));
  }

  void call(const Instruction& i, std::string_view name) {
    FRIT_CHECK(!name.empty(), std::string(frit::name(i.op)));
    std::string parameters, operands;
    for (const Value v : k_.operands(i)) {
      parameters += (parameters.empty() ? "" : ", ") + spell(i.type);
      operands += (operands.empty() ? "" : ", ") + typed(v);
    }
    const auto head = intrinsic(name, {i.type}, spell(i.type), parameters);
    line("{} = {}({})", define(i), head, operands);
  }

  // a if a is NaN, else a < b ? a : b; the comparison is one minps or maxps. Its second operand comes through when one
  // is NaN, and a constant first operand cannot be.
  void float_extremum(const Instruction& i) {
    const auto v = k_.operands(i);
    const std::string type = spell(i.type), flags = spell(i.type.with_dtype(DType::Bool));
    const std::string less = fresh();
    line("{} = fcmp {} {}, {}", less, i.op == Op::Min ? "olt" : "ogt", typed(v[0]), use(v[1]));
    if (k_.is_constant(v[0]) && !is_nan(v[0]))
      return line("{} = select {} {}, {}, {}", define(i), flags, less, typed(v[0]), typed(v[1]));
    const std::string chosen = fresh(), nan = fresh();
    line("{} = select {} {}, {}, {}", chosen, flags, less, typed(v[0]), typed(v[1]));
    line("{} = fcmp uno {}, {}", nan, typed(v[0]), use(v[0]));
    line("{} = select {} {}, {}, {} {}", define(i), flags, nan, typed(v[0]), type, chosen);
  }

  bool is_nan(Value v) const {
    const bool wide = k_.type(v).dtype == DType::F64;
    const uint64_t infinity = wide ? uint64_t{0x7ff} << 52 : uint64_t{0xff} << 23;
    const uint64_t magnitude = k_.constant_bits(v) & (wide ? ~uint64_t{0} >> 1 : uint64_t{0x7fffffff});
    return magnitude > infinity;
  }

  void cast(const Instruction& i) {
    const Value a = k_.operands(i)[0];
    const Type from = k_.type(a), to = i.type;
    const std::string zero = llvm_text::spell_constant(from, 0);
    if (to.dtype == DType::Bool)
      return line("{} = {} {}, {}", define(i), is_float(from.dtype) ? "fcmp une" : "icmp ne", typed(a), zero);
    if (is_float(from.dtype) && !is_float(to.dtype)) {
      const auto call =
          intrinsic(is_signed(to.dtype) ? "llvm.fptosi.sat" : "llvm.fptoui.sat", {to, from}, spell(to), spell(from));
      return line("{} = {}({})", define(i), call, typed(a));
    }
    const int from_bits = kernel::bit_width(from.dtype), to_bits = kernel::bit_width(to.dtype);
    std::string_view instruction;
    if (is_float(to.dtype) && is_float(from.dtype)) {
      instruction = to_bits > from_bits ? "fpext" : "fptrunc";
    } else if (is_float(to.dtype)) {
      instruction = is_signed(from.dtype) ? "sitofp" : "uitofp";
    } else if (to_bits == from_bits) {
      names_[i.first_result] = use(a);
      return;
    } else {
      instruction = to_bits < from_bits ? "trunc" : is_signed(from.dtype) ? "sext" : "zext";
    }
    line("{} = {} {} to {}", define(i), instruction, typed(a), spell(to));
  }

  // Out of range the conversion is poison; frozen it is some number, so a wrong proof gives a wrong value and no more.
  void cast_in_range(const Instruction& i) {
    const std::string raw = fresh(), type = spell(i.type);
    line("{} = {} {} to {}", raw, is_signed(i.type.dtype) ? "fptosi" : "fptoui", typed(k_.operands(i)[0]), type);
    line("{} = freeze {} {}", define(i), type, raw);
  }

  const Kernel& k_;
  std::vector<int> sources_;
  std::vector<bool> is_used_;
  std::vector<std::string> names_;
  std::set<std::string> declarations_;
  std::string out_, block_ = "entry";
  int next_value_ = 0, next_block_ = 0;
};

}  // namespace

std::string print_llvm(const kernel::Kernel& kernel) { return Printer(kernel).run(); }

}  // namespace frit
