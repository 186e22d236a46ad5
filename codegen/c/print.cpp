#include "codegen/c/print.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/c/spell.h"
#include "codegen/kernel/text.h"
#include "support/error.h"

namespace frit::c_text {
namespace {

using kernel::Code;
using kernel::Instruction;
using kernel::Kernel;
using kernel::Region;
using kernel::Type;
using kernel::Value;

class Printer {
 public:
  Printer(const Kernel& kernel, const Dialect& dialect) : k_(kernel), d_(dialect), names_(kernel.values.size()) {}

  std::string run() {
    check_types();
    std::string text;
    if (!k_.origin.empty()) text += "// " + kernel::comment_text(k_.origin) + "\n";
    text += d_.preamble;
    if (uses(DType::F64)) text += d_.preamble_f64;
    if (uses(DType::F16)) text += d_.preamble_f16;
    text += fmt::format("{} frit_kernel(", d_.kernel);
    for (size_t n = 0; n < k_.buffers.size(); ++n)
      text += fmt::format("{}uchar* {}b{}, ", d_.global,
                          k_.buffers[n].restricted ? std::string(d_.restricted) + " " : "", n);
    text += fmt::format("{0}const long* dims, long first, long last, {0}uchar* scratches, long scratch_bytes) {{\n",
                        d_.global);
    leaves();
    region(k_.body());
    text += out_ + "}\n";
    kernel::check_text_size(k_, text.size());
    return text;
  }

 private:
  [[noreturn]] void unsupported(const std::string& what, const std::string& expected) {
    throw UnsupportedError({.where = "kernel " + k_.name,
                            .what = what + " on " + std::string(d_.name),
                            .excerpt = {},
                            .got = what,
                            .expected = expected,
                            .fix = "choose a schedule for this target",
                            .from = {}});
  }

  void check_types() {
    for (const kernel::Definition& v : k_.values) {
      const int n = v.type.lanes;
      if (n != 1 && n != 2 && n != 4 && n != 8 && n != 16)
        unsupported("a vector of " + std::to_string(n) + " lanes", "2, 4, 8 or 16 lanes");
    }
  }
  bool uses(DType dtype) const {
    return std::any_of(k_.values.begin(), k_.values.end(), [&](const auto& v) { return v.type.dtype == dtype; });
  }

  // Names and lines.

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_.append(static_cast<size_t>(2 * indent_), ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }
  std::string fresh() { return fmt::format("v{}", next_++); }
  std::string type(Value v) const { return spell(d_, k_.type(v)); }

  std::string use(Value v) const {
    if (!k_.values[v.id].is_argument) {
      const Instruction& i = k_.definition(v);
      if (i.code == Code::Const) return spell_constant(d_, i.type, i.bits);
      if (i.code == Code::Iota) return spell_iota(d_, i.type);
    }
    return names_[v.id];
  }
  void define(const Instruction& i, const std::string& expression) {
    names_[i.first_result] = fresh();
    line("const {} {} = {};", spell(d_, i.type), names_[i.first_result], expression);
  }

  void leaves() {
    line("const long items = {}, item = {}, count = last - first;", d_.items, d_.item);
    line("const long begin = first + count * item / items, end = first + count * (item + 1) / items;");
    for (const Instruction& i : k_.instructions) {
      if (!is_leaf(i.code)) continue;
      std::string& name = names_[i.first_result];
      switch (i.code) {
        case Code::Begin:
          name = "begin";
          break;
        case Code::End:
          name = "end";
          break;
        case Code::Scratch:
          name = "(scratches + item * scratch_bytes)";
          break;
        case Code::Buffer:
          name = fmt::format("b{}", i.bits);
          break;
        case Code::Dim:
          name = fmt::format("dims[{}]", i.bits);
          break;
        default:
          break;
      }
    }
  }

  // Regions.

  void region(const Region& r) {
    for (const uint32_t index : r.instructions) {
      const Instruction& i = k_.instructions[index];
      if (i.code != Code::Yield) instruction(i);
    }
  }
  std::span<const Value> yields(const Region& r) const { return k_.operands(k_.instructions[r.instructions.back()]); }

