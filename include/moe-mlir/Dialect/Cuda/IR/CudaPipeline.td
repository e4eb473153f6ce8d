//===- CudaPipeline.td - a ring of stages, and what fills it (pipeline.cuh, copy.cuh, tma.cuh) --------------------===//
#ifndef MOE_MLIR_DIALECT_CUDA_IR_CUDAPIPELINE
#define MOE_MLIR_DIALECT_CUDA_IR_CUDAPIPELINE

/// A call whose first operand is the ring.
class Cuda_OnRing<string mnemonic, string function, string templates = "">
    : Cuda_Call<mnemonic, function, templates, "", [PredOpTrait<"it is in a role, on a ring that a cuda.ring makes",
        CPred<"$_op.getOperand(0).getDefiningOp<::mlir::cuda::RingOp>() && "
              "$_op.getParentOfType<::mlir::cuda::RoleOp>()">>]>;

def Cuda_RingOp : Cuda_Call<"ring", "moe::makeRing",
    "number(getType().getStages()), number(getType().getBytes()), number(getFills()), number(getReleases())"> {
  let summary = "A ring of stages in shared memory, with two barriers for each: full and empty";
  let description = [{
    Calls `moe::makeRing`, in which all threads of the block meet. A stage is full after `fills` arrivals, and when the
    bytes have landed that were expected; it is empty after `releases` arrivals. Each thread has a position of its own.

    ```mlir
    kernel.func @nothing() {
      %ring = cuda.ring fills(5) releases(8) : <stages = 4, bytes = 49152>
      kernel.return
    }
    ```
  }];
  let arguments = (ins I64Attr:$fills, I64Attr:$releases);
  let results = (outs Cuda_RingType:$ring);
  let assemblyFormat = "`fills` `(` $fills `)` `releases` `(` $releases `)` attr-dict `:` type($ring)";
  let hasVerifier = 1;
}

def Cuda_AcquireOp : Cuda_OnRing<"acquire", "moe::acquire"> {
  let summary = "Waits until the stage is empty; its address";
  let description = "Calls `moe::acquire`. What the roles that released the stage have read of it may be overwritten.";
  let arguments = (ins Cuda_RingType:$ring);
  let results = (outs I32:$stage);
  let assemblyFormat = "$ring attr-dict `:` type($ring)";
}

def Cuda_AwaitOp : Cuda_OnRing<"await", "moe::await"> {
  let summary = "Waits until the stage is full; its address";
  let description = "Calls `moe::await`. What fills the stage is visible after it.";
  let arguments = (ins Cuda_RingType:$ring);
  let results = (outs I32:$stage);
  let assemblyFormat = "$ring attr-dict `:` type($ring)";
}

def Cuda_AdvanceOp : Cuda_OnRing<"advance", "moe::advance"> {
  let summary = "Goes on to the next stage";
  let description = "Calls `moe::advance`.";
  let arguments = (ins Cuda_RingType:$ring);
  let assemblyFormat = "$ring attr-dict `:` type($ring)";
}

def Cuda_ExpectOp : Cuda_OnRing<"expect", "moe::expect", "number(getBytes())"> {
  let summary = "One thread arrives for the stage, which is then full when so many bytes have landed";
  let description = "Calls `moe::expect`. The bytes are those of the `cuda.tma_load` that follow.";
  let arguments = (ins Cuda_RingType:$ring, I64Attr:$bytes);
  let assemblyFormat = "$ring `bytes` `(` $bytes `)` attr-dict `:` type($ring)";
}

def Cuda_TmaLoadOp : Cuda_OnRing<"tma_load", "moe::loadBox"> {
  let summary = "One thread starts a bulk copy of a box into the stage";
  let description = [{
    Calls `moe::loadBox`. The box goes to the address `to` and starts at column `x` and row `y` of the matrix; what of
    it lies outside of the matrix arrives as zeros.
  }];
  let arguments = (ins Cuda_RingType:$ring, I32:$to, Cuda_TensorMapType:$map, I32:$x, I32:$y);
  let assemblyFormat = "$ring `,` $to `,` $map `[` $x `,` $y `]` attr-dict `:` type($ring)";
}

def Cuda_ArriveOp : Cuda_OnRing<"arrive", "moe::arriveWarp"> {
  let summary = "A warp that fills nothing itself arrives for the stage";
  let description = [{
    Calls `moe::arriveWarp`. It is announced when all lanes have seen it empty, so that no thread falls a round behind.
  }];
  let arguments = (ins Cuda_RingType:$ring);
  let assemblyFormat = "$ring attr-dict `:` type($ring)";
}

