//===- LowerCounters.cpp - counters of arrivals as atomic operations ----------------------------------------------===//
//
// A block is one thread, so an addition with release order behind its stores tells of all of them. A wait is a call of
// the runtime: it gives the processor to the blocks that are waited for, and has an end.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Memrefs.h"
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELLOWERCOUNTERS
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h.inc"
} // namespace mlir::kernel

namespace {
struct KernelLowerCounters : kernel::impl::KernelLowerCountersBase<KernelLowerCounters> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    SmallVector<Operation *> ops;
    for (auto func : getOperation().getOps<FuncOp>())
      func.walk([&](Operation *op) {
        if (isa<ArriveOp, AwaitArrivalsOp>(op))
          ops.push_back(op);
      });
    for (Operation *op : ops) {
      LogicalResult lowered = success();
      if (auto arrive = dyn_cast<ArriveOp>(op))
        lower(arrive, converter);
      else
        lowered = lower(cast<AwaitArrivalsOp>(op), converter);
      if (failed(lowered))
        return signalPassFailure();
      op->erase();
    }
  }

private:
  static Value counterAt(OpBuilder &b, Location loc, const LLVMTypeConverter &converter, Value counters, Value index) {
    Value base = addressOf(b, loc, converter, counters);
    Value number = arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
    return LLVM::GEPOp::create(b, loc, base.getType(), b.getI32Type(), base, ArrayRef<LLVM::GEPArg>{number});
  }

  static void lower(ArriveOp arrive, const LLVMTypeConverter &converter) {
    OpBuilder b(arrive);
    Location loc = arrive.getLoc();
    Value counter = counterAt(b, loc, converter, arrive.getCounters(), arrive.getIndex());
    Value one = LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(1));
    LLVM::AtomicRMWOp::create(b, loc, LLVM::AtomicBinOp::add, counter, one, LLVM::AtomicOrdering::release);
  }

  static LogicalResult lower(AwaitArrivalsOp await, const LLVMTypeConverter &converter) {
    OpBuilder b(await);
    Location loc = await.getLoc();
    Type ptr = LLVM::LLVMPointerType::get(b.getContext()), i32 = b.getI32Type();
    FailureOr<LLVM::LLVMFuncOp> wait = LLVM::lookupOrCreateFn(b, await->getParentOfType<ModuleOp>(),
                                                              "moert_await_arrivals", {ptr, b.getI64Type()}, i32);
    if (failed(wait))
      return failure();
    Value counter = counterAt(b, loc, converter, await.getCounters(), await.getIndex());
    Value arrivals = arith::IndexCastOp::create(b, loc, b.getI64Type(), await.getArrivals());
    LLVM::CallOp::create(b, loc, *wait, ValueRange{counter, arrivals});
    return success();
  }
};
} // namespace
