//===- Passes.td - tensors to block programs ----------------------------------------------------------------------===//
#ifndef MOE_MLIR_CONVERSION_GRAPHTOKERNEL_PASSES
#define MOE_MLIR_CONVERSION_GRAPHTOKERNEL_PASSES

include "mlir/Pass/PassBase.td"

def ConvertGraphToKernel : Pass<"convert-graph-to-kernel", "::mlir::ModuleOp"> {
  let summary = "Lower nn, moe and linalg on tensors to kernels on memrefs";
  let description = [{
    Every tensor becomes a row-major memref, every op (or fused group) a `kernel.func` and its `kernel.launch`; reshapes
    become views. Kernels of equal content are shared. What the host function still computes is sizes.

    | graph | kernel level |
    |---|---|
    | `tensor<..>` | `memref<..>`, allocated by its producer |
    | `!moe.layout<E>` | offsets `[E+1]`, token of each row `[T*k]`, row of each pair `[T, k]`, tile records `[E, 5]` and their count `[1]`, all i32 |
    | weight of `nn.linear`, `moe.expert` | `moe.parameter` with `#moe.pack` as its last step; any other value is packed by a kernel |
    | argument with the unit attribute `moe.state` that only `nn.cache_update` and `nn.attention` use | the blocked form of the attention program (`moe.encoding` says which), updated in place |
    | result with `moe.state_of` | none: the argument is updated in place |

    A tile record is (expert, first row, rows, wait, signal); the last two are 0 without peers. The register tile's size
    comes from the module attribute `kernel.target` (6 x 64 without it).

    Fails, before anything is changed, with one error that names an op that has no lowering and its place.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::kernel::KernelDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::moe::MoeDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def GraphFuseElementwise : Pass<"graph-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Fuse linalg ops into their only elementwise consumer";
  let description = [{
    Named linalg ops but fill become generic; then upstream's fusion of elementwise ops, with two additions: reading a producer's size is no use of its elements
    (sizes are taken from the producer's own operands), and a producer of several results or uses stays as it is, so that
    nothing is computed twice.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // MOE_MLIR_CONVERSION_GRAPHTOKERNEL_PASSES
