//===- WholeProduct.h - products that say whether 64 bits hold them ------------------------------------------------===//
#ifndef MOE_MLIR_SUPPORT_WHOLEPRODUCT_H
#define MOE_MLIR_SUPPORT_WHOLEPRODUCT_H

#include "mlir/IR/Builders.h"

namespace moe_mlir {

struct WholeProduct {
  mlir::Value value;  ///< the lower 64 bits
  mlir::Value excess; ///< 0 if they are the product, as a signed number
};

/// Writes the product of two values of type index.
WholeProduct multiplyWhole(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y);

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_WHOLEPRODUCT_H
