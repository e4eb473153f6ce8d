//===- RowTiles.cpp - products: the tiles of rows that all roles walk ---------------------------------------------===//
//
// A tile with few rows has a form of its own in the same kernel: its rows become the columns of the product.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "RoleBuilder.h"

#include "moe-mlir/Dialect/Kernel/IR/ProductLoop.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kernel;

/// The products of a loop over K that starts from zero, all with the same operands but for the column.
static std::optional<SmallVector<MmaOp>> productsOf(scf::ForOp loop) {
  std::optional<ProductLoop> found = ProductLoop::match(loop);
  bool fromZero = llvm::all_of(loop.getInitArgs(), [](Value init) { return init.getDefiningOp<ZeroOp>() != nullptr; });
  auto isPlain = [&](MmaOp mma) {
    return ProductLoop::haveSameOperands(mma, found->mmas[0]) && ProductLoop::isInvariant(mma, loop);
  };
  if (!found || !fromZero || !llvm::all_of(found->mmas, isPlain))
    return std::nullopt;
  return found->mmas;
}

/// An op in `op` that uses accumulators or rows of a tile otherwise than a role does; null if there is none.
static Operation *findTileUse(Operation *op) {
  auto isOfTile = llvm::IsaPred<AccType, RowsType>;
  Operation *user = nullptr;
  op->walk([&](Operation *nested) {
    if (llvm::any_of(nested->getOperandTypes(), isOfTile) || llvm::any_of(nested->getResultTypes(), isOfTile))
      user = nested;
  });
  return user;
}

/// An op in `op` that not all roles may do; null if there is none.
static Operation *findExchange(Operation *op) {
  Operation *found = nullptr;
  op->walk([&](Operation *nested) {
    if (isa<PutOp, SignalOp, AwaitOp, AdvanceOp, ArriveOp, AwaitArrivalsOp>(nested))
      found = nested;
  });
  return found;
}

LogicalResult RoleBuilder::write(ArrayRef<Operation *> program) {
  for (Value argument : program.front()->getBlock()->getArguments())
    mapping.map(argument, argument);
  for (Operation *op : program)
    if (failed(writeOp(op)))
      return failure();
  return success();
}

LogicalResult RoleBuilder::writeOp(Operation *op) {
  if (auto tile = dyn_cast<RowTileOp>(op))
    return writeRowTile(tile);
  if (auto forall = dyn_cast<scf::ForallOp>(op); forall && forall.isNormalized()) {
    FailureOr<bool> isTileLoop = writeTileLoop(forall);
    if (failed(isTileLoop) || *isTileLoop)
      return isTileLoop;
  }
  if (!op->walk([](RowTileOp) { return WalkResult::interrupt(); }).wasInterrupted()) {
    if (Operation *exchange = findExchange(op))
      return exchange->emitOpError("stands in a kernel with products, but not around the tiles of a record, where the "
                                   "roles of a GPU's warps wait and arrive");
    b.clone(*op, mapping);
    return success();
  }
  Operation *copy = b.insert(op->cloneWithoutRegions(mapping));
  for (auto [from, to] : llvm::zip(op->getRegions(), copy->getRegions()))
    for (Block &block : from) {
      OpBuilder::InsertionGuard guard(b);
      SmallVector<Location> places(block.getNumArguments(), op->getLoc());
      Block *body = b.createBlock(&to, to.end(), block.getArgumentTypes(), places);
      mapping.map(block.getArguments(), body->getArguments());
      for (Operation &inner : block)
        if (failed(writeOp(&inner)))
          return failure();
    }
  return success();
}

LogicalResult RoleBuilder::writeRowTile(RowTileOp tile) {
  tileRows = plan.rows;
  if (!plan.strips)
    return writeRowTileBody(tile);
  Code code(b, tile.getLoc());
  Value isFew = code.compare(arith::CmpIPredicate::sle, get(tile.getCount()), code.index(plan.fewRows()));
  LogicalResult written = success();
  code.ifThenElse(isFew, [&](bool few) {
    tileRows = few ? plan.fewRows() : plan.rows;
    if (succeeded(written))
      written = few ? writeStrips(tile) : writeRowTileBody(tile);
  });
  return written;
}

