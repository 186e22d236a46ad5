// Scatters and sorts as kernels: they agree with the definition on every instruction set, on one and two threads, and
// keep the promises of kernels.
#include <fmt/format.h>

#include "build_runner.h"
#include "compiler/differential.h"
#include "compiler/passes/pipeline.h"

namespace frit::testing {
namespace {

struct GraphRow {
  std::string name;
  std::string graph;
  Fill fill = Fill::Plain;
};

std::map<std::string, Array> named(const Graph& graph, const std::vector<Array>& inputs) {
  std::map<std::string, Array> all;
  const std::vector<int> nodes = graph.input_nodes();
  for (size_t i = 0; i < nodes.size(); ++i) all[std::get<Input>(graph.node(nodes[i]).payload).name] = inputs[i];
  return all;
}

// By the checked runner: inside buffers, no two tiles on one byte, no scratch read before it is written.
void check_promises(const Graph& graph, const std::vector<Array>& inputs, const std::vector<ReferenceTensor>& want) {
  CheckedRunner runner;
  for (const char* machine : {"sse2", "avx2", "avx512"}) {
    const std::vector<Array> got = run_build(build(graph, machine_named(machine)), runner, inputs);
    ASSERT_EQ(got.size(), want.size());
    for (size_t r = 0; r < got.size(); ++r) EXPECT_EQ(compare(got[r], want[r]), "") << machine << ", result " << r;
  }
}

void check_graph(const GraphRow& row) {
  SCOPED_TRACE(row.name);
  try {
    const Graph graph = parse_graph(row.graph);
    const std::vector<Array> inputs = make_inputs(graph, row.fill);
    const std::vector<ReferenceTensor> want = interpret(graph, named(graph, inputs));
    EXPECT_EQ(disagreement(graph, inputs, want), "");
    check_promises(graph, inputs, want);
  } catch (const Error& error) {
    ADD_FAILURE() << error.what() << "\n" << row.graph;
  }
}

const std::vector<int64_t> kSizes = {0, 1, 2, 7, 16, 17, 33, 129};

// One element at a time, at positions of data: duplicates, negative ones and those beyond are among them.
TEST(OrderKernels, ScatterElements) {
  for (const int64_t n : kSizes)
    for (const char* op : {"set", "add", "mul", "max", "min"})
      check_graph({fmt::format("{} {}", op, n),
                   fmt::format(R"(%0 = input f32[9] "y"
%1 = input i32[{0}] "t"
%2 = input f32[{0}] "u"
%3 = scatter f32[9] reads %0, %1, %2 (i < {0}) [i64(x1[i])] {1} x2[i]
output "y" = %3)",
                               n, op),
                   Fill::Index});
}

// The last axis is named by itself: vectors and slabs; the first by data.
TEST(OrderKernels, ScatterRows) {
  for (const int64_t n : kSizes)
    for (const char* op : {"set", "add"})
      check_graph({fmt::format("{} {}", op, n),
                   fmt::format(R"(%0 = input f32[8, {0}] "y"
%1 = input i64[13] "t"
%2 = input f32[13, {0}] "u"
%3 = scatter f32[8, {0}] reads %0, %1, %2 (i < 13, d < {0}) [x1[i], d] {1} x2[i, d]
output "y" = %3)",
                               n, op),
                   Fill::Index});
}

TEST(OrderKernels, ScatterAlongTheLastAxis) {
  for (const int64_t n : kSizes)
    check_graph({fmt::format("{}", n),
                 fmt::format(R"(%0 = input f32[{0}, 8] "y"
%1 = input i64[{0}, 13] "t"
%2 = input f32[{0}, 13] "u"
%3 = scatter f32[{0}, 8] reads %0, %1, %2 (b < {0}, i < 13) [b, x1[b, i]] add x2[b, i]
output "y" = %3)",
                             n),
                 Fill::Index});
}

// Positions that differ from lane to lane of a vector.
TEST(OrderKernels, ScatterByLanes) {
  for (const int64_t n : kSizes)
    check_graph({fmt::format("{}", n),
                 fmt::format(R"(%0 = input f32[8, {0}] "y"
%1 = input i64[13, {0}] "t"
%2 = input f32[13, {0}] "u"
%3 = scatter f32[8, {0}] reads %0, %1, %2 (i < 13, d < {0}) [x1[i, d], d] add x2[i, d]
output "y" = %3)",
                             n),
                 Fill::Index});
}

