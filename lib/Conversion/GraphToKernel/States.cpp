//===- States.cpp - when a state may be written -----------------------------------------------------------------===//
//
// A graph's values do not change, but a state has one buffer, for its old value and its next one. So the next value is
// written when nobody reads the old one any more: by an update in place after the last reader, by a copy at the end of
// the function after the copies of those states that take the old value, or of it the other way round, which a scratch
// buffer breaks.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::kernel;

Value mlir::kernel::bufferBehind(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

/// The value that shares the elements of operand `use` in memory once both are buffers: a view's, or the rows of a
/// dispatch, which experts read where the tokens are.
static Value aliasThrough(OpOperand &use) {
  Operation *user = use.getOwner();
  if (use.getOperandNumber() == 0 && isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                                         tensor::ReshapeOp, moe::DispatchOp>(user))
    return user->getResult(0);
  return Value();
}

bool mlir::kernel::mayUpdateInPlace(nn::CacheUpdateOp op) {
  Value cache = op.getCache();
  if (auto arg = dyn_cast<BlockArgument>(cache)) {
    auto func = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
    if (!func || !func.getArgAttr(arg.getArgNumber(), "moe.state"))
      return false;
    // A state that no result is the next value of keeps the one it has.
    bool isWritten = llvm::any_of(llvm::seq(func.getNumResults()), [&](unsigned result) {
      auto state = func.getResultAttrOfType<IntegerAttr>(result, "moe.state_of");
      return state && state.getInt() == arg.getArgNumber();
    });
    if (!isWritten)
      return false;
  } else if (!cache.getDefiningOp<nn::CacheUpdateOp>()) {
    return false;
  }
  SmallVector<Value> aliases = {cache};
  for (unsigned i = 0; i < aliases.size(); ++i)
    for (OpOperand &use : aliases[i].getUses()) {
      if (&use == &op.getCacheMutable())
        continue;
      Operation *user = use.getOwner();
      if (Value alias = aliasThrough(use))
        aliases.push_back(alias);
      else if (user->getBlock() != op->getBlock() || !user->isBeforeInBlock(op))
        return false;
    }
  return true;
}

void mlir::kernel::emitStateUpdates(GraphLowering &lowering, OpBuilder &host, Location loc,
                                    ArrayRef<StateUpdate> updates) {
  struct Pending {
    Value value, root, state;
  };
  SmallVector<Pending> pending;
  DenseMap<Value, unsigned> readers; ///< by state: those of the others that take its old value
  for (StateUpdate update : updates) {
    Value root = bufferBehind(update.value);
    if (root == update.state) // a view of all its elements, in their order
      continue;
    pending.push_back({update.value, root, update.state});
    ++readers[root];
  }
  while (!pending.empty()) {
    auto *next = llvm::find_if(pending, [&](const Pending &update) { return readers.lookup(update.state) == 0; });
    if (next != pending.end()) {
      emitCopy(lowering, host, loc, {next->value, {}, {}, {}}, {next->state, {}, {}, {}},
               sizesOf(host, loc, next->state));
      --readers[next->root];
      pending.erase(next);
      continue;
    }
    // Every one waits for another: they are cycles. One value aside breaks one.
    Pending &first = pending.front();
    SmallVector<OpFoldResult> sizes = sizesOf(host, loc, first.value);
    Value aside = allocate(host, loc, cast<MemRefType>(first.value.getType()), sizes);
    emitCopy(lowering, host, loc, {first.value, {}, {}, {}}, {aside, {}, {}, {}}, sizes);
    --readers[first.root];
    first.value = first.root = aside;
  }
}
