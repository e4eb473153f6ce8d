//===- NnOps.td - operations that a fused kernel computes better than linalg ------------------------------------===//
#ifndef MOE_MLIR_DIALECT_NN_IR_NNOPS
#define MOE_MLIR_DIALECT_NN_IR_NNOPS

include "mlir/Dialect/Arith/IR/ArithBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Nn_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::mlir::nn";
  let summary = "Operations of transformer models that deserve one fused kernel";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let description = [{
    Value semantics on tensors. Accumulation is in f32; a result is rounded once, to its element type, unless the op
    says otherwise. Sizes of one letter are one size: the program checks those that types do not show. Leading dimensions written `...` are any number of row dimensions.
  }];
}

class Nn_Op<string mnemonic, list<Trait> traits = []> : Op<Nn_Dialect, mnemonic, traits>;

// The verifier holds types against these shapes, and graph-check-bounds the sizes that only a run knows.
defvar Nn_Shapes = [{
    /// The shape of each operand and result, by symbol.
    ::llvm::SmallVector<::moe_mlir::NamedShape> getShapes();
}];

// f32, bf16 and f16 are the types that every level runs.
def Nn_FloatTensor : TensorOf<[F32, BF16, F16]>;
def Nn_IndexTensor : TensorOf<[I64, I32]>;

def Nn_EmbeddingOp : Nn_Op<"embedding", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Rows of a table by index";
  let description = [{
    `ids: [...]`, `table: [V, H]`, result `[..., H]`. Ids outside `[0, V)` are an error of the caller, which the
    program checks.

    ```mlir
    %h = nn.embedding %ids, %table : tensor<?x?xi64>, tensor<256x128xf32> -> tensor<?x?x128xf32>
    ```

    `at @g` (from level `spmd` on): the table is this rank's part of one of `ranks * V` rows, and ids of rows that other ranks have
    give zeros. The sum over the ranks is the row.

    ```mlir
    shard.grid @tp(shape = 2)

    func.func @rows_of_two_ranks(%ids: tensor<?x?xi64>) -> tensor<?x?x64xf32> {
      %part = moe.parameter ["embed"] recipe [#moe.shard<dim = 0, grid = @tp, ranks = 2>] : tensor<128x64xf32>
      %h = nn.embedding %ids, %part at @tp : tensor<?x?xi64>, tensor<128x64xf32> -> tensor<?x?x64xf32>
      %sum = shard.all_reduce %h on @tp grid_axes = [0] : tensor<?x?x64xf32> -> tensor<?x?x64xf32>
      return %sum : tensor<?x?x64xf32>
    }
    ```
  }];
  let arguments = (ins Nn_IndexTensor:$ids, Nn_FloatTensor:$table, OptionalAttr<FlatSymbolRefAttr>:$at);
  let results = (outs Nn_FloatTensor:$result);
  let assemblyFormat = "$ids `,` $table (`at` $at^)? attr-dict `:` type($ids) `,` type($table) `->` type($result)";
  let extraClassDeclaration = Nn_Shapes;
  let hasVerifier = 1;
}

def Nn_LinearOp : Nn_Op<"linear", [Pure]> {
  let summary = "Product with a transposed weight, optional bias";
  let description = [{
    `x: [..., K]`, `weight: [N, K]`, `bias: [N]`, result `[..., N] = x . weight^T + bias`, accumulated in f32 and
    rounded once to the result's element type (a bf16 router that wants f32 logits says so by its result type).

    ```mlir
    %y = nn.linear %x, %w bias(%b)
        : tensor<?x64xbf16>, tensor<128x64xbf16>, tensor<128xbf16> -> tensor<?x128xbf16>
    ```
  }];
  let arguments = (ins Nn_FloatTensor:$x, Nn_FloatTensor:$weight, Optional<Nn_FloatTensor>:$bias);
  let results = (outs Nn_FloatTensor:$result);
  let assemblyFormat = [{
    $x `,` $weight (`bias` `(` $bias^ `)`)? attr-dict
    `:` type($x) `,` type($weight) (`,` type($bias)^)? `->` type($result)
  }];
  let extraClassDeclaration = Nn_Shapes;
  let hasVerifier = 1;
}

