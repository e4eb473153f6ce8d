//===- VectorLoops.cpp - loops over rows, by lanes that take 16 bytes at a time -----------------------------------===//
//
// Lane l takes the iterations [l * n, l * n + n), then those 32 * n further on: one load or store of 16 bytes (fewer
// for the narrower of two types) stands for n of a row's elements. The values between them stay scalar, in a loop that
// is unrolled.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "LaneDistribution.h"

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/IR/Multiples.h"

#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::kernel;

static constexpr int64_t kVectorBytes = 16;

/// A load or store of consecutive elements in consecutive iterations.
static bool isAlongRow(scf::ForOp loop, ValueRange indices) {
  return !indices.empty() && (indices.back() == loop.getInductionVar() || shiftOf(loop, indices.back())) &&
         llvm::all_of(indices.drop_back(), [&](Value index) { return loop.isDefinedOutsideOfLoop(index); });
}

int64_t kernel::vectorLength(scf::ForOp loop) {
  if (getConstantIntValue(loop.getStep()) != 1)
    return 0;
  int64_t bytes = 0, length = 0;
  SmallVector<MemRefType> rows;
  SmallVector<Value> shifts;
  llvm::SmallPtrSet<Value, 2> written;
  for (Operation &op : loop.getBody()->without_terminator()) {
    auto load = dyn_cast<memref::LoadOp>(op);
    auto store = dyn_cast<memref::StoreOp>(op);
    if (!load && !store && (op.getNumRegions() > 0 || !isMemoryEffectFree(&op)))
      return 0;
    if (store && !isAlongRow(loop, store.getIndices()))
      return 0;
    // Loads come first, all of a lane's at once.
    if (load && written.contains(load.getMemRef()))
      return 0;
    if (store)
      written.insert(store.getMemRef());
    if (!store && !(load && isAlongRow(loop, load.getIndices())))
      continue;
    rows.push_back(load ? load.getMemRefType() : store.getMemRefType());
    if (Value shift = shiftOf(loop, load ? load.getIndices().back() : store.getIndices().back()))
      shifts.push_back(shift);
  }
  for (MemRefType row : rows) {
    Type element = row.getElementType();
    if (!element.isIntOrFloat() || (element.getIntOrFloatBitWidth() != 16 && element.getIntOrFloatBitWidth() != 32))
      return 0;
    bytes = std::max<int64_t>(bytes, element.getIntOrFloatBitWidth() / 8);
  }
  if (!bytes)
    return 0;
  length = kVectorBytes / bytes;
  // Every row starts at a multiple, and is long enough for all lanes.
  for (MemRefType row : rows)
    if (row.isDynamicDim(row.getRank() - 1) || row.getShape().back() % length ||
        row.getShape().back() < kLanes * length)
      return 0;
  if (!llvm::all_of(shifts, [&](Value shift) { return isMultipleOf(shift, length); }))
    return 0;
  return isMultipleOf(loop.getLowerBound(), length) && isMultipleOf(loop.getUpperBound(), length) ? length : 0;
}

scf::ForOp LaneDistribution::byVectors(scf::ForOp loop, int64_t length, MutableArrayRef<LaneReduction> reductions) {
  Location loc = loop.getLoc();
  b.setInsertionPoint(loop);
  auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, loc, value); };
  auto vectorOf = [&](Type element) { return VectorType::get({length}, element); };
  auto vectors = scf::ForOp::create(b, loc, loop.getLowerBound(), loop.getUpperBound(), index(length), loop.getInits());
  b.setInsertionPointToStart(vectors.getBody());
  IRMapping outer;
  outer.map(loop.getInductionVar(), vectors.getInductionVar());
  auto place = [&](Value index) -> Value {
    return shiftOf(loop, index) ? b.clone(*index.getDefiningOp(), outer)->getResult(0) : outer.lookupOrDefault(index);
  };
  DenseMap<Operation *, Value> loaded;
  SmallVector<memref::StoreOp> stores;
  SmallVector<Value> carried(vectors.getRegionIterArgs());
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto load = dyn_cast<memref::LoadOp>(op); load && isAlongRow(loop, load.getIndices())) {
      SmallVector<Value> at = llvm::map_to_vector(load.getIndices(), place);
      loaded[&op] = vector::LoadOp::create(b, loc, vectorOf(load.getType()), load.getMemRef(), at);
    } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
      stores.push_back(store);
      auto type = vectorOf(store.getMemRefType().getElementType());
      carried.push_back(ub::PoisonOp::create(b, loc, type, nullptr)); // every element is set
    }
  }
  auto elements = scf::ForOp::create(b, loc, index(0), index(length), index(1), carried);
  elements->setAttr(kUnrollAttr, b.getUnitAttr());
  b.setInsertionPointToStart(elements.getBody());
  Value i = elements.getInductionVar();
  IRMapping inner;
  inner.map(loop.getInductionVar(), arith::AddIOp::create(b, loc, vectors.getInductionVar(), i));
  inner.map(loop.getRegionIterArgs(), elements.getRegionIterArgs().take_front(loop.getNumRegionIterArgs()));
  SmallVector<Value> filled(elements.getRegionIterArgs().drop_front(loop.getNumRegionIterArgs()));
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (Value vector = loaded.lookup(&op)) {
      inner.map(op.getResult(0), vector::ExtractOp::create(b, loc, vector, i));
    } else if (auto *found = llvm::find(stores, dyn_cast<memref::StoreOp>(op)); found != stores.end()) {
      Value &vector = filled[found - stores.begin()];
      vector = vector::InsertOp::create(b, loc, inner.lookupOrDefault(found->getValue()), vector, i);
    } else {
      b.clone(op, inner);
    }
  }
  for (LaneReduction &reduction : reductions)
    reduction.combine = inner.lookup(reduction.combine);
  SmallVector<Value> next;
  for (Value value : loop.getBody()->getTerminator()->getOperands())
    next.push_back(inner.lookupOrDefault(value));
  next.append(filled);
  scf::YieldOp::create(b, loc, next);
  b.setInsertionPointAfter(elements);
  ValueRange results = elements.getResults();
  for (auto [store, vector] : llvm::zip(stores, results.drop_front(loop.getNumResults()))) {
    SmallVector<Value> at = llvm::map_to_vector(store.getIndices(), place);
    vector::StoreOp::create(b, loc, vector, store.getMemRef(), at);
  }
  if (loop.getNumResults() > 0)
    scf::YieldOp::create(b, loc, results.take_front(loop.getNumResults()));
  loop.replaceAllUsesWith(vectors.getResults());
  loop.erase();
  return vectors;
}
