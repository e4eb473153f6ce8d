//===- PlainLayers.cpp - says which layers stayed plain operations ------------------------------------------------===//

#include "Compiler.h"

using namespace llvm;
using namespace moe_mlir;
using mlir::moe::LayerKind;
using mlir::moe::PlainLayer;

static std::vector<PlainLayer> ofKind(ArrayRef<PlainLayer> layers, LayerKind kind) {
  std::vector<PlainLayer> result;
  copy_if(layers, std::back_inserter(result), [&](const PlainLayer &layer) { return layer.kind == kind; });
  return result;
}

/// "a.py:12 (layers.0.mlp): " or nothing.
static std::string prefixOf(const PlainLayer &layer) {
  std::string where = layer.where();
  return where.empty() ? "" : where + ": ";
}

/// About all layers of a kind, told of the first.
static std::string sentenceOn(ArrayRef<PlainLayer> layers, const std::string &counted) {
  const PlainLayer &first = layers.front();
  return prefixOf(first) + counted + (layers.size() == 1 ? " stays" : " stay") +
         " plain operations and will be slow; step '" + first.step + "' of the pattern " +
         (layers.size() == 1 ? "" : "for this one ") + "does not match: " + first.reason +
         (first.at.empty() ? "" : ", at " + first.at) + (layers.size() == 1 ? "" : "; -v lists all");
}

/// What --require says of a kind that the program does not have, or not wholly; empty: all is well.
std::string Compiler::missing(LayerKind kind) {
  const std::string flag = ("--require=" + mlir::moe::nameOf(kind) + ": ").str();
  const size_t raised = countRaised(*input.module, kind);
  if (std::vector<PlainLayer> layers = ofKind(plain, kind); !layers.empty()) {
    const size_t all = raised + layers.size();
    return flag +
           sentenceOn(layers, std::to_string(layers.size()) + " of " + std::to_string(all) + " " + wordsOf(kind, all));
  }
  // A router becomes moe.gate together with its layer.
  if (std::vector<PlainLayer> layers = ofKind(plain, LayerKind::Moe); kind == LayerKind::Router && !layers.empty())
    return flag + prefixOf(layers.front()) + "the router is not raised, because its MoE layer stays plain operations";
  return raised ? "" : flag + "'" + options.input + "' has no " + wordsOf(kind, 1);
}

/// Warns of each kind that stayed plain, or refuses the program if it must not.
int Compiler::reviewLayers() {
  if (input.level > Level::Scheduled && !options.require.empty()) {
    console.error("--require looks at levels graph, spmd and scheduled; '" + options.input + "' is at level " +
                  levelName(input.level));
    return kUserError;
  }
  plain = mlir::moe::getPlainLayers(*input.module);
  bool refused = false;
  for (LayerKind kind : mlir::moe::kLayerKinds) {
    if (!is_contained(options.require, kind))
      continue;
    std::string text = missing(kind);
    if (text.empty())
      continue;
    refused ? console.note(text) : console.error(text);
    refused = true;
  }
  if (refused)
    return kUnsupported;
  for (LayerKind kind : mlir::moe::kLayerKinds) {
    std::vector<PlainLayer> layers = ofKind(plain, kind);
    if (layers.empty())
      continue;
    console.warning(sentenceOn(layers, (layers.size() == 1 ? std::string(kind == LayerKind::Attention ? "an" : "a")
                                                           : std::to_string(layers.size())) +
                                           " " + wordsOf(kind, layers.size())));
  }
  // The passes that import a model emit remarks; a file of IR has the attribute alone.
  if (options.verbose && !importing)
    for (const PlainLayer &layer : plain)
      console.remark(prefixOf(layer) + wordsOf(layer.kind, 1) + " stays plain operations; " + layer.why());
  return kOk;
}
