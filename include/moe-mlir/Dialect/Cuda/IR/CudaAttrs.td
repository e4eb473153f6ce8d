//===- CudaAttrs.td - NVIDIA GPUs as targets, and plans of kernels ------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_CUDA_IR_CUDAATTRS
#define MOE_MLIR_DIALECT_CUDA_IR_CUDAATTRS

include "moe-mlir/Dialect/Cuda/IR/CudaDialect.td"
include "moe-mlir/Dialect/Kernel/IR/KernelInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Cuda_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::cuda";
  let genSpecializedAttr = 0;
}

def Cuda_Activation : Cuda_Enum<"Activation", "form of an activation's exponentials and quotients", [
  I32EnumAttrCase<"Approximate", 0, "approximate">, I32EnumAttrCase<"Exact", 1, "exact">]>;

def Cuda_ProxyFence : Cuda_Enum<"ProxyFence", "memory that a proxy fence orders", [
  I32EnumAttrCase<"Shared", 0, "shared">, I32EnumAttrCase<"All", 1, "all">]> {
  let genSpecializedAttr = 1; // ops have it
}

def Cuda_Arrival : Cuda_Enum<"Arrival", "how threads hand over the rows that they copy", [
  I32EnumAttrCase<"Lag", 0, "lag">, I32EnumAttrCase<"Noinc", 1, "noinc">]>;

def Cuda_TargetAttr : AttrDef<Cuda_Dialect, "Target", [DeclareAttrInterfaceMethods<Kernel_TargetAttrInterface,
    ["getTilesOf", "estimateTiles", "getRouting", "approximatesActivations", "attendsByRows", "choosePlan"]>]> {
  let mnemonic = "target";
  let summary = "An NVIDIA GPU that kernels are made for";
  let description = [{
    The largest tile of a product, and the forms that kernels choose among, as `kernel.target`:

    ```mlir
    module attributes {kernel.target = #cuda.target<device = "h200", rows = 128, columns = 256, depth = 64,
                                                    activation = approximate>} {}
    ```

    The numbers of `device` (Analysis/CudaDevices.h) choose the columns of each product; the code runs on any device of
    its architecture. `activation` is the form of exponentials and quotients in the activation of experts of 16-bit
    floats.
  }];
  let parameters = (ins
    StringRefParameter<"whose numbers tiles are chosen by">:$device,
    AttrParameter<"int64_t", "rows of a tile: 64 for each of the two computing warpgroups">:$rows,
    AttrParameter<"int64_t", "columns of a tile and of a weight block, at most">:$columns,
    AttrParameter<"int64_t", "elements of 16 bits of a step: one row of 128 bytes in shared memory">:$depth,
    EnumParameter<Cuda_Activation>:$activation);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// What is known about the device.
    const ::moe_mlir::CudaDevice &getNumbers() const;
    /// As NVRTC calls the architecture.
    ::llvm::StringRef getArch() const;

    /// A device ("h200"), or the first of an architecture ("sm_90a"). Null with a message in `error` if it is unknown.
    static TargetAttr forDevice(::mlir::MLIRContext *context, ::llvm::StringRef name, std::string &error);

    /// That of `module`; emits an error if it is none.
    static ::llvm::FailureOr<TargetAttr> get(::mlir::ModuleOp module);
  }];
}

def Cuda_PlanAttr : AttrDef<Cuda_Dialect, "Plan", [DeclareAttrInterfaceMethods<Kernel_PlanAttrInterface>]> {
  let mnemonic = "plan";
  let summary = "How a kernel with products uses the warps and the shared memory of a block";
  let description = [{
    One warpgroup loads, two multiply; a ring of `stages` steps of K in shared memory connects them. As `kernel.plan`:

    ```mlir
    kernel.func @nothing() attributes {kernel.plan = #cuda.plan<stages = 4, few_rows = 16, arrival = lag,
                                                                proxy_fence = shared, load_registers = 56,
                                                                multiply_registers = 224, few_steps = 1,
                                                                few_columns = 128>} {
      kernel.return
    }
    ```

    A tile of at most `few_rows` rows is computed with swapped operands (swap-AB): its rows become the columns of the
    product, and so many of them are multiplied whatever the tile has; 0 leaves that form out. Its tiles are strips of
    `few_columns` columns of a product, or of 64 of each of two, and as its rows and weights are a part of what a stage
    has room for, a stage holds `few_steps` of its steps of K (K-blocking): one announcement and one wait for all of
    them.

    `arrival` is how threads hand over the rows that they copy. `lag`: a warp waits for the copies of a step when those
    of the next `stages - 2` are on their way, fences and arrives for all its threads. `noinc`: each thread asks for an
    arrival when its copies have landed (`cp.async.mbarrier.arrive.noinc`) and never waits; those who multiply fence
    after their wait. `noinc` is what is chosen for at most 64 steps of K. The fence is one for `shared` memory or, by
    `proxy_fence`, for `all` memory, which waits for what the block has in flight in global memory too. The registers
    are those of a thread of each role.
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "steps whose operands are in shared memory at a time">:$stages,
    AttrParameter<"int64_t", "rows of a tile that is computed with swapped operands, at most">:$few_rows,
    EnumParameter<Cuda_Arrival>:$arrival,
    EnumParameter<Cuda_ProxyFence>:$proxy_fence,
    AttrParameter<"int64_t", "registers of a thread that loads">:$load_registers,
    AttrParameter<"int64_t", "registers of a thread that multiplies">:$multiply_registers,
    AttrParameter<"int64_t", "steps of K in a stage, of a tile with few rows">:$few_steps,
    AttrParameter<"int64_t", "columns of a strip of a product with few rows">:$few_columns);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The plan of `kernel`, or the one that `target` chooses if it has none. Null: it has no products.
    static PlanAttr of(::mlir::Operation *kernel, TargetAttr target);
  }];
}

def Cuda_RowPlanAttr : AttrDef<Cuda_Dialect, "RowPlan", [DeclareAttrInterfaceMethods<Kernel_PlanAttrInterface>]> {
  let mnemonic = "row_plan";
  let summary = "How a kernel without products is spread over a GPU";
  let description = [{
    Blocks of `threads` threads, and the grid `blocks_per_sm` of them for each multiprocessor. As `kernel.plan`:

    ```mlir
    kernel.func @rows() attributes {kernel.plan = #cuda.row_plan<threads = 256, blocks_per_sm = 4>} {
      kernel.return
    }
    ```

    Rows are the work of a warp, or of a block if it has an `scf.parallel`. Where a lane has so much in flight that the
    registers of `blocks_per_sm` blocks do not fit, there are fewer.
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "threads of a block">:$threads,
    AttrParameter<"int64_t", "blocks that share a multiprocessor, at most">:$blocks_per_sm);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The plan of `kernel`, or the one that is chosen if it has none. `isBlockWork`: an index is the work of a block.
    static RowPlanAttr of(::mlir::Operation *kernel, bool isBlockWork);
  }];
}

#endif // MOE_MLIR_DIALECT_CUDA_IR_CUDAATTRS
