//===- MoeOps.td - gate, dispatch, expert, combine -------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_MOE_IR_MOEOPS
#define MOE_MLIR_DIALECT_MOE_IR_MOEOPS

include "moe-mlir/Dialect/Moe/IR/MoeAttrs.td"
include "moe-mlir/Dialect/Moe/IR/MoeTypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Moe_Op<string mnemonic, list<Trait> traits = []> : Op<Moe_Dialect, mnemonic, traits>;

def Moe_FloatTensor : TensorOf<[AnyFloat]>;
def Moe_IdTensor : TensorOf<[I32, I64]>;

def Moe_ParameterOp : Moe_Op<"parameter", [Pure]> {
  let summary = "A named weight that lives outside the IR";
  let description = [{
    `sources` are keys of the model's weights; `recipe` says how they become the result: `#moe.stack` joins several
    sources along a new first dimension, `#moe.concat<d>` along dimension `d`, then slices, transposes, casts and, from
    the kernel level on, `#moe.pack` into the target's blocks. The module's `moe.weights` attribute names the file.
    At the kernel level the result is a memref of the packed shape.

    ```mlir
    %w = moe.parameter ["layers.0.mlp.gate.weight"] : tensor<8x64xf32>
    %t = moe.parameter ["w_in"] recipe [#moe.transpose<[1, 0]>] : tensor<64x8xf32>
    ```
  }];
  let arguments = (ins StrArrayAttr:$sources, OptionalAttr<ArrayAttr>:$recipe);
  let results = (outs AnyTypeOf<[AnyStaticShapeTensor, AnyMemRef]>:$result);
  let assemblyFormat = "$sources (`recipe` $recipe^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Moe_GateOp : Moe_Op<"gate", [Pure, AttrSizedOperandSegments]> {
  let summary = "Chooses k experts for each token and weighs them";
  let description = [{
    `logits: [T, E]` -> `weights: [T, k]`, `experts: [T, k]` (i32, -1 = dropped). Ties go to the lower expert.

    Order (moe-semantics: cast to f32, score, selection bias, groups, top-k, renormalisation, capacity):
    - `score`: `softmax`, `sigmoid`, `sqrt_softplus` over all E before the choice, or `softmax_after` (top-k on the
      logits, softmax over the k chosen).
    - `bias`: `[E]`, added for the choice only. `groups(n, keep, max|top2_sum)`: group-limited choice.
    - `ids`: `[T, k]` fixes the choice (-1 = no expert); the weights still come from the logits.
    - `renormalize`: `none`, `sum` (divide by the sum + `eps`, every k), `before` (k > 1 only, clamped, before the
      drop), `after` (over the kept slots), `pnorm` with `p`. `scale` multiplies at the end.
    - `capacity(factor, rounding)`: rows per expert, slot-major locations; factor 0 drops nothing, negative clips the
      need.

    ```mlir
    %w, %e = moe.gate %logits top_k(2) score(softmax) renormalize(sum)
        : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
    ```
  }];
  let arguments = (ins Moe_FloatTensor:$logits, Optional<Moe_FloatTensor>:$bias, Optional<Moe_IdTensor>:$ids,
                       I64Attr:$top_k, Moe_ScoreAttr:$score,
                       DefaultValuedAttr<Moe_RenormalizeAttr, "::mlir::moe::Renormalize::None">:$renormalize,
                       OptionalAttr<F64Attr>:$eps, OptionalAttr<F64Attr>:$p, OptionalAttr<F64Attr>:$scale,
                       OptionalAttr<Moe_GroupsAttr>:$groups, OptionalAttr<Moe_CapacityAttr>:$capacity);
  let results = (outs Moe_FloatTensor:$weights, TensorOf<[I32]>:$experts);
  let assemblyFormat = [{
    $logits (`bias` `(` $bias^ `:` type($bias) `)`)? (`ids` `(` $ids^ `:` type($ids) `)`)?
    `top_k` `(` $top_k `)` `score` `(` $score `)`
    (`renormalize` `(` $renormalize^ `)`)? (`eps` `(` $eps^ `)`)? (`p` `(` $p^ `)`)? (`scale` `(` $scale^ `)`)?
    (`groups` `(` $groups^ `)`)? (`capacity` `(` $capacity^ `)`)?
    attr-dict `:` type($logits) `->` type($weights) `,` type($experts)
  }];
  let hasVerifier = 1;
}

