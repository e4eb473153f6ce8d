//===- KernelWindows.td - memory that ranks share, and how they tell each other ------------------------------------===//
#ifndef MOE_MLIR_DIALECT_KERNEL_IR_KERNELWINDOWS
#define MOE_MLIR_DIALECT_KERNEL_IR_KERNELWINDOWS

def Kernel_WindowType : TypeDef<Kernel_Dialect, "Window"> {
  let mnemonic = "window";
  let summary = "A buffer of the same shape and place on every rank of a grid";
  let description = [{
    Each rank has a part of its own, which is contiguous and row-major, and which the other ranks can write to. The first
    dimension may be dynamic; its size is the same on all ranks. A window of one dimension of i32 can hold flags.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t", "sizes; only the first may be dynamic">:$shape,
                        "::mlir::Type":$element);
  let assemblyFormat = "`<` custom<WindowShape>($shape, $element) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    /// Whether the number of rows is a value.
    bool isDynamic() const { return ::mlir::ShapedType::isDynamic(getShape().front()); }
    /// Bytes of the elements with one first index.
    int64_t getRowBytes() const;
    /// What a rank's part is.
    ::mlir::MemRefType getPart() const;
    /// Whether it can hold flags.
    bool isFlags() const { return getRank() == 1 && getElement().isInteger(32); }
  }];
}

def Kernel_PeersType : TypeDef<Kernel_Dialect, "Peers"> {
  let mnemonic = "peers";
  let summary = "The memory of all windows of a grid, on all its ranks (`moert_peers` of moert.h)";
}

def Kernel_Flags : Type<And<[CPred<"::llvm::isa<::mlir::kernel::WindowType>($_self)">,
                             CPred<"::llvm::cast<::mlir::kernel::WindowType>($_self).isFlags()">]>,
                        "window of flags (one dimension of i32)", "::mlir::kernel::WindowType">;

// ---- the host program ------------------------------------------------------------------------------------------------

class Kernel_OnGrid<string mnemonic, list<Trait> traits = []>
    : Kernel_Op<mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<SymbolUserOpInterface>]<Trait>)> {
  let hasVerifier = 1;
}

