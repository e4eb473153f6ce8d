//===- Passes.td - products of block programs to roles of warps ------------------------------------------------------===//
#ifndef MOE_MLIR_CONVERSION_KERNELTOCUDA_PASSES
#define MOE_MLIR_CONVERSION_KERNELTOCUDA_PASSES

include "mlir/Pass/PassBase.td"

def KernelSpecializeWarps : Pass<"kernel-specialize-warps", "::mlir::kernel::FuncOp"> {
  let summary = "Write the products of a kernel as roles of warps that a ring of stages connects";
  let description = [{
    A kernel with products becomes two roles (`cuda.warp_roles`) that walk the same loops, as its `kernel.plan` says, which is then gone:

    - `load`: per step of K, when the stage is empty, one thread lets bulk copies (TMA) bring the weights, and the rows of
      `a` where they are neighbours in memory; other rows are copied by all threads;
    - `multiply`: two warpgroups multiply what is in the stage that is full, and apply the epilogue to their registers.

    The blocks of the grid take turns at the tiles of all records. A tile of few rows has a form of its own, in which its rows are the columns
    of the product. Kernels without products, and those that have roles already, stay as they are.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cuda::CudaDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def KernelJoinGroups : Pass<"kernel-join-groups", "::mlir::ModuleOp"> {
  let summary = "Make one kernel of the launches of a group, whose blocks are divided among them";
  let description = [{
    For modules whose `kernel.target` is a GPU. Each `kernel.launch_group` becomes a `kernel.launch` of a kernel with a
    `cuda.member` for each launch. A member is a copy of its kernel that goes through its phases in a loop. All its
    blocks are resident, so the order in which blocks start (`lag`) says nothing. A launch with phases outside of a
    group gets such a copy too. Kernels that nobody launches any more are erased.

    A member has as many blocks as `blocks` or `single` of its launch say. By default one without products has an eighth
    of the device's multiprocessors, and those with products share what is left. A group whose blocks do not all find
    room, one on each multiprocessor, is an error, also of the program that meets a smaller device.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cuda::CudaDialect", "::mlir::scf::SCFDialect"];
}

#endif // MOE_MLIR_CONVERSION_KERNELTOCUDA_PASSES
