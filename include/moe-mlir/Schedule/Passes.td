//===- Passes.td - decisions of level scheduled -------------------------------------------------------------------===//
#ifndef MOE_MLIR_SCHEDULE_PASSES
#define MOE_MLIR_SCHEDULE_PASSES

include "mlir/Pass/PassBase.td"

// Each pass writes one kind of decision into a graph, where it is printed and may be edited. A decision that is there already
// stands. convert-graph-to-kernel carries them out.

def GraphFuseElementwise : Pass<"graph-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Fuse linalg ops into their only elementwise consumer";
  let description = [{
    Named linalg ops but fill become generic. Then an elementwise op takes in the ops whose elements it alone reads, from the last op of the
    function to the first. Reading a producer's size is no use of its elements: sizes are taken from the producer's own operands. A
    producer of several results or with several readers stays as it is, so that nothing is computed twice. An op that runs in an
    epilogue already (`kernel.epilogue`) stays, too.

    A fused op has at most `max-ops` scalar ops, the conversions of narrow types among them. Without an end the work would grow with the square of a
    chain's length, here and in LLVM; with it, 64 scalar ops are computed for each element that is read and written, so that what a longer
    body could save of the memory's time is lost among them.
  }];
  let options = [Option<"maxOps", "max-ops", "int64_t", "64", "scalar ops of a fused op, at most">];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def GraphEncodeStates : Pass<"graph-encode-states", "::mlir::func::FuncOp"> {
  let summary = "Give hidden states the order of elements that attention reads";
  let description = [{
    An argument with the unit attribute `moe.state` that only `nn.cache_update` and `nn.attention` use, either as keys or as
    values, and all its updates get the encoding `"key"` or `"value"` in their types: the blocked form of the attention
    program. Other caches keep the plain form, which attention packs in each call; so do those that an attention with
    `kernel.by_rows` reads, which takes them as they are.

    ```mlir
    func.func @step(%k0: tensor<1x1x8x2xf32, "key"> {moe.state}, %v0: tensor<1x1x8x2xf32, "value"> {moe.state},
                    %row: tensor<1x1x1x2xf32>, %p: tensor<1xi64>)
        -> (tensor<1x1x1x2xf32>, tensor<1x1x8x2xf32, "key"> {moe.state_of = 0}, tensor<1x1x8x2xf32, "value"> {moe.state_of = 1}) {
      %k = nn.cache_update %k0, %row positions(%p) in_place : tensor<1x1x8x2xf32, "key">, tensor<1x1x1x2xf32>, tensor<1xi64>
      %v = nn.cache_update %v0, %row positions(%p) in_place : tensor<1x1x8x2xf32, "value">, tensor<1x1x1x2xf32>, tensor<1xi64>
      %o = nn.attention %row, %k, %v scale(1.0)
          : tensor<1x1x1x2xf32>, tensor<1x1x8x2xf32, "key">, tensor<1x1x8x2xf32, "value"> -> tensor<1x1x1x2xf32>
      return %o, %k, %v : tensor<1x1x1x2xf32>, tensor<1x1x8x2xf32, "key">, tensor<1x1x8x2xf32, "value">
    }
    ```
  }];
}

def GraphUpdateInPlace : Pass<"graph-update-in-place", "::mlir::func::FuncOp"> {
  let summary = "Write into caches and states whose old elements nobody reads";
  let description = [{
    Marks an `nn.cache_update` or an `nn.scan` as `in_place` if its cache or state is a state of the function that gets another value
    anyway, or the result of another update, or a view of one, and if nothing that runs later reads the old elements. For others all of
    it is copied before, which a remark of category `graph-update-in-place` says.
  }];
}

def GraphWidenExperts : Pass<"graph-widen-experts", "::mlir::func::FuncOp"> {
  let summary = "Keep f32 sums between the second product and the combine";
  let description = [{
    Results of `moe.expert` that only `moe.combine` reads become f32: nothing between the two needs the model's type, so what
    was accumulated is not rounded.
  }];
  let dependentDialects = ["::mlir::moe::MoeDialect"];
}

def GraphChooseTiles : Pass<"graph-choose-tiles", "::mlir::ModuleOp"> {
  let summary = "Choose the tiles of every product";
  let description = [{
    Writes `kernel.tiles` (`#kernel.tiles`) on each `nn.linear`, `nn.attention` and, for its two products, `moe.expert`, as the target
    chooses them (`kernel.target`; 6 x 64 without one): on a CPU the register tile, on a GPU the columns that its model of costs
    expects to be fastest. Weights are packed and kernels made with these sizes; other passes do not ask the target. Tiles that
    are there already, by hand or from an earlier run, are kept. Where the target asks for it (`attendsByRows`), an `nn.attention` gets
    `kernel.by_rows` in their place.

    Where the tiles are a choice, a remark of category `graph-choose-tiles` says what the product is expected to take.
  }];
  let dependentDialects = ["::mlir::kernel::KernelDialect"];
}

