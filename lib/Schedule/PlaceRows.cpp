//===- PlaceRows.cpp - where experts find the rows of a dispatch --------------------------------------------------===//

#include "moe-mlir/Schedule/Decisions.h"
#include "moe-mlir/Schedule/Passes.h"

using namespace mlir;

namespace mlir::kernel {
#define GEN_PASS_DEF_GRAPHPLACEROWS
#include "moe-mlir/Schedule/Passes.h.inc"
} // namespace mlir::kernel

moe::Placement mlir::kernel::placementOf(moe::DispatchOp op) {
  return op.getPlacement().value_or(moe::Placement::Gathered);
}

std::string mlir::kernel::whyNotPlaced(moe::DispatchOp op, moe::Placement placement) {
  if (placement == moe::Placement::Gathered)
    return "";
  const std::string what = "has placement(" + moe::stringifyPlacement(placement).str() + "), but ";
  if (op.getWeights())
    return what + "its rows carry weights, which change them; they are gathered";
  for (OpOperand &use : op.getRows().getUses()) {
    auto expert = dyn_cast<moe::ExpertOp>(use.getOwner());
    if (!expert || expert.getRows() != use.get() || expert.getLayout() != op.getLayout())
      return what + "'" + use.getOwner()->getName().getStringRef().str() +
             "' reads its rows; only experts with its layout find them by index";
  }
  return "";
}

/// Whether the first product of an expert layer that reads the rows runs on matrix registers.
static bool areForMatrixRegisters(moe::DispatchOp op) {
  return llvm::any_of(op.getRows().getUsers(), [](Operation *user) {
    return isa<moe::ExpertOp>(user) && kernel::hasTiles(user) && kernel::tilesOf(user, 0).matrix;
  });
}

namespace {
struct GraphPlaceRows : kernel::impl::GraphPlaceRowsBase<GraphPlaceRows> {
  void runOnOperation() override {
    getOperation().walk([](moe::DispatchOp op) {
      if (op.getPlacement() || op.getTo()) // an exchange reads the tokens themselves
        return;
      moe::Placement wanted = areForMatrixRegisters(op) ? moe::Placement::Apart : moe::Placement::InPlace;
      op.setPlacement(kernel::whyNotPlaced(op, wanted).empty() ? wanted : moe::Placement::Gathered);
    });
  }
};
} // namespace
