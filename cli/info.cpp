#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/print.h"
#include "runtime/cpu/probe.h"
#include "runtime/kernel_cache.h"
#include "runtime/workers.h"

namespace frit::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_object(const Json& json, bool as_json) {
  if (as_json) return print(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  for (const auto& [key, value] : json.items())
    print(fmt::format("{:<18} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump()));
}

}  // namespace

void cache(const CacheOptions& options) {
  runtime::DiskCache& disk = runtime::KernelCache::shared().disk();
  if (options.clear) disk.clear();
  uint64_t bytes = 0;
  Json kinds = Json::object();
  size_t entries = 0;
  for (const auto& entry : disk.list()) {
    bytes += entry.bytes;
    ++entries;
    kinds[entry.kind] = kinds.value(entry.kind, 0) + 1;
  }
  Json json{{"folder", disk.options().folder},
            {"usable", disk.is_usable()},
            {"reason", disk.reason()},
            {"entries", entries},
            {"kinds", std::move(kinds)},
            {"bytes", bytes},
            {"limit_bytes", disk.options().limit_bytes}};
  print_object(json, options.json);
}

void devices(const DevicesOptions& options) {
  runtime::KernelCache& cache = runtime::KernelCache::shared();
  const runtime::CacheSizes sizes = runtime::cache_sizes();
  Json json{{"device", fmt::format("cpu/{}", cache.cpu().name())},
            {"vector_bytes", cache.cpu().vector_bytes()},
            {"fma", cache.cpu().has_fma()},
            {"threads", runtime::Workers::shared().count()},
            {"l1_bytes", sizes.l1},
            {"l2_bytes", sizes.l2},
            {"l3_bytes", sizes.l3}};
  if (options.measure) {
    const runtime::MachinePeaks peaks = runtime::measure_peaks(cache, runtime::Workers::shared());
    json["fma_gflops_one"] = peaks.fma_gflops_one;
    json["fma_gflops_all"] = peaks.fma_gflops_all;
    json["l1_gbs"] = peaks.l1_gbs;
    json["l2_gbs"] = peaks.l2_gbs;
    json["memory_gbs_one"] = peaks.memory_gbs_one;
    json["memory_gbs_all"] = peaks.memory_gbs_all;
  }
  print_object(json, options.json);
}

}  // namespace frit::cli
