#include <fmt/format.h>

#include "compiler/onnx/rewrites.h"

// Loop, unrolled: the trip count and every condition must be known when the model is imported.
namespace frit::onnx {
namespace {

constexpr int64_t kMaxTrips = 64;

// A copy of what a name stands for; constants enter the graph once.
std::shared_ptr<Slot> copy_of(NodeImport& n, Slot& slot, const std::string& name) {
  if (!slot.known && !slot.unsupported) n.importer().value_of(slot, name);
  return std::make_shared<Slot>(slot);
}

bool truth(NodeImport& n, Slot& slot, const std::string& name) {
  const std::optional<Array> known = n.importer().know(slot, name);
  if (!known || known->size() != 1) n.unsupported("its condition depends on data");
  return known->int_at(0) != 0;
}

Value stacked(NodeImport& n, const std::vector<std::shared_ptr<Slot>>& parts, const std::string& name) {
  std::vector<Value> rows;
  for (const auto& part : parts) {
    Dims shape = part->shape;
    shape.insert(shape.begin(), 1);
    rows.push_back(n.reshape(n.importer().value_of(*part, name), shape));
  }
  return rows.size() == 1 ? rows.front() : n.call("onnx_concat", {rows}, {{"axis", int64_t{0}}}).front();
}

}  // namespace

void rewrite_loop(NodeImport& n) {
  const AttributeDef* a = n.node().find("body");
  if (!a || a->kind != AttributeDef::kGraph) n.wrong("Loop has no body", {});
  const GraphDef& body = a->graphs.front();
  const size_t carried = n.node().inputs.size() < 2 ? 0 : n.node().inputs.size() - 2;
  if (body.inputs.size() != carried + 2 || body.outputs.size() < carried + 1 ||
      n.node().outputs.size() > body.outputs.size() - 1) {
    n.wrong(
        "the body of Loop does not fit its operands",
        fmt::format("{} inputs and {} outputs for {} carried values", body.inputs.size(), body.outputs.size(), carried),
        fmt::format("{} inputs and at least {} outputs", carried + 2, carried + 1));
  }
  const int64_t trips = n.has(0) ? n.number(0) : -1;
  if (trips > kMaxTrips) {
    n.unsupported(fmt::format("{} trips, and trips are unrolled", trips), fmt::format("at most {}", kMaxTrips));
  }
  bool go = n.has(1) ? truth(n, n.slot(1), n.node().inputs[1]) : true;

  std::vector<std::shared_ptr<Slot>> state;
  for (size_t i = 0; i < carried; ++i) state.push_back(copy_of(n, n.slot(i + 2), n.node().inputs[i + 2]));
  std::vector<std::vector<std::shared_ptr<Slot>>> scans(body.outputs.size() - 1 - carried);
  std::vector<std::string> wanted;
  for (const ValueDef& output : body.outputs) wanted.push_back(output.name);
  Scope shared{&n.scope(), {}};
  n.importer().add_initializers(body, shared);
  for (int64_t trip = 0; go && trip != trips; ++trip) {
    if (trip == kMaxTrips) n.unsupported("more than 64 trips, and trips are unrolled");
    Scope inner{&shared, {}};
    const auto bind = [&](size_t input, Known known) {
      auto slot = std::make_shared<Slot>();
      slot->dtype = known.dtype;
      slot->shape = known.shape;
      slot->known = std::move(known);
      inner.names.insert_or_assign(body.inputs[input].name, std::move(slot));
    };
    const int64_t one = 1;
    bind(0, known_numbers(DType::I64, {}, {&trip, 1}));
    bind(1, known_numbers(DType::Bool, {}, {&one, 1}));
    for (size_t i = 0; i < carried; ++i) inner.names.insert_or_assign(body.inputs[i + 2].name, state[i]);
    const size_t noted = n.importer().unsupported_count();
    n.importer().import_nodes(body, inner, wanted);
    if (n.importer().unsupported_count() != noted) n.unsupported("its body holds what is not supported");
    std::vector<std::shared_ptr<Slot>> results;
    for (const std::string& name : wanted) {
      Slot* slot = inner.find(name);
      if (!slot) n.wrong("an output of the body that nothing makes", quote_name(name));
      results.push_back(copy_of(n, *slot, name));
    }
    go = truth(n, *results[0], wanted[0]);
    for (size_t i = 0; i < carried; ++i) state[i] = results[i + 1];
    for (size_t i = 0; i < scans.size(); ++i) scans[i].push_back(results[carried + 1 + i]);
  }
  for (size_t i = 0; i < n.node().outputs.size(); ++i) {
    if (!n.wants(i)) continue;
    const std::string& name = n.node().outputs[i];
    if (i < carried) {
      n.alias(i, *state[i], name);
    } else if (scans[i - carried].empty()) {
      n.unsupported("no trips, and an output that would be stacked of them");
    } else {
      n.give(i, stacked(n, scans[i - carried], name));
    }
  }
}

}  // namespace frit::onnx