def Moe_DispatchOp : Moe_Op<"dispatch", [Pure]> {
  let summary = "Orders token rows by expert";
  let description = [{
    `tokens: [T, H]`, `experts: [T, k]` -> `rows: [R, H]` ordered by expert and within an expert by token, and the
    layout that says where each (token, slot) went. Pairs with expert -1 get no row. With `weights` (`[T, k]`) each row
    is multiplied by its gate weight here instead of in `moe.combine` (pre-score).

    ```mlir
    %rows, %layout = moe.dispatch %x, %experts num_experts(8)
        : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<8>
    ```
  }];
  let arguments = (ins Moe_FloatTensor:$tokens, Moe_IdTensor:$experts, Optional<Moe_FloatTensor>:$weights,
                       I64Attr:$num_experts);
  let results = (outs Moe_FloatTensor:$rows, Moe_LayoutType:$layout);
  let assemblyFormat = [{
    $tokens `,` $experts (`weights` `(` $weights^ `:` type($weights) `)`)? `num_experts` `(` $num_experts `)` attr-dict
    `:` type($tokens) `,` type($experts) `->` type($rows) `,` type($layout)
  }];
  let hasVerifier = 1;
}

def Moe_ExpertOp : Moe_Op<"expert", [Pure, AttrSizedOperandSegments, SingleBlock]> {
  let summary = "Feed-forward experts over ragged groups of rows";
  let description = [{
    `rows: [R, H]`, `w_in: [E, I, H]` (gated: `[E, 2I, H]`, first half gate, second half up; with `interleaved` even
    gate, odd up), `w_out: [E, O, I]`, `b_in: [E, I or 2I]`, `b_out: [E, O]`, result `[R, O]`. For the rows of expert e:
    `act(rows . w_in[e]^T + b_in[e]) . w_out[e]^T + b_out[e]`. The activation is a scalar region in f32 with one
    argument, or with (gate, up) when `gated`.

    ```mlir
    %y = moe.expert %rows, %layout, %w1, %w2 gated {
    ^bb0(%g: f32, %u: f32):
      %s = nn.silu %g : f32
      %a = arith.mulf %s, %u : f32
      moe.yield %a : f32
    } : tensor<?x64xf32>, !moe.layout<8>, tensor<8x128x64xf32>, tensor<8x64x64xf32> -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins Moe_FloatTensor:$rows, Moe_LayoutType:$layout, Moe_FloatTensor:$w_in, Moe_FloatTensor:$w_out,
                       Optional<Moe_FloatTensor>:$b_in, Optional<Moe_FloatTensor>:$b_out,
                       UnitAttr:$gated, UnitAttr:$interleaved);
  let results = (outs Moe_FloatTensor:$result);
  let regions = (region SizedRegion<1>:$activation);
  let assemblyFormat = [{
    $rows `,` $layout `,` $w_in `,` $w_out (`bias_in` `(` $b_in^ `:` type($b_in) `)`)?
    (`bias_out` `(` $b_out^ `:` type($b_out) `)`)? (`gated` $gated^)? (`interleaved` $interleaved^)?
    $activation attr-dict
    `:` type($rows) `,` type($layout) `,` type($w_in) `,` type($w_out) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Moe_CombineOp : Moe_Op<"combine", [Pure]> {
  let summary = "Sums the expert rows of each token";
  let description = [{
    `rows: [R, H]`, `weights: [T, k]` -> `[T, H]`: the sum over slots j, in slot order, in f32, of
    `weights[t, j] * rows[row(t, j)]`; dropped slots add nothing, a token without rows gives zeros. Without `weights`
    (pre-score) the rows are summed as they are and `experts`' shape comes from the layout.

    ```mlir
    %out = moe.combine %y, %layout weights(%w : tensor<?x2xf32>)
        : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins Moe_FloatTensor:$rows, Moe_LayoutType:$layout, Optional<Moe_FloatTensor>:$weights);
  let results = (outs Moe_FloatTensor:$result);
  let assemblyFormat = [{
    $rows `,` $layout (`weights` `(` $weights^ `:` type($weights) `)`)? attr-dict
    `:` type($rows) `,` type($layout) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Moe_AllToAllOp : Moe_Op<"all_to_all", [Pure]> {
  let summary = "Exchanges ragged groups of rows along an axis of the device grid";
  let description = [{
    `rows: [R, H]` grouped by destination as `layout` says -> the rows that this rank received, and their layout.
    `return` is the inverse of the same exchange. Folds away on a grid of one rank.

    ```mlir
    %recv, %rlayout = moe.all_to_all %rows, %layout on @ep
        : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xf32>, !moe.layout<8>
    ```
  }];
  let arguments = (ins Moe_FloatTensor:$rows, Moe_LayoutType:$layout, FlatSymbolRefAttr:$grid, UnitAttr:$inverse);
  let results = (outs Moe_FloatTensor:$result, Moe_LayoutType:$result_layout);
  let assemblyFormat = [{
    $rows `,` $layout `on` $grid (`return` $inverse^)? attr-dict
    `:` type($rows) `,` type($layout) `->` type($result) `,` type($result_layout)
  }];
}

def Moe_YieldOp : Moe_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["ExpertOp"]>]> {
  let summary = "Ends an activation region";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

#endif // MOE_MLIR_DIALECT_MOE_IR_MOEOPS
