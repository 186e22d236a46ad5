#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/kernel_runner.h"
#include "compiler/plan/build.h"
#include "ir/array.h"

namespace frit::testing {

/// Runs the launches of a build one by one on any target, init plan and plan alike. Every block has memory of its own,
/// filled with a pattern, so that bytes which nobody wrote show as wrong values.
/// returns  the outputs; arrays of their types
inline std::vector<Array> run_build(const Build& build, KernelRunner& runner, const std::vector<Array>& inputs) {
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<std::vector<Line>> memory;
  std::vector<Bytes> blocks;
  for (const Block& block : build.places.blocks) {
    const auto size = static_cast<size_t>(block.bytes);
    auto& lines = memory.emplace_back(size / 64 + 1);
    std::memset(static_cast<void*>(lines.data()), 0xfb, lines.size() * 64);  // NaN, and no small integer
    blocks.emplace_back(std::span(lines[0].bytes, size));
    const auto fill = [&](const Array& from) { std::memcpy(lines[0].bytes, from.data(), from.size_bytes()); };
    if (block.kind == runtime::StorageKind::Input) fill(inputs[static_cast<size_t>(block.index)]);
    if (block.kind == runtime::StorageKind::Constant)
      fill(std::get<Constant>(build.graph.node(block.index).payload).array);
  }
  for (const BuiltLaunch& launch : build.launches) {
    if (!launch.lowered.kernel || launch.lowered.tiles == 0) continue;
    std::vector<Bytes> buffers;
    for (size_t n = 0; n < launch.buffers.size(); ++n) {
      const BuiltLaunch::Buffer& buffer = launch.buffers[n];
      EXPECT_EQ(buffer.offset % launch.lowered.kernel->buffers[n].alignment, 0) << launch.name << ", buffer " << n;
      buffers.emplace_back(blocks[static_cast<size_t>(buffer.block)].bytes, static_cast<size_t>(buffer.offset));
    }
    runner.run(*launch.lowered.kernel, buffers, launch.lowered.dims, 0, launch.lowered.tiles,
               static_cast<size_t>(launch.lowered.scratch_bytes), 3);
  }
  std::vector<Array> outputs;
  for (size_t n = 0; n < build.graph.outputs().size(); ++n) {
    const TensorType& type = build.graph.type(build.graph.outputs()[n].value);
    Array& array = outputs.emplace_back(type.dtype, static_shape(type.shape));
    for (size_t b = 0; b < blocks.size(); ++b) {
      const Block& block = build.places.blocks[b];
      if (block.kind == runtime::StorageKind::Output && block.index == static_cast<int>(n) && array.size_bytes() > 0)
        std::memcpy(array.mutable_data(), blocks[b].data(), array.size_bytes());
    }
  }
  return outputs;
}

/// Whether two buffers of a launch share a block or one has margins before it: what a target that is handed copies of
/// buffers cannot show.
inline bool shares_bytes(const Build& build) {
  for (const BuiltLaunch& launch : build.launches) {
    std::set<int> seen;
    for (const auto& buffer : launch.buffers)
      if (!seen.insert(buffer.block).second || buffer.offset != 0) return true;
  }
  return false;
}

}  // namespace frit::testing
