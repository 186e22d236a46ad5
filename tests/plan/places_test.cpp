// Where tensors are: boxes of the arena, parts of a whole, views.
#include "compiler/plan/places.h"

#include <gtest/gtest.h>

#include "compiler/plan/arena.h"
#include "compiler/plan/build.h"
#include "compiler/plan/views.h"
#include "compiler/standard_library.h"

namespace frit {
namespace {

TEST(arena, boxes_alive_at_once_are_disjoint_and_bytes_are_used_again) {
  const std::vector<Life> lives = {{100, 0, 1}, {4000, 1, 2}, {100, 2, 3}, {64, 0, 3}, {0, 0, 3}, {5000, 3, 2}};
  const ArenaPlan plan = plan_arena(lives);
  for (size_t a = 0; a < lives.size(); ++a) {
    EXPECT_EQ(plan.offsets[a] % 64, 0);
    for (size_t b = a + 1; b < lives.size(); ++b) {
      const bool meet = lives[a].bytes > 0 && lives[b].bytes > 0 && lives[a].first <= lives[b].last &&
                        lives[b].first <= lives[a].last && lives[a].last >= lives[a].first &&
                        lives[b].last >= lives[b].first;
      if (!meet) continue;
      EXPECT_TRUE(plan.offsets[a] + lives[a].bytes <= plan.offsets[b] ||
                  plan.offsets[b] + lives[b].bytes <= plan.offsets[a])
          << a << " and " << b;
    }
  }
  EXPECT_EQ(plan.bytes, 4032 + 128 + 64);  // the first and the third share
}

View view_of(std::vector<int64_t> shape, std::vector<Expr> positions) {
  View view = identity_view(make_shape(shape));
  view.positions = std::move(positions);
  return view;
}

TEST(views, strides_say_what_they_can) {
  const Storage base = make_storage(DType::F32, {4, 6}, row_major(2));
  const auto transposed = view_storage(view_of({6, 4}, {index(1), index(0)}), base);
  ASSERT_TRUE(transposed);
  EXPECT_EQ(transposed->axes[0].stride, 1);
  EXPECT_EQ(transposed->axes[1].stride, 6);
  const auto slice = view_storage(view_of({2, 3}, {index(0) + index_constant(1), index(1) * index_constant(2)}), base);
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->offset, 6);
  EXPECT_EQ(slice->axes[1].stride, 2);
  // A base that gives this view: back through the transposition.
  const Storage wanted = make_storage(DType::F32, {6, 4}, row_major(2));
  const auto inverse = base_storage(view_of({6, 4}, {index(1), index(0)}), {4, 6}, wanted);
  ASSERT_TRUE(inverse);
  EXPECT_EQ(inverse->axes[0].stride, 1);
  EXPECT_EQ(inverse->axes[1].stride, 4);
  EXPECT_FALSE(base_storage(view_of({2, 6}, {index(0), index(1)}), {4, 6}, wanted));  // a slice loses elements
}

Build build_text(const char* text, const std::vector<std::vector<int64_t>>& shapes) {
  Graph graph;
  const Library library(&standard_library(), text, "f.frit");
  std::vector<lang::Operand> operands;
  for (size_t i = 0; i < shapes.size(); ++i)
    operands.emplace_back(std::in_place_type<Value>,
                          graph.add_input("x" + std::to_string(i), {DType::F32, make_shape(shapes[i])}));
  for (const Value& v : lang::instantiate(graph, library, library.get("f"), operands)) graph.add_output("y", v);
  return build(graph, machine_named("avx2"));
}

TEST(places, parts_are_made_in_their_box_and_inputs_are_copied) {
  const Build computed = build_text(
      "def f(x[m, n]) { a[m, n] = x[m, n] * 2  b[m, n] = exp(x[m, n])  return concat([a, b], axis = 1) }", {{3, 5}});
  EXPECT_EQ(computed.places.copies.size(), 0u) << to_string(computed.places, computed.graph);
  const Build given = build_text("def f(x[m, n], y[k, n]) = concat([x, y], axis = 0)", {{3, 5}, {2, 5}});
  EXPECT_EQ(given.launches.size(), 2u);
}

TEST(places, B009_equal_outputs_have_storages_of_their_own) {
  const Build build = build_text("def f(x) { a = x + 1  return a, a }", {{7}});
  std::vector<int> outputs;
  for (const Block& block : build.places.blocks) {
    if (block.kind == runtime::StorageKind::Output) outputs.push_back(block.index);
  }
  EXPECT_EQ(outputs, (std::vector<int>{0, 1}));
}

TEST(places, B064_empty_tensors_have_no_launch) {
  EXPECT_EQ(build_text("def f(x) = x + 1", {{0, 3}}).launches.size(), 0u);
  EXPECT_EQ(build_text("def f(x[m, n]) y[m] = sum[n](x[m, n])", {{2, 0}}).launches.size(), 1u);
}

}  // namespace
}  // namespace frit
