// Random numbers: Philox against a definition of its own and published values, dropout against the faults of others.
#include <fmt/format.h>

#include <array>
#include <set>

#include "compiler/differential.h"
#include "compiler/passes/gradient.h"

namespace frit::testing {
namespace {

using enum DType;
using Words = std::array<uint32_t, 4>;

// Philox4x32-10 of Salmon and others (2011), written from the paper.
Words philox(Words counter, uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0], b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ k0, static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return counter;
}

// LANGUAGE.md, section 9.
uint32_t word(uint64_t seed, uint64_t c) {
  const uint64_t block = c / 4;
  return philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0}, static_cast<uint32_t>(seed),
                static_cast<uint32_t>(seed >> 32))[c % 4];
}
double uniform(uint64_t seed, uint64_t c) { return (word(seed, c) >> 8) * 0x1p-24; }

Array seed_array(uint64_t seed) {
  Array array(U64, {});
  array.set_int(0, static_cast<int64_t>(seed));
  return array;
}

Array filled_array(const std::vector<int64_t>& shape, double value) {
  Array array(F32, shape);
  for (int64_t i = 0; i < array.size(); ++i) array.set_float(i, value);
  return array;
}

// Programs of one graph for every instruction set and some numbers of threads.
template <class Visit>
void for_each_program(const Graph& graph, const std::vector<int>& threads, Visit visit) {
  for (const auto& [isa, cache] : caches()) {
    for (const int n : threads) {
      SCOPED_TRACE(isa + ", " + std::to_string(n) + " threads");
      runtime::Workers workers(n);
      visit(*Program::compile(graph, {cache.get(), &workers, false}));
    }
  }
}

Graph dropout_graph(const std::vector<int64_t>& shape) {
  return graph_of({"dropout", "", "dropout", {f32(shape), of(U64, {})}, {}});
}

std::string bits_of(const Array& array) { return {reinterpret_cast<const char*>(array.data()), array.size_bytes()}; }

// The known answers that come with the reference implementation.
TEST(RandomNumbers, ThePaperIsReadRight) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, ones, ones), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomNumbers, UniformIsItsDefinition) {
  const Graph graph = graph_of({"uniform",
                                "def f(seed[]: u64, x[n]) y[i < n] = uniform(seed, index(i) * 4294967291 + 3)",
                                "f",
                                {of(U64, {}), f32({1003})},
                                {}});
  for_each_program(graph, {1, 2}, [&](const Program& program) {
    for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{0xdeadbeefcafe1234}, ~uint64_t{0}}) {
      const Array got = program.run(std::vector<Array>{seed_array(seed), filled_array({1003}, 0)})[0];
      for (int64_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got.float_at(i), uniform(seed, static_cast<uint64_t>(i) * 4294967291u + 3)) << seed << ", " << i;
    }
  });
}

TEST(RandomNumbers, NormalIsItsDefinition) {
  const Graph graph = graph_of(
      {"normal", "def f(seed[]: u64, x[n]) y[i < n] = normal(seed, index(i))", "f", {of(U64, {}), f32({1003})}, {}});
  for_each_program(graph, {1, 2}, [&](const Program& program) {
    const uint64_t seed = 0x123456789abcdef;
    const Array got = program.run(std::vector<Array>{seed_array(seed), filled_array({1003}, 0)})[0];
    for (int64_t i = 0; i < got.size(); ++i) {
      const auto c = static_cast<uint64_t>(i);
      const double u = uniform(seed, 2 * c), v = uniform(seed, 2 * c + 1);
      const double want = std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * M_PI * v);
      ASSERT_NEAR(got.float_at(i), want, 4e-6) << i;
    }
  });
}

TEST(RandomNumbers, B197CallsHaveMasksOfTheirOwn) {
  for_each_program(dropout_graph({1024}), {1, 2}, [&](const Program& program) {
    const Array ones = filled_array({1024}, 1);
    std::set<std::string> masks;
    for (const uint64_t seed : {1, 2, 3}) {
      const Array y = program.run(std::vector<Array>{ones, seed_array(seed)})[0];
      int zeros = 0;
      for (int64_t i = 0; i < y.size(); ++i) {
        ASSERT_TRUE(y.float_at(i) == 0 || y.float_at(i) == 2) << y.float_at(i);
        zeros += y.float_at(i) == 0;
      }
      EXPECT_GE(zeros, 400);
      EXPECT_LE(zeros, 624);
      masks.insert(bits_of(y));
      EXPECT_EQ(bits_of(program.run(std::vector<Array>{ones, seed_array(seed)})[0]), bits_of(y)) << "of one seed";
    }
    EXPECT_EQ(masks.size(), 3u);
  });
}

// Forward and backward are one stream, also where the result is stored in another order; groups of four differ.
TEST(RandomNumbers, B199BackwardHasTheMaskOfForward) {
  const std::vector<int64_t> shape{8, 64, 4096};
  const char* texts[] = {
      "def f(x[a, b, c], seed[]: u64) { y = dropout(x, seed)  z[] = sum[a, b, c](y[a, b, c])  return y, z }",
      "def f(x[a, b, c], seed[]: u64) { t[a, c, b] = x[a, b, c]  d = dropout(t, seed)  "
      "y[a, b, c] = d[a, c, b]  z[] = sum[a, b, c](y[a, b, c])  return y, z }"};
  for (const char* text : texts) {
    Graph graph = graph_of({"dropout", text, "f", {f32(shape), of(U64, {})}, {}});
    const Value one = graph.add_constant(filled_array({}, 1));
    const std::vector<Seed> seeds{{graph.outputs()[1].value, one}};
    const std::vector<Value> wrt{{graph.input_nodes()[0], 0}};
    graph.add_output("dx", add_gradients(graph, seeds, wrt)[0]);
    for_each_program(graph, {2}, [&](const Program& program) {
      const std::vector<Array> got = program.run(std::vector<Array>{filled_array(shape, 1), seed_array(7)});
      const auto* y = reinterpret_cast<const float*>(got[0].data());
      const auto* dx = reinterpret_cast<const float*>(got[2].data());
      int64_t different = 0, equal_groups = 0;
      const int64_t n = got[0].size();
      for (int64_t i = 0; i < n; ++i) different += y[i] != dx[i] || (y[i] != 0 && y[i] != 2);
      for (int64_t i = 0; i < n; i += 4) equal_groups += y[i] == y[i + 1] && y[i] == y[i + 2] && y[i] == y[i + 3];
      EXPECT_EQ(different, 0);
      EXPECT_NEAR(static_cast<double>(equal_groups) / static_cast<double>(n / 4), 0.125, 0.01);
    });
  }
}

TEST(RandomNumbers, B200ThreadsDoNotRepeat) {
  const int64_t n = 1'000'000, chunk = n / 4;
  std::map<uint64_t, std::string> masks;
  for_each_program(dropout_graph({n}), {1, 2, 4, 7}, [&](const Program& program) {
    std::set<std::string> chunks;
    for (const uint64_t seed : {11, 12}) {
      const std::string bits = bits_of(program.run(std::vector<Array>{filled_array({n}, 1), seed_array(seed)})[0]);
      const auto [known, is_new] = masks.emplace(seed, bits);
      EXPECT_TRUE(known->second == bits) << "seed " << seed;
      for (int64_t c = 0; c < 4; ++c)
        chunks.insert(bits.substr(static_cast<size_t>(c * chunk) * 4, static_cast<size_t>(chunk) * 4));
    }
    EXPECT_EQ(chunks.size(), 8u);
  });
}

}  // namespace
}  // namespace frit::testing
