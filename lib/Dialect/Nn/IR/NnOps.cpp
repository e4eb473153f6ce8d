//===- NnOps.cpp - rules of the nn ops ------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Support/ShapeCheck.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::nn;

#define GET_OP_CLASSES
#include "moe-mlir/Dialect/Nn/IR/NnOps.cpp.inc"

LogicalResult EmbeddingOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  check.shape("ids", getIds().getType(), {"..."});
  check.shape("table", getTable().getType(), {"V", "H"});
  check.shape("result", getResult().getType(), {"...", "H"});
  check.sameElement("table", getTable().getType(), "result", getResult().getType());
  return check.result();
}

LogicalResult LinearOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  check.shape("x", getX().getType(), {"...", "K"});
  check.shape("weight", getWeight().getType(), {"N", "K"});
  if (getBias())
    check.shape("bias", getBias().getType(), {"N"});
  check.shape("result", getResult().getType(), {"...", "N"});
  check.sameElement("x", getX().getType(), "weight", getWeight().getType());
  if (getBias())
    check.sameElement("weight", getWeight().getType(), "bias", getBias().getType());
  return check.result();
}

LogicalResult RmsNormOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  check.shape("x", getX().getType(), {"...", "N"});
  check.shape("weight", getWeight().getType(), {"N"});
  check.sameElement("x", getX().getType(), "weight", getWeight().getType());
  if (failed(check.result()))
    return failure();
  if (!getEps().isFinite() || getEps().convertToDouble() < 0)
    return emitOpError() << "eps must be finite and not negative, got " << getEps().convertToDouble();
  return success();
}

LogicalResult RopeOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  check.shape("x", getX().getType(), {"B", "S", "N", "D"});
  check.shape("cos", getCos().getType(), {"1|B", "S", "D"});
  check.shape("sin", getSin().getType(), {"1|B", "S", "D"});
  check.sameElement("cos", getCos().getType(), "sin", getSin().getType());
  if (failed(check.result()))
    return failure();
  int64_t d = check.lookup("D");
  if (ShapedType::isDynamic(d) || d % 2)
    return emitOpError() << "needs an even, static D to split a head in halves, got x of type " << getX().getType();
  return success();
}

LogicalResult CacheUpdateOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  check.shape("cache", getCache().getType(), {"B", "N", "L", "D"});
  check.shape("rows", getRows().getType(), {"B", "S", "N", "D"});
  check.shape("positions", getPositions().getType(), {"B"});
  check.sameElement("cache", getCache().getType(), "rows", getRows().getType());
  if (failed(check.result()))
    return failure();
  int64_t s = check.lookup("S"), l = check.lookup("L");
  if (!ShapedType::isDynamic(s) && !ShapedType::isDynamic(l) && s > l)
    return emitOpError() << "writes " << s << " rows into a cache of " << l;
  return success();
}

LogicalResult AttentionOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  check.shape("query", getQuery().getType(), {"B", "S", "N", "D"});
  check.shape("key", getKey().getType(), {"B", "M", "L", "D"});
  check.shape("value", getValue().getType(), {"B", "M", "L", "D"});
  if (getPositions())
    check.shape("positions", getPositions().getType(), {"B"});
  if (getLengths())
    check.shape("lengths", getLengths().getType(), {"B"});
  if (getMask())
    check.shape("mask", getMask().getType(), {"1|B", "1|N", "S", "L"});
  check.shape("result", getResult().getType(), {"B", "S", "N", "D"});
  check.sameElement("query", getQuery().getType(), "key", getKey().getType());
  check.sameElement("key", getKey().getType(), "value", getValue().getType());
  check.sameElement("query", getQuery().getType(), "result", getResult().getType());
  if (failed(check.result()))
    return failure();

  int64_t n = check.lookup("N"), m = check.lookup("M"), d = check.lookup("D");
  if (ShapedType::isDynamic(n) || ShapedType::isDynamic(m) || ShapedType::isDynamic(d))
    return emitOpError("needs static numbers of heads and a static head size");
  if (m == 0 || n % m)
    return emitOpError() << n << " query heads do not share " << m << " key heads evenly";
  if (!getScale().isFinite())
    return emitOpError("scale must be finite");
  if (getWindow() && getWindowAttr().getInt() < 1)
    return emitOpError() << "window must be at least 1, got " << getWindowAttr().getInt();
  return success();
}
