//===- BodyFormat.h - the region of an op, as `custom<Body>` in its assembly format ---------------------*- C++ -*-===//
//
// The parser that TableGen writes for `$body` frees the region where the region or what follows it is wrong. An
// operation further up may have taken a value of it as an operand, by a name that nothing had defined yet, and that
// operand would then be freed memory.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_SUPPORT_BODYFORMAT_H
#define MOE_MLIR_SUPPORT_BODYFORMAT_H

#include "mlir/IR/OpImplementation.h"

namespace moe_mlir {

/// A region with a block. Nothing outside of it uses its values, whether this succeeds or not.
mlir::ParseResult parseBody(mlir::OpAsmParser &parser, mlir::Region &body);
void printBody(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Region &body);

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_BODYFORMAT_H
