//===- MoeAttrs.td - policies of the gate and recipes of parameters ----------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_MOE_IR_MOEATTRS
#define MOE_MLIR_DIALECT_MOE_IR_MOEATTRS

include "moe-mlir/Dialect/Moe/IR/MoeDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Moe_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::moe";
  let genSpecializedAttr = 0;
}

def Moe_Score : Moe_Enum<"Score", "score function of a gate", [
  I32EnumAttrCase<"Softmax", 0, "softmax">, I32EnumAttrCase<"SoftmaxAfter", 1, "softmax_after">,
  I32EnumAttrCase<"Sigmoid", 2, "sigmoid">, I32EnumAttrCase<"SqrtSoftplus", 3, "sqrt_softplus">]>;
def Moe_ScoreAttr : EnumAttr<Moe_Dialect, Moe_Score, "score">;

def Moe_Renormalize : Moe_Enum<"Renormalize", "renormalisation of the chosen weights", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Sum", 1, "sum">, I32EnumAttrCase<"Before", 2, "before">,
  I32EnumAttrCase<"After", 3, "after">, I32EnumAttrCase<"PNorm", 4, "pnorm">]>;
def Moe_RenormalizeAttr : EnumAttr<Moe_Dialect, Moe_Renormalize, "renormalize">;

def Moe_GroupScore : Moe_Enum<"GroupScore", "score of a group of experts", [
  I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Top2Sum", 1, "top2_sum">]>;

def Moe_Rounding : Moe_Enum<"Rounding", "rounding of a capacity", [
  I32EnumAttrCase<"Tutel", 0, "tutel">, I32EnumAttrCase<"DeepSpeed", 1, "deepspeed">,
  I32EnumAttrCase<"MegaBlocks", 2, "megablocks">]>;

class Moe_Attr<string name, string attrMnemonic> : AttrDef<Moe_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Moe_GroupsAttr : Moe_Attr<"Groups", "groups"> {
  let summary = "Group-limited choice: E experts in `count` groups, the best `keep` compete";
  let parameters = (ins "int64_t":$count, "int64_t":$keep, EnumParameter<Moe_GroupScore>:$score);
  let assemblyFormat = "`<` $count `,` `keep` `=` $keep `,` $score `>`";
}

def Moe_CapacityAttr : Moe_Attr<"Capacity", "capacity"> {
  let summary = "Capacity factor and its rounding";
  let parameters = (ins APFloatParameter<"">:$factor, EnumParameter<Moe_Rounding>:$rounding);
  let hasCustomAssemblyFormat = 1;
}

// ---- recipe steps of moe.parameter -------------------------------------------------------------------------------

def Moe_StackAttr : Moe_Attr<"Stack", "stack"> {
  let summary = "Joins all sources along a new first dimension";
}
def Moe_ConcatAttr : Moe_Attr<"Concat", "concat"> {
  let summary = "Joins all sources along dimension `dim`";
  let parameters = (ins "int64_t":$dim);
  let assemblyFormat = "`<` $dim `>`";
}
def Moe_SliceAttr : Moe_Attr<"Slice", "slice"> {
  let summary = "Elements [offset, offset + size) of dimension `dim`";
  let parameters = (ins "int64_t":$dim, "int64_t":$offset, "int64_t":$size);
  let assemblyFormat = "`<` $dim `,` $offset `,` $size `>`";
}
def Moe_TransposeAttr : Moe_Attr<"Transpose", "transpose"> {
  let summary = "Permutes the dimensions: result dimension i is source dimension permutation[i]";
  let parameters = (ins ArrayRefParameter<"int64_t">:$permutation);
  let assemblyFormat = "`<` `[` $permutation `]` `>`";
}
def Moe_CastAttr : Moe_Attr<"Cast", "cast"> {
  let summary = "Converts the elements, rounding to nearest even";
  let parameters = (ins "::mlir::Type":$element);
  let assemblyFormat = "`<` $element `>`";
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
}

#endif // MOE_MLIR_DIALECT_MOE_IR_MOEATTRS
