//===- LoopClasses.cpp - which loops of a row program lanes may share ---------------------------------------------===//

#include "LoopClasses.h"

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <functional>
#include <optional>

using namespace mlir;
using namespace mlir::kernel;

bool kernel::writesMemory(Operation *op) {
  return op
      ->walk([](Operation *nested) {
        return isa<memref::StoreOp, vector::StoreOp>(nested) || isExchange(nested) ? WalkResult::interrupt()
                                                                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

bool kernel::isExchange(Operation *op) {
  return isa<PutOp, SignalOp, AwaitOp, AdvanceOp, ArriveOp, AwaitArrivalsOp>(op);
}

Value kernel::shiftOf(scf::ForOp loop, Value index) {
  Operation *op = index.getDefiningOp();
  bool isShifted = isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op) && op->getOperand(0) == loop.getInductionVar() &&
                   loop.isDefinedOutsideOfLoop(op->getOperand(1));
  return isShifted ? op->getOperand(1) : Value();
}

/// Whether `indices` are different in each iteration.
static bool areDistinct(scf::ForOp loop, ValueRange indices) {
  Value iv = loop.getInductionVar();
  if (llvm::any_of(indices, [&](Value index) { return index == iv || shiftOf(loop, index); }))
    return true;
  for (Value index : indices)
    if (auto quotient = index.getDefiningOp<arith::DivUIOp>(); quotient && quotient.getLhs() == iv)
      for (Value other : indices)
        if (auto remainder = other.getDefiningOp<arith::RemUIOp>();
            remainder && remainder.getLhs() == iv && remainder.getRhs() == quotient.getRhs())
          return true;
  return false;
}

bool kernel::hasIndependentStores(scf::ForOp loop, Value except) {
  if (loop->hasAttr(KernelDialect::getIndependentAttrName()))
    return true;
  DenseMap<Value, ValueRange> written;
  WalkResult stores = loop.walk([&](memref::StoreOp store) {
    if (store.getMemRef() == except)
      return WalkResult::advance();
    if (!areDistinct(loop, store.getIndices()))
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

FailureOr<SmallVector<Operation *>> kernel::sliceInLoop(scf::ForOp loop, Value value) {
  llvm::SmallPtrSet<Value, 4> written;
  loop.walk([&](memref::StoreOp store) { written.insert(store.getMemRef()); });
  SmallVector<Operation *> slice;
  llvm::SmallPtrSet<Operation *, 8> seen;
  std::function<bool(Value)> add = [&](Value v) {
    if (loop.isDefinedOutsideOfLoop(v) || v == loop.getInductionVar())
      return true;
    Operation *op = v.getDefiningOp();
    auto load = dyn_cast_or_null<memref::LoadOp>(op);
    if (!op || op->getNumRegions() > 0 || !(isMemoryEffectFree(op) || (load && !written.contains(load.getMemRef()))))
      return false;
    if (!seen.insert(op).second)
      return true;
    if (!llvm::all_of(op->getOperands(), add))
      return false;
    slice.push_back(op); // after what it uses
    return true;
  };
  if (!add(value))
    return failure();
  return slice;
}

Value kernel::cloneSlice(OpBuilder &b, ArrayRef<Operation *> slice, Value value, IRMapping &mapping) {
  for (Operation *op : slice)
    if (!mapping.contains(op->getResult(0)))
      b.clone(*op, mapping);
  return mapping.lookupOrDefault(value);
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
        *carried.user_begin() != combine || !carried.getType().isIntOrFloat() ||
        carried.getType().getIntOrFloatBitWidth() != 32) // which is what a shuffle exchanges
      return failure();
    std::optional<arith::AtomicRMWKind> kind = kindOf(combine);
    if (!kind)
      return failure();
    reductions.push_back({combine, *kind});
  }
  return reductions;
}
