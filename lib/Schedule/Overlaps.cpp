//===- Overlaps.cpp - whether the schedule of a layer can be carried out ------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/OverlapChain.h"
#include "moe-mlir/Schedule/Decisions.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;
using namespace mlir::kernel;

static int64_t ranksOf(moe::OverlapChain chain) {
  auto grid = SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(chain.there, chain.there.getGridAttr());
  return grid ? llvm::product_of(grid.getShape()) : 0;
}

/// The second product's columns fall into slices of whole blocks.
static std::string whyNotSliced(moe::ExpertOp op, int64_t slices) {
  const int64_t columns = cast<ShapedType>(op.getWOut().getType()).getDimSize(1);
  const int64_t block = tilesOf(op, 1).blockColumns, blocks = llvm::divideCeil(columns, block);
  if (slices == 1 || (columns % block == 0 && blocks % slices == 0))
    return "";
  return "has a schedule of " + std::to_string(slices) + " slices, but the second product's " +
         std::to_string(columns) + " columns stand in " + std::to_string(blocks) + " blocks of " +
         std::to_string(block) + ", which slices share equally";
}

std::string mlir::kernel::whyNeverOverlapped(moe::ExpertOp op) {
  std::string why;
  std::optional<moe::OverlapChain> chain = moe::OverlapChain::around(op, why);
  if (!chain)
    return why;
  const moe::Placement placement = placementOf(chain->here);
  TargetAttrInterface target = targetOf(op->getParentOfType<ModuleOp>());
  // A group of a CPU brings rows to where they stand apart, phase by phase.
  if (placement == moe::Placement::InPlace || (placement == moe::Placement::Apart && (!target || target.isHost())))
    return "";
  return "has rows of 'placement(" + moe::stringifyPlacement(placement).str() + ")', which come all at once";
}

std::string mlir::kernel::whyNotOverlapped(moe::ExpertOp op) {
  moe::ScheduleAttr schedule = op.getScheduleAttr();
  if (!schedule || !schedule.overlaps())
    return "";
  if (std::string why = whyNeverOverlapped(op); !why.empty())
    return "has a schedule that overlaps, but " + why + "; make it plain";
  // How many parts there are shows when the program runs.
  std::string none;
  const int64_t ranks = ranksOf(*moe::OverlapChain::around(op, none)), taken = llvm::sum_of(schedule.getSteps());
  if (!schedule.isByPart() && taken != ranks)
    return "has a schedule whose steps take the rows of " + std::to_string(taken) + " ranks, but there are " +
           std::to_string(ranks);
  return whyNotSliced(op, schedule.getSliceCount());
}
