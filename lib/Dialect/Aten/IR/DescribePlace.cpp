//===- DescribePlace.cpp - where an op comes from, for messages ---------------------------------------------------===//

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

using namespace mlir;
using namespace mlir::aten;

/// The innermost name of a location is the node's, the one around it the module's.
static std::string describeNode(Location loc) {
  std::string text;
  loc->walk([&](Location part) {
    auto outer = dyn_cast<NameLoc>(part);
    if (!outer)
      return WalkResult::advance();
    auto inner = dyn_cast<NameLoc>(outer.getChildLoc());
    text = ", node '" + (inner ? inner : outer).getName().str() + "'";
    if (inner)
      text += " of " + outer.getName().str();
    return WalkResult::interrupt();
  });
  return text;
}

std::string mlir::aten::describePlace(Operation *op) {
  std::string text = " (" + (isa<CallOp>(op) ? cast<CallOp>(op).getTarget() : op->getName().getStringRef()).str();
  if (auto loc = op->getLoc()->findInstanceOf<FileLineColLoc>())
    text += " at " + loc.getFilename().str() + ":" + std::to_string(loc.getLine());
  return text + describeNode(op->getLoc()) + ")";
}
