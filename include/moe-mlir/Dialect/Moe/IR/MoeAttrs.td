//===- MoeAttrs.td - policies of the gate and recipes of parameters ----------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_MOE_IR_MOEATTRS
#define MOE_MLIR_DIALECT_MOE_IR_MOEATTRS

include "moe-mlir/Dialect/Moe/IR/MoeDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"

// Enumerations that ops print as plain keywords, by custom<Score> and custom<Renormalize>: the default printer of an
// EnumAttr leaves a blank after the opening parenthesis.
class Moe_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::moe";
  let genSpecializedAttr = 0;
}

def Moe_Score : Moe_Enum<"Score", "score function of a gate", [
  I32EnumAttrCase<"Softmax", 0, "softmax">, I32EnumAttrCase<"SoftmaxAfter", 1, "softmax_after">,
  I32EnumAttrCase<"Sigmoid", 2, "sigmoid">, I32EnumAttrCase<"SqrtSoftplus", 3, "sqrt_softplus">,
  I32EnumAttrCase<"SigmoidAfter", 4, "sigmoid_after">, I32EnumAttrCase<"SparseMixer", 5, "sparsemixer">]>;
def Moe_ScoreAttr : EnumAttr<Moe_Dialect, Moe_Score, "score">;

def Moe_Renormalize : Moe_Enum<"Renormalize", "renormalisation of the chosen weights", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Sum", 1, "sum">, I32EnumAttrCase<"Before", 2, "before">,
  I32EnumAttrCase<"After", 3, "after">, I32EnumAttrCase<"PNorm", 4, "pnorm">]>;
def Moe_RenormalizeAttr : EnumAttr<Moe_Dialect, Moe_Renormalize, "renormalize">;

def Moe_Placement : Moe_Enum<"Placement", "where experts find the rows of a dispatch", [
  I32EnumAttrCase<"Gathered", 0, "gathered">, I32EnumAttrCase<"InPlace", 1, "in_place">,
  I32EnumAttrCase<"Apart", 2, "apart">]>;
def Moe_PlacementAttr : EnumAttr<Moe_Dialect, Moe_Placement, "placement">;

def Moe_Via : Moe_Enum<"Via", "how rows get to other ranks", [I32EnumAttrCase<"Direct", 0, "direct">]>;
def Moe_ViaAttr : EnumAttr<Moe_Dialect, Moe_Via, "via">;

def Moe_SumKind : Moe_Enum<"SumKind", "order of a sum", [I32EnumAttrCase<"Tree", 0, "tree">]>;

