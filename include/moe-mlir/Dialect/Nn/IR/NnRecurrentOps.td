//===- NnRecurrentOps.td - operations along a sequence that carry a state ----------------------------------------===//
#ifndef MOE_MLIR_DIALECT_NN_IR_NNRECURRENTOPS
#define MOE_MLIR_DIALECT_NN_IR_NNRECURRENTOPS

def Nn_F32Tensor : TensorOf<[F32]>;

def Nn_CausalConvOp : Nn_Op<"causal_conv", [Pure]> {
  let summary = "Depthwise convolution over what came before";
  let description = [{
    `x: [B, C, L]`, `weight: [C, K]`, `bias: [C]`, result `[B, C, L]`:
    `result[b, c, t] = bias[c] + sum over j of weight[c, j] * x[b, c, t - K + 1 + j]`, where `x` is zero before its first column. With
    `silu` the sum times its sigmoid. Summed in f32, rounded once.

    The columns that a next call needs are an ordinary tensor: the caller puts them before its own (`tensor.concat`) and
    takes the result's last columns.

    ```mlir
    %y = nn.causal_conv %x, %w bias(%b : tensor<64xbf16>) silu : tensor<?x64x?xbf16>, tensor<64x4xbf16> -> tensor<?x64x?xbf16>
    ```
  }];
  let arguments = (ins Nn_FloatTensor:$x, Nn_FloatTensor:$weight, Optional<Nn_FloatTensor>:$bias, UnitAttr:$silu);
  let results = (outs Nn_FloatTensor:$result);
  let assemblyFormat = [{
    $x `,` $weight (`bias` `(` $bias^ `:` type($bias) `)`)? (`silu` $silu^)? attr-dict
    `:` type($x) `,` type($weight) `->` type($result)
  }];
  let extraClassDeclaration = Nn_Shapes;
  let hasVerifier = 1;
}

def Nn_ScanOp : Nn_Op<"scan", [Pure, AttrSizedOperandSegments, AllTypesMatch<["state", "next"]>]> {
  let summary = "A recurrence over a matrix for each head: it decays, takes in a key with its value, and is read by a query";
  let description = [{
    `query, key: [B, S, M, K]`, `value: [B, S, N, V]` with `N` a multiple of `M` (head `n` reads query and key `n / (N/M)`),
    `state: [B, N, K, V]` in f32, result `[B, S, N, V]`, next state `[B, N, K, V]`. For each row `b` and head `n`, with `H` its
    matrix of the state, the steps `t = 0 .. S-1` are, in f32:

    1. `H[i, j] = exp(d) * H[i, j]`, where the shape of `decay` says what `d` is:
       `[B, S, N]`: one number for the head, `decay[b, t, n]`;
       `[B, S, N, K]`: one for each channel of the key, `decay[b, t, n, i]`;
       `[B, S, N, V]` with `rates: [N, K, V]`: one for each element, `decay[b, t, n, j] * rates[n, i, j]`.
    2. `H = H + k v^T`, with the key and the value of the step; or with `beta: [B, S, N]` the delta rule,
       `H = H + beta[b, t, n] * k (v - H^T k)^T`, which puts the value in the place of what the key found.
    3. `result[b, t, n] = H^T q`, rounded once.

    `in_place` is a decision of level `scheduled` (graph-update-in-place): the next state is written where the old one is, which nobody reads
    afterwards. Without it the state is copied before.

    ```mlir
    %y, %h1 = nn.scan %q, %k, %v decay(%d : tensor<?x?x4xf32>) beta(%b : tensor<?x?x4xf32>) state(%h : tensor<?x4x16x32xf32>)
        : tensor<?x?x2x16xbf16>, tensor<?x?x2x16xbf16>, tensor<?x?x4x32xbf16> -> tensor<?x?x4x32xbf16>
    ```
  }];
  let arguments = (ins Nn_FloatTensor:$query, Nn_FloatTensor:$key, Nn_FloatTensor:$value, Nn_F32Tensor:$decay,
                       Optional<Nn_F32Tensor>:$rates, Optional<Nn_F32Tensor>:$beta, Nn_F32Tensor:$state,
                       UnitAttr:$in_place);
  let results = (outs Nn_FloatTensor:$result, Nn_F32Tensor:$next);
  let assemblyFormat = [{
    $query `,` $key `,` $value `decay` `(` $decay `:` type($decay) `)`
    (`rates` `(` $rates^ `:` type($rates) `)`)? (`beta` `(` $beta^ `:` type($beta) `)`)?
    `state` `(` $state `:` type($state) `)` (`in_place` $in_place^)? attr-dict
    `:` type($query) `,` type($key) `,` type($value) `->` type($result)
  }];
  let extraClassDeclaration = Nn_Shapes # [{
    /// Whether each channel of the key has a decay of its own, rather than the head one, or every element.
    bool hasChannelDecay() {
      return !getRates() && ::llvm::cast<::mlir::ShapedType>(getDecay().getType()).getRank() == 4;
    }
    /// The size that a letter of the shapes has: known for N, M, K and V.
    int64_t sizeOf(::llvm::StringRef letter);
  }];
  let hasVerifier = 1;
}

#endif // MOE_MLIR_DIALECT_NN_IR_NNRECURRENTOPS
