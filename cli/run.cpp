#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "cli/commands.h"
#include "cli/print.h"
#include "compiler/front/npy.h"
#include "compiler/plan/program.h"
#include "ir/interpreter.h"
#include "runtime/buffer.h"
#include "runtime/cpu/probe.h"
#include "support/error.h"

namespace frit::cli {
namespace {

using Json = nlohmann::ordered_json;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Summary {
  double min = 0, max = 0, mean = 0;
};

Summary summarize(const Array& array) {
  Summary s{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), 0};
  for (int64_t i = 0; i < array.size(); ++i) {
    const double v = is_float(array.dtype()) ? array.float_at(i) : static_cast<double>(array.int_at(i));
    if (std::isnan(v)) s.min = s.max = v;
    if (!std::isnan(s.min)) s.min = std::min(s.min, v), s.max = std::max(s.max, v);
    s.mean += v;
  }
  if (array.size() > 0) s.mean /= static_cast<double>(array.size());
  return s;
}

// JSON has no NaN and no infinity: null.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// A name as the name of a file.
std::string file_name(std::string_view name) {
  std::string file;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("._-:+").find(c) != std::string_view::npos;
    file += plain ? c : '_';
  }
  if (file.empty() || file[0] == '.') file.insert(0, "_");
  return file.substr(0, 200) + ".npy";
}

struct Times {
  double load_ms = 0, compile_ms = 0, first_output_ms = 0;
  std::vector<double> run_ms;

  Json run_json() const {
    std::vector<double> sorted = run_ms;
    std::sort(sorted.begin(), sorted.end());
    const size_t n = sorted.size();
    const double median = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    return {{"min", sorted.front()}, {"median", median}, {"max", sorted.back()}, {"n", n}};
  }
};

// One row for each kernel name and text, most time first.
struct ProfileRow {
  std::string name;
  uint64_t calls = 0;
  double us = 0, share = 0, gflops = 0, peak_share = 0, gbs = 0;
};

std::vector<ProfileRow> profile_rows(const runtime::PlanInstance& instance, const PlanTemplate& plan,
                                     double peak_gflops) {
  std::map<std::string, std::pair<ProfileRow, PlanTemplate::Cost>> rows;
  double total = 0;
  const auto runs = static_cast<double>(instance.profiled_runs());
  for (size_t i = 0; i < plan.main.launches.size(); ++i) {
    auto& [row, cost] = rows[plan.main.launches[i].name];
    row.name = plan.main.launches[i].name;
    row.calls += 1;
    const double us = static_cast<double>(instance.launch_ns()[i]) / runs / 1000;
    row.us += us;
    total += us;
    cost.flops += plan.costs[i].flops;
    cost.bytes += plan.costs[i].bytes;
  }
  std::vector<ProfileRow> list;
  for (auto& [name, entry] : rows) {
    auto& [row, cost] = entry;
    row.share = total > 0 ? row.us / total : 0;
    row.gflops = row.us > 0 ? cost.flops / row.us / 1000 : 0;
    row.peak_share = peak_gflops > 0 ? row.gflops / peak_gflops : 0;
    row.gbs = row.us > 0 ? cost.bytes / row.us / 1000 : 0;
    list.push_back(row);
  }
  std::stable_sort(list.begin(), list.end(), [](const ProfileRow& a, const ProfileRow& b) { return a.us > b.us; });
  return list;
}

// The end of a long name tells more than its start.
std::string tail_of(const std::string& name, size_t length) {
  return name.size() <= length ? name : ".." + name.substr(name.size() - length + 2);
}

class Runner {
 public:
  explicit Runner(const RunOptions& options)
      : options_(options), workers_(options.threads), cache_(runtime::KernelCache::shared()) {}

  void run() {
    if (!options_.compare.empty() && options_.compare != "reference")
      throw InputError(Finding{.where = "--compare",
                               .what = "unknown standard",
                               .excerpt = {},
                               .got = options_.compare,
                               .expected = "reference",
                               .fix = {},
                               .from = {}});
    check_folder();
    load();
    compile();
    execute();
    save();
    if (options_.compare == "reference") compare_outputs();
    if (options_.json)
      print_json();
    else
      print_text();
  }

