//===- DispatchOps.cpp - rules of moe.dispatch and moe.combine ----------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Support/ShapeCheck.h"

using namespace mlir;
using namespace mlir::moe;
using moe_mlir::NamedShape;

SmallVector<NamedShape> DispatchOp::getShapes() {
  SmallVector<NamedShape> shapes = {{"tokens", getTokens(), {"T", "H"}}, {"experts", getExperts(), {"T", "k"}}};
  if (getWeights())
    shapes.push_back({"weights", getWeights(), {"T", "k"}});
  shapes.push_back({"rows", getRows(), {"R", "H"}});
  return shapes;
}

LogicalResult DispatchOp::verify() {
  if (getNumExpertsAttr().getInt() < 1)
    return emitOpError() << "num_experts must be at least 1, got " << getNumExpertsAttr().getInt();
  if (getNumExpertsAttr().getInt() > kMaxExperts)
    return emitOpError() << "num_experts must be at most " << kMaxExperts << ", as ids are i32, got "
                         << getNumExpertsAttr().getInt();
  moe_mlir::ShapeCheck check(*this);
  check.size("E", getNumExperts(), "num_experts");
  if (OrderAttr order = getOrderAttr())
    check.size("E", order.getExperts().size(), "order");
  if (getTo() && getWeights())
    return emitOpError("has weights, which go with the rows of experts; send them along 'with' the exchange");
  if (getTo() && getPlacement())
    return emitOpError("has a placement, but the exchange takes rows that go 'to' ranks from the tokens");
  const int64_t groups = getLayout().getType().getExperts();
  SmallVector<NamedShape> shapes = getShapes();
  check.shapes(ArrayRef(shapes).drop_back());
  int64_t t = check.lookup("T"), k = check.lookup("k");
  if (getTo() && !ShapedType::isDynamic(t))
    check.size("R", t * groups, "T.W of layout");
  else if (!getTo() && !ShapedType::isDynamic(t) && !ShapedType::isDynamic(k))
    check.size("R", t * k, "T.k of experts");
  check.shapes(shapes.back());
  if (!getTo() && !getAt())
    check.size("E", groups, "layout");
  check.sameElement("tokens", getTokens().getType(), "rows", getRows().getType());
  return check.result();
}

/// From a node to its ranks.
static LogicalResult verifyInside(DispatchOp op, SymbolTableCollection &symbols) {
  FailureOr<int64_t> ranks = verifyGrid(op, op.getToAttr(), symbols), nodes = verifyGrid(op, op.getAtAttr(), symbols);
  if (failed(ranks) || failed(nodes))
    return failure();
  std::optional<GridAxis> local = axisOf(op, op.getToAttr()), node = axisOf(op, op.getAtAttr());
  if (!local || !node || local->grid != node->grid || local->behind != 1 || node->behind != *ranks || node->dim != 0)
    return op.emitOpError() << "goes 'to' " << op.getToAttr() << " 'at' " << op.getAtAttr()
                            << ", which must be the second and the first axis of one grid ('" << kAxisOfAttr << "')";
  const int64_t experts = op.getNumExperts(), groups = op.getLayout().getType().getExperts();
  if (experts % (*ranks * *nodes))
    return op.emitOpError() << "cannot divide " << experts << " experts equally among the " << *ranks * *nodes
                            << " ranks of " << node->grid;
  if (groups != *ranks)
    return op.emitOpError() << "goes to the " << *ranks << " ranks of " << op.getToAttr() << ", but its layout has "
                            << groups << " groups";
  return success();
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getToAttr() && getAtAttr())
    return verifyInside(*this, symbols);
  FlatSymbolRefAttr grid = getToAttr() ? getToAttr() : getAtAttr();
  if (!grid)
    return success();
  FailureOr<int64_t> ranks = verifyGrid(*this, grid, symbols);
  if (failed(ranks))
    return failure();
  const int64_t experts = getNumExperts(), groups = getLayout().getType().getExperts();
  if (experts % *ranks)
    return emitOpError() << "cannot divide " << experts << " experts equally among the " << *ranks << " ranks of "
                         << grid;
  if (getTo() && groups != *ranks)
    return emitOpError() << "goes to the " << *ranks << " ranks of " << grid << ", but its layout has " << groups
                         << " groups";
  if (getAt() && groups != experts / *ranks)
    return emitOpError() << "stands at one of the " << *ranks << " ranks of " << grid << ", which has "
                         << experts / *ranks << " of " << experts << " experts, but its layout has " << groups
                         << " groups";
  return success();
}

SmallVector<NamedShape> CombineOp::getShapes() {
  SmallVector<NamedShape> shapes = {{"rows", getRows(), {"R", "H"}}};
  if (getWeights())
    shapes.push_back({"weights", getWeights(), {"T", "k"}});
  shapes.push_back({"result", getResult(), {"T", "H"}});
  return shapes;
}

LogicalResult CombineOp::verify() {
  moe_mlir::ShapeCheck check(*this);
  SmallVector<NamedShape> shapes = getShapes();
  check.shapes(ArrayRef(shapes).drop_back());
  if (int64_t t = check.lookup("T"), k = check.lookup("k"); !ShapedType::isDynamic(t) && !ShapedType::isDynamic(k))
    check.size("R", t * k, "T.k of weights");
  check.shapes(shapes.back());
  if (failed(check.result()) || !getSum())
    return check.result();
  if (const int64_t groups = getLayout().getType().getExperts(), parts = getSum()->getGroups(); groups % parts)
    return emitOpError() << "sums by " << parts << " ranges, which do not divide the " << groups
                         << " groups of its layout";
  return success();
}