def Kernel_RankOp : Kernel_OnGrid<"rank", [Pure]> {
  let summary = "Number of this rank on a grid (host)";
  let description = [{
    From 0; a grid of several dimensions is counted row by row.

    ```mlir
    shard.grid @ep(shape = 2)

    func.func @main() {
      %me = kernel.rank on @ep : index
      return
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$grid);
  let results = (outs Index:$rank);
  let assemblyFormat = "`on` $grid attr-dict `:` type($rank)";
}

def Kernel_AgreeOp : Kernel_OnGrid<"agree", [Pure]> {
  let summary = "The largest of the values of all ranks of a grid (host)";
  let description = [{
    All ranks execute it, and none goes on before all have come. It has no effect that a program could see, so equal ones
    are one.

    ```mlir
    shard.grid @ep(shape = 2)

    func.func @main(%x: memref<?x256xbf16>) {
      %c0 = arith.constant 0 : index
      %t = memref.dim %x, %c0 : memref<?x256xbf16>
      %room = kernel.agree %t on @ep : index
      return
    }
    ```
  }];
  let arguments = (ins Index:$value, FlatSymbolRefAttr:$grid);
  let results = (outs Index:$largest);
  let assemblyFormat = "$value `on` $grid attr-dict `:` type($largest)";
}

def Kernel_WindowOp : Kernel_OnGrid<"window"> {
  let summary = "Memory of the same shape and place on every rank of a grid (host)";
  let description = [{
    Like `memref.alloc`, with a value for the size of a dynamic dimension, which is the same on all ranks. Windows of one
    function that have the same grid, name, type and size are the same memory; all others are disjoint. What it holds is
    undefined, but flags, which only `kernel.signal` writes. kernel-plan-windows gives each its place.

    ```mlir
    shard.grid @ep(shape = 2)

    func.func @main(%n: index) {
      %rows = kernel.window(%n) on @ep as "rows" : !kernel.window<?x256xbf16>
      %came = kernel.window() on @ep as "rows came" : !kernel.window<2xi32>
      return
    }
    ```
  }];
  let arguments = (ins Variadic<Index>:$sizes, FlatSymbolRefAttr:$grid, StrAttr:$name);
  let results = (outs Res<Kernel_WindowType, "", [MemAlloc]>:$window);
  let assemblyFormat = "`(` $sizes `)` `on` $grid `as` $name attr-dict `:` qualified(type($window))";
}

def Kernel_WindowsOp : Kernel_OnGrid<"windows"> {
  let summary = "The memory of all windows of a grid (host)";
  let description = [{
    `bytes` on each rank; all ranks execute it with the same number. Zero when it is made, 64-byte aligned, and kept from
    call to call. A function has at most one per grid.

    ```mlir
    shard.grid @ep(shape = 2)

    func.func @main(%bytes: index) {
      %peers = kernel.windows %bytes on @ep : !kernel.peers
      return
    }
    ```
  }];
  let arguments = (ins Index:$bytes, FlatSymbolRefAttr:$grid);
  let results = (outs Res<Kernel_PeersType, "", [MemAlloc]>:$peers);
  let assemblyFormat = "$bytes `on` $grid attr-dict `:` qualified(type($peers))";
}

def Kernel_WindowAtOp : Kernel_Op<"window_at", [Pure]> {
  let summary = "A window at a byte offset of the memory of all windows (host)";
  let description = [{
    What kernel-plan-windows makes of a `kernel.window`. `offset` is a multiple of 64.

    ```mlir
    %rows = kernel.window_at %peers[%offset](%n) : !kernel.window<?x256xbf16>
    ```
  }];
  let arguments = (ins Kernel_PeersType:$peers, Index:$offset, Variadic<Index>:$sizes);
  let results = (outs Kernel_WindowType:$window);
  let assemblyFormat = "$peers `[` $offset `]` `` `(` $sizes `)` attr-dict `:` qualified(type($window))";
  let hasVerifier = 1;
}

// ---- host program and kernels ----------------------------------------------------------------------------------------

def Kernel_PartOp : Kernel_Op<"part", [Pure, TypesMatchWith<"the part is a buffer of the window's shape", "window",
    "part", "::llvm::cast<::mlir::kernel::WindowType>($_self).getPart()">]> {
  let summary = "A rank's part of a window";
  let description = [{
    Without `peer` this rank's own part, which is used as any buffer; what others put there is read behind an await. With
    it (in a kernel only) the part of that rank, which may only be stored to, and what is stored is visible there only
    through a later signal.

    ```mlir
    kernel.func @move(%rows: !kernel.window<?x256xbf16>, %came: !kernel.window<2xi32>, %peer: index, %row: index, %me: index) {
      %own = kernel.part %rows : !kernel.window<?x256xbf16> -> memref<?x256xbf16>
      %there = kernel.part %rows[%peer] : !kernel.window<?x256xbf16> -> memref<?x256xbf16>
      %c0 = arith.constant 0 : index
      %value = memref.load %own[%row, %c0] : memref<?x256xbf16>
      memref.store %value, %there[%row, %c0] : memref<?x256xbf16>
      %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
      kernel.signal %came[%peer][%me], %epoch : !kernel.window<2xi32>
      kernel.return
    }
    ```
  }];
  let arguments = (ins Kernel_WindowType:$window, Optional<Index>:$peer);
  let results = (outs AnyMemRef:$part);
  let assemblyFormat = "$window (`[` $peer^ `]`)? attr-dict `:` qualified(type($window)) `->` type($part)";
  let hasVerifier = 1;
}

// ---- kernels ---------------------------------------------------------------------------------------------------------

/// No pass moves a read or write of memory across such an op.
defvar Kernel_Ordered = MemoryEffects<[MemRead, MemWrite]>;

def Kernel_PutOp : Kernel_Op<"put", [Kernel_Ordered]> {
  let summary = "Copies a row to another rank's part of a window (kernel)";
  let description = [{
    `source[row, ...]`, all of its trailing dimensions, becomes row `to` of the part of rank `peer` (which may be this
    one). It is visible there only through a later signal, of the same block or of a later launch.

    ```mlir
    kernel.func @send(%x: memref<?x256xbf16>, %rows: !kernel.window<?x256xbf16>, %came: !kernel.window<2xi32>,
                      %row: index, %peer: index, %to: index, %me: index) {
      kernel.put %x[%row], %rows[%peer][%to] : memref<?x256xbf16>, !kernel.window<?x256xbf16>
      %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
      kernel.signal %came[%peer][%me], %epoch : !kernel.window<2xi32>
      kernel.return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$source, Index:$row, Kernel_WindowType:$window, Index:$peer, Index:$to);
  let assemblyFormat = [{
    $source `[` $row `]` `,` $window `[` $peer `]` `` `[` $to `]` attr-dict `:` type($source) `,` qualified(type($window))
  }];
  let hasVerifier = 1;
}

def Kernel_EpochOp : Kernel_Op<"epoch", [MemoryEffects<[MemRead]>]> {
  let summary = "Number of the exchange that this rank is in, on the grid of a window (kernel)";
  let description = [{
    It is kept in memory and only `kernel.advance` changes it, so that a launch that is replayed reads the present one.
    All windows of a grid have one epoch. [PutOp](#kernelput-kernelputop) has an example.
  }];
  let arguments = (ins Kernel_Flags:$flags);
  let results = (outs I32:$epoch);
  let assemblyFormat = "$flags attr-dict `:` qualified(type($flags)) `->` type($epoch)";
  let hasVerifier = 1;
}

def Kernel_SignalOp : Kernel_Op<"signal", [Kernel_Ordered]> {
  let summary = "Stores the epoch to a flag of another rank (kernel)";
  let description = [{
    Flag `index` of the part of rank `peer` becomes `epoch`, with release order for the whole system: who sees it sees all
    that this block and earlier launches wrote before, to any window. Flags only grow. [PutOp](#kernelput-kernelputop) has an example.
  }];
  let arguments = (ins Kernel_Flags:$flags, Index:$peer, Index:$index, I32:$epoch);
  let assemblyFormat = "$flags `[` $peer `]` `` `[` $index `]` `,` $epoch attr-dict `:` qualified(type($flags))";
  let hasVerifier = 1;
}

def Kernel_AwaitOp : Kernel_Op<"await", [Kernel_Ordered]> {
  let summary = "Waits for a flag of the own part (kernel)";
  let description = [{
    Until flag `index` has reached `epoch` (`flag - epoch >= 0`, signed), with acquire order: what `peer` wrote before its
    signal can be read then. If the flag does not come, because the rank is lost or a deadline has passed, the status word
    of `moert_peers` says so; on a CPU the launch is finished with whatever is in the window, and then ends the call.

    ```mlir
    kernel.func @receive(%came: !kernel.window<2xi32>) {
      scf.forall (%peer) in (2) {
        %epoch = kernel.epoch %came : !kernel.window<2xi32> -> i32
        kernel.await %came[%peer] reach %epoch from %peer : !kernel.window<2xi32>
      }
      kernel.return
    }
    ```
  }];
  let arguments = (ins Kernel_Flags:$flags, Index:$index, I32:$epoch, Index:$peer);
  let assemblyFormat = [{
    $flags `[` $index `]` `reach` $epoch `from` $peer attr-dict `:` qualified(type($flags))
  }];
  let hasVerifier = 1;
}

def Kernel_AdvanceOp : Kernel_Op<"advance", [Kernel_Ordered]> {
  let summary = "Begins the next exchange of this rank on the grid of a window (kernel)";
  let description = [{
    Adds 1 to the epoch. For one block, in a launch of its own (`single`) that neither signals nor awaits.

    ```mlir
    kernel.func @begin(%came: !kernel.window<2xi32>) {
      kernel.advance %came : !kernel.window<2xi32>
      kernel.return
    }
    ```
  }];
  let arguments = (ins Kernel_Flags:$flags);
  let assemblyFormat = "$flags attr-dict `:` qualified(type($flags))";
  let hasVerifier = 1;
}

#endif // MOE_MLIR_DIALECT_KERNEL_IR_KERNELWINDOWS