 private:
  void check_folder() const {
    if (options_.output_folder.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(options_.output_folder, error);
    if (!std::filesystem::is_directory(options_.output_folder))
      throw InputError(Finding{.where = "--output",
                               .what = "is no folder and cannot be made",
                               .excerpt = {},
                               .got = options_.output_folder,
                               .expected = "a folder",
                               .fix = {},
                               .from = {}});
  }

  void load() {
    const auto start = Clock::now();
    subject_ = load_subject(options_.subject);
    inputs_ = input_values(subject_, options_.subject.seed);
    const std::vector<std::string> random = random_inputs(subject_);
    if (!random.empty())
      say(fmt::format("random values (seed {}) for {}\n", options_.subject.seed, fmt::join(random, ", ")));
    times_.load_ms = ms_since(start);
  }

  void compile() {
    const auto start = Clock::now();
    ProgramOptions program;
    program.workers = &workers_;
    program_ = Program::compile(subject_.graph, program);
    times_.compile_ms = ms_since(start);
  }

  void execute() {
    std::vector<const void*> from;
    for (const Array& input : inputs_) from.push_back(input.data());
    std::vector<void*> to;
    for (const Program::Port& port : program_->outputs()) {
      outputs_.emplace_back(port.dtype, port.shape);
      to.push_back(outputs_.back().mutable_data());
    }
    program_->check_inputs(inputs_);
    const auto instance = program_->take();
    instance->bind(from, to);
    for (int i = 0; i < std::max(1, options_.repeat); ++i) {
      const auto start = Clock::now();
      instance->run(workers_);
      times_.run_ms.push_back(ms_since(start));
      if (i == 0) times_.first_output_ms = ms_since(options_.started);
    }
    if (options_.profile) profile(*instance);
  }

  // Runs of their own, since measured launches have barriers around them; the peak is probed between.
  void profile(runtime::PlanInstance& instance) {
    runtime::FmaProbe probe(cache_, workers_, workers_.count());
    instance.set_profiling(true);
    for (int i = 0; i < std::max(5, std::min(options_.repeat, 50)); ++i) {
      probe.run();
      instance.run(workers_);
    }
    instance.set_profiling(false);
    peak_gflops_ = probe.best();
    rows_ = profile_rows(instance, program_->plan(), peak_gflops_);
  }

  void save() {
    files_.resize(outputs_.size());
    if (options_.output_folder.empty()) return;
    std::set<std::string> taken;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      std::string file = file_name(program_->outputs()[i].name);
      while (!taken.insert(file).second) file = fmt::format("{}-{}", i, file);  // different names may look alike
      const auto path = std::filesystem::path(options_.output_folder) / file;
      write_npy(path, outputs_[i]);
      files_[i] = path.string();
    }
  }

