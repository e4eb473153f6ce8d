//===- Plan.cpp - how a kernel with products uses the caches ------------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/X86/IR/X86.h"

using namespace mlir;
using namespace mlir::x86;

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t blockAbove, int64_t blockBytes,
                               int64_t blockRows, int64_t streamAhead, int64_t spread) {
  for (auto [name, value, least, limit] :
       {std::tuple<StringRef, int64_t, int64_t, int64_t>{"block_above", blockAbove, 0, int64_t(1) << 40},
        {"block_bytes", blockBytes, 1 << 12, 1 << 26},
        {"block_rows", blockRows, 1, 1 << 16},
        {"stream_ahead", streamAhead, 0, 1 << 20},
        {"spread", spread, 0, 16}})
    if (value < least || value > limit)
      return emitError() << "'" << name << "' is " << value << "; it must be in " << least << ".." << limit;
  if (spread & (spread - 1))
    return emitError() << "'spread' is " << spread << "; it must be a power of two, or 0";
  return success();
}

LogicalResult PlanAttr::verifyFor(Operation *) const { return success(); }

FailureOr<PlanAttr> PlanAttr::of(Operation *kernel, TargetAttr target) {
  Attribute known = kernel->getAttr(kernel::planAttrName);
  if (!known)
    return llvm::cast_or_null<PlanAttr>(target.choosePlan(kernel));
  if (auto plan = dyn_cast<PlanAttr>(known))
    return plan;
  return kernel->emitOpError() << "'" << kernel::planAttrName << "' is for another target than " << target.describe();
}

/// A block of K stays in the first-level cache; matrix registers take it from the second. 384 rows have 96 KiB of sums
/// for 64 columns. A short column block fits the second-level cache as it is.
Attribute TargetAttr::choosePlan(Operation *kernel) const {
  bool hasProducts = false, runsOnMatrix = false;
  kernel->walk([&](kernel::MmaOp mma) {
    hasProducts = true;
    bool hasPairs = mma.getStep() == 2 && cast<MemRefType>(mma.getB().getType()).getElementType().isBF16();
    runsOnMatrix |= getMatrixRows() && hasPairs && mma.getAcc().getType().getRows() > getRows();
  });
  if (!hasProducts)
    return {};
  return PlanAttr::get(getContext(), /*block_above=*/256 << 10, /*block_bytes=*/(runsOnMatrix ? 256 : 64) << 10,
                       /*block_rows=*/384, getStreamAhead(), /*spread=*/4);
}
