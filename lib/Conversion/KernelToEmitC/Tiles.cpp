//===- Tiles.cpp - products: one warpgroup loads, two multiply
//----------------------------------------------------------===//
//
// A kernel with tiles of accumulators becomes two roles that walk the same loops. The threads of the first warpgroup
// load: each copies one row of `a` (wherever its row index points) into shared memory, and thread 0 lets TMA bring the
// weights. The other two warpgroups multiply, 64 rows each, one step behind the loads of the next, and apply the
// epilogue to their registers. A ring of stages with "full" and "empty" barriers connects the roles; it runs on across
// tiles, so the loads of a tile overlap the epilogue of the one before.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::kernel;

static constexpr int64_t kRowBytes = 128;       // of a step's row in shared memory: the width of the swizzle
static constexpr int64_t kLoadingThreads = 128; // one per row of a tile
static constexpr int64_t kThreads = 384;
static constexpr int64_t kComputingWarps = 8;
static constexpr int64_t kBarrierBytes = 1024; // in front of the stages, which start at multiples of 1024

void Emitter::line(Location loc, const Twine &text, ValueRange arguments) {
  emitc::VerbatimOp::create(b, loc, b.getStringAttr(text), arguments);
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

LogicalResult Emitter::emitRoles(FuncOp func, const CudaTarget &target, ArrayRef<Value> weights, ArrayRef<Value> maps) {
  Location loc = func.getLoc();
  for (auto [weight, map] : llvm::zip(weights, maps))
    tensorMaps[weight] = map;
  cuda = &target;
  int64_t aBytes = target.rows * kRowBytes;
  stageBytes = aBytes + target.columns * kRowBytes;
  launch.threads = kThreads;
  launch.sharedBytes = kBarrierBytes + target.stages * stageBytes;
  launch.blocksPerSm = 1;
  line(loc, "// Launch: " + Twine(kThreads) + " threads, " + Twine(kBarrierBytes + target.stages * stageBytes) +
                " bytes of shared memory, weights in boxes of " + Twine(target.columns) + " rows.");
  line(loc,
       "const moe::SharedAddress barriers = moe::dynamicShared(), stages = barriers + " + Twine(kBarrierBytes) + ";");
  Value isFirst = emitc::LiteralOp::create(b, loc, b.getI1Type(), "moe::threadIndex() == 0");
  auto init = emitc::IfOp::create(b, loc, isFirst, /*addThenBlock=*/true, /*addElseBlock=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&init.getThenRegion().front());
    for (int64_t stage = 0; stage < target.stages; ++stage) {
      line(loc, "moe::initBarrier(barriers + " + Twine(16 * stage) + ", " + Twine(kLoadingThreads) + ");");
      line(loc, "moe::initBarrier(barriers + " + Twine(16 * stage + 8) + ", " + Twine(kComputingWarps) + ");");
    }
    line(loc, "moe::fenceBarrierInit();");
    emitc::YieldOp::create(b, loc);
  }
  line(loc, "moe::syncBlock();");
  line(loc, "moe::Ring ring;");

  Value isLoading =
      emitc::LiteralOp::create(b, loc, b.getI1Type(), "moe::threadIndex() < " + std::to_string(kLoadingThreads));
  auto roles = emitc::IfOp::create(b, loc, isLoading, /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (bool loading : {true, false}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loading ? &roles.getThenRegion().front() : &roles.getElseRegion().front());
    role = loading ? Role::Load : Role::Compute;
    accumulators.clear();
    if (loading) {
      line(loc, "moe::decreaseRegisters<40>();");
    } else {
      line(loc, "moe::increaseRegisters<232>();");
      line(loc, "const int warpgroup = moe::threadIndex() / 128 - 1;");
    }
    if (failed(emitBlock(func.getBody().front())))
      return failure();
    emitc::YieldOp::create(b, loc);
  }
  return success();
}

LogicalResult Emitter::emitRowTile(RowTileOp tile) {
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
    if (failed(products) || (*products)[0].getStep() != cuda->depth)
      return failure();
    Steps steps;
    if (overK) {
      steps = {get(loop.getLowerBound()), get(loop.getUpperBound()), get(loop.getStep()), {}};
      steps.results.append(loop.result_begin(), loop.result_end());
    } else {
      Location loc = mma.getLoc();
      Value depth = integer(loc, b.getI64Type(), cuda->depth), first = get(mma.getK());
      steps = {first, emitc::AddOp::create(b, loc, b.getI64Type(), first, depth), depth, {}};
      for (MmaOp product : *products)
        steps.results.push_back(product.getResult());
    }
    if (failed(role == Role::Load ? emitLoads(steps, *products, tile) : emitProducts(steps, *products)))
      return failure();
    for (Value result : steps.results)
      accumulators.try_emplace(result, "");
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

LogicalResult Emitter::emitLoads(const Steps &range, ArrayRef<MmaOp> products, RowTileOp tile) {
  MmaOp mma = products[0];
  Location loc = mma.getLoc();
  Type i64 = b.getI64Type();
  // Rows beyond the last one are loaded again; nobody stores their results.
  Value thread =
      emitc::CastOp::create(b, loc, i64, emitc::LiteralOp::create(b, loc, b.getI32Type(), "moe::threadIndex()"));
  Value count = get(tile.getCount());
  Value exists = emitc::CmpOp::create(b, loc, b.getI1Type(), emitc::CmpPredicate::lt, thread, count);
  Value last = emitc::SubOp::create(b, loc, i64, count, integer(loc, i64, 1));
  FailureOr<Value> row = emitRowIndex(mma.getRows(), emitc::ConditionalOp::create(b, loc, i64, exists, thread, last));
  if (failed(row))
    return failure();
  const Buffer &a = buffers.at(mma.getA()), &weight = buffers.at(mma.getB());
  Value rowStart =
      emitc::AddOp::create(b, loc, a.pointer.getType(), a.pointer, emitc::MulOp::create(b, loc, i64, *row, a.sizes[1]));
  line(loc, "const auto *row = {};", rowStart);

  // The weight is a matrix of [blocks * steps * columns, depth] to TMA.
  Value block = integer(loc, i64, 0);
  for (auto [index, size] : llvm::zip(mma.getIndices(), weight.sizes))
    block = emitc::AddOp::create(b, loc, i64, emitc::MulOp::create(b, loc, i64, block, size), get(index));
  size_t leading = mma.getIndices().size();
  Value firstStep = emitc::MulOp::create(b, loc, i64, block, weight.sizes[leading]);
  line(loc, "const int64_t weights = {} * {};", {firstStep, weight.sizes[leading + 1]});

  auto steps = emitc::ForOp::create(b, loc, range.lower, range.upper, range.step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(steps.getBody());
  Value k = steps.getBody()->getArgument(0), depth = a.sizes[1];
  line(loc, "moe::wait(barriers + 16 * ring.stage + 8, ring.parity ^ 1);");
  line(loc, "const moe::SharedAddress stage = stages + " + Twine(stageBytes) + " * ring.stage;");
  int64_t columns = cast<MemRefType>(mma.getA().getType()).getDimSize(1);
  // 16 bytes at a time where rows start at multiples of 16 bytes, else two elements.
  int64_t perCopy = !ShapedType::isDynamic(columns) && columns % 8 == 0 ? 8 : 2;
  Value zero = emitc::LiteralOp::create(b, loc, b.getI32Type(), "0"),
        one = emitc::LiteralOp::create(b, loc, b.getI32Type(), "1");
  Value copies = emitc::LiteralOp::create(b, loc, b.getI32Type(), std::to_string(cuda->depth / perCopy));
  auto copy = emitc::ForOp::create(b, loc, zero, copies, one);
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(copy.getBody());
    Value i = copy.getBody()->getArgument(0);
    line(loc, "const int64_t column = {} + " + Twine(perCopy) + " * {};", {k, i});
    if (perCopy == 8) {
      line(
          loc,
          "const uint4 value = column < {} ? moe::loadGlobal(reinterpret_cast<const uint4 *>(row + column)) : uint4();",
          depth);
    } else {
      line(loc, "const uint32_t low = column < {} ? moe::loadGlobal(row + column).bits : 0;", depth);
      line(loc, "const uint32_t high = column + 1 < {} ? moe::loadGlobal(row + column + 1).bits : 0;", depth);
      line(loc, "const uint32_t value = low | high << 16;");
    }
    line(loc,
         "moe::storeShared(moe::swizzle(stage + " + Twine(kRowBytes) + " * moe::threadIndex() + " + Twine(2 * perCopy) +
             " * {}, " + Twine(kRowBytes) + "), value);",
         i);
  }
  line(loc, "moe::fenceProxyAsync();");
  Value isFirst = emitc::LiteralOp::create(b, loc, b.getI1Type(), "moe::threadIndex() == 0");
  auto arrive = emitc::IfOp::create(b, loc, isFirst, /*addThenBlock=*/true, /*addElseBlock=*/true);
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(&arrive.getThenRegion().front());
    line(loc, "moe::arriveExpect(barriers + 16 * ring.stage, " + Twine(cuda->columns * kRowBytes) + ");");
    line(loc,
         "moe::loadTile2d(stage + " + Twine(cuda->rows * kRowBytes) +
             ", &{}, barriers + 16 * ring.stage, 0, int(weights + {} / " + Twine(cuda->depth) + " * {}));",
         {tensorMaps.lookup(mma.getB()), k, weight.sizes[leading + 1]});
    emitc::YieldOp::create(b, loc);
    b.setInsertionPointToStart(&arrive.getElseRegion().front());
    line(loc, "moe::arrive(barriers + 16 * ring.stage);");
    emitc::YieldOp::create(b, loc);
  }
  line(loc, "moe::advance<" + Twine(cuda->stages) + ">(ring);");
  return success();
}

