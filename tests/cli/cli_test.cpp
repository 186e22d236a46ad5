// The command from outside: data on standard output, words on standard error, exit codes by kind.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/front/npy.h"

namespace frit {
namespace {

namespace fs = std::filesystem;

struct Result {
  int code = -1;
  std::string out, err;
};

class Cli : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("frit_cli_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    write("ops.frit",
          "def swish(x) = x * sigmoid(x)\n"
          "def add(x[..], y[..] = 0) z[..] = x[..] + y[..]\n"
          "def window(x[n]; k) y[i] = sum[a < k](x[i + a])\n"
          "def bad(x[n]) y[i < n] = x[i + 1]\n");
    write("one.frit", "def twice(x) = x * 2\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  static std::string read(const fs::path& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  Result frit(const std::string& arguments) const {
    const fs::path out = folder_ / "out", err = folder_ / "err";
    const std::string command = "cd '" + folder_.string() + "' && FRIT_CACHE_DIR='" + (folder_ / "cache").string() +
                                "' '" FRIT_COMMAND "' " + arguments + " >'" + out.string() + "' 2>'" + err.string() +
                                "'";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(out), read(err)};
  }

  fs::path folder_;
};

TEST_F(Cli, exit_codes_follow_the_kind_of_error) {
  write("broken.onnx", "not a model");
  write("half.npy", "\x93NUMPY");
  const std::vector<std::pair<std::string, int>> rows = {
      {"run one.frit --shape x=3", 0},
      {"--help", 0},
      {"run --help", 0},
      {"", 2},
      {"fly", 2},
      {"run one.frit --no-such-flag", 2},
      {"run one.frit --repeat 0 --shape x=3", 2},
      {"run", 2},
      {"run missing.frit", 1},
      {"run missing.onnx", 1},
      {"run broken.onnx", 1},
      {"run one.txt", 1},
      {"run one.frit", 1},
      {"run ops.frit --shape x=3", 1},
      {"run ops.frit --def swosh --shape x=3", 1},
      {"run ops.frit --def bad --shape x=3", 1},
      {"run ops.frit --def window --shape x=3", 1},
      {"run one.frit --shape x=3 --shape z=4", 1},
      {"run one.frit --shape x=-3", 1},
      {"run one.frit --shape x=3:f33", 1},
      {"run one.frit --shape x", 1},
      {"run one.frit --input x=missing.npy", 1},
      {"run one.frit --input x=half.npy", 1},
      {"run one.frit --shape x=3 --attr k=1", 1},
      {"run one.frit --shape x=3 --output one.frit", 1},
      {"run one.frit --shape x=3 --compare nothing", 1},
      {"run one.frit --shape x=3 --grad x", 0},
      {"run one.frit --shape x=3 --grad y", 1},
      {"run one.frit --shape x=3:i32 --grad x", 1},
      {"run one.frit --shape x=3 --shape d_y=4 --grad x", 1},
      {"run one.frit --shape x=3 --input d_y=half.npy --grad x", 1},
      {"run one.frit --shape x=3 --shape d_z=3 --grad x", 1},
      {"show one.frit --shape x=3 --stage nothing", 1},
      {"show one.frit --shape x=3 --stage source --kernel nothing", 1},
  };
  for (const auto& [arguments, code] : rows) {
    const Result result = frit(arguments);
    EXPECT_EQ(result.code, code) << arguments << "\n" << result.err;
    if (code != 0) {
      EXPECT_EQ(result.out, "") << arguments;
      EXPECT_NE(result.err, "") << arguments;
    }
    EXPECT_EQ(result.err.find('\x1b'), std::string::npos) << "colours, but no terminal";
  }
}

