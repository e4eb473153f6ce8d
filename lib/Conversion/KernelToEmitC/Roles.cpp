//===- Roles.cpp - products: one warpgroup loads, two multiply ----------------------------------------------------===//
//
// A kernel with tiles of accumulators becomes two roles that walk the same loops. The threads of the first warpgroup
// load: rows of `a`, wherever they are, and weights (Loads.cpp). The other two warpgroups multiply, one step behind
// (Products.cpp), and apply the epilogue to their registers (Epilogue.cpp). A ring of stages with "full" and "empty"
// barriers connects the roles; it runs on across tiles, so the loads of a tile overlap the epilogue of the one before.
//
// A tile with few rows has a form of its own in the same text: its rows become the columns of the product.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kernel;

void Emitter::line(Location loc, const Twine &text, ValueRange arguments) {
  emitc::VerbatimOp::create(b, loc, b.getStringAttr(text), arguments);
}

Value Emitter::literal(Location loc, Type type, StringRef text) { return emitc::LiteralOp::create(b, loc, type, text); }

void Emitter::emitIf(Location loc, Value condition, llvm::function_ref<void()> body) {
  auto branch = emitc::IfOp::create(b, loc, condition, /*addThenBlock=*/true, /*addElseBlock=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  body();
  emitc::YieldOp::create(b, loc);
}

void Emitter::emitUnrolled(Location loc, int64_t count, llvm::function_ref<void(Value)> body) {
  Type i32 = b.getI32Type();
  line(loc, "#pragma unroll");
  auto loop = emitc::ForOp::create(b, loc, literal(loc, i32, "0"), literal(loc, i32, std::to_string(count)),
                                   literal(loc, i32, "1"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getBody()->getArgument(0));
}

static bool haveSameOperands(MmaOp x, MmaOp y) {
  return x.getA() == y.getA() && x.getRows() == y.getRows() && x.getB() == y.getB() &&
         x.getIndices() == y.getIndices() && x.getK() == y.getK();
}

/// The products of a loop over K: one per accumulator, all with the same operands but for the column.
static FailureOr<SmallVector<MmaOp>> productsOf(scf::ForOp loop) {
  SmallVector<MmaOp> products;
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [carried, next] : llvm::zip(loop.getRegionIterArgs(), yield.getResults())) {
    auto mma = next.getDefiningOp<MmaOp>();
    if (!mma || mma.getAcc() != carried || mma.getK() != loop.getInductionVar() ||
        (!products.empty() && !haveSameOperands(mma, products[0])))
      return failure();
    products.push_back(mma);
  }
  if (products.empty())
    return failure();
  return products;
}

/// The products of a loop over K that was folded because it has one step: `first` and those that go with it.
static FailureOr<SmallVector<MmaOp>> productsOf(MmaOp first) {
  SmallVector<MmaOp> products;
  for (auto mma : first->getBlock()->getOps<MmaOp>()) {
    if (!mma.getAcc().getDefiningOp<ZeroOp>())
      return failure();
    if (haveSameOperands(mma, first))
      products.push_back(mma);
  }
  return products;
}

LogicalResult Emitter::emitRoles(FuncOp func, ArrayRef<Value> matrices, ArrayRef<Value> maps) {
  Location loc = func.getLoc();
  for (auto [matrix, map] : llvm::zip(matrices, maps))
    tensorMaps[matrix] = map;
  line(loc,
       "const moe::SharedAddress barriers = moe::dynamicShared(), stages = barriers + " + Twine(kBarrierBytes) + ";");
  emitIf(loc, literal(loc, b.getI1Type(), "moe::threadIndex() == 0"), [&] {
    for (int64_t stage = 0; stage < plan->stages(); ++stage) {
      line(loc, "moe::initBarrier(barriers + " + Twine(16 * stage) + ", " + Twine(plan->fullArrivals()) + ");");
      line(loc, "moe::initBarrier(barriers + " + Twine(16 * stage + 8) + ", " + Twine(kComputingWarps) + ");");
    }
    line(loc, "moe::fenceBarrierInit();");
  });
  line(loc, "moe::syncBlock();");
  line(loc, "moe::Ring ring;");

  // Without a loop over tiles there is nothing that blocks could share.
  bool isShared = func.walk([](scf::ForallOp) { return WalkResult::interrupt(); }).wasInterrupted();
  Value isLoading = literal(loc, b.getI1Type(), "moe::threadIndex() < " + std::to_string(kLoadingThreads));
  auto roles = emitc::IfOp::create(b, loc, isLoading, /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (bool loading : {true, false}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loading ? &roles.getThenRegion().front() : &roles.getElseRegion().front());
    role = loading ? Role::Load : Role::Compute;
    if (loading) {
      line(loc, "moe::decreaseRegisters<" + Twine(plan->plan.getLoadRegisters()) + ">();");
      if (plan->arrivesLater())
        line(loc, "int unannounced = 0;");
    } else {
      line(loc, "moe::increaseRegisters<" + Twine(plan->plan.getMultiplyRegisters()) + ">();");
      line(loc, "const int warpgroup = moe::threadIndex() / 128 - 1;");
    }
    LogicalResult written = success();
    auto write = [&] { written = emitBlock(func.getBody().front()); };
    if (isShared)
      write();
    else
      emitIf(loc, literal(loc, b.getI1Type(), "moe::blockIndex() == 0"), write);
    if (failed(written))
      return failure();
    if (loading && plan->arrivesLater())
      emitDrain(loc);
    if (loading && plan->arrivesByThread()) {
      // No thread ends while arrivals are due that wait for its copies.
      line(loc, "moe::commitCopies();");
      line(loc, "moe::waitCopies<0>();");
    }
    emitc::YieldOp::create(b, loc);
  }
  return success();
}

LogicalResult Emitter::emitRowTile(RowTileOp tile) {
  Location loc = tile.getLoc();
  accumulators.clear();
  tileRows = plan->rows;
  if (!plan->strips)
    return emitRowTileBody(tile);
  Value areFew = emitc::CmpOp::create(b, loc, b.getI1Type(), emitc::CmpPredicate::le, get(tile.getCount()),
                                      integer(loc, b.getI64Type(), plan->fewRows()));
  auto forms = emitc::IfOp::create(b, loc, areFew, /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (bool few : {true, false}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(few ? &forms.getThenRegion().front() : &forms.getElseRegion().front());
    accumulators.clear();
    tileRows = few ? plan->fewRows() : plan->rows;
    if (failed(few ? emitStrips(tile) : emitRowTileBody(tile)))
      return failure();
    emitc::YieldOp::create(b, loc);
  }
  return success();
}

LogicalResult Emitter::emitStrips(RowTileOp tile) {
  if (plan->strips == 1)
    return emitRowTileBody(tile);
  Location loc = tile.getLoc();
  Type i32 = b.getI32Type();
  Value first = literal(loc, i32, hasStrips ? "firstStrip" : "0");
  Value last = literal(loc, i32, hasStrips ? "lastStrip" : std::to_string(plan->strips));
  auto strips = emitc::ForOp::create(b, loc, first, last, literal(loc, i32, "1"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(strips.getBody());
  strip = strips.getBody()->getArgument(0);
  LogicalResult written = emitRowTileBody(tile);
  strip = Value();
  return written;
}

LogicalResult Emitter::emitRowTileBody(RowTileOp tile) {
  for (Operation &op : tile.getBody().front()) {
    if (isa<RowIndicesOp, ZeroOp>(op))
      continue;
    if (auto store = dyn_cast<StoreTileOp>(op)) {
      if (role == Role::Compute && failed(emitEpilogue(store, tile)))
        return failure();
      continue;
    }
    auto loop = dyn_cast<scf::ForOp>(op);
    bool overK = loop && !loop.getRegionIterArgs().empty() && isa<AccType>(loop.getResultTypes()[0]);
    auto mma = dyn_cast<MmaOp>(op);
    if (mma && accumulators.contains(mma.getResult())) // written with the first of its products
      continue;
    if (!overK && !mma) {
      if (failed(emitOp(&op)))
        return failure();
      continue;
    }
    FailureOr<SmallVector<MmaOp>> products = overK ? productsOf(loop) : productsOf(mma);
    if (failed(products))
      return report(&op, "does not step over K by products of the same operands, one for each accumulator");
    Steps steps;
    if (overK) {
      steps = {get(loop.getLowerBound()), get(loop.getUpperBound()), get(loop.getStep()), {}, false};
      steps.results.append(loop.result_begin(), loop.result_end());
    } else {
      Location loc = mma.getLoc();
      Value depth = integer(loc, b.getI64Type(), plan->depth), first = get(mma.getK());
      steps = {first, emitc::AddOp::create(b, loc, b.getI64Type(), first, depth), depth, {}, true};
      for (MmaOp product : *products)
        steps.results.push_back(product.getResult());
    }
    if (role == Role::Compute)
      emitProducts(steps, *products, tile);
    else if (failed(emitLoads(steps, *products, tile)))
      return failure();
    for (Value result : steps.results)
      accumulators.try_emplace(result);
  }
  return success();
}

FailureOr<Value> Emitter::emitRowIndex(Value rows, Value row) {
  auto indices = rows.getDefiningOp<RowIndicesOp>();
  Block &body = indices.getBody().front();
  Location loc = indices.getLoc();
  values[body.getArgument(0)] = emitc::AddOp::create(b, loc, b.getI64Type(), get(indices.getBase()), row);
  if (failed(emitBlock(body)))
    return failure();
  return get(body.getTerminator()->getOperand(0));
}
