//===- Roles.cpp - the warps of a block ---------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Cuda/IR/Block.h"
#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Support/FixedStrides.h"

using namespace mlir;
using namespace mlir::cuda;

LogicalResult RoleOp::verify() {
  if (getWarps() <= 0 || getWarps() % 4)
    return emitOpError() << "has " << getWarps() << " warps; registers are given to groups of 4";
  if (getWarps() > threadsOfBlock / 32)
    return emitOpError() << "has " << getWarps() << " warps; a block has " << threadsOfBlock / 32 << " at most";
  if (getRegisters() < leastRegisters || getRegisters() > mostRegisters || getRegisters() % 8)
    return emitOpError() << "has " << getRegisters() << " registers; a role has multiples of 8 in " << leastRegisters
                         << ".." << mostRegisters;
  return success();
}

/// ptxas finds a product's registers among those that a thread starts with, whatever its role gets later (C7602): its
/// accumulators, and two for each descriptor.
static LogicalResult verifyProducts(WarpRolesOp roles, int64_t threads) {
  const int64_t launched = launchedRegisters(threads);
  WalkResult result = roles.walk([&](Operation *op) -> WalkResult {
    if (!isa<WgmmaBf16Op, WgmmaF16Op>(op))
      return WalkResult::advance();
    int64_t columns = cast<AccumulatorsType>(op->getOperand(0).getType()).getColumns();
    if (columns / 2 + 4 <= launched)
      return WalkResult::advance();
    return op->emitOpError() << "has " << columns << " columns, of which a thread holds " << columns / 2
                             << " accumulators; in a block of " << threads << " threads it starts with " << launched
                             << " registers: lower 'columns' of 'kernel.target'";
  });
  return failure(result.wasInterrupted());
}

LogicalResult WarpRolesOp::verifyRegions() {
  if (!isa_and_nonnull<kernel::FuncOp>((*this)->getParentOp()))
    return emitOpError("is not at the top level of a kernel");
  for (Operation *op = (*this)->getPrevNode(); op; op = op->getPrevNode())
    if (isa<WarpRolesOp>(op))
      return emitOpError("is the second one of its kernel, which has one");
  int64_t warps = 0, registers = 0;
  llvm::SmallDenseSet<StringAttr> names;
  for (Operation &op : getBody().front()) {
    auto role = dyn_cast<RoleOp>(op);
    if (!role)
      return op.emitOpError("is among roles; all that warps do belongs to a cuda.role");
    if (!names.insert(role.getSymNameAttr()).second)
      return role.emitOpError() << "has the name of another role, '" << role.getSymName() << "'";
    warps += role.getWarps();
    registers += 32 * role.getWarps() * role.getRegisters();
  }
  if (warps == 0)
    return emitOpError("has no role");
  if (32 * warps > threadsOfBlock)
    return emitOpError() << "has " << warps << " warps; a block has " << threadsOfBlock / 32 << " at most";
  const int64_t threads = 32 * warps, launched = threads * launchedRegisters(threads);
  if (registers > launched)
    return emitOpError() << "has roles that need " << registers << " registers; a block of " << threads
                         << " threads starts with " << launched;
  if (failed(verifyProducts(*this, threads)))
    return failure();
  return verifyRings(*this);
}

LogicalResult TensorMapOp::verify() {
  auto type = cast<MemRefType>(getMatrix().getType());
  Type element = type.getElementType();
  if (!isa_and_nonnull<kernel::FuncOp>((*this)->getParentOp()))
    return emitOpError("is not at the top level of a kernel, whose arguments maps are");
  if (!element.isF32() && !element.isBF16() && !element.isF16())
    return emitOpError() << "has a matrix of " << element << "; kernels load f32, bf16 and f16 by maps";
  auto argument = dyn_cast<BlockArgument>(getMatrix());
  if (!argument || !isa_and_nonnull<kernel::FuncOp>(argument.getOwner()->getParentOp()))
    return emitOpError("has a matrix that is no argument of the kernel");
  if (type.getRank() < 2 || ShapedType::isDynamic(type.getShape().back()))
    return emitOpError("has a matrix without rows of a static size");
  // Of several dimensions only a matrix may have a dynamic one: its rows.
  if (type.getRank() > 2 && !type.hasStaticShape())
    return emitOpError("has a matrix of dynamic size, of which the number of rows is unknown");
  // A map has the pitch of whole rows, one behind the other.
  if (!moe_mlir::isContiguousFrom(type, 0))
    return emitOpError() << "has a matrix with gaps, " << type << "; a map takes rows one behind the other";
  if (getRows() < 1 || getRows() > 256)
    return emitOpError() << "has boxes of " << getRows() << " rows; a box has 1..256";
  return success();
}

LogicalResult AccumulatorsType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t columns) {
  if (columns < 8 || columns > 256 || columns % 8)
    return emitError() << "a product has multiples of 8 columns in 8..256, not " << columns;
  return success();
}
