//===- ExpertOp.cpp - rules of moe.expert -------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Support/ShapeCheck.h"

using namespace mlir;
using namespace mlir::moe;

static LogicalResult verifyShapes(ExpertOp op) {
  moe_mlir::ShapeCheck check(op);
  check.size("E", op.getLayout().getType().getExperts(), "layout");
  check.shape("rows", op.getRows().getType(), {"R", "H"});
  check.shape("w_in", op.getWIn().getType(), {"E", op.getGated() ? "2I" : "I", "H"});
  check.shape("w_out", op.getWOut().getType(), {"E", "O", "I"});
  if (op.getGated() && !ShapedType::isDynamic(check.lookup("I")))
    check.size("2I", 2 * check.lookup("I"), "w_out");
  if (op.getBIn())
    check.shape("bias_in", op.getBIn().getType(), {"E", op.getGated() ? "2I" : "I"});
  if (op.getBOut())
    check.shape("bias_out", op.getBOut().getType(), {"E", "O"});
  check.shape("result", op.getResult().getType(), {"R", "O"});
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
  return success();
}
