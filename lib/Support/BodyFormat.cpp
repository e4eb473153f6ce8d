//===- BodyFormat.cpp - the region of an op, as `custom<Body>` in its assembly format -----------------------------===//

#include "moe-mlir/Support/BodyFormat.h"

using namespace mlir;

static bool isInside(Operation *op, Region &region) {
  // What is above the region is not there yet: its chain of parents ends with it.
  for (Region *around = op->getParentRegion(); around; around = around->getParentRegion())
    if (around == &region)
      return true;
  return false;
}

/// A use of one of the region's values by an operation that is not in it, or null.
static OpOperand *findUseOutside(Region &region) {
  OpOperand *found = nullptr;
  auto look = [&](ValueRange values) {
    for (Value value : values)
      for (OpOperand &use : value.getUses())
        if (!isInside(use.getOwner(), region))
          found = &use;
  };
  region.walk([&](Block *block) {
    look(block->getArguments());
    for (Operation &op : *block)
      look(op.getResults());
  });
  return found;
}

ParseResult moe_mlir::parseBody(OpAsmParser &parser, Region &body) {
  ParseResult result = parser.parseRegion(body);
  if (OpOperand *use = findUseOutside(body)) {
    if (succeeded(result))
      emitError(use->getOwner()->getLoc(), "operand #")
          << use->getOperandNumber() << " is defined inside of an operation further down, and exists only there";
    for (Block &block : body)
      block.dropAllDefinedValueUses();
    return failure();
  }
  if (body.empty())
    body.emplaceBlock();
  return result;
}

void moe_mlir::printBody(OpAsmPrinter &printer, Operation *, Region &body) { printer.printRegion(body); }
