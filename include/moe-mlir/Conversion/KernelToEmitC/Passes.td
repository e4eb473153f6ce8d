//===- Passes.td - block programs to CUDA C++ ------------------------------------------------------------------------===//
#ifndef MOE_MLIR_CONVERSION_KERNELTOEMITC_PASSES
#define MOE_MLIR_CONVERSION_KERNELTOEMITC_PASSES

include "mlir/Pass/PassBase.td"

def KernelDistributeWarps : Pass<"kernel-distribute-warps", "::mlir::kernel::FuncOp"> {
  let summary = "Give the rows of a row program to warps and its inner loops to lanes";
  let description = [{
    Each index of an `scf.forall` becomes the work of one warp; warps of all blocks take turns. In it,

    - a loop whose iterations touch different elements is shared by the lanes. Along rows of a static size that 16 bytes
      divide, a lane takes consecutive iterations and accesses memory by `vector.load` and `vector.store`;
    - a reduction that may be reassociated is done per lane, then across lanes by shuffles, in an order that depends on nothing;
    - a loop that uses the integer sums it carries gets them as prefix sums across lanes;
    - a loop that counts up elements in turn (load, add 1, store) is shared by lanes that find out by a match which of them
      meet at the same element;
    - a loop that only reads is run by every lane;
    - anything else that writes is done by lane 0, and its results are sent to the others.

    Lanes meet before and after each part that writes, because other parts may read what it writes. A kernel without `scf.forall` is the
    work of one warp. The threads of a block are `gpu` and `nvvm` ops from here on.

    If an `scf.forall` holds an `scf.parallel`, each index is the work of a block: its warps share the iterations of the `scf.parallel`,
    its first warp does what writes before and after, and the block meets between these parts.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect",
                           "::mlir::vector::VectorDialect"];
}

def ConvertKernelToEmitC : Pass<"convert-kernel-to-emitc", "::mlir::ModuleOp"> {
  let summary = "Translate kernels whose work is distributed to threads into CUDA C++ as emitc";
  let description = [{
    A kernel becomes `emitc.func` with `extern "C" __global__`. A memref argument becomes a pointer and one
    64-bit size per dynamic dimension (the slots of the CPU's calling convention); loads and stores go through the device
    library's `loadGlobal` and `storeGlobal`, so that the same text runs emulated with every access checked. What C++ has no
    operator for is a function of the device library.

    How the function is launched is said by its attributes: `cuda.threads` of a block, `cuda.shared` bytes of dynamic shared memory,
    `cuda.blocks_per_sm`, and `cuda.maps`, the tensor maps that are its last arguments, each a matrix
    `{slot, element, rows, columns, box = [rows, columns], swizzle}` at the pointer in an argument slot. `rows` is a number, or `-(1 + s)`
    for the value of slot `s`. `cuda.pipeline` tells readers how many `stages` of a product are in shared memory and which `roles` the
    threads have: their `name`, `threads` and `registers` of each.
  }];
  let dependentDialects = ["::mlir::cuda::CudaDialect", "::mlir::emitc::EmitCDialect"];
}

#endif // MOE_MLIR_CONVERSION_KERNELTOEMITC_PASSES
