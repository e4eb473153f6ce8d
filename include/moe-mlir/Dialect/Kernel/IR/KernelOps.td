//===- KernelOps.td - block programs over tiles -------------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_KERNEL_IR_KERNELOPS
#define MOE_MLIR_DIALECT_KERNEL_IR_KERNELOPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::mlir::kernel";
  let summary = "Programs for a block over tiles, and their launches";
  let description = [{
    One `kernel.func` is one launch: a program that every block runs. `scf.forall` inside it is the loop over tiles that
    the blocks share: each block takes a contiguous range of the flattened (row-major) index space; everything outside
    is done by every block. Loops over K, row programs and address arithmetic are `scf`, `memref`, `arith`, `math`.
    A tile of accumulators (`!kernel.acc`) is an opaque handle: which thread or vector lane holds an element is
    the target's business, and what happens to the elements is said in scalar regions.
    All memrefs that a kernel takes are row-major and contiguous. The dialect knows nothing of MoE.

    Ranks of a `shard.grid` share memory by windows (`!kernel.window`): a kernel puts rows into another rank's part and
    signals, and a later launch awaits the signal of that rank before it reads its own part. kernel-verify-windows checks
    that a host program and its kernels do so.

    An `scf.parallel` in a `scf.forall` says that its iterations, whole rows of work, touch different elements, so that
    the threads of a block may share them; what stands before it is done before, and what follows is done after.
    `kernel.independent` on an `scf.for` says the same of the iterations of an inner loop where it does not show in the
    indices: no two of them touch the same element of a buffer that one of them writes.

    `kernel.arena` on a `memref.alloc` of a host function marks the memory of all its temporary buffers, `memref<?xi8>`,
    which a session allocates once (kernel-plan-memory). A function has at most one, at its top level.

    `kernel.columns_inside` on an `scf.forall` over (column blocks, tiles of rows) says in which order a block likes to
    walk its share on a target that gives it a range: all its column blocks of a tile, then the next tile, so that the
    rows stay in the cache and the weights of an expert follow each other.

    Three decisions of level `scheduled` stand on ops of other dialects. `kernel.tiles` (`#kernel.tiles`) says which tiles the products of an
    `nn.linear`, an `nn.attention` or, as a list of two, a `moe.expert` are made with; graph-choose-tiles writes it.
    `kernel.epilogue = i` on an elementwise `linalg.generic` says that its body runs in the kernel that computes its
    operand `i`, before that is stored; graph-mark-epilogues writes it, and without it the op is a kernel of its own.
    `kernel.by_rows` on an `nn.attention` says that each query walks its keys for itself, on caches as they are, in place of products of tiles;
    graph-choose-tiles writes it where the target asks for it.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    static constexpr ::llvm::StringLiteral getIndependentAttrName() { return "kernel.independent"; }
    static constexpr ::llvm::StringLiteral getColumnsInsideAttrName() { return "kernel.columns_inside"; }
    static constexpr ::llvm::StringLiteral getTilesAttrName() { return "kernel.tiles"; }
    static constexpr ::llvm::StringLiteral getEpilogueAttrName() { return "kernel.epilogue"; }
    static constexpr ::llvm::StringLiteral getByRowsAttrName() { return "kernel.by_rows"; }

    void registerAttributes();
    void registerOps();
  }];
}

class Kernel_Op<string mnemonic, list<Trait> traits = []> : Op<Kernel_Dialect, mnemonic, traits>;

