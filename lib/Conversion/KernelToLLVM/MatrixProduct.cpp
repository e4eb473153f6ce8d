//===- MatrixProduct.cpp - a product on matrix registers ----------------------------------------------------------===//
//
// Up to 16 rows are multiplied with 64 columns at a time (4 registers of sums, one of `a`), more with 32 columns at a
// time (2 x 2 registers of sums), so that each register of weights that is loaded serves all rows of the tile. Rows
// that follow each other in memory are read in place. Rows that are gathered are copied into the first-level cache, one
// step ahead of the product: 64 bytes of each row, for which the vector units have time while the matrix unit works.
//
// What remains of K behind the last whole step is copied with zeros beside it, and so is computed as the others are.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "MatrixProduct.h"
#include "TileLowering.h"

#include "moe-mlir/Dialect/Kernel/IR/ProductLoop.h"
#include "moe-mlir/Support/FixedStrides.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kernel;

static constexpr int64_t kRows = AmxBuilder::rows, kColumns = AmxBuilder::columns, kDepth = AmxBuilder::depth;
static constexpr int64_t kLineBytes = 64, kLinesAtOnce = 4, kFewestTurns = 4;

/// From dimension `dim` on.
static bool isContiguousBf16(Value memref, int64_t dim = 0) {
  auto type = cast<MemRefType>(memref.getType());
  return type.getElementType().isBF16() && moe_mlir::isContiguousFrom(type, dim);
}

static bool isRead(Value sums) {
  return llvm::all_of(sums.getUses(), [](OpOperand &use) {
    auto store = dyn_cast<StoreTileOp>(use.getOwner());
    return store && store.getRows().getDefiningOp<RowIndicesOp>();
  });
}

std::optional<MatrixProduct> MatrixProduct::match(scf::ForOp loop) {
  std::optional<ProductLoop> products = ProductLoop::match(loop);
  if (!products || !isMultipleOf(loop.getLowerBound(), 2) || !llvm::all_of(loop.getResults(), isRead))
    return std::nullopt;
  MatrixProduct product{loop, products->mmas, {}, {}};
  MmaOp first = product.mmas.front();
  for (auto [mma, init] : llvm::zip(product.mmas, loop.getInitArgs())) {
    if (mma.getStep() != 2 || !isContiguousBf16(mma.getA()) || !isContiguousBf16(mma.getB(), mma.getIndices().size()) ||
        mma.getAcc().getType().getColumns() % kColumns || !ProductLoop::isInvariant(mma, loop) ||
        mma.getA() != first.getA() || mma.getRows() != first.getRows())
      return std::nullopt;
    auto load = init.getDefiningOp<LoadTileOp>();
    product.starts.push_back(load ? TileSums::of(load) : std::nullopt);
    if (!product.starts.back() && !init.getDefiningOp<ZeroOp>())
      return std::nullopt;
  }
  product.rows = first.getRows().getDefiningOp<RowIndicesOp>();
  return product.rows ? std::optional(product) : std::nullopt;
}

/// The index in memory of row `row` of a tile, whose rows are `indices`.
static Value rowIndex(OpBuilder &b, RowIndicesOp indices, Value row) {
  Value number = arith::AddIOp::create(b, indices.getLoc(), indices.getBase(), row);
  return cloneRegionBody(b, indices.getBody().front(), number).front();
}

namespace {
/// One register of columns: 16 columns of an mma from `offset` on.
struct ColumnTile {
  unsigned mma;
  int64_t offset;
};

class ProductEmitter {
public:
  ProductEmitter(OpBuilder &b, AmxBuilder &amx, MatrixProduct product, Value count, std::optional<NextWeights> next)
      : b(b), amx(amx), product(product), next(next), loc(product.loop.getLoc()), count(count),
        a(product.mmas.front().getA()) {}

  SmallVector<TileSums> run() {
    SmallVector<ColumnTile> tiles;
    for (auto [i, mma, waiting] : llvm::enumerate(product.mmas, findWaitingStores(product.loop))) {
      int64_t columns = mma.getAcc().getType().getColumns();
      if (waiting) {
        sums.push_back(placeOf(waiting));
        waiting->erase();
      } else {
        sums.push_back({amx.allocate(MemRefType::get({2 * kRows, columns}, b.getF32Type())), index(0)});
      }
      for (int64_t offset = 0; offset < columns; offset += kColumns)
        tiles.push_back({static_cast<unsigned>(i), offset});
    }
    findSteps();
    if (!isIdentity(product.rows))
      listRows();
    auto isTall = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, count, index(kRows));
    auto branch = scf::IfOp::create(b, loc, isTall, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    for (int64_t halves : {2, 1}) {
      b.setInsertionPointToStart(halves == 2 ? branch.thenBlock() : branch.elseBlock());
      Value upper = halves == 2 ? index(kRows) : count;
      Value lower = halves == 2 ? arith::SubIOp::create(b, loc, count, index(kRows)).getResult() : count;
      amx.setRows(upper, lower);
      size_t beside = 4 / halves, passes = llvm::divideCeil(tiles.size(), beside);
      for (size_t pass = 0; pass < passes; ++pass) {
        if (next && halves == 2)
          findShare(pass, passes);
        emitPass(halves, ArrayRef(tiles).slice(pass * beside).take_front(beside));
      }
    }
    return sums;
  }

private:
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value mul(Value x, int64_t y) { return arith::MulIOp::create(b, loc, x, index(y)); }
  Value toI64(Value x) { return arith::IndexCastOp::create(b, loc, b.getI64Type(), x); }

