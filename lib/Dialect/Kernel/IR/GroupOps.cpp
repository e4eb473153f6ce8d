//===- GroupOps.cpp - verifiers of launches that run at the same time ---------------------------------------------===//

#include "InKernel.h"

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

using namespace mlir;
using namespace mlir::kernel;

/// More blocks or phases than any schedule has, and few enough that their products are numbers.
static constexpr int64_t most = 1 << 20;

LogicalResult LaunchOp::verify() {
  if (getBlocks() && getSingle())
    return emitOpError("has both 'single' and 'blocks'; leave one out");
  for (auto [name, number, least] : {std::tuple<StringRef, std::optional<uint64_t>, int64_t>{"blocks", getBlocks(), 1},
                                     {"phases", getPhases(), 1},
                                     {"lag", getLag(), 0}})
    if (number && (static_cast<int64_t>(*number) < least || static_cast<int64_t>(*number) > most))
      return emitOpError() << name << " must be from " << least << " to " << most << ", got "
                           << static_cast<int64_t>(*number);
  if (getLag() && !isa<LaunchGroupOp>((*this)->getParentOp()))
    return emitOpError("says by 'lag' how it stands to the other launches of a kernel.launch_group, but is in none");
  return success();
}

LogicalResult LaunchGroupOp::verify() {
  if (getBody().front().empty())
    return emitOpError("has no launch");
  for (Operation &op : getBody().front())
    if (!isa<LaunchOp>(op))
      return op.emitOpError("stands in a kernel.launch_group, which has launches only; move it in front of the group");
  return success();
}

LogicalResult PhaseOp::verify() {
  if (failed(verifyInKernel(*this)))
    return failure();
  Operation *parent = (*this)->getParentOp();
  if (!isa<FunctionOpInterface>(parent))
    return emitOpError("stands in a loop or a branch; a kernel asks for its phase at its top level");
  for (auto other : (*this)->getBlock()->getOps<PhaseOp>())
    if (other != *this)
      return emitOpError("stands a second time in its kernel");
  return success();
}

/// A counter is an element of a buffer that the kernel takes.
static LogicalResult verifyCounter(Operation *op, Value counters) {
  if (failed(verifyInKernel(op)))
    return failure();
  if (!cast<MemRefType>(counters.getType()).getLayout().isIdentity())
    return op->emitOpError() << "counters must be a contiguous memref, got " << counters.getType();
  return success();
}

LogicalResult ArriveOp::verify() { return verifyCounter(*this, getCounters()); }
LogicalResult AwaitArrivalsOp::verify() { return verifyCounter(*this, getCounters()); }
