//===- RoleBuilder.h - writes the program of a role -----------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOCUDA_ROLEBUILDER_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOCUDA_ROLEBUILDER_H

#include "Code.h"
#include "Tiles.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::kernel {

/// What the roles of a kernel share.
struct SharedParts {
  TilePlan plan;
  Value ring;
  DenseMap<Value, Value> maps; ///< matrix -> its tensor map
};

/// Walks a kernel and writes it again for the warps of one role. All roles walk the same loops over tiles
/// (TileLoop.cpp, RowTiles.cpp), so that they agree on the steps; what they do in a tile differs.
class RoleBuilder {
public:
  RoleBuilder(OpBuilder &b, const SharedParts &parts, int64_t firstWarp)
      : b(b), parts(parts), plan(parts.plan), firstWarp(firstWarp) {}
  virtual ~RoleBuilder() = default;

  LogicalResult write(ArrayRef<Operation *> program);
  /// What follows the last tile.
  virtual void finish(Location) {}

protected:
  /// The loop over K of a group of products, as values of the role, and the tiles that it leaves.
  struct Steps {
    Value lower, upper, step;
    SmallVector<Value> results; ///< of the kernel
    bool isSingle = false;      ///< there is one step
  };

  virtual LogicalResult writeProducts(const Steps &steps, ArrayRef<MmaOp> products, RowTileOp tile) = 0;
  virtual LogicalResult writeStore(StoreTileOp store, RowTileOp tile) = 0;
  /// In front of the tiles of a record: `waits` for what its rows come with.
  virtual void writeWaits(ArrayRef<Operation *>) {}
  /// Behind a tile, which is part `part` of the `parts` of an iteration.
  virtual void writeArrivals(ArrayRef<ArriveOp>, Value, Value) {}

  /// `body` for each k with which a stage begins.
  void writeSteps(Location loc, const Steps &steps, function_ref<void(Value)> body);
  /// The row index in memory of row `row` of a tile.
  Value rowIndex(Value rows, Value row);
  /// The number of the thread in its block, and among those of the role.
  Value thread(Code &code) { return code.make<cuda::ThreadIndexOp>(b.getI32Type()); }
  Value ownThread(Code &code) { return code.add(thread(code), -32 * firstWarp); }
  /// The number of its warpgroup in the role.
  Value warpgroup(Code &code) { return code.add(code.div(thread(code), 128), -firstWarp / 4); }
  /// The size of a dimension of a matrix of the kernel.
  Value sizeOf(Code &code, Value matrix, int64_t dimension);
  Value get(Value value) const { return mapping.lookup(value); }
  /// `column`, plus the first one of the strip.
  Value plusStrip(Code &code, Value column) {
    return strip ? code.add(column, code.mul(strip, plan.stripColumns)) : column;
  }
  bool areFew() const { return tileRows != plan.rows; }
  /// Of the form that is written: steps of K in a stage, and where the rows of one and the strips of one lie in it.
  int64_t stepsOfStage() const { return areFew() ? plan.fewSteps() : 1; }
  int64_t rowsPlace(int64_t step) const { return step * tileRows * kRowBytes; }
  int64_t weightsPlace(int64_t step, size_t products) const {
    return stepsOfStage() * tileRows * kRowBytes +
           step * plan.stripColumns * static_cast<int64_t>(products) * kRowBytes;
  }
  /// Emits an error at `loc` if the steps do not fill all of their stages.
  LogicalResult checkSteps(Location loc, const Steps &steps) const;

  OpBuilder &b;
  const SharedParts &parts;
  const TilePlan &plan;
  IRMapping mapping;    ///< from values of the kernel to those of the role
  int64_t tileRows = 0; ///< of the form of a row tile that is written: plan.rows or plan.fewRows()

private:
  /// A loop over tiles of rows in a loop that blocks share, and what stands around it.
  struct TileLoop {
    scf::ForallOp forall;
    scf::ForOp rows;
    SmallVector<Operation *> waits; ///< in front of it
    SmallVector<ArriveOp> arrivals; ///< behind it
  };
  static std::optional<TileLoop> tileLoopOf(scf::ForallOp forall, int64_t rows);

