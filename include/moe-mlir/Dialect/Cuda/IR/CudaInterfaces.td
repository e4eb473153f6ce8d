//===- CudaInterfaces.td - calls of the device library ------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_CUDA_IR_CUDAINTERFACES
#define MOE_MLIR_DIALECT_CUDA_IR_CUDAINTERFACES

include "mlir/IR/Interfaces.td"

def Cuda_CallOpInterface : OpInterface<"CallOpInterface"> {
  let cppNamespace = "::mlir::cuda";
  let description = [{
    An op that is a call of a function of the device library: its operands, then its constants, are the arguments. A
    memref and the indices that follow it are one argument, a pointer.
  }];
  let methods = [
    InterfaceMethod<"Name of the function, with its namespace.", "::llvm::StringRef", "getFunction">,
    InterfaceMethod<"Types, numbers and names of enumerators.", "::llvm::SmallVector<::mlir::Attribute>",
      "getTemplateArguments">,
    InterfaceMethod<"Arguments after the operands.", "::llvm::SmallVector<int64_t>", "getConstants">
  ];
}

#endif // MOE_MLIR_DIALECT_CUDA_IR_CUDAINTERFACES
