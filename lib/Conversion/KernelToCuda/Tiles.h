//===- Tiles.h - how a kernel with products uses threads and shared memory ------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOCUDA_TILES_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOCUDA_TILES_H

#include "moe-mlir/Dialect/Cuda/IR/Block.h"
#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

namespace mlir::kernel {

constexpr int64_t kRowBytes = cuda::rowBytes;
constexpr int64_t kChunks = 8; ///< of 16 bytes in such a row
constexpr int64_t kLoadingThreads = cuda::loadingThreads;
constexpr int64_t kLoadingWarps = cuda::loadingThreads / 32;
constexpr int64_t kMultiplyingWarps = cuda::multiplyingThreads / 32;
/// Where the threads of a role meet; all threads of a block meet at 0.
constexpr int64_t kLoadingBarrier = 1, kMultiplyingBarrier = 2;

/// Where the rows of `a` come from.
enum class RowSource {
  Tile,    ///< neighbours in memory: TMA
  Copies,  ///< anywhere, in multiples of 16 bytes: a copy of 16 bytes per thread
  Elements ///< anything else: one element at a time
};

/// The sizes of a kernel with products. A stage holds one step of K: `rows` rows of `a`, then `columns` rows of
/// weights. Of the form for few rows it holds `fewSteps()`: the rows of `a` of each step, then the strips of each.
struct TilePlan {
  cuda::PlanAttr plan;
  int64_t rows = 0, columns = 0, depth = 0; ///< of a tile and of a step
  Type element;                             ///< of both operands
  /// Products with few rows have a form of their own, for one strip of columns at a time: so many strips make up the
  /// columns of each product of a tile. No strips: there is no such form.
  int64_t strips = 0, stripColumns = 0;
  bool usesTiles = false;  ///< some rows of `a` come by TMA
  bool usesCopies = false; ///< some come by the threads

  int64_t stages() const { return plan.getStages(); }
  /// A tile of at most so many rows is computed with swapped operands.
  int64_t fewRows() const { return plan.getFewRows(); }
  /// Steps of K in a stage of that form.
  int64_t fewSteps() const { return plan.getFewSteps(); }
  /// Between the threads' accesses to a stage and those of TMA and wgmma.
  cuda::ProxyFence proxyFence() const { return plan.getProxyFence(); }
  /// Each loading thread arrives for itself, when its copies have landed, not a warp later for all its threads.
  bool arrivesByThread() const { return usesCopies && plan.getArrival() == cuda::Arrival::Noinc; }
  bool arrivesLater() const { return usesCopies && !arrivesByThread(); }
  /// At a stage that becomes full: those for the rows, and the thread that asks TMA.
  int64_t fullArrivals() const { return (arrivesByThread() ? kLoadingThreads : kLoadingWarps) + 1; }
  /// Tensor cores multiply 16-bit floats; f32 is multiplied by the threads, in full precision.
  bool usesTensorCores() const { return !element.isF32(); }
  int64_t aBytes() const { return rows * kRowBytes; }
  int64_t stageBytes() const { return aBytes() + columns * kRowBytes; }

  /// By the kernel's `kernel.plan` and the sizes of `target`. Emits an error if its products have no form there.
  static FailureOr<TilePlan> get(FuncOp func, cuda::TargetAttr target);
};

using cuda::blockColumnsOf;
/// Rows of the boxes in which TMA loads it.
int64_t boxRowsOf(Value weight);
/// How the form of a tile for `rows` rows gets the rows of `a`: that for all of its rows, or one for fewer.
RowSource rowSource(MmaOp mma, int64_t rows);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOCUDA_TILES_H
