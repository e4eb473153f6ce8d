//===- CudaOps.td - the functions of the device library -----------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_CUDA_IR_CUDAOPS
#define MOE_MLIR_DIALECT_CUDA_IR_CUDAOPS

include "moe-mlir/Dialect/Cuda/IR/CudaAttrs.td"
include "moe-mlir/Dialect/Cuda/IR/CudaFunctions.td"
include "moe-mlir/Dialect/Cuda/IR/CudaInterfaces.td"
include "moe-mlir/Dialect/Cuda/IR/CudaTypes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Cuda_Op<string mnemonic, list<Trait> traits = []> : Op<Cuda_Dialect, mnemonic, traits>;

/// A call of `cFunction`. An op without traits changes a variable or waits: it stays, and nothing moves across it.
/// `templates` and `constants` are initialisers of lists: of attributes, where `number` and `name` make one, and of
/// numbers.
class Cuda_Call<string mnemonic, string function, string templates = "", string constants = "", list<Trait> traits = []>
    : Cuda_Op<mnemonic, !listconcat([Cuda_CallOpInterface]<Trait>, traits)>, Cuda_Contract {
  string cFunction = function;
  let extraClassDeclaration = [{
    static ::llvm::StringRef getFunction() { return "}] # function # [{"; }
    ::llvm::SmallVector<::mlir::Attribute> getTemplateArguments() {
      [[maybe_unused]] auto number = [&](int64_t value) -> ::mlir::Attribute {
        return ::mlir::IntegerAttr::get(::mlir::IntegerType::get(getContext(), 32), value);
      };
      [[maybe_unused]] auto name = [&](ProxyFence fence) -> ::mlir::Attribute {
        return ::mlir::StringAttr::get(getContext(), fence == ProxyFence::Shared ? "moe::ProxyFence::Shared"
                                                                                 : "moe::ProxyFence::All");
      };
      return {}] # templates # [{};
    }
    ::llvm::SmallVector<int64_t> getConstants() { return {}] # constants # [{}; }
  }];
}

include "moe-mlir/Dialect/Cuda/IR/CudaRoles.td"
include "moe-mlir/Dialect/Cuda/IR/CudaPipeline.td"
include "moe-mlir/Dialect/Cuda/IR/CudaTiles.td"
include "moe-mlir/Dialect/Cuda/IR/CudaGroups.td"

#endif // MOE_MLIR_DIALECT_CUDA_IR_CUDAOPS