def Nn_BatchLinearOp : Nn_Op<"batch_linear", [Pure]> {
  let summary = "A linear layer of its own for each entry of a dimension";
  let description = [{
    `x: [..., G, K]`, `weight: [G, N, K]`, `bias: [G, N]`, result `[..., G, N]`: `result[.., g] = x[.., g] . weight[g]^T + bias[g]`,
    accumulated in f32 and rounded once to the result's element type. `G` counts the heads of an attention, or whatever has a
    matrix each.

    ```mlir
    %y = nn.batch_linear %x, %w : tensor<?x?x4x32xbf16>, tensor<4x48x32xbf16> -> tensor<?x?x4x48xbf16>
    ```
  }];
  let arguments = (ins Nn_FloatTensor:$x, Nn_FloatTensor:$weight, Optional<Nn_FloatTensor>:$bias);
  let results = (outs Nn_FloatTensor:$result);
  let assemblyFormat = [{
    $x `,` $weight (`bias` `(` $bias^ `)`)? attr-dict
    `:` type($x) `,` type($weight) (`,` type($bias)^)? `->` type($result)
  }];
  let extraClassDeclaration = Nn_Shapes;
  let hasVerifier = 1;
}

def Nn_RmsNormOp : Nn_Op<"rms_norm", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "Root-mean-square normalisation over the last dimension";
  let description = [{
    `x: [..., N]`, `weight: [N]`: `weight * round(x * rsqrt(mean(x^2) + eps))` in f32, rounded to the element type.
    `round` is to the element type of `x` as well (Hugging Face's order of casts), or absent with `fused_scale`.

    ```mlir
    %y = nn.rms_norm %x, %w eps(1.0e-5) : tensor<?x?x128xf32>, tensor<128xf32>
    ```
  }];
  let arguments = (ins Nn_FloatTensor:$x, Nn_FloatTensor:$weight, F64Attr:$eps, UnitAttr:$fused_scale);
  let results = (outs Nn_FloatTensor:$result);
  let assemblyFormat = [{
    $x `,` $weight `eps` `(` $eps `)` (`fused_scale` $fused_scale^)? attr-dict `:` type($x) `,` type($weight)
  }];
  let extraClassDeclaration = Nn_Shapes;
  let hasVerifier = 1;
}

def Nn_RopeOp : Nn_Op<"rope", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "Rotary position embedding, halves form";
  let description = [{
    `x: [B, S, N, D]`, `cos, sin: [B or 1, S, D]` with `D` even: `x * cos + rotate_half(x) * sin`, where
    `rotate_half(x) = concat(-x[D/2:], x[:D/2])`; computed in f32, rounded once.

    ```mlir
    %y = nn.rope %x, %cos, %sin : tensor<?x?x4x32xf32>, tensor<?x?x32xf32>, tensor<?x?x32xf32>
    ```
  }];
  let arguments = (ins Nn_FloatTensor:$x, Nn_FloatTensor:$cos, Nn_FloatTensor:$sin);
  let results = (outs Nn_FloatTensor:$result);
  let assemblyFormat = "$x `,` $cos `,` $sin attr-dict `:` type($x) `,` type($cos) `,` type($sin)";
  let extraClassDeclaration = Nn_Shapes;
  let hasVerifier = 1;
}

def Nn_TopKOp : Nn_Op<"top_k", [Pure]> {
  let summary = "The first K elements of each row in order of their value";
  let description = [{
    `x: [..., N]`, `values, indices: [..., K]`: the `K` largest elements of each row in descending order, and where in the row they
    stand. `ascending`: the `K` smallest in ascending order. Of equal elements the one with the lower index comes first, also
    where only some of them are taken; zeros are equal whatever their sign, and NaN is larger than any number.
    `unordered`: the same elements in order of their index, which takes less work.

    `count` is a `K` that types do not show. `K <= N` is the caller's duty; what is missing is 0 at index 0.

    ```mlir
    %v, %i = nn.top_k %scores unordered : tensor<?x?x4096xf32> -> tensor<?x?x2048xf32>, tensor<?x?x2048xi64>
    %w, %j = nn.top_k %scores count(%k) ascending : tensor<?x?x4096xf32> -> tensor<?x?x?xf32>, tensor<?x?x?xi64>
    ```
  }];
  let arguments = (ins TensorOf<[F32, BF16, F16, I64, I32]>:$x, Optional<Index>:$count, UnitAttr:$ascending,
                       UnitAttr:$unordered);
  let results = (outs TensorOf<[F32, BF16, F16, I64, I32]>:$values, TensorOf<[I64]>:$indices);
  let assemblyFormat = [{
    $x (`count` `(` $count^ `)`)? (`ascending` $ascending^)? (`unordered` $unordered^)? attr-dict
    `:` type($x) `->` type($values) `,` type($indices)
  }];
  let extraClassDeclaration = Nn_Shapes;
  let hasVerifier = 1;
}