def GraphPlaceRows : Pass<"graph-place-rows", "::mlir::func::FuncOp"> {
  let summary = "Decide where experts find the rows of a dispatch";
  let description = [{
    Gives every `moe.dispatch` that has none a `placement`. Rows that only experts read stay `in_place`: no gathered copy of
    the tokens exists. For products on matrix registers, as their `kernel.tiles` say, each expert layer gathers its rows
    `apart`. Rows that carry weights, or that another op reads, are `gathered`. A dispatch `to` ranks gets none: its rows are
    those of the tokens until the exchange stores them in another rank's memory.
  }];
}

def GraphMarkEpilogues : Pass<"graph-mark-epilogues", "::mlir::func::FuncOp"> {
  let summary = "Run elementwise ops where their operand is computed";
  let description = [{
    Marks an elementwise `linalg.generic` that alone reads a result of `nn.linear` or `moe.combine`, or a reshape of it that keeps the
    last dimension, with `kernel.epilogue = i`, the number of that operand: its body runs on the producer's values before
    they are stored. What else it reads must be there before the producer runs. Of two producers that one op consumes, the
    last one has it in its epilogue. Without the attribute the op is a kernel of its own.

    In a program of several ranks an op that needs an exchange is no epilogue of a product that does not (of a shared expert), which
    can then run while rows are on their way (kernel-delay-waits).
  }];
  let dependentDialects = ["::mlir::kernel::KernelDialect"];
}

def GraphApproximateActivations : Pass<"graph-approximate-activations", "::mlir::ModuleOp"> {
  let summary = "Let the target approximate activations that are rounded to 16 bits";
  let description = [{
    If the target does so, sets `fastmath<afn,arcp>` on quotients and `nn.silu`, and `fastmath<afn>` on exponentials, in the
    activation of a `moe.expert` whose weights have 16 bits, and on an `nn.silu` of 16 bits that runs in an epilogue.
  }];
}

def GraphSharedTensors : Pass<"graph-shared-tensors", "::mlir::func::FuncOp"> {
  let summary = "Say along which dimensions layers can be cut so that communication hides under computation";
  let description = [{
    For each `moe.expert`: a remark of category `graph-shared-tensors` with the dimensions of its rows, which a dispatch or other ranks
    deliver, along which it works piece by piece, and the same of each `moe.combine` that reads its result (COMET, section 3.1). A
    dimension is independent if only parallel iterators of the consumer's dense lowering (`moe-lower-to-dense`) index it. So
    experts can begin with some of the rows, and sums can be made of some of the columns.

    `rows=` and `results=` name the dimension (`rows` or `columns`) of a cut that is planned for one or the other; a cut
    that the consumer does not allow is an error which names the dimension.

    ```mlir
    // graph-shared-tensors: cut rows along {rows}; cut results along {columns}
    %y = moe.expert %rows, %layout, %w, %w {
    ^bb0(%v: f32):
      moe.yield %v : f32
    } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x64x64xf32>, tensor<8x64x64xf32> -> tensor<?x64xf32>
    %z = moe.combine %y, %layout : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xf32>
    ```
  }];
  let options = [
    Option<"rows", "rows", "std::string", /*default=*/"", "cut of the rows that experts read: rows or columns">,
    Option<"results", "results", "std::string", /*default=*/"", "cut of the experts' results: rows or columns">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def GraphCutExchanges : Pass<"graph-cut-exchanges", "::mlir::ModuleOp"> {
  let summary = "Cut exchanges into passes, so that windows stay small";
  let description = [{
    Windows have room for the rows of all ranks, and so grow with the tokens of a call. This pass writes `kernel.pass_tokens = N` on each
    `moe.all_to_all` (not on the way back), `shard.all_reduce` and `shard.all_gather` whose windows could take more than `windows` bytes of a rank: no more than
    N tokens of each rank are exchanged at a time. At level kernel the launches of such an exchange, experts and all, stand in a loop
    over passes (`kernel.passes`), as many as the rank with most tokens needs. Results keep their bits. Exchanges of one
    function whose windows are not the same memory share the bytes. One that is under way where another one on its grid has passes gets some, too. What does not grow with tokens (flags) is not counted.

    Without `windows` the limit is 1 GiB, and exchanges of a number of tokens that only a run knows are not cut. A number that is there, by hand or from an
    earlier run, is kept. A remark of category `graph-cut-exchanges` says what windows take.

    ```mlir
    shard.grid @ep(shape = 2)

    func.func @sum(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
      %y = shard.all_reduce %x on @ep grid_axes = [0] {kernel.pass_tokens = 4096 : i64} : tensor<?x64xf32> -> tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    ```
  }];
  let options = [Option<"windows", "windows", "int64_t", "0", "bytes of a rank's windows; 0: 1 GiB, and only of known sizes">];
  let dependentDialects = ["::mlir::kernel::KernelDialect"];
}

#endif // MOE_MLIR_SCHEDULE_PASSES
