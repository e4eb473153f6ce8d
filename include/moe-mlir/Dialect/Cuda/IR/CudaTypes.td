//===- CudaTypes.td - what threads of a GPU hold ------------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_CUDA_IR_CUDATYPES
#define MOE_MLIR_DIALECT_CUDA_IR_CUDATYPES

include "moe-mlir/Dialect/Cuda/IR/CudaDialect.td"
include "mlir/IR/AttrTypeBase.td"

/// `kernelName` is an expression for the type's name in kernel text.
class Cuda_Type<string name, string typeMnemonic, string kernelName> : TypeDef<Cuda_Dialect, name> {
  let mnemonic = typeMnemonic;
  let extraClassDeclaration = [{
    /// As kernel text calls it.
    ::std::string getCppName() const { return }] # kernelName # [{; }
  }];
}

def Cuda_RingType : Cuda_Type<"Ring", "ring",
    [{"moe::StageRing<" + ::std::to_string(getStages()) + ", " + ::std::to_string(getBytes()) + ">"}]> {
  let summary = "A thread's position in a ring of stages in shared memory";
  let parameters = (ins AttrParameter<"int64_t", "that are in shared memory at a time">:$stages,
                        AttrParameter<"int64_t", "of a stage">:$bytes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Cuda_AccumulatorsType : Cuda_Type<"Accumulators", "accumulators",
    [{"moe::Accumulators<" + ::std::to_string(getColumns()) + ">"}]> {
  let summary = "A thread's share of a tile of 64 rows of f32 in a warpgroup's registers";
  let parameters = (ins "int64_t":$columns);
  let assemblyFormat = "`<` $columns `>`";
  let genVerifyDecl = 1;
}

def Cuda_TensorMapType : Cuda_Type<"TensorMap", "tensor_map", [{"const __grid_constant__ CUtensorMap"}]> {
  let summary = "A matrix in global memory as the unit for bulk copies (TMA) knows it";
}

def Cuda_ChunkType : Cuda_Type<"Chunk", "chunk", [{"uint4"}]> {
  let summary = "16 bytes";
}

#endif // MOE_MLIR_DIALECT_CUDA_IR_CUDATYPES
