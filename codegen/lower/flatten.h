#pragma once
#include <functional>
#include <set>
#include <vector>

#include "codegen/group.h"
#include "ir/graph.h"

namespace frit {

/// A stage after its inline producers are written into its expressions: one Compute whose inputs all exist in memory.
struct Flat {
  int node = -1;  // the stage it is; its results are what is written
  Placement placement = Placement::Root;
  Compute compute;
  std::vector<Value> inputs;
  std::vector<std::vector<Expr>> write_positions = {};  // of each result, where they are not its plain axes
};

/// Splits axes that non-affine reads take apart (i // q and i % q, as a channel shuffle does) in two, so that the reads
/// become affine. The first `outer` axes stay.
void split_axes(Flat& flat, int outer);

/// All stages of the group that are not inline, in order. An inline pointwise compute is substituted into its reads; an
/// inline reduction is read by one pointwise stage at exactly that stage's own indices, which becomes its epilogue.
std::vector<Flat> flatten(const Graph& graph, const Group& group);

/// A Scatter after its inline producers are written into it.
struct FlatScatter {
  Flat base;    // y before: what the base holds, at y's own indices
  Flat update;  // over the axes of the scatter; results: value, then the positions
};
FlatScatter flatten_scatter(const Graph& graph, const Group& group);

/// Replaces reads in every expression of a compute; an empty result keeps the read.
void rewrite_reads(Compute& compute, const std::function<Expr(const Expr&)>& rule);

/// Renumbers slots in the order of first use and drops inputs that no expression reads.
void drop_unused_inputs(Compute& compute, std::vector<Value>& inputs);

/// The condition that every position lies inside `shape`, and `condition` holds.
Expr inside(std::span<const Expr> positions, const Shape& shape, const Expr& condition);

}  // namespace frit
