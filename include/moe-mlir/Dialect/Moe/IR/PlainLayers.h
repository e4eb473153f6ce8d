//===- PlainLayers.h - layers that have no op of their own --------------------------------------------*- C++ -*-===//
//
// The import recognises MoE layers, routers, attention and norms. One that looks like it and is not recognised runs as
// plain operations, which give the same numbers slowly. The function says so in its attribute `moe.plain`, at every
// level, so that whoever compiles it hears of it: a list of dictionaries with the fields below.
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_MOE_IR_PLAINLAYERS_H
#define MOE_MLIR_DIALECT_MOE_IR_PLAINLAYERS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace mlir::moe {

constexpr llvm::StringLiteral kPlainAttr = "moe.plain";

enum class LayerKind { Moe, Router, Attention, Norm };
constexpr LayerKind kLayerKinds[] = {LayerKind::Moe, LayerKind::Router, LayerKind::Attention, LayerKind::Norm};
/// "moe", "router", "attention", "norm"
StringRef nameOf(LayerKind kind);
/// "MoE layer" and so on; `count` says how many.
std::string wordsOf(LayerKind kind, size_t count);

struct PlainLayer {
  LayerKind kind = LayerKind::Moe;
  std::string layer;  ///< part of the model: "model.layers.3.mlp"; empty if the graph does not say
  std::string place;  ///< "file.py:12", or empty
  std::string step;   ///< the first step of the pattern that does not fit
  std::string reason; ///< what was found there
  std::string at;     ///< place of what was found, if it is another one

  /// "file.py:12 (model.layers.3.mlp)", as far as known.
  std::string where() const;
  /// "step: reason, at file.py:14"
  std::string why() const;
};

Attribute getPlainLayersAttr(MLIRContext *context, ArrayRef<PlainLayer> layers);
/// Of all functions of a module, in their order.
std::vector<PlainLayer> getPlainLayers(ModuleOp module);
/// Layers of a kind that have an op of their own, up to level scheduled.
size_t countRaised(ModuleOp module, LayerKind kind);

LogicalResult verifyPlainLayers(Operation *op, Attribute value);

} // namespace mlir::moe

#endif // MOE_MLIR_DIALECT_MOE_IR_PLAINLAYERS_H
