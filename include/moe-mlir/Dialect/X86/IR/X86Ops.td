//===- X86Ops.td - x86 processors as targets ----------------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_X86_IR_X86OPS
#define MOE_MLIR_DIALECT_X86_IR_X86OPS

include "moe-mlir/Dialect/Kernel/IR/KernelInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def X86_Dialect : Dialect {
  let name = "x86";
  let cppNamespace = "::mlir::x86";
  let summary = "What kernels need to know about an x86 processor";
  let useDefaultAttributePrinterParser = 1;
}

def X86_TargetAttr : AttrDef<X86_Dialect, "Target", [DeclareAttrInterfaceMethods<Kernel_TargetAttrInterface, ["choosePlan"]>]> {
  let mnemonic = "target";
  let summary = "An x86 processor that kernels are made for";
  let description = [{
    The sizes of register tiles and which instructions products may use, as `kernel.target`:

    ```mlir
    module attributes {kernel.target = #x86.target<cpu = "znver4", rows = 6, columns = 64, vector = 16, dot_bf16 = true>} {}
    ```

    `features` is LLVM's feature string beyond what `cpu` implies (`"+avx2,-avx512f"`). Without `cpu`, instructions are
    taken on trust.
  }];
  let parameters = (ins
    StringRefParameter<"LLVM's name of the CPU", "\"\"">:$cpu,
    StringRefParameter<"LLVM's features beyond what `cpu` implies", "\"\"">:$features,
    AttrParameter<"int64_t", "rows of a register tile">:$rows,
    AttrParameter<"int64_t", "columns of a register tile">:$columns,
    AttrParameter<"int64_t", "f32 elements of a vector register">:$vector,
    DefaultValuedParameter<"bool", "false", "has a dot product of bf16 pairs (AVX512-BF16)">:$dot_bf16,
    DefaultValuedParameter<"int64_t", "0", "rows of a product of bf16 pairs on matrix registers (AMX-BF16), 0 without them">:$matrix_rows,
    DefaultValuedParameter<"int64_t", "0", "bytes that a stream of weights is fetched ahead of its use, 0 to leave that to the hardware">:$stream_ahead);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t maxMatrixRows = 32; ///< two matrix registers of 16 rows below each other
    static constexpr int64_t blockColumns = 64;  ///< columns that a weight is blocked by

    /// LLVM's names of all features that the CPU has.
    ::llvm::StringSet<> featureSet() const;

    /// Whether `name` is "native" or LLVM knows it as a 64-bit CPU.
    static bool isKnown(::llvm::StringRef name);

    /// The processor that LLVM calls `name`; "native" is the machine this runs on. Null with a message in `error` if
    /// the name is unknown, or the CPU lacks AVX2 and FMA.
    static TargetAttr forCpu(::mlir::MLIRContext *context, ::llvm::StringRef name, std::string &error);

    /// That of `module`; emits an error if it is none.
    static ::llvm::FailureOr<TargetAttr> get(::mlir::ModuleOp module);
  }];
}

def X86_PlanAttr : AttrDef<X86_Dialect, "Plan", [DeclareAttrInterfaceMethods<Kernel_PlanAttrInterface>]> {
  let mnemonic = "plan";
  let summary = "How a kernel with products uses the caches";
  let description = [{
    K-blocking and requests ahead, as `kernel.plan`:

    ```mlir
    kernel.func @nothing() attributes {kernel.plan = #x86.plan<block_above = 262144, block_bytes = 65536, block_rows = 384,
                                                               stream_ahead = 0, spread = 4>} {
      kernel.return
    }
    ```

    A column block of weights of more than `block_above` bytes is passed through up to `block_rows` rows in blocks of K
    of `block_bytes` of weights, with the sums in memory between them (kernel-chunk-depth). Weights of the first row tile
    are asked for `stream_ahead` bytes before their use, 0 to leave that to the hardware. Weights that follow those of
    this pass are asked for by the row tiles after the first, a cache line per step of K; where there are tiles enough,
    by up to `spread` times as many, a line in every `spread`-th step; 0 leaves that out (kernel-prefetch-weights).
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "bytes of a column block that is not blocked, at most">:$block_above,
    AttrParameter<"int64_t", "bytes of weights of a block of K">:$block_bytes,
    AttrParameter<"int64_t", "rows that a block of K serves">:$block_rows,
    AttrParameter<"int64_t", "bytes that a stream of weights is fetched ahead of its use">:$stream_ahead,
    AttrParameter<"int64_t", "times as many row tiles that share the requests for what follows, at most">:$spread);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The plan of `kernel`, or the one that `target` chooses if it has none; null for a kernel without products. Fails
    /// with an error if the plan belongs to another target.
    static ::llvm::FailureOr<PlanAttr> of(::mlir::Operation *kernel, TargetAttr target);
  }];
}

#endif // MOE_MLIR_DIALECT_X86_IR_X86OPS
