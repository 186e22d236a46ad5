#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "codegen/kernel/builder.h"
#include "codegen/sample_kernels.h"
#include "golden.h"
#include "support/error.h"

namespace frit::testing {
namespace {

TEST(KernelText, ReadsBackWhatItPrints) {
  for (const Kernel& k :
       {scale_kernel(), product_kernel(4, 2, 16), row_sum_kernel(), permute_kernel(), select_kernel()}) {
    const std::string text = to_string(k);
    EXPECT_EQ(to_string(kernel::parse_kernel(text)), text);
  }
}

TEST(KernelText, IsGolden) {
  expect_golden("kernel/scale.kernel", to_string(scale_kernel()));
  expect_golden("kernel/row_sum.kernel", to_string(row_sum_kernel()));
}

TEST(KernelText, KeepsEveryConstant) {
  Builder b("constants \"quoted\"\nname");
  const int y = b.add_buffer({"y", DType::F64, true});
  for (const double value : {0.0, -0.0, 0.1, 1e300, 5e-324, HUGE_VAL, -HUGE_VAL})
    b.store(b.buffer(y), b.constant(scalar(DType::F64), value));
  for (const uint64_t bits : {0x7fc00000u, 0x7f800001u, 0xff800000u, 0x80000000u, 1u, 0x3dcccccdu})
    b.store(b.buffer(y), b.constant_bits(vector_of(DType::F32, 4), bits));
  for (const int64_t value : {int64_t{-1}, INT64_MIN, INT64_MAX})
    for (const DType d : {DType::I8, DType::U8, DType::I64, DType::U64})
      b.store(b.buffer(y), b.integer(scalar(d), value));
  b.store(b.buffer(y), b.constant_bits(scalar(DType::F16), 0x3c00));
  const std::string text = to_string(b.finish());
  EXPECT_EQ(to_string(kernel::parse_kernel(text)), text);
}

TEST(KernelParser, SaysWhereAndWhat) {
  const struct {
    const char *body, *says;
  } rows[] = {
      {"%0: f32 = load buf1 align 4", "no such buffer"},
      {"%0: f32 = neg %1", "value is not defined"},
      {"%0: f32 = exp 1:f32", "no instruction of this name"},
      {"%0: f99 = neg 1:f32", "no type"},
      {"%0: f32 = neg x:f32", "no constant of f32"},
      {"store buf0, 1:f32 align 3", "alignment"},
      {"%0: f32 = store buf0, 1:f32 align 4", "wrong number of results"},
      {"if 1:bool { yield } else { }", "a region without yield"},
      {"loop %0 = 0:i64 to 1:i64 step 1:i64 carry %1 = 0:f32 { yield }", "wrong number of values"},
      {"yield", "no instruction of this name"},
      {"store buf0, 1:f32 align 4 } trailing {", "text after the kernel"},
      {"loop %0 = 0:i64 to 1:i64 step 1:i64 {", "a region without yield"},
      {"store buf0, 1:f32 align 4", ""},
  };
  for (const auto& row : rows) {
    const std::string text = std::string("kernel \"k\" { buffer \"y\" f32 written align 4\n") + row.body + "\n}";
    try {
      kernel::parse_kernel(text);
      EXPECT_STREQ(row.says, "") << row.body;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(row.says), std::string::npos) << row.body << "\n" << error.what();
      EXPECT_STRNE(row.says, "") << error.what();
    }
  }
}

TEST(KernelParser, RefusesDeepNesting) {
  std::string text = "kernel \"k\" {";
  for (int n = 0; n < 10000; ++n) text += "if 1:bool {\n";
  EXPECT_THROW(kernel::parse_kernel(text), InputError);
}

TEST(KernelParser, SurvivesDamagedTexts) {
  std::mt19937 random(7);
  int accepted = 0;
  for (const Kernel& k :
       {scale_kernel(), product_kernel(2, 1, 4), row_sum_kernel(), permute_kernel(), select_kernel()}) {
    const std::string text = to_string(k);
    for (int n = 0; n < 2000; ++n) {
      std::string damaged = text;
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          damaged[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          damaged.erase(at, random() % 20);
          break;
        case 2:
          damaged.insert(at, text.substr(random() % text.size(), random() % 20));
          break;
        default:
          damaged[at] = text[random() % text.size()];
          break;
      }
      try {
        const Kernel read = kernel::parse_kernel(damaged);
        EXPECT_EQ(to_string(kernel::parse_kernel(to_string(read))), to_string(read)) << damaged;
        ++accepted;
      } catch (const InputError&) {
      }
    }
  }
  EXPECT_GT(accepted, 100);  // damage in a name or a constant is a kernel still
}

TEST(KernelVerifier, ListsWhatIsWrong) {
  const struct {
    const char *body, *says;
  } rows[] = {
      {"%0: f32 = add 1:f32, 1:i32", "operands differ in type"},
      {"%0: f32x4 = add 1:f32x8, 1:f32x8", "wrong result type"},
      {"%0: f32 = and 1:f32, 1:f32", "not an operation of f32"},
      {"%0: i32 = div 1:i32, 1:i32", "not an operation of i32"},
      {"%0: bool = lt 1:bool, 1:bool", "not an operation of bool"},
      {"%0: f32 = load 0:i64 align 4", "address is no pointer"},
      {"%0: bool = load buf0 align 1", "a bool is stored as u8"},
      {"store buf1, 1:f32 align 4", "buffer is not written"},
      {"%0: f64 = cast 0x3c00:f16", "a 16-bit float converts to f32 only"},
      {"%0: f32 = masked_load buf0, 1:bool, 0:f32 align 4", "one lane under a mask is an if"},
      {"%0: f32x4 = gather buf0, 0:i32x4, 1:boolx4, 0:f32x4 align 4", "offsets are no i64"},
      {"%0: f32 = extract 1:f32x4 lane 4", "lane of a vector"},
      {"%0: f32x2 = shuffle 1:f32x4, 1:f32x4 mask 0 8", "mask out of range"},
      {"loop %0 = 0:i64 to 1:i64 step 0:i64 {\n yield\n}", "step is not positive"},
      {"if 1:bool {\n %1: f32 = neg 1:f32\n yield\n} else {\n yield\n}\n store buf0, %1 align 4", "not defined here"},
      {"%0: f32 = if 1:bool {\n yield 1:f32\n} else {\n yield 1:f64\n}", "types differ"},
  };
  for (const auto& row : rows) {
    const std::string text =
        std::string("kernel \"k\" { buffer \"y\" f32 written align 4\n buffer \"x\" f32 align 4\n") + row.body + "\n}";
    try {
      kernel::parse_kernel(text);
      ADD_FAILURE() << row.body;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(row.says), std::string::npos) << row.body << "\n" << error.what();
    }
  }
}

