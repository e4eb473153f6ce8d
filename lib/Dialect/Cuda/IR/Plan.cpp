//===- Plan.cpp - how a kernel with products uses a block ---------------------------------------------------------===//

#include "moe-mlir/Dialect/Cuda/IR/Block.h"
#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::cuda;

int64_t mlir::cuda::blockColumnsOf(Value weight) {
  ArrayRef<int64_t> shape = cast<MemRefType>(weight.getType()).getShape();
  return shape.size() < 2 ? 0 : shape[shape.size() - 2];
}

int64_t mlir::cuda::stageBytesOf(kernel::FuncOp kernel) {
  int64_t rows = 0, columns = 0;
  kernel.walk([&](kernel::MmaOp mma) {
    // More than fits is reported as such, however much it is.
    columns = std::clamp(blockColumnsOf(mma.getB()), columns, sharedBytes);
    rows = std::clamp(mma.getAcc().getType().getRows(), rows, sharedBytes);
  });
  return (rows + columns) * rowBytes;
}

int64_t mlir::cuda::stepsOf(kernel::FuncOp kernel) {
  int64_t steps = 0;
  kernel.walk([&](kernel::MmaOp mma) {
    ArrayRef<int64_t> shape = cast<MemRefType>(mma.getB().getType()).getShape();
    if (shape.size() > 2)
      steps = std::max(steps, shape[shape.size() - 3]);
  });
  return steps;
}

std::optional<Strips> Strips::of(kernel::FuncOp kernel, int64_t most) {
  DenseSet<std::pair<int64_t, int64_t>> forms; // products of a tile, columns of each
  kernel.walk([&](kernel::RowTileOp tile) {
    int64_t products = 0, columns = 0;
    tile.walk([&](kernel::MmaOp mma) {
      columns = products++ && columns != mma.getAcc().getType().getColumns() ? 0 : mma.getAcc().getType().getColumns();
    });
    forms.insert({products, columns});
  });
  if (forms.size() != 1 || forms.begin()->second == 0 || forms.begin()->second % leastStripColumns)
    return std::nullopt;
  auto [products, columns] = *forms.begin();
  // A warpgroup has 64 columns and all rows, or, as both of gate and up must be in the same registers, half of the
  // rows.
  return Strips{products, columns, products == 1 && columns % most == 0 ? most : leastStripColumns};
}

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t stages, int64_t fewRows,
                               Arrival arrival, ProxyFence, int64_t loadRegisters, int64_t multiplyRegisters,
                               int64_t fewSteps, int64_t fewColumns) {
  // A stage is released one step late; with a lag, a warp arrives at least one step late too.
  int64_t fewest = arrival == Arrival::Lag ? 3 : 2;
  if (stages < fewest || stages > mostStages)
    return emitError() << "'stages' is " << stages << "; a ring with arrival = " << stringifyArrival(arrival) << " has "
                       << fewest << ".." << mostStages;
  if (fewRows < 0 || fewRows > mostFewRows || fewRows % fewRowsUnit)
    return emitError() << "'few_rows' is " << fewRows << "; the form for few rows has multiples of " << fewRowsUnit
                       << " up to " << mostFewRows << ", and 0 leaves it out";
  if (fewSteps < 1 || fewSteps > mostFewSteps)
    return emitError() << "'few_steps' is " << fewSteps << "; a stage holds 1.." << mostFewSteps
                       << " steps of K of few rows";
  if (fewColumns != leastStripColumns && fewColumns != mostStripColumns)
    return emitError() << "'few_columns' is " << fewColumns << "; a strip has " << leastStripColumns << " or "
                       << mostStripColumns << " columns";
  for (auto [name, registers] :
       {std::pair<StringRef, int64_t>{"load_registers", loadRegisters}, {"multiply_registers", multiplyRegisters}})
    if (registers < leastRegisters || registers > mostRegisters || registers % 8)
      return emitError() << "'" << name << "' is " << registers << "; a role has multiples of 8 in " << leastRegisters << ".."
                         << mostRegisters;
  int64_t all = loadingThreads * loadRegisters + multiplyingThreads * multiplyRegisters;
  constexpr int64_t threads = loadingThreads + multiplyingThreads, launched = threads * launchedRegisters(threads);
  if (all > launched)
    return emitError() << "the roles need " << all << " registers; a block of " << threads << " threads starts with "
                       << launched;
  return success();
}