  void loop(const Instruction& i) {
    const Region& r = k_.regions[i.regions[0]];
    const auto v = k_.operands(i);
    for (size_t n = 3; n < v.size(); ++n) {
      const Value argument = r.arguments[n - 2];
      names_[argument.id] = fresh();
      names_[i.first_result + n - 3] = names_[argument.id];  // after the loop the variable holds the last value
      line("{} {} = {};", type(argument), names_[argument.id], use(v[n]));
    }
    const std::string counter = names_[r.arguments[0].id] = fresh();
    line("for (long {0} = {1}; {0} < {2}; {0} += {3}) {{", counter, use(v[0]), use(v[1]), use(v[2]));
    ++indent_;
    region(r);
    assign(r, std::span(r.arguments).subspan(1));
    --indent_;
    line("}}");
  }

  // All at once: a yielded argument is read before it is overwritten.
  void assign(const Region& r, std::span<const Value> to) {
    const auto from = yields(r);
    std::vector<std::string> values;
    for (size_t n = 0; n < from.size(); ++n) {
      const bool is_argument = std::find(to.begin(), to.end(), from[n]) != to.end() && from[n] != to[n];
      values.push_back(use(from[n]));
      if (!is_argument) continue;
      values.back() = fresh();
      line("{} {} = {};", type(from[n]), values.back(), use(from[n]));
    }
    for (size_t n = 0; n < from.size(); ++n)
      if (values[n] != names_[to[n].id]) line("{} = {};", names_[to[n].id], values[n]);
  }

  void branch(const Instruction& i) {
    std::vector<Value> results;
    for (uint32_t n = 0; n < i.result_count; ++n) {
      results.push_back({i.first_result + n});
      names_[results[n].id] = fresh();
      line("{} {};", type(results[n]), names_[results[n].id]);
    }
    line("if ({}) {{", use(k_.operands(i)[0]));
    branch_body(k_.regions[i.regions[0]], results);
    if (k_.regions[i.regions[1]].instructions.size() > 1 || !results.empty()) {
      line("}} else {{");
      branch_body(k_.regions[i.regions[1]], results);
    }
    line("}}");
  }
  void branch_body(const Region& r, const std::vector<Value>& results) {
    ++indent_;
    region(r);
    for (size_t n = 0; n < results.size(); ++n) line("{} = {};", names_[results[n].id], use(yields(r)[n]));
    --indent_;
  }

  // Instructions.

