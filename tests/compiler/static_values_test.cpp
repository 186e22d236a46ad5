// What is worked out when compiled equals what is computed: random formulas of numbers as static values, as typed
// constants that are folded, in the interpreter and on every instruction set.
#include <fmt/format.h>

#include <cstdlib>
#include <random>

#include "compiler/differential.h"

namespace frit::testing {
namespace {

using enum DType;

/// A formula over its numbers, which are written by `leaf`; the same seed gives the same formula.
class RandomFormula {
 public:
  RandomFormula(uint64_t seed, DType dtype) : random_(seed), dtype_(dtype) { text_ = formula(3); }

  std::vector<std::string> numbers;

  /// The text with leaf(k) in place of number k.
  template <class Leaf>
  std::string with(Leaf leaf) const {
    std::string out;
    for (size_t at = 0; at < text_.size(); ++at) {
      if (text_[at] != '$') {
        out += text_[at];
        continue;
      }
      const size_t end = text_.find('$', at + 1);
      out += leaf(std::stoul(text_.substr(at + 1, end - at - 1)));
      at = end;
    }
    return out;
  }

 private:
  size_t number(size_t below) { return random_() % below; }

  // Floats are multiples of 1/4, small enough for every sum and product of a formula to be exact.
  std::string leaf() {
    static const int64_t ends[] = {0, 1, -1, 2, -2, 3, 5, -7, 63, 64, -64, 127, -128, 255, 32767, -32768};
    std::string value;
    if (is_float(dtype_)) {
      value = fmt::format("{:.2f}", (static_cast<double>(number(29)) - 14) / 4);
    } else if (number(6) == 0) {
      const int bits = 8 * size_bytes(dtype_) - (is_signed(dtype_) ? 1 : 0);
      const uint64_t high = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
      const int64_t low = is_signed(dtype_) ? -static_cast<int64_t>(high) - 1 : 0;
      value = number(2) && low    ? fmt::format("{}", low)
              : is_signed(dtype_) ? fmt::format("{}", high)
                                  : fmt::format("{:#x}", high);
    } else {
      int64_t v = number(2) ? ends[number(std::size(ends))] : static_cast<int64_t>(number(41)) - 20;
      if (!is_signed(dtype_)) v = std::abs(v);
      if (size_bytes(dtype_) == 1) v = is_signed(dtype_) ? static_cast<int8_t>(v) : static_cast<uint8_t>(v);
      value = std::to_string(v);
    }
    numbers.push_back(value);
    return fmt::format("${}$", numbers.size() - 1);
  }

  std::string formula(int depth) {
    if (depth == 0 || number(7) == 0) return leaf();
    const std::string a = formula(depth - 1);
    static const char* const both[] = {"({} + {})",    "({} - {})",    "({} * {})",    "({} // {})",  "({} % {})",
                                       "tdiv({}, {})", "tmod({}, {})", "cdiv({}, {})", "min({}, {})", "max({}, {})"};
    static const char* const integer[] = {"({} & {})",  "({} | {})",  "({} ^ {})",
                                          "({} << {})", "({} >> {})", "pow({}, {})"};
    const bool whole = is_integer(dtype_);
    switch (number(10)) {
      case 0:
        return fmt::format("{}({})", number(2) ? "abs" : "sign", a);
      case 1:
        if (whole) return (is_signed(dtype_) && number(2) ? "(-" : "(~") + a + ")";
        return fmt::format("{}({})", std::vector{"floor", "ceil", "trunc", "round"}[number(4)], a);
      case 2: {
        static const char* const signs[] = {"<", "<=", "==", "!=", ">", ">="};
        const std::string b = formula(depth - 1), c = formula(depth - 1);
        return fmt::format("select({} {} {}, {}, {})", a, signs[number(6)], b, c, a);
      }
      case 3:
      case 4:
      case 5:
        if (whole) return fmt::format(fmt::runtime(integer[number(6)]), a, formula(depth - 1));
        [[fallthrough]];
      default: {
        // The remainder of f64 is a long text.
        size_t chosen = number(10);
        if ((chosen == 4 || chosen == 6) && ++remainders_ > 2) chosen = 3;
        return fmt::format(fmt::runtime(both[chosen]), a, formula(depth - 1));
      }
    }
  }