def Cuda_ArriveThreadOp : Cuda_OnRing<"arrive_thread", "moe::arriveThread"> {
  let summary = "Each thread arrives for the stage, and hands over what it has stored there";
  let description = "Calls `moe::arriveThread`.";
  let arguments = (ins Cuda_RingType:$ring);
  let assemblyFormat = "$ring attr-dict `:` type($ring)";
}

def Cuda_ArriveCopiedOp : Cuda_OnRing<"arrive_copied", "moe::arriveCopied"> {
  let summary = "Each thread arrives for the stage when the copies that it has issued have landed";
  let description = "Calls `moe::arriveCopied`. Who awaits the stage executes the proxy fence; `cuda.end_copies` ends the role.";
  let arguments = (ins Cuda_RingType:$ring);
  let assemblyFormat = "$ring attr-dict `:` type($ring)";
}

def Cuda_EndCopiesOp : Cuda_Call<"end_copies", "moe::endCopies"> {
  let summary = "Waits for all copies of the thread: none ends while arrivals are due that wait for its copies";
  let description = "Calls `moe::endCopies`.";
  let assemblyFormat = "attr-dict";
}

def Cuda_FenceProxyOp : Cuda_Call<"fence_proxy", "moe::fenceProxy", "name(getFence())"> {
  let summary = "Between the threads' accesses to a stage and those of bulk copies and products";
  let description = "Calls `moe::fenceProxy`.";
  let arguments = (ins Cuda_ProxyFence:$fence);
  let assemblyFormat = "`fence` `(` $fence `)` attr-dict";
}

def Cuda_CopyAsyncOp : Cuda_Call<"copy_async", "moe::copyAsync"> {
  let summary = "Starts a copy of the first `bytes` of 16 bytes into shared memory; the others become zeros";
  let description = "Calls `moe::copyAsync`.";
  let gpu = "`cp.async.cg` of 16 bytes, of which the first ones are read and the others zeros";
  let emulation = "alignment, bounds on both sides; the source visible; all that it overwrites; nobody touches the "
                  "target before the wait";
  let arguments = (ins I32:$to, AnyMemRef:$source, Variadic<Index>:$indices, I32:$bytes);
  let assemblyFormat = "$source `[` $indices `]` `->` $to `,` $bytes attr-dict `:` type($source)";
}

def Cuda_AnnounceOp : Cuda_OnRing<"announce", "moe::announce", "name(getFence())"> {
  let summary = "A warp arrives for the stage whose copies were issued two steps before a stage is needed again";
  let description = [{
    Calls `moe::announce`. Copies of this step (`cuda.copy_async`, `cuda.store_shared`) are on their way; the warp
    arrives for those of the step `stages - 2` steps ago, after a proxy fence. A stage is released when the next one is
    in use, hence two steps less than there are stages.
  }];
  let arguments = (ins Cuda_RingType:$ring, Cuda_ProxyFence:$fence);
  let assemblyFormat = "$ring `fence` `(` $fence `)` attr-dict `:` type($ring)";
  let hasVerifier = 1;
}

def Cuda_DrainOp : Cuda_OnRing<"drain", "moe::drain", "name(getFence())"> {
  let summary = "A warp arrives for all stages that `cuda.announce` has put off";
  let description = "Calls `moe::drain`. Needed before another kind of arrival, and at the end of the role.";
  let arguments = (ins Cuda_RingType:$ring, Cuda_ProxyFence:$fence);
  let assemblyFormat = "$ring `fence` `(` $fence `)` attr-dict `:` type($ring)";
}

def Cuda_ReleaseOp : Cuda_OnRing<"release", "moe::release", "number(getBack())"> {
  let summary = "A warp arrives for the stage `back` steps ago: the warpgroup has read it";
  let description = "Calls `moe::release`, after a wait for the products that read the stage.";
  let arguments = (ins Cuda_RingType:$ring, ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<1>]>:$back);
  let assemblyFormat = "$ring `back` `(` $back `)` attr-dict `:` type($ring)";
}

def Cuda_ReleaseReadOp : Cuda_OnRing<"release_read", "moe::releaseRead", "name(getFence())"> {
  let summary = "A warp arrives for the stage that its lanes have read";
  let description = "Calls `moe::releaseRead`: a proxy fence, since bulk copies write the stage next, then all lanes.";
  let arguments = (ins Cuda_RingType:$ring, Cuda_ProxyFence:$fence);
  let assemblyFormat = "$ring `fence` `(` $fence `)` attr-dict `:` type($ring)";
}

#endif // MOE_MLIR_DIALECT_CUDA_IR_CUDAPIPELINE
