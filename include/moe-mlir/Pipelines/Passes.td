//===- Passes.td - the decisions and contracts between levels --------------------------------------------------------===//
#ifndef MOE_MLIR_PIPELINES_PASSES
#define MOE_MLIR_PIPELINES_PASSES

include "mlir/Pass/PassBase.td"

def MoePartition : Pass<"moe-partition", "::mlir::ModuleOp"> {
  let summary = "From the logical program to one rank's program";
  let description = [{
    With one process the rank's program is the program: nothing changes. A module that already communicates
    (`moe.all_to_all`) was partitioned before and is refused.
  }];
}

def MoeSchedule : Pass<"moe-schedule", "::mlir::ModuleOp"> {
  let summary = "Decide how each expert layer overlaps with its communication";
  let description = [{
    Writes `moe.schedule` on each `moe.expert` that has none, and a remark that says why. A layer without communication
    gets `"plain"`: dispatch, experts and combine one after the other. Layers that have a schedule keep it.

    ```mlir
    %y = moe.expert %rows, %layout, %w1, %w2 {
    ^bb0(%v: f32):
      moe.yield %v : f32
    } {moe.schedule = "plain"}
        : tensor<?x64xf32>, !moe.layout<8>, tensor<8x32x64xf32>, tensor<8x64x32xf32> -> tensor<?x64xf32>
    ```
  }];
}

def MoeVerifyLevel : Pass<"moe-verify-level", "::mlir::ModuleOp"> {
  let summary = "Check that a module keeps the contract of a level";
  let description = [{
    | level | ops | and |
    |---|---|---|
    | `graph` | `moe nn linalg tensor arith math scf func` | no `moe.all_to_all` |
    | `spmd` | the same | `moe.all_to_all`, which names its grid |
    | `scheduled` | the same | every `moe.expert` carries `moe.schedule` |
    | `kernel` | `kernel memref scf arith math affine linalg func`, `moe.parameter` | no tensors |
    | `runtime` | `moert llvm` | |

    The first op that breaks it is reported, with the number of others.
  }];
  let options = [Option<"level", "level", "std::string", [{"graph"}],
                        "graph, spmd, scheduled, kernel or runtime">];
}

#endif // MOE_MLIR_PIPELINES_PASSES
