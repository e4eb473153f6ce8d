//===- TokenPasses.cpp - rules of exchanges of some of the tokens at a time ---------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/TokenPasses.h"

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::kernel;

LogicalResult kernel::verifyPassTokens(Operation *op, Attribute value) {
  // The dialect does not depend on theirs.
  StringRef name = op->getName().getStringRef();
  auto tokens = dyn_cast<IntegerAttr>(value);
  const bool isNumber =
      tokens && tokens.getType().isSignlessInteger(64) && tokens.getInt() >= 1 && tokens.getInt() <= INT32_MAX;
  const bool isOfRows = name == "shard.all_reduce" || name == "shard.all_gather";
  if (isNumber && (isOfRows || (name == "moe.all_to_all" && !op->hasAttr("inverse"))))
    return success();
  return op->emitOpError() << "'" << passTokensAttrName
                           << "' is the number of tokens of a pass, at least 1, of a moe.all_to_all that is no "
                              "'return', or of a shard.all_reduce or shard.all_gather, got "
                           << value;
}

LogicalResult kernel::verifyPasses(Operation *op, Attribute value) {
  // Attributes come before the op's own rules: its body may be none.
  if (!isa<UnitAttr>(value) || !isa<scf::ForOp>(op) || op->getNumResults() || op->getNumRegions() != 1 ||
      !op->getRegion(0).hasOneBlock())
    return op->emitOpError() << "'" << passesAttrName << "' is a unit attribute of an scf.for without results";
  if (!isa_and_present<FunctionOpInterface>(op->getParentOp()))
    return op->emitOpError("is a loop over passes inside a region; a host function has them at its top level");
  for (Operation &inside : op->getRegion(0).front())
    if (!isa<LaunchOp, LaunchGroupOp, CheckOp>(inside) && !isMemoryEffectFree(&inside))
      return inside.emitOpError("stands in a loop over passes, which holds launches and what computes their operands");
  return success();
}

std::optional<int64_t> kernel::passTokensOf(Operation *op) {
  auto tokens = op->getAttrOfType<IntegerAttr>(passTokensAttrName);
  return tokens ? std::make_optional(tokens.getInt()) : std::nullopt;
}

scf::ForOp kernel::asPasses(Operation *op) {
  return op && op->hasAttr(passesAttrName) ? dyn_cast<scf::ForOp>(op) : scf::ForOp();
}

scf::ForOp kernel::passesAround(Operation *op) {
  Operation *parent = op->getParentOp();
  return asPasses(isa_and_present<LaunchGroupOp>(parent) ? parent->getParentOp() : parent);
}
