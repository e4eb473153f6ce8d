//===- AtenOps.td - imported ATen calls, before they are raised ------------------------------------------------===//
#ifndef MOE_MLIR_DIALECT_ATEN_IR_ATENOPS
#define MOE_MLIR_DIALECT_ATEN_IR_ATENOPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Aten_Dialect : Dialect {
  let name = "aten";
  let cppNamespace = "::mlir::aten";
  let summary = "Calls of ATen operators as an exported graph lists them";
  let description = [{
    The importer writes one `aten.call` for each node of the exported graph and decides nothing. Patterns raise
    what they know to `nn` and `moe` ops; the rest is lowered to linalg. No `aten` op is left at the `graph` level.
  }];
  let useDefaultAttributePrinterParser = 1;
}

def Aten_ArgAttr : AttrDef<Aten_Dialect, "Arg"> {
  let mnemonic = "arg";
  let summary = "Stands for operand `index` in the arguments of a call";
  let parameters = (ins "int64_t":$index);
  let assemblyFormat = "`<` $index `>`";
}

def Aten_CallOp : Op<Aten_Dialect, "call"> {
  let summary = "Calls an ATen operator by its qualified name";
  let description = [{
    `arguments` maps each argument of the operator to a constant, to `#aten.arg<i>` for operand `i`, or to an array of
    both (lists of tensors, sizes that mix constants and symbolic integers).

    ```mlir
    %1 = aten.call "aten.view.default"(%0, %b) {self = #aten.arg<0>, size = [#aten.arg<1>, 8, 64]}
        : (tensor<?x512xf32>, i64) -> tensor<?x8x64xf32>
    ```
  }];
  let arguments = (ins StrAttr:$target, Variadic<AnyType>:$inputs, DictionaryAttr:$arguments);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$target `(` $inputs `)` $arguments attr-dict `:` functional-type($inputs, $results)";
}

#endif // MOE_MLIR_DIALECT_ATEN_IR_ATENOPS