LogicalResult Emitter::emitProducts(const Steps &range, ArrayRef<MmaOp> products) {
  Location loc = MmaOp(products[0]).getLoc();
  bool isBf16 = cast<MemRefType>(MmaOp(products[0]).getA().getType()).getElementType().isBF16();
  std::string multiply = isBf16 ? "moe::wgmmaBf16" : "moe::wgmmaF16";
  SmallVector<std::string> names;
  for (auto [product, result] : llvm::zip(products, range.results)) {
    MmaOp mma = product;
    std::string name = "acc" + std::to_string(accumulators.size());
    line(loc, "moe::Accumulators<" + Twine(mma.getAcc().getType().getColumns()) + "> " + name + ";");
    accumulators[result] = name;
    names.push_back(name);
  }
  Value lower = range.lower;
  auto steps = emitc::ForOp::create(b, loc, lower, range.upper, range.step);
  std::string before = "(ring.stage + " + std::to_string(cuda->stages - 1) + ") % " + std::to_string(cuda->stages);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(steps.getBody());
    Value k = steps.getBody()->getArgument(0);
    line(loc, "moe::wait(barriers + 16 * ring.stage, ring.parity);");
    line(loc, "const moe::SharedAddress stage = stages + " + Twine(stageBytes) + " * ring.stage;");
    line(loc, "const uint64_t a = moe::matrixDescriptor(stage + " + Twine(64 * kRowBytes) + " * warpgroup, " +
                  Twine(kRowBytes) + ");");
    for (unsigned i = 0; i < products.size(); ++i) {
      MmaOp mma = products[i];
      line(loc,
           "const uint64_t b" + Twine(i) + " = moe::matrixDescriptor(stage + " + Twine(cuda->rows * kRowBytes) +
               " + uint32_t({}) * " + Twine(kRowBytes) + ", " + Twine(kRowBytes) + ");",
           get(mma.getColumn()));
    }
    line(loc, "moe::wgmmaFence();");
    for (int64_t offset = 0; offset < kRowBytes; offset += 32)
      for (auto [i, name] : llvm::enumerate(names)) {
        std::string call = multiply + "(" + name + ", moe::advanceK(a, " + std::to_string(offset) +
                           "), moe::advanceK(b" + std::to_string(i) + ", " + std::to_string(offset) + "), ";
        if (offset == 0)
          line(loc, call + "{} != {});", {k, lower});
        else
          line(loc, call + "true);");
      }
    line(loc, "moe::wgmmaCommit();");
    // The step before is done: its stage may be loaded again.
    line(loc, "moe::wgmmaWait<1>();");
    line(loc, "if ({} != {} && moe::threadIndex() % 32 == 0) moe::arrive(barriers + 16 * (" + before + ") + 8);",
         {k, lower});
    line(loc, "moe::advance<" + Twine(cuda->stages) + ">(ring);");
  }
  for (const std::string &name : names)
    line(loc, "moe::wgmmaWait<0>(" + name + ");");
  line(loc, "if (moe::threadIndex() % 32 == 0) moe::arrive(barriers + 16 * (" + before + ") + 8);");
  return success();
}

