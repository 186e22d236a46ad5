#include "codegen/kernel/text.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "support/error.h"

namespace frit::kernel {
namespace {

std::string print_number(DType dtype, uint64_t bits) {
  if (dtype == DType::F32) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    return std::isfinite(value) ? fmt::format("{}", value) : fmt::format("{:#x}", bits);
  }
  if (dtype == DType::F64) {
    const auto value = std::bit_cast<double>(bits);
    return std::isfinite(value) ? fmt::format("{}", value) : fmt::format("{:#x}", bits);
  }
  if (is_float(dtype)) return fmt::format("{:#x}", bits);
  return is_signed(dtype) ? fmt::format("{}", signed_value(dtype, bits)) : fmt::format("{}", bits);
}

// Quotes and control characters would end a name early; names are for people, so they are replaced.
std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ' ? '_' : c;
  return text + "\"";
}

class Printer {
 public:
  // `renumber`: values get numbers in the order of the text, else they keep their own.
  Printer(const Kernel& kernel, bool renumber) : k_(kernel), numbers_(kernel.values.size(), UINT32_MAX) {
    for (uint32_t v = 0; v < numbers_.size() && !renumber; ++v) numbers_[v] = v;
  }

  std::string kernel() {
    out_ = "kernel " + quoted(k_.name);
    if (!k_.origin.empty()) out_ += " from " + quoted(k_.origin);
    out_ += " {\n";
    for (const BufferParam& b : k_.buffers) {
      out_ += fmt::format("  buffer {} {}{} align {}{}\n", quoted(b.name), frit::name(b.dtype),
                          b.written ? " written" : "", b.alignment, b.restricted ? "" : " overlapping");
    }
    for (const std::string& d : k_.dims) out_ += "  dim " + quoted(d) + "\n";
    region(k_.body(), 1);
    return out_ + "}\n";
  }

  std::string line(const Instruction& i) {
    head(i);
    return out_;
  }

 private:
  std::string number(Value v) {
    if (numbers_[v.id] == UINT32_MAX) numbers_[v.id] = next_++;
    return fmt::format("%{}", numbers_[v.id]);
  }
  std::string defined(Value v) { return number(v) + ": " + to_string(k_.type(v)); }

  std::string operand(Value v) {
    if (v.id >= k_.values.size()) return "%?";
    if (k_.values[v.id].is_argument) return number(v);
    const Instruction& i = k_.definition(v);
    switch (i.code) {
      case Code::Const:
        return print_number(i.type.dtype, i.bits) + ":" + to_string(i.type);
      case Code::Buffer:
        return fmt::format("buf{}", i.bits);
      case Code::Dim:
        return fmt::format("dim{}", i.bits);
      case Code::Iota:
        return "iota:" + to_string(i.type);
      case Code::Begin:
      case Code::End:
      case Code::Scratch:
        return std::string(name(i.code));
      default:
        return number(v);
    }
  }

  void list(std::span<const Value> values) {
    for (size_t n = 0; n < values.size(); ++n) out_ += (n ? ", " : " ") + operand(values[n]);
  }

  // The line up to an opening brace.
  void head(const Instruction& i) {
    std::string results;
    for (uint32_t n = 0; n < i.result_count; ++n) results += (n ? ", " : "") + defined({i.first_result + n});
    if (!results.empty()) out_ += results + " = ";
    out_ += i.code == Code::Arith ? frit::name(i.op) : name(i.code);
    const auto v = k_.operands(i);
    if (i.code == Code::Loop) return loop_head(i);
    list(v);
    switch (i.code) {
      case Code::Extract:
      case Code::Insert:
        out_ += fmt::format(" lane {}", i.bits);
        break;
      case Code::Load:
      case Code::Store:
      case Code::MaskedLoad:
      case Code::MaskedStore:
      case Code::Gather:
      case Code::Scatter:
        out_ += fmt::format(" align {}", i.bits);
        break;
      case Code::Shuffle:
        out_ += " mask";
        for (const int32_t lane : k_.mask(i)) out_ += fmt::format(" {}", lane);
        break;
      default:
        break;
    }
  }

  void loop_head(const Instruction& i) {
    const auto v = k_.operands(i);
    const auto& arguments = k_.regions[i.regions[0]].arguments;
    out_ += fmt::format(" {} = {} to {} step {}", number(arguments[0]), operand(v[0]), operand(v[1]), operand(v[2]));
    for (size_t n = 3; n < v.size(); ++n)
      out_ += (n == 3 ? " carry " : ", ") + number(arguments[n - 2]) + " = " + operand(v[n]);
    if (i.bits) out_ += " once";
  }

  void region(const Region& r, int indent) {
    for (const uint32_t index : r.instructions) {
      const Instruction& i = k_.instructions[index];
      out_.append(static_cast<size_t>(2 * indent), ' ');
      head(i);
      if (i.code == Code::Loop || i.code == Code::If) {
        out_ += " {\n";
        region(k_.regions[i.regions[0]], indent + 1);
        out_.append(static_cast<size_t>(2 * indent), ' ');
        out_ += '}';
      }
      if (i.code == Code::If) {
        out_ += " else {\n";
        region(k_.regions[i.regions[1]], indent + 1);
        out_.append(static_cast<size_t>(2 * indent), ' ');
        out_ += '}';
      }
      out_ += '\n';
    }
  }

  const Kernel& k_;
  std::vector<uint32_t> numbers_;
  uint32_t next_ = 0;
  std::string out_;
};

}  // namespace

std::string to_string(const Kernel& kernel) { return Printer(kernel, true).kernel(); }
std::string comment_text(const std::string& name) {
  std::string text = name.substr(0, 200);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\\' || c == '?' || c == 127) c = '_';
  return text;
}

std::string print_instruction(const Kernel& kernel, const Instruction& i) { return Printer(kernel, false).line(i); }

void check_text_size(const Kernel& kernel, size_t bytes) {
  if (bytes <= kMaxTextBytes) return;
  throw UnsupportedError(Finding{.where = "kernel " + kernel.name,
                                 .what = "a formula is too long for one kernel",
                                 .excerpt = {},
                                 .got = fmt::format("{} bytes of text", bytes),
                                 .expected = fmt::format("at most {}", kMaxTextBytes),
                                 .fix = "give a part of it a name of its own",
                                 .from = {}});
}

}  // namespace frit::kernel