  void instruction(const Instruction& i) {
    const auto v = k_.operands(i);
    switch (i.code) {
      case Code::Arith:
        return arith(i);
      case Code::CastInRange:
        return define(i, spell_cast_in_range(d_, i.type, use(v[0])));
      case Code::Splat: {
        const bool flag = i.type.dtype == DType::Bool;
        return define(i, fmt::format("({})({}{})", spell(d_, i.type), flag ? "-" : "", use(v[0])));
      }
      case Code::Extract: {
        const std::string element = lane(use(v[0]), static_cast<int>(i.bits));
        return define(i, i.type.dtype == DType::Bool ? element + " != 0" : element);
      }
      case Code::Insert:
        return insert(i);
      case Code::Shuffle:
        return shuffle(i);
      case Code::PtrAdd:
        return pointer(i);
      case Code::Load:
        return define(i, load(i.type, use(v[0])));
      case Code::Store:
        return line("{};", store(i.type, use(v[0]), use(v[1])));
      case Code::MaskedLoad:
      case Code::Gather:
        return read_lanes(i);
      case Code::MaskedStore:
      case Code::Scatter:
        return write_lanes(i);
      case Code::Prefetch:
        return;
      case Code::Barrier:
        unsupported("a barrier", "work-groups of one item");
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

  void pointer(const Instruction& i) {
    const auto v = k_.operands(i);
    names_[i.first_result] = fresh();
    line("{} {} = {} + {};", spell(d_, i.type), names_[i.first_result], use(v[0]), use(v[1]));
  }

  std::string typed_pointer(Type t, const std::string& address) const {
    return fmt::format("({}{}*)({})", d_.global, spell_element(d_, t), address);
  }
  std::string load(Type t, const std::string& address) const {
    if (!t.is_vector()) return "*" + typed_pointer(t, address);
    return fmt::format("vload{}(0, {})", t.lanes, typed_pointer(t, address));
  }
  std::string store(Type t, const std::string& address, const std::string& value) const {
    if (!t.is_vector()) return fmt::format("*{} = {}", typed_pointer(t, address), value);
    return fmt::format("vstore{}({}, 0, {})", t.lanes, value, typed_pointer(t, address));
  }

  // A named vector, so that its lanes can be taken: a constant is none.
  std::string named(Value v) {
    if (k_.values[v.id].is_argument || !is_leaf(k_.definition(v).code)) return use(v);
    const std::string name = fresh();
    line("const {} {} = {};", type(v), name, use(v));
    return name;
  }

  void insert(const Instruction& i) {
    const auto v = k_.operands(i);
    const std::string element = i.type.dtype == DType::Bool ? "-" + use(v[1]) : use(v[1]);
    names_[i.first_result] = fresh();
    line("{} {} = {};", spell(d_, i.type), names_[i.first_result], use(v[0]));
    line("{} = {};", lane(names_[i.first_result], static_cast<int>(i.bits)), element);
  }

  void shuffle(const Instruction& i) {
    const auto v = k_.operands(i);
    const int lanes = k_.type(v[0]).lanes;
    const std::string a = named(v[0]), b = v[1] == v[0] ? a : named(v[1]);
    std::string list;
    for (const int32_t n : k_.mask(i))
      list += (list.empty() ? "" : ", ") + (n < lanes ? lane(a, n) : lane(b, n - lanes));
    define(i, fmt::format("({})({})", spell(d_, i.type), list));
  }

  // Address of a lane: of a gather base + offset, else the element after the one before.
  struct Lanes {
    std::string base, offsets, mask;
    bool masked = true;
  };
  Lanes lanes_of(const Instruction& i) {
    const auto v = k_.operands(i);
    const bool indexed = i.code == Code::Gather || i.code == Code::Scatter;
    const Value mask = v[indexed ? 2 : 1];
    Lanes lanes;
    lanes.base = use(v[0]);
    if (indexed) lanes.offsets = named(v[1]);
    lanes.masked = !k_.is_constant(mask) || k_.constant_bits(mask) == 0;
    if (lanes.masked) lanes.mask = named(mask);
    return lanes;
  }
  std::string address(const Instruction& i, const Lanes& lanes, int n) const {
    if (!lanes.offsets.empty()) return lanes.base + " + " + lane(lanes.offsets, n);
    return fmt::format("{} + {}", lanes.base, n * size_bytes(i.type.dtype));
  }
  std::string guard(const Lanes& lanes, int n) const {
    return lanes.masked ? fmt::format("if ({}) ", lane(lanes.mask, n)) : "";
  }

  void read_lanes(const Instruction& i) {
    const auto v = k_.operands(i);
    const Lanes lanes = lanes_of(i);
    const std::string name = fresh();
    const Type element = i.type.with_lanes(1);
    line("{} {} = {};", spell(d_, i.type), name, use(v[v.size() - 1]));
    for (int n = 0; n < i.type.lanes; ++n)
      line("{}{} = {};", guard(lanes, n), lane(name, n), load(element, address(i, lanes, n)));
    names_[i.first_result] = name;
  }

  void write_lanes(const Instruction& i) {
    const auto v = k_.operands(i);
    const Lanes lanes = lanes_of(i);
    const std::string value = named(v[v.size() - 1]);
    const Type element = i.type.with_lanes(1);
    for (int n = 0; n < i.type.lanes; ++n)
      line("{}{};", guard(lanes, n), store(element, address(i, lanes, n), lane(value, n)));
  }

  void arith(const Instruction& i) {
    const auto v = k_.operands(i);
    if (i.op == Op::Cast) return define(i, spell_cast(d_, k_.type(v[0]), i.type, use(v[0])));
    std::vector<std::string> names;
    for (const Value a : v) names.push_back(use(a));
    if (i.op == Op::Select && i.type.is_pointer) {
      names_[i.first_result] = fresh();
      line("{} {} = {} ? {} : {};", spell(d_, i.type), names_[i.first_result], names[0], names[1], names[2]);
      return;
    }
    if (i.op == Op::Select) return define(i, spell_select(d_, k_.type(v[0]), i.type, names));
    define(i, spell_arith(d_, i.op, i.type, k_.type(v[0]), names));
  }

  const Kernel& k_;
  const Dialect& d_;
  std::vector<std::string> names_;
  std::string out_;
  int next_ = 0, indent_ = 1;
};

}  // namespace

std::string print(const kernel::Kernel& kernel, const Dialect& dialect) { return Printer(kernel, dialect).run(); }

}  // namespace frit::c_text
