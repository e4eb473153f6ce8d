//===- Layer.h - the shape of a MoE layer on several ranks ----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SIMULATION_LAYER_H
#define MOE_MLIR_SIMULATION_LAYER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace moe_mlir::sim {

/// Sizes of a MoE layer, and how its tokens spread over the ranks.
struct Layer {
  std::string name;
  int64_t tokens = 0; ///< of one rank
  int64_t experts = 0, topK = 0;
  int64_t hidden = 0;        ///< width of a token
  int64_t ffn = 0;           ///< width of an expert, of gate and up each
  bool gated = true;         ///< up has two matrices
  int64_t elementBytes = 2;  ///< of tokens and weights
  int64_t sumBytes = 4;      ///< of a partial sum on its way back
  bool gathered = false;     ///< on a CPU: rows are copied to where up reads them (matrix registers), step by step
  std::vector<double> share; ///< of all pairs of token and expert, by rank of the expert; empty: equal shares

  /// Pairs of token and expert that the experts of a rank with `share` get from `ranks` ranks.
  double pairs(int64_t ranks, double share) const { return double(tokens * topK) * double(ranks) * share; }
  /// Chance that a token has an expert among those with `share` of all pairs: it is sent there once, however many.
  double chance(double share) const;
  double shareOf(int64_t rank, int64_t ranks) const {
    return share.empty() ? 1 / double(ranks) : share[static_cast<size_t>(rank)];
  }
};

/// `NAME`, `NAME,KEY=VALUE..` or `KEY=VALUE..`: experts, top-k, hidden, ffn, gated (yes or no).
llvm::Expected<Layer> parseLayer(llvm::StringRef text);
/// "deepseek-v3, mixtral-8x7b, ..": what parseLayer knows by name.
std::string layerNames();

/// Shares of `ranks` with that standard deviation, which the same numbers always have; none is below zero.
llvm::Expected<std::vector<double>> drawnShares(int64_t ranks, double deviation);

/// One line if the layer cannot be divided among `ranks`.
llvm::Error checkLayer(const Layer &layer, int64_t ranks);

} // namespace moe_mlir::sim

#endif // MOE_MLIR_SIMULATION_LAYER_H
