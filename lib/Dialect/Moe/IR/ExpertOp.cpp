//===- ExpertOp.cpp - rules of moe.expert -------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Support/ScalarRegion.h"
#include "moe-mlir/Support/ShapeCheck.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::moe;
using moe_mlir::NamedShape;

SmallVector<NamedShape> ExpertOp::getShapes() {
  StringRef inner = getGated() ? "2I" : "I";
  SmallVector<NamedShape> shapes = {
      {"rows", getRows(), {"R", "H"}}, {"w_in", getWIn(), {"E", inner, "H"}}, {"w_out", getWOut(), {"E", "O", "I"}}};
  if (getBIn())
    shapes.push_back({"bias_in", getBIn(), {"E", inner}});
  if (getBOut())
    shapes.push_back({"bias_out", getBOut(), {"E", "O"}});
  shapes.push_back({"result", getResult(), {"R", "O"}});
  return shapes;
}

static LogicalResult verifyShapes(ExpertOp op) {
  moe_mlir::ShapeCheck check(op);
  check.size("E", op.getLayout().getType().getExperts(), "layout");
  SmallVector<NamedShape> shapes = op.getShapes();
  check.shapes(ArrayRef(shapes).take_front(3)); // rows, w_in, w_out
  if (op.getGated() && !ShapedType::isDynamic(check.lookup("I")))
    check.size("2I", 2 * check.lookup("I"), "w_out");
  check.shapes(ArrayRef(shapes).drop_front(3));
  check.sameElement("rows", op.getRows().getType(), "w_in", op.getWIn().getType());
  check.sameElement("w_in", op.getWIn().getType(), "w_out", op.getWOut().getType());
  if (op.getBIn())
    check.sameElement("w_in", op.getWIn().getType(), "bias_in", op.getBIn().getType());
  if (op.getBOut())
    check.sameElement("w_out", op.getWOut().getType(), "bias_out", op.getBOut().getType());
  return check.result();
}

LogicalResult ExpertOp::verify() {
  if (getInterleaved() && !getGated())
    return emitOpError("interleaved needs gated: it orders gate and up columns");
  if (failed(verifyShapes(*this)))
    return failure();
  for (auto [name, type] : {std::pair("w_in", getWIn().getType()), std::pair("w_out", getWOut().getType())})
    if (!cast<ShapedType>(type).hasStaticShape())
      return emitOpError() << name << " needs a static shape, got " << type;
  return success();
}

/// Every kernel can compute the activation, and reads tensors in it once for all rows.
static LogicalResult verifyActivation(Region &activation) {
  WalkResult result = activation.walk([&](Operation *op) -> WalkResult {
    if (StringRef why = moe_mlir::whyNotScalar(op); !why.empty())
      return op->emitOpError() << why;
    if (!isa<tensor::ExtractOp, tensor::DimOp>(op))
      return success();
    for (Value operand : op->getOperands())
      if (activation.isAncestor(operand.getParentRegion()) && !matchPattern(operand, m_Constant()))
        return op->emitOpError("in an activation reads a place that may depend on the row: indices are constants, or "
                               "values from outside");
    return success();
  });
  return failure(result.wasInterrupted());
}

LogicalResult ExpertOp::verifyRegions() {
  Block &block = getActivation().front();
  unsigned expected = getGated() ? 2 : 1;
  auto isF32 = [](Type type) { return type.isF32(); };
  if (block.getNumArguments() != expected || !llvm::all_of(block.getArgumentTypes(), isF32))
    return emitOpError() << "activation takes " << (getGated() ? "(gate: f32, up: f32)" : "one f32") << ", got ("
                         << block.getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("activation must end in moe.yield");
  if (yield.getValues().size() != 1 || !isF32(yield.getValues()[0].getType()))
    return emitOpError() << "activation yields one f32, got (" << yield.getValues().getTypes() << ")";
  return verifyActivation(getActivation());
}
