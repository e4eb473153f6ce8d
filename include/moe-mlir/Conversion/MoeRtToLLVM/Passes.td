//===- Passes.td - runtime calls to LLVM --------------------------------------------------------------------------===//
#ifndef MOE_MLIR_CONVERSION_MOERTTOLLVM_PASSES
#define MOE_MLIR_CONVERSION_MOERTTOLLVM_PASSES

include "mlir/Pass/PassBase.td"

def ConvertMoeRtToLLVM : Pass<"convert-moert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Turn each moert op into the call of its C function";
  let description = [{
    Declares the functions of moert.h that are used, packs the slots of launches into memory on the stack (one buffer
    for all launches of a function) and makes the table of kernels `@moert_kernels`, an array of {name, function} in the
    order in which the kernels stand in the module; for a CUDA kernel (`emitc.func`) the function is null. A module that has the table and no moert op stays as it is.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // MOE_MLIR_CONVERSION_MOERTTOLLVM_PASSES
