//===- Aten.h - imported ATen calls ------------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_ATEN_IR_ATEN_H
#define MOE_MLIR_DIALECT_ATEN_IR_ATEN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "moe-mlir/Dialect/Aten/IR/AtenDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "moe-mlir/Dialect/Aten/IR/AtenAttrs.h.inc"
#define GET_OP_CLASSES
#include "moe-mlir/Dialect/Aten/IR/AtenOps.h.inc"

namespace mlir::aten {

/// True for "aten.add_.Tensor" and the like: the operator changes its first argument.
bool isInPlace(StringRef target);

/// The call that defines `value` if its base name is one of `bases`, else null.
CallOp getDefiningCall(Value value, ArrayRef<StringRef> bases);

/// What a number is computed from: elements of tensors, sizes of tensors, or both.
struct NumberOrigin {
  bool elements = false, sizes = false;
};
/// Says both of a number with more operations behind it than anybody writes.
NumberOrigin getOrigin(Value number);

/// Where an op comes from, for messages: " (aten.gather.default at model.py:7, node 'gather' of model.router)".
std::string describePlace(Operation *op);

} // namespace mlir::aten

#endif // MOE_MLIR_DIALECT_ATEN_IR_ATEN_H
