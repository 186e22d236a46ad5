#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/kernel/builder.h"
#include "codegen/lower/lower.h"
#include "support/error.h"

namespace frit {

/// Collects the operands of a group: one kernel parameter for each value (or packed copy) that is read or written.
class Operands {
 public:
  Operands(const StorageLookup& storages, const Graph& graph) : storages_(storages), graph_(graph) {}

  int read(const Value& value, int node, int slot) {
    const auto packed = storages_.packed.find({node, slot});
    if (packed != storages_.packed.end())
      return add({value, packed->second, storages_.packing_index.at({node, slot}), false});
    return add({value, storage_of(value), -1, false});
  }
  int write(const Value& value) { return add({value, storage_of(value), -1, true}); }

  /// The parameters of the kernel, in order.
  void add_buffers(kernel::Builder& b) const {
    for (const Operand& o : list)
      b.add_buffer({fmt::format("v{}.{}", o.value.node, o.value.result),
                    o.storage.dtype == DType::Bool ? DType::U8 : o.storage.dtype, o.written,
                    size_bytes(o.storage.dtype), !may_be_in_place(o)});
  }

  std::vector<Operand> list;

 private:
  // The plan may let a result take the place of an operand that is stored alike.
  bool may_be_in_place(const Operand& o) const {
    return std::any_of(list.begin(), list.end(), [&](const Operand& other) {
      return o.written != other.written && o.packing < 0 &&
             size_bytes(o.storage.dtype) == size_bytes(other.storage.dtype) && o.storage.axes == other.storage.axes;
    });
  }

  const Storage& storage_of(const Value& value) const {
    const auto found = storages_.values.find(value);
    FRIT_CHECK(found != storages_.values.end(),
               fmt::format("%{}.{} is nowhere: {}", value.node, value.result, graph_.node(value).label));
    return found->second;
  }

  int add(Operand operand) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].value == operand.value && list[i].packing == operand.packing) {
        list[i].written = list[i].written || operand.written;
        return static_cast<int>(i);
      }
    }
    list.push_back(std::move(operand));
    return static_cast<int>(list.size()) - 1;
  }
  const StorageLookup& storages_;
  const Graph& graph_;
};

}  // namespace frit
