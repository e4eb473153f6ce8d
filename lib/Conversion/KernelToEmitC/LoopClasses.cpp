//===- LoopClasses.cpp - which loops of a row program lanes may share ---------------------------------------------===//

#include "LoopClasses.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

using namespace mlir;
using namespace mlir::kernel;

bool kernel::writesMemory(Operation *op) {
  return op->walk([](memref::StoreOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

bool kernel::hasIndependentStores(scf::ForOp loop) {
  DenseMap<Value, ValueRange> written;
  WalkResult stores = loop.walk([&](memref::StoreOp store) {
    if (!llvm::is_contained(store.getIndices(), loop.getInductionVar()))
      return WalkResult::interrupt();
    auto [entry, isNew] = written.try_emplace(store.getMemRef(), store.getIndices());
    return isNew || entry->second == store.getIndices() ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (stores.wasInterrupted())
    return false;
  WalkResult loads = loop.walk([&](memref::LoadOp load) {
    auto entry = written.find(load.getMemRef());
    return entry == written.end() || entry->second == load.getIndices() ? WalkResult::advance()
                                                                        : WalkResult::interrupt();
  });
  return !loads.wasInterrupted();
}

static std::optional<arith::AtomicRMWKind> kindOf(Operation *op) {
  // Without leave to reassociate, the order of a sum is part of the program.
  if (auto add = dyn_cast<arith::AddFOp>(op))
    return bitEnumContainsAll(add.getFastmath(), arith::FastMathFlags::reassoc)
               ? std::optional(arith::AtomicRMWKind::addf)
               : std::nullopt;
  if (isa<arith::AddIOp>(op))
    return arith::AtomicRMWKind::addi;
  if (isa<arith::MaximumFOp>(op))
    return arith::AtomicRMWKind::maximumf;
  if (isa<arith::MinimumFOp>(op))
    return arith::AtomicRMWKind::minimumf;
  if (isa<arith::MaxSIOp>(op))
    return arith::AtomicRMWKind::maxs;
  if (isa<arith::MinSIOp>(op))
    return arith::AtomicRMWKind::mins;
  return std::nullopt;
}

FailureOr<SmallVector<LaneReduction>> kernel::matchLaneReductions(scf::ForOp loop) {
  SmallVector<LaneReduction> reductions;
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [carried, next] : llvm::zip(loop.getRegionIterArgs(), yield.getResults())) {
    Operation *combine = next.getDefiningOp();
    if (!combine || combine->getBlock() != loop.getBody() || !carried.hasOneUse() || !next.hasOneUse() ||
        *carried.user_begin() != combine || !carried.getType().isIntOrFloat())
      return failure();
    std::optional<arith::AtomicRMWKind> kind = kindOf(combine);
    if (!kind)
      return failure();
    reductions.push_back({combine, *kind});
  }
  return reductions;
}
