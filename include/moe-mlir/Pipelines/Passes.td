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
    tile (`#cuda.target`): 128 rows and up to 256 columns for `cuda:h200` and `cuda:h100`, whose numbers the model of
    costs uses; `cuda:sm_90a` is tuned for the first.

    A `kernel.target` that the module has already stays as it is, with whatever was edited in it. An option that names
    another device than the attribute is an error.
  }];
  let options = [Option<"target", "target", "std::string", "",
                        "'cpu', which is the default, for the machine this runs on; 'cpu:NAME' by LLVM's name of a CPU; "
                        "'cuda:h200', 'cuda:h100', or 'cuda:sm_90a' for any of these">];
  let dependentDialects = ["::mlir::cuda::CudaDialect", "::mlir::x86::X86Dialect"];
}

def MoePartition : Pass<"moe-partition", "::mlir::ModuleOp"> {
  let summary = "From the logical program to one rank's program";
  let description = [{
    Without options the program stays as it is.
  }];
}

def MoeSchedule : Pass<"moe-schedule", "::mlir::ModuleOp"> {
  let summary = "Decide how the kernels of each expert layer follow each other";
  let description = [{
    Gives every `moe.expert` that has none a schedule, and a remark of category `moe-schedule` that says why. A layer
    without communication has nothing to hide, so it gets `<plain>`: dispatch, experts and combine one after the other. A
    schedule that is there, by hand or from an earlier run, is kept.

    ```mlir
    %y = moe.expert %rows, %layout, %w1, %w2 schedule(<plain>) {
    ^bb0(%v: f32):
      moe.yield %v : f32
    } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x32x64xf32>, tensor<8x64x32xf32> -> tensor<?x64xf32>
    ```
  }];
}

def MoeVerifyLevel : Pass<"moe-verify-level", "::mlir::ModuleOp"> {
  let summary = "Check that a module keeps the contract of a level";
  let description = [{
    Conversions between levels are partial, so that a forgotten op would only show much later. This pass names each kind
    of op that breaks the contract of the level, with their number and the first place. It changes nothing.

    | level | ops | and |
    |---|---|---|
    | `graph` | `moe nn linalg tensor arith math scf func`, `cf.assert` | no grid, no `moe.all_to_all`, no schedule |
    | `spmd` | the same, and `shard.grid` | `moe.all_to_all`, which names its grid; no schedule |
    | `scheduled` | the same | every `moe.expert` has a schedule, every product its `kernel.tiles`; decisions can be carried out |
    | `kernel` | `kernel memref scf arith math affine linalg func`, `moe.parameter`, `cf.assert` | no tensors |
    | `runtime` | `moert llvm`, `emitc` for CUDA kernels | |

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

def MoeCheckCuda : Pass<"moe-check-cuda", "::mlir::ModuleOp"> {
  let summary = "Check that a graph has a form on a GPU";
  let description = [{
    MoE layers, products, norms and what linalg says of elements run on a GPU. Attention, caches and states between calls do not yet: the
    pass names each kind of op that has no CUDA form, with the first place. It changes nothing.
  }];
}

def KernelLowerForGpu : Pass<"kernel-lower-for-gpu", "::mlir::ModuleOp"> {
  let summary = "Lower kernels to CUDA C++ where kernel.target is a GPU";
  let description = [{
    Runs `kernel-to-emitc` where `kernel.target` is a GPU, and does nothing where it is a CPU, whose passes come next.
  }];
}

#endif // MOE_MLIR_PIPELINES_PASSES