  LogicalResult writeOp(Operation *op);
  /// The loop over the tiles of a product; false if `forall` has another form and nothing was written.
  FailureOr<bool> writeTileLoop(scf::ForallOp forall);
  /// The tiles of one record; counts them on to `before`, unless that is null.
  LogicalResult writeTilesOf(const TileLoop &loop, Value column, Value columns, Value &before);
  LogicalResult writeRowTile(RowTileOp tile);
  LogicalResult writeRowTileBody(RowTileOp tile);
  /// The form for few rows, for each strip of columns.
  LogicalResult writeStrips(RowTileOp tile);

  int64_t firstWarp;
  Value firstStrip, lastStrip; ///< of a tile with few rows that are wanted; null: all of them
  Value strip;                 ///< the one that is written, of several
};

/// The role that loads (Loads.cpp).
class LoadBuilder : public RoleBuilder {
public:
  using RoleBuilder::RoleBuilder;
  void finish(Location loc) override;

private:
  LogicalResult writeProducts(const Steps &steps, ArrayRef<MmaOp> products, RowTileOp tile) override;
  LogicalResult writeStore(StoreTileOp, RowTileOp) override { return success(); }
  void writeWaits(ArrayRef<Operation *> waits) override;
  /// The rows of which a thread copies a part, as memrefs.
  SmallVector<Value> rowsOfThread(MmaOp mma, RowTileOp tile);
  void writeBoxes(ArrayRef<MmaOp> products, Value stage, Value k, Value firstWeight, Value firstRow);
  /// The copies of a step whose rows lie at `stage`.
  void writeCopies(MmaOp mma, RowTileOp tile, ArrayRef<Value> rows, Value stage, Value k);
  void announceCopies(MmaOp mma);
};

/// The role that multiplies (Products.cpp, ThreadProducts.cpp, Epilogue.cpp).
class MultiplyBuilder : public RoleBuilder {
public:
  using RoleBuilder::RoleBuilder;

private:
  /// Where rows of an operand lie in a stage: from a byte, a row that only runs know, and so many rows per warpgroup.
  struct Operand {
    int64_t offset = 0, rowsPerWarpgroup = 0;
    Value row;
  };
  /// One or more products with the same accumulators.
  struct Multiplication {
    Value accumulators;
    int64_t width = 0; ///< columns of the accumulators
    Operand left, right;
  };
  /// A tile of accumulators as a thread has it, and the first of its registers.
  struct Tile {
    Value accumulators;
    int64_t width = 0, first = 0;
  };
  /// Results of ops of the epilogue that depend on the column alone.
  using ColumnValues = llvm::MapVector<Value, Value>;

  LogicalResult writeProducts(const Steps &steps, ArrayRef<MmaOp> products, RowTileOp tile) override;
  LogicalResult writeStore(StoreTileOp store, RowTileOp tile) override;
  void writeArrivals(ArrayRef<ArriveOp> arrivals, Value part, Value parts) override;

  /// What a warpgroup multiplies; declares the accumulators.
  SmallVector<Multiplication> shareProducts(const Steps &steps, ArrayRef<MmaOp> products);
  Value addressOf(Code &code, Value stage, const Operand &operand);
  /// `needsFence`: between the wait for a stage and the products.
  void writeTensorProducts(Location loc, const Steps &steps, ArrayRef<Multiplication> list, bool needsFence);
  void writeThreadProducts(Location loc, const Steps &steps, ArrayRef<Multiplication> list, RowTileOp tile);
  void writeStepByThreads(Location loc, Value stage, ArrayRef<Multiplication> list);

  /// All elements of a thread as pairs of neighbours.
  void writePairs(StoreTileOp store, RowTileOp tile, Value limit, bool hasAll);
  ColumnValues writeOfColumn(ArrayRef<Operation *> ops, StoreTileOp store, Value column);
  Value storedValue(StoreTileOp store, Value row, Value column, const ColumnValues &ofColumn, Value element);
  SmallVector<Value> placeOf(StoreTileOp store, Value row, Value column);

  DenseMap<Value, Tile> tiles;
};

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOCUDA_ROLEBUILDER_H
