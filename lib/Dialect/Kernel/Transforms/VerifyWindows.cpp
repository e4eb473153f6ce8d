//===- VerifyWindows.cpp - exchanges of ranks that end ------------------------------------------------------------===//
//
// 1. Look at each kernel alone: what it writes to other ranks is signalled, and not read (Windows.cpp).
// 2. Walk the launches of each host function in order (WindowOrder.cpp). What holds for counters and other memory is in
//    Counters.cpp.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Counters.h"
#include "Windows.h"

#include "moe-mlir/Dialect/Kernel/IR/Ranks.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELVERIFYWINDOWS
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h.inc"
} // namespace mlir::kernel

namespace {
struct KernelVerifyWindows : kernel::impl::KernelVerifyWindowsBase<KernelVerifyWindows> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verify()))
      signalPassFailure();
  }

private:
  LogicalResult verify() {
    if (failed(verifyCounters(getOperation())))
      return failure();
    if (!hasRanks())
      return success();
    llvm::DenseMap<StringAttr, WindowUses> kernels;
    for (auto kernel : getOperation().getOps<FuncOp>()) {
      FailureOr<WindowUses> uses = WindowUses::of(kernel);
      if (failed(uses))
        return failure();
      kernels[kernel.getSymNameAttr()] = *uses;
    }
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(verifyLaunches(function, kernels)))
        return failure();
    return success();
  }

  /// Whether this is a program of several ranks.
  bool hasRanks() {
    return getOperation()
        .walk<WalkOrder::PreOrder>([](Operation *op) {
          auto grid = dyn_cast<shard::GridOp>(op);
          bool isOfRanks = isa<RankOp, AgreeOp, WindowOp, WindowsOp, WindowAtOp, PartOp, PutOp, EpochOp, SignalOp,
                               AwaitOp, AdvanceOp>(op) ||
                           (grid && countRanks(grid) != 1);
          return isOfRanks ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }
};
} // namespace
