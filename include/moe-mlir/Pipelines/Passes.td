//===- Passes.td - the decisions and contracts between levels -----------------------------------------------------===//
#ifndef MOE_MLIR_PIPELINES_PASSES
#define MOE_MLIR_PIPELINES_PASSES

include "mlir/Pass/PassBase.td"

def KernelSetTarget : Pass<"kernel-set-target", "::mlir::ModuleOp"> {
  let summary = "Record in the module what its kernels are for";
  let description = [{
    Writes `kernel.target`: of a CPU the size of the register tile, the width of a vector, and which instructions products
    may use (`#x86.target`). Fails for a CPU that LLVM does not know or that is older than x86-64-v3.

    | CPU has | tile | vector |
    |---|---|---|
    | AVX-512 (F, BW, DQ, VL) | 6 x 64 | 16 |
    | AVX2, FMA | 6 x 16 | 8 |

    A CPU with AMX-BF16 multiplies bf16 on matrix registers, up to 32 rows at a time (`matrix_rows`). Of a GPU the largest
    tile (`#cuda.target`): 128 rows and up to 256 columns; the model of costs uses the numbers of the device that is
    named, as in `cuda:h200`, and for `cuda:sm_90a` those of the first one of that architecture.

    A `kernel.target` that the module has already stays as it is, with whatever was edited in it. An option that names
    another device than the attribute is an error.
  }];
  let options = [Option<"target", "target", "std::string", "",
                        "'cpu', which is the default, for the machine this runs on; 'cpu:NAME' by LLVM's name of a CPU; "
                        "'cuda:NAME', as in 'cuda:h200', or 'cuda:sm_90a' for any GPU of that architecture">];
  let dependentDialects = ["::mlir::cuda::CudaDialect", "::mlir::x86::X86Dialect"];
}