TEST(OrderKernels, ScatterDtypes) {
  for (const char* dtype : {"f32", "f64", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"})
    for (const char* op : {"set", "add", "mul", "max", "min"})
      for (const int64_t n : {1, 40}) {
        const std::string value = std::string_view(dtype).ends_with("f16") ? "f32" : dtype;
        check_graph({fmt::format("{} {} {}", dtype, op, n),
                     fmt::format(R"(%0 = input {0}[8, {2}] "y"
%1 = input i64[13] "t"
%2 = input {0}[13, {2}] "u"
%3 = scatter {0}[8, {2}] reads %0, %1, %2 (i < 13, d < {2}) [x1[i], d] {1} x2[i, d]
output "y" = %3)",
                                 dtype, op, n),
                     Fill::Index});
      }
  check_graph({"bool", R"(%0 = input bool[8, 40] "y"
%1 = input i64[13] "t"
%2 = input bool[13, 40] "u"
%3 = scatter bool[8, 40] reads %0, %1, %2 (i < 13, d < 40) [x1[i], d] set x2[i, d]
output "y" = %3)",
               Fill::Index});
}

// 2048 + 1 is 2048 in f16, and 256 + 1 is 256 in bf16: only sums that are rounded once get further.
TEST(OrderKernels, SumsOf16BitsAreRoundedOnce) {
  struct Row {
    const char* dtype;
    double start, want;
  };
  for (const Row& row : {Row{"f16", 2048, 2052}, Row{"bf16", 256, 260}}) {
    const Graph graph = parse_graph(fmt::format(R"(%0 = input {0}[1] "x"
%1 = scatter {0}[1] reads %0 (i < 5) [0] add 1.0
output "y" = %1)",
                                                row.dtype));
    Array x(graph.node(0).results[0].dtype, {1});
    x.set_float(0, row.start);
    CheckedRunner runner;
    for (const char* machine : {"sse2", "avx2", "avx512"})
      EXPECT_EQ(run_build(build(graph, machine_named(machine)), runner, {x})[0].float_at(0), row.want) << machine;
  }
}

// A base that is computed goes into the kernel, as do values that are computed elsewhere and read once.
TEST(OrderKernels, ProducersAreInlined) {
  const GraphRow row{"inlined", R"(%0 = input f32[40] "x"
%1 = input i64[40] "t"
%2 = compute f32[9] (i < 9) -> 2.0 [i]
%3 = compute f32[40] reads %0 (i < 40) -> x0[i]*x0[i] + 1.0 [i]
%4 = scatter f32[9] reads %2, %1, %3 (i < 40) [x1[i]] add x2[i]
output "y" = %4)",
                     Fill::Index};
  check_graph(row);
  EXPECT_EQ(build(parse_graph(row.graph), machine_named("avx2"), BuildStage::Places).grouping.groups.size(), 1u);
}

