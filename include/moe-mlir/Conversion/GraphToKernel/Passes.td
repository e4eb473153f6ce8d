//===- Passes.td - tensors to block programs ----------------------------------------------------------------------===//
#ifndef MOE_MLIR_CONVERSION_GRAPHTOKERNEL_PASSES
#define MOE_MLIR_CONVERSION_GRAPHTOKERNEL_PASSES

include "mlir/Pass/PassBase.td"

def ConvertGraphToKernel : Pass<"convert-graph-to-kernel", "::mlir::ModuleOp"> {
  let summary = "Lower nn, moe and linalg on tensors to kernels on memrefs";
  let description = [{
    Every tensor becomes a row-major memref, every op (or fused group) a `kernel.func` and its `kernel.launch`; reshapes
    become views. Kernels of equal content are shared. The host function computes only sizes and
    capacities.

    | graph | kernel level |
    |---|---|
    | `tensor<..>` | `memref<..>`, allocated by its producer |
    | `!moe.layout<E>` | offsets `[E+1]`, token of each row `[T*k]`, row of each pair `[T, k]`, tile records `[E, 5]` and their count `[1]`, all i32 |
    | weight of `nn.linear`, `moe.expert` | `moe.parameter` with `#moe.pack`, as its `kernel.tiles` say, as its last step; any other value is packed by a kernel |
    | state of an encoded type | the blocked form of the attention program (`moe.encoding` says which) |
    | result with `moe.state_of` | none: the argument is updated in place |

    A tile record is (expert, first row, rows, wait, signal); the last two are 0 without peers.

    The pass decides nothing: it carries out what level `scheduled` says (`kernel.tiles`, `kernel.epilogue`, `placement`,
    `in_place`, encodings, `fastmath`). Of the target it asks only how routing divides its work, and whether the host
    shares the kernels' memory. If it does not, launches of attention state the most work that positions and lengths
    allow, so that the host need not wait to read them.

    Fails, before anything is changed, with one error that names an op that has no lowering and its place, or one for each
    decision that cannot be carried out.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::kernel::KernelDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::moe::MoeDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def GraphCheckBounds : Pass<"graph-check-bounds", "::mlir::func::FuncOp"> {
  let summary = "Make sure that sizes which kernels take as one are one, and that no slice leaves its tensor";
  let description = [{
    For each op, what its kernel needs of sizes: dimensions of one symbol are equal (`nn` and `moe` ops; rows belong to
    the layout of their dispatch), loops of a linalg op stay inside of every operand, slices inside of their tensors, and
    a reshape keeps the number of elements, and a result has the sizes that its `moe.dims` names. What follows from the
    types, from the sizes of arguments (one size per name in `moe.dims`) and from how sizes were computed is proved. What
    is wrong whatever the sizes are is an error here. Everything else becomes a `kernel.check`, once per pair of sizes, as
    early as the sizes are known.

    Indices that stand in tensors (ids of an embedding, positions, `tensor.extract` in a body) lie inside: an argument
    promises it (`moe.index_of`, or `moe.range`, which this pass writes if it can), or a reduction over them finds out before the op.
    Ops with the unit attribute `moe.in_bounds` have been looked at before, by aten-check-indices. Where they take the
    elements of an argument, its range is looked at again: texts are edited.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::kernel::KernelDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

#endif // MOE_MLIR_CONVERSION_GRAPHTOKERNEL_PASSES
