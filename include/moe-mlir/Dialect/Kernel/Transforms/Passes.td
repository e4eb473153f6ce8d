//===- Passes.td - passes within the kernel level --------------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_KERNEL_TRANSFORMS_PASSES
#define MOE_MLIR_DIALECT_KERNEL_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def KernelChoosePlans : Pass<"kernel-choose-plans", "::mlir::ModuleOp"> {
  let summary = "Decide what the bodies of kernels leave open";
  let description = [{
    Gives each `kernel.func` that has none the `kernel.plan` that `kernel.target` chooses for it. A plan that is there, by
    hand or from an earlier run, is kept. Without a target the pass does nothing.
  }];
}

def KernelSpecializeRowTiles : Pass<"kernel-specialize-row-tiles", "::mlir::kernel::FuncOp"> {
  let summary = "Clone the region of kernel.row_tile for each number of rows";
  let description = [{
    `kernel.row_tile %n max 6 {body}` becomes one test for the full tile, then a switch over 1..5 rows; each case is the
    body with tiles of exactly that many rows, so that no case holds a test for a row that may not exist.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def KernelMarkNoAlias : Pass<"kernel-mark-noalias", "::mlir::ModuleOp"> {
  let summary = "Mark kernel arguments whose memory no other argument of the launch shares";
  let description = [{
    Sets `llvm.noalias` on a memref argument of a kernel when, at every launch in the module, no other operand that
    comes from the same allocation, parameter or argument of the host function is passed, seen through views. Two
    operands that share memory stay unmarked, which is right for states that are updated in place. Runs before the
    memory plan: it gives buffers of one launch disjoint slots, but all of them come from one arena.
  }];
}

def KernelResolveSizes : Pass<"kernel-resolve-sizes", "::mlir::func::FuncOp"> {
  let summary = "Express the sizes of buffers by the sizes of the host function's arguments";
  let description = [{
    The size of a view becomes what the view was made of, products that are divided by one of their factors are
    simplified, and sizes that `moe.dims` gives one name ("batch") become one value. What remains is a few `memref.dim`
    of arguments and their products, which is what kernel-plan-memory can compare.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def KernelPlanMemory : Pass<"kernel-plan-memory", "::mlir::func::FuncOp"> {
  let summary = "Place all temporary buffers of the host function in one arena";
  let description = [{
    Buffers (`memref.alloc`) that are never live at the same time share a slot: liveness follows the order of launches
    and sees through views. A slot holds buffers whose sizes are constants times the same dynamic sizes (batch,
    sequence, ...), so that its size is known to be the largest of theirs whatever the dynamic sizes are; slots start at
    multiples of 64 bytes. The result is one `memref.alloc(%bytes) {kernel.arena}` of bytes and a `memref.view` for each
    buffer; returned buffers stay allocations of their own (they become outputs).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

#endif // MOE_MLIR_DIALECT_KERNEL_TRANSFORMS_PASSES
