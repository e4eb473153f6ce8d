//===- NnRecurrentOps.cpp - rules of the nn ops that carry a state ------------------------------------------------===//

#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Support/ShapeCheck.h"

using namespace mlir;
using namespace mlir::nn;
using moe_mlir::NamedShape;

SmallVector<NamedShape> CausalConvOp::getShapes() {
  SmallVector<NamedShape> shapes = {{"x", getX(), {"B", "C", "L"}}, {"weight", getWeight(), {"C", "K"}}};
  if (getBias())
    shapes.push_back({"bias", getBias(), {"C"}});
  shapes.push_back({"result", getResult(), {"B", "C", "L"}});
  return shapes;
}

LogicalResult CausalConvOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  check.shapes(getShapes());
  check.sameElement("x", getX().getType(), "result", getResult().getType());
  if (failed(check.result()))
    return failure();
  int64_t columns = check.lookup("K");
  if (ShapedType::isDynamic(columns) || columns < 1)
    return emitOpError() << "needs a static number of columns that it sums, at least 1, got a weight of type "
                         << getWeight().getType();
  return success();
}

SmallVector<NamedShape> ScanOp::getShapes() {
  SmallVector<NamedShape> shapes = {{"query", getQuery(), {"B", "S", "M", "K"}},
                                    {"key", getKey(), {"B", "S", "M", "K"}},
                                    {"value", getValue(), {"B", "S", "N", "V"}}};
  NamedShape decay = {"decay", getDecay(), {"B", "S", "N"}};
  if (getRates())
    decay.dims.push_back("V");
  else if (hasChannelDecay())
    decay.dims.push_back("K");
  shapes.push_back(decay);
  if (getRates())
    shapes.push_back({"rates", getRates(), {"N", "K", "V"}});
  if (getBeta())
    shapes.push_back({"beta", getBeta(), {"B", "S", "N"}});
  shapes.push_back({"state", getState(), {"B", "N", "K", "V"}});
  shapes.push_back({"result", getResult(), {"B", "S", "N", "V"}});
  shapes.push_back({"next", getNext(), {"B", "N", "K", "V"}});
  return shapes;
}

LogicalResult ScanOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  check.shapes(getShapes());
  check.sameElement("query", getQuery().getType(), "key", getKey().getType());
  check.sameElement("value", getValue().getType(), "result", getResult().getType());
  if (failed(check.result()))
    return failure();

  int64_t n = check.lookup("N"), m = check.lookup("M");
  for (int64_t size : {n, m, check.lookup("K"), check.lookup("V")})
    if (ShapedType::isDynamic(size))
      return emitOpError("needs static numbers of heads and a static size of their matrices");
  if (m == 0 || n % m)
    return emitOpError() << n << " heads of values do not share " << m << " heads of keys evenly";
  return success();
}

int64_t ScanOp::sizeOf(StringRef letter) {
  moe_mlir::ShapeCheck check(*this);
  return check.shapes(getShapes()).lookup(letter);
}
