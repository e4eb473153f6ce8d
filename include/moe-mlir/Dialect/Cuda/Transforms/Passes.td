//===- Passes.td - passes about programs for a GPU -----------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_CUDA_TRANSFORMS_PASSES
#define MOE_MLIR_DIALECT_CUDA_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def CheckCudaHost : Pass<"kernel-check-cuda-host", "::mlir::ModuleOp"> {
  let summary = "Check that the host program writes no device memory";
  let description = [{
    Where `kernel.target` is a GPU, the buffers of the host program lie in its memory. An op that writes or copies one is an error. A
    `memref.load` may read: it becomes a `moert.read`. With a CPU as target the pass does nothing.
  }];
}

#endif // MOE_MLIR_DIALECT_CUDA_TRANSFORMS_PASSES
