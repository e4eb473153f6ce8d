//===- CudaDialect.td - kernels for NVIDIA GPUs -------------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_CUDA_IR_CUDADIALECT
#define MOE_MLIR_DIALECT_CUDA_IR_CUDADIALECT

include "mlir/IR/OpBase.td"

def Cuda_Dialect : Dialect {
  let name = "cuda";
  let cppNamespace = "::mlir::cuda";
  let summary = "Kernels for NVIDIA GPUs: targets, plans, and the functions of the device library";
  let description = [{
    Attributes say what device kernels are made for and how a kernel uses a block. Ops say how a kernel with products
    works after `kernel-specialize-warps`: roles of warps, a ring of stages in shared memory that connects them, copies
    and products. An op is a call of the function of `runtime/device` that its description names;
    `convert-kernel-to-emitc` takes the name and the template arguments from the op.

    Addresses in shared memory are `i32`, descriptors of wgmma operands `i64`; `arith` computes with them.
    A ring and a tile of accumulators are variables of each thread, which the functions change: their ops
    are not values that may be copied, and every op on them stays where it stands.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif // MOE_MLIR_DIALECT_CUDA_IR_CUDADIALECT
