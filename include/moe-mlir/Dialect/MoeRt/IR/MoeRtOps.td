//===- MoeRtOps.td - calls of the runtime's C functions -----------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_MOERT_IR_MOERTOPS
#define MOE_MLIR_DIALECT_MOERT_IR_MOERTOPS

include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def MoeRt_Dialect : Dialect {
  let name = "moert";
  let cppNamespace = "::mlir::moert";
  let summary = "Mirror of moert.h: one op per function of the runtime";
  let description = [{
    Exit dialect. Each op calls the C function of its name; types are those of the `llvm` dialect. See
    `runtime/include/moert/moert.h` for what the functions promise.
  }];
}

/// All pointers are opaque, in address space 0, so that their type need not be written.
def MoeRt_Ptr : Type<CPred<"$_self == ::mlir::LLVM::LLVMPointerType::get($_self.getContext())">, "LLVM pointer">,
                BuildableType<"::mlir::LLVM::LLVMPointerType::get($_builder.getContext())">;

class MoeRt_Op<string mnemonic, list<Trait> traits = []> : Op<MoeRt_Dialect, mnemonic, traits> {
  string cFunction = "moert_" # mnemonic;
}

def MoeRt_InputOp : MoeRt_Op<"input"> {
  let summary = "Data of input `index`";
  let arguments = (ins MoeRt_Ptr:$context, I32Attr:$index);
  let results = (outs MoeRt_Ptr:$data);
  let assemblyFormat = "$context `,` $index attr-dict";
}

def MoeRt_InputSizeOp : MoeRt_Op<"input_size"> {
  let summary = "Size of dimension `dim` of input `index`";
  let arguments = (ins MoeRt_Ptr:$context, I32Attr:$index, I32Attr:$dim);
  let results = (outs I64:$size);
  let assemblyFormat = "$context `,` $index `,` $dim attr-dict";
}

def MoeRt_OutputOp : MoeRt_Op<"output"> {
  let summary = "Buffer for output `index` with the given sizes";
  let arguments = (ins MoeRt_Ptr:$context, I32Attr:$index, Variadic<I64>:$sizes);
  let results = (outs MoeRt_Ptr:$data);
  let assemblyFormat = "$context `,` $index `(` $sizes `)` attr-dict";
}

def MoeRt_StateOp : MoeRt_Op<"state"> {
  let summary = "Buffer of hidden state `index`";
  let arguments = (ins MoeRt_Ptr:$context, I32Attr:$index);
  let results = (outs MoeRt_Ptr:$data);
  let assemblyFormat = "$context `,` $index attr-dict";
}

def MoeRt_ParameterOp : MoeRt_Op<"parameter"> {
  let summary = "Packed data of parameter `index`";
  let arguments = (ins MoeRt_Ptr:$context, I32Attr:$index);
  let results = (outs MoeRt_Ptr:$data);
  let assemblyFormat = "$context `,` $index attr-dict";
}

def MoeRt_ArenaOp : MoeRt_Op<"arena"> {
  let summary = "Scratch memory of at least `bytes` bytes";
  let arguments = (ins MoeRt_Ptr:$context, I64:$bytes);
  let results = (outs MoeRt_Ptr:$data);
  let assemblyFormat = "$context `,` $bytes attr-dict";
}

def MoeRt_BlocksOp : MoeRt_Op<"blocks"> {
  let summary = "Number of blocks of a launch by default";
  let arguments = (ins MoeRt_Ptr:$context);
  let results = (outs I64:$blocks);
  let assemblyFormat = "$context attr-dict";
}

def MoeRt_LaunchOp : MoeRt_Op<"launch"> {
  let summary = "Runs all blocks of a kernel";
  let description = [{
    `arguments` are the kernel's slots: pointers and i64 values, packed in order.

    ```mlir
    moert.launch %ctx, @linear(%x, %m, %w, %y) blocks(%n) rows(%m) work(%f) : !llvm.ptr, i64, !llvm.ptr, !llvm.ptr
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$arguments,
                       I64:$blocks, I64:$rows, I64:$work);
  let assemblyFormat = [{
    $context `,` $kernel `(` $arguments `)` `blocks` `(` $blocks `)` `rows` `(` $rows `)` `work` `(` $work `)` attr-dict
    (`:` type($arguments)^)?
  }];
}

def MoeRt_ExpertLoadOp : MoeRt_Op<"expert_load"> {
  let summary = "Reports how many rows each expert received";
  let arguments = (ins MoeRt_Ptr:$context, StrAttr:$layer, MoeRt_Ptr:$offsets, I32Attr:$experts);
  let assemblyFormat = "$context `,` $layer `,` $offsets `,` $experts attr-dict";
}

#endif // MOE_MLIR_DIALECT_MOERT_IR_MOERTOPS
