#include "runtime/kernel_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <list>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <unordered_map>

#include "runtime/cpu/image.h"
#include "runtime/cpu/llvm_compiler.h"
#include "runtime/fork_guard.h"
#include "runtime/workers.h"
#include "support/error.h"

namespace frit::runtime {
namespace {

constexpr std::string_view kObjectKind = "object";
constexpr const char* kLoaderFormat = "image-2";  // changes with ObjectHead or the flattening
constexpr uint64_t kKernelOverhead = 4096;        // a page and its bookkeeping

/// One "object" entry: this head, the key's fields, the remarks, the image.
struct ObjectHead {
  uint64_t entry = 0, fields_bytes = 0, remarks_bytes = 0, image_bytes = 0;
  int64_t spills = 0, reloads = 0, inner_loop_spills = 0, stack_bytes = 0;
  double loop_cost = 0;
};

std::string pack_object(const Image& image, const CodeReport& report, std::string_view fields) {
  const ObjectHead head{.entry = image.entry,
                        .fields_bytes = fields.size(),
                        .remarks_bytes = report.remarks.size(),
                        .image_bytes = image.bytes.size(),
                        .spills = report.spills,
                        .reloads = report.reloads,
                        .inner_loop_spills = report.inner_loop_spills,
                        .stack_bytes = report.stack_bytes,
                        .loop_cost = report.loop_cost};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  bytes += fields;
  bytes += report.remarks;
  bytes += image.bytes;
  return bytes;
}

KernelRef make_kernel(std::string name, const Digest& key, std::string_view image, uint64_t entry, CodeReport report) {
  auto memory = std::make_unique<ExecutableMemory>(image);
  const auto fn = reinterpret_cast<KernelFn>(const_cast<void*>(memory->at(entry)));
  return std::make_shared<const Kernel>(std::move(name), key, fn, std::move(memory), std::move(report));
}

/// Null when the bytes are no object entry, although their checksum is right: written by another build.
KernelRef unpack_object(const std::string& name, const Digest& key, std::string_view bytes) {
  ObjectHead head;
  if (bytes.size() < sizeof head) return nullptr;
  std::memcpy(&head, bytes.data(), sizeof head);
  bytes.remove_prefix(sizeof head);
  if (head.fields_bytes > bytes.size()) return nullptr;
  bytes.remove_prefix(head.fields_bytes);
  if (head.remarks_bytes > bytes.size() || head.image_bytes != bytes.size() - head.remarks_bytes) return nullptr;
  if (head.entry >= head.image_bytes) return nullptr;
  CodeReport report{.spills = head.spills,
                    .reloads = head.reloads,
                    .inner_loop_spills = head.inner_loop_spills,
                    .loop_cost = head.loop_cost,
                    .stack_bytes = head.stack_bytes,
                    .remarks = std::string(bytes.substr(0, head.remarks_bytes))};
  return make_kernel(name, key, bytes.substr(head.remarks_bytes), head.entry, std::move(report));
}

/// The key's fields in an object entry; empty when it is none.
std::string object_fields(std::string_view bytes) {
  ObjectHead head;
  if (bytes.size() < sizeof head) return "";
  std::memcpy(&head, bytes.data(), sizeof head);
  return head.fields_bytes <= bytes.size() - sizeof head ? std::string(bytes.substr(sizeof head, head.fields_bytes))
                                                         : "";
}

struct FieldDifference {
  size_t equal = 0;
  std::string first;
};

/// Both sides are "field value" lines in one order.
FieldDifference compare_fields(const std::string& there, const std::string& here) {
  FieldDifference difference;
  std::istringstream one(there), two(here);
  for (std::string a, b; std::getline(two, b);) {
    std::getline(one, a);
    if (a == b) {
      ++difference.equal;
    } else if (difference.first.empty()) {
      const size_t space = b.find(' ');
      difference.first = fmt::format("{}: {} there, {} here", b.substr(0, space),
                                     a.size() > space ? a.substr(space + 1) : "nothing", b.substr(space + 1));
    }
  }
  return difference;
}

uint64_t cost_of(const Kernel& kernel) { return kernel.image().size() + kKernelOverhead; }

/// Adds the time of a scope to a counter.
class Timed {
 public:
  explicit Timed(std::atomic<uint64_t>& total) : total_(total), start_(std::chrono::steady_clock::now()) {}
  ~Timed() {
    const auto spent = std::chrono::steady_clock::now() - start_;
    total_ += static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count());
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  std::atomic<uint64_t>& total_;
  std::chrono::steady_clock::time_point start_;
};

/// The end of a log is seldom worth more than its start.
std::string first_lines(const std::string& log, size_t limit) {
  return log.size() <= limit ? log : log.substr(0, limit) + " ...";
}

}  // namespace

struct KernelCache::State {
  explicit State(KernelCacheOptions given) : options(std::move(given)), disk(options.disk) {
    if (options.compiler.empty()) options.compiler = llvm_identity();
    if (options.loader_format.empty()) options.loader_format = kLoaderFormat;
    if (options.compile_threads <= 0) options.compile_threads = thread_count_from_environment();
    fields = fmt::format("target cpu\nprocessor {}\nfeatures {}\ncompiler LLVM {}\noptions {}\nloader {}\n",
                         options.cpu.llvm_cpu(), options.cpu.llvm_features(), options.compiler, llvm_options(),
                         options.loader_format);
  }

