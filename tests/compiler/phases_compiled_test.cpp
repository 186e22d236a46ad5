// Phases compiled: the values of transposed convolutions and their like on every instruction set, the tile that they
// take, and no division or remainder in a loop.
#include <sstream>

#include "passes/phase_rows.h"

namespace frit::testing {
namespace {

TEST(PhasesCompiled, TransposedConvolutionsInF32) {
  for (const DifferentialRow& row : transposed_rows(DType::F32, Fill::Plain)) check_row(row);
}

TEST(PhasesCompiled, TransposedConvolutionsInF64) {
  const std::vector<DifferentialRow> rows = transposed_rows(DType::F64, Fill::NonFinite);
  for (size_t i = 0; i < rows.size(); i += 3) check_row(rows[i]);
  for (size_t i = rows.size() - 12; i < rows.size(); ++i) check_row(rows[i]);
}

TEST(PhasesCompiled, Gathers) {
  for (const DifferentialRow& row : gather_rows(Fill::Plain)) check_row(row);
}

// Remainders anywhere, and divisions in loops that hold no loop: a share of tiles is taken apart by division in the
// loops around them.
std::string first_division(const std::string& kernel) {
  std::vector<std::string> open;  // lines of each loop that is open
  std::istringstream lines(kernel);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("mod ") != std::string::npos) return line;
    const bool is_division = line.find("div ") != std::string::npos;
    if (line.find(" loop ") != std::string::npos) {
      for (std::string& outer : open) outer.clear();
      open.emplace_back("-");
    } else if (is_division && !open.empty() && !open.back().empty()) {
      open.back() = line;
    } else if (line.find("yield") != std::string::npos && !open.empty()) {
      if (open.back().size() > 1) return open.back();
      open.pop_back();
    }
  }
  return {};
}

// A convolution inside a network: what is before makes its margins, what is behind is its epilogue.
Graph network(const std::vector<int64_t>& x, const std::vector<int64_t>& f, const lang::Attributes& attributes,
              const std::string& text) {
  return graph_of({"network", text, "net", {f32(x), f32(f), f32({f[1]})}, attributes, Fill::Plain, 1});
}

TEST(PhasesCompiled, NoDivisionInALoop) {
  for (const auto& [isa, cache] : caches()) {
    int loops = 0;
    for (const DifferentialRow& row : gather_rows(Fill::Plain)) {
      for (const BuiltLaunch& launch : frit::build(graph_of(row), machine_named(isa)).launches) {
        const std::string text = to_string(*launch.lowered.kernel);
        EXPECT_EQ(first_division(text), "") << isa << " " << row.id << "\n" << text;
        loops += text.find(" loop ") != std::string::npos;
      }
    }
    for (const DifferentialRow& row : transposed_rows(DType::F32, Fill::Plain))
      for (const BuiltLaunch& launch : frit::build(graph_of(row), machine_named(isa)).launches)
        EXPECT_EQ(first_division(to_string(*launch.lowered.kernel)), "") << isa << " " << row.id;
    EXPECT_GT(loops, 20);
  }
  EXPECT_NE(first_division("  loop %1 = 0 {\n    %2: i64 = truncdiv %1, dim0\n    yield\n  }\n"), "");
}

TEST(PhasesCompiled, TakeTheTileOfAConvolution) {
  const std::string behind = "  return most(relu(y)) }  def most(y[n, c, h..]) z[n, h..] = max[c](y[n, c, h..])";
  for (const auto& [isa, cache] : caches()) {
    const auto tiles_of = [&](const Graph& graph) {
      std::vector<std::string> tiles;
      for (const BuiltLaunch& launch : frit::build(graph, machine_named(isa)).launches)
        if (!launch.is_static && launch.lowered.flops > 1e6)
          tiles.push_back(launch.lowered.schedule.substr(0, launch.lowered.schedule.find(" order")));
      return tiles;
    };
    const auto phases =
        tiles_of(network({1, 64, 32, 32}, {64, 32, 4, 4}, {},
                         "def net(x, f, b) { y = conv_transpose(relu(x), f, b, s = 2, p = 1)" + behind));
    // Each phase is a convolution of 2x2 taps over the padded image.
    const auto conv = tiles_of(graph_of({"conv",
                                         "def net(x, f, b) { y = conv(relu(x), f, b, p = [1, 1], q = [0, 0])" + behind,
                                         "net",
                                         {f32({1, 64, 32, 32}), f32({32, 64, 2, 2}), f32({32})},
                                         {},
                                         Fill::Plain,
                                         1}));
    ASSERT_EQ(conv.size(), 1U) << isa;
    EXPECT_EQ(phases, std::vector<std::string>(4, conv[0])) << isa;
  }
}

// Filters that change in each run are packed, so that their lanes are no gathers.
TEST(PhasesCompiled, ChangingFiltersArePacked) {
  DifferentialRow row{"gradient", kConvGradient, "f", {f32({1, 32, 16, 16}), f32({32, 48, 3, 3})}, {}, Fill::Plain};
  row.attributes = {{"s", 2}, {"d", 1}, {"p", 1}, {"h", std::vector<int64_t>{32, 32}}};
  for (const auto& [isa, cache] : caches()) {
    const Build built = frit::build(graph_of(row), machine_named(isa));
    int products = 0;
    for (const BuiltLaunch& launch : built.launches) {
      if (launch.lowered.flops < 5e5) continue;
      ++products;
      EXPECT_EQ(to_string(*launch.lowered.kernel).find("gather"), std::string::npos) << isa << " " << launch.name;
    }
    EXPECT_EQ(products, 4) << isa;
  }
  row.operands = {f32({1, 3, 8, 8}), f32({3, 5, 3, 3})};
  row.attributes["h"] = std::vector<int64_t>{17, 16};
  check_row(row);
}

// Parts are written where they belong: no copy, and no launch but for the input's margins and the four phases.
TEST(PhasesCompiled, PartsAreProducedInTheirBox) {
  const Graph graph = network({1, 64, 32, 32}, {64, 32, 4, 4}, {},
                              "def net(x, f, b) = relu(conv_transpose(relu(x), f, b, s = 2, p = 1))");
  for (const auto& [isa, cache] : caches()) {
    const Build built = frit::build(graph, machine_named(isa));
    EXPECT_TRUE(built.places.copies.empty()) << isa;
    int each_time = 0;
    for (const BuiltLaunch& launch : built.launches) each_time += !launch.is_static;
    EXPECT_EQ(each_time, 6) << isa;
  }
}

}  // namespace
}  // namespace frit::testing
