//===- Passes.td - passes about programs for a GPU -----------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_CUDA_TRANSFORMS_PASSES
#define MOE_MLIR_DIALECT_CUDA_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def CheckCudaHost : Pass<"kernel-check-cuda-host", "::mlir::ModuleOp"> {
  let summary = "Check that the host program leaves device memory alone";
  let description = [{
    Where `kernel.target` is a GPU, the buffers of the host program lie in its memory. An op that reads, writes or copies one, and a
    constant that lies in the host's memory, is an error. With a CPU as target the pass does nothing.
  }];
}

#endif // MOE_MLIR_DIALECT_CUDA_TRANSFORMS_PASSES
