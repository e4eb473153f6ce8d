//===- Cluster.h - devices and the links between them ---------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SIMULATION_CLUSTER_H
#define MOE_MLIR_SIMULATION_CLUSTER_H

#include "moe-mlir/Analysis/CudaDevices.h"

#include "llvm/Support/Error.h"

#include <string>

namespace moe_mlir::sim {

/// What connects a rank with others.
struct Link {
  double bytesPerSecond = 0; ///< of one rank, one way, by the vendor
  double reachable = 0;      ///< of it, what large transfers were measured to get; 0: the cost model's fraction of it
  double latency = 0;        ///< seconds from a store to its sight at the other end
};

/// A host whose ranks are processes on its cores.
struct CpuMachine {
  int64_t cores = 0;               ///< 0: the cluster's devices are GPUs
  double coreFlops = 0;            ///< of a core, products of 16-bit floats
  double coreVectorFlops = 0;      ///< in f32
  double coreBytesPerSecond = 0;   ///< that one core reads while others rest
  double memoryBytesPerSecond = 0; ///< that all cores read together
  double memoryBytes = 0;
  int64_t tileRows = 6, tileColumns = 64; ///< of products, if the file says no others: those of AVX-512
  int64_t sharers = 0;                    ///< ranks that share the cores, if they are more than the cluster's of a node
};

/// Facts about a machine, from a file of data/clusters. Ranks are numbered node by node.
struct Cluster {
  std::string name, about;
  std::string deviceName;
  CudaDevice device = cudaDevices().front();
  CpuMachine cpu;                 ///< if it has cores, `device` says nothing
  int64_t ranksPerNode = 1, nodes = 1;
  Link local, network;        ///< within a node; between ranks of different nodes
  double storeBytesPerSecond = 0; ///< that one block's threads store to another rank
  double bulkBytesPerSecond = 0;  ///< that one block copies there by the copy engine of its multiprocessor
  double message = 0;             ///< seconds that a message of a collective costs its sender, beside its bytes
  double launch = 0;              ///< seconds from the end of a kernel to the start of the next

  int64_t ranks() const { return ranksPerNode * nodes; }
  bool isCpu() const { return cpu.cores > 0; }
  /// What the blocks of a rank's kernel run on at the same time: multiprocessors, or threads.
  int64_t workers() const;
  /// The part of it that `size` ranks are, of which each follows `stride` behind the one before.
  Cluster along(int64_t stride, int64_t size) const;
};

/// Reads a description. `file` names the text in errors, which are one line.
llvm::Expected<Cluster> parseCluster(llvm::StringRef text, llvm::StringRef file);

/// The cluster of `[N x]NAME`: NAME.json of `folder`, or a path that ends in `.json`. With N it has that many ranks,
/// otherwise one node.
llvm::Expected<Cluster> findCluster(llvm::StringRef spec, llvm::StringRef folder);

/// Whether `[N x]NAME` has the N.
bool saysRanks(llvm::StringRef spec);
/// The file that describes the cluster of `[N x]NAME`; empty if it is called by its name.
llvm::StringRef clusterFile(llvm::StringRef spec);

/// Where the descriptions stand that come with this program, in a build and where it is installed.
std::string clusterFolder();

} // namespace moe_mlir::sim

#endif // MOE_MLIR_SIMULATION_CLUSTER_H
