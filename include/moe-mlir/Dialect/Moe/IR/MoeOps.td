//===- MoeOps.td - gate, dispatch, expert, combine -------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_MOE_IR_MOEOPS
#define MOE_MLIR_DIALECT_MOE_IR_MOEOPS

include "moe-mlir/Dialect/Moe/IR/MoeAttrs.td"
include "moe-mlir/Dialect/Moe/IR/MoeTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Moe_Op<string mnemonic, list<Trait> traits = []> : Op<Moe_Dialect, mnemonic, traits>;

// The verifier holds types against these shapes, and graph-check-bounds the sizes that only a run knows. "T" of an op with a
// layout is the number of its tokens, "k" that of its slots, and "R" their product. Slots of a `dispatch to @g` are the ranks of
// the grid.
defvar Moe_Shapes = [{
    /// The shape of each operand and result that is a tensor, by symbol.
    ::llvm::SmallVector<::moe_mlir::NamedShape> getShapes();
}];

// f32, bf16 and f16 are the types that every level runs.
def Moe_FloatTensor : TensorOf<[F32, BF16, F16]>;
def Moe_IdTensor : TensorOf<[I32, I64]>;

// An op that may name a grid says what is wrong with it once the module is there.
defvar Moe_NamesGrid = DeclareOpInterfaceMethods<SymbolUserOpInterface>;

