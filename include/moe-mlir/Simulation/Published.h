//===- Published.h - schedules of published systems -----------------------------------------------------*- C++ -*-===//
//
// What others run and the compiler does not emit: programs of the simulator. Ranks are alike, but for the busiest one.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_SIMULATION_PUBLISHED_H
#define MOE_MLIR_SIMULATION_PUBLISHED_H

#include "moe-mlir/Simulation/Cost.h"
#include "moe-mlir/Simulation/Layer.h"

namespace moe_mlir::sim {

/// A layer of flux (the code of COMET): its tokens are spread over all ranks of a node, experts over `ep` groups of
/// ranks, and each expert's width over the `tp` ranks of a group.
struct FluxLayer {
  int64_t tokens; ///< of all ranks
  int64_t hidden, ffn, experts, topK, tp, ep;
  bool gated = false;
  bool even = false;  ///< as many rows for each expert; otherwise drawn
  double load = 1;    ///< rows of the busiest group to those of the mean one
  int64_t slices = 8; ///< of the second product's columns
};

/// All-gather of the tokens by the copy engine, one flag per source, beside the first product.
double fluxGather(const Cluster &cluster, const Constants &constants, const FluxLayer &layer);
/// The second product in slices of columns on all multiprocessors but `blocks`, which sum and send: all but the
/// last slice, which everybody sends; then a kernel that adds what the ranks sent.
double fluxScatter(const Cluster &cluster, const Constants &constants, const FluxLayer &layer, int64_t blocks);
/// Of all numbers of blocks, the one with the least time.
int64_t bestBlocks(const Cluster &cluster, const Constants &constants, const FluxLayer &layer);
/// Products of flux without any communication, and communication without products.
struct FluxAlone {
  double products, links;
};
FluxAlone fluxAlone(const Cluster &cluster, const Constants &constants, const FluxLayer &layer);
/// Both, with the kernel of the activation between them.
double fluxSeconds(const Cluster &cluster, const Constants &constants, const FluxLayer &layer, int64_t blocks);

/// Tutel's layer: the capacity in `degree` parts, each with two all-to-alls; those of a part run beside the experts of
/// another. One row per pair of token and expert, experts by a library's batched product.
struct TutelLayer {
  int64_t tokens; ///< of a rank
  int64_t hidden, ffn, topK;
  double expertsPerRank;
  int64_t elementBytes = 2;
};
struct TutelTimes {
  double seconds = 0, links = 0, products = 0; ///< the last two: of all parts, one after the other
};
TutelTimes tutelSeconds(const Cluster &cluster, const Constants &constants, const TutelLayer &layer, int64_t degree,
                        bool nested);
/// The best degree of 1, 2, 4 and 8, and the best all-to-all if `mayNest`.
struct TutelChoice {
  int64_t degree = 1;
  bool nested = false;
  TutelTimes times;
};
TutelChoice bestTutel(const Cluster &cluster, const Constants &constants, const TutelLayer &layer, bool mayNest);
/// Fairseq's: products with a dense mask to encode and decode, a batch of products per source.
double fairseqSeconds(const Cluster &cluster, const Constants &constants, const TutelLayer &layer);

} // namespace moe_mlir::sim

#endif // MOE_MLIR_SIMULATION_PUBLISHED_H
