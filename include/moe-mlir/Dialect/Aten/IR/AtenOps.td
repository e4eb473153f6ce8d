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

    A function with the attribute `aten.mutable` holds in-place calls, whose results are views of their first
    argument; nothing in it may be merged, moved or dropped. `aten-functionalize` removes the in-place calls and the
    attribute, and from then on every call is a pure function of its operands.
  }];
  let useDefaultAttributePrinterParser = 1;
  let discardableAttrs = (ins "::mlir::UnitAttr":$mutable);
}

def Aten_ArgAttr : AttrDef<Aten_Dialect, "Arg"> {
  let mnemonic = "arg";
  let summary = "Stands for operand `index` in the arguments of a call";
  let parameters = (ins "int64_t":$index);
  let assemblyFormat = "`<` $index `>`";
}

def Aten_CallOp : Op<Aten_Dialect, "call", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Calls an ATen operator by its qualified name";
  let description = [{
    `arguments` maps each argument of the operator to a constant, to `#aten.arg<i>` for operand `i`, or to an array of
    both (lists of tensors, sizes that mix constants and symbolic integers). Arguments that are None or say nothing
    about values (device, layout) are absent; in lists None is `unit`.

    ```mlir
    %1 = aten.call "aten.view.default"(%0, %b) {self = #aten.arg<0>, size = [#aten.arg<1>, 8, 64]}
        : (tensor<?x512xf32>, i64) -> tensor<?x8x64xf32>
    ```
  }];
  let arguments = (ins StrAttr:$target, Variadic<AnyType>:$inputs, DictionaryAttr:$arguments);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$target `(` $inputs `)` $arguments attr-dict `:` functional-type($inputs, $results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The target without its overload: "aten.add" of "aten.add.Tensor".
    StringRef getBase();
    /// The argument as it is written; null if it is absent.
    Attribute getArgument(StringRef name) { return getArguments().get(name); }
    /// The operand that an argument, or an element of a list argument, stands for; null if it is a constant or absent.
    Value getOperandOf(Attribute argument);
    Value getValue(StringRef name) { return getOperandOf(getArgument(name)); }
    /// Constant arguments; nothing if absent or not constant. Numbers convert where no digit is lost.
    std::optional<int64_t> getInt(StringRef name);
    std::optional<double> getFloat(StringRef name);
    std::optional<bool> getBool(StringRef name);
    std::optional<StringRef> getString(StringRef name);
    /// All elements of a list of constant integers; a single integer is a list of one.
    std::optional<SmallVector<int64_t>> getInts(StringRef name);
    /// A dimension number, counted from the front.
    std::optional<int64_t> getDim(StringRef name, int64_t rank);
  }];
}

#endif // MOE_MLIR_DIALECT_ATEN_IR_ATENOPS