TEST_F(Cli, gradients_are_shown_and_run) {
  const Result graph = frit("show ops.frit --def add --shape x=2,3 --shape y=3 --grad x,y --stage graph");
  EXPECT_EQ(graph.code, 0) << graph.err;
  EXPECT_NE(graph.out.find("output \"d_x\""), std::string::npos) << graph.out;
  EXPECT_NE(graph.out.find("output \"d_y\""), std::string::npos) << graph.out;
  const Result ones = frit("run ops.frit --def add --shape x=2,3 --shape y=3 --grad x,y --compare reference");
  EXPECT_EQ(ones.out, "d_x f32[2, 3]  1 1 1 1 1 1\nd_y f32[3]  2 2 2\n") << ones.err;
  Array dy(DType::F32, {3});
  for (int64_t i = 0; i < 3; ++i) dy.set_float(i, static_cast<double>(i));
  write_npy(folder_ / "dy.npy", dy);
  const Result given = frit("run one.frit --shape x=3 --input d_y=dy.npy --grad x");
  EXPECT_EQ(given.out, "d_x f32[3]  0 2 4\n") << given.err;
}

TEST_F(Cli, names_the_place_of_a_mistake) {
  const Result result = frit("run ops.frit --def bad --shape x=3");
  EXPECT_NE(result.err.find("ops.frit:4:"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("^"), std::string::npos) << result.err;
}

TEST_F(Cli, runs_on_files_and_writes_files) {
  Array x(DType::F32, {3});
  for (int64_t i = 0; i < 3; ++i) x.set_float(i, static_cast<double>(i) + 0.5);
  write_npy(folder_ / "x.npy", x);
  const Result result = frit("run one.frit --input x=x.npy --output results --compare reference");
  ASSERT_EQ(result.code, 0) << result.err;
  const Array y = read_npy(folder_ / "results" / "y.npy");
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(y.float_at(i), 2 * static_cast<double>(i) + 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "results"), {}), 1);
  EXPECT_EQ(result.err.find("random"), std::string::npos);
}

TEST_F(Cli, a_closed_pipe_and_a_full_disk_are_errors) {
  EXPECT_EQ(frit("show one.frit --shape x=100 --stage source >/dev/full; echo $?").out, "1\n");
  const Result result = frit("run one.frit --shape x=3 --output /dev/null/results");
  EXPECT_EQ(result.code, 1) << result.err;
}

TEST_F(Cli, one_object_with_every_field) {
  const Result first = frit("run one.frit --shape x=100 --json --repeat 3 --threads 2 --profile");
  ASSERT_EQ(first.code, 0) << first.err;
  const auto json = nlohmann::json::parse(first.out);
  for (const char* field :
       {"outputs", "kernels", "launches", "compiles", "memory_hits", "disk_hits", "load_ms", "compile_ms",
        "first_output_ms", "run_ms", "peak_rss_bytes", "arena_bytes", "threads", "device", "llvm_loaded", "profile"})
    EXPECT_TRUE(json.contains(field)) << field;
  for (const char* field : {"min", "median", "max", "n"}) EXPECT_TRUE(json["run_ms"].contains(field)) << field;
  for (const char* field : {"name", "dtype", "shape", "file", "min", "max", "mean"})
    EXPECT_TRUE(json["outputs"][0].contains(field)) << field;
  EXPECT_EQ(json["threads"], 2);
  EXPECT_EQ(json["run_ms"]["n"], 3);
  EXPECT_EQ(json["kernels"], 1);
  EXPECT_NE(first.err.find("random values (seed 0) for x"), std::string::npos);
}

TEST_F(Cli, a_warm_process_compiles_nothing_and_opens_no_llvm) {
  const auto cold = nlohmann::json::parse(frit("run ops.frit --def swish --shape x=100 --json").out);
  const auto warm = nlohmann::json::parse(frit("run ops.frit --def swish --shape x=100 --json").out);
  EXPECT_EQ(cold["compiles"], 1);
  EXPECT_EQ(cold["llvm_loaded"], true);
  EXPECT_EQ(warm["compiles"], 0);
  EXPECT_EQ(warm["disk_hits"], 1);
  EXPECT_EQ(warm["llvm_loaded"], false);
  EXPECT_EQ(warm["outputs"], cold["outputs"]);
}