  void compare_outputs() const {
    std::map<std::string, Array> named;
    for (size_t i = 0; i < inputs_.size(); ++i) named[subject_.inputs[i].name] = inputs_[i];
    const std::vector<ReferenceTensor> reference = interpret(subject_.graph, named);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const std::string difference = frit::compare(outputs_[i], reference[i]);
      FRIT_CHECK(difference.empty(), fmt::format("output \"{}\" differs from the reference interpreter: {}",
                                                 program_->outputs()[i].name, difference));
    }
    say(fmt::format("all {} outputs agree with the reference interpreter\n", outputs_.size()));
  }

  Json output_json(size_t i) const {
    const Summary s = summarize(outputs_[i]);
    Json json{{"name", program_->outputs()[i].name},
              {"dtype", name(outputs_[i].dtype())},
              {"shape", outputs_[i].shape()},
              {"file", files_[i].empty() ? Json(nullptr) : Json(files_[i])}};
    const bool has_values = outputs_[i].size() > 0;
    json["min"] = has_values ? number(s.min) : Json(nullptr);
    json["max"] = has_values ? number(s.max) : Json(nullptr);
    json["mean"] = has_values ? number(s.mean) : Json(nullptr);
    return json;
  }

  void print_json() const {
    Json json;
    json["outputs"] = Json::array();
    for (size_t i = 0; i < outputs_.size(); ++i) json["outputs"].push_back(output_json(i));
    const runtime::KernelCache::Counters& counters = cache_.counters();
    const runtime::Plan& plan = program_->plan().main;
    json["kernels"] = plan.kernels.size();
    json["launches"] = plan.launches.size();
    json["compiles"] = counters.compiles.load();
    json["memory_hits"] = counters.memory_hits.load();
    json["disk_hits"] = counters.disk_hits.load();
    json["load_ms"] = times_.load_ms;
    json["compile_ms"] = times_.compile_ms;
    json["first_output_ms"] = times_.first_output_ms;
    json["run_ms"] = times_.run_json();
    json["peak_rss_bytes"] = runtime::peak_resident_bytes();
    json["arena_bytes"] = plan.arena_bytes;
    json["threads"] = workers_.count();
    json["device"] = fmt::format("cpu/{}", cache_.cpu().name());
    json["llvm_loaded"] = runtime::llvm_loaded();
    if (options_.profile) add_profile(json);
    print(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }

  void add_profile(Json& json) const {
    json["peak_gflops"] = peak_gflops_;
    json["profile"] = Json::array();
    for (const ProfileRow& row : rows_)
      json["profile"].push_back({{"name", row.name},
                                 {"calls", row.calls},
                                 {"us", row.us},
                                 {"share", row.share},
                                 {"gflops", row.gflops},
                                 {"peak_share", row.peak_share},
                                 {"gbs", row.gbs}});
  }

  void print_text() const {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      print(fmt::format("{} {}", program_->outputs()[i].name, type_text(outputs_[i].dtype(), outputs_[i].shape())));
      if (outputs_[i].size() > 8) {
        const Summary s = summarize(outputs_[i]);
        print(fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", s.min, s.max, s.mean));
      } else {
        print(" ");
        for (int64_t k = 0; k < outputs_[i].size(); ++k)
          print(is_float(outputs_[i].dtype()) ? fmt::format(" {:.7g}", outputs_[i].float_at(k))
                                              : fmt::format(" {}", outputs_[i].int_at(k)));
      }
      print(files_[i].empty() ? "\n" : fmt::format("  {}\n", files_[i]));
    }
    const runtime::KernelCache::Counters& counters = cache_.counters();
    const runtime::Plan& plan = program_->plan().main;
    const Json run = times_.run_json();
    say(fmt::format(
        "{} kernels in {} launches; {} compiled, {} from disk; load {:.1f} ms, compile {:.1f} ms, "
        "run {:.3f} ms (best of {}), {} threads on cpu/{}\n",
        plan.kernels.size(), plan.launches.size(), counters.compiles.load(), counters.disk_hits.load(), times_.load_ms,
        times_.compile_ms, run["min"].get<double>(), times_.run_ms.size(), workers_.count(), cache_.cpu().name()));
    if (options_.profile) print_profile();
  }

  void print_profile() const {
    print(fmt::format("{:<40} {:>6} {:>10} {:>7} {:>9} {:>7} {:>8}\n", "kernel", "calls", "us", "share", "GFLOP/s",
                      "peak", "GB/s"));
    for (const ProfileRow& row : rows_)
      print(fmt::format("{:<40} {:>6} {:>10.2f} {:>6.1f}% {:>9.1f} {:>6.1f}% {:>8.1f}\n",
                        tail_of(printable(row.name), 40), row.calls, row.us, 100 * row.share, row.gflops,
                        100 * row.peak_share, row.gbs));
    print(fmt::format("peak of fused multiply-adds in this run: {:.1f} GFLOP/s on {} threads\n", peak_gflops_,
                      workers_.count()));
  }

  const RunOptions& options_;
  runtime::Workers workers_;
  runtime::KernelCache& cache_;
  Subject subject_;
  std::vector<Array> inputs_, outputs_;
  std::vector<std::string> files_;
  std::shared_ptr<Program> program_;
  Times times_;
  double peak_gflops_ = 0;
  std::vector<ProfileRow> rows_;
};

}  // namespace

void run(const RunOptions& options) { Runner(options).run(); }

}  // namespace frit::cli
