#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "cli/subject.h"

namespace frit::cli {

using Clock = std::chrono::steady_clock;

struct RunOptions {
  SubjectOptions subject;
  std::string output_folder;
  std::string compare;  // "reference"
  int threads = 0;      // 0: as FRIT_THREADS says, else all processors
  int repeat = 1;
  bool profile = false, json = false;
  Clock::time_point started;  // the start of main
};
void run(const RunOptions& options);

struct ShowOptions {
  SubjectOptions subject;
  std::string stage = "graph";
  std::string kernel;  // one kernel's part only
  bool json = false;
};
void show(const ShowOptions& options);

struct CacheOptions {
  bool clear = false, json = false;
};
void cache(const CacheOptions& options);

struct DevicesOptions {
  bool measure = false, json = false;
};
void devices(const DevicesOptions& options);

}  // namespace frit::cli