  /// Whole steps of K, and what remains, unless it is known to be nothing.
  void findSteps() {
    first = product.loop.getLowerBound();
    Value end = product.loop.getUpperBound(), size = memref::DimOp::create(b, loc, a, 1);
    std::optional<int64_t> knownEnd = getConstantIntValue(end);
    int64_t knownSize = cast<MemRefType>(a.getType()).getDimSize(1);
    if (auto dim = end.getDefiningOp<memref::DimOp>(); dim && dim.getSource() == a && dim.getConstantIndex() == 1)
      knownEnd = knownSize;
    bool isWhole = !ShapedType::isDynamic(knownSize) && isMultipleOf(first, kDepth) &&
                   (knownEnd ? std::min(*knownEnd, knownSize) % kDepth == 0
                             : knownSize % kDepth == 0 && isMultipleOf(end, kDepth));
    // A step takes a pair, also of an odd end, unless `a` ends there.
    Value distance = arith::SubIOp::create(b, loc, end, first);
    distance = mul(arith::CeilDivSIOp::create(b, loc, distance, index(2)), 2);
    Value length = arith::SubIOp::create(b, loc, arith::MinSIOp::create(b, loc, add(first, distance), size), first);
    length = arith::MaxSIOp::create(b, loc, length, index(0));
    steps = arith::DivUIOp::create(b, loc, length, index(kDepth));
    if (isWhole)
      return;
    rest = arith::RemUIOp::create(b, loc, length, index(kDepth));
    restRows = amx.allocate(MemRefType::get({2 * kRows, kDepth}, b.getBF16Type()));
    restColumns = amx.allocate(MemRefType::get({4, kDepth / 2, kDepth}, b.getBF16Type()));
  }

