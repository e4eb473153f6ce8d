//===- PlainLayers.cpp - layers that have no op of their own ------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/PlainLayers.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::moe;

StringRef mlir::moe::nameOf(LayerKind kind) {
  switch (kind) {
  case LayerKind::Moe:
    return "moe";
  case LayerKind::Router:
    return "router";
  case LayerKind::Attention:
    return "attention";
  case LayerKind::Norm:
    return "norm";
  }
  llvm_unreachable("unknown kind");
}

std::string mlir::moe::wordsOf(LayerKind kind, size_t count) {
  switch (kind) {
  case LayerKind::Moe:
    return count == 1 ? "MoE layer" : "MoE layers";
  case LayerKind::Router:
    return count == 1 ? "router" : "routers";
  case LayerKind::Attention:
    return count == 1 ? "attention layer" : "attention layers";
  case LayerKind::Norm:
    return count == 1 ? "norm" : "norms";
  }
  llvm_unreachable("unknown kind");
}

/// The op that each kind becomes, one per layer.
static StringRef opOf(LayerKind kind) {
  switch (kind) {
  case LayerKind::Moe:
    return "moe.expert";
  case LayerKind::Router:
    return "moe.gate";
  case LayerKind::Attention:
    return "nn.attention";
  case LayerKind::Norm:
    return "nn.rms_norm";
  }
  llvm_unreachable("unknown kind");
}

std::string PlainLayer::where() const {
  if (layer.empty())
    return place;
  return place.empty() ? layer : place + " (" + layer + ")";
}

std::string PlainLayer::why() const { return step + ": " + reason + (at.empty() ? "" : ", at " + at); }

/// The fields of a dictionary of `moe.plain`, after `kind`.
static constexpr std::pair<StringLiteral, std::string PlainLayer::*> fields[] = {{"layer", &PlainLayer::layer},
                                                                                 {"place", &PlainLayer::place},
                                                                                 {"step", &PlainLayer::step},
                                                                                 {"reason", &PlainLayer::reason},
                                                                                 {"at", &PlainLayer::at}};

Attribute mlir::moe::getPlainLayersAttr(MLIRContext *context, ArrayRef<PlainLayer> layers) {
  Builder builder(context);
  SmallVector<Attribute> list;
  for (const PlainLayer &layer : layers) {
    SmallVector<NamedAttribute> entries = {builder.getNamedAttr("kind", builder.getStringAttr(nameOf(layer.kind)))};
    for (auto [name, field] : fields)
      if (!(layer.*field).empty())
        entries.push_back(builder.getNamedAttr(name, builder.getStringAttr(layer.*field)));
    list.push_back(builder.getDictionaryAttr(entries));
  }
  return builder.getArrayAttr(list);
}

static std::optional<LayerKind> parseKind(Attribute attr) {
  if (auto text = dyn_cast_if_present<StringAttr>(attr))
    for (LayerKind kind : kLayerKinds)
      if (text == nameOf(kind))
        return kind;
  return std::nullopt;
}

std::vector<PlainLayer> mlir::moe::getPlainLayers(ModuleOp module) {
  std::vector<PlainLayer> layers;
  for (auto function : module.getOps<FunctionOpInterface>()) {
    auto list = function->getAttrOfType<ArrayAttr>(kPlainAttr);
    if (!list)
      continue;
    for (auto entry : list.getAsRange<DictionaryAttr>()) {
      PlainLayer &layer = layers.emplace_back();
      layer.kind = *parseKind(entry.get("kind"));
      for (auto [name, field] : fields)
        if (auto text = entry.getAs<StringAttr>(name))
          layer.*field = text.str();
    }
  }
  return layers;
}

size_t mlir::moe::countRaised(ModuleOp module, LayerKind kind) {
  size_t count = 0;
  module.walk([&](Operation *op) { count += op->getName().getStringRef() == opOf(kind); });
  return count;
}

LogicalResult mlir::moe::verifyPlainLayers(Operation *op, Attribute value) {
  if (!isa<FunctionOpInterface>(op))
    return op->emitOpError() << "'" << kPlainAttr << "' belongs to a function";
  auto list = dyn_cast<ArrayAttr>(value);
  if (!list)
    return op->emitOpError() << "'" << kPlainAttr << "' must be a list of dictionaries, got " << value;
  for (Attribute element : list) {
    auto entry = dyn_cast<DictionaryAttr>(element);
    if (!entry || !parseKind(entry.get("kind")))
      return op->emitOpError() << "'" << kPlainAttr
                               << "' must say the kind of each layer: moe, router, attention or norm; got " << element;
    for (StringRef name : {"step", "reason"})
      if (!entry.get(name))
        return op->emitOpError() << "a layer of '" << kPlainAttr << "' must have a " << name << ", got " << entry;
    for (NamedAttribute field : entry) {
      StringRef name = field.getName();
      if (name != "kind" && llvm::none_of(fields, [&](const auto &known) { return known.first == name; }))
        return op->emitOpError() << "a layer of '" << kPlainAttr << "' has no field " << name
                                 << "; one of kind, layer, place, step, reason, at";
      if (!isa<StringAttr>(field.getValue()))
        return op->emitOpError() << name << " of a layer of '" << kPlainAttr << "' must be text, got "
                                 << field.getValue();
    }
  }
  return success();
}