def Moe_GroupScore : Moe_Enum<"GroupScore", "score of a group of experts", [
  I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Top2Sum", 1, "top2_sum">]>;

def Moe_Rounding : Moe_Enum<"Rounding", "rounding of a capacity", [
  I32EnumAttrCase<"Tutel", 0, "tutel">, I32EnumAttrCase<"DeepSpeed", 1, "deepspeed">,
  I32EnumAttrCase<"MegaBlocks", 2, "megablocks">]>;

class Moe_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<Moe_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Moe_GroupsAttr : Moe_Attr<"Groups", "groups"> {
  let summary = "Group-limited choice: E experts in `count` groups, the best `keep` compete";
  let description = [{
    Experts `g * E/count ... (g+1) * E/count - 1` are group `g`. A group's score is the largest selection score in it
    (`max`) or the sum of its two largest (`top2_sum`). Experts outside the `keep` best groups are not chosen; groups of
    equal score go by the lower number.
  }];
  let parameters = (ins "int64_t":$count, "int64_t":$keep, EnumParameter<Moe_GroupScore>:$score);
  let assemblyFormat = "`<` $count `,` `keep` `=` $keep `,` $score `>`";
  let genVerifyDecl = 1;
}

def Moe_CapacityAttr : Moe_Attr<"Capacity", "capacity"> {
  let summary = "Capacity factor and its rounding";
  let description = [{
    Rows that one expert takes, for `T` tokens, `E` experts and `k` choices; from left to right in f64, `int` truncates.

    | rounding | cap(f) |
    |---|---|
    | `tutel` | `k * int(f * ceil(T/E))` |
    | `deepspeed` | `ceil(f * k * T / E)` |
    | `megablocks` | `int(f * k * T / E)` |

    A factor `f > 0` drops the rows beyond `cap(f)`, 0 drops nothing, and `f < 0` drops the rows beyond
    `min(needed, cap(-f))`, where `needed` is the largest number of rows that any expert receives.
  }];
  let parameters = (ins APFloatParameter<"">:$factor, EnumParameter<Moe_Rounding>:$rounding);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Moe_SumAttr : Moe_Attr<"Sum", "sum"> {
  let summary = "Order in which a token's rows are added: the groups of the layout are cut into `groups` equal ranges";
  let description = [{
    `tree`: in each range slots are added in slot order, in f32, starting from +0; a range without slots is +0. Then the ranges
    are added in pairs, `(0 + 1) + (2 + 3)` and so on; of an odd number the last one goes on to the next round. `groups` divides the
    layout's number of groups.

    A sum over a half of the ranges is one side of the tree, so ranks that own a part of the experts each, and whose sums are added
    in pairs, give the bits of one rank that owns all of them. So do 3 nodes of 8 ranks: whatever the number of nodes, one whose
    ranges are a power of two is a branch of the tree.
  }];
  let parameters = (ins EnumParameter<Moe_SumKind>:$kind, "int64_t":$groups);
  let assemblyFormat = "`<` $kind `,` `groups` `=` $groups `>`";
  let genVerifyDecl = 1;
}

def Moe_ScheduleKind : Moe_Enum<"ScheduleKind", "how a layer's kernels follow each other", [
  I32EnumAttrCase<"Plain", 0, "plain">, I32EnumAttrCase<"Overlap", 1, "overlap">,
  I32EnumAttrCase<"Parts", 2, "parts">]>;
def Moe_RowOrder : Moe_Enum<"RowOrder", "order of the rows that came from all ranks", [
  I32EnumAttrCase<"Source", 0, "source">, I32EnumAttrCase<"Part", 1, "part">]>;

def Moe_ScheduleAttr : Moe_Attr<"Schedule", "schedule"> {
  let summary = "The scheduler's decision for an expert layer";
  let description = [{
    `plain`: dispatch, both products and combine run one after the other, without overlap; so do exchanges with other ranks
    before and after them.

    `overlap`: rows travel while the first product runs, sums while the second one does (COMET, section 3). A layer of several
    ranks can have it, if nothing else reads what goes from one of its ops to the next.

    | number | says |
    |---|---|
    | `chunk` | rows of one flag: they are sent together, and tell together that they have come |
    | `order` | where the rows of a source stand: `source` one source behind the other, `part` in parts of a chunk of every source. Without it `source` |
    | `steps` | the first product's phases: the rows of how many ranks each one takes, own rows first. Their sum is the number of ranks. With `order = part` of how many parts, own rows first in each; the last phase takes what is left |
    | `piece` | rows that the first product waits for together, at most; cut where a tile ends, so at least a tile. Without it a phase's rows of an expert are one piece |
    | `send` | blocks that send rows beside the first product, on a GPU. Without it the target decides |
    | `slices` | the second product's phases: all experts for that part of the columns each. Sums of a slice travel while the next one is made |
    | `return` | blocks that return sums beside the second product, on a GPU. Without it the target decides |

    On a CPU `send` and `return` say nothing: who sends, multiplies and returns has a block for each thread. Rows that stand
    `apart` are gathered phase by phase; the product waits for all of a phase, and `piece` says nothing. On a GPU such a layer
    is plain.

    `parts = d` is Tutel's degree: every rank's rows fall into d parts, a product takes one part of all ranks after the other, and sums
    return when all are made. It is the overlap with `order = part`, chunks of a d-th of the rows that a rank can send, d steps of one
    part, and one slice.

    ```mlir
    #under_products = #moe.schedule<overlap, chunk = 128, steps = [1, 1], slices = 4>
    #on_a_gpu = #moe.schedule<overlap, chunk = 128, order = part, steps = [1, 3, 4], piece = 256, send = 12, slices = 8, return = 20>
    #in_parts = #moe.schedule<parts = 4>
    ```

    Any schedule gives the same bits.
  }];
  let parameters = (ins EnumParameter<Moe_ScheduleKind>:$kind, "int64_t":$chunk, EnumParameter<Moe_RowOrder>:$order,
                        ArrayRefParameter<"int64_t">:$steps, "int64_t":$piece, "int64_t":$send, "int64_t":$slices,
                        "int64_t":$back, "int64_t":$parts);
  let builders = [AttrBuilder<(ins "::mlir::moe::ScheduleKind":$kind), [{
    return $_get($_ctxt, kind, 0, ::mlir::moe::RowOrder::Source, ::llvm::ArrayRef<int64_t>(), 0, 0, 0, 0, 0);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Flags of one source's rows, at most: they have fixed places, whatever the number of rows. Chunks grow.
    static constexpr int64_t mostChunks = 256;

    /// Whether exchanges run under products.
    bool overlaps() { return getKind() != ScheduleKind::Plain; }
    bool isByPart() { return getKind() == ScheduleKind::Parts || getOrder() == RowOrder::Part; }
    /// Sources, or parts, of each phase of the first product.
    ::llvm::SmallVector<int64_t> getPhases();
    /// Phases of the second product.
    int64_t getSliceCount() { return getKind() == ScheduleKind::Parts ? 1 : getSlices(); }
  }];
  let genVerifyDecl = 1;
}

// ---- functions ---------------------------------------------------------------------------------------------------

def Moe_VariantAttr : Moe_Attr<"Variant", "variant"> {
  let summary = "The function is one of several ways in which ranks run an entry";
  let description = [{
    `moe.variant` of a function. Those of one `entry` compute the same, of the same inputs and weights, divided in another way: each
    has grids of its own, in their order in the module, the last of which varies fastest in the number of a rank, and all have the same
    number of ranks. The first function of an entry is what runs where nothing else is said. `name` tells it from the others on command
    lines and in dictionaries; it is no number, as numbers mean variants there, too.

    `schedule` is that of all its expert layers whose tokens travel; without it `moe-schedule` finds one for each.

    ```mlir
    shard.grid @ep(shape = 2) {moe.axes = ["ep"]}
    shard.grid @dp(shape = 2) {moe.axes = ["dp"]}

    func.func @layer(%x: tensor<?x64xf32> {moe.dims = ["tokens", ""], moe.split = @ep})
        -> (tensor<?x64xf32> {moe.dims = ["tokens", ""], moe.split = @ep})
        attributes {moe.variant = #moe.variant<"layer" as "ep=2" on [@ep], schedule(<overlap, chunk = 64, steps = [1, 1], slices = 2>)>} {
      return %x : tensor<?x64xf32>
    }
    func.func @layer.1(%x: tensor<?x64xf32> {moe.dims = ["tokens", ""], moe.split = @dp})
        -> (tensor<?x64xf32> {moe.dims = ["tokens", ""], moe.split = @dp})
        attributes {moe.variant = #moe.variant<"layer" as "dp=2" on [@dp]>} {
      return %x : tensor<?x64xf32>
    }
    ```
  }];
  let parameters = (ins StringRefParameter<"what it is a variant of">:$entry, StringRefParameter<"what it is called">:$name,
                        ArrayRefParameter<"::mlir::FlatSymbolRefAttr", "whose ranks run it">:$grids,
                        OptionalParameter<"::mlir::moe::ScheduleAttr">:$schedule);
  let assemblyFormat = "`<` $entry `as` $name `on` ` ` `[` $grids `]` (`,` `schedule` `(` $schedule^ `)`)? `>`";
  let genVerifyDecl = 1;
}

// ---- recipe steps of moe.parameter -------------------------------------------------------------------------------

def Moe_StackAttr : Moe_Attr<"Stack", "stack"> {
  let summary = "Joins all sources along a new first dimension";
}
def Moe_ConcatAttr : Moe_Attr<"Concat", "concat"> {
  let summary = "Joins all sources along dimension `dim`";
  let parameters = (ins "int64_t":$dim);
  let assemblyFormat = "`<` $dim `>`";
  let genVerifyDecl = 1;
}
def Moe_SliceAttr : Moe_Attr<"Slice", "slice"> {
  let summary = "Elements [offset, offset + size) of dimension `dim`";
  let parameters = (ins "int64_t":$dim, "int64_t":$offset, "int64_t":$size);
  let assemblyFormat = "`<` $dim `,` $offset `,` $size `>`";
  let genVerifyDecl = 1;
}
def Moe_TransposeAttr : Moe_Attr<"Transpose", "transpose"> {
  let summary = "Permutes the dimensions: result dimension i is source dimension permutation[i]";
  let parameters = (ins ArrayRefParameter<"int64_t">:$permutation);
  let assemblyFormat = "`<` `[` $permutation `]` `>`";
  let genVerifyDecl = 1;
}
def Moe_OrderAttr : Moe_Attr<"Order", "order", [OpAsmAttrInterface]> {
  let summary = "Another order of a layer's experts: place i has expert `experts[i]`";
  let description = [{
    A permutation of 0 ... E-1. On `moe.dispatch` it says which expert each group is; as a step of a recipe it orders dimension 0 of
    the weights alike: entry i is entry `experts[i]` of the source. Ranks own places, not experts, so this is the table that says
    which rank owns which expert. It is printed once, as an alias, and what names it changes with it:

    ```mlir
    #order = #moe.order<[0, 3, 1, 2]>
    shard.grid @ep(shape = 2)

    func.func @experts_0_and_3_on_rank_0(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>) -> (tensor<?x64xf32>, tensor<2x32x64xf32>) {
      %up = moe.parameter ["up"] recipe [#order, #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<2x32x64xf32>
      %rows, %here = moe.dispatch %x, %e num_experts(4) order(#order) at @ep
          : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>, !moe.layout<2>
      return %rows, %up : tensor<?x64xf32>, tensor<2x32x64xf32>
    }
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int32_t">:$experts);
  let assemblyFormat = "`<` `[` $experts `]` `>`";
  let extraClassDeclaration = [{
    /// The other way round: the place of each expert.
    ::llvm::SmallVector<int32_t> getPlaces();
  }];
  let genVerifyDecl = 1;
  let genMnemonicAlias = 1;
}
def Moe_CastAttr : Moe_Attr<"Cast", "cast"> {
  let summary = "Converts the elements, rounding to nearest even";
  let parameters = (ins "::mlir::Type":$element);
  let assemblyFormat = "`<` $element `>`";
  let genVerifyDecl = 1;
}
def Moe_ShardAttr : Moe_Attr<"Shard", "shard"> {
  let summary = "This rank's part of dimension `dim`, which the `ranks` ranks of a grid share equally";
  let description = [{
    Rank r has elements `r * n / ranks ... (r + 1) * n / ranks - 1` of a dimension of `n`; `ranks` is the size of the grid and divides
    `n`. The weights themselves are whole, in their file and in the archive. Several grids may divide several dimensions.

    With `halves` both halves of the dimension are divided, and a rank has its part of the first one and then its part of the second
    one: of gate and up, which one product computes, it has the rows of the same hidden columns.

    ```mlir
    shard.grid @ep(shape = 2)
    shard.grid @etp(shape = 4)

    %up = moe.parameter ["gate_up"] recipe [#moe.shard<dim = 1, grid = @etp, ranks = 4, halves = true>,
                                            #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x16x32xf32>
    %down = moe.parameter ["down"] recipe [#moe.shard<dim = 2, grid = @etp, ranks = 4>,
                                           #moe.shard<dim = 0, grid = @ep, ranks = 2>] : tensor<4x32x8xf32>
    ```
  }];
  let parameters = (ins "int64_t":$dim, AttrParameter<"::mlir::FlatSymbolRefAttr", "whose ranks share it">:$grid,
                        "int64_t":$ranks, DefaultValuedParameter<"bool", "false">:$halves);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}
def Moe_OnceAttr : Moe_Attr<"Once", "once"> {
  let summary = "The tensor on the first of the `ranks` ranks of a grid, zeros on the others";
  let description = [{
    What all ranks add up and one of them has to give, as the bias of a product whose sum is divided.
  }];
  let parameters = (ins AttrParameter<"::mlir::FlatSymbolRefAttr", "whose first rank has it">:$grid, "int64_t":$ranks);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}
def Moe_CutAttr : Moe_Attr<"Cut", "cut"> {
  let summary = "Cuts dimension `dim` into `parts` equal parts, which a new first dimension numbers";
  let description = [{
    What the archive has of a parameter with a `#moe.shard` of another dimension than the first: `[E, N, K]` becomes
    `[parts, E, N / parts, K]` (of dimension 1), so that the part of a rank is one piece. `halves` as there. Stands in the recipes
    of `moert.parameters`, before `#moe.pack`, and in those of matrices that a model keeps one below the other:

    ```mlir
    %down = moe.parameter ["mlp.w2"] recipe [#moe.cut<dim = 0, parts = 8>] : tensor<8x32x64xf32>
    %gate_and_up = moe.parameter ["mlp.w1", "mlp.v1"] recipe [#moe.concat<0>, #moe.cut<dim = 0, parts = 8, halves = true>]
        : tensor<8x64x64xf32>
    ```
  }];
  let parameters = (ins "int64_t":$dim, "int64_t":$parts, DefaultValuedParameter<"bool", "false">:$halves);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}
def Moe_FirstAttr : Moe_Attr<"First", "first"> {
  let summary = "The tensor as the first of `parts` parts, which a new first dimension numbers; the others are zero";
  let description = [{
    What the archive has of a parameter with `#moe.once`, as `#moe.cut` is that of one with `#moe.shard`.
  }];
  let parameters = (ins "int64_t":$parts);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}
def Moe_PackAttr : Moe_Attr<"Pack", "pack"> {
  let summary = "Blocks a weight [..., N, K] for a register tile";
  let description = [{
    `[..., N, K]` becomes `[..., ceil(N / columns), ceil(K / pairs), columns, pairs]` (the last dimension is absent when
    `pairs` is 1), padded with zeros: element `(n, k)` stands at block `n / columns`, step `k / pairs`, column
    `n % columns`, lane `k % pairs`. With `halves`, row `i` of the first N/2 rows (gate) and row `i` of the second half
    (up) share a block: block `i / (columns/2)` holds gate rows in its first half of columns and up rows in its second;
    `interleaved` says that the source has gate and up in alternating rows instead.
  }];
  let parameters = (ins "int64_t":$columns, "int64_t":$pairs, DefaultValuedParameter<"bool", "false">:$halves,
                        DefaultValuedParameter<"bool", "false">:$interleaved);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // MOE_MLIR_DIALECT_MOE_IR_MOEATTRS