  std::mt19937_64 random_;
  DType dtype_;
  int remainders_ = 0;
  std::string text_;
};

// A result is the same number however it came about.
void check_same(uint64_t seed, DType dtype) {
  const RandomFormula formula(seed, dtype);
  const std::string type(name(dtype));
  std::string operands;
  for (size_t k = 0; k < formula.numbers.size(); ++k) operands += fmt::format("{}a{}[n]", k ? ", " : "", k);
  const std::string run_time =
      fmt::format("def f({}) y[n] = {}", operands, formula.with([](size_t k) { return fmt::format("a{}[n]", k); }));
  const auto typed = formula.with([&](size_t k) { return fmt::format("{}({})", type, formula.numbers[k]); });
  const std::string folded = fmt::format("def f(x[n]) y[n] = {}", typed);
  const std::string weak = fmt::format("def f(x[n]) y[n] = {}({})", type,
                                       formula.with([&](size_t k) { return "(" + formula.numbers[k] + ")"; }));
  SCOPED_TRACE(fmt::format("seed {}: {}", seed, run_time));
  SCOPED_TRACE(weak);

  std::vector<Array> inputs;
  std::vector<OperandSpec> specs;
  for (const std::string& text : formula.numbers) {
    Array array(dtype, {1});
    if (is_float(dtype))
      array.set_float(0, std::stod(text));
    else
      array.set_int(0,
                    dtype == U64 ? static_cast<int64_t>(std::stoull(text, nullptr, 0)) : std::stoll(text, nullptr, 0));
    specs.push_back(of(dtype, {1}));
    inputs.push_back(std::move(array));
  }
  const auto result_of = [&](const std::string& text, const std::vector<OperandSpec>& operands_of_text,
                             const std::vector<Array>& arrays, const char* how, ReferenceTensor* want) {
    SCOPED_TRACE(how);
    const Graph graph = graph_of({"", text, "f", operands_of_text, {}});
    std::map<std::string, Array> named;
    for (size_t i = 0; i < arrays.size(); ++i) named["x" + std::to_string(i)] = arrays[i];
    const ReferenceTensor value = interpret(graph, named)[0];
    if (want->shape.empty()) *want = value;
    ASSERT_EQ(name(value.dtype), name(want->dtype));
    if (is_float(dtype)) {
      ASSERT_TRUE(value.values[0] == want->values[0] || (std::isnan(value.values[0]) && std::isnan(want->values[0])))
          << value.values[0] << " and " << want->values[0];
    } else {
      ASSERT_EQ(value.integers[0], want->integers[0]);
    }
    for (const auto& [isa, cache] : caches()) {
      const Array got = Program::compile(graph, {cache.get(), nullptr, false})->run(arrays)[0];
      ASSERT_EQ(compare(got, *want), "") << isa;
    }
  };
  try {
    ReferenceTensor want;
    result_of(run_time, specs, inputs, "run time", &want);
    const std::vector<Array> one{Array(F32, {1})};
    result_of(folded, {f32({1})}, one, "folded", &want);
    if (dtype != I64 && dtype != F64) return;  // static values are computed in these
    try {
      result_of(weak, {f32({1})}, one, "static", &want);
    } catch (const InputError& error) {
      // Where a typed value wraps, a static one is an error.
      EXPECT_NE(std::string(error.what()).find("does not fit i64"), std::string::npos) << error.what();
    }
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
}

// FRIT_TEST_SEED starts elsewhere, FRIT_TEST_COUNT runs more.
TEST(StaticValues, AreThoseOfRunTime) {
  const char* from = std::getenv("FRIT_TEST_SEED");
  const char* number = std::getenv("FRIT_TEST_COUNT");
  const uint64_t first = from ? std::strtoull(from, nullptr, 10) : 1;
  const uint64_t count = number ? std::strtoull(number, nullptr, 10) : 12;
  for (const DType dtype : {I8, I16, I32, I64, U8, U16, U32, U64, F32, F64})
    for (uint64_t seed = first; seed < first + count * (dtype == I64 || dtype == F64 ? 3 : 1); ++seed)
      check_same(seed, dtype);
}

}  // namespace
}  // namespace frit::testing
