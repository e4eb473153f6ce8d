//===- NnOps.cpp - rules of the nn ops ------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Support/ShapeCheck.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::nn;
using moe_mlir::NamedShape;

SmallVector<NamedShape> EmbeddingOp::getShapes() {
  return {{"ids", getIds(), {"..."}}, {"table", getTable(), {"V", "H"}}, {"result", getResult(), {"...", "H"}}};
}

LogicalResult EmbeddingOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  check.shapes(getShapes());
  check.sameElement("table", getTable().getType(), "result", getResult().getType());
  return check.result();
}

LogicalResult EmbeddingOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getAtAttr())
    return success();
  auto grid = symbols.lookupNearestSymbolFrom<shard::GridOp>(*this, getAtAttr());
  if (!grid)
    return emitOpError() << "names no shard.grid: " << getAtAttr();
  if (grid.getRank() != 1 || ShapedType::isDynamic(grid.getShape()[0]) || grid.getShape()[0] < 1)
    return emitOpError() << "has a part of a table for each rank of a grid of one dimension, whose size is known: "
                         << getAtAttr();
  if (ShapedType::isDynamic(cast<ShapedType>(getTable().getType()).getDimSize(0)))
    return emitOpError("has a part of a table whose number of rows is not known");
  return success();
}

SmallVector<NamedShape> LinearOp::getShapes() {
  SmallVector<NamedShape> shapes = {{"x", getX(), {"...", "K"}}, {"weight", getWeight(), {"N", "K"}}};
  if (getBias())
    shapes.push_back({"bias", getBias(), {"N"}});
  shapes.push_back({"result", getResult(), {"...", "N"}});
  return shapes;
}

template <typename Op> static LogicalResult verifyProduct(Op op) {
  moe_mlir::ShapeCheck check(op);
  check.shapes(op.getShapes());
  check.sameElement("x", op.getX().getType(), "weight", op.getWeight().getType());
  if (op.getBias())
    check.sameElement("weight", op.getWeight().getType(), "bias", op.getBias().getType());
  return check.result();
}

LogicalResult LinearOp::verify() { return verifyProduct(*this); }

SmallVector<NamedShape> BatchLinearOp::getShapes() {
  SmallVector<NamedShape> shapes = {{"x", getX(), {"...", "G", "K"}}, {"weight", getWeight(), {"G", "N", "K"}}};
  if (getBias())
    shapes.push_back({"bias", getBias(), {"G", "N"}});
  shapes.push_back({"result", getResult(), {"...", "G", "N"}});
  return shapes;
}

LogicalResult BatchLinearOp::verify() { return verifyProduct(*this); }

SmallVector<NamedShape> RmsNormOp::getShapes() {
  return {{"x", getX(), {"...", "N"}}, {"weight", getWeight(), {"N"}}, {"result", getResult(), {"...", "N"}}};
}

LogicalResult RmsNormOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  check.shapes(getShapes());
  check.sameElement("x", getX().getType(), "weight", getWeight().getType());
  if (failed(check.result()))
    return failure();
  if (!getEps().isFinite() || getEps().convertToDouble() < 0)
    return emitOpError() << "eps must be finite and not negative, got " << getEps().convertToDouble();
  return success();
}

SmallVector<NamedShape> RopeOp::getShapes() {
  return {{"x", getX(), {"B", "S", "N", "D"}},
          {"cos", getCos(), {"1|B", "S", "D"}},
          {"sin", getSin(), {"1|B", "S", "D"}},
          {"result", getResult(), {"B", "S", "N", "D"}}};
}

LogicalResult RopeOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  check.shapes(getShapes());
  check.sameElement("cos", getCos().getType(), "sin", getSin().getType());
  if (failed(check.result()))
    return failure();
  int64_t d = check.lookup("D");
  if (ShapedType::isDynamic(d) || d % 2)
    return emitOpError() << "needs an even, static D to split a head in halves, got x of type " << getX().getType();
  return success();
}

SmallVector<NamedShape> CacheUpdateOp::getShapes() {
  return {{"cache", getCache(), {"B", "N", "L", "D"}},
          {"rows", getRows(), {"B", "S", "N", "D"}},
          {"positions", getPositions(), {"B"}},
          {"result", getResult(), {"B", "N", "L", "D"}}};
}

LogicalResult CacheUpdateOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  check.shapes(getShapes());
  check.sameElement("cache", getCache().getType(), "rows", getRows().getType());
  if (failed(check.result()))
    return failure();
  int64_t s = check.lookup("S"), l = check.lookup("L");
  if (!ShapedType::isDynamic(s) && !ShapedType::isDynamic(l) && s > l)
    return emitOpError() << "writes " << s << " rows into a cache of " << l;
  return success();
}

SmallVector<NamedShape> AttentionOp::getShapes() {
  SmallVector<NamedShape> shapes = {{"query", getQuery(), {"B", "S", "N", "D"}},
                                    {"key", getKey(), {"B", "M", "L", "D"}},
                                    {"value", getValue(), {"B", "M", "L", "Dv"}}};
  if (getPositions())
    shapes.push_back({"positions", getPositions(), {"B"}});
  if (getLengths())
    shapes.push_back({"lengths", getLengths(), {"B"}});
  if (getMask())
    shapes.push_back({"mask", getMask(), {"1|B", "1|N", "S", "L"}});
  if (getSinks())
    shapes.push_back({"sinks", getSinks(), {"N"}});
  if (getBias())
    shapes.push_back({"bias", getBias(), {"1|B", "1|N", "S", "L"}});
  shapes.push_back({"result", getResult(), {"B", "S", "N", "Dv"}});
  return shapes;
}

LogicalResult AttentionOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  check.shapes(getShapes());
  check.sameElement("query", getQuery().getType(), "key", getKey().getType());
  check.sameElement("key", getKey().getType(), "value", getValue().getType());
  check.sameElement("query", getQuery().getType(), "result", getResult().getType());
  if (failed(check.result()))
    return failure();

  int64_t n = check.lookup("N"), m = check.lookup("M"), d = check.lookup("D"), dv = check.lookup("Dv");
  if (llvm::any_of(ArrayRef<int64_t>{n, m, d, dv}, ShapedType::isDynamic))
    return emitOpError("needs static numbers of heads and a static head size");
  if (m == 0 || n % m)
    return emitOpError() << n << " query heads do not share " << m << " key heads evenly";
  if (!getScale().isFinite())
    return emitOpError("scale must be finite");
  if (getWindow() && getWindowAttr().getInt() < 1)
    return emitOpError() << "window must be at least 1, got " << getWindowAttr().getInt();
  return success();
}