TEST(KernelBuilder, FoldsIntegersAndNothingElse) {
  Builder b("fold");
  b.add_dim("n");
  const Value n = b.dim(0), x = b.f32(1);
  const struct {
    Value got, expected;
  } rows[] = {
      {b.add(n, b.i64(0)), n},
      {b.mul(n, b.i64(1)), n},
      {b.mul(b.i64(0), n), b.i64(0)},
      {b.sub(b.i64(7), b.i64(9)), b.i64(-2)},
      {b.trunc_div(b.i64(-7), b.i64(2)), b.i64(-3)},
      {b.lt(b.i64(-1), b.i64(0)), b.boolean(true)},
      {b.lt(b.integer(scalar(DType::U64), -1), b.integer(scalar(DType::U64), 0)), b.boolean(false)},
      {b.add(b.integer(scalar(DType::I8), 127), b.integer(scalar(DType::I8), 1)), b.integer(scalar(DType::I8), -128)},
      {b.select(b.boolean(true), n, b.i64(3)), n},
      {b.logical_and(b.boolean(true), b.lt(n, b.i64(3))), b.lt(n, b.i64(3))},
      {b.add(n, b.i64(5)), b.add(n, b.i64(5))},  // shared
      {b.splat(b.i64(3), 4), b.integer(vector_of(DType::I64, 4), 3)},
      {b.ptr_add(b.scratch(), int64_t{0}), b.scratch()},
  };
  for (size_t k = 0; k < std::size(rows); ++k) EXPECT_EQ(rows[k].got, rows[k].expected) << "row " << k;
  EXPECT_NE(b.add(x, x), b.add(x, x));
  EXPECT_FALSE(b.kernel().is_constant(b.mul(b.f32(2), b.f32(3))));
  EXPECT_FALSE(b.is_constant(b.trunc_div(b.i64(1), b.i64(0))));
}

TEST(KernelBuilder, HoistsByHandAndOnDemand) {
  Builder b("hoist");
  b.add_dim("n");
  const int y = b.add_buffer({"y", DType::I64, true});
  b.set_hoist_integers(true);
  const auto outer = b.begin_loop(b.i64(0), b.dim(0), b.i64(1));
  const auto inner = b.begin_loop(b.i64(0), b.dim(0), b.i64(1));
  EXPECT_EQ(b.depth_of(b.mul(b.dim(0), b.i64(3))), 0);
  EXPECT_EQ(b.depth_of(b.mul(outer.i, b.i64(3))), 1);
  const Value sum = b.add(inner.i, b.mul(outer.i, b.i64(3)));
  EXPECT_EQ(b.depth_of(sum), 2);
  const Value early = b.at_depth(0, [&] { return b.load(scalar(DType::I64), b.buffer(y)); });
  EXPECT_EQ(b.depth_of(early), 0);
  b.store(b.buffer(y), b.add(sum, early));
  b.end_loop();
  b.end_loop();
  const Kernel k = b.finish();
  EXPECT_EQ(k.body().instructions.size(), 3u);  // the product, the load, the loop
}

TEST(KernelBuilder, FindsItsOwnFaults) {
  {
    Builder b("open");
    b.begin_if(b.boolean(true));
    EXPECT_THROW(b.finish(), InternalError);
  }
  {
    Builder b("types");
    b.arith(Op::Add, {b.f32(1), b.i64(1)});
    EXPECT_THROW(b.finish(), InternalError);
  }
  Builder b("expanded before");
  EXPECT_THROW(b.arith(Op::Exp, {b.f32(1)}), InternalError);
}

}  // namespace
}  // namespace frit::testing
