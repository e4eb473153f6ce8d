//===- Loads.cpp - products: the warpgroup that loads -------------------------------------------------------------===//
//
// Per step of K, when the stage is empty: thread 0 lets TMA bring the weights, and the rows of `a` where they are
// neighbours in memory. Other rows are copied by all threads, 8 neighbouring ones to a row of 128 bytes. Several stages
// are in flight: by the plan's `arrival`, such copies are on their way for some steps (`lag`) before the warp announces
// them, or each thread's arrive by themselves when they have landed (`noinc`).
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Emitter.h"

using namespace mlir;
using namespace mlir::kernel;

static constexpr int64_t kRowsPerPass = kLoadingThreads / kChunks;
static constexpr StringLiteral isLeader = "moe::threadIndex() % 32 == 0";

/// "(ring.stage + stages - back) % stages"
static std::string stageBefore(int64_t stages, StringRef back) {
  return ("(ring.stage + " + Twine(stages) + " - " + back + ") % " + Twine(stages)).str();
}

void Emitter::emitDrain(Location loc) {
  line(loc, "moe::waitCopies<0>();");
  line(loc, Twine(plan->proxyFence()) + "();");
  line(loc, "moe::syncWarp();");
  line(loc, "for (; unannounced > 0; --unannounced)");
  line(loc, "  if (" + isLeader + ") moe::arrive(barriers + 16 * (" + stageBefore(plan->stages(), "unannounced") + "));");
}

void Emitter::emitAnnouncement(Location loc) {
  std::string lag = std::to_string(plan->lag());
  line(loc, "moe::commitCopies();");
  line(loc, "if (unannounced < " + lag + ") {");
  line(loc, "  ++unannounced;");
  line(loc, "} else {");
  line(loc, "  moe::waitCopies<" + lag + ">();");
  line(loc, "  " + Twine(plan->proxyFence()) + "();");
  line(loc, "  moe::syncWarp();");
  line(loc, "  if (" + isLeader + ") moe::arrive(barriers + 16 * (" + stageBefore(plan->stages(), lag) + "));");
  line(loc, "}");
}

LogicalResult Emitter::emitRowPointers(MmaOp mma, RowTileOp tile) {
  Location loc = mma.getLoc();
  Type i64 = b.getI64Type();
  const Buffer &a = buffers.at(mma.getA());
  int64_t passes = tileRows / kRowsPerPass;
  line(loc, "const " + elementName() + " *rows[" + Twine(passes) + "];");
  LogicalResult result = success();
  // The pointer of a row beyond the last one is that of the last one; it is not used.
  Value count = get(tile.getCount()), last = emitc::SubOp::create(b, loc, i64, count, integer(loc, i64, 1));
  emitUnrolled(loc, passes, [&](Value pass) {
    line(loc, "const int64_t inTile = moe::threadIndex() / " + Twine(kChunks) + " + " + Twine(kRowsPerPass) + " * {};",
         pass);
    Value inTile = literal(loc, i64, "inTile");
    Value exists = emitc::CmpOp::create(b, loc, b.getI1Type(), emitc::CmpPredicate::lt, inTile, count);
    FailureOr<Value> row = emitRowIndex(mma.getRows(), emitc::ConditionalOp::create(b, loc, i64, exists, inTile, last));
    result = row;
    if (failed(row))
      return;
    line(loc, "rows[{}] = {} + ({}) * {};", {pass, a.pointer, *row, a.sizes[1]});
  });
  return result;
}

void Emitter::emitRowCopies(MmaOp mma, RowTileOp tile, Value k) {
  Location loc = mma.getLoc();
  Value depth = buffers.at(mma.getA()).sizes[1], count = get(tile.getCount());
  bool copies = rowSource(mma, tileRows) == RowSource::Copies;
  std::string perThread = std::to_string(plan->depth / kChunks);
  line(loc, "const int column = int({}) + moe::threadIndex() % " + Twine(kChunks) + " * " + perThread + ";", k);
  emitUnrolled(loc, tileRows / kRowsPerPass, [&](Value pass) {
    line(loc, "const int inTile = moe::threadIndex() / " + Twine(kChunks) + " + " + Twine(kRowsPerPass) + " * {};",
         pass);
    line(loc, "const moe::SharedAddress to = moe::swizzle(stage + " + Twine(kRowBytes) +
                  " * inTile + 16 * (moe::threadIndex() % " + Twine(kChunks) + "), " + Twine(kRowBytes) + ");");
    if (copies) {
      line(loc, "const bool exists = inTile < {} && column < {};", {count, depth});
      line(loc, "moe::copyAsync(to, rows[{}] + (exists ? column : 0), exists ? 16 : 0);", pass);
    } else {
      line(loc, "const int end = inTile < {} ? int({}) : 0;", {count, depth});
      line(loc,
           "moe::storeShared(to, moe::load" + Twine(perThread == "8" ? "Eight" : "Four") + "(rows[{}], column, end));",
           pass);
    }
  });
  if (!plan->arrivesByThread())
    emitAnnouncement(loc);
  else
    line(loc, copies ? "moe::arriveWhenCopied(full);" : "moe::arrive(full);");
}

