//===- CudaGroups.td - kernels that share the blocks of a launch, and how they wait (exchange.cuh) ----------------===//
#ifndef MOE_MLIR_DIALECT_CUDA_IR_CUDAGROUPS
#define MOE_MLIR_DIALECT_CUDA_IR_CUDAGROUPS

def Cuda_MemberOp : Cuda_Op<"member", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Gives some blocks of a launch to a kernel";
  let description = [{
    A kernel that holds these ops holds nothing else: its blocks are divided among the members, in their order. A member
    has `blocks(n)` of them; one may have none said, and takes those that are left. In a member, `cuda.block_index` and
    `cuda.block_count` are those of its own blocks.

    What `kernel-join-groups` makes of a `kernel.launch_group`. All blocks run at the same time, one on each
    multiprocessor, and members may wait for each other. A block has the threads and the shared memory of the largest
    member.

    ```mlir
    kernel.func @clear(%x: memref<8xf32>) {
      kernel.return
    }
    kernel.func @sum(%x: memref<8xf32>, %y: memref<1xf32>) {
      kernel.return
    }
    kernel.func @clear_with_sum(%a: memref<8xf32>, %b: memref<8xf32>, %y: memref<1xf32>) {
      cuda.member @clear(%a) : memref<8xf32>
      cuda.member @sum(%b, %y) blocks(2) : memref<8xf32>, memref<1xf32>
      kernel.return
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$operands_, OptionalAttr<I64Attr>:$blocks);
  let assemblyFormat = [{
    $kernel `(` $operands_ `)` (`blocks` `(` $blocks^ `)`)? attr-dict (`:` type($operands_)^)?
  }];
  let hasVerifier = 1;
}

def Cuda_MeetOp : Cuda_Call<"meet", "moe::syncNamed", "", "int64_t(getBarrier()), int64_t(getThreads())"> {
  let summary = "Threads of a role meet; each knows then what the others knew";
  let description = "Calls `moe::syncNamed`.";
  let gpu = "`bar.sync` of a named barrier";
  let emulation = "deadlock; the same number of threads in all";
  let arguments = (ins ConfinedAttr<I64Attr, [IntMinValue<1>, IntMaxValue<15>]>:$barrier, I64Attr:$threads);
  let assemblyFormat = "`barrier` `(` $barrier `)` `threads` `(` $threads `)` attr-dict";
}

def Cuda_CountArrivalOp : Cuda_Call<"count_arrival", "moe::countArrival"> {
  let summary = "One thread: counts part `part` of the `parts` of an iteration that arrives";
  let description = [{
    Calls `moe::countArrival`: what `kernel.arrive` is where several blocks share an iteration, as the tiles of a
    record.
  }];
  let arguments = (ins MemRefRankOf<[I32], [1]>:$counters, Index:$index, I32:$part, I32:$parts);
  let assemblyFormat = "$counters `[` $index `]` `part` $part `of` $parts attr-dict `:` type($counters)";
}

#endif // MOE_MLIR_DIALECT_CUDA_IR_CUDAGROUPS
