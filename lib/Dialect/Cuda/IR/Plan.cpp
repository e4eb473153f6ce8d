//===- Plan.cpp - how a kernel with products uses a block ---------------------------------------------------------===//

#include "moe-mlir/Dialect/Cuda/IR/Block.h"
#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"

using namespace mlir;
using namespace mlir::cuda;

int64_t mlir::cuda::blockColumnsOf(Value weight) {
  ArrayRef<int64_t> shape = cast<MemRefType>(weight.getType()).getShape();
  return shape.size() < 2 ? 0 : shape[shape.size() - 2];
}

int64_t mlir::cuda::stageBytesOf(kernel::FuncOp kernel) {
  int64_t rows = 0, columns = 0;
  kernel.walk([&](kernel::MmaOp mma) {
    columns = std::max(columns, blockColumnsOf(mma.getB()));
    rows = std::max(rows, mma.getAcc().getType().getRows());
  });
  return (rows + columns) * rowBytes;
}

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t stages, int64_t fewRows,
                               Arrival arrival, ProxyFence, int64_t loadRegisters, int64_t multiplyRegisters) {
  // A stage is released one step late; with a lag, a warp arrives at least one step late too.
  int64_t fewest = arrival == Arrival::Lag ? 3 : 2;
  if (stages < fewest || stages > mostStages)
    return emitError() << "'stages' is " << stages << "; a ring with arrival = " << stringifyArrival(arrival) << " has "
                       << fewest << ".." << mostStages;
  if (fewRows < 0 || fewRows > mostFewRows || fewRows % fewRowsUnit)
    return emitError() << "'few_rows' is " << fewRows << "; the form for few rows has multiples of " << fewRowsUnit
                       << " up to " << mostFewRows << ", and 0 leaves it out";
  for (auto [name, registers] :
       {std::pair<StringRef, int64_t>{"load_registers", loadRegisters}, {"multiply_registers", multiplyRegisters}})
    if (registers < 24 || registers > 240 || registers % 8)
      return emitError() << "'" << name << "' is " << registers << "; a role has multiples of 8 in 24..240";
  int64_t all = loadingThreads * loadRegisters + multiplyingThreads * multiplyRegisters;
  if (all > registersOfBlock)
    return emitError() << "the roles need " << all << " registers; a multiprocessor has " << registersOfBlock;
  return success();
}

LogicalResult PlanAttr::verifyFor(Operation *op) const {
  int64_t bytes = barrierBytes + getStages() * stageBytesOf(cast<kernel::FuncOp>(op));
  if (bytes > sharedBytes)
    return op->emitOpError() << getStages() << " stages need " << bytes << " bytes of shared memory; a block has "
                             << sharedBytes;
  return success();
}

/// As many stages as fit: they only hide how long a load takes. The form for few rows always pays: where a kernel's
/// columns do not allow it, its lowering leaves it out.
Attribute TargetAttr::choosePlan(Operation *kernel) const {
  int64_t stage = stageBytesOf(cast<kernel::FuncOp>(kernel));
  if (!stage)
    return {};
  int64_t stages = std::clamp<int64_t>(plannedBytes / stage, 3, mostStages);
  return PlanAttr::get(getContext(), stages, /*few_rows=*/16, Arrival::Lag, ProxyFence::Shared,
                       /*load_registers=*/56, /*multiply_registers=*/224);
}
