//===- Accesses.cpp - which parts of its buffers a launch touches -------------------------------------------------===//

#include "Accesses.h"
#include "IndexBounds.h"

#include "moe-mlir/Dialect/Kernel/Transforms/HostUtils.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace moe_mlir;

namespace {
/// Extents of a box: first index and number of indices of each dimension.
struct Box {
  SmallVector<SizeExpr> first, count;
};

class AccessCounter {
public:
  AccessCounter(kernel::LaunchOp launch, kernel::FuncOp kernel, HostSizes &host, SizeTable &table)
      : launch(launch), kernel(kernel), host(host), table(table), bounds(kernel, launch, host, table) {}

  Traffic run();

private:
  void add(Value memref, ArrayRef<Bounds> indices, bool isWrite);
  void addWhole(Value memref, bool isWrite);
  void visit(Operation *op);
  void merge(Box &box, const Box &other, Value memref);
  SizeExpr bytes(Value memref, const Box &box) const;
  bool isWeight(Value operand) const {
    return isa_and_nonnull<moe::ParameterOp>(kernel::getViewRoot(operand).getDefiningOp());
  }
  bool isPrivate(Value operand) const;

  kernel::LaunchOp launch;
  kernel::FuncOp kernel;
  HostSizes &host;
  SizeTable &table;
  IndexBounds bounds;
  llvm::MapVector<Value, Box> reads, writes; ///< by argument of the kernel
};
} // namespace

/// Indices `extent` further up are touched as well.
static Bounds widen(Bounds bounds, int64_t extent) {
  for (SizeExpr &upper : bounds.upper)
    upper = upper + extent;
  for (SizeExpr &count : bounds.counts)
    count = count + extent;
  return bounds;
}

void AccessCounter::add(Value memref, ArrayRef<Bounds> indices, bool isWrite) {
  Value operand = bounds.operandFor(memref);
  if (!operand)
    return; // memory of the kernel's own
  // Row numbers are what tokens choose experts and embeddings by.
  bool fewIndices = isWeight(operand) || isa<BlockArgument>(kernel::getViewRoot(operand));
  Box box;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Bounds range = bounds.eliminate(index);
    SizeExpr size = bounds.size(memref, dim), count = size, first = range.lower;
    if (range.upper.empty()) {
      first = 0;
      if (range.isLoaded && fewIndices)
        count = table.min(size, host.scalar(launch.getRows()));
    } else {
      // Bounds that stem from the way a loop is cut into blocks are above the size, even where that is hard to show;
      // what depends on a position is not.
      std::vector<SizeExpr> counts = range.counts;
      counts.push_back(size - first);
      for (const SizeExpr &upper : range.upper) {
        SizeExpr candidate = upper + 1 - first;
        if (table.isAtLeast(size, candidate) || table.mentions(candidate, host.elements()) || first != SizeExpr(0))
          counts.push_back(candidate);
      }
      count = table.min(counts);
    }
    box.first.push_back(first);
    box.count.push_back(count);
  }
  auto [it, isNew] = (isWrite ? writes : reads).insert({memref, box});
  if (!isNew)
    merge(it->second, box, memref);
}

void AccessCounter::addWhole(Value memref, bool isWrite) {
  if (auto type = dyn_cast<MemRefType>(memref.getType()))
    add(memref, SmallVector<Bounds>(type.getRank()), isWrite);
}

/// The smallest box known to hold both.
void AccessCounter::merge(Box &box, const Box &other, Value memref) {
  for (auto [dim, pair] : llvm::enumerate(llvm::zip(box.first, box.count, other.first, other.count))) {
    auto [first, count, otherFirst, otherCount] = pair;
    if (first == otherFirst && table.isAtLeast(count, otherCount))
      continue;
    if (first == otherFirst && table.isAtLeast(otherCount, count)) {
      count = otherCount;
      continue;
    }
    first = 0;
    count = bounds.size(memref, dim);
  }
}

void AccessCounter::visit(Operation *op) {
  auto toBounds = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return bounds.of(value); });
  };
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return add(load.getMemRef(), toBounds(load.getIndices()), /*isWrite=*/false);
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return add(store.getMemRef(), toBounds(store.getIndices()), /*isWrite=*/true);
  if (auto mma = dyn_cast<kernel::MmaOp>(op)) {
    int64_t step = mma.getStep(), columns = cast<kernel::AccType>(mma.getAcc().getType()).getColumns();
    Bounds k = bounds.of(mma.getK());
    add(mma.getA(), {bounds.ofRows(mma.getRows()), widen(k, step - 1)}, /*isWrite=*/false);
    SmallVector<Bounds> indices = toBounds(mma.getIndices());
    indices.push_back(step == 1 ? k : bounds.quotient(k, step));
    indices.push_back(widen(bounds.of(mma.getColumn()), columns - 1));
    if (step > 1)
      indices.push_back(widen(Bounds::exactly(0), step - 1));
    return add(mma.getB(), indices, /*isWrite=*/false);
  }
  if (auto store = dyn_cast<kernel::StoreTileOp>(op)) {
    SmallVector<Bounds> indices = toBounds(store.getLeading());
    indices.push_back(bounds.ofRows(store.getRows()));
    indices.push_back(bounds.of(store.getBody().getArgument(1)));
    return add(store.getDest(), indices, /*isWrite=*/true);
  }
  if (auto put = dyn_cast<kernel::PutOp>(op)) { // what goes to other ranks is no memory of this one
    SmallVector<Bounds> indices(cast<MemRefType>(put.getSource().getType()).getRank());
    indices.front() = bounds.of(put.getRow());
    return add(put.getSource(), indices, /*isWrite=*/false);
  }
  if (isa<memref::DimOp, scf::ForOp, scf::ForallOp, scf::IfOp>(op))
    return;
  // Any other op may do anything with its buffers.
  for (Value operand : op->getOperands()) {
    addWhole(operand, /*isWrite=*/false);
    addWhole(operand, /*isWrite=*/true);
  }
}

SizeExpr AccessCounter::bytes(Value memref, const Box &box) const {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  SizeExpr product = element.isIndex() ? 8 : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  for (const SizeExpr &count : box.count)
    product = product * count;
  return product;
}

/// Whether no other op of the host function uses the buffer.
bool AccessCounter::isPrivate(Value operand) const {
  SmallVector<Value> views = {kernel::getViewRoot(operand)};
  if (!views[0].getDefiningOp<memref::AllocOp>())
    return false;
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (auto view = dyn_cast<ViewLikeOpInterface>(user))
        views.append(user->result_begin(), user->result_end());
      else if (user != launch && !isa<memref::DimOp>(user))
        return false;
    }
  return true;
}

Traffic AccessCounter::run() {
  kernel.walk([&](Operation *op) {
    if (op != kernel)
      visit(op);
  });
  Traffic traffic;
  for (const auto &[memref, box] : reads) {
    Value operand = bounds.operandFor(memref);
    if (isWeight(operand))
      traffic.weights = traffic.weights + bytes(memref, box);
    else if (!isPrivate(operand))
      traffic.read = traffic.read + bytes(memref, box);
  }
  for (const auto &[memref, box] : writes)
    if (!isPrivate(bounds.operandFor(memref)))
      traffic.written = traffic.written + bytes(memref, box);
  return traffic;
}

Traffic moe_mlir::countTraffic(kernel::LaunchOp launch, kernel::FuncOp kernel, HostSizes &host, SizeTable &table) {
  return AccessCounter(launch, kernel, host, table).run();
}