  /// One compilation or load that others may wait for.
  struct Flight {
    bool is_done = false;
    KernelRef kernel;
    std::exception_ptr error;
  };
  struct Kept {
    KernelRef kernel;
    std::list<Digest>::iterator position;
  };

  std::string fields_of(const KernelSource& source) const {
    return fields + "text " + digest_of(source.text).hex() + "\n";
  }
  KernelRef obtain(const Digest& key, const std::string& name, const KernelSource* source);
  KernelRef load(const Digest& key, const std::string& name);
  KernelRef build(const Digest& key, const KernelSource& source);
  void keep(const Digest& key, const KernelRef& kernel);
  [[noreturn]] void refuse(const Digest& key, const KernelSource& source, const std::string& log);

  KernelCacheOptions options;
  DiskCache disk;
  std::string fields;
  Counters counters;

  std::mutex mutex;  // guards what follows
  std::condition_variable landed;
  std::unordered_map<Digest, std::shared_ptr<Flight>> flights;
  std::unordered_map<Digest, Kept> kept;
  std::list<Digest> order;  // most recently used first
  uint64_t kept_bytes = 0;
};

KernelRef KernelCache::State::obtain(const Digest& key, const std::string& name, const KernelSource* source) {
  std::unique_lock lock(mutex);
  while (true) {
    if (const auto found = kept.find(key); found != kept.end()) {
      order.splice(order.begin(), order, found->second.position);
      ++counters.memory_hits;
      return found->second.kernel;
    }
    const auto flying = flights.find(key);
    if (flying == flights.end()) break;
    const std::shared_ptr<Flight> flight = flying->second;
    landed.wait(lock, [&] { return flight->is_done; });
    if (flight->error) std::rethrow_exception(flight->error);
    if (flight->kernel || source == nullptr) return flight->kernel;
    // That one looked on disk only, and here is a text: go round again.
  }
  const auto flight = std::make_shared<Flight>();
  flights[key] = flight;
  lock.unlock();
  try {
    flight->kernel = load(key, name);
    if (!flight->kernel && source != nullptr) flight->kernel = build(key, *source);
  } catch (...) {
    flight->error = std::current_exception();
    ++counters.failures;
  }
  lock.lock();
  flight->is_done = true;
  flights.erase(key);
  if (flight->kernel) keep(key, flight->kernel);
  lock.unlock();
  landed.notify_all();
  if (flight->error) std::rethrow_exception(flight->error);
  return flight->kernel;
}

KernelRef KernelCache::State::load(const Digest& key, const std::string& name) {
  const Timed timed(counters.load_ns);
  const auto bytes = disk.get(kObjectKind, key);
  if (!bytes) return nullptr;
  KernelRef kernel = unpack_object(name, key, *bytes);
  if (kernel) ++counters.disk_hits;
  return kernel;
}

KernelRef KernelCache::State::build(const Digest& key, const KernelSource& source) {
  const Timed timed(counters.compile_ns);
  ++counters.compiles;
  LlvmObject compiled = compile_llvm(source, options.cpu);
  if (!compiled.error.empty()) refuse(key, source, compiled.error);
  const Image image = flatten_object(compiled.object, "frit_kernel", source.name);
  disk.put(kObjectKind, key,
           pack_object(image, compiled.report, fields + "text " + digest_of(source.text).hex() + "\n"));
  return make_kernel(source.name, key, image.bytes, image.entry, std::move(compiled.report));
}

void KernelCache::State::refuse(const Digest& key, const KernelSource& source, const std::string& log) {
  const std::string path = disk.keep_failed_text(key, "ll", source.text);
  throw CompilerError(Finding{
      .where = path.empty() ? "kernel " + source.name : path,
      .what = fmt::format("LLVM refuses the text of kernel \"{}\"", source.name),
      .excerpt = {},
      .got = first_lines(log, 4000),
      .expected = fmt::format("a text for {} ({}, {})", options.cpu.name(), options.compiler, llvm_options()),
      .fix =
          path.empty() ? fmt::format("the text was not saved ({}); set FRIT_CACHE_DIR to keep it", disk.reason()) : "",
      .from = {}});
}

void KernelCache::State::keep(const Digest& key, const KernelRef& kernel) {
  order.push_front(key);
  kept[key] = {kernel, order.begin()};
  kept_bytes += cost_of(*kernel);
  while (kept_bytes > options.memory_limit_bytes && !order.empty()) {
    const auto oldest = kept.find(order.back());
    kept_bytes -= cost_of(*oldest->second.kernel);
    kept.erase(oldest);
    order.pop_back();
    ++counters.evicted;
  }
}

KernelCacheOptions KernelCacheOptions::from_environment() {
  KernelCacheOptions options;
  options.disk = DiskCacheOptions::from_environment();
  options.cpu = cpu_target_from_environment();
  return options;
}

KernelCache::KernelCache(KernelCacheOptions options) : state_(std::make_unique<State>(std::move(options))) {
  // The threads that compile are not in a child of fork.
  const auto forget = [](void* state) { static_cast<State*>(state)->flights.clear(); };
  ForkGuard::instance().add({.state = state_.get(), .mutex = &state_->mutex, .forget = forget});
}

KernelCache::~KernelCache() { ForkGuard::instance().remove(state_.get()); }

KernelCache& KernelCache::shared() {
  static KernelCache cache;
  return cache;
}

KernelRef KernelCache::get(const KernelSource& source) {
  if (source.target != "cpu") {
    throw UnsupportedError(Finding{.where = fmt::format("kernel {}", source.name),
                                   .what = "no such target in this cache",
                                   .excerpt = {},
                                   .got = fmt::format("\"{}\"", source.target),
                                   .expected = "cpu",
                                   .fix = {},
                                   .from = {}});
  }
  return state_->obtain(key_of(source), source.name, &source);
}

std::vector<KernelRef> KernelCache::get_all(std::span<const KernelSource> sources) {
  std::vector<KernelRef> kernels(sources.size());
  std::vector<size_t> misses;
  std::set<Digest> wanted;
  for (size_t i = 0; i < sources.size(); ++i) {
    const Digest key = key_of(sources[i]);
    if (!wanted.contains(key)) kernels[i] = get_by_key(key, sources[i].name);
    if (!kernels[i] && wanted.insert(key).second) misses.push_back(i);
  }
  // The longest first, so that the threads end together.
  std::stable_sort(misses.begin(), misses.end(),
                   [&](size_t a, size_t b) { return sources[a].text.size() > sources[b].text.size(); });
  std::atomic<size_t> next = 0;
  std::vector<std::exception_ptr> errors(misses.size());
  const auto work = [&] {
    for (size_t k = next++; k < misses.size(); k = next++) {
      try {
        kernels[misses[k]] = get(sources[misses[k]]);
      } catch (...) {
        errors[k] = std::current_exception();
      }
    }
  };
  const size_t threads = std::min<size_t>(static_cast<size_t>(state_->options.compile_threads), misses.size());
  std::vector<std::jthread> helpers;
  for (size_t t = 1; t < threads; ++t) helpers.emplace_back(work);
  work();
  helpers.clear();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!kernels[i]) kernels[i] = get(sources[i]);  // the same text twice
  }
  return kernels;
}