LogicalResult Emitter::emitLoads(const Steps &range, ArrayRef<MmaOp> products, RowTileOp tile) {
  MmaOp mma = products[0];
  Location loc = mma.getLoc();
  Type i64 = b.getI64Type();
  bool byTile = rowSource(mma, tileRows) == RowSource::Tile;
  FailureOr<Value> firstRow = Value();
  if (byTile) {
    if (plan->arrivesLater())
      emitDrain(loc);
    firstRow = emitRowIndex(mma.getRows(), integer(loc, i64, 0));
    if (failed(firstRow))
      return failure();
  } else if (failed(emitRowPointers(mma, tile))) {
    return failure();
  }

  // The weight is a matrix of [blocks * steps * columns, depth] to TMA.
  const Buffer &weight = buffers.at(mma.getB());
  Value block = integer(loc, i64, 0);
  for (auto [index, size] : llvm::zip(mma.getIndices(), weight.sizes))
    block = emitc::AddOp::create(b, loc, i64, emitc::MulOp::create(b, loc, i64, block, size), get(index));
  size_t leading = mma.getIndices().size();
  Value firstStep = emitc::MulOp::create(b, loc, i64, block, weight.sizes[leading]);
  Value columns = weight.sizes[leading + 1];
  line(loc, "const int64_t weights = ({}) * {};", {firstStep, columns});

  line(loc, "#pragma unroll 1");
  auto steps = emitc::ForOp::create(b, loc, range.lower, range.upper, range.step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(steps.getBody());
  Value k = steps.getBody()->getArgument(0);
  line(loc, "moe::wait(barriers + 16 * ring.stage + 8, ring.parity ^ 1);");
  line(loc, "const moe::SharedAddress full = barriers + 16 * ring.stage, stage = stages + " +
                Twine(plan->stageBytes()) + " * ring.stage;");
  bool few = isFew();
  int64_t loaded = few ? plan->stripColumns * static_cast<int64_t>(products.size()) : blockColumnsOf(mma.getB());
  int64_t bytes = loaded * kRowBytes + (byTile ? plan->aBytes() : 0);
  emitIf(loc, literal(loc, b.getI1Type(), "moe::threadIndex() == 0"), [&] {
    line(loc, "moe::arriveExpect(full, " + Twine(bytes) + ");");
    if (byTile)
      line(loc, "moe::loadTile2d(stage, &{}, full, int({}), int({}));", {tensorMaps.lookup(mma.getA()), k, *firstRow});
    line(loc, "const int weightRow = int(weights + {} / " + Twine(plan->depth) + " * {});", {k, columns});
    Value map = tensorMaps.lookup(mma.getB());
    for (int64_t first = 0; first < loaded; first += boxRowsOf(mma.getB())) {
      std::string load = "moe::loadTile2d(stage + " + std::to_string(plan->aBytes() + first * kRowBytes) +
                         ", &{}, full, 0, weightRow + ";
      if (!few) {
        line(loc, load + Twine(first) + ");", map);
        continue;
      }
      SmallVector<Value> arguments = {map, get(MmaOp(products[first / plan->stripColumns]).getColumn())};
      if (strip)
        arguments.push_back(strip);
      line(loc, load + "int({}) + " + Twine(first % plan->stripColumns) + plusStrip() + ");", arguments);
    }
  });
  if (byTile && plan->arrivesByThread()) {
    line(loc, "moe::arrive(full);");
  } else if (byTile) {
    // No thread falls behind: the stage is announced when all have seen it empty.
    line(loc, "moe::syncWarp();");
    line(loc, "if (" + isLeader + ") moe::arrive(full);");
  } else {
    emitRowCopies(mma, tile, k);
  }
  line(loc, "moe::advance<" + Twine(plan->stages()) + ">(ring);");
  return success();
}
