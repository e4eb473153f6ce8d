//===- Reference.cpp - the graph level executed as it is written --------------------------------------------------===//
//
// No kernel of this project takes part, so that a result can be checked against it: MoE layers by the dense oracle, nn
// ops by their decomposition, the rest by upstream loops.
//
//===---------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Pipelines/Pipelines.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

void moe_mlir::registerReferencePipeline() {
  // C wrappers are asked for first: functions of the C library that appear later have none.
  static constexpr llvm::StringLiteral passes =
      "func.func(llvm-request-c-wrappers),moe-lower-to-dense,nn-decompose,convert-elementwise-to-linalg,canonicalize,"
      "cse,"
      "one-shot-bufferize{bufferize-function-boundaries allow-return-allocs-from-loops function-boundary-type-conversion=identity-layout-map},"
      "buffer-deallocation-pipeline,convert-linalg-to-loops,expand-strided-metadata,lower-affine,"
      "math-expand-ops{ops=rsqrt},arith-expand{include-bf16=true},convert-math-to-libm,convert-scf-to-cf,convert-to-"
      "llvm,"
      "reconcile-unrealized-casts";
  PassPipelineRegistration<>("moe-reference-to-llvm", "Lower a graph by the oracle and by loops, for mlir-runner",
                             [](OpPassManager &pm) {
                               if (failed(parsePassPipeline(passes, pm)))
                                 llvm::report_fatal_error("a pass of this pipeline is not registered");
                             });
}
