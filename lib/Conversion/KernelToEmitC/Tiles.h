//===- Tiles.h - how a kernel with products uses threads and shared memory ------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_TILES_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_TILES_H

#include "moe-mlir/Dialect/Cuda/IR/Block.h"
#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include <string>

namespace mlir::kernel {

constexpr int64_t kRowBytes = cuda::rowBytes;
constexpr int64_t kChunks = 8; ///< of 16 bytes in such a row
constexpr int64_t kLoadingThreads = cuda::loadingThreads;
constexpr int64_t kThreads = cuda::loadingThreads + cuda::multiplyingThreads;
constexpr int64_t kLoadingWarps = cuda::loadingThreads / 32;
constexpr int64_t kComputingWarps = cuda::multiplyingThreads / 32;
constexpr int64_t kBarrierBytes = cuda::barrierBytes;
constexpr int64_t kFewRows = 16; ///< a tile of so few rows is computed with swapped operands

/// Where the rows of `a` come from.
enum class RowSource {
  Tile,    ///< neighbours in memory: TMA
  Copies,  ///< anywhere, in multiples of 16 bytes: a copy of 16 bytes per thread
  Elements ///< anything else: one element at a time
};

/// The sizes of a kernel with products. A stage holds one step of K: `rows` rows of `a`, then `columns` rows of
/// weights.
struct TilePlan {
  cuda::PlanAttr plan;
  int64_t rows = 0, columns = 0;
  Type element; ///< of both operands
  /// Products with few rows have a form of their own, for one strip of columns at a time: so many strips make up the
  /// columns of each product of a tile. No strips: there is no such form.
  int64_t strips = 0, stripColumns = 0;
  bool usesTiles = false;  ///< some rows of `a` come by TMA
  bool usesCopies = false; ///< some come by the threads

  int64_t stages() const { return plan.getStages(); }
  /// The function between the threads' accesses to a stage and those of TMA and wgmma.
  StringRef proxyFence() const {
    return plan.getProxyFence() == cuda::ProxyFence::Shared ? "moe::fenceProxyAsyncShared" : "moe::fenceProxyAsync";
  }
  /// Each loading thread arrives for itself, when its copies have landed, not a warp later for all its threads.
  bool arrivesByThread() const { return usesCopies && plan.getArrival() == cuda::Arrival::Noinc; }
  bool arrivesLater() const { return usesCopies && !arrivesByThread(); }
  /// At a stage that becomes full: those for the rows, and the thread that asks TMA.
  int64_t fullArrivals() const { return (arrivesByThread() ? kLoadingThreads : kLoadingWarps) + 1; }
  /// Tensor cores multiply 16-bit floats; f32 is multiplied by the threads, in full precision.
  bool usesTensorCores() const { return !element.isF32(); }
  /// Elements of a step of K.
  int64_t depth() const { return 8 * kRowBytes / element.getIntOrFloatBitWidth(); }
  int64_t aBytes() const { return rows * kRowBytes; }
  int64_t stageBytes() const { return aBytes() + columns * kRowBytes; }
  int64_t sharedBytes() const { return kBarrierBytes + stages() * stageBytes(); }
  /// Steps between the copies of a row and the arrival that announces them. A consumer frees a stage when it has the
  /// next one, hence two stages less than there are.
  int64_t lag() const { return stages() - 2; }

  /// By the kernel's `kernel.plan`. Emits an error if its products have no form on a GPU.
  static FailureOr<TilePlan> get(FuncOp func);
};

using cuda::blockColumnsOf;
/// Rows of the boxes in which TMA loads it.
int64_t boxRowsOf(Value weight);
/// How a tile of at most `rows` rows gets the rows of `a`.
RowSource rowSource(MmaOp mma, int64_t rows);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_TILES_H
