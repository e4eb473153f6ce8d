//===- States.cpp - in which order states are written -----------------------------------------------------------===//
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
