#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "cli/commands.h"
#include "cli/print.h"
#include "support/error.h"

namespace frit::cli {
namespace {

// 0 done, 1 your input, 2 usage, 3 not supported, 4 compiler or driver, 70 our bug.
constexpr int kUsage = 2, kBug = 70;

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Input:
      return 1;
    case ErrorKind::Unsupported:
      return 3;
    case ErrorKind::Compiler:
      return 4;
    case ErrorKind::Internal:
      return kBug;
  }
  return kBug;
}

bool wants_color() {
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && ::isatty(STDERR_FILENO) != 0;
}

void say_error(std::string_view kind, std::string_view text) {
  say(wants_color() ? fmt::format("\x1b[1;31m{}\x1b[0m: ", kind) : fmt::format("{}: ", kind));
  say(text);
  if (text.empty() || text.back() != '\n') say("\n");
}

int report(const Error& error) {
  constexpr const char* kKinds[] = {"error", "not supported", "compiler", "bug in frit"};
  for (const Finding& finding : error.findings()) say_error(kKinds[static_cast<int>(error.kind())], format(finding));
  return exit_code(error.kind());
}

void add_subject(CLI::App& app, SubjectOptions& subject) {
  app.add_option("file", subject.file, "MODEL.onnx, FILE.frit or a layer of the library, as in softmax")->required();
  app.add_option("--def", subject.definition, "definition of FILE.frit, as in --def softmax");
  app.add_option("--input", subject.inputs, "array of an input, as in --input x=x.npy");
  app.add_option("--shape", subject.shapes, "shape of an input, as in --shape x=1,3,64,64 or --shape f=8,16:f16");
  app.add_option("--attr", subject.attributes, "attribute of a definition, as in --attr k=3 or --attr p=[1,2]");
  app.add_option("--also-output", subject.more_outputs, "a value inside the model, as in --also-output conv1");
  app.add_option("--grad", subject.gradients, "the gradient for some inputs instead, as in --grad x,w")->delimiter(',');
  app.add_option("--seed", subject.seed, "seed of inputs without an array, as in --seed 7");
}

struct Commands {
  RunOptions run;
  ShowOptions show;
  CacheOptions cache;
  DevicesOptions devices;
};

void add_run(CLI::App& app, RunOptions& options) {
  CLI::App& run = *app.add_subcommand("run", "run a model or a snippet on arrays");
  add_subject(run, options.subject);
  run.add_option("--output", options.output_folder, "folder for the results as .npy, as in --output results");
  run.add_option("--threads", options.threads, "as in --threads 2")->check(CLI::Range(1, 1024));
  run.add_option("--repeat", options.repeat, "runs to time, as in --repeat 20")->check(CLI::Range(1, 1000000000));
  run.add_flag("--profile", options.profile, "time of each kernel, as in frit run m.onnx --profile");
  run.add_option("--compare", options.compare, "check the results, as in --compare reference");
  run.add_flag("--json", options.json, "one object on standard output, as in frit run m.onnx --json");
  run.callback([&options] { cli::run(options); });
}

void add_show(CLI::App& app, ShowOptions& options) {
  CLI::App& show = *app.add_subcommand("show", "print any stage of a model or a snippet");
  add_subject(show, options.subject);
  show.add_option("--stage", options.stage,
                  "doc, snippet, graph, groups, schedule, kernel, source, asm or plan, as in --stage doc");
  show.add_option("--kernel", options.kernel, "one kernel only, as in --kernel softmax");
  show.add_flag("--json", options.json, "one object on standard output, as in frit show f.frit --json");
  show.callback([&options] { cli::show(options); });
}

void add_info(CLI::App& app, Commands& commands) {
  CLI::App& cache = *app.add_subcommand("cache", "where compiled kernels are kept, and how many");
  cache.add_flag("--clear", commands.cache.clear, "delete them all, as in frit cache --clear");
  cache.add_flag("--json", commands.cache.json, "one object on standard output, as in frit cache --json");
  cache.callback([&commands] { cli::cache(commands.cache); });
  CLI::App& devices = *app.add_subcommand("devices", "what kernels can run on");
  devices.add_flag("--measure", commands.devices.measure, "also peaks, measured, as in frit devices --measure");
  devices.add_flag("--json", commands.devices.json, "one object on standard output, as in frit devices --json");
  devices.callback([&commands] { cli::devices(commands.devices); });
}

int main_of(int argc, char** argv) {
  Commands commands;
  commands.run.started = Clock::now();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error like others
  CLI::App app("Frit compiles tensor programs to kernels for this machine.", "frit");
  app.require_subcommand(1);
  add_run(app, commands.run);
  add_show(app, commands.show);
  add_info(app, commands);
  try {
    app.parse(argc, argv);
    flush();
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  } catch (const Error& error) {
    return report(error);
  } catch (const std::bad_alloc&) {
    say_error("error", "not enough memory");
    return exit_code(ErrorKind::Input);
  } catch (const std::exception& error) {
    say_error("bug in frit", error.what());
    return kBug;
  }
}

}  // namespace
}  // namespace frit::cli

int main(int argc, char** argv) { return frit::cli::main_of(argc, argv); }
