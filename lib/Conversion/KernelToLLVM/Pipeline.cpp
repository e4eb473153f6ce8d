//===- Pipeline.cpp - convert-kernel-to-llvm ----------------------------------------------------------------------===//

#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void kernel::buildConvertKernelToLLVMPipeline(OpPassManager &pm) {
  pm.addPass(createKernelChoosePlans()); // of kernels that were written by hand
  OpPassManager &kernels = pm.nest<FuncOp>();
  kernels.addPass(createKernelChunkDepth());
  kernels.addPass(createKernelLowerMatrixTiles());
  kernels.addPass(createKernelPrefetchWeights());
  kernels.addPass(createKernelSpecializeRowTiles());
  kernels.addPass(createKernelSplitOddK());
  kernels.addPass(createKernelLowerTiles());
  kernels.addPass(createCSEPass());
  kernels.addPass(createKernelOrderProducts());
  kernels.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createKernelDistributeBlocks());
  pm.addPass(createKernelLowerWindows());
  pm.addPass(createKernelLowerCounters());
  pm.addPass(createConvertKernelFuncToLLVM());

  OpPassManager &functions = pm.nest<LLVM::LLVMFuncOp>();
  arith::ArithEmulateUnsupportedFloatsOptions bf16InF32;
  bf16InF32.sourceTypeStrs = {"bf16"};
  functions.addPass(arith::createArithEmulateUnsupportedFloats(bf16InF32));
  functions.addPass(math::createMathExtendToSupportedTypes());
  functions.addPass(createKernelExpandMath());
  pm.addPass(createKernelCallLibm());
  OpPassManager &expanded = pm.nest<LLVM::LLVMFuncOp>();
  expanded.addPass(createLowerAffinePass());
  expanded.addPass(memref::createExpandStridedMetadataPass());
  expanded.addPass(createLowerAffinePass());
  expanded.addPass(createCanonicalizerPass());
  expanded.addPass(createCSEPass());
  expanded.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectors;
  vectors.x86Vector = true;
  expanded.addPass(createConvertVectorToLLVMPass(vectors));
  expanded.addPass(createConvertToLLVMPass());
  expanded.addPass(createReconcileUnrealizedCastsPass());
  expanded.addPass(createKernelBf16MemoryToIntegers());
}

void kernel::registerConvertKernelToLLVMPipeline() {
  PassPipelineRegistration<>("convert-kernel-to-llvm", "Lower kernels (kernel.func) to LLVM functions for the CPU",
                             buildConvertKernelToLLVMPipeline);
}
