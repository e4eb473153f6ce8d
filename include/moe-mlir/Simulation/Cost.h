//===- Cost.h - what products and transfers take --------------------------------------------------------*- C++ -*-===//
//
// The one cost model of the scheduler and of moe-sim: products of GPUs by CudaCost, of CPUs and links by the facts of a
// cluster's file.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_SIMULATION_COST_H
#define MOE_MLIR_SIMULATION_COST_H

#include "moe-mlir/Analysis/CudaCost.h"
#include "moe-mlir/Simulation/Cluster.h"

namespace moe_mlir::sim {

/// All that was fitted, by `moe-sim --fit` (Calibrate.cpp), to five published times. Nothing else of the model was.
struct Constants {
  double link = 0.9809;     ///< of a link's rate by its vendor, what a large transfer gets
  double published = 1.4896; ///< seconds of a published system's products to one second of CudaCost
};

/// Bytes per second of a large transfer.
inline double rateOf(const Link &link, const Constants &constants) {
  return link.reachable > 0 ? link.reachable : link.bytesPerSecond * constants.link;
}

/// The tiles of a product as a kernel's blocks compute them, one per multiprocessor at a time.
struct Tiles {
  int64_t rows = 0, columns = 0; ///< of a tile
  int64_t rowTiles = 0;          ///< of all groups together
  int64_t columnTiles = 0;
  double seconds = 0; ///< of a tile
  double first = 0;   ///< of a CPU: of the first one of an expert and block of columns, which reads weights from memory
  double record = 0;  ///< that a block spends on each record of its list

  int64_t count() const { return rowTiles * columnTiles; }
};

/// `rows` of all groups together, drawn evenly. Tiles as the compiler chooses them.
Tiles tilesOf(const CudaDevice &device, CudaProduct product);
/// The same in given tiles; `even`: with as many rows in each group.
Tiles tilesOf(const CudaDevice &device, const CudaProduct &product, const CudaTile &tile, bool even);

/// rows x depth times columns x depth on a CPU, by one weight of `groups`.
struct CpuProduct {
  int64_t groups, columns, depth, rows, elementBytes;
};
/// Tiles of one of a rank's threads; `rows` drawn evenly.
Tiles cpuTilesOf(const Cluster &cluster, const CpuProduct &product);

/// Seconds of one tile if `blocks` of them run at a time and all `tiles` together move `bytes`.
double tileSeconds(const CudaDevice &device, const Tiles &tiles, int64_t blocks, double bytes, double overhead = 0);

/// Seconds of a kernel that moves so many bytes of device memory.
double rowsSeconds(const CudaDevice &device, double bytes);

/// An all-to-all of a library's collectives, in which each rank has `bytes`: to every rank a message; or first within
/// nodes, then between ranks of the same place (2DH), with a copy that reorders before each.
double linearAllToAll(const Cluster &cluster, const Constants &constants, double bytes);
double nestedAllToAll(const Cluster &cluster, const Constants &constants, double bytes);
/// Messages that a rank sends.
int64_t linearMessages(const Cluster &cluster);
int64_t nestedMessages(const Cluster &cluster);

} // namespace moe_mlir::sim

#endif // MOE_MLIR_SIMULATION_COST_H
