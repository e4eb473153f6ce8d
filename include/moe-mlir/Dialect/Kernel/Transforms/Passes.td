//===- Passes.td - passes within the kernel level --------------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_KERNEL_TRANSFORMS_PASSES
#define MOE_MLIR_DIALECT_KERNEL_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def KernelSetTarget : Pass<"kernel-set-target", "::mlir::ModuleOp"> {
  let summary = "Record the traits of a CPU in the module";
  let description = [{
    Writes `kernel.target` (see CpuTarget.h): size of the register tile, width of a vector, whether there is a dot
    product of bf16 pairs. Fails for a CPU that LLVM does not know or that is older than x86-64-v3.

    | CPU has | tile | vector |
    |---|---|---|
    | AVX-512 (F, BW, DQ, VL) | 6 x 64 | 16 |
    | AVX2, FMA | 6 x 16 | 8 |
  }];
  let options = [Option<"cpu", "cpu", "std::string", [{"native"}],
                        "LLVM's name of the CPU, or 'native' for the machine this runs on">];
}

def KernelSpecializeRowTiles : Pass<"kernel-specialize-row-tiles", "::mlir::kernel::FuncOp"> {
  let summary = "Clone the region of kernel.row_tile for each number of rows";
  let description = [{
    `kernel.row_tile %n max 6 {body}` becomes one test for the full tile, then a switch over 1..5 rows; each case is the
    body with tiles of exactly that many rows, so that no case holds a test for a row that may not exist.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

#endif // MOE_MLIR_DIALECT_KERNEL_TRANSFORMS_PASSES
