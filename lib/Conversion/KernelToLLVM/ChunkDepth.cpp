//===- ChunkDepth.cpp - a chunk of K for all tiles of rows, then the next ----------------------------------------===//
//
// A column block of weights (64 columns x K) passes through the registers once per row tile. Long ones do not stay in
// the second-level cache meanwhile (3.7 MB at K = 14336 in f32), and even those that do are read from there more slowly
// than two multiply-adds per cycle need them. So the row tiles take turns with a chunk of K that stays next to the
// registers, and their sums wait in memory between the chunks. A sum is added up in the same order as without chunks:
// one tile alone, which streams its weights better in one piece, gives the same bits.
//
// Matrix registers pass over a column block several times even for one tile, and their chunks are longer.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "TiledProduct.h"
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELCHUNKDEPTH
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h.inc"
} // namespace mlir::kernel

namespace {
class Chunker {
public:
  Chunker(TiledProduct product) : product(product), loc(product.tile.getLoc()), b(product.rows) {}

  void run() {
    scf::ForOp rows = product.rows;
    StringRef function = rows->getParentOfType<kernel::FuncOp>().getName();
    remark::passed(loc, remark::RemarkOpts::name("Chunks").category("kernel-chunk-depth").function(function))
        << remark::metric("elements", product.chunk);
    int64_t max = product.tile.getMax(), rowsAtOnce = product.rowsAtOnce / max * max;
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&rows->getParentOfType<kernel::FuncOp>().getBody().front());
      for (Value acc : product.store.getAccs()) {
        auto type = cast<AccType>(acc.getType());
        auto memory = MemRefType::get({rowsAtOnce, type.getColumns()}, type.getElement());
        sums.push_back(memref::AllocaOp::create(b, loc, memory, b.getI64IntegerAttr(64)));
      }
    }
    zero = arith::ConstantIndexOp::create(b, loc, 0);
    if (!product.matrix) {
      Value height = arith::SubIOp::create(b, loc, rows.getUpperBound(), rows.getLowerBound());
      Value single = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, height, rows.getStep());
      auto branch = scf::IfOp::create(b, loc, single, /*withElseRegion=*/true);
      b.setInsertionPointToStart(branch.thenBlock());
      Value some = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, height, zero);
      b.setInsertionPointToStart(scf::IfOp::create(b, loc, some).thenBlock());
      cloneTile(rows.getLowerBound());
      b.setInsertionPointToStart(branch.elseBlock());
    }
    Value many = index(rowsAtOnce);
    forEach(rows.getLowerBound(), rows.getUpperBound(), many, [&](Value first) {
      Value end = arith::MinSIOp::create(b, loc, arith::AddIOp::create(b, loc, first, many), rows.getUpperBound());
      emitGroup(first, end);
    });
    rows.erase();
  }