def Nn_CacheUpdateOp : Nn_Op<"cache_update", [Pure, AllTypesMatch<["cache", "result"]>]> {
  let summary = "Writes new keys or values into a cache";
  let description = [{
    `cache: [B, N, L, D]`, `rows: [B, S, N, D]`, `positions: [B]`: the cache with `rows[b, s, n]` at
    `[b, n, positions[b] + s]`. `0 <= positions[b] <= L - S` is the caller's duty, which
    the program checks.

    `in_place` is a decision of level `scheduled` (graph-update-in-place): the rows are written into the memory of `cache`, which nobody reads
    afterwards. Without it the whole cache is copied before.

    ```mlir
    %k1 = nn.cache_update %k0, %rows positions(%p)
        : tensor<?x4x256x32xf32>, tensor<?x?x4x32xf32>, tensor<?xi64>
    ```
  }];
  let arguments = (ins Nn_FloatTensor:$cache, Nn_FloatTensor:$rows, Nn_IndexTensor:$positions, UnitAttr:$in_place);
  let results = (outs Nn_FloatTensor:$result);
  let assemblyFormat = [{
    $cache `,` $rows `positions` `(` $positions `)` (`in_place` $in_place^)? attr-dict `:` type($cache) `,` type($rows) `,` type($positions)
  }];
  let extraClassDeclaration = Nn_Shapes;
  let hasVerifier = 1;
}

def Nn_AttentionOp : Nn_Op<"attention", [Pure, AttrSizedOperandSegments]> {
  let summary = "Scaled dot-product attention of queries over cached keys and values";
  let description = [{
    `query: [B, S, N, D]`, `key: [B, M, L, D]`, `value: [B, M, L, Dv]` with `N` a multiple of `M` (query head `n` reads
    key head `n / (N/M)`), result `[B, S, N, Dv]`. Query `s` of row `b` stands at position `p = positions[b] + s` and
    sees the keys `j < lengths[b]` with, if `causal`, `j <= p` and, if `window` is given, `j > p - window`. `mask`
    (`[B or 1, 1 or N, S, L]`, i1, true = seen) restricts further. Softmax in f32 of `scale * q.k`.

    `sinks` (`[N]`) is one more score per head in the softmax, neither scaled nor masked, whose weight is dropped: the
    weights of the keys sum to less than one.

    `bias` (`[B or 1, 1 or N, S, L]`) is added to the scores after the scale: `scale * q.k + bias`.

    Without `positions` every row starts at 0, without `lengths` all `L` keys are valid. A query that sees no key gives
    zeros.

    ```mlir
    %o = nn.attention %q, %k, %v positions(%p : tensor<?xi64>) scale(0.25) causal
        : tensor<?x?x8x16xf32>, tensor<?x4x256x16xf32>, tensor<?x4x256x16xf32> -> tensor<?x?x8x16xf32>
    ```
  }];
  let arguments = (ins Nn_FloatTensor:$query, Nn_FloatTensor:$key, Nn_FloatTensor:$value,
                       Optional<Nn_IndexTensor>:$positions, Optional<Nn_IndexTensor>:$lengths,
                       Optional<TensorOf<[I1]>>:$mask, Optional<Nn_FloatTensor>:$sinks,
                       Optional<Nn_FloatTensor>:$bias, F64Attr:$scale, UnitAttr:$causal, OptionalAttr<I64Attr>:$window);
  let results = (outs Nn_FloatTensor:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value
    (`positions` `(` $positions^ `:` type($positions) `)`)?
    (`lengths` `(` $lengths^ `:` type($lengths) `)`)?
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    `scale` `(` $scale `)` (`causal` $causal^)? (`window` `(` $window^ `)`)? attr-dict
    `:` type($query) `,` type($key) `,` type($value) `->` type($result)
  }];
  let extraClassDeclaration = Nn_Shapes;
  let hasVerifier = 1;
}

def Nn_SiluOp : Nn_Op<"silu", [Pure, Elementwise, Scalarizable, Vectorizable, Tensorizable, SameOperandsAndResultType]> {
  let summary = "x * sigmoid(x), elementwise";
  let description = [{
    On a float, or on a tensor or vector of floats. `fastmath` is that of the exponential and the quotient that it is made of: `afn` and
    `arcp` let a target approximate them, which graph-approximate-activations decides at level `scheduled`.

    ```mlir
    %s = nn.silu %g : f32
    %t = nn.silu %g fastmath<afn,arcp> : f32
    ```
  }];
  let arguments = (ins FloatLike:$input,
                       DefaultValuedAttr<Arith_FastMathAttr, "::mlir::arith::FastMathFlags::none">:$fastmath);
  let results = (outs FloatLike:$result);
  let assemblyFormat = "$input (`fastmath` `` $fastmath^)? attr-dict `:` type($input)";
}

include "moe-mlir/Dialect/Nn/IR/NnRecurrentOps.td"

#endif // MOE_MLIR_DIALECT_NN_IR_NNOPS
