//===- Products.cpp - products: the warpgroups that multiply ------------------------------------------------------===//
//
// Two forms. Many rows: a warpgroup has 64 rows of the tile and all columns. Few rows: the weights are the left
// operand, in pieces of 64 columns, and the rows the right one, so that no product is wasted and weights come as fast
// as memory gives them. A warpgroup then has every second piece and all rows, or, where there is one piece, half of the
// rows.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::kernel;

/// Whether the products' columns are neighbours in the weight block: then they are one product.
static bool areNeighbours(ArrayRef<MmaOp> products) {
  std::optional<int64_t> next = getConstantIntValue(MmaOp(products[0]).getColumn());
  for (MmaOp mma : products) {
    std::optional<int64_t> column = getConstantIntValue(mma.getColumn());
    if (!column || column != next)
      return false;
    *next += mma.getAcc().getType().getColumns();
  }
  return true;
}

/// "stage + offset + {} * 128": rows of an operand in a stage, from the row that `{}` says.
static std::string operandAt(int64_t offset, bool hasRow, int64_t perWarpgroup) {
  std::string text = "stage";
  if (offset)
    text += " + " + std::to_string(offset);
  if (hasRow)
    text += " + uint32_t({}) * " + std::to_string(kRowBytes);
  if (perWarpgroup)
    text += " + " + std::to_string(perWarpgroup * kRowBytes) + " * warpgroup";
  return text;
}

Emitter::Multiplication &Emitter::addMultiplication(Location loc, SmallVectorImpl<Multiplication> &list,
                                                    int64_t width) {
  std::string name = "acc" + std::to_string(accumulatorCount++);
  line(loc, "moe::Accumulators<" + Twine(width) + "> " + name + ";");
  list.push_back({name, {}, {}, {}, width});
  return list.back();
}

SmallVector<Emitter::Multiplication> Emitter::shareProducts(const Steps &range, ArrayRef<MmaOp> products) {
  SmallVector<Multiplication> list;
  Location loc = MmaOp(products[0]).getLoc();
  int64_t width = MmaOp(products[0]).getAcc().getType().getColumns(), weights = plan->aBytes();
  if (isFew()) {
    bool halves = plan->stripColumns == 64;
    for (auto [i, value] : llvm::enumerate(range.results)) {
      Tile &tile = accumulators[value];
      tile.width = halves ? tileRows / 2 : tileRows;
      Multiplication &each = addMultiplication(loc, list, tile.width);
      tile.name = each.accumulators;
      each.left = operandAt(weights + static_cast<int64_t>(i) * plan->stripColumns * kRowBytes, /*hasRow=*/false,
                            halves ? 0 : 64);
      each.right = operandAt(0, /*hasRow=*/false, halves ? tile.width : 0);
    }
    return list;
  }
  bool merged = areNeighbours(products);
  for (auto [i, product] : llvm::enumerate(products)) {
    if (!merged || i == 0) {
      Multiplication &each =
          addMultiplication(loc, list, merged ? width * static_cast<int64_t>(products.size()) : width);
      each.column = get(MmaOp(product).getColumn());
      each.left = operandAt(0, /*hasRow=*/false, 64);
      each.right = operandAt(weights, /*hasRow=*/true, 0);
    }
    Tile &tile = accumulators[range.results[i]];
    tile.name = list.back().accumulators;
    tile.width = merged ? width * static_cast<int64_t>(products.size()) : width;
    tile.first = merged ? static_cast<int64_t>(i) * width / 2 : 0;
  }
  return list;
}

void Emitter::emitTensorProducts(Location loc, const Steps &range, ArrayRef<Multiplication> list, bool needsFence) {
  std::string multiply = plan->element.isBF16() ? "moe::wgmmaBf16" : "moe::wgmmaF16";
  Value lower = range.lower;
  line(loc, "#pragma unroll 1");
  auto steps = emitc::ForOp::create(b, loc, lower, range.upper, range.step);
  std::string stages = std::to_string(plan->stages());
  std::string before = "(ring.stage + " + std::to_string(plan->stages() - 1) + ") % " + stages;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(steps.getBody());
    Value k = steps.getBody()->getArgument(0);
    line(loc, "moe::wait(barriers + 16 * ring.stage, ring.parity);");
    if (needsFence)
      line(loc, Twine(plan->proxyFence()) + "();");
    line(loc, "const moe::SharedAddress stage = stages + " + Twine(plan->stageBytes()) + " * ring.stage;");
    auto descriptor = [&](StringRef name, size_t i, const std::string &address, Value column) {
      bool hasColumn = StringRef(address).contains("{}");
      line(loc,
           "const uint64_t " + name + Twine(i) + " = moe::matrixDescriptor(" + address + ", " + Twine(kRowBytes) + ");",
           hasColumn ? ValueRange(column) : ValueRange());
    };
    for (auto [i, each] : llvm::enumerate(list)) {
      descriptor("left", i, each.left, each.column);
      descriptor("right", i, each.right, each.column);
    }
    line(loc, "moe::wgmmaFence();");
    for (int64_t offset = 0; offset < kRowBytes; offset += 32)
      for (auto [i, each] : llvm::enumerate(list)) {
        std::string call = multiply + "(" + each.accumulators;
        for (StringRef operand : {"left", "right"})
          call += (", moe::advanceK(" + operand + Twine(i) + ", " + Twine(offset) + ")").str();
        if (offset == 0 && !range.isSingle)
          line(loc, call + ", {} != {});", {k, lower});
        else
          line(loc, call + (offset == 0 ? ", false);" : ", true);"));
      }
    line(loc, "moe::wgmmaCommit();");
    // The step before is done: its stage may be loaded again.
    line(loc, "moe::wgmmaWait<1>();");
    if (!range.isSingle)
      line(loc, "if ({} != {} && moe::threadIndex() % 32 == 0) moe::arrive(barriers + 16 * (" + before + ") + 8);",
           {k, lower});
    line(loc, "moe::advance<" + stages + ">(ring);");
  }
  for (const Multiplication &each : list)
    line(loc, "moe::wgmmaWait<0>(" + each.accumulators + ");");
  line(loc, "if (moe::threadIndex() % 32 == 0) moe::arrive(barriers + 16 * (" + before + ") + 8);");
}

void Emitter::emitProducts(const Steps &range, ArrayRef<MmaOp> products, RowTileOp tile) {
  Location loc = MmaOp(products[0]).getLoc();
  SmallVector<Multiplication> list = shareProducts(range, products);
  // Rows that threads have written and not fenced.
  bool needsFence = plan->arrivesByThread() && rowSource(products[0], tileRows) != RowSource::Tile;
  if (plan->usesTensorCores())
    emitTensorProducts(loc, range, list, needsFence);
  else
    emitThreadProducts(loc, range, list, tile);
}