def Kernel_TilesAttr : AttrDef<Kernel_Dialect, "Tiles"> {
  let mnemonic = "tiles";
  let summary = "The tiles that products by a weight are made with";
  let description = [{
    A tile of accumulators has `rows` x `columns`; a weight is packed in blocks of `block_columns` columns, in steps of `depth`
    elements of K. Of a linear or an attention, a block takes `chunk_rows` rows at a time. With `matrix` products run on matrix
    registers, whose tile has its rows below each other.

    ```mlir
    func.func @router(%x: tensor<?x64xbf16>, %w: tensor<8x64xbf16>) -> tensor<?x8xf32> {
      %y = nn.linear %x, %w {kernel.tiles = #kernel.tiles<rows = 6, columns = 64, block_columns = 64, depth = 2, chunk_rows = 48>}
          : tensor<?x64xbf16>, tensor<8x64xbf16> -> tensor<?x8xf32>
      return %y : tensor<?x8xf32>
    }
    ```
  }];
  let parameters = (ins
    AttrParameter<"int64_t", "rows of a tile of accumulators">:$rows,
    AttrParameter<"int64_t", "columns of a tile, a divisor of `block_columns`">:$columns,
    AttrParameter<"int64_t", "columns that a weight is blocked by">:$block_columns,
    AttrParameter<"int64_t", "elements of K that one step of the product takes">:$depth,
    DefaultValuedParameter<"int64_t", "0", "rows that a block takes at a time, in whole tiles; 0 where the rows of an expert are">:$chunk_rows,
    DefaultValuedParameter<"bool", "false", "products run on matrix registers">:$matrix);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Kernel_AccType : TypeDef<Kernel_Dialect, "Acc"> {
  let mnemonic = "acc";
  let summary = "A tile of accumulators: rows x columns of an element type (f32)";
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$element);
  let assemblyFormat = "`<` custom<TileShape>($rows, $columns, $element) `>`";
  let genVerifyDecl = 1;
}

def Kernel_RowsType : TypeDef<Kernel_Dialect, "Rows"> {
  let mnemonic = "rows";
  let summary = "The row index in memory of each row of a tile";
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
  let genVerifyDecl = 1;
}