def Moe_ParameterOp : Moe_Op<"parameter", [Pure, Moe_NamesGrid]> {
  let summary = "A named weight that lives outside the IR";
  let description = [{
    `sources` are keys of the model's weights; `recipe` says how they become the result: `#moe.stack` joins several
    sources along a new first dimension, `#moe.concat<d>` along dimension `d`, then slices, transposes, cuts, casts, from level spmd on
    `#moe.order` (of experts), `#moe.shard` and `#moe.once` (this rank's part) and from the kernel level on `#moe.pack` into the target's
    blocks. The module's
    `moe.weights` attribute names the file. At the kernel level the result is a memref of the packed shape.

    Several sources need `#moe.stack` or `#moe.concat`, which is the first step; `#moe.pack` is the last one and gives a
    memref; only it may follow `#moe.shard` and `#moe.once`. The shapes of the sources are in the file, so the verifier checks the recipe from
    its result backwards.

    ```mlir
    shard.grid @ep(shape = 2)

    %w = moe.parameter ["layers.0.mlp.gate.weight"] : tensor<8x64xf32>
    %t = moe.parameter ["w_in"] recipe [#moe.transpose<[1, 0]>] : tensor<64x8xf32>
    %e = moe.parameter ["experts.0.up", "experts.1.up"] recipe [#moe.stack, #moe.slice<1, 32, 32>]
        : tensor<2x32x64xf32>
    %h = moe.parameter ["w_in"] recipe [#moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x64x64xf32>
    %p = moe.parameter ["w_out"] recipe [#moe.pack<columns = 64, pairs = 2>] : memref<2x32x64x2xbf16>
    ```
  }];
  let arguments = (ins StrArrayAttr:$sources, OptionalAttr<ArrayAttr>:$recipe);
  let results = (outs AnyTypeOf<[AnyStaticShapeTensor, AnyMemRef]>:$result);
  let assemblyFormat = "$sources (`recipe` $recipe^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Moe_GateOp : Moe_Op<"gate", [Pure, AttrSizedOperandSegments]> {
  let summary = "Chooses k experts for each token and weighs them";
  let description = [{
    `logits: [T, E]` -> `weights: [T, k]`, `experts: [T, k]` (i32, -1 = no expert). `E` is static, `k` is
    `min(top_k, E)`. Ties go to the lower expert. All arithmetic is f32; the weights are rounded once, at the end.

    In this order:
    - `score`: `softmax`, `sigmoid`, `sqrt_softplus` over all E before the choice; or the choice is between the logits, and
      `softmax_after` is the softmax of the chosen ones, `sigmoid_after` the sigmoid of each. `sparsemixer` with
      `jitter(j)`: the softmax at each chosen logit m over the experts that no earlier slot has, without those of logit l
      for which `(m - l) / max(|l|, m) > 2 j`.
    - `bias`: `[E]`, added for the choice only. `groups(<n, keep = g, max|top2_sum>)`: group-limited choice.
    - top-k. `ids`: `[T, k]` fixes the choice instead (-1 = no expert); the weights still come from the logits.
    - `renormalize`, before the drop: `sum` (divide by the sum + `eps`, but by no less than `least`, every k), `before`
      (only if k > 1: divide by the sum, at least 2^-23), `pnorm` (divide by the `p`-norm).
    - `capacity(<factor, rounding>)`: a pair whose location in its expert is at or beyond the capacity becomes -1.
      Locations are slot-major: all first choices in token order, then all second choices, and so on. The capacity is
      `k * int(f * ceil(T/E))` with `capacity(<f, tutel>)`, `ceil(f * k * T / E)` with `deepspeed` and
      `int(f * k * T / E)` with `megablocks`; [CapacityAttr](#capacityattr) defines `f <= 0`.
    - `renormalize(after)`: divide by the sum over the slots that are left, at least 2^-23.
    - `scale` multiplies. The weight of a slot without an expert is 0.

    ```mlir
    %w, %e = moe.gate %logits top_k(2) score(softmax) renormalize(sum)
        : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
    ```
  }];
  let arguments = (ins Moe_FloatTensor:$logits, Optional<Moe_FloatTensor>:$bias, Optional<Moe_IdTensor>:$ids,
                       I64Attr:$top_k, Moe_ScoreAttr:$score, OptionalAttr<F64Attr>:$jitter,
                       DefaultValuedAttr<Moe_RenormalizeAttr, "::mlir::moe::Renormalize::None">:$renormalize,
                       OptionalAttr<F64Attr>:$eps, OptionalAttr<F64Attr>:$least, OptionalAttr<F64Attr>:$p,
                       OptionalAttr<F64Attr>:$scale, OptionalAttr<Moe_GroupsAttr>:$groups, OptionalAttr<Moe_CapacityAttr>:$capacity);
  let results = (outs Moe_FloatTensor:$weights, TensorOf<[I32]>:$experts);
  let assemblyFormat = [{
    $logits (`bias` `(` $bias^ `:` type($bias) `)`)? (`ids` `(` $ids^ `:` type($ids) `)`)?
    `top_k` `(` $top_k `)` `score` `(` custom<Score>($score) `)` (`jitter` `(` $jitter^ `)`)?
    (`renormalize` `(` custom<Renormalize>($renormalize)^ `)`)? (`eps` `(` $eps^ `)`)? (`least` `(` $least^ `)`)?
    (`p` `(` $p^ `)`)? (`scale` `(` $scale^ `)`)?
    (`groups` `(` $groups^ `)`)? (`capacity` `(` $capacity^ `)`)?
    attr-dict `:` type($logits) `->` type($weights) `,` type($experts)
  }];
  let extraClassDeclaration = !strconcat(Moe_Shapes, [{
    int64_t getNumExperts() { return ::llvm::cast<::mlir::ShapedType>(getLogits().getType()).getDimSize(1); }
    /// The number of choices per token: top_k, at most E.
    int64_t getK() { return std::min<int64_t>(getTopK(), getNumExperts()); }
  }]);
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Moe_DispatchOp : Moe_Op<"dispatch", [Pure, Moe_NamesGrid]> {
  let summary = "Orders token rows by expert, or by the rank that owns it";
  let description = [{
    `tokens: [T, H]`, `experts: [T, k]` -> `rows: [R, H]` ordered by expert and within an expert by token, and the
    layout that says where each (token, slot) went. `R` is `T.k`, an upper bound: pairs with expert -1 get no row, and
    the rows after the last pair are unspecified. With `weights` (`[T, k]`) each row is multiplied by its gate weight
    here instead of in `moe.combine` (pre-score), in f32, rounded once.

    ```mlir
    %rows, %layout = moe.dispatch %x, %experts num_experts(8)
        : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<8>
    ```

    `order(#moe.order<[..]>)`, from level spmd on: group p is expert `order[p]` ([OrderAttr](#orderattr)), as the weights of
    the experts are ordered by their recipes. `experts` keeps its ids.

    From level spmd on a layer's experts may be divided among the W ranks of a grid. Rank r owns experts
    `r * E/W ... (r + 1) * E/W - 1`, or with `order` those of these places.

    - `to @g`: groups are the ranks instead of experts. A token gets one row for each rank that owns one of its experts, so slots
      are ranks: R is T.W, and the layout has W groups. `moe.all_to_all` sends these rows; nothing else reads them.
    - `at @g`: only the experts of this rank count, renumbered from 0; pairs of others have none. The layout has E/W groups.
    - `to @local at @node`, of the two axes of one grid (`moe.axis_of`): groups are the ranks of this rank's node, and only the
      experts of this node count.

    ```mlir
    shard.grid @ep(shape = 2)

    func.func @both(%x: tensor<?x64xf32>, %experts: tensor<?x2xi32>) -> tensor<?x64xf32> {
      %send, %sent = moe.dispatch %x, %experts num_experts(8) to @ep
          : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
      %rows, %here = moe.dispatch %x, %experts num_experts(8) at @ep
          : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<4>
      return %rows : tensor<?x64xf32>
    }
    ```

    So two exchanges can do the work of one. A token goes to each node that has one of its experts once, and there to the ranks:

    ```mlir
    shard.grid @ep(shape = 2x4) {moe.axes = ["node", "local"]}
    shard.grid @node(shape = 2) {moe.axes = ["node"], moe.axis_of = @ep}
    shard.grid @local(shape = 4) {moe.axes = ["local"], moe.axis_of = @ep}

    func.func @nested(%x: tensor<?x64xf32>, %experts: tensor<?x2xi32>) -> (tensor<?x64xf32>, !moe.layout<1>) {
      %s0, %l0 = moe.dispatch %x, %experts num_experts(8) to @node
          : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
      %r0, %g0, %e0 = moe.all_to_all %s0, %l0 on @node with(%experts : tensor<?x2xi32>) via(direct)
          : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>, tensor<?x2xi32>
      %s1, %l1 = moe.dispatch %r0, %e0 num_experts(8) to @local at @node
          : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<4>
      %r1, %g1, %e1 = moe.all_to_all %s1, %l1 on @local with(%e0 : tensor<?x2xi32>) via(direct)
          : tensor<?x64xf32>, !moe.layout<4> -> tensor<?x64xf32>, !moe.layout<1>, tensor<?x2xi32>
      %rows, %here = moe.dispatch %r1, %e1 num_experts(8) at @ep
          : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<1>
      return %rows, %here : tensor<?x64xf32>, !moe.layout<1>
    }
    ```

    `placement` is a decision of level `scheduled` (graph-place-rows): the rows are `gathered` by a kernel, which is what happens
    without the attribute; or they stay `in_place`, and experts read each one where its token is; or each expert layer gathers
    them for itself, with an odd number of cache lines between them (`apart`), as matrix registers want them. The last two
    need that only experts read the rows, and that no weights change them. Rows that go `to` ranks have none: the exchange
    takes them from the tokens.
  }];
  let arguments = (ins Moe_FloatTensor:$tokens, Moe_IdTensor:$experts, Optional<Moe_FloatTensor>:$weights,
                       I64Attr:$num_experts, OptionalAttr<Moe_PlacementAttr>:$placement,
                       OptionalAttr<FlatSymbolRefAttr>:$to, OptionalAttr<FlatSymbolRefAttr>:$at,
                       OptionalAttr<Moe_OrderAttr>:$order);
  let results = (outs Moe_FloatTensor:$rows, Moe_LayoutType:$layout);
  let assemblyFormat = [{
    $tokens `,` $experts (`weights` `(` $weights^ `:` type($weights) `)`)? `num_experts` `(` $num_experts `)`
    (`order` `(` $order^ `)`)? (`to` $to^)? (`at` $at^)? (`placement` `(` custom<Placement>($placement)^ `)`)? attr-dict
    `:` type($tokens) `,` type($experts) `->` type($rows) `,` qualified(type($layout))
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Type":$rows, "::mlir::Type":$layout, "::mlir::Value":$tokens, "::mlir::Value":$experts,
                   "::mlir::Value":$weights, "::mlir::IntegerAttr":$num_experts, "::mlir::moe::PlacementAttr":$placement), [{
      build($_builder, $_state, rows, layout, tokens, experts, weights, num_experts, placement, /*to=*/nullptr, /*at=*/nullptr,
            /*order=*/nullptr);
    }]>];
  let extraClassDeclaration = Moe_Shapes;
  let hasVerifier = 1;
}

def Moe_ExpertOp : Moe_Op<"expert", [Pure, AttrSizedOperandSegments, SingleBlock]> {
  let summary = "Feed-forward experts over ragged groups of rows";
  let description = [{
    `rows: [R, H]`, `w_in: [E, I, H]` (gated: `[E, 2I, H]`, first half gate, second half up; with `interleaved` even
    gate, odd up), `w_out: [E, O, I]`, `b_in: [E, I or 2I]`, `b_out: [E, O]`, result `[R, O]`. For the rows of expert e:
    `act(rows . w_in[e]^T + b_in[e]) . w_out[e]^T + b_out[e]`, accumulated in f32; what `act` gives is rounded to the
    element type of the weights. The activation is a scalar region in f32 with one argument, or with (gate, up) when
    `gated`. It holds `arith`, `math` (but `math.ipowi`) and `scf` on scalars (i1, i8, i16, i32, i64, index, f16, bf16, f32,
    f64), `nn.silu`, and `tensor.extract` and `tensor.dim` of tensors from outside at places that do not depend on the row:
    constants, or values from outside. An integer divided by 0 gives 0.

    `rows` belong to `layout`: R is T.k of its dispatch, which the program checks where types do not show it.

    `schedule` is absent until the scheduled level, where it states the decision for this layer.

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
                       UnitAttr:$gated, UnitAttr:$interleaved, OptionalAttr<Moe_ScheduleAttr>:$schedule);
  let results = (outs Moe_FloatTensor:$result);
  let regions = (region SizedRegion<1>:$activation);
  let assemblyFormat = [{
    $rows `,` $layout `,` $w_in `,` $w_out (`bias_in` `(` $b_in^ `:` type($b_in) `)`)?
    (`bias_out` `(` $b_out^ `:` type($b_out) `)`)? (`gated` $gated^)? (`interleaved` $interleaved^)?
    (`schedule` `(` $schedule^ `)`)? custom<Body>($activation) attr-dict
    `:` type($rows) `,` qualified(type($layout)) `,` type($w_in) `,` type($w_out) `->` type($result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$rows, "::mlir::Value":$layout, "::mlir::Value":$w_in,
                   "::mlir::Value":$w_out, "::mlir::Value":$b_in, "::mlir::Value":$b_out,
                   CArg<"bool", "false">:$gated, CArg<"bool", "false">:$interleaved), [{
      build($_builder, $_state, result, rows, layout, w_in, w_out, b_in, b_out, gated, interleaved, ScheduleAttr());
    }]>];
  let extraClassDeclaration = Moe_Shapes;
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

def Moe_CombineOp : Moe_Op<"combine", [Pure]> {
  let summary = "Sums the expert rows of each token";
  let description = [{
    `rows: [R, H]`, `weights: [T, k]` -> `[T, H]`: the sum over slots j, in slot order, in f32, of
    `weights[t, j] * rows[row(t, j)]`; dropped slots add nothing, a token without rows gives zeros. Without `weights`
    (pre-score) the rows are summed as they are. The result is rounded once. T, k and R are those of the layout's dispatch,
    which the program checks where types do not show it.

    With `sum(<tree, groups = G>)` ([SumAttr](#sumattr)) the order is another one, which any number of ranks up to G can keep.

    ```mlir
    %out = moe.combine %y, %layout weights(%w : tensor<?x2xf32>)
        : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xf32>
    %same = moe.combine %y, %layout weights(%w : tensor<?x2xf32>) sum(<tree, groups = 4>)
        : tensor<?x64xf32>, !moe.layout<8> -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins Moe_FloatTensor:$rows, Moe_LayoutType:$layout, Optional<Moe_FloatTensor>:$weights,
                       OptionalAttr<Moe_SumAttr>:$sum);
  let results = (outs Moe_FloatTensor:$result);
  let assemblyFormat = [{
    $rows `,` $layout (`weights` `(` $weights^ `:` type($weights) `)`)? (`sum` `(` $sum^ `)`)? attr-dict
    `:` type($rows) `,` qualified(type($layout)) `->` type($result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$rows, "::mlir::Value":$layout, "::mlir::Value":$weights), [{
      build($_builder, $_state, result, rows, layout, weights, /*sum=*/nullptr);
    }]>];
  let extraClassDeclaration = Moe_Shapes;
  let hasVerifier = 1;
}

def Moe_AllToAllOp : Moe_Op<"all_to_all", [Pure, Moe_NamesGrid]> {
  let summary = "Exchanges ragged groups of rows between the ranks of a grid";
  let description = [{
    `rows: [R, H]` are those of a `moe.dispatch to` the same grid, and `layout` is its layout. Each rank gets the rows that are for
    it: `result: [S, H]` with S = W.room, where `room` is the largest T of all ranks, so that S is equal everywhere and known
    when the program runs. Row `s * room + i` is the i-th one of the rank that stands `s` places after this rank, own rows first.

    `with`: companions `[T, ...]`, one element or row per token of the sender, arrive per row: `[S, ...]`. Rows that do not exist have
    -1 in a companion of integers; everything else of them is unspecified. `via(direct)`: rows are stored in the other rank's memory.

    The result's layout, of one group, stands for the exchange. With it `return` is the way back: one row for each that was received,
    of any width and type, in the order of the rows that were sent; its second result is the layout of that order.

    ```mlir
    shard.grid @ep(shape = 2)

    func.func @there_and_back(%x: tensor<?x64xf32>, %experts: tensor<?x2xi32>) -> tensor<?x64xf32> {
      %send, %sent = moe.dispatch %x, %experts num_experts(8) to @ep
          : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
      %recv, %got, %ids = moe.all_to_all %send, %sent on @ep with(%experts : tensor<?x2xi32>) via(direct)
          : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>, !moe.layout<1>, tensor<?x2xi32>
      %back, %gone = moe.all_to_all %recv, %got on @ep return
          : tensor<?x64xf32>, !moe.layout<1> -> tensor<?x64xf32>, !moe.layout<2>
      %y = moe.combine %back, %gone sum(<tree, groups = 2>) : tensor<?x64xf32>, !moe.layout<2> -> tensor<?x64xf32>
      return %y : tensor<?x64xf32>
    }
    ```
  }];
  let arguments = (ins Moe_FloatTensor:$rows, Moe_LayoutType:$layout, FlatSymbolRefAttr:$grid,
                       Variadic<TensorOf<[F32, BF16, F16, I32, I64]>>:$companions, OptionalAttr<Moe_ViaAttr>:$via,
                       UnitAttr:$inverse);
  let results = (outs Moe_FloatTensor:$result, Moe_LayoutType:$result_layout,
                      Variadic<TensorOf<[F32, BF16, F16, I32, I64]>>:$received);
  let assemblyFormat = [{
    $rows `,` $layout `on` $grid (`return` $inverse^)? (`with` `(` $companions^ `:` type($companions) `)`)?
    (`via` `(` custom<Via>($via)^ `)`)? attr-dict
    `:` type($rows) `,` qualified(type($layout)) `->` type($result) `,` qualified(type($result_layout))
    (`,` type($received)^)?
  }];
  let extraClassDeclaration = !strconcat(Moe_Shapes, [{
    /// The exchange that a `return` takes back; null if its layout is of none.
    AllToAllOp getExchange();
    /// The dispatch whose rows the exchange sends, or has sent; null if the layout is of none.
    DispatchOp getDispatch();
  }]);
  let hasVerifier = 1;
}

def Moe_YieldOp : Moe_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["ExpertOp"]>]> {
  let summary = "Ends an activation region";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

#endif // MOE_MLIR_DIALECT_MOE_IR_MOEOPS
