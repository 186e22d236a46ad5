// Offsets above 2^31: tensors of more than 2 GiB whose memory is touched where it is read only.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "compiler/differential.h"
#include "ir/analysis.h"

namespace frit::testing {
namespace {

/// Zeros that take no memory before they are written.
Array sparse_zeros(DType dtype, const std::vector<int64_t>& shape) {
  const size_t bytes = static_cast<size_t>(element_count(shape)) * static_cast<size_t>(size_bytes(dtype));
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return {};
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  return {dtype, shape, memory,
          std::shared_ptr<const void>(memory, [bytes](const void* p) { munmap(const_cast<void*>(p), bytes); })};
}

/// Element `at` of what `sparse_zeros` gave.
template <class T>
T& element(const Array& array, int64_t at) {
  return const_cast<T*>(array.as<T>())[at];
}

std::vector<Array> run(const std::string& isa, const std::string& text, const std::vector<Array>& inputs) {
  std::vector<OperandSpec> operands;
  for (const Array& input : inputs) operands.push_back(of(input.dtype(), input.shape()));
  const Graph graph = graph_of({"", text, "f", operands, {}});
  return Program::compile(graph, {caches().at(isa).get(), nullptr, false})->run(inputs);
}

const std::string& best_isa() {
  static const std::string name = caches().contains("avx512") ? "avx512" : caches().contains("avx2") ? "avx2" : "sse2";
  return name;
}

TEST(Index64, B059Gather) {
  const Array table = sparse_zeros(DType::U8, {262144, 8960});
  if (table.data() == nullptr) GTEST_SKIP() << "no address space";
  element<uint8_t>(table, 2147487999) = 7;
  element<uint8_t>(table, 2147487999 - 8959) = 5;
  Array rows(DType::I64, {3});
  rows.set_int(0, 239674);
  rows.set_int(2, 262143);
  for (const auto& [isa, cache] : caches()) {
    for (const char* text : {"def f(x[n, m], t[i]: int) y[i, m] = x[clamp(t[i], 0, n - 1), m]",
                             "def f(x[n, m], t[i]: int) y[i, m] = x[t[i], m] else 9",
                             "def f(x[n, m], t[i]: int) y[i, j < m] = x[clamp(t[i], 0, n - 1), m - 1 - (m - 1 - j)]"}) {
      const Array y = run(isa, text, {table, rows})[0];
      EXPECT_EQ(y.int_at(8959), 7) << isa << text;
      EXPECT_EQ(y.int_at(0), 5) << isa << text;
      EXPECT_EQ(y.int_at(8958), 0) << isa << text;
      EXPECT_EQ(y.int_at(3 * 8960 - 1), 0) << isa << text;
    }
  }
}

// Positions that are data in two axes, so that the flat offset is one of each lane.
TEST(Index64, B059GatherOfElements) {
  const Array table = sparse_zeros(DType::I32, {46341, 46341});
  if (table.data() == nullptr) GTEST_SKIP() << "no address space";
  Array rows(DType::I32, {37}), columns(DType::I32, {37});
  for (int64_t i = 0; i < 37; ++i) {
    rows.set_int(i, 46340 - i * 1250);
    columns.set_int(i, 46340 - i);
    element<int32_t>(table, rows.int_at(i) * 46341 + columns.int_at(i)) = static_cast<int32_t>(i) + 1;
  }
  for (const auto& [isa, cache] : caches()) {
    const Array y =
        run(isa, "def f(x[n, m], t[i]: int, u[i]: int) y[i] = x[t[i], u[i]] else -1", {table, rows, columns})[0];
    for (int64_t i = 0; i < 37; ++i) EXPECT_EQ(y.int_at(i), i + 1) << isa << ", element " << i;
  }
}

// B061: every element of just over 2^31, the last one too.
TEST(Index64, B061Elementwise) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{131072, 16384}, {4194305, 512}}) {
    const Array x = sparse_zeros(DType::I8, shape);
    if (x.data() == nullptr) GTEST_SKIP() << "no address space";
    const Array y = run(best_isa(), "def f(x) = x + 1", {x})[0];
    int64_t ones = 0;
    for (int64_t i = 0; i < y.size(); ++i) ones += y.as<int8_t>()[i] == 1;
    EXPECT_EQ(ones, y.size());
  }
}

TEST(Index64, B061Reduction) {
  const Array x = sparse_zeros(DType::I8, {4194305, 512});
  if (x.data() == nullptr) GTEST_SKIP() << "no address space";
  element<int8_t>(x, x.size() - 1) = 3;
  element<int8_t>(x, 0) = 4;
  EXPECT_EQ(run(best_isa(), "def f(x[n, m]) y[] = sum[n, m](i64(x[n, m]))", {x})[0].int_at(0), 7);
}

// B062: few elements, a stride beyond 2^30.
TEST(Index64, B062Strides) {
  const Array x = sparse_zeros(DType::U8, {3'000'000'001});
  if (x.data() == nullptr) GTEST_SKIP() << "no address space";
  for (int64_t i = 0; i < 3; ++i) element<uint8_t>(x, i * 1'500'000'000) = static_cast<uint8_t>(i + 1);
  for (const auto& [isa, cache] : caches()) {
    for (const char* text :
         {"def f(x[n]) y[i < 3] = x[i*1500000000]", "def f(x[n]) y[i < 3] = x[3000000000 - (2 - i)*1500000000]",
          "def f(x[n]) y[i < 3, j < 9] = x[i*1500000000]"}) {
      const Array y = run(isa, text, {x})[0];
      const int64_t columns = y.size() / 3;
      for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(y.int_at(i * columns), i + 1) << isa << " " << text;
    }
  }
}

// Index analysis alone: what the offsets can be is known without overflow.
TEST(Index64, RangesAreOfInt64) {
  IndexAnalysis analysis(std::vector<Axis>{{"i", index_constant(262144)}, {"j", index_constant(8960)}});
  const Range flat = analysis.range(index(0) * index_constant(8960) + index(1));
  EXPECT_EQ(flat.low, 0);
  EXPECT_EQ(flat.high, int64_t{262144} * 8960 - 1);
}

}  // namespace
}  // namespace frit::testing
