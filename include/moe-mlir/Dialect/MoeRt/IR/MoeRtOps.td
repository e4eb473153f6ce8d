//===- MoeRtOps.td - calls of the runtime's C functions -----------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_MOERT_IR_MOERTOPS
#define MOE_MLIR_DIALECT_MOERT_IR_MOERTOPS

include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
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
  // The pointer type of the ops' syntax is built while they are parsed.
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

/// All pointers are opaque, in address space 0, so that their type need not be written.
def MoeRt_Ptr : Type<CPred<"$_self == ::mlir::LLVM::LLVMPointerType::get($_self.getContext())">, "LLVM pointer">,
                BuildableType<"::mlir::LLVM::LLVMPointerType::get($_builder.getContext())">;

/// A position in one of the program's tables.
def MoeRt_Index : ConfinedAttr<I32Attr, [IntNonNegative]>;

/// What a kernel's argument slots hold.
def MoeRt_Slot : AnyTypeOf<[MoeRt_Ptr, I64]>;

class MoeRt_Op<string mnemonic, list<Trait> traits = []> : Op<MoeRt_Dialect, mnemonic, traits> {
  string cFunction = "moert_" # mnemonic;
}

def MoeRt_InputOp : MoeRt_Op<"input"> {
  let summary = "Data of input `index`";
  let description = [{
    Row-major and contiguous; valid until the program returns.

    ```mlir
    %x = moert.input %ctx, 0
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, MoeRt_Index:$index);
  let results = (outs MoeRt_Ptr:$data);
  let assemblyFormat = "$context `,` $index attr-dict";
}

def MoeRt_InputSizeOp : MoeRt_Op<"input_size"> {
  let summary = "Size of dimension `dim` of input `index`";
  let description = [{
    ```mlir
    %batch = moert.input_size %ctx, 0, 1
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, MoeRt_Index:$index, MoeRt_Index:$dim);
  let results = (outs I64:$size);
  let assemblyFormat = "$context `,` $index `,` $dim attr-dict";
}

def MoeRt_OutputOp : MoeRt_Op<"output"> {
  let summary = "Buffer for output `index` with the given sizes";
  let description = [{
    The program fills it.

    ```mlir
    %y = moert.output %ctx, 0(%b, %v)
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, MoeRt_Index:$index, Variadic<I64>:$sizes);
  let results = (outs MoeRt_Ptr:$data);
  let assemblyFormat = "$context `,` $index `(` $sizes `)` attr-dict";
}

def MoeRt_StateOp : MoeRt_Op<"state"> {
  let summary = "Buffer of hidden state `index`";
  let description = [{
    Zeroed when created, kept between calls.

    ```mlir
    %cache = moert.state %ctx, 2
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, MoeRt_Index:$index);
  let results = (outs MoeRt_Ptr:$data);
  let assemblyFormat = "$context `,` $index attr-dict";
}

def MoeRt_ParameterOp : MoeRt_Op<"parameter"> {
  let summary = "Packed data of parameter `index`";
  let description = [{
    Mapped read-only from the archive of weights, 64-byte aligned.

    ```mlir
    %w = moert.parameter %ctx, 7
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, MoeRt_Index:$index);
  let results = (outs MoeRt_Ptr:$data);
  let assemblyFormat = "$context `,` $index attr-dict";
}

def MoeRt_ConstantOp : MoeRt_Op<"constant"> {
  let summary = "Constant of the program, in the memory of its device";
  let description = [{
    `address` is in the object file and has `bytes` bytes. A GPU gets them once, when a session first asks for them. A program for a CPU
    uses the address itself.

    ```mlir
    %table = moert.constant %ctx, %address, 4096
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, MoeRt_Ptr:$address, ConfinedAttr<I64Attr, [IntNonNegative]>:$bytes);
  let results = (outs MoeRt_Ptr:$data);
  let assemblyFormat = "$context `,` $address `,` $bytes attr-dict";
}

def MoeRt_ArenaOp : MoeRt_Op<"arena"> {
  let summary = "Scratch memory of at least `bytes` bytes";
  let description = [{
    64-byte aligned; the content does not survive the call.

    ```mlir
    %scratch = moert.arena %ctx, %bytes
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, I64:$bytes);
  let results = (outs MoeRt_Ptr:$data);
  let assemblyFormat = "$context `,` $bytes attr-dict";
}

def MoeRt_BlocksOp : MoeRt_Op<"blocks"> {
  let summary = "Number of blocks of a launch by default";
  let description = [{
    One per worker thread.

    ```mlir
    %n = moert.blocks %ctx
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context);
  let results = (outs I64:$blocks);
  let assemblyFormat = "$context attr-dict";
}

def MoeRt_LaunchOp : MoeRt_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs all blocks of a kernel";
  let description = [{
    `arguments` are the kernel's slots: pointers and i64 values, packed in order, 8 bytes each. The kernel is an
    `llvm.func` that takes the slots' address, the number of its block and the number of blocks. `rows` and `work`
    (floating-point operations, or elements moved) describe the launch in traces. `phases` and `lag` are for launches in
    a `moert.launch_group`.

    ```mlir
    llvm.func @linear(!llvm.ptr, i64, i64)

    llvm.func @run(%ctx: !llvm.ptr, %x: !llvm.ptr, %m: i64, %w: !llvm.ptr, %y: !llvm.ptr, %work: i64) {
      %blocks = moert.blocks %ctx
      moert.launch %ctx, @linear(%x, %m, %w, %y) blocks(%blocks) rows(%m) work(%work)
          : !llvm.ptr, i64, !llvm.ptr, !llvm.ptr
      llvm.return
    }
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, FlatSymbolRefAttr:$kernel, Variadic<MoeRt_Slot>:$arguments,
                       I64:$blocks, I64:$rows, I64:$work, OptionalAttr<I64Attr>:$phases, OptionalAttr<I64Attr>:$lag);
  let assemblyFormat = [{
    $context `,` $kernel `(` $arguments `)` `blocks` `(` $blocks `)` (`phases` `(` $phases^ `)`)? (`lag` `(` $lag^ `)`)?
    `rows` `(` $rows `)` `work` `(` $work `)` attr-dict (`:` type($arguments)^)?
  }];
  let hasVerifier = 1;
}

def MoeRt_LaunchGroupOp : MoeRt_Op<"launch_group", [NoTerminator, NoRegionArguments, SingleBlock]> {
  let summary = "Runs the blocks of several launches at the same time";
  let description = [{
    The region has launches only. Their blocks start in the order of `phase + lag`, then of the launches, then of the blocks'
    numbers; `blocks` is for each phase. A kernel gets `phase * blocks + block` as the number of its block.

    ```mlir
    llvm.func @multiply(!llvm.ptr, i64, i64)
    llvm.func @give(!llvm.ptr, i64, i64)

    llvm.func @run(%ctx: !llvm.ptr, %x: !llvm.ptr, %m: i64, %y: !llvm.ptr, %work: i64) {
      %blocks = moert.blocks %ctx
      moert.launch_group %ctx {
        moert.launch %ctx, @multiply(%x, %m, %y) blocks(%blocks) phases(8) rows(%m) work(%work) : !llvm.ptr, i64, !llvm.ptr
        moert.launch %ctx, @give(%y, %m) blocks(%blocks) phases(8) lag(1) rows(%m) work(%m) : !llvm.ptr, i64
      }
      llvm.return
    }
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$context attr-dict-with-keyword custom<Body>($body)";
  let hasVerifier = 1;
}

def MoeRt_RankOp : MoeRt_Op<"rank"> {
  let summary = "This rank's number on axis `axis` of the program";
  let description = [{
    ```mlir
    %me = moert.rank %ctx, 0
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, MoeRt_Index:$axis);
  let results = (outs I32:$rank);
  let assemblyFormat = "$context `,` $axis attr-dict";
}

def MoeRt_AgreeOp : MoeRt_Op<"agree"> {
  let summary = "The largest of the values of all ranks of an axis";
  let description = [{
    All of them call it.

    ```mlir
    %room = moert.agree %ctx, 0, %tokens
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, MoeRt_Index:$axis, I64:$value);
  let results = (outs I64:$largest);
  let assemblyFormat = "$context `,` $axis `,` $value attr-dict";
}

def MoeRt_WindowsOp : MoeRt_Op<"windows"> {
  let summary = "The windows of an axis (`moert_peers`), at least `bytes` on each rank";
  let description = [{
    The same number on all ranks of the axis, which all call it. 64-byte aligned, zero when they are made, and kept
    between calls.

    ```mlir
    %peers = moert.windows %ctx, 0, %bytes
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, MoeRt_Index:$axis, I64:$bytes);
  let results = (outs MoeRt_Ptr:$peers);
  let assemblyFormat = "$context `,` $axis `,` $bytes attr-dict";
}

def MoeRt_PartOp : MoeRt_Op<"part"> {
  let summary = "The address `offset` bytes into this rank's own windows";
  let description = [{
    For the host program of a GPU, which cannot read `moert_peers`: they are in the GPU's memory, and so is the part.

    ```mlir
    %rows = moert.part %ctx, %peers, %offset
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, MoeRt_Ptr:$peers, I64:$offset);
  let results = (outs MoeRt_Ptr:$data);
  let assemblyFormat = "$context `,` $peers `,` $offset attr-dict";
}

def MoeRt_PhaseOp : MoeRt_Op<"phase"> {
  let summary = "Says what the launches that follow are for";
  let description = [{
    In errors and traces.

    ```mlir
    moert.phase %ctx, "model.layers.0.mlp: rows to experts"
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, StrAttr:$phase);
  let assemblyFormat = "$context `,` $phase attr-dict";
}

def MoeRt_TrafficOp : MoeRt_Op<"traffic"> {
  let summary = "Counts the bytes that this rank has sent to each other rank of an axis";
  let description = [{
    To rank `p`, `(offsets ? offsets[p + 1] - offsets[p] : rows) * row_bytes + fixed_bytes`; `offsets` (i32) may be null.

    ```mlir
    moert.traffic %ctx, 0, %offsets, %rows, row_bytes = 512, fixed_bytes = 12
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, MoeRt_Index:$axis, MoeRt_Ptr:$offsets, I64:$rows,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$row_bytes,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$fixed_bytes);
  let assemblyFormat = [{
    $context `,` $axis `,` $offsets `,` $rows `,` `row_bytes` `=` $row_bytes `,` `fixed_bytes` `=` $fixed_bytes attr-dict
  }];
}

def MoeRt_FlagsOp : MoeRt_Op<"flags"> {
  let summary = "Says for errors what the flags count for which the next launch waits";
  let description = [{
    Each source has `each` flags. With `slices` they are those of chunks of sums, slice by slice, without of chunks of rows. Flags of a
    source stand `stride` apart: 1, or the number of ranks where chunks of all sources stand together.

    ```mlir
    moert.flags %ctx, %each, slices = 2, stride = 1
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, I64:$each, ConfinedAttr<I64Attr, [IntNonNegative]>:$slices,
                       ConfinedAttr<I64Attr, [IntPositive]>:$stride);
  let assemblyFormat = "$context `,` $each `,` `slices` `=` $slices `,` `stride` `=` $stride attr-dict";
}

def MoeRt_ExpertLoadOp : MoeRt_Op<"expert_load"> {
  let summary = "Reports how many rows each expert received";
  let description = [{
    Expert `e` received `offsets[e + 1] - offsets[e]` rows (i32) in the layer of that name.

    ```mlir
    moert.expert_load %ctx, "model.layers.0.mlp", %offsets, 8
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, StrAttr:$layer, MoeRt_Ptr:$offsets, ConfinedAttr<I32Attr, [IntPositive]>:$experts);
  let assemblyFormat = "$context `,` $layer `,` $offsets `,` $experts attr-dict";
}

def MoeRt_ReadOp : MoeRt_Op<"read"> {
  let summary = "Value at `address`, in the memory of the program's device";
  let description = [{
    Used in a program for a GPU, where an element of a tensor decides what the host does. It waits for the launches in front of it. A
    program for a CPU loads the value itself.

    ```mlir
    %position = moert.read %ctx, %address : i64
    ```
  }];
  let arguments = (ins MoeRt_Ptr:$context, MoeRt_Ptr:$address);
  let results = (outs AnyTypeOf<[I1, I8, I16, I32, I64, F16, BF16, F32, F64]>:$value);
  let assemblyFormat = "$context `,` $address attr-dict `:` type($value)";
}

def MoeRt_CheckOp : MoeRt_Op<"check"> {
  let summary = "Ends the call with an error unless `holds`";
  let description = [{
    For what only the program can find out about its inputs, as an index that it computes. The error is the caller's
    fault (exit code 1) and says `message`, where `{0}`, `{1}`, ... stand for `values`.

    ```mlir
    moert.check %ctx, %holds, "an index is outside dimension 0"
    moert.check %ctx, %same, "T is {0} in x but {1} in y"(%t, %u)
    moert.check %ctx, %even, "an odd number of rows" {of_call}
    ```

    The unit attribute `of_call` marks a check of the call's sizes before the first launch. It fails on all ranks alike, so
    they refuse the call together and go on with the next one. Any other failed check ends the job of several ranks.
  }];
  let arguments = (ins MoeRt_Ptr:$context, I1:$holds, StrAttr:$message, Variadic<I64>:$values);
  let hasVerifier = 1;
  let assemblyFormat = "$context `,` $holds `,` $message (`(` $values^ `)`)? attr-dict";
}

#endif // MOE_MLIR_DIALECT_MOERT_IR_MOERTOPS