  void forEach(Value end, llvm::function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b, loc, index(0), end, index(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  void ifTrue(Value condition, llvm::function_ref<void()> body) {
    auto branch = scf::IfOp::create(b, loc, condition);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    body();
  }

  /// Index in memory of each gathered row, and two steps of them.
  void listRows() {
    gathered = amx.allocate(MemRefType::get({2 * kRows}, b.getIndexType()));
    staged = amx.allocate(MemRefType::get({2, 2 * kRows, kDepth}, b.getBF16Type()));
    forEach(count, [&](Value row) { memref::StoreOp::create(b, loc, rowIndex(b, product.rows, row), gathered, row); });
  }

  /// Index in memory of row `row` of the tile.
  Value sourceRow(Value row) {
    return gathered ? memref::LoadOp::create(b, loc, gathered, row).getResult() : add(product.rows.getBase(), row);
  }

  /// Copies step `step` of the gathered rows.
  void stage(Value step) {
    Value slot = arith::AndIOp::create(b, loc, step, index(1)), k = add(first, mul(step, kDepth));
    auto type = VectorType::get({kDepth}, b.getBF16Type());
    forEach(count, [&](Value row) {
      Value line = vector::LoadOp::create(b, loc, type, a, ValueRange{sourceRow(row), k});
      vector::StoreOp::create(b, loc, line, staged, ValueRange{slot, row, index(0)});
    });
  }

  /// The register of sums: 0 and 1 beside each other, 2 and 3 below them, or with up to 16 rows beside them too.
  static int64_t sumsAt(int64_t half, int64_t i) { return 2 * half + i; }

  /// The column block's weights from pair `pair` on.
  Value blockAt(ValueRange indices, Value pair) {
    SmallVector<Value> at(indices);
    at.append({pair, index(0), index(0)});
    return amx.addressOf(product.mmas.front().getB(), at);
  }

  /// Cache lines of a column block that belong to one step. Their number is known if what follows it is.
  int64_t linesPerStep() {
    MmaOp mma = product.mmas.front();
    auto type = cast<MemRefType>(mma.getB().getType());
    return type.getDimSize(mma.getIndices().size() + 1) * kDepth * 2 / kLineBytes;
  }

  /// Which cache lines of the next column block this pass fetches: of each step's lines, the same share. All passes
  /// over all tiles together fetch the block once, but for the share of a last tile of up to 16 rows, which fetches
  /// none. With few tiles a share is so many lines that the step's own loads wait for them: then nobody fetches any.
  void findShare(int64_t pass, int64_t passes) {
    Value turns = mul(next->turns, passes), turn = add(mul(next->turn, passes), index(pass));
    Value all = index(linesPerStep()), groups = index(linesPerStep() / kLinesAtOnce);
    Value share = mul(arith::CeilDivUIOp::create(b, loc, groups, turns), kLinesAtOnce);
    Value isShared = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, next->turns, index(kFewestTurns));
    share = arith::SelectOp::create(b, loc, isShared, share, index(0));
    firstLine = arith::MinUIOp::create(b, loc, arith::MulIOp::create(b, loc, turn, share), all);
    endLine = arith::MinUIOp::create(b, loc, add(firstLine, share), all);
    SmallVector<Value> indices(product.mmas.front().getIndices().drop_back());
    indices.push_back(next->place.block);
    nextWeights = blockAt(indices, next->place.step);
  }

  void fetchShare(Value step) {
    Value line = mul(step, linesPerStep());
    auto loop = scf::ForOp::create(b, loc, add(line, firstLine), add(line, endLine), index(kLinesAtOnce));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value start = add(nextWeights, toI64(mul(loop.getInductionVar(), kLineBytes)));
    for (int64_t i = 0; i < kLinesAtOnce; ++i)
      amx.fetch(add(start, amx.i64(i * kLineBytes)), /*level=*/2);
  }

  /// A register of columns asks for its lines of a later step, in the order of its load: 16 lines that stand apart,
  /// which the hardware follows less well than plain reads. All lines of a step at once, in the order of memory, take a
  /// quarter longer to arrive (weight-stream.md).
  void fetchAhead(Value columns, Value stride, Value stepBytes) {
    constexpr int64_t stepsAhead = 3, linesOfRegister = kDepth / 2;
    Value line = add(columns, arith::MulIOp::create(b, loc, stepBytes, amx.i64(stepsAhead)));
    for (int64_t i = 0; i < linesOfRegister; ++i) {
      if (i > 0)
        line = add(line, stride);
      amx.fetch(line, /*level=*/1);
    }
  }

  void emitPass(int64_t halves, ArrayRef<ColumnTile> tiles) {
    for (int64_t half = 0; half < halves; ++half)
      for (auto [i, tile] : llvm::enumerate(tiles))
        if (const std::optional<TileSums> &start = product.starts[tile.mma])
          amx.load(sumsAt(half, i), addressOf(*start, half, tile), strideOf(tile));
        else
          amx.zero(sumsAt(half, i));
    SmallVector<Value> weights, strides, stepBytes;
    for (ColumnTile tile : tiles) {
      MmaOp mma = product.mmas[tile.mma];
      Value pairs = arith::DivUIOp::create(b, loc, first, index(2));
      weights.push_back(amx.addressOf(mma.getB(), weightAt(mma, pairs, tile.offset)));
      Value line = mul(memref::DimOp::create(b, loc, mma.getB(), mma.getIndices().size() + 1), 4);
      strides.push_back(toI64(line));
      stepBytes.push_back(toI64(mul(line, kDepth / 2)));
    }
    if (gathered)
      ifTrue(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, steps, index(0)), [&] { stage(index(0)); });
    Value rowBytes = toI64(mul(memref::DimOp::create(b, loc, a, 1), 2)), line = amx.i64(kLineBytes);
    SmallVector<Value> sources;
    for (int64_t half = 0; half < halves && !gathered; ++half)
      sources.push_back(amx.addressOf(a, {add(product.rows.getBase(), index(half * kRows)), first}));
    // Attention multiplies with caches, whose columns are a few steps long: nothing behind them is worth asking for.
    bool isWeight = cast<MemRefType>(product.mmas.front().getB().getType()).hasStaticShape();
    forEach(steps, [&](Value step) {
      if (next && halves == 2)
        fetchShare(step);
      if (gathered) {
        Value following = add(step, index(1));
        ifTrue(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, following, steps), [&] { stage(following); });
      }
      SmallVector<Value> rows, columns;
      for (int64_t half = 0; half < halves; ++half)
        rows.push_back(gathered ? amx.addressOf(staged, {arith::AndIOp::create(b, loc, step, index(1)),
                                                         index(half * kRows), index(0)})
                                : add(sources[half], toI64(mul(step, kLineBytes))));
      for (auto [weight, bytes] : llvm::zip(weights, stepBytes))
        columns.push_back(add(weight, arith::MulIOp::create(b, loc, toI64(step), bytes)));
      emitStep(rows, gathered ? line : rowBytes, columns, strides, isWeight ? stepBytes : ArrayRef<Value>());
    });
    if (rest)
      ifTrue(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, rest, index(0)), [&] { emitRest(halves, tiles); });
    for (int64_t half = 0; half < halves; ++half)
      for (auto [i, tile] : llvm::enumerate(tiles))
        amx.store(sumsAt(half, i), addressOf(sums[tile.mma], half, tile), strideOf(tile));
  }

  Value addressOf(const TileSums &place, int64_t half, ColumnTile tile) {
    return amx.addressOf(place.memory, {add(place.row, index(half * kRows)), index(tile.offset)});
  }

  /// Bytes between rows of sums.
  Value strideOf(ColumnTile tile) { return amx.i64(4 * product.mmas[tile.mma].getAcc().getType().getColumns()); }

  SmallVector<Value> weightAt(MmaOp mma, Value pair, int64_t offset) {
    SmallVector<Value> at(mma.getIndices());
    at.append({pair, add(mma.getColumn(), index(offset)), index(0)});
    return at;
  }

  /// One step: 32 elements of K from registers of rows at `rows` and of columns at `columns`. With `stepBytes`, the
  /// bytes from these columns to those of the next step, columns of later steps are asked for.
  void emitStep(ArrayRef<Value> rows, Value rowStride, ArrayRef<Value> columns, ArrayRef<Value> strides,
                ArrayRef<Value> stepBytes = {}) {
    constexpr int64_t firstRows = 4, firstColumns = 6;
    for (auto [half, address] : llvm::enumerate(rows))
      amx.load(firstRows + half, address, rowStride);
    for (auto [i, address] : llvm::enumerate(columns)) {
      int64_t reg = firstColumns + i % 2;
      if (!stepBytes.empty())
        fetchAhead(address, strides[i], stepBytes[i]);
      amx.load(reg, address, strides[i]);
      for (size_t half = 0; half < rows.size(); ++half)
        amx.multiply(sumsAt(half, i), firstRows + half, reg);
    }
  }

  /// The elements behind the last whole step, with zeros up to a whole one.
  void emitRest(int64_t halves, ArrayRef<ColumnTile> tiles) {
    int64_t beside = tiles.size();
    auto type = VectorType::get({kDepth}, b.getBF16Type());
    Value rows = restRows, columns = restColumns;
    Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    Value mask = vector::CreateMaskOp::create(b, loc, VectorType::get({kDepth}, b.getI1Type()), rest);
    Value start = add(first, mul(steps, kDepth));
    forEach(count, [&](Value row) {
      Value line = vector::MaskedLoadOp::create(b, loc, type, a, ValueRange{sourceRow(row), start}, mask, zeros);
      vector::StoreOp::create(b, loc, line, rows, ValueRange{row, index(0)});
    });
    Value firstPair = arith::DivUIOp::create(b, loc, start, index(2));
    Value pairs = arith::CeilDivUIOp::create(b, loc, rest, index(2));
    for (auto [i, tile] : llvm::enumerate(tiles))
      forEach(index(kDepth / 2), [&, i = i, tile = tile](Value pair) {
        Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, pair, pairs);
        MmaOp mma = product.mmas[tile.mma];
        auto line = scf::IfOp::create(b, loc, TypeRange(type), exists, /*withElseRegion=*/true);
        {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(line.thenBlock());
          Value weights =
              vector::LoadOp::create(b, loc, type, mma.getB(), weightAt(mma, add(firstPair, pair), tile.offset));
          scf::YieldOp::create(b, loc, weights);
          b.setInsertionPointToStart(line.elseBlock());
          scf::YieldOp::create(b, loc, zeros);
        }
        vector::StoreOp::create(b, loc, line.getResult(0), columns, ValueRange{index(i), pair, index(0)});
      });
    Value line = amx.i64(kLineBytes);
    SmallVector<Value> from, to;
    for (int64_t half = 0; half < halves; ++half)
      from.push_back(amx.addressOf(rows, {index(half * kRows), index(0)}));
    for (int64_t i = 0; i < beside; ++i)
      to.push_back(amx.addressOf(columns, {index(i), index(0), index(0)}));
    emitStep(from, line, to, SmallVector<Value>(beside, line));
  }

  OpBuilder &b;
  AmxBuilder &amx;
  MatrixProduct product;
  std::optional<NextWeights> next;
  Location loc;
  Value count, a;
  SmallVector<TileSums> sums;
  Value first, steps;
  Value rest, restRows, restColumns; ///< null if K is whole steps
  Value gathered, staged;            ///< null if the rows follow each other
  Value nextWeights, firstLine, endLine;
};
} // namespace

SmallVector<TileSums> kernel::emitMatrixProduct(OpBuilder &b, AmxBuilder &amx, MatrixProduct product, Value count,
                                                std::optional<NextWeights> next) {
  return ProductEmitter(b, amx, product, count, next).run();
}
