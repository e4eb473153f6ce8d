//===- TopKOp.cpp - rules of nn.top_k -------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Support/ShapeCheck.h"

using namespace mlir;
using namespace mlir::nn;
using moe_mlir::NamedShape;

SmallVector<NamedShape> TopKOp::getShapes() {
  return {{"x", getX(), {"...", "N"}}, {"values", getValues(), {"...", "K"}}, {"indices", getIndices(), {"...", "K"}}};
}

LogicalResult TopKOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  check.shapes(getShapes());
  check.sameElement("x", getX().getType(), "values", getValues().getType());
  if (failed(check.result()))
    return failure();
  int64_t k = check.lookup("K"), n = check.lookup("N");
  if (ShapedType::isDynamic(k) != static_cast<bool>(getCount()))
    return emitOpError() << (getCount() ? "has a count, but its results say how many they are: "
                                        : "needs a count where its results do not say how many they are: ")
                         << getIndices().getType();
  if (!ShapedType::isDynamic(k) && !ShapedType::isDynamic(n) && k > n)
    return emitOpError() << "takes " << k << " elements of rows that have " << n;
  return success();
}
