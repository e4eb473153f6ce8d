//===- MoeDialect.td -------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_MOE_IR_MOEDIALECT
#define MOE_MLIR_DIALECT_MOE_IR_MOEDIALECT

include "mlir/IR/OpBase.td"

def Moe_Dialect : Dialect {
  let name = "moe";
  let cppNamespace = "::mlir::moe";
  let summary = "Mixture-of-Experts layers: gate, dispatch, expert, combine, all_to_all";
  let description = [{
    Value semantics on tensors. Every policy that changes a result is an attribute, an operand or a region.
    Sizes: T tokens, H hidden, E experts, k experts per token, I expert intermediate, R rows after dispatch (T.k).
  }];
  let extraClassDeclaration = [{
    void registerAttributesAndTypes();
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif // MOE_MLIR_DIALECT_MOE_IR_MOEDIALECT