KernelRef KernelCache::get_by_key(const Digest& key, const std::string& name) {
  return state_->obtain(key, name, nullptr);
}

std::string KernelCache::explain_miss(const KernelSource& source) {
  const Digest key = key_of(source);
  if (disk().get(kObjectKind, key)) return "";
  if (!disk().is_usable()) return fmt::format("no disk cache ({})", disk().reason());
  const std::string here = state_->fields_of(source);
  size_t best_equal = 0;
  std::string reason = "no entry at all";
  for (const DiskCache::EntryInfo& entry : disk().list()) {
    const auto entry_key = Digest::from_hex(entry.name);
    if (entry.kind != kObjectKind || !entry_key) continue;
    const std::string there = object_fields(disk().get(kObjectKind, *entry_key).value_or(""));
    const FieldDifference difference = compare_fields(there, here);
    if (difference.equal < best_equal) continue;
    best_equal = difference.equal;
    reason = difference.first;
  }
  return reason;
}

Digest KernelCache::key_of(const KernelSource& source) const {
  const std::string_view fields[] = {state_->fields, source.target, source.text};
  return digest_of_fields(fields);
}

const CpuTarget& KernelCache::cpu() const { return state_->options.cpu; }
DiskCache& KernelCache::disk() { return state_->disk; }
std::string KernelCache::key_fields(const KernelSource& source) const { return state_->fields_of(source); }
const KernelCache::Counters& KernelCache::counters() const { return state_->counters; }

uint64_t KernelCache::memory_bytes() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->kept_bytes;
}

}  // namespace frit::runtime