private:
  /// All of K for the tiles of the rows [first, end).
  void emitGroup(Value first, Value end) {
    // A tile may have rows behind the loop's end, up to its whole height.
    Value height = arith::SubIOp::create(b, loc, end, first), max = product.rows.getStep();
    clear(arith::MulIOp::create(b, loc, arith::CeilDivUIOp::create(b, loc, height, max), max));
    scf::ForOp depth = product.depth;
    Value chunk = index(product.chunk);
    forEach(depth.getLowerBound(), depth.getUpperBound(), chunk, [&](Value k) {
      Value chunkEnd = arith::MinSIOp::create(b, loc, arith::AddIOp::create(b, loc, k, chunk), depth.getUpperBound());
      forEach(first, end, product.rows.getStep(), [&](Value row) { emitChunk(k, chunkEnd, row, first); });
    });
    forEach(first, end, product.rows.getStep(), [&](Value row) { emitEpilogue(row, first); });
  }

  /// The tile from `row` on takes [k, end) of K.
  void emitChunk(Value k, Value end, Value row, Value first) {
    IRMapping mapping = cloneTile(row);
    auto depth = cast<scf::ForOp>(mapping.lookup(product.depth.getOperation()));
    auto store = cast<StoreTileOp>(mapping.lookup(product.store.getOperation()));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(depth);
    Value place = placeOf(row, first);
    llvm::SmallSetVector<Value, 2> zeros(llvm::from_range, depth.getInitArgs());
    depth.setLowerBound(k);
    depth.setUpperBound(end);
    depth.getInitArgsMutable().assign(load(place));
    eraseUnused(zeros.getArrayRef());
    b.setInsertionPoint(store);
    for (auto [acc, memory] : llvm::zip(depth.getResults(), sums)) {
      auto wait = StoreTileOp::create(b, loc, acc, memory, ValueRange(), place, zero, Value());
      Block &body = wait.getBody().emplaceBlock();
      body.addArguments({b.getIndexType(), b.getIndexType(), cast<AccType>(acc.getType()).getElement()},
                        {loc, loc, loc});
      OpBuilder::InsertionGuard inner(b);
      b.setInsertionPointToStart(&body);
      YieldOp::create(b, loc, body.getArgument(2));
    }
    store->erase();
  }

  /// The tile from `row` on is complete.
  void emitEpilogue(Value row, Value first) {
    IRMapping mapping = cloneTile(row);
    auto depth = cast<scf::ForOp>(mapping.lookup(product.depth.getOperation()));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(depth);
    llvm::SmallSetVector<Value, 2> zeros(llvm::from_range, depth.getInitArgs());
    depth->replaceAllUsesWith(load(placeOf(row, first)));
    depth->erase();
    eraseUnused(zeros.getArrayRef());
  }

  static void eraseUnused(ArrayRef<Value> zeros) {
    for (Value zero : zeros)
      if (zero.use_empty())
        zero.getDefiningOp()->erase();
  }

  /// Clones the body of the loop over rows for the tile from `row` on.
  IRMapping cloneTile(Value row) {
    IRMapping mapping;
    mapping.map(product.rows.getInductionVar(), row);
    for (Operation &op : product.rows.getBody()->without_terminator())
      b.clone(op, mapping);
    return mapping;
  }

  /// Where the sums of the tile from `row` on wait.
  Value placeOf(Value row, Value first) {
    Value base = arith::SubIOp::create(b, loc, row, first);
    auto place = RowIndicesOp::create(b, loc, RowsType::get(b.getContext(), product.tile.getMax()), base);
    OpBuilder::InsertionGuard guard(b);
    Block &body = place.getBody().emplaceBlock();
    Value number = body.addArgument(b.getIndexType(), loc);
    b.setInsertionPointToStart(&body);
    YieldOp::create(b, loc, number);
    return place;
  }

  SmallVector<Value> load(Value place) {
    SmallVector<Value> loaded;
    for (auto [acc, memory] : llvm::zip(product.store.getAccs(), sums))
      loaded.push_back(LoadTileOp::create(b, loc, acc.getType(), memory, place, zero));
    return loaded;
  }

  /// Sets the first `count` rows of the sums to zero.
  void clear(Value count) {
    for (Value memory : sums) {
      auto type = cast<MemRefType>(memory.getType());
      SmallVector<OpFoldResult> offsets(2, b.getIndexAttr(0)), strides(2, b.getIndexAttr(1));
      SmallVector<OpFoldResult> sizes = {count, b.getIndexAttr(type.getDimSize(1))};
      Value rows = memref::SubViewOp::create(b, loc, memory, offsets, sizes, strides);
      Value nothing = arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
      linalg::FillOp::create(b, loc, nothing, rows);
    }
  }

  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

  void forEach(Value lower, Value upper, Value step, llvm::function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b, loc, lower, upper, step);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  TiledProduct product;
  Location loc;
  OpBuilder b;
  SmallVector<Value> sums; ///< of each accumulator, [rows of a group, columns]
  Value zero;
};

struct KernelChunkDepth : kernel::impl::KernelChunkDepthBase<KernelChunkDepth> {
  void runOnOperation() override {
    FailureOr<x86::TargetAttr> target = x86::TargetAttr::get(getOperation()->getParentOfType<ModuleOp>());
    if (failed(target))
      return signalPassFailure();
    FailureOr<x86::PlanAttr> plan = x86::PlanAttr::of(getOperation(), *target);
    if (failed(plan))
      return signalPassFailure();
    if (!*plan)
      return;
    SmallVector<TiledProduct> products;
    getOperation().walk([&](RowTileOp tile) {
      if (std::optional<TiledProduct> product = TiledProduct::match(tile, *target, *plan))
        products.push_back(*product);
    });
    for (TiledProduct product : products)
      Chunker(product).run();
  }
};
} // namespace
