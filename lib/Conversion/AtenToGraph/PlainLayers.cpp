//===- PlainLayers.cpp - what was not raised, and why -------------------------------------------------------------===//

#include "PlainLayers.h"

#include "moe-mlir/Support/Locations.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace mlir::aten;

std::string mlir::aten::nameOf(Value value) {
  if (isa<BlockArgument>(value))
    return "an input";
  if (auto call = value.getDefiningOp<CallOp>())
    return call.getBase().str();
  return value.getDefiningOp()->getName().getStringRef().str();
}

static moe::PlainLayer describe(const PlainAnchor &anchor) {
  moe_mlir::LocationParts own = moe_mlir::partsOf(anchor.op->getLoc());
  moe::PlainLayer layer;
  layer.kind = anchor.kind;
  layer.place = own.place;
  if (!own.names.empty())
    layer.layer = own.names.front().str();
  layer.step = anchor.why.step;
  layer.reason = anchor.why.reason;
  if (anchor.why.at)
    layer.at = moe_mlir::partsOf(anchor.why.at->getLoc()).place;
  if (layer.at == layer.place)
    layer.at.clear();
  return layer;
}

void mlir::aten::recordPlainLayers(func::FuncOp function) {
  SmallVector<PlainAnchor> found;
  findPlainExperts(function, found);
  findPlainAttention(function, found);
  findPlainNorms(function, found);
  llvm::DenseMap<Operation *, unsigned> numbers;
  function.walk([&](Operation *op) { numbers.try_emplace(op, numbers.size()); });
  llvm::sort(found, [&](const PlainAnchor &a, const PlainAnchor &b) {
    return std::pair(numbers[a.op], a.kind) < std::pair(numbers[b.op], b.kind);
  });
  if (found.empty()) {
    function->removeAttr(moe::kPlainAttr);
    return;
  }
  SmallVector<moe::PlainLayer> layers;
  for (const PlainAnchor &anchor : found) {
    const moe::PlainLayer &layer = layers.emplace_back(describe(anchor));
    remark::missed(
        anchor.op->getLoc(),
        remark::RemarkOpts::name(moe::nameOf(layer.kind)).category("moe-import").function(function.getSymName()))
        << remark::add("{0} stays plain operations", moe::wordsOf(layer.kind, 1)) << remark::reason("{0}", layer.why());
  }
  function->setAttr(moe::kPlainAttr, moe::getPlainLayersAttr(function.getContext(), layers));
}