// What a copy is made of is the base itself; what writes nothing is its base.
TEST(OrderKernels, Simplified) {
  check_graph({"copied base", R"(%0 = input f32[3, 4] "x"
%1 = compute f32[3, 4] reads %0 (i < 3, j < 4) -> x0[i, j] [i, j]
%2 = scatter f32[3, 4] reads %1 (i < 3) [i, 3 - i] set x0[2 - i, i]
output "y" = %2)"});
  const Graph none = optimize(parse_graph(R"(%0 = input f32[3] "x"
%1 = scatter f32[3] reads %0 (i < 3, j < 0) [i] set 1.0
output "y" = %1)"));
  EXPECT_EQ(none.nodes().size(), 1u) << to_string(none);
}

// Elements of the base are read as they were before, also where they are written.
TEST(OrderKernels, ValuesReadTheVersionBefore) {
  for (const int64_t n : {5, 40, 300})
    check_graph({fmt::format("{}", n), fmt::format(R"(%0 = input f32[{0}] "x"
%1 = compute f32[{0}] reads %0 (i < {0}) -> x0[i] + 1.0 [i]
%2 = scatter f32[{0}] reads %1 (i < {0}) [{0} - 1 - i] set x0[i]
%3 = scatter f32[{0}] reads %2 (i < {0}) [(i * 7) % {0}] add x0[(i + 1) % {0}]
output "y" = %3)",
                                                   n)});
}

// The second of two writes changes the result of the first where it is: one block, and nothing is copied twice.
TEST(OrderKernels, InPlace) {
  const GraphRow row{"in place", R"(%0 = input f32[300] "x"
%1 = input i64[40] "t"
%2 = scatter f32[300] reads %0, %1 (i < 40) [x1[i]] set 1.0
%3 = scatter f32[300] reads %2, %1 (i < 40) [x1[i] + 1] add 2.0
output "y" = %3)",
                     Fill::Index};
  check_graph(row);
  const Build built = build(parse_graph(row.graph), machine_named("avx2"), BuildStage::Places);
  EXPECT_EQ(built.places.of.at({2, 0}), built.places.of.at({3, 0}));
  EXPECT_EQ(built.places.blocks.size(), 3u) << to_string(built.places, built.graph);
  // Not where the version before is still wanted.
  for (const char* wanted :
       {"output \"z\" = %2", "%4 = view f32[300] reads %2 (i < 300) [299 - i]\noutput \"z\" = %4"}) {
    const GraphRow both{"both versions", row.graph + "\n" + wanted, Fill::Index};
    check_graph(both);
    const Build kept = build(parse_graph(both.graph), machine_named("avx2"), BuildStage::Places);
    EXPECT_NE(kept.places.of.at({2, 0}).block, kept.places.of.at({3, 0}).block);
  }
}

// Every bit is the same for any number of threads.
TEST(OrderKernels, AnyNumberOfThreads) {
  const GraphRow rows[] = {{"slabs", R"(%0 = input f32[50, 300] "y"
%1 = input i64[700] "t"
%2 = input f32[700, 300] "u"
%3 = scatter f32[50, 300] reads %0, %1, %2 (i < 700, d < 300) [x1[i] * 4, d] add x2[i, d]
output "y" = %3)",
                            Fill::Index},
                           {"ranges", R"(%0 = input f32[9000] "y"
%1 = input i64[70000] "t"
%2 = input f32[70000] "u"
%3 = scatter f32[9000] reads %0, %1, %2 (i < 70000) [(x1[i] + i * 12) % 9000] add x2[i]
output "y" = %3)",
                            Fill::Index},
                           {"sort", R"(%0 = input f32[9, 5000] "x"
%1 = sort f32[9, 5000], i64[9, 5000] reads %0 axis 1 descending
output "v" = %1
output "i" = %1.1)",
                            Fill::Special}};
  for (const GraphRow& row : rows) {
    const Graph graph = parse_graph(row.graph);
    const std::vector<Array> inputs = make_inputs(graph, row.fill);
    for (const auto& [isa, cache] : caches()) {
      std::vector<std::string> first;
      for (const int threads : {1, 2, 7}) {
        runtime::Workers workers(threads);
        const std::vector<Array> got = Program::compile(graph, {cache.get(), &workers, false})->run(inputs);
        std::vector<std::string> bytes;
        for (const Array& array : got)
          bytes.emplace_back(reinterpret_cast<const char*>(array.data()), array.size_bytes());
        if (first.empty()) first = bytes;
        EXPECT_TRUE(bytes == first) << row.name << ", " << isa << ", " << threads << " threads";
      }
    }
  }
}

TEST(OrderKernels, Sorts) {
  for (const char* dtype : {"f32", "f64", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool"})
    for (const char* order : {"ascending", "descending"})
      for (const int64_t n : {0, 1, 2, 3, 17, 64, 65})
        for (const int axis : {0, 1})
          check_graph({fmt::format("{} {} {}", dtype, order, n),
                       fmt::format(R"(%0 = input {0}[{1}, {2}] "x"
%1 = sort {0}[{1}, {2}], i64[{1}, {2}] reads %0 axis {3} {4}
output "v" = %1
output "i" = %1.1)",
                                   dtype, axis == 0 ? n : 3, axis == 0 ? 3 : n, axis, order),
                       Fill::Special});
}

}  // namespace
}  // namespace frit::testing
