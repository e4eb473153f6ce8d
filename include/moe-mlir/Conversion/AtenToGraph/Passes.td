//===- Passes.td - from aten calls to the graph level -----------------------------------------------------------===//
#ifndef MOE_MLIR_CONVERSION_ATENTOGRAPH_PASSES
#define MOE_MLIR_CONVERSION_ATENTOGRAPH_PASSES

include "mlir/Pass/PassBase.td"

def AtenFunctionalize : Pass<"aten-functionalize", "::mlir::func::FuncOp"> {
  let summary = "Replace in-place calls by calls with results";
  let description = [{
    Follows each tensor through its views. An in-place call becomes the call without the underscore; its result takes the
    place of the changed tensor, of every view of it and of what it is a view of, in all later uses.

    Buffers, parameters and constants that the function changes become arguments with `moe.state`, whose final value is
    a result with `moe.state_of = <argument>`. No signature of the exported program says which they are. States start as
    zeros (`moe.initial = "zero"`). For others there is one more state, `started`, which every call sets: until it is
    set, a `where` takes the parameter in place of the state.

    The final value of an input, an argument without `moe.state`, becomes a further result with its `moe.name` and
    `moe.dims`.

    ```mlir
    func.func @main(%x: tensor<4xf32> {moe.name = "x"}) attributes {aten.mutable} {
      %c = moe.parameter ["c"] {moe.initial = "given"} : tensor<4xf32>
      %0 = aten.call "aten.add_.Tensor"(%c, %x) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %1 = aten.call "aten.neg_.default"(%x) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
      return
    }
    // becomes
    func.func @main(%x: tensor<4xf32> {moe.name = "x"}, %held: tensor<4xf32> {moe.name = "c", moe.state},
                    %started: tensor<i1> {moe.name = "started", moe.state})
        -> (tensor<4xf32> {moe.name = "x"}, tensor<i1> {moe.state_of = 2}, tensor<4xf32> {moe.state_of = 1}) {
      %c = moe.parameter ["c"] : tensor<4xf32>
      %old = aten.call "aten.where.self"(%started, %held, %c) {condition = #aten.arg<0>, self = #aten.arg<1>, other = #aten.arg<2>}
          : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %0 = aten.call "aten.add.Tensor"(%old, %x) {self = #aten.arg<0>, other = #aten.arg<1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %1 = aten.call "aten.neg.default"(%x) {self = #aten.arg<0>} : (tensor<4xf32>) -> tensor<4xf32>
      %true = arith.constant dense<true> : tensor<i1>
      return %1, %true, %0 : tensor<4xf32>, tensor<i1>, tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::aten::AtenDialect", "::mlir::arith::ArithDialect"];
}

def AtenExpandComplex : Pass<"aten-expand-complex", "::mlir::func::FuncOp"> {
  let summary = "Replace complex numbers by their real and imaginary parts";
  let description = [{
    A tensor of complex numbers becomes two tensors of real ones, each with its shape. `view_as_complex`, `complex` and `polar` make the
    pair, `view_as_real`, `real`, `imag` and `abs` read it; sums, differences and products of complex and real numbers are arithmetic on
    the parts, and what only moves elements (`view`, `unsqueeze`, `expand`, `slice`, `index`, `transpose`, `cat`, ...) moves each part.
    A call that is none of these is an error that names it; so are complex numbers that enter or leave the function. Runs after
    `aten-functionalize`.

    ```mlir
    func.func @main(%x: tensor<4x8x2xf32>, %angle: tensor<4x8xf32>) -> tensor<4x8x2xf32> {
      %one = aten.call "aten.ones_like.default"(%angle) {self = #aten.arg<0>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
      %r = aten.call "aten.polar.default"(%one, %angle) {abs = #aten.arg<0>, angle = #aten.arg<1>}
          : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xcomplex<f32>>
      %c = aten.call "aten.view_as_complex.default"(%x) {self = #aten.arg<0>} : (tensor<4x8x2xf32>) -> tensor<4x8xcomplex<f32>>
      %y = aten.call "aten.mul.Tensor"(%c, %r) {self = #aten.arg<0>, other = #aten.arg<1>}
          : (tensor<4x8xcomplex<f32>>, tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
      %z = aten.call "aten.view_as_real.default"(%y) {self = #aten.arg<0>} : (tensor<4x8xcomplex<f32>>) -> tensor<4x8x2xf32>
      return %z : tensor<4x8x2xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::aten::AtenDialect"];
}

def AtenSimplify : Pass<"aten-simplify", "::mlir::func::FuncOp"> {
  let summary = "Remove calls that do nothing and cancel transposes";
  let description = [{
    Drops assertions about metadata, casts to the same type, full slices, copies, dropout, reshapes to the same shape
    and multiplications by one; merges chains of reshapes and pairs of transposes, also through a `cat`. A split where
    a `cat` has joined gives what it has joined. A result without elements becomes `tensor.empty`. Runs after `aten-functionalize`.
  }];
  let dependentDialects = ["::mlir::aten::AtenDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def RaiseAtenToGraph : Pass<"raise-aten-to-graph", "::mlir::func::FuncOp"> {
  let summary = "Recognise norms, rotary embeddings, attention, caches, routers and experts";
  let description = [{
    Replaces what it knows by `nn` and `moe` ops; what it does not know stays as it is and is lowered to linalg by
    `convert-aten-to-linalg`. A pattern fires only where the rounding of the calls is kept up to a rounding less of
    an intermediate value; roundings that decide which experts are chosen are kept exactly.

    Masks of attention are read as a function of row, query and key. If that function is a conjunction of "key not
    after query", "key within a window" and "key below a length", the op says so and the mask disappears; otherwise the
    mask stays an operand. Remarks (category `moe-import`) tell which.

    When the patterns are done, the pass looks for layers that none of them took: calls that are made for them, products
    with the matrices of chosen experts, a choice between results of a linear layer, a softmax between two products, the
    inverse root of a mean of squares. The matchers then say which step did not fit. The function states it in its
    attribute `moe.plain`, and a remark tells it.

    A MoE layer is `moe_mlir::experts`, or what transformers' own implementations leave in its place: `grouped_mm` sorts
    the pairs of tokens and experts and multiplies group by group, `batched_mm` copies the weights for each pair. Their
    calls are followed from the sum over the experts back to tokens, ids and weights; every one must be exactly as known.
  }];
  let dependentDialects = ["::mlir::aten::AtenDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::moe::MoeDialect", "::mlir::nn::NnDialect",
                           "::mlir::tensor::TensorDialect"];
}

def AtenDecompose : Pass<"aten-decompose", "::mlir::func::FuncOp"> {
  let summary = "Take apart calls that no pattern raised into several simpler ones";
  let description = [{
    Runs after `raise-aten-to-graph`, on what it left, which takes `einsum`, `mv`, `addmv`, `addcmul`, `one_hot` and `roll` apart in the same
    way before its patterns look:

    - `scaled_dot_product_attention` and `moe_mlir::attention` whose element type has no kernel becomes two products around a softmax. Elements of 16 bits are computed in f32 and
      rounded once. A query that sees no key gives zeros.
    - `rms_norm` over several dimensions, or of other types than f32, bf16 and f16, becomes a mean of squares, `rsqrt` and products;
      `layer_norm` becomes the same of what is left when the mean is taken away.
    - `diff` becomes differences of slices.
    - `einsum` of two tensors becomes one `matmul`: letters of both that the result has are its batch, those that it does not have are summed, and several letters of a kind
      are joined. Without letters to sum it is `mul`; letters that one tensor has alone are summed before. What is constant comes second and stays as it is, so that
      `td,ed->te` is a linear layer.
    - `mv` and `addmv` become `matmul`, or `linear` with one row if the matrix is constant; `addcmul` becomes a product and a sum, `var` and `std` means of squares.
    - `one_hot` becomes `scatter` into zeros, whose indices `aten-check-indices` checks; `roll` becomes `cat` of two slices, or `index_select` of positions modulo a size that is
      not known.

    Calls of other operators, and forms that none of these covers, stay as they are.
  }];
  let dependentDialects = ["::mlir::aten::AtenDialect"];
}

def AtenCheckIndices : Pass<"aten-check-indices", "::mlir::func::FuncOp"> {
  let summary = "Make sure that indices lie within the tensors they index";
  let description = [{
    For every op that reads or writes where integers say (`index`, `gather`, `index_select`, `scatter`, `index_copy`,
    `index_put`, `select`, `narrow`, `embedding`, `nn.embedding`, `nn.cache_update`, positions and lengths of `nn.attention`):

    - Integers whose range is known to fit (from `arange`, `topk`, `remainder`, constants, `moe.gate`) need nothing.
    - Elements of an argument are bounded by its `moe.range`, or along a size of the arguments by its `moe.index_of`,
      which the runtime checks before the program runs; the range is set or narrowed.
    - Before `topk`, `max`, `amax`, `argmax` and the like an assertion asks that there are enough elements, where their
      number is not known.
    - Anything else is checked when the program gets there: a `cf.assert` before the op, over a reduction of the indices.

    A constant index outside a static dimension is an error. `nn` ops that this pass has looked at carry the unit attribute
    `moe.in_bounds`, so that graph-check-bounds leaves them alone. Runs after the patterns, so that a mask which became an
    attribute costs no check, and before `convert-aten-to-linalg`.

    ```mlir
    func.func @main(%ids: tensor<?xi64>, %table: tensor<9x8xf32>) -> tensor<?x8xf32> {
      %0 = nn.embedding %ids, %table : tensor<?xi64>, tensor<9x8xf32> -> tensor<?x8xf32>
      return %0 : tensor<?x8xf32>
    }
    // becomes
    func.func @main(%ids: tensor<?xi64> {moe.range = [0, 8]}, %table: tensor<9x8xf32>) -> tensor<?x8xf32> {
      %0 = nn.embedding %ids, %table {moe.in_bounds} : tensor<?xi64>, tensor<9x8xf32> -> tensor<?x8xf32>
      return %0 : tensor<?x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::aten::AtenDialect", "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::tensor::TensorDialect"];
}

def ResolveGraphSizes : Pass<"resolve-graph-sizes", "::mlir::func::FuncOp"> {
  let summary = "Read dynamic sizes from the function's arguments";
  let description = [{
    Replaces `tensor.dim` of a computed value by arithmetic on dimensions of arguments, where the ops in between say
    what the size is. Arguments that share a name in `moe.dims` share a size; it is read from the first of them. So
    sizes of buffers are known before anything is computed, and equal sizes are one value.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

#endif // MOE_MLIR_CONVERSION_ATENTOGRAPH_PASSES