LogicalResult PlanAttr::verifyFor(Operation *op) const {
  auto kernel = cast<kernel::FuncOp>(op);
  int64_t bytes = barrierBytes + getStages() * stageBytesOf(kernel);
  if (bytes > sharedBytes)
    return op->emitOpError() << getStages() << " stages need " << bytes << " bytes of shared memory; a block has "
                             << sharedBytes;
  std::optional<Strips> strips = Strips::of(kernel, getFewColumns());
  if (!strips || getFewRows() == 0 || getFewSteps() == 1)
    return success();
  bytes = getFewSteps() * strips->stepBytes(getFewRows());
  if (bytes > stageBytesOf(kernel))
    return op->emitOpError() << getFewSteps() << " steps of K of " << getFewRows() << " rows need " << bytes
                             << " bytes of a stage, which has " << stageBytesOf(kernel);
  return success();
}

LogicalResult RowPlanAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t threads, int64_t blocks) {
  if (threads < 32 || threads > threadsOfBlock || threads % 32)
    return emitError() << "'threads' is " << threads << "; a block has multiples of 32 in 32.." << threadsOfBlock;
  if (blocks < 1 || blocks > blocksOfSm)
    return emitError() << "'blocks_per_sm' is " << blocks << "; a multiprocessor has 1.." << blocksOfSm;
  if (threads * blocks > threadsOfSm)
    return emitError() << blocks << " blocks have " << threads * blocks << " threads; a multiprocessor has "
                       << threadsOfSm;
  return success();
}

LogicalResult RowPlanAttr::verifyFor(Operation *op) const {
  if (stageBytesOf(cast<kernel::FuncOp>(op)))
    return op->emitOpError() << "has products; its '" << kernel::planAttrName << "' for a GPU is a #cuda.plan";
  return success();
}

/// Of work for a block there is about one index for each multiprocessor: as many warps as fit share it.
RowPlanAttr RowPlanAttr::of(Operation *kernel, bool isBlockWork) {
  if (auto plan = kernel->getAttrOfType<RowPlanAttr>(kernel::planAttrName))
    return plan;
  return isBlockWork ? get(kernel->getContext(), threadsOfBlock, 1) : get(kernel->getContext(), 256, 4);
}

PlanAttr PlanAttr::of(Operation *kernel, TargetAttr target) {
  if (auto plan = kernel->getAttrOfType<PlanAttr>(kernel::planAttrName))
    return plan;
  return dyn_cast_or_null<PlanAttr>(target.choosePlan(kernel));
}

/// The most steps of K, of which there are `steps`, that a stage of few rows has room for, so that all stages are full.
static int64_t chooseFewSteps(int64_t steps, int64_t stageBytes, int64_t stepBytes) {
  const int64_t room = steps <= mostShortSteps ? stageBytes : std::min(stageBytes, longFewBytes);
  for (int64_t each = std::min(mostFewSteps, room / stepBytes); each > 1; --each)
    if (steps % each == 0)
      return each;
  return 1;
}

/// As many stages as fit: they only hide how long a load takes. The form for few rows always pays: where a kernel's
/// columns do not allow it, its lowering leaves it out. Its strips are narrow, so that a few tokens occupy more
/// multiprocessors, where a stage holds several steps of K of them. Copies announce themselves where a
/// tile has few steps: it starts sooner by a fixed time, against which stand a fence and more arrivals in each step.
Attribute TargetAttr::choosePlan(Operation *op) const {
  auto kernel = cast<kernel::FuncOp>(op);
  int64_t stage = stageBytesOf(kernel);
  auto isPlanned = [](Operation *op) {
    return isa<WarpRolesOp, MemberOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
  };
  if (kernel->walk(isPlanned).wasInterrupted())
    return {}; // the plan has become roles, or members have one
  if (!stage) {
    WalkResult shared = kernel->walk([](scf::ParallelOp) { return WalkResult::interrupt(); });
    return RowPlanAttr::of(kernel, shared.wasInterrupted());
  }
  int64_t stages = std::clamp<int64_t>(plannedBytes / stage, 3, mostStages), steps = stepsOf(kernel);
  Arrival arrival = steps <= mostNoincSteps ? Arrival::Noinc : Arrival::Lag;
  auto fewSteps = [&](int64_t columns) -> int64_t {
    std::optional<Strips> strips = Strips::of(kernel, columns);
    return strips ? chooseFewSteps(steps, stage, strips->stepBytes(plannedFewRows)) : 1;
  };
  int64_t columns = fewSteps(leastStripColumns) > 1 ? leastStripColumns : mostStripColumns;
  return PlanAttr::get(getContext(), stages, plannedFewRows, arrival, ProxyFence::Shared, /*load_registers=*/56,
                       /*multiply_registers=*/224, fewSteps(columns), columns);
}
