//===- AllToAllOp.cpp - rules of moe.all_to_all -------------------------------------------------------------------===//
//
// An exchange and its way back belong to one dispatch: its layout says which rows go where. So the verifier follows
// layouts to the ops that made them.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Support/ShapeCheck.h"

using namespace mlir;
using namespace mlir::moe;
using moe_mlir::NamedShape;

AllToAllOp AllToAllOp::getExchange() {
  auto exchange = getInverse() ? getLayout().getDefiningOp<AllToAllOp>() : AllToAllOp();
  return exchange && !exchange.getInverse() ? exchange : AllToAllOp();
}

DispatchOp AllToAllOp::getDispatch() {
  AllToAllOp there = getInverse() ? getExchange() : *this;
  return there ? there.getLayout().getDefiningOp<DispatchOp>() : DispatchOp();
}

/// "T" and "W" are those of the dispatch's tokens, "R" the rows that are sent and "S" those that are received. The
/// trailing sizes of a companion have names of their own.
SmallVector<NamedShape> AllToAllOp::getShapes() {
  auto keep = [&](const Twine &text) { return StringAttr::get(getContext(), text).getValue(); };
  auto companion = [&](StringRef what, StringRef rows, unsigned number, Value value) {
    NamedShape shape = {keep(what + " " + Twine(number)), value, {rows}};
    for (int64_t dim = 1, rank = cast<ShapedType>(value.getType()).getRank(); dim < rank; ++dim)
      shape.dims.push_back(keep("C" + Twine(number) + "." + Twine(dim)));
    return shape;
  };
  StringRef from = getInverse() ? "S" : "R", to = getInverse() ? "R" : "S";
  SmallVector<NamedShape> shapes = {{"rows", getRows(), {from, "H"}}};
  for (auto [i, value] : llvm::enumerate(getCompanions()))
    shapes.push_back(companion("companion", "T", i, value));
  shapes.push_back({"result", getResult(), {to, "H"}});
  for (auto [i, value] : llvm::enumerate(getReceived()))
    shapes.push_back(companion("received companion", "S", i, value));
  return shapes;
}

static LogicalResult verifyThere(AllToAllOp op) {
  if (op.getResultLayout().getType().getExperts() != 1)
    return op.emitOpError() << "receives rows of one group, but its layout has "
                            << op.getResultLayout().getType().getExperts();
  for (Value value : op->getResults())
    if (auto type = dyn_cast<ShapedType>(value.getType()); type && !type.isDynamicDim(0))
      return op.emitOpError() << "receives as many rows as all ranks need, which only a run knows; dimension 0 of "
                              << value.getType() << " must be dynamic";
  return success();
}

static LogicalResult verifyReturn(AllToAllOp op) {
  if (!op.getCompanions().empty() || op.getVia())
    return op.emitOpError("goes back the way of its exchange, without companions: 'with' and 'via' belong there");
  AllToAllOp there = op.getExchange();
  if (!there || there.getGridAttr() != op.getGridAttr())
    return op.emitOpError() << "needs the layout that a moe.all_to_all on " << op.getGridAttr() << " received";
  if (op.getResultLayout().getType() != there.getLayout().getType())
    return op.emitOpError() << "gives back the rows of " << there.getLayout().getType() << ", but its layout is "
                            << op.getResultLayout().getType();
  return success();
}

LogicalResult AllToAllOp::verify() {
  if (getCompanions().size() != getReceived().size())
    return emitOpError() << "sends " << getCompanions().size() << " companions, but receives " << getReceived().size();
  for (auto [sent, received] : llvm::zip_equal(getCompanions(), getReceived()))
    for (Value value : {Value(sent), Value(received)})
      if (auto type = dyn_cast<RankedTensorType>(value.getType()); !type || type.getRank() == 0)
        return emitOpError() << "expected companions of shape [T, ...], got " << value.getType();
  moe_mlir::ShapeCheck check(*this);
  SmallVector<NamedShape> shapes = getShapes();
  check.shapes(shapes);
  check.sameElement("rows", getRows().getType(), "result", getResult().getType());
  for (auto [sent, received] : llvm::zip_equal(getCompanions(), getReceived()))
    check.sameElement("companion", sent.getType(), "received companion", received.getType());
  if (failed(check.result()))
    return failure();
  return getInverse() ? verifyReturn(*this) : verifyThere(*this);
}

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyGrid(*this, getGridAttr(), symbols)))
    return failure();
  if (getInverse())
    return success();
  DispatchOp dispatch = getDispatch();
  if (!dispatch || dispatch.getToAttr() != getGridAttr())
    return emitOpError() << "needs the layout of a moe.dispatch 'to' " << getGridAttr();
  if (getRows() != dispatch.getRows())
    return emitOpError("needs the rows of the dispatch that made its layout");
  return success();
}
