//===- WholeProduct.cpp - products that say whether 64 bits hold them ----------------------------------------------===//

#include "moe-mlir/Support/WholeProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

moe_mlir::WholeProduct moe_mlir::multiplyWhole(OpBuilder &b, Location loc, Value x, Value y) {
  auto product = arith::MulSIExtendedOp::create(b, loc, x, y);
  // If the lower half is the product, all bits of the upper half are its sign.
  Value sign = arith::ShRSIOp::create(b, loc, product.getLow(), arith::ConstantIndexOp::create(b, loc, 63));
  return {product.getLow(), arith::XOrIOp::create(b, loc, product.getHigh(), sign)};
}
