// Speed of the f32 matrix product, one thread, beside the FMA peak of the same vector width, interleaved.
//   bench_product [isa] [n ..]      isa: sse2, avx2 or avx512; as FRIT_CPU allows. B is constant and packed beforehand.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "codegen/llvm/llvm.h"
#include "codegen/lower/lower.h"
#include "compiler/passes/group.h"
#include "runtime/cpu/probe.h"
#include "runtime/kernel_cache.h"
#include "runtime/workers.h"

namespace {

using namespace frit;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Array filled(int64_t n, int64_t factor) {
  Array array(DType::F32, {n, n});
  for (int64_t i = 0; i < array.size(); ++i)
    array.as_mutable<float>()[i] = static_cast<float>(i * factor % 1000) / 1000.0F - 0.5F;
  return array;
}

// y[m, n] = sum[k](a[m, k] * b[k, n]) with b constant, ready to run.
class Product {
 public:
  Product(runtime::KernelCache& cache, const Machine& machine, int64_t n)
      : n_(n), a_(filled(n, 7919)), b_(filled(n, 104729)), y_(DType::F32, {n, n}) {
    Graph graph;
    const std::vector<int64_t> shape{n, n};
    const Value a = graph.add_input("a", {DType::F32, make_shape(shape)});
    const Value b = graph.add_constant(b_, "b");
    Compute c;
    c.axes = {{"m", index_constant(n)}, {"n", index_constant(n)}, {"k", index_constant(n)}};
    c.free = 2;
    const std::vector<Expr> at_a{index(0), index(2)}, at_b{index(2), index(1)};
    c.reduction = make_reduction(ReduceOp::Sum, read(DType::F32, 0, at_a) * read(DType::F32, 1, at_b));
    c.results.push_back({accumulator(DType::F32, 0), {0, 1}});
    const Value y = graph.add_compute(std::move(c), {a, b}, "product");
    graph.add_output("y", y);
    const Grouping grouping = group(graph, machine);
    StorageLookup storages;
    for (const Value& v : {a, b, y}) storages.values[v] = make_storage(DType::F32, shape, row_major(2));
    std::vector<Array> packs;
    for (const Grouping::Packing& p : grouping.packings) {
      const Storage packed = make_storage(DType::F32, shape, p.layout);
      storages.packed[{p.node, p.slot}] = packed;
      storages.packing_index[{p.node, p.slot}] = static_cast<int>(packs_.size());
      packs_.emplace_back(DType::F32, std::vector<int64_t>{packed.elements});
      const Lowered copy = lower_copy(shape, storages.values[b], packed, p.layout, machine);
      void* buffers[] = {const_cast<std::byte*>(b_.data()), packs_.back().mutable_data()};
      cache.get({"pack", "cpu", print_llvm(*copy.kernel)})->fn()(buffers, copy.dims.data(), 0, copy.tiles, nullptr);
    }
    lowered_ = lower(graph, grouping.groups[0], storages, machine);
    kernel_ = cache.get({"product", "cpu", print_llvm(*lowered_.kernel)});
    for (const Operand& o : lowered_.operands) {
      if (o.packing >= 0)
        buffers_.push_back(packs_[static_cast<size_t>(o.packing)].mutable_data());
      else
        buffers_.push_back(o.value == a ? a_.mutable_data() : o.value == y ? y_.mutable_data() : b_.mutable_data());
    }
  }

  double run() {
    const double start = seconds();
    kernel_->fn()(buffers_.data(), lowered_.dims.data(), 0, lowered_.tiles, nullptr);
    return 2.0 * static_cast<double>(n_ * n_ * n_) / (seconds() - start) / 1e9;
  }

  double worst_error() const {
    double worst = 0;
    for (int64_t m = 0; m < n_; m += std::max<int64_t>(1, n_ / 8)) {
      for (int64_t n = 0; n < n_; ++n) {
        double sum = 0;
        for (int64_t k = 0; k < n_; ++k) sum += a_.float_at(m * n_ + k) * b_.float_at(k * n_ + n);
        worst = std::max(worst, std::abs(sum - y_.float_at(m * n_ + n)));
      }
    }
    return worst;
  }
  const std::string& schedule() const { return lowered_.schedule; }

 private:
  int64_t n_;
  Array a_, b_, y_;
  std::vector<Array> packs_;
  Lowered lowered_;
  runtime::KernelRef kernel_;
  std::vector<void*> buffers_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) setenv("FRIT_CPU", argv[1], 1);
  std::vector<int64_t> sizes;
  for (int i = 2; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  if (sizes.empty()) sizes = {512, 1024};
  runtime::KernelCache& cache = runtime::KernelCache::shared();
  const Machine machine = machine_named(argc > 1 ? argv[1] : "avx512");
  runtime::Workers workers(1);
  runtime::FmaProbe probe(cache, workers, 1, machine.vector_bytes);
  for (const int64_t n : sizes) {
    Product product(cache, machine, n);
    double best = 0, peak = 0;
    for (int round = 0; round < 40; ++round) {
      peak = std::max(peak, probe.run());
      best = std::max(best, product.run());
    }
    fmt::print("{} n {:5} {:7.1f} GFLOP/s of {:7.1f} probed: {:5.1f} %  error {:.1e}  {}\n", machine.name, n, best,
               peak, 100 * best / peak, product.worst_error(), product.schedule());
  }
}
