//===- KernelGroups.td - launches that run at the same time, and how their blocks wait for each other -------------===//
#ifndef MOE_MLIR_DIALECT_KERNEL_IR_KERNELGROUPS
#define MOE_MLIR_DIALECT_KERNEL_IR_KERNELGROUPS

// ---- the host program ------------------------------------------------------------------------------------------------

def Kernel_LaunchGroupOp : Kernel_Op<"launch_group", [NoTerminator, NoRegionArguments, SingleBlock,
                                                      RecursiveMemoryEffects]> {
  let summary = "Runs several launches at the same time, and waits for all of them";
  let description = [{
    Host operation. Its members are launches of ordinary kernels, each with its blocks and phases: the blocks of a phase
    share the iterations of the kernel's `scf.forall`, and `kernel.phase` is its number. Phase s of a member with `lag(k)`
    stands at s + k. Blocks start in order: by where their phase stands, then by the order of the members, then by their
    number. So a block may wait (`kernel.await`, `kernel.await_arrivals`) for blocks of the group that start before it:
    it holds none of them up, whatever the number of threads. kernel-verify-windows checks that each wait is such a one.

    Apart from waits, members run in any order; what one writes and another one uses needs one. Without the braces the
    launches run one after the other, with the same results (`lag` is left out then).

    ```mlir
    kernel.func @clear(%done: memref<2xi32>) {
      %zero = arith.constant 0 : i32
      scf.forall (%i) in (2) {
        memref.store %zero, %done[%i] : memref<2xi32>
      }
      kernel.return
    }

    // In phase s, elements 16 s to 16 s + 15.
    kernel.func @square(%x: memref<32xf32>, %y: memref<32xf32>, %done: memref<2xi32>) {
      %c16 = arith.constant 16 : index
      %phase = kernel.phase : index
      %first = arith.muli %phase, %c16 : index
      scf.forall (%i) in (16) {
        %at = arith.addi %first, %i : index
        %v = memref.load %x[%at] : memref<32xf32>
        %square = arith.mulf %v, %v : f32
        memref.store %square, %y[%at] : memref<32xf32>
        kernel.arrive %done[%phase] : memref<2xi32>
      }
      kernel.return
    }

    kernel.func @sum(%y: memref<32xf32>, %done: memref<2xi32>, %sums: memref<2xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %zero = arith.constant 0.0 : f32
      %phase = kernel.phase : index
      scf.forall (%once) in (1) {
        kernel.await_arrivals %done[%phase] reach %c16 : memref<2xi32>
        %first = arith.muli %phase, %c16 : index
        %sum = scf.for %i = %c0 to %c16 step %c1 iter_args(%before = %zero) -> (f32) {
          %at = arith.addi %first, %i : index
          %v = memref.load %y[%at] : memref<32xf32>
          %next = arith.addf %before, %v : f32
          scf.yield %next : f32
        }
        memref.store %sum, %sums[%phase] : memref<2xf32>
      }
      kernel.return
    }

    func.func @main(%x: memref<32xf32>, %y: memref<32xf32>, %sums: memref<2xf32>) {
      %c2 = arith.constant 2 : index
      %c32 = arith.constant 32 : index
      %done = memref.alloc() : memref<2xi32>
      kernel.launch @clear(%done) single rows(%c2) work(%c2) : memref<2xi32>
      kernel.launch_group {
        kernel.launch @square(%x, %y, %done) phases(2) rows(%c32) work(%c32)
            : memref<32xf32>, memref<32xf32>, memref<2xi32>
        kernel.launch @sum(%y, %done, %sums) blocks(1) phases(2) lag(1) rows(%c2) work(%c32)
            : memref<32xf32>, memref<2xi32>, memref<2xf32>
      }
      return
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword custom<Body>($body)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The launches, in the order of the text.
    auto getMembers() { return getBody().front().getOps<LaunchOp>(); }
  }];
}

// ---- kernels ---------------------------------------------------------------------------------------------------------

/// Not pure: also one that nobody uses says that the numbers of the kernel's blocks have a phase in them.
def Kernel_PhaseOp : Kernel_Op<"phase", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Number of the phase that the running block works on (kernel)";
  let description = [{
    From 0 to the launch's number of phases - 1. A kernel that is launched with several phases has one such op, at its
    top level. [LaunchGroupOp](#kernellaunch_group-kernellaunchgroupop) has an example.
  }];
  let results = (outs Index:$phase);
  let assemblyFormat = "attr-dict `:` type($phase)";
  let hasVerifier = 1;
}

class Kernel_OnCounter<string mnemonic> : Kernel_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let hasVerifier = 1;
}

def Kernel_ArriveOp : Kernel_OnCounter<"arrive"> {
  let summary = "Counts one arrival (kernel)";
  let description = [{
    Adds 1 to `counters[index]` with release order for this device: who awaits it sees all that this block wrote before,
    to memory of its own rank. An earlier launch has set the counters to zero.
    [LaunchGroupOp](#kernellaunch_group-kernellaunchgroupop) has an example.
  }];
  let arguments = (ins MemRefRankOf<[I32], [1]>:$counters, Index:$index);
  let assemblyFormat = "$counters `[` $index `]` attr-dict `:` type($counters)";
}

def Kernel_AwaitArrivalsOp : Kernel_OnCounter<"await_arrivals"> {
  let summary = "Waits until enough have arrived (kernel)";
  let description = [{
    Until `counters[index]` has reached `arrivals`, with acquire order: what those that arrived wrote before can be read
    then. If that does not happen in time, the launch is finished with whatever is there, and then ends the call.
    [LaunchGroupOp](#kernellaunch_group-kernellaunchgroupop) has an example.
  }];
  let arguments = (ins MemRefRankOf<[I32], [1]>:$counters, Index:$index, Index:$arrivals);
  let assemblyFormat = "$counters `[` $index `]` `reach` $arrivals attr-dict `:` type($counters)";
}

#endif // MOE_MLIR_DIALECT_KERNEL_IR_KERNELGROUPS
