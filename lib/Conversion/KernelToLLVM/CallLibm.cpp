//===- CallLibm.cpp - math functions that neither LLVM nor a polynomial gives -------------------------------------===//
//
// A model computes few of them, so each lane is a call of the C library.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"

#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELCALLLIBM
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h.inc"
} // namespace mlir::kernel

namespace {
struct KernelCallLibm : kernel::impl::KernelCallLibmBase<KernelCallLibm> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (isa<math::AcoshOp, math::AsinhOp, math::AtanhOp, math::CbrtOp, math::ErfOp, math::ErfcOp, math::ExpM1Op,
              math::Log1pOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (failed(lower(module, op)))
        return signalPassFailure();
  }

private:
  static LogicalResult lower(ModuleOp module, Operation *op) {
    Type type = op->getResult(0).getType(), element = getElementTypeOrSelf(type);
    auto vector = dyn_cast<VectorType>(type);
    if ((!element.isF32() && !element.isF64()) || (vector && (vector.getRank() != 1 || vector.isScalable())))
      return op->emitOpError() << "has no function in the C library for " << type;
    OpBuilder b(op);
    Location loc = op->getLoc();
    std::string name = op->getName().stripDialect().str() + (element.isF32() ? "f" : "");
    FailureOr<LLVM::LLVMFuncOp> function = LLVM::lookupOrCreateFn(b, module, name, element, element);
    if (failed(function))
      return failure();
    auto call = [&](Value x) { return LLVM::CallOp::create(b, loc, *function, x).getResult(); };
    Value x = op->getOperand(0), result;
    if (!vector) {
      result = call(x);
    } else {
      result = x;
      for (int64_t lane = 0; lane < vector.getNumElements(); ++lane)
        result = vector::InsertOp::create(b, loc, call(vector::ExtractOp::create(b, loc, x, lane)), result, lane);
    }
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
    return success();
  }
};
} // namespace
