//===- Bf16Memory.cpp - bf16 in memory as 16-bit integers ---------------------------------------------------------===//
//
// Without AVX512-BF16, LLVM's code generator promotes bf16 values that it has to take apart (a masked store, an
// inserted element) to f32 and rounds them back by calling __truncsfbf2, which C libraries lack. Once conversions are
// integer code, bf16 values only travel between memory and bitcasts; as integers they are never promoted.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"
#include "moe-mlir/Dialect/X86/IR/X86.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELBF16MEMORYTOINTEGERS
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h.inc"
} // namespace mlir::kernel

/// The integer type of a bf16 type (scalar or vector); null for other types.
static Type integerOf(Type type) {
  if (!getElementTypeOrSelf(type).isBF16())
    return {};
  Type i16 = IntegerType::get(type.getContext(), 16);
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.clone(i16) : i16;
}

/// Lets `op` take its operand, a bf16 value, as integers.
static void castOperand(Operation *op, OpOperand &operand) {
  OpBuilder b(op);
  operand.set(LLVM::BitcastOp::create(b, op->getLoc(), integerOf(operand.get().getType()), operand.get()));
}

/// Lets `op` have integers as its result, a bf16 value.
static void castResult(Operation *op) {
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  Value result = op->getResult(0);
  Type type = result.getType();
  result.setType(integerOf(type));
  auto cast = LLVM::BitcastOp::create(b, op->getLoc(), type, result);
  result.replaceAllUsesExcept(cast, cast);
}

namespace {
struct KernelBf16MemoryToIntegers : kernel::impl::KernelBf16MemoryToIntegersBase<KernelBf16MemoryToIntegers> {
  void runOnOperation() override {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    if (kernel::isOffloaded(module))
      return; // the host function of a program for a GPU computes sizes only
    FailureOr<x86::TargetAttr> target = x86::TargetAttr::get(module);
    if (failed(target))
      return signalPassFailure();
    if (target->getDotBf16())
      return;
    getOperation().walk([](Operation *op) {
      if (isa<LLVM::StoreOp, LLVM::MaskedStoreOp>(op) && integerOf(op->getOperand(0).getType())) {
        castOperand(op, op->getOpOperand(0));
      } else if (isa<LLVM::LoadOp, LLVM::MaskedLoadOp>(op) && integerOf(op->getResult(0).getType())) {
        if (auto load = dyn_cast<LLVM::MaskedLoadOp>(op))
          for (OpOperand &passThrough : load.getPassThruMutable())
            castOperand(op, passThrough);
        castResult(op);
      }
    });
  }
};
} // namespace
