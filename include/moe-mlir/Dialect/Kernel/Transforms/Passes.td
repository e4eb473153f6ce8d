//===- Passes.td - passes within the kernel level --------------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_KERNEL_TRANSFORMS_PASSES
#define MOE_MLIR_DIALECT_KERNEL_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def KernelChoosePlans : Pass<"kernel-choose-plans", "::mlir::ModuleOp"> {
  let summary = "Decide what the bodies of kernels leave open";
  let description = [{
    Gives each `kernel.func` that has none the `kernel.plan` that `kernel.target` chooses for it. A plan that is there, by
    hand or from an earlier run, is kept. Without a target the pass does nothing.
  }];
}

def KernelSpecializeRowTiles : Pass<"kernel-specialize-row-tiles", "::mlir::kernel::FuncOp"> {
  let summary = "Clone the region of kernel.row_tile for each number of rows";
  let description = [{
    `kernel.row_tile %n max 6 {body}` becomes one test for the full tile, then a switch over 1..5 rows; each case is the
    body with tiles of exactly that many rows, so that no case holds a test for a row that may not exist.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def KernelMarkNoAlias : Pass<"kernel-mark-noalias", "::mlir::ModuleOp"> {
  let summary = "Mark kernel arguments whose memory no other argument of the launch shares";
  let description = [{
    Sets `llvm.noalias` on a memref argument of a kernel when, at every launch in the module, no other operand of it, or
    of the launches of its group, comes from the same allocation, parameter or argument of the host function, seen
    through views. Two operands that share memory stay unmarked, which is right for states that are updated in place, and so does a part of a
    window, which a kernel may reach by the window as well. Runs before the memory plan: it gives buffers of one launch
    disjoint slots, but all of them come from one arena.
  }];
}

def KernelVerifyDimensions : Pass<"kernel-verify-dimensions", "::mlir::func::FuncOp"> {
  let summary = "Refuse sizes of dimensions that a buffer does not have";
  let description = [{
    MLIR accepts a `memref.dim` of any number, and says nothing about its result. In a host function a number that is known
    must be that of a dimension. Runs before the canonicalizer, whose patterns take it for one, and behind it, for numbers
    that are computed.
  }];
}

def KernelVerifyBounds : Pass<"kernel-verify-bounds", "::mlir::ModuleOp"> {
  let summary = "Refuse accesses that leave a buffer of a known size whatever the input is";
  let description = [{
    An index that is a constant, or a sum of multiples of induction variables of loops with constant bounds, must lie in a dimension
    whose size the type says: the indices of `memref.load` and `memref.store`, K, columns and leading indices of `kernel.mma`, the
    columns of `kernel.load_tile`, the first row of a tile, the limit of `kernel.store_tile`, and what its region loads. Nothing is said of an
    index that depends on anything else, of a variable whose loop has a condition between it and the access, and of what is masked: columns
    behind the last one of a destination, and elements of `a` behind its last column without `inbounds`.
  }];
}

def KernelResolveSizes : Pass<"kernel-resolve-sizes", "::mlir::func::FuncOp"> {
  let summary = "Express the sizes of buffers by the sizes of the host function's arguments";
  let description = [{
    The size of a view becomes what the view was made of, products that are divided by one of their factors are
    simplified, and sizes that `moe.dims` gives one name ("batch") become one value. What remains is a few `memref.dim`
    of arguments and their products, which is what kernel-plan-memory can compare.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def KernelDelayWaits : Pass<"kernel-delay-waits", "::mlir::ModuleOp"> {
  let summary = "Launch what needs no other rank while its rows are on their way";
  let description = [{
    Moves launches of the host function, and changes none. A launch that does not need what a wait is for (a shared expert)
    goes in front of the launch that awaits; one that a signal does not need goes behind the launch that signals. So ranks
    send early and wait late. A program without waits stays as it is, and so does one that has been through the pass.

    Launches keep their order if both touch windows, or if one of them writes a buffer that the other one uses, seen
    through views. Nothing moves over the start of another exchange, nor over an op that is not known to be harmless; in
    particular no launch moves in front of a `kernel.check` that must wait itself.
  }];
}

def KernelVerifyWindows : Pass<"kernel-verify-windows", "::mlir::ModuleOp"> {
  let summary = "Check that ranks exchange what they put, signal and await in an order that ends";
  let description = [{
    Follows the launches of each host function, and in a kernel the program of one block. It changes nothing.

    - What is put or stored into another rank's part is signalled: by a `kernel.signal` that follows in the same kernel, in
      an `scf.forall` in the same iteration, or else by a later launch. Another rank's part is never read.
    - A launch awaits flags that exactly one earlier launch has signalled since the last `kernel.advance` on their grid, and
      none signals flags twice without one between. A launch of one block (`single`) may await behind its own signal.
    - A launch reads the own part of a window that others put to behind a `kernel.await` on flags that were signalled
      after the put: in a launch between, or in its own program.
    - `kernel.advance` is alone: one block of a launch whose kernel neither signals nor awaits.
    - Windows are arguments of kernels, and made at the top level of the host function. Launches use them there, or in a loop over
      passes (`scf.for` with `kernel.passes`).

    A loop is followed once, for any number of passes:

    - Their number is the same on all ranks: it follows from constants and what ranks agree on.
    - It begins with all told that was put before. Its launches rely on no flags from before it, nor launches behind it on its flags:
      `kernel.advance` comes first. A pass sets its counters to zero.
    - What a pass puts it signals and awaits.
    - Between a read of a window and the put of the next pass the reader signals flags that the writer awaits. Where rows stand by the
      epoch (`kernel.epoch`) two halves take turns, and it is the put of the pass after that.

    In a `kernel.launch_group` a member also awaits what another one signals:

    - Blocks that signal start before those that await. Where both index the flags by `kernel.phase`, this holds for each
      phase; otherwise all phases that signal stand before all that await.
    - What a member writes and another one uses is ordered by a wait: the use by one of them stands in front of a signal
      or an arrival (in the same iteration), and that by the other one behind a wait for it.
    - Counters of arrivals are set to zero by a launch before, which stores nothing else to them; one launch arrives at
      them, and who awaits them stands behind it.

    All ranks run one program, so each await of a program that passes ends, or a rank is lost: by induction over the
    launches, and in a group over the order in which blocks start.
  }];
}

def KernelPlanWindows : Pass<"kernel-plan-windows", "::mlir::ModuleOp"> {
  let summary = "Give all windows of a host function their place in one memory per grid";
  let description = [{
    `kernel.window` becomes one `kernel.windows` per grid and function, and a `kernel.window_at` with a byte offset, a
    multiple of 64, for each. Windows of one name, type and size share a place, all others are disjoint. Sizes are moved in
    front of the first window. Windows of flags come first and have a constant size: a flag keeps its place from
    call to call, as it holds an epoch of the past. Other windows of constant size follow, then the rest.

    ```mlir
    shard.grid @ep(shape = 2)

    func.func @main(%n: index) {
      %rows = kernel.window(%n) on @ep as "rows" : !kernel.window<?x8xf32>
      %own = kernel.part %rows : !kernel.window<?x8xf32> -> memref<?x8xf32>
      return
    }
    // becomes
    shard.grid @ep(shape = 2)

    func.func @main(%n: index) {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %c63 = arith.constant 63 : index
      %mask = arith.constant -64 : index
      %data = arith.muli %n, %c32 : index
      %round = arith.addi %data, %c63 : index
      %bytes = arith.andi %round, %mask : index
      %peers = kernel.windows %bytes on @ep : !kernel.peers
      %rows = kernel.window_at %peers[%c0](%n) : !kernel.window<?x8xf32>
      %own = kernel.part %rows : !kernel.window<?x8xf32> -> memref<?x8xf32>
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def KernelPlanMemory : Pass<"kernel-plan-memory", "::mlir::func::FuncOp"> {
  let summary = "Place all temporary buffers of the host function in one arena";
  let description = [{
    Buffers (`memref.alloc`) that are never live at the same time share a slot: liveness follows the order of launches
    and sees through views. What launches of a loop over passes (`kernel.passes`) alone use is live in a pass only. A slot holds buffers whose sizes are constants times the same dynamic sizes (batch,
    sequence, ...), so that its size is known to be the largest of theirs whatever the dynamic sizes are; slots start at
    multiples of 64 bytes. The result is one `memref.alloc(%bytes) {kernel.arena}` of bytes and a `memref.view` for each
    buffer; returned buffers stay allocations of their own (they become outputs). If the bytes of a slot do not fit into
    48 bits, the arena is of 2^63 - 1 bytes, which the runtime refuses.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

#endif // MOE_MLIR_DIALECT_KERNEL_TRANSFORMS_PASSES