LogicalResult Emitter::emitEpilogue(StoreTileOp store, RowTileOp tile) {
  Location loc = store.getLoc();
  Type i32 = b.getI32Type(), i64 = b.getI64Type(), boolean = b.getI1Type();
  int64_t columns = cast<AccType>(store.getAccs()[0].getType()).getColumns();
  const Buffer &dest = buffers.at(store.getDest());
  Value limit = store.getLimit() ? get(store.getLimit()) : dest.sizes.back();
  Value count = get(tile.getCount()), first = get(store.getColumn());
  auto literal = [&](Type type, StringRef text) -> Value { return emitc::LiteralOp::create(b, loc, type, text); };
  Value zero = literal(i32, "0"), end = literal(i32, std::to_string(columns / 2)), one = literal(i32, "1");
  line(loc, "#pragma unroll");
  auto elements = emitc::ForOp::create(b, loc, zero, end, one);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(elements.getBody());
  Value i = elements.getBody()->getArgument(0), thread = literal(i32, "moe::threadIndex()");
  auto wide = [&](StringRef callee) -> Value {
    Value value = call(store, i32, callee, {thread, i});
    return emitc::CastOp::create(b, loc, i64, value);
  };
  Value row = emitc::AddOp::create(b, loc, i64, literal(i64, "64 * warpgroup"), wide("moe::fragmentRow"));
  Value column = emitc::AddOp::create(b, loc, i64, first, wide("moe::fragmentColumn"));
  Value exists = emitc::LogicalAndOp::create(
      b, loc, boolean, emitc::CmpOp::create(b, loc, boolean, emitc::CmpPredicate::lt, row, count),
      emitc::CmpOp::create(b, loc, boolean, emitc::CmpPredicate::lt, column, limit));
  auto branch = emitc::IfOp::create(b, loc, exists, /*addThenBlock=*/true, /*addElseBlock=*/false);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  FailureOr<Value> index = emitRowIndex(store.getRows(), row);
  if (failed(index))
    return failure();
  Block &body = store.getBody().front();
  values[body.getArgument(0)] = *index;
  values[body.getArgument(1)] = column;
  for (auto [acc, argument] : llvm::zip(store.getAccs(), body.getArguments().drop_front(2))) {
    Type type = emitc::OpaqueType::get(b.getContext(), "moe::Accumulators<" + std::to_string(columns) + ">");
    values[argument] = call(store, b.getF32Type(), "moe::get", {literal(type, accumulators.lookup(acc)), i});
  }
  if (failed(emitBlock(body)))
    return failure();
  SmallVector<Value> at(store.getLeading());
  at.append({body.getArgument(0), body.getArgument(1)});
  Value to = address(store, store.getDest(), at);
  emitc::CallOpaqueOp::create(b, loc, TypeRange(), "moe::storeGlobal",
                              ValueRange{to, get(body.getTerminator()->getOperand(0))});
  emitc::YieldOp::create(b, loc);
  return success();
}