def Kernel_FuncOp : Kernel_Op<"func", [IsolatedFromAbove, FunctionOpInterface, AutomaticAllocationScope]> {
  let summary = "A block program";
  let description = [{
    Arguments are memrefs (row-major, contiguous), windows and scalars; there are no results. `scratch`-like memory is an
    argument too.

    ```mlir
    kernel.func @linear(%x: memref<?x128xf32>, %w: memref<2x128x64xf32>, %y: memref<?x128xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c6 = arith.constant 6 : index
      %c64 = arith.constant 64 : index
      %k = arith.constant 128 : index
      %m = memref.dim %x, %c0 : memref<?x128xf32>
      scf.forall (%n) in (2) {
        %col = arith.muli %n, %c64 : index
        scf.for %r = %c0 to %m step %c6 {
          %left = arith.subi %m, %r : index
          kernel.row_tile %left max 6 {
            %rows = kernel.row_indices %r {
            ^bb0(%i: index):
              kernel.yield %i : index
            } : !kernel.rows<6>
            %zero = kernel.zero : !kernel.acc<6x64xf32>
            %acc = scf.for %kk = %c0 to %k step %c1 iter_args(%a = %zero) -> (!kernel.acc<6x64xf32>) {
              %next = kernel.mma %a, %x[%rows, %kk], %w[%n, %kk, %c0]
                  : !kernel.acc<6x64xf32>, memref<?x128xf32>, memref<2x128x64xf32>
              scf.yield %next : !kernel.acc<6x64xf32>
            }
            kernel.store_tile %acc -> %y[%rows, %col] {
            ^bb0(%row: index, %c: index, %v: f32):
              kernel.yield %v : f32
            } : (!kernel.acc<6x64xf32>), memref<?x128xf32>
          }
        }
      }
      kernel.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>];
  let extraClassDeclaration = [{
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Kernel_ReturnOp : Kernel_Op<"return", [Pure, HasParent<"FuncOp">, Terminator, ReturnLike]> {
  let summary = "Ends a block program";
  let assemblyFormat = "attr-dict";
}

def Kernel_LaunchOp : Kernel_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs all blocks of a kernel and waits for them";
  let description = [{
    Host operation. With `single` one block runs, otherwise the runtime's default (one per worker, or the device's
    resident blocks). `rows` and `work` (floating-point operations, or elements moved) describe the launch in traces
    and reports; they change nothing.

    `blocks(n)` says how many blocks there are. With `phases(n)` there are so many for each phase, whose number the kernel
    asks for (`kernel.phase`), and those of a phase start behind those of the one before. `lag(k)` is for a member of a
    `kernel.launch_group`: its phases stand k behind those of the others.

    ```mlir
    kernel.launch @linear(%x, %w, %y) rows(%m) work(%flops) : memref<?x128xf32>, memref<2x128x64xf32>, memref<?x128xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$operands_, Index:$rows, Index:$work,
                       UnitAttr:$single, OptionalAttr<I64Attr>:$blocks, OptionalAttr<I64Attr>:$phases,
                       OptionalAttr<I64Attr>:$lag);
  let assemblyFormat = [{
    $kernel `(` $operands_ `)` (`single` $single^)? (`blocks` `(` $blocks^ `)`)? (`phases` `(` $phases^ `)`)?
    (`lag` `(` $lag^ `)`)? `rows` `(` $rows `)` `work` `(` $work `)` attr-dict (`:` type($operands_)^)?
  }];
  let builders = [OpBuilder<(ins "::llvm::StringRef":$kernel, "::mlir::ValueRange":$operands, "::mlir::Value":$rows,
                                 "::mlir::Value":$work, "bool":$single), [{
    build($_builder, $_state, kernel, operands, rows, work, single, {}, {}, {});
  }]>];
  let hasVerifier = 1;
}

def Kernel_CheckOp : Kernel_Op<"check"> {
  let summary = "Ends the call with an error unless `holds` (host)";
  let description = [{
    Host operation, before the launches that rely on it. The error is the caller's fault; `{0}`, `{1}`, ... in `message`
    stand for `values`.

    ```mlir
    kernel.check %same, "T is {0} in x but {1} in y (nn.linear at layer.mlir:7)"(%t, %u)
    ```
  }];
  let arguments = (ins I1:$holds, StrAttr:$message, Variadic<Index>:$values);
  let assemblyFormat = "$holds `,` $message (`(` $values^ `)`)? attr-dict";
}

def Kernel_BlocksOp : Kernel_Op<"blocks", [Pure]> {
  let summary = "Number of blocks that a launch gets by default (host)";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Kernel_BlockIdOp : Kernel_Op<"block_id", [Pure]> {
  let summary = "Number of the running block, for memory that each block owns (kernel)";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Kernel_RowTileOp : Kernel_Op<"row_tile", [NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "A region for a tile of at most `max` rows, of which min(count, max) exist";
  let description = [{
    Tile types inside say `max` rows; the rows beyond `count` are neither read nor written. A CPU target specialises
    the region for each number of rows, or has registers whose number of rows is a value; a GPU target masks. `count` is at least 1.
  }];
  let arguments = (ins Index:$count, I64Attr:$max);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$count `max` $max custom<Body>($body) attr-dict";
  let hasVerifier = 1;
}

def Kernel_RowIndicesOp : Kernel_Op<"row_indices", [SingleBlock, RecursiveMemoryEffects]> {
  let summary = "Row indices in memory of the rows base, base + 1, ... of a tile";
  let description = [{
    The region maps a row number (`base + i` for tile row i) to an index of the first dimension of the memref that the
    rows are used with: identity, a load from a row map (gather), or any index arithmetic.
  }];
  let arguments = (ins Index:$base);
  let results = (outs Kernel_RowsType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$base custom<Body>($body) attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kernel_ZeroOp : Kernel_Op<"zero", [Pure]> {
  let summary = "A tile of zeros";
  let results = (outs Kernel_AccType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Kernel_LoadTileOp : Kernel_Op<"load_tile", [MemoryEffects<[MemRead]>, TypesMatchWith<"a row index for each row",
    "result", "rows", "RowsType::get($_ctxt, ::llvm::cast<AccType>($_self).getRows())">]> {
  let summary = "A tile of sums that waited in memory";
  let description = [{
    Element (i, j) is `source[rows[i], column + j]`, where `kernel.store_tile` put it. A product that takes K in chunks for
    many tiles in turn (kernel-chunk-depth) keeps its sums there.

    ```mlir
    %acc = kernel.load_tile %sums[%rows, %c0] : memref<384x64xf32> -> <6x64xf32>
    ```
  }];
  let arguments = (ins MemRefRankOf<[AnyFloat], [2]>:$source, Kernel_RowsType:$rows, Index:$column);
  let results = (outs Kernel_AccType:$result);
  let assemblyFormat = "$source `[` $rows `,` $column `]` attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Kernel_MmaOp : Kernel_Op<"mma", [AllTypesMatch<["acc", "result"]>, MemoryEffects<[MemRead]>]> {
  let summary = "One step of a matrix product: acc += a[rows, k..] * b[.., k.., column..]";
  let description = [{
    `a` is a matrix whose rows are selected by `rows`; `b` holds columns contiguously: `[..., K, C]` takes one k per
    step, `[..., K/P, C, P]` takes P (pairs for a CPU's dot instruction, a row of shared memory for a tensor core), and `k`
    counts elements in all cases. `indices` are the leading indices of `b`; `column` is the first
    of the tile's columns. Elements of `a` beyond its last column count as zero; `inbounds` says
    that no step meets it.
    Products are accumulated in f32 in the order of k, inside a step as the target's instruction does it; one instruction may
    take several steps, which is then the order of all products of that target.

    ```mlir
    %next = kernel.mma %acc, %x[%rows, %k], %w[%n, %k, %c0]
        : !kernel.acc<6x64xf32>, memref<?x128xbf16>, memref<2x64x64x2xbf16>
    ```
  }];
  let arguments = (ins Kernel_AccType:$acc, AnyMemRef:$a, Kernel_RowsType:$rows, AnyMemRef:$b,
                       Variadic<Index>:$indices, Index:$k, Index:$column, UnitAttr:$inbounds);
  let results = (outs Kernel_AccType:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Number of k values that one step takes: 1, or the last dimension of a `b` that has one more.
    int64_t getStep();
  }];
}

def Kernel_StoreTileOp : Kernel_Op<"store_tile", [SingleBlock, MemoryEffects<[MemRead, MemWrite]>,
                                                  AttrSizedOperandSegments]> {
  let summary = "Epilogue: computes and stores each element of a tile";
  let description = [{
    For each row i and column j of the accumulators the region gets the row index in `dest` (`rows[i]`), the column
    (`column + j`) and the accumulators' values, and yields what is stored at `dest[leading..., row, column]`. Columns
    at or beyond the last dimension of `dest` (or `limit`, if given) are not computed. The region may load from memory: a load
    whose last index is the column argument is contiguous, one that does not depend on it is a scalar.
    Several accumulators (gate, up) must have one shape.

    ```mlir
    kernel.store_tile %g, %u -> %h[%rows, %col] {
    ^bb0(%row: index, %c: index, %gate: f32, %up: f32):
      %v = arith.mulf %gate, %up : f32
      %o = arith.truncf %v : f32 to bf16
      kernel.yield %o : bf16
    } : (!kernel.acc<6x32xf32>, !kernel.acc<6x32xf32>), memref<?x768xbf16>
    ```
  }];
  let arguments = (ins Variadic<Kernel_AccType>:$accs, AnyMemRef:$dest, Variadic<Index>:$leading,
                       Kernel_RowsType:$rows, Index:$column, Optional<Index>:$limit);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Kernel_YieldOp : Kernel_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["RowIndicesOp", "StoreTileOp"]>]> {
  let summary = "Ends a region with its value";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

include "moe-mlir/Dialect/Kernel/IR/KernelWindows.td"
include "moe-mlir/Dialect/Kernel/IR/KernelGroups.td"

#endif // MOE_MLIR_DIALECT_KERNEL_IR_KERNELOPS