LogicalResult RoleBuilder::writeStrips(RowTileOp tile) {
  if (plan.strips == 1)
    return writeRowTileBody(tile);
  Code code(b, tile.getLoc());
  Value first = firstStrip ? firstStrip : code.i32(0), last = lastStrip ? lastStrip : code.i32(plan.strips);
  auto strips = code.make<scf::ForOp>(first, last, code.i32(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(strips.getBody());
  strip = strips.getInductionVar();
  LogicalResult written = writeRowTileBody(tile);
  strip = Value();
  return written;
}

LogicalResult RoleBuilder::writeRowTileBody(RowTileOp tile) {
  DenseSet<Value> computed;
  for (Operation &op : tile.getBody().front()) {
    if (isa<RowIndicesOp, ZeroOp>(op))
      continue;
    if (auto store = dyn_cast<StoreTileOp>(op)) {
      for (Value acc : store.getAccs())
        if (!computed.contains(acc))
          return store.emitOpError("stores what no product of its row_tile has computed");
      if (failed(writeStore(store, tile)))
        return failure();
      continue;
    }
    auto loop = dyn_cast<scf::ForOp>(op);
    bool overK = loop && !loop.getRegionIterArgs().empty() && isa<AccType>(loop.getResultTypes()[0]);
    auto mma = dyn_cast<MmaOp>(op);
    if (mma && computed.contains(mma.getResult())) // written with the first of its products
      continue;
    if (!overK && !mma) {
      if (Operation *user = findTileUse(&op))
        return user->emitOpError("uses a tile or its rows in a way that kernels for a GPU do not have");
      if (failed(writeOp(&op)))
        return failure();
      continue;
    }
    std::optional<SmallVector<MmaOp>> products = overK ? productsOf(loop) : ProductLoop::matchSingleStep(mma);
    if (!products)
      return op.emitOpError("does not step over K from zero by products of the same operands, one for each accumulator");
    Steps steps;
    if (overK) {
      steps = {get(loop.getLowerBound()), get(loop.getUpperBound()), get(loop.getStep()), {}, false};
      steps.results.append(loop.result_begin(), loop.result_end());
    } else {
      steps.lower = get(mma.getK());
      steps.isSingle = true;
      for (MmaOp product : *products)
        steps.results.push_back(product.getResult());
    }
    if (failed(writeProducts(steps, *products, tile)))
      return failure();
    computed.insert(steps.results.begin(), steps.results.end());
  }
  return success();
}

void RoleBuilder::writeSteps(Location loc, const Steps &steps, function_ref<void(Value)> body) {
  if (steps.isSingle)
    body(steps.lower);
  else
    Code(b, loc).loop(steps.lower, steps.upper, Code(b, loc).mul(steps.step, stepsOfStage()), body);
}

LogicalResult RoleBuilder::checkSteps(Location loc, const Steps &steps) const {
  std::optional<int64_t> lower = getConstantIntValue(steps.lower), upper, step, count = 1;
  if (!steps.isSingle) {
    upper = getConstantIntValue(steps.upper);
    step = getConstantIntValue(steps.step);
    count = lower && upper && step ? std::optional(llvm::divideCeil(*upper - *lower, *step)) : std::nullopt;
  }
  if (stepsOfStage() == 1 || (count && *count % stepsOfStage() == 0))
    return success();
  InFlightDiagnostic error = emitError(loc) << "'few_steps' is " << stepsOfStage() << ", but K has ";
  if (count)
    return error << *count << " steps; stages of few rows are all full";
  return error << "a number of steps that only runs know";
}

Value RoleBuilder::rowIndex(Value rows, Value row) {
  auto indices = rows.getDefiningOp<RowIndicesOp>();
  Block &body = indices.getBody().front();
  mapping.map(body.getArgument(0), Code(b, indices.getLoc()).add(get(indices.getBase()), row));
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping);
  return get(body.getTerminator()->getOperand(0));
}

Value RoleBuilder::sizeOf(Code &code, Value matrix, int64_t dimension) {
  auto type = cast<MemRefType>(matrix.getType());
  if (!type.isDynamicDim(dimension))
    return code.index(type.getDimSize(dimension));
  return code.make<memref::DimOp>(get(matrix), dimension);
}