TEST_F(Cli, a_damaged_cache_is_rebuilt) {
  const auto cold = nlohmann::json::parse(frit("run ops.frit --def swish --shape x=100 --json").out);
  size_t damaged = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "cache")) {
    if (!entry.is_regular_file() || entry.file_size() < 64) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(entry.file_size() / 2));
    file << "damage!";
    ++damaged;
  }
  EXPECT_GE(damaged, 2u);  // an object and a plan
  const auto again = nlohmann::json::parse(frit("run ops.frit --def swish --shape x=100 --json").out);
  EXPECT_EQ(again["outputs"], cold["outputs"]);
  EXPECT_EQ(again["compiles"], 1);
}

TEST_F(Cli, shows_every_stage) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"snippet", "def swish"}, {"graph", "sigmoid"}, {"groups", "group"}, {"schedule", "vector"},
      {"kernel", "loop"},       {"source", "define"}, {"asm", "ret"},      {"plan", "launch"}};
  for (const auto& [stage, word] : rows) {
    const Result result = frit("show ops.frit --def swish --shape x=1000 --stage " + stage);
    EXPECT_EQ(result.code, 0) << stage << result.err;
    EXPECT_NE(result.out.find(word), std::string::npos) << stage << "\n" << result.out;
  }
}

TEST_F(Cli, shows_the_page_of_a_definition) {
  write("page.frit",
        "# Scales and shifts.\n#   y = x*a + b\ndef affine(x[.., n]: float, a[n], b[n] = 0; k, eps = 1e-5)\n"
        "  y[.., n] = x[.., n]*a[n]*k + b[n]\n");
  EXPECT_EQ(frit("show page.frit --stage doc --def affine").out,
            "affine(x[.., n]: float, a[n], b[n] = 0; k, eps = 1e-5)\n\nScales and shifts.\n  y = x*a + b\n\n"
            "operands\n  x  [.., n]  float\n  a  [n]      any dtype\n  b  [n]      any dtype, or 0\n\n"
            "attributes\n  k    required\n  eps  = 1e-5\n\nresults\n  1\n\ngradient\n  derived\n\n"
            "from page.frit:3:5\n");
  EXPECT_EQ(frit("show page.frit --stage doc --shape x=2,3:f16 --shape a=3 --attr k=2").out,
            "affine(x[.., n]: float, a[n], b[n] = 0; k, eps = 1e-5)\n\nScales and shifts.\n  y = x*a + b\n\n"
            "operands\n  x  [.., n]  float            f16[2, 3]\n  a  [n]      any dtype        f32[3]\n"
            "  b  [n]      any dtype, or 0  absent\n\nattributes\n  k    required\n  eps  = 1e-5\n\n"
            "results\n  y  f32[2, 3]\n\ngradient\n  derived\n\nfrom page.frit:3:5\n");
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"softmax", "softmax(x[.., n @ axis]; axis = -1)"},
      {"relu6", "by the clause grad(dy)"},
      {"onnx.Softmax", "onnx.Softmax.1("},
      {"onnx.Clip.11", "lo  []"},
      {"ops.frit", "window(x[n]; k)"},
      {"max_pool --shape x=1,1,4,4 --attr k=2", "y1  i64[1, 1, 2, 2]"}};
  for (const auto& [subject, word] : rows) {
    const Result result = frit("show --stage doc " + subject);
    EXPECT_EQ(result.code, 0) << subject << result.err;
    EXPECT_NE(result.out.find(word), std::string::npos) << subject << "\n" << result.out;
  }
  EXPECT_EQ(frit("show --stage graph softmax --shape x=2,3").code, 0);
  EXPECT_NE(frit("show --stage doc sofmax").err.find("did you mean softmax"), std::string::npos);
  EXPECT_EQ(frit("show --stage doc page.frit --shape x=2,3").code, 1);
}

TEST_F(Cli, the_cache_can_be_seen_and_cleared) {
  ASSERT_EQ(frit("run one.frit --shape x=3").code, 0);
  auto json = nlohmann::json::parse(frit("cache --json").out);
  EXPECT_EQ(json["folder"], (folder_ / "cache").string());
  EXPECT_GE(json["entries"], 2);
  json = nlohmann::json::parse(frit("cache --clear --json").out);
  EXPECT_EQ(json["entries"], 0);
}

}  // namespace
}  // namespace frit
