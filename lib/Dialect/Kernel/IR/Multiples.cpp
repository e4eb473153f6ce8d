//===- Multiples.cpp - what is known of sizes and indices ---------------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Multiples.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

bool kernel::isMultipleOf(Value value, int64_t factor) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return *constant % factor == 0;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() && isMultipleOf(loop.getLowerBound(), factor) &&
           isMultipleOf(loop.getStep(), factor);
  }
  Operation *op = value.getDefiningOp();
  auto operand = [&](unsigned i) { return isMultipleOf(op->getOperand(i), factor); };
  if (isa<arith::MulIOp>(op))
    return operand(0) || operand(1);
  return isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp>(op) && operand(0) && operand(1);
}