def MoePartition : Pass<"moe-partition", "::mlir::ModuleOp"> {
  let summary = "From the logical program to one rank's program";
  let description = [{
    Without `parallel` the program stays as it is. With `ep=W` the W ranks of a grid share the experts of every layer: rank r owns
    experts `r * E/W ... (r + 1) * E/W - 1`, and reads their weights only (`#moe.shard`).

    - `tokens=split`: dimension 0 of the first input (`batch` of a model, `tokens` of a layer) and of all that have a size of
      that name is divided, too (`moe.split`). A token goes once to each rank that owns one of its experts, with its ids and weights,
      and that rank's sum comes back. No op may mix elements of that dimension; the first one that does is an error.
    - `tokens=replicated`: every rank has all tokens, computes what its experts give, and the ranks add their sums.

    Without `tokens` they are split if the first input has a name for its dimension 0.

    `nodes=N` sends split tokens to each of N equal parts of these ranks once, and from there to the part's ranks: two exchanges, one inside
    of the other, on the two dimensions of the grid (`moe.axis_of`), and sums back by both. The bits are those of one exchange.

    `etp=V` cuts the hidden width of each expert into V slices, one for each rank of a second grid: rows of the first product and
    columns of the second one (`#moe.shard` of dimensions 1 and 2), and a bias of the second product belongs to the first slice
    (`#moe.once`). Ranks that differ in nothing but their slice have the same tokens, and add what a token's experts give in f32
    (`shard.all_reduce .. on @etp`), behind the sum over the ranks of `ep`. `dp=D` divides dimension 0 among D times as many ranks,
    whatever `tokens` says. Grids of one rank are not made; the others stand in the order `@dp`, `@ep`, `@etp` or `@tp`, and the last one
    varies fastest in the number of a rank.

    `tp=R` shares attention and dense layers among R ranks that have the same tokens: columns of the products that make queries, keys,
    values and the hidden columns of a dense layer, then columns of the weight that sums over them (`#moe.shard` of dimensions 0 and 1),
    behind which the ranks add in f32 (`shard.all_reduce .. on @tp`). Caches have a part of the heads, and the embedding a part of the rows
    (`nn.embedding .. at @tp`). A result that is divided, as logits are, is joined (`shard.all_gather`), and a norm over what is divided
    adds its squares. What an op cannot take divided stays whole, with a remark that names the op; heads of keys that R does not
    divide are an error. With `etp=R` the same ranks share each expert; both are above 1 with one number only. `sums` holds for these
    sums as well.

    `groups=G` cuts the experts of a layer into G ranges, whose sums are added in pairs (`sum(<tree, groups = G>)` of `moe.combine`):
    a power of two that W divides and that divides E, else the largest one up to 8. All W give the bits of `ep=1`, which is
    the ordinary layer with this order of its sums; programs without `parallel` sum in the order of slots.

    `sums=bf16` rounds a rank's sum of a token once, before another rank gets it: half the bytes of `sums=f32`, the default. It is the
    type of the inner `moe.combine`, which `moe.all_to_all .. return` and `shard.all_reduce` take as it is; ranks are added in f32.
    Bits depend on W and V then.

    `experts=FILE` orders experts by a JSON file: ranks own places, and a list has the expert of each place (`#moe.order` on the
    dispatch and in the recipes of the weights). The file is one list for all layers, an object of lists by the name of the layer,
    or `{"physical_to_logical_map": [..]}` with one for each layer of the model. Sums are grouped by place.

    `variants` are other ways to run every function, as `parallel` says the first one: texts as that, each with a `schedule=<..>` as
    well, and semicolons between them. Each becomes a function of its own with grids of its own (`#moe.variant`), behind the one that it
    is a variant of, and all have the same number of ranks. They take `groups`, `sums` and `experts` from `parallel`; another number
    of groups, or other sums, is an error.

    Remarks of category `moe-partition` say what was decided for each layer. A program that has a grid is divided already;
    `parallel` is an error there.

    ```mlir
    func.func @layer(%x: tensor<?x64xf32> {moe.dims = ["tokens", ""]}, %ids: tensor<?x2xi32> {moe.dims = ["tokens", ""]})
        -> tensor<?x64xf32> {
      %w1 = moe.parameter ["up"] : tensor<8x32x64xf32>
      %w2 = moe.parameter ["down"] : tensor<8x64x32xf32>
      %rows, %layout = moe.dispatch %x, %ids num_experts(8)
          : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<8>
      %made = moe.expert %rows, %layout, %w1, %w2 {
      ^bb0(%v: f32):
        moe.yield %v : f32
      } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x32x64xf32>, tensor<8x64x32xf32> -> tensor<?x64xf32>
      %y = moe.combine %made, %layout : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    // becomes
    shard.grid @ep(shape = 2) {moe.axes = ["ep"]}
    func.func @layer(%x: tensor<?x64xf32> {moe.dims = ["tokens", ""], moe.split = @ep},
                     %ids: tensor<?x2xi32> {moe.dims = ["tokens", ""], moe.split = @ep})
        -> (tensor<?x64xf32> {moe.split = @ep}) {
      %w1 = moe.parameter ["up"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x32x64xf32>
      %w2 = moe.parameter ["down"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x64x32xf32>
      %send, %sent = moe.dispatch %x, %ids num_experts(8) to @ep
          : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
      %recv, %got, %rids = moe.all_to_all %send, %sent on @ep with(%ids : tensor<?x2xi32>) via(direct)
          : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>, tensor<?x2xi32>
      %rows, %layout = moe.dispatch %recv, %rids num_experts(8) at @ep
          : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<4>
      %made = moe.expert %rows, %layout, %w1, %w2 {
      ^bb0(%v: f32):
        moe.yield %v : f32
      } : tensor<?x64xf32>, !moe.layout<4>, tensor<4x32x64xf32>, tensor<4x64x32xf32> -> tensor<?x64xf32>
      %part = moe.combine %made, %layout sum(<tree, groups = 4>) : tensor<?x64xf32>, !moe.layout<4> -> tensor<?x64xf32>
      %back, %gone = moe.all_to_all %part, %got on @ep return
          : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
      %y = moe.combine %back, %sent sum(<tree, groups = 2>) : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    ```
  }];
  let options = [Option<"parallel", "parallel", "std::string", "",
                        "ranks that share the work, as in 'ep=4,tokens=split,groups=8' or 'dp=2,tp=2,etp=2'">,
                 Option<"variants", "variants", "std::string", "",
                        "other ways, as in 'dp=4;ep=4,schedule=<parts = 2>'; with 'parallel'">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::shard::ShardDialect", "::mlir::tensor::TensorDialect"];
}

def MoeSchedule : Pass<"moe-schedule", "::mlir::ModuleOp"> {
  let summary = "Decide how the kernels of each expert layer follow each other";
  let description = [{
    Gives every `moe.expert` that has none a schedule, and a remark of category `moe-schedule` that says why. A schedule that is
    there, by hand or from an earlier run, is kept. Layers of a function whose `moe.variant` has a schedule get that one, if their
    tokens travel.

    A layer whose tokens travel between ranks gets the schedule that takes the least time on `cluster`, by the simulator of
    `moe-sim`: an overlap, parts, or `<plain>` if that gains less than 3 %. The remark says both times, the floor (of two
    kernels, each as long as its product or as what travels beside it) and how much of the exchange is hidden. Without `cluster`,
    kernels for a GPU are scheduled for a cluster of that GPU. Ranks of a CPU are taken to share a machine, where threads copy
    rows themselves, so that nothing is gained; a cluster of CPUs says what else joins them. Every other layer gets `<plain>`.

    Tiles and places of rows have to be decided before (`graph-to-scheduled`): slices share the blocks of the second product's
    columns, and rows that all come at once (`placement(gathered)`, on a GPU also `apart`) cannot overlap.

    ```mlir
    %y = moe.expert %rows, %layout, %w1, %w2 schedule(<plain>) {
    ^bb0(%v: f32):
      moe.yield %v : f32
    } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x32x64xf32>, tensor<8x64x32xf32> -> tensor<?x64xf32>
    ```
  }];
  let options = [Option<"cluster", "cluster", "std::string", "",
                        "what connects the ranks: 'NAME' or '8xNAME' of data/clusters, or a file that ends in .json">,
                 Option<"tokens", "tokens", "int64_t", "0",
                        "tokens of all ranks together; 0: those of the program, or 8192 of each rank">];
}

def MoeVerifyLevel : Pass<"moe-verify-level", "::mlir::ModuleOp"> {
  let summary = "Check that a module keeps the contract of a level";
  let description = [{
    Conversions between levels are partial, so that a forgotten op would only show much later. This pass names each kind
    of op that breaks the contract of the level, with their number and the first place. It changes nothing.

    | level | ops | and |
    |---|---|---|
    | `graph` | `moe nn linalg tensor arith math scf func`, `cf.assert` | no grid, no `moe.all_to_all`, no dispatch `to` or `at` ranks, no schedule, no size that is negative whatever the inputs are |
    | `spmd` | the same, and `shard.grid`, `shard.all_reduce`, `shard.all_gather` | what names a grid belongs together, as below; no schedule |
    | `scheduled` | the same | every `moe.expert` has a schedule, every product its `kernel.tiles`; decisions can be carried out |
    | `kernel` | `kernel memref scf arith math affine linalg func`, `moe.parameter`, `shard.grid`, `cf.assert` | no tensors |
    | `runtime` | `moert llvm`, `emitc` for CUDA kernels | |

    Of one rank's program (`spmd`, `scheduled`): rows of a `moe.dispatch to` go to their `moe.all_to_all` only, and its layout to
    that op and to the `moe.combine` of what came back; the layout of received rows goes to its `return` only; a `moe.dispatch at`
    reads tokens and companions of one exchange, or tokens of which every rank has all.

    Summands, of sliced experts, of a product with a part of its columns and of a table with a part of its rows, are added over their grid
    before anything else reads them. What is made by a product with a part of its rows is joined, or summed over, before a caller sees it.

    Variants of an entry (`moe.variant`, from `spmd` to `kernel`) have the same arguments and results, but for what divides them, and the
    same number of ranks; no grid belongs to two of them, and none names the grid of another one. States stay where they are when
    another variant goes on, so all variants divide them alike. Kernels are checked again before they become machine code.

    Up to `scheduled`, bodies of linalg ops and activations hold scalars: `arith`, `math` (but `math.ipowi`) and `scf` on i1,
    i8, i16, i32, i64, index, f16, bf16, f32 and f64, `nn.silu`, `linalg.index`, and `tensor.extract` and `tensor.dim` of tensors
    from outside. A kernel for a CPU computes all of them; one for a GPU says which it has no form of.

    Up to `scheduled`, functions also have what a caller can give and take: bodies, and arguments and results that are tensors of
    integers and floats; what is the next value of an argument (`moe.state_of`) is one of a state (`moe.state`).
  }];
  let options = [Option<"level", "level", "std::string", [{"graph"}],
                        "graph, spmd, scheduled, kernel or runtime">];
}

def MoeSetLevel : Pass<"moe-set-level", "::mlir::ModuleOp"> {
  let summary = "Write the level of a module into it";
  let description = [{
    Sets `moe.level`, by which moe-compile knows where to start with a file. The pipelines between levels end with it:
    after `graph-to-kernel` a module says `moe.level = "kernel"`. A pass alone leaves the attribute as it was.
  }];
  let options = [Option<"level", "level", "std::string", [{"graph"}],
                        "graph, spmd, scheduled, kernel or runtime">];
}

def KernelLowerForGpu : Pass<"kernel-lower-for-gpu", "::mlir::ModuleOp"> {
  let summary = "Lower kernels to CUDA C++ where kernel.target is a GPU";
  let description = [{
    Runs `kernel-to-emitc` where `kernel.target` is a GPU, and does nothing where it is a CPU, whose passes come next.
  }];
}

#endif // MOE_MLIR_PIPELINES_PASSES
