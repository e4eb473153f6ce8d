//===- MoeTypes.td ---------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_MOE_IR_MOETYPES
#define MOE_MLIR_DIALECT_MOE_IR_MOETYPES

include "moe-mlir/Dialect/Moe/IR/MoeDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Moe_LayoutType : TypeDef<Moe_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "Where each (token, slot) pair went: offsets per expert, token of each row, row of each pair";
  let description = [{
    The parameter is the number of groups that rows are ordered by: experts, those of one rank (`moe.dispatch at`), the ranks of a
    grid (`moe.dispatch to`), or 1 for what a `moe.all_to_all` received.
  }];
  let parameters = (ins "int64_t":$experts);
  let assemblyFormat = "`<` $experts `>`";
  let genVerifyDecl = 1;
}

#endif // MOE_MLIR_DIALECT_MOE_IR_MOETYPES
