//===- UpdateInPlace.cpp - when a cache may be written ------------------------------------------------------------===//

#include "moe-mlir/Schedule/Decisions.h"
#include "moe-mlir/Schedule/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace mlir::kernel {
#define GEN_PASS_DEF_GRAPHUPDATEINPLACE
#include "moe-mlir/Schedule/Passes.h.inc"
} // namespace mlir::kernel

/// The value that shares the elements of operand `use` in memory once both are buffers: a view's, or the rows of a
/// dispatch, which experts read where the tokens are.
static Value aliasThrough(OpOperand &use) {
  Operation *user = use.getOwner();
  if (use.getOperandNumber() == 0 && isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                                         tensor::ReshapeOp, moe::DispatchOp>(user))
    return user->getResult(0);
  return Value();
}

/// Whether a result of `func` is the next value of its argument `number`. A state without one keeps the value it has.
static bool isWritten(func::FuncOp func, unsigned number) {
  return llvm::any_of(llvm::seq(func.getNumResults()), [&](unsigned result) {
    auto state = func.getResultAttrOfType<IntegerAttr>(result, "moe.state_of");
    return state && state.getInt() == number;
  });
}

std::string mlir::kernel::whyNotInPlace(nn::CacheUpdateOp op) {
  Value cache = op.getCache();
  if (auto arg = dyn_cast<BlockArgument>(cache)) {
    auto func = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
    if (!func || !func.getArgAttr(arg.getArgNumber(), "moe.state"))
      return "writes into an argument that is no state";
    if (!isWritten(func, arg.getArgNumber()))
      return "writes into a state that keeps its value";
  } else if (!cache.getDefiningOp<nn::CacheUpdateOp>()) {
    return "writes into a cache that is neither a state nor the result of another update";
  }
  SmallVector<Value> aliases = {cache};
  for (unsigned i = 0; i < aliases.size(); ++i)
    for (OpOperand &use : aliases[i].getUses()) {
      Operation *user = use.getOwner();
      if (&use == &op.getCacheMutable() || isa<tensor::DimOp>(user)) // which reads no element
        continue;
      if (Value alias = aliasThrough(use))
        aliases.push_back(alias);
      else if (user->getBlock() != op->getBlock() || !user->isBeforeInBlock(op))
        return "writes into a cache whose old rows are read later";
    }
  return "";
}

namespace {
struct GraphUpdateInPlace : kernel::impl::GraphUpdateInPlaceBase<GraphUpdateInPlace> {
  void runOnOperation() override {
    getOperation().walk([](nn::CacheUpdateOp op) {
      if (op.getInPlace())
        return;
      std::string why = kernel::whyNotInPlace(op);
      op.setInPlace(why.empty());
      if (!why.empty())
        remark::missed(op.getLoc(), remark::RemarkOpts::name("Cache").category("graph-update-in-place"))
            << "the whole cache is copied before rows are written, because it " + why;
    });
  }
};
} // namespace
